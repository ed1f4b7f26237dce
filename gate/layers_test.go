package gate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
)

func place(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// layered opens a gate on a project's directory and a home.
func layered(t *testing.T, f *gate.Files) (*gate.Gate, error) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, name := range []string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_PERMISSION"} {
		t.Setenv(name, "")
	}
	return gate.Open(t.Context(), gate.Options{Policy: f, Store: new(memory.Store)})
}

// TestLayers: what the user's own files deny is denied in every project, and a
// change of them counts at once.
func TestLayers(t *testing.T) {
	for _, tt := range []struct{ project, text, user, deny, more string }{
		{"opencode.json", `{"permission": {"bash": {"*": "allow"}}}`, ".config/opencode/opencode.json", `{"permission": {"webfetch": "deny"}}`, `{"permission": {"webfetch": "deny", "websearch": "deny"}}`},
		{".claude/settings.json", `{"permissions": {"allow": ["Bash(make *)"]}}`, ".claude/settings.json", `{"permissions": {"deny": ["WebFetch"]}}`, `{"permissions": {"deny": ["WebFetch", "WebSearch"]}}`},
	} {
		dir, home := t.TempDir(), t.TempDir()
		place(t, filepath.Join(dir, filepath.FromSlash(tt.project)), tt.text)
		user := filepath.Join(home, filepath.FromSlash(tt.user))
		place(t, user, tt.deny)
		g, err := layered(t, &gate.Files{Dir: dir, Home: home})
		if err != nil {
			t.Fatal(err)
		}
		tools := map[string][]string{"opencode.json": {"webfetch", "websearch"}}[tt.project]
		if tools == nil {
			tools = []string{"WebFetch", "WebSearch"}
		}
		call := func(tool string) obstat.Decision {
			d, err := g.Authorize(t.Context(), &obstat.Call{Tool: tool, Input: []byte(`{"url":"https://example.com/","query":"x"}`), Dir: dir}, &gate.Terms{Ask: gate.Leave})
			if err != nil {
				t.Error(err)
			}
			return d.Decision
		}
		check(t, call(tools[0]), obstat.Deny, user)
		if d := call(tools[1]); d.Verdict == obstat.Deny {
			t.Errorf("%s", d.Reason())
		}
		place(t, user, tt.more)
		check(t, call(tools[1]), obstat.Deny, user)
		if st := g.Status(t.Context()); len(st.Files) != 2 {
			t.Errorf("%v", st.Files)
		}
	}
}

// TestOnlyUsersFiles: the user's own files are enough, with their dialect named
// and without.
func TestOnlyUsersFiles(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	place(t, filepath.Join(home, ".claude", "settings.json"), `{"permissions": {"deny": ["WebFetch"]}}`)
	for _, dialect := range []string{"claudecode", ""} {
		g, err := layered(t, &gate.Files{Dir: dir, Home: home, Dialect: dialect})
		if err != nil {
			t.Fatal(err)
		}
		d, err := g.Authorize(t.Context(), &obstat.Call{Tool: "WebFetch", Input: []byte(`{"url":"https://example.com/"}`), Dir: dir}, &gate.Terms{Ask: gate.Leave})
		if check(t, d.Decision, obstat.Deny, "WebFetch"); err != nil {
			t.Error(err)
		}
	}
}

// TestAcceptedIntoProject: a rule that somebody accepts goes to the project's
// file, not to the last that was read.
func TestAcceptedIntoProject(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	project := filepath.Join(dir, "opencode.json")
	place(t, project, `{"permission": {"bash": "ask"}}`)
	place(t, filepath.Join(home, ".opencode", "opencode.json"), `{"permission": {"webfetch": "deny"}}`) // read after the project's
	t.Setenv("XDG_CONFIG_HOME", home)
	f := &gate.Files{Dir: dir, Home: home}
	g, err := gate.Open(t.Context(), gate.Options{Policy: f, Store: new(memory.Store)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan obstat.Decision, 1)
	go func() {
		d, err := g.Authorize(t.Context(), &obstat.Call{Tool: "bash", Input: []byte(`{"command":"npm test"}`), Session: "s", Dir: dir}, nil)
		if err != nil {
			t.Error(err)
		}
		done <- d.Decision
	}()
	r := nextRequest(t, g)
	if _, err := g.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1}); err != nil {
		t.Error(err)
	}
	check(t, <-done, obstat.Allow)
	if data, err := os.ReadFile(project); err != nil || !strings.Contains(string(data), "npm test") {
		t.Errorf("%s %v", data, err)
	}
}

// TestManyProjects: a call that works in more projects than are looked at is asked about,
// also if the rule that denies it is the last one's.
func TestManyProjects(t *testing.T) {
	top := t.TempDir()
	dir, command := filepath.Join(top, "own"), "rm"
	place(t, filepath.Join(dir, "opencode.json"), `{"permission": {"*": "allow", "external_directory": "allow", "bash": {"*": "allow"}}}`)
	for i := range 20 {
		text := `{"permission": {"*": "allow", "external_directory": "allow"}}`
		if i == 19 {
			text = `{"permission": {"*": "allow", "bash": {"rm *": "deny"}}}`
		}
		place(t, filepath.Join(top, fmt.Sprint("p", i), "opencode.json"), text)
		command += fmt.Sprint(" ../p", i, "/x")
	}
	g, err := layered(t, &gate.Files{Dir: dir, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for cmd, many := range map[string]bool{"rm ../p0/x ../p1/x": false, command: true} {
		d, err := g.Authorize(t.Context(), &obstat.Call{Tool: "bash", Input: []byte(`{"command":"` + cmd + `"}`), Dir: dir}, &gate.Terms{Ask: gate.Leave})
		if err != nil || d.Verdict == obstat.Allow || strings.Contains(d.Reason(), "16 other projects") != many {
			t.Errorf("%s: %v %s, %v", cmd, d.Verdict, d.Reason(), err)
		}
	}
}
