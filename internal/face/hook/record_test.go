package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// records returns what a ledger has, newest last.
func records(t *testing.T, s store.Store) (out []*ledger.Record) {
	t.Helper()
	for r, err := range s.Records(context.Background(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// TestOutcome: what an agent tells of a call stands in its entry, without the result's text.
func TestOutcome(t *testing.T) {
	home := place(t, map[string]string{"p/.claude/settings.json": `{"permissions":{"allow":["Bash(make *)"]}}`})
	kept := store.Memory()
	send := func(in string) (string, string, int) {
		return hookIn(t, &Options{Agent: agent.ClaudeCode, Dir: home + "/p", World: homed{dir: home}, ledger: kept}, strings.NewReader(in), nil)
	}
	pre := payload(t, agent.ClaudeCode, "shell", "make all", home+"/p", "")
	send(pre)
	post := strings.Replace(pre, "PreToolUse", "PostToolUse", 1)
	out, words, code := send(strings.TrimSuffix(post, "}") + `,"tool_response":{"stdout":"hunter2 is the word"},"duration_ms":1200}`)
	if out+words != "" || code != 0 {
		t.Errorf("answered %q %q %d", out, words, code)
	}
	all := ledger.Join(records(t, kept))
	if len(all) != 1 || all[0].Verdict != "allow" || all[0].Outcome == nil || all[0].Outcome.Verdict != agent.Ran || all[0].Outcome.Nanos != int64(1200*time.Millisecond) {
		t.Fatalf("%+v", all)
	}
	var r ledger.Result
	if err := json.Unmarshal(all[0].Outcome.Detail, &r); err != nil || r.Bytes != 32 || strings.Contains(string(all[0].Outcome.Detail), "hunter2") {
		t.Errorf("%s, %v", all[0].Outcome.Detail, err)
	}
}

// TestPrinted: the model of Claude Code gets an output without its secrets and is told; the record has their kind alone. An
// agent that takes no other output, and --mask off, get none.
func TestPrinted(t *testing.T) {
	home := place(t, map[string]string{"p/.claude/settings.json": `{"permissions":{"allow":["Bash(make *)"]}}`})
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{"claude": {Options{Agent: agent.ClaudeCode}, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":` +
		`"obstat has masked a secret in what this tool printed: it stands as [masked]","updatedToolOutput":` +
		`{"interrupted":false,"stdout":"pushing with [masked]\n"}}}`},
		"off": {Options{Agent: agent.ClaudeCode, NoMask: true}, ""},
		"codex": {Options{Agent: agent.Codex}, `{"decision":"block","reason":"obstat has masked a secret in what this tool ` +
			`printed: it stands as [masked]\n\n{\"interrupted\":false,\"stdout\":\"pushing with [masked]\\n\"}"}`}} {
		t.Run(name, func(t *testing.T) {
			kept := store.Memory()
			o := tt.o
			o.Dir, o.World, o.ledger = home+"/p", homed{dir: home}, kept
			pre := payload(t, o.Agent, "shell", "make all", home+"/p", "")
			hookIn(t, &o, strings.NewReader(pre), nil)
			post := strings.Replace(pre, "PreToolUse", "PostToolUse", 1)
			out, words, code := hookIn(t, &o, strings.NewReader(strings.TrimSuffix(post, "}")+
				`,"tool_response":{"stdout":"pushing with `+token+`\n","interrupted":false}}`), nil)
			if strings.TrimSpace(out) != tt.want || words != "" || code != 0 {
				t.Errorf("%s %s %d", out, words, code)
			}
			all := ledger.Join(records(t, kept))
			detail := string(all[len(all)-1].Outcome.Detail)
			if strings.Contains(detail, token) || strings.Contains(detail, `"why":"GitHub token"`) != (tt.want != "") {
				t.Error(detail)
			}
		})
	}
}

// TestEveryDenial: a call that is denied before any policy is asked is written down as well.
func TestEveryDenial(t *testing.T) {
	home := place(t, map[string]string{"p/.claude/settings.json": `{"permissions":{"allow":["Bash"]}}`})
	for name, c := range map[string]struct{ in, why string }{
		"half a payload":             {`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash"`, "cannot be read"},
		"a command that is a list":   {fmt.Sprintf(`{"session_id":"s","cwd":%q,"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":["ls"]}}`, home), "must be text"},
		"a relative directory":       {`{"session_id":"s","cwd":"x","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, "not absolute"},
		"another system's directory": {`{"session_id":"s","cwd":"C:\\x","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, "none of this machine"},
	} {
		kept := store.Memory()
		_, _, code := hookIn(t, &Options{Agent: agent.ClaudeCode, Dir: home + "/p", World: homed{dir: home}, ledger: kept}, strings.NewReader(c.in), nil)
		all := records(t, kept)
		if code != ExitDeny || len(all) != 1 || all[0].Verdict != "deny" || all[0].Agent != agent.ClaudeCode || !strings.Contains(all[0].Reason, c.why) {
			t.Errorf("%s: %d, %+v", name, code, all)
		}
	}
}

// TestDeadlineRecorded: a denial because the time is up is written down, and no allow after it.
func TestDeadlineRecorded(t *testing.T) {
	home := place(t, map[string]string{"p/.claude/settings.json": `{"permissions":{"allow":["Bash"]}}`})
	kept := store.Memory()
	in, feed := io.Pipe()
	defer feed.Close()
	_, _, code := hookIn(t, &Options{Agent: agent.ClaudeCode, Dir: home + "/p", World: homed{dir: home}, ledger: kept, Deadline: 20 * time.Millisecond}, in, nil)
	if code != ExitDeny {
		t.Errorf("ended with %d", code)
	}
	if all := records(t, kept); len(all) != 1 || all[0].Verdict != "deny" || !strings.Contains(all[0].Reason, "longer than") {
		t.Errorf("%+v", all)
	}
}
