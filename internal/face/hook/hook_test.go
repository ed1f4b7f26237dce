package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/policy"
	"github.com/obstat/obstat/store"
)

const claudePayload = `{"session_id":"s","transcript_path":"/t","cwd":"%s","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"%s"}}`

// hookIn runs a hook in a directory with a policy, with a home of its own.
func hookIn(t *testing.T, o *Options, in io.Reader, out io.Writer) (stdout, stderr string, code int) {
	t.Helper()
	var a, b bytes.Buffer
	if out == nil {
		out = &a
	}
	if o.Deadline == 0 {
		o.Deadline = time.Minute
	}
	dir := o.Dir
	if dir == "" {
		dir = t.TempDir()
	}
	o.Dir = ""
	o.NoPins = !o.NoPins // nearly all tests take what is on disk as it is
	var home string
	switch w := o.World.(type) {
	case homed:
		home = w.dir
	case *obstat.Snapshot:
		home = w.HomeDir
	default:
		home = t.TempDir()
	}
	if _, ok := o.World.(homed); !ok {
		o.World = &obstat.Snapshot{HomeDir: home}
	}
	o.In, o.Out, o.Err = in, out, &b
	o.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] }
	o.Getwd = func() (string, error) { return dir, nil }
	codes := make(chan int, 2)
	o.Exit = func(code int) { codes <- code }
	go func() { codes <- Run(o) }()
	code = <-codes
	return a.String(), b.String(), code
}

