package protect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/guard/protect"
)

// TestMain takes the variables away by which agents look for their settings elsewhere.
func TestMain(m *testing.M) {
	for _, name := range strings.Fields("XDG_CONFIG_HOME XDG_STATE_HOME CLAUDE_CONFIG_DIR CODEX_HOME COPILOT_HOME QWEN_HOME") {
		_ = os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

const home, proj = "/home/ann", "/home/ann/src/proj"

var world = &obstat.Snapshot{HomeDir: home}

func write(path, content string) *obstat.Call {
	return &obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"` + path + `","content":"` + content + `"}`), Dir: proj}
}

// TestTable: whatever a dialect or an agent reads is in the table.
func TestTable(t *testing.T) {
	var names []string
	for _, d := range all.All() {
		for _, rel := range dialect.WellKnown(d) {
			names = append(names, filepath.Join(proj, rel))
		}
	}
	for _, a := range agent.All() {
		for _, scope := range []agent.Scope{agent.User, agent.Project} {
			if name := a.Target(scope, &agent.Where{Home: home, Projects: []string{proj}}); name != "" {
				names = append(names, name)
			}
		}
	}
	for _, x := range agent.All().Traits() {
		name := x.Text
		if strings.HasSuffix(name, "/") {
			name += "other.json"
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(home, name)
		}
		if x.Kind == agent.HookTrait || x.Kind == agent.PolicyTrait {
			names = append(names, name)
		}
	}
	if len(names) < 40 {
		t.Fatalf("only %d names", len(names))
	}
	for _, name := range names {
		if base := filepath.Base(name); base == "agent.json" || base == "config.json" && filepath.Dir(name) == proj {
			continue // everybody has files of that name: pins hold them
		}
		if (&protect.Guarded{}).Check(write(name, `\"permissions\"`), world, nil) == nil {
			t.Errorf("%s is not guarded", name)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		g    *protect.Guarded
		call *obstat.Call
		want string // in the reason; "" is nothing
	}{
		{"a file of the policy with a name of its own", &protect.Guarded{Policies: []string{"/srv/rules.yaml"}}, write("/srv/rules.yaml", ""), "the policy of this agent"},
		{"another file beside it", &protect.Guarded{Policies: []string{"/srv/rules.yaml"}}, write("/srv/other.yaml", ""), ""},
		{"state elsewhere", &protect.Guarded{State: []string{"/var/db/guard"}}, write("/var/db/guard/x.db", ""), "has written down"},
		{"a binary", &protect.Guarded{Programs: []string{"/opt/o/thing"}}, write("/opt/o/thing", ""), "obstat itself"},
		{"a moved directory", &protect.Guarded{Getenv: func(n string) string { return map[string]string{"CODEX_HOME": "/opt/cx"}[n] }}, write("/opt/cx/hooks.json", ""), "hook entries"},
		{"an action", &protect.Guarded{}, &obstat.Call{Tool: "x", Subjects: []string{"tool:create_file:obstat.json"}, Dir: proj}, "a policy"},
		{"an action that reads", &protect.Guarded{}, &obstat.Call{Tool: "x", Subjects: []string{"tool:view:obstat.json"}, Dir: proj}, ""},
		{"an action that runs", &protect.Guarded{}, &obstat.Call{Tool: "x", Subjects: []string{"tool:bash:rm -f obstat.json"}, Dir: proj}, "a policy"},
		{"no directory", &protect.Guarded{}, &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"rm obstat.json"}`)}, "a policy"},
		{"characters that are not seen", &protect.Guarded{}, write(proj+"/obs\u200ctat.json", ""), "a policy"},
		{"a long s", &protect.Guarded{}, write(proj+"/ob\u017ftat.json", ""), "a policy"},
		{"a path as it was written", &protect.Guarded{}, write("/Home/Ann/Proj/OBSTAT.json", ""), "change /Home/Ann/Proj/OBSTAT.json, a policy"},
		{"as Windows reads it", &protect.Guarded{}, write(proj+"/obstat.json. ", ""), "a policy"},
		{"a stream of it", &protect.Guarded{}, write(proj+"/obstat.json::$DATA", ""), "a policy"},
	} {
		f := tc.g.Check(tc.call, world, nil)
		switch {
		case tc.want == "" && f != nil:
			t.Errorf("%s: %s", tc.name, f.Why)
		case tc.want != "" && (f == nil || !strings.Contains(f.Why, tc.want)):
			t.Errorf("%s: %v, want %q", tc.name, f, tc.want)
		}
	}
}

// TestTighten: an allow becomes an ask that nothing silences, an ask becomes
// one, and a denial stays.
func TestTighten(t *testing.T) {
	c := write(proj+"/obstat.json", "{}")
	for _, v := range []obstat.Verdict{obstat.Deny, obstat.Ask} {
		d := obstat.Decision{Verdict: v, Stage: "rules", Offers: []obstat.Offer{{Text: "x"}}}
		hit := (&protect.Guarded{}).Tighten(&d, c, world, nil)
		if d.Verdict != v || d.Stage != "rules" || hit != (v == obstat.Ask) || d.Safety != hit || hit == (len(d.Offers) > 0) {
			t.Errorf("%v: %+v", v, d)
		}
	}
	pol, err := obstat.Compile(&obstat.Program{Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: obstat.Allow}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := pol.Decide(c, world)
	if d.Verdict != obstat.Allow {
		t.Fatal(d.Reason())
	}
	if !(&protect.Guarded{}).Tighten(&d, c, world, nil) || d.Verdict != obstat.Ask || !d.Safety || d.Stage != protect.Stage || d.Rule != nil {
		t.Errorf("%+v", d)
	}
	d = pol.Decide(write(proj+"/x", ""), world)
	d.Input = c.Input // a policy that changes arguments must not change these
	if !(&protect.Guarded{}).Tighten(&d, write(proj+"/x", ""), world, nil) || d.Verdict != obstat.Ask {
		t.Errorf("other arguments: %+v", d)
	}
}
