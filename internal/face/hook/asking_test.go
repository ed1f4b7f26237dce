package hook

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

var update = flag.Bool("update", false, "write docs/agents/asks.md")

// asking is a call on its way that a row of the table is about; desk: somebody is at obstat ask.
func (s *scene) asking(row *agent.Asking, desk bool) *turn {
	s.t.Helper()
	dir, found := "/src", row.Agent == agent.OpenCode && row.At == agent.AtPrompt
	if found { // opencode asks by the files that it finds itself
		dir = filepath.Dir(s.file)
	}
	in, getenv := row.Payload(dir, "npm test", dir+"/a")
	e, err := agent.Decode(row.Agent, in, getenv)
	if err != nil || e.Call == nil {
		s.t.Fatalf("%s, %s: %+v, %v", row.Agent, row.Way, e, err)
	}
	e.Started = row.Started()
	o := s.opts
	o.taken, o.Waiting = func(string) bool { return desk }, Waiting{}
	if value, is := strings.CutPrefix(row.With, "--wait "); is {
		if o.Waiting, err = ParseWaiting(value); err != nil {
			s.t.Fatal(err)
		}
	}
	t := &turn{run: &run{Options: o, began: time.Now(), timer: time.NewTimer(time.Hour)}, event: e}
	if !found {
		t.Policy.Files = []string{s.file}
	}
	return t
}