func project(t *testing.T, settings string) string {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestHookDeadline(t *testing.T) {
	r, w := io.Pipe() // never closed: the agent does not finish writing
	defer w.Close()
	out, words, code := hookIn(t, &Options{Agent: agent.ClaudeCode, Deadline: time.Nanosecond}, r, nil)
	if code != ExitDeny || !strings.Contains(out, `"deny"`) || !strings.Contains(words, "nobody has refused it") {
		t.Errorf("%d %s %s", code, out, words)
	}
}

// A panicky reader stands for anything in obstat that breaks.
type panicky struct{}

func (panicky) Read([]byte) (int, error) { panic("boom") }

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errors.New("lost") }
func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestHookFailsClosed(t *testing.T) {
	for _, agent := range []string{agent.ClaudeCode, agent.Codex, agent.Cursor, agent.Crush, agent.Gemini, agent.Copilot, agent.OpenCode, agent.Generic, agent.Windsurf, ""} {
		for name, in := range map[string]io.Reader{"panic": panicky{}, "read error": failing{}, "50 MB": io.LimitReader(zeros{}, 50<<20), "nothing": strings.NewReader("")} {
			out, words, code := hookIn(t, &Options{Agent: agent}, in, nil)
			if code != ExitDeny || strings.Contains(out, `"allow"`) || strings.TrimSpace(words) == "" {
				t.Errorf("%s, %s: %d %q %q", agent, name, code, out, words)
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestHookFullDisk: an answer that cannot be written is a denial.
func TestHookFullDisk(t *testing.T) {
	dir := project(t, `{"permissions":{"allow":["Bash(make)"]}}`)
	in := fmt.Sprintf(claudePayload, dir, "make")
	if out, words, code := hookIn(t, &Options{Dir: dir}, strings.NewReader(in), nil); code != ExitOK || !strings.Contains(out, `"allow"`) {
		t.Fatalf("%d %s %s", code, out, words)
	}
	if _, _, code := hookIn(t, &Options{Dir: dir}, strings.NewReader(in), failing{}); code != ExitDeny {
		t.Errorf("exit code %d", code)
	}
}

// TestHookPins: what only a file would allow that nobody has accepted is an ask
// that says so; what it denies is denied at once.
func TestHookPins(t *testing.T) {
	dir := project(t, `{"permissions":{"allow":["Bash(make)"],"deny":["Bash(curl *)"]}}`)
	for command, want := range map[string]string{"make": "nobody has accepted yet", "curl x": `"deny"`, "ls": `"allow"`} {
		o := &Options{Dir: dir, NoPins: true, World: &obstat.Snapshot{HomeDir: t.TempDir()}}
		if out, words, _ := hookIn(t, o, strings.NewReader(fmt.Sprintf(claudePayload, dir, command)), nil); !strings.Contains(out, want) {
			t.Errorf("%s: %s %s", command, out, words)
		}
	}
}

// TestHookElsewhere: a call made in a directory with a laxer policy is held to
// that of the agent's own project as well.
func TestHookElsewhere(t *testing.T) {
	strict := project(t, `{"permissions":{"deny":["Bash(curl *)"],"allow":["Bash"]}}`)
	lax := project(t, `{"permissions":{"allow":["Bash"]}}`)
	in := fmt.Sprintf(claudePayload, lax, "curl x")
	for _, home := range []string{t.TempDir(), project(t, `{"model":"x"}`), project(t, `{"permissions":{"allow":["Bash"]}}`)} {
		if out, _, code := hookIn(t, &Options{Dir: strict, World: &obstat.Snapshot{HomeDir: home}}, strings.NewReader(in), nil); code != ExitDeny {
			t.Errorf("%d %s", code, out)
		}
	}
}

// TestHookOwnPolicy: where the agent's own directory has no policy, that of a
// directory which the model has chosen for the call allows nothing. Codex alone
// says that one; the others say where they are.
func TestHookOwnPolicy(t *testing.T) {
	const codexPayload = `{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"%s","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"%s"},"tool_use_id":"u"}`
	dir := t.TempDir()
	brought := filepath.Join(dir, "brought")
	if err := os.MkdirAll(filepath.Join(brought, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(brought, ".claude", "settings.json"), []byte(`{"permissions":{"allow":["Bash"],"deny":["Bash(curl *)"]}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for home, why := range map[string]string{t.TempDir(): "no policy says more", project(t, `{"permissions":{"ask":["Bash(zz)"]}}`): "no rule is about it"} {
		for _, tt := range []struct {
			payload, command string
			code             int
			words            string
		}{{codexPayload, "make", ExitDeny, why}, {codexPayload, "curl x", ExitDeny, "curl"}, {claudePayload, "make", ExitOK, "allow rule Bash"}, {claudePayload, "curl x", ExitDeny, "curl"}} {
			in := fmt.Sprintf(tt.payload, brought, tt.command)
			out, words, code := hookIn(t, &Options{Dir: dir, World: &obstat.Snapshot{HomeDir: home}}, strings.NewReader(in), nil)
			if code != tt.code || !strings.Contains(out+words, tt.words) {
				t.Errorf("%s: %d %s %s, want %d and %q", in, code, out, words, tt.code, tt.words)
			}
		}
	}
}

// TestHookNowhere: a call that does not say where it is made is made where the
// agent runs.
func TestHookNowhere(t *testing.T) {
	dir := project(t, `{"permissions":{"allow":["Read"],"deny":["Read(x)"]}}`)
	for file, want := range map[string]int{"y": ExitOK, "x": ExitDeny} {
		in := fmt.Sprintf(`{"agent_action_name":"pre_read_code","tool_info":{"file_path":%q}}`, filepath.Join(dir, file))
		if _, words, code := hookIn(t, &Options{Dir: dir}, strings.NewReader(in), nil); code != want {
			t.Errorf("%s: %d %s", file, code, words)
		}
	}
}

// TestHookNoDialect: a dialect that there is not is a mistake, not a place
// without a policy.
func TestHookNoDialect(t *testing.T) {
	dir := project(t, `{"permissions":{"allow":["Bash"]}}`)
	in := fmt.Sprintf(claudePayload, dir, "make")
	if out, _, code := hookIn(t, &Options{Dir: dir, Policy: policy.Named{Dialect: "nothing"}}, strings.NewReader(in), nil); code != ExitDeny || !strings.Contains(out, "nothing") {
		t.Errorf("%d %s", code, out)
	}
}

// TestHookInner: the rules of a directory below the project's hold as well, and
// can only make it stricter.
func TestHookInner(t *testing.T) {
	outer := project(t, `{"permissions":{"allow":["Bash"],"ask":["Bash(git push *)"],"deny":["Bash(curl *)"]}}`)
	inner := filepath.Join(outer, "a", "b")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(inner, ".claude"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(inner, ".claude", "settings.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"permissions":{"allow":["Bash(curl *)","Bash(git push *)"],"ask":["Bash(make install)"],"deny":["Bash(rm *)"]}}`)
	home := t.TempDir()
	said := func(command string) string {
		t.Helper()
		in := fmt.Sprintf(claudePayload, inner, command)
		out, _, _ := hookIn(t, &Options{Dir: inner, World: &obstat.Snapshot{HomeDir: home}}, strings.NewReader(in), nil)
		for _, v := range []string{"allow", "ask", "deny"} {
			if strings.Contains(out, `"permissionDecision":"`+v+`"`) {
				return v
			}
		}
		return out
	}
	for command, want := range map[string]string{"make": "allow", "rm x": "deny", "make install": "ask", "curl x": "deny", "git push": "ask", "env rm x": "deny", "$X y": "ask"} {
		if got := said(command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	write(`{"permissions":`)
	if got := said("make"); got != "deny" {
		t.Errorf("a broken policy below the project's: %s", got)
	}
}

// TestHookBrokenProject: a project's policy that cannot be read is not one that
// is not there: the user's own rules, which allow, do not take its place.
func TestHookBrokenProject(t *testing.T) {
	home := project(t, `{"permissions":{"allow":["Bash"]}}`)
	for _, files := range []map[string]string{
		{".claude/settings.json": `{"permissions":{"deny":["Bash(rm *)",]}}`},
		{".claude/settings.json": `{"permissions":{"deny":"Bash(rm *)"}}`},
		{".claude/settings.local.json": ``},
		{"opencode.json": `{"permission":{"bash":{"rm *":"deny"}}`},
		{".opencode/config.json": `[]`},
		{"obstat.json": `{"obstat":1,`},
		{"obstat.json": `{"rules":{}}`},
		{".obstat/program.json": ``},
		{"adk-permissions.yaml": "deny_patterns: [rm"},
		{"permission_context.json": `{"deny_rules":[]}`},
		{".jiuwenswarm/config/config.yaml": "permissions: [x"},
		{"obstat.json": `{`, "opencode.json": `{"permission":{"bash":"allow"}}`},
	} {
		dir := t.TempDir()
		for name, data := range files {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(data), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		o := &Options{Dir: dir, World: &obstat.Snapshot{HomeDir: home}}
		out, words, code := hookIn(t, o, strings.NewReader(fmt.Sprintf(claudePayload, dir, "rm x")), nil)
		if code != ExitDeny || !strings.Contains(words, "the policy cannot be loaded") {
			t.Errorf("%v: %d %s %s", files, code, out, words)
		}
	}
	// Settings without rules do not speak for the project; the others' do.
	dir := t.TempDir()
	for name, data := range map[string]string{".claude/settings.json": `{"hooks":{}}`, "opencode.json": `{"permission":{"bash":"deny"}}`, "adk-permissions.json": `{"deny_patterns":["Bash"]}`} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if out, _, code := hookIn(t, &Options{Dir: dir, World: &obstat.Snapshot{HomeDir: home}}, strings.NewReader(fmt.Sprintf(claudePayload, dir, "rm x")), nil); code != ExitDeny {
		t.Errorf("settings without rules: %d %s", code, out)
	}
	o := &Options{Dir: t.TempDir(), World: &obstat.Snapshot{HomeDir: home}}
	if out, _, code := hookIn(t, o, strings.NewReader(fmt.Sprintf(claudePayload, o.Dir, "rm x")), nil); code != ExitOK {
		t.Errorf("no project at all: %d %s", code, out)
	}
}

// TestGrantMark: the hook leaves an ask to the agent itself, unless the store
// says that something is granted; what would change what guards the agent is
// never granted.
func TestGrantMark(t *testing.T) {
	for _, tc := range []struct {
		command string
		marked  bool
		asked   bool // the store
	}{
		{"make", false, false},
		{"make", true, true},
		{"ls", true, false},
		{"curl x", true, false},
		{"rm .claude/settings.json", true, false},
	} {
		dir, state := project(t, `{"permissions":{"allow":["Bash(ls)","Bash(rm *)"],"ask":["Bash(make)"],"deny":["Bash(curl *)"]}}`), t.TempDir()
		db := statedir.Store(filepath.Join(state, "obstat"))
		if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
			t.Fatal(err)
		}
		if tc.marked {
			if err := os.WriteFile(statedir.Grants(db), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		asked := false
		o := System(&Options{NoLedger: true, Deadline: time.Minute, open: func(context.Context, string) (store.Store, error) {
			asked = true
			return nil, errors.New("it is locked")
		}})
		o.In, o.Out, o.Err = strings.NewReader(fmt.Sprintf(claudePayload, dir, tc.command)), io.Discard, io.Discard
		o.World = &obstat.Snapshot{HomeDir: state}
		o.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
		o.Getwd = func() (string, error) { return dir, nil }
		Run(o)
		if asked != tc.asked {
			t.Errorf("%+v: %v", tc, asked)
		}
	}
}

// TestRemember: Claude Code is told to remember what was granted, if that is
// wanted: the rules, or what it suggests for this very command.
func TestRemember(t *testing.T) {
	in := `{"session_id":"s","permission_mode":"default","cwd":"/src","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make x"},"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make x"},{"toolName":"Bash","ruleContent":"make *"}],"behavior":"allow","destination":"localSettings"}]}`
	rule := []approval.Offer{{Text: "Bash(make *)", List: "allow", Rule: json.RawMessage(`{"tool":{"is":"Bash"},"field":"command","match":{"prefix":"make"},"verdict":"allow"}`)}}
	for _, tt := range []struct {
		remember bool
		scope    approval.Scope
		rules    []approval.Offer
		want     string // "": nothing is to be remembered
	}{
		{true, approval.Workspace, rule, `"rules":[{"toolName":"Bash","ruleContent":"make *"}],"behavior":"allow","destination":"localSettings"`},
		{true, approval.Session, nil, `"rules":[{"toolName":"Bash","ruleContent":"make x"}],"behavior":"allow","destination":"session"`},
		{false, approval.Workspace, rule, ""},
		{false, approval.Session, nil, ""},
	} {
		e, err := agent.Decode(agent.ClaudeCode, []byte(in), func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		a := &gate.Result{Grant: &approval.Grant{Scope: tt.scope, Rules: tt.rules}}
		a.From = &policy.Policy{Loaded: &dialect.Loaded{Dialect: claudecode.Dialect{}}}
		turn := &turn{run: &run{Options: Options{Remember: tt.remember}}, event: e}
		d := obstat.Decision{Verdict: obstat.Ask}.Approve(obstat.By{Kind: obstat.ByPerson, Note: "granted"})
		out := string(e.Encode(&d, &agent.Options{Answered: true, Accepted: turn.remembered(a)}).Stdout)
		if !strings.Contains(out, `"behavior":"allow"`) || strings.Contains(out, "updatedPermissions") != (tt.want != "") || !strings.Contains(out, tt.want) {
			t.Errorf("%+v: %s", tt, out)
		}
		if turn.remembered(&gate.Result{}) != nil {
			t.Error("without a grant there is something to remember")
		}
	}
}

// TestForeignPath: a directory of another kind of machine is no place that rules
// could be looked for in.
func TestForeignPath(t *testing.T) {
	if filepath.IsAbs(`C:\repo`) {
		t.Skip("here it is a directory like any other")
	}
	dir := project(t, `{"permissions":{"allow":["Bash"]}}`)
	for _, cwd := range []string{`C:\\repo`, `\\\\server\\share`} {
		in := fmt.Sprintf(claudePayload, cwd, "make")
		if out, words, code := hookIn(t, &Options{Dir: dir}, strings.NewReader(in), nil); code != ExitDeny || !strings.Contains(words, "is none of this machine's") {
			t.Errorf("%s: %d %s %s", cwd, code, out, words)
		}
	}
}