// TestAskings: in every way to run an agent an ask goes where the table says, and each answer at obstat
// ask has the effect that the table has for it: the agent is told to run the call, or not to.
func TestAskings(t *testing.T) {
	yes, session := &approval.Answer{Allow: true, Scope: approval.Once}, &approval.Answer{Allow: true, Scope: approval.Session}
	for _, row := range agent.Askings() {
		for _, tc := range []struct {
			name   string
			answer *approval.Answer // nil: nobody answers
			want   obstat.Verdict
			grants int
		}{{"yes", yes, obstat.Allow, 0}, {"session", session, obstat.Allow, 1}, {"no", &approval.Answer{Words: "use make"}, obstat.Deny, 0}, {"nobody", nil, obstat.Deny, 0}} {
			s := newScene(t)
			if err := os.WriteFile(s.file, []byte(strings.Replace(rules, `"edit": "allow"`, `"edit": "ask"`, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				a := s.asking(&row, true)
				done := make(chan obstat.Decision, 1)
				go func() { done <- a.decide(t.Context()).Decision }()
				synctest.Wait()
				open, err := approval.New(s.store, nil).Pending(t.Context())
				if err != nil || (len(open) == 1) != (row.At == agent.AtObstat) {
					t.Fatalf("%s, %s: %d requests, %v", row.Agent, row.Way, len(open), err)
				}
				if len(open) == 1 && tc.answer != nil {
					if err := s.say(open[0].ID, *tc.answer); err != nil {
						t.Fatal(err)
					}
				}
				d := <-done
				if row.At == agent.AtPrompt {
					if d.Verdict != obstat.Ask {
						t.Errorf("%s, %s: %v", row.Agent, row.Way, d.Verdict)
					}
					return
				}
				if d.Verdict != tc.want {
					t.Errorf("%s, %s, %s: %v, %s", row.Agent, row.Way, tc.name, d.Verdict, d.Reason())
				}
				h := &agent.Hook{Entry: agent.Entry{Event: a.event.Name}}
				if out := a.event.Encode(&d, nil); !h.As(row.Agent).Honours(&out, tc.want == obstat.Allow) {
					t.Errorf("%s, %s, %s: the agent takes %+v for something else", row.Agent, row.Way, tc.name, out)
				}
			})
			if grants, err := s.store.Grants(t.Context(), time.Now()); row.At == agent.AtObstat && (err != nil || len(grants) != tc.grants) {
				t.Errorf("%s, %s, %s: %d grants, %v", row.Agent, row.Way, tc.name, len(grants), err)
			}
		}
	}
}

// TestOnceMore: a call that a person has approved is not asked for again by the agent's own rules, and
// the approval is used up with that.
func TestOnceMore(t *testing.T) {
	s := newScene(t)
	row := agent.Asking{}
	for _, r := range agent.Askings() {
		if r.Agent == agent.ClaudeCode && r.At == agent.AtObstat {
			row = r
		}
	}
	synctest.Test(t, func(t *testing.T) {
		if d := s.answered(s.asking(&row, true), approval.Answer{Allow: true, Scope: approval.Once}); d.Verdict != obstat.Allow {
			t.Fatal(d.Reason())
		}
		for i, want := range []obstat.Verdict{obstat.Allow, obstat.Deny} {
			a := s.asking(&row, false)
			a.event.Name = "PermissionRequest"
			a.Waiting = Waiting{Always: true, For: time.Second} // the agent's prompt is nobody's here
			if d := a.decide(t.Context()); d.Verdict != want {
				t.Errorf("asked %d times more: %v, %s", i+1, d.Verdict, d.Reason())
			}
		}
	})
	if d := s.verdicts(ledger.Decision); len(d) != 3 {
		t.Errorf("decisions %q", d)
	}
}

// TestAgentGone: the shell between an agent and its hook stays when the agent is killed, and the hook
// sees that it is gone.
func TestAgentGone(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc here")
	}
	cmd := exec.Command("/bin/sh", "-c", "sleep 60; true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	above := ancestors(cmd.Process.Pid)
	if len(above) != 2 || above[0].pid != cmd.Process.Pid || above[1].pid != os.Getpid() {
		t.Errorf("%+v, of %d and %d", above, cmd.Process.Pid, os.Getpid())
	}
	if gone(above) {
		t.Error("gone before it was killed")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !gone(above) {
		t.Error("it was killed, and is not gone")
	}
}

// TestAskingsPage: docs/agents/asks.md is made from the table.
func TestAskingsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Who is asked, and where\n\nMade from `agent.Askings` by `go test ./internal/face/hook -run TestAskingsPage -update`; `TestAskings` holds every row.\n\n| agent | run so | an ask goes to | with | |\n|---|---|---|---|---|\n")
	for _, r := range agent.Askings() {
		with := ""
		if r.With != "" {
			with = "`" + r.With + "`"
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s | %s |\n", agent.Of(r.Agent).Title, r.Agent, r.Way, r.At, with, r.Says)
	}
	b.WriteString(`
| asked at | yes | session | always | no | nobody | the agent is killed |
|---|---|---|---|---|---|---|
| the agent's prompt | the call runs, once | not offered for a call that a hook asks about (Gemini CLI offers it, and the next call is asked about again); ` + "`--wait`" + ` brings it to obstat ask, which has it | not offered either; a rule that is written into the agent's own file counts once it is accepted (` + "`obstat trust`" + `) | the call does not run | the agent waits; without a terminal it answers no | nothing is left of it |
| obstat ask | the call runs, once; if the agent's own rules ask again, the same yes holds for that | the call runs, and a grant for the session is left | the call runs, and the rule is in the policy's file | the call does not run, and the model hears the words | the call is denied when the time is up, and the model hears that nobody refused it | the request is withdrawn within a second, with the reason; a later answer is told so, and leaves nothing |
| nobody is there | | | | | the call is denied at once, and the model hears how somebody can be asked | |

` + "`--wait TIME`" + ` in ` + "`obstat install`" + ` makes the hook ask at ` + "`obstat ask`" + ` in every agent, before any prompt of its own. The rows of agents that have an npm package were tried on a terminal and without one: [what they did](results.md). Crush, Cursor, Windsurf and Cline could not be run; ` + "`TestAskings`" + ` holds them by their wire forms.

` + "`--offline`" + ` is refused where it has no effect.
`)
	name := filepath.Join("..", "..", "..", "docs", "agents", "asks.md")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != b.String() {
		t.Errorf("docs/agents/asks.md is not as the table is: run with -update (%v)", err)
	}
}

// TestLeft: a tool that only keeps house is put to nobody where a default asks, though somebody is there, and
// the ledger says that it was left to the agent; a rule that names it is asked about.
func TestLeft(t *testing.T) {
	for _, who := range hosts {
		tool := tools[who]["housekeeping"][0]
		if tool == "" {
			continue
		}
		for _, named := range []bool{false, true} {
			s := newScene(t)
			text := `{"permission":{"*":"ask"}}`
			if named {
				text = fmt.Sprintf(`{"permission":{"*":"allow",%q:"ask"}}`, tool)
			}
			if err := os.WriteFile(s.file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			e, err := agent.Decode(who, []byte(payload(t, who, "housekeeping", "", "/src", "")), s.opts.Getenv)
			if err != nil || !e.Housekeeping {
				t.Fatalf("%s: %+v, %v", who, e, err)
			}
			synctest.Test(t, func(t *testing.T) {
				o := s.opts
				o.Waiting = Waiting{Always: true, For: 50 * time.Second}
				a := &turn{run: &run{Options: o, began: time.Now(), timer: time.NewTimer(time.Hour)}, event: e}
				a.Policy.Files = []string{s.file}
				done := make(chan obstat.Decision, 1)
				go func() { done <- a.decide(t.Context()).Decision }()
				synctest.Wait()
				if open, err := approval.New(s.store, nil).Pending(t.Context()); err != nil || (len(open) == 1) != named {
					t.Errorf("%s, named %v: %d requests, %v", who, named, len(open), err)
				}
				if d := <-done; !named && (d.Verdict != obstat.Ask || !strings.Contains(d.Reason(), "keeps house") || !e.Left(&d)) {
					t.Errorf("%s: %v, %s", who, d.Verdict, d.Reason())
				}
			})
		}
	}
}
