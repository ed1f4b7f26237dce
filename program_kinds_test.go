package obstat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// decideBy decides a call by a Program that is written as JSON.
func decideBy(t *testing.T, stages, rules, def string, c *obstat.Call) obstat.Decision {
	t.Helper()
	text := fmt.Sprintf(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[%s],"default":%q}},"rules":{"l":[%s]}}`, stages, def, rules)
	p, err := obstat.ParseProgram("f", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	pol, err := obstat.Compile(p, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return pol.Decide(c, lab())
}

// TestProgramsAreAboutKinds: a hand-written rule holds for the tools of other agents, with their
// names of fields, and from where rules start.
func TestProgramsAreAboutKinds(t *testing.T) {
	match := `{"match":"rules","rules":"l"}`
	rule := func(tool, field, path string) string {
		return fmt.Sprintf(`{"tool":%q,"field":%q,"match":{"wildcard":%q},"verdict":"deny"}`, tool, field, path)
	}
	when := `{"when":"shell","tools":["Bash"],"then":"deny"}`
	for _, tt := range []struct {
		name, stages, rules string
		call                obstat.Call
		want                obstat.Verdict
	}{
		{"another agent's shell", match, rule("Bash", "command", "rm *"), obstat.Call{Tool: "run_shell_command", Input: []byte(`{"command":"rm x"}`)}, obstat.Deny},
		{"another field", match, rule("Read", "file_path", "*.env"), obstat.Call{Tool: "read", Input: []byte(`{"filePath":"a.env"}`)}, obstat.Deny},
		{"another kind", match, rule("Read", "file_path", "*.env"), obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, obstat.Allow},
		{"from the project", match, rule("Read", "file_path", "src/x"), obstat.Call{Tool: "Read", Input: []byte(`{"file_path":"x"}`), Dir: "/home/u/project/src"}, obstat.Deny},
		{"an absolute path", match, rule("Read", "file_path", "src/x"), obstat.Call{Tool: "Read", Input: []byte(`{"file_path":"/home/u/project/src/x"}`)}, obstat.Deny},
		{"outside of the project", match, rule("Read", "file_path", "src/x"), obstat.Call{Tool: "Read", Input: []byte(`{"file_path":"/other/src/x"}`)}, obstat.Allow},
		{"the project itself", match, rule("Read", "file_path", "project"), obstat.Call{Tool: "Read", Input: []byte(`{"file_path":"/home/u/project"}`)}, obstat.Allow},
		{"a stage's tool", when, "", obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, obstat.Deny},
		{"a stage's kind of tools", when, "", obstat.Call{Tool: "run_shell_command", Input: []byte(`{"command":"ls"}`)}, obstat.Deny},
		{"no tool of a stage", when, "", obstat.Call{Tool: "Read", Input: []byte(`{"file_path":"x"}`)}, obstat.Allow},
	} {
		c := tt.call
		if c.Dir == "" {
			c.Dir = "/home/u/project"
		}
		c.Project = "/home/u/project"
		if d := decideBy(t, tt.stages, tt.rules, "allow", &c); d.Verdict != tt.want {
			t.Errorf("%s: %s, %s", tt.name, d.Verdict, d.Reason())
		}
	}
}

// TestConditionsOnInput: a condition looks into lists and objects, and every element counts.
func TestConditionsOnInput(t *testing.T) {
	for _, tt := range []struct {
		field, input string
		want         obstat.Verdict
	}{
		{"input.a", `{"a":"x"}`, obstat.Allow}, {"input.a", `{"a":"y"}`, obstat.Deny}, {"input.a", `{}`, obstat.Deny},
		{"input.a.b", `{"a":{"b":"x"}}`, obstat.Allow}, {"input.a.b", `{"a":"x"}`, obstat.Deny},
		{"input.l[].n", `{"l":[{"n":"x"}]}`, obstat.Allow}, {"input.l[].n", `{"l":[{"n":"x"},{"n":"y"}]}`, obstat.Deny},
		{"input.l[].n", `{"l":{"n":"x"}}`, obstat.Deny}, {"input.l[]", `{"l":["x","x"]}`, obstat.Allow}, {"input.l", `{"l":["x"]}`, obstat.Deny},
		{"input.a", ``, obstat.Deny},
	} {
		rule := fmt.Sprintf(`{"tool":"T","verdict":"allow","if":[{"field":%q,"match":["x"]}]}`, tt.field)
		if d := decideBy(t, `{"match":"rules","rules":"l"}`, rule, "deny", &obstat.Call{Tool: "T", Input: []byte(tt.input)}); d.Verdict != tt.want {
			t.Errorf("%s of %s: %s, %s", tt.field, tt.input, d.Verdict, d.Reason())
		}
	}
}

// TestConditionsOfDenials: a denial on the input or the mode holds where that is so, and where it cannot be told, and
// an empty input has no field.
func TestConditionsOfDenials(t *testing.T) {
	for _, tt := range []struct {
		cond, input string
		want        obstat.Verdict
	}{
		{`{"field":"input.a","match":["x"]}`, `{"a":"x"}`, obstat.Deny},
		{`{"field":"input.a","match":["x"]}`, `{"a":"y"}`, obstat.Allow},
		{`{"field":"input.a","match":["x"]}`, ``, obstat.Allow},
		{`{"field":"input.a","match":["x"]}`, " \n", obstat.Allow},
		{`{"field":"input.a","match":["x"],"not":true}`, ``, obstat.Deny},
		{`{"field":"call.mode","match":["m"]}`, ``, obstat.Deny},
		{`{"field":"call.mode","match":["plan"]}`, ``, obstat.Allow},
		{`{"field":"call.mode","match":["plan"],"not":true}`, ``, obstat.Deny},
	} {
		rule := `{"tool":"T","verdict":"deny","if":[` + tt.cond + `]}`
		if d := decideBy(t, `{"match":"rules","rules":"l"}`, rule, "allow", &obstat.Call{Tool: "T", Input: []byte(tt.input)}); d.Verdict != tt.want {
			t.Errorf("%s of %q: %s, %s", tt.cond, tt.input, d.Verdict, d.Reason())
		}
	}
	allow := `{"tool":"T","verdict":"allow","if":[{"field":"call.mode","match":["m"]}]}`
	if d := decideBy(t, `{"match":"rules","rules":"l"}`, allow, "deny", &obstat.Call{Tool: "T"}); d.Verdict != obstat.Allow {
		t.Errorf("in its mode: %s, %s", d.Verdict, d.Reason())
	}
}

// TestFacts: fields are read by their names, and an input that is no object has none and says so.
func TestFacts(t *testing.T) {
	for input, want := range map[string]string{
		`{"a":"x","b":5}`: "x true 5 true map[a:x b:5]", " \t\r\n": " false  false map[]", ``: " false  false map[]", `{}`: " false  false map[]",
		`{"a":`: "fault", `[1]`: "fault", `{"a":1,"a":2}`: "fault", `{"a":"x"} y`: "fault",
	} {
		f := &obstat.Facts{Call: &obstat.Call{Tool: "T", Input: []byte(input)}}
		o, err := f.Object()
		got := "fault"
		if err == nil && f.Fault() == nil {
			a, isText := f.String("a")
			b, there := f.Field("b")
			got = fmt.Sprint(a, " ", isText, " ", b, " ", there, " ", o)
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%v)", input, got, want, err)
		}
	}
}

// faultyWhen cannot tell.
type faultyWhen struct{ obstat.View }

func (faultyWhen) Holds(*obstat.Facts) (bool, error) { return true, errors.New("cannot tell") }
func (faultyWhen) Check(*obstat.Facts) obstat.Finding {
	panic("out of order")
}

// TestFaultsAreTraced: a stage that fails denies, says so in the trace, and a panic names its call.
func TestFaultsAreTraced(t *testing.T) {
	lib := &obstat.Library{
		Predicates: map[string]func(json.RawMessage) (obstat.Predicate, error){"p": func(json.RawMessage) (obstat.Predicate, error) { return faultyWhen{}, nil }},
		Checks:     map[string]func(json.RawMessage) (obstat.Checker, error){"c": func(json.RawMessage) (obstat.Checker, error) { return faultyWhen{}, nil }},
	}
	for _, tt := range []struct {
		stage obstat.Stage
		words string
	}{{obstat.When{Name: "w", Is: "p", Then: obstat.Allow}, "cannot tell"}, {obstat.Check{Name: "c"}, "out of order"}} {
		p := &obstat.Program{Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{tt.stage}, Default: obstat.Allow}}}
		pol, err := obstat.Compile(p, &obstat.Options{Library: lib})
		if err != nil {
			t.Fatal(err)
		}
		c := &obstat.Call{Tool: "T", Input: []byte(`{}`)}
		d, tr := pol.Explain(c, nil)
		if d.Verdict != obstat.Deny || d.By.Kind != obstat.ByFault || len(d.Faults) == 0 || d.Tool != "T" || !strings.Contains(d.Reason(), tt.words) {
			t.Errorf("%+v", d)
		}
		if tt.words == "cannot tell" && !slices.ContainsFunc(tr.Questions[0].Steps, func(s obstat.StepTrace) bool { return s.Settled && s.Note == tt.words }) {
			t.Errorf("%+v", tr.Questions)
		}
		if again := pol.Decide(c, nil); again.Verdict != obstat.Deny || again.Reason() != d.Reason() {
			t.Errorf("then: %+v", again)
		}
	}
}

// TestOverOfParts: a call outranks the judges that the rules of all its parts do.
func TestOverOfParts(t *testing.T) {
	rule := func(pattern, over string) string {
		return fmt.Sprintf(`{"tool":"Bash","field":"command","match":{"wildcard":%q},"verdict":"allow","over":[%s]}`, pattern, over)
	}
	rules := rule("a *", `"auto-mode","reviewer"`) + "," + rule("b *", `"reviewer"`) + "," + rule("c *", "") + "," + rule("git -C d *", `"reviewer"`) + "," + rule("git log*", "")
	for command, want := range map[string]string{"a x": "auto-mode, reviewer", "b x": "reviewer", "a x && b x": "reviewer", "a x && c x": "", "c x": "", "d x": "",
		"a x && git -C d log": "reviewer", // of the other spelling, `git log`, a rule may stop it, not speak for it
	} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/home/u/project"}
		if d := decideBy(t, `{"match":"rules","rules":"l"}`, rules, "ask", c); d.Over.String() != want {
			t.Errorf("%s: %q, want %q (%s)", command, d.Over, want, d.Reason())
		}
	}
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"a x && d x"}`), Dir: "/home/u/project"}
	if d := decideBy(t, `{"match":"rules","rules":"l"}`, rules, "allow", c); d.Verdict != obstat.Allow || d.Over != 0 {
		t.Errorf("beside a part that no rule is about: %s, %q", d.Verdict, d.Over)
	}
}

// TestAskDeniesInReach: where nobody is asked, a check that asks denies.
func TestAskDeniesInReach(t *testing.T) {
	lib := &obstat.Library{Checks: map[string]func(json.RawMessage) (obstat.Checker, error){"c": func(json.RawMessage) (obstat.Checker, error) { return faultyWhen{}, nil }}}
	for _, tt := range []struct {
		pass   obstat.Outcomes
		denies bool
		want   string
	}{
		{obstat.CheckAllow | obstat.CheckDeny, true, "deny to allow"}, {obstat.CheckAllow | obstat.CheckDeny, false, "ask to allow"},
		{obstat.CheckAllow | obstat.CheckDeny | obstat.PlainAsk | obstat.SafetyAsk, true, "allow to allow"}, {0, false, "deny to allow"},
	} {
		p := &obstat.Program{Mode: "m", NoFloor: true, Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: obstat.Allow,
			Stages: []obstat.Stage{obstat.Check{Name: "c", Pass: tt.pass, AskDenies: tt.denies}}}}}
		pol, err := obstat.Compile(p, &obstat.Options{Library: lib})
		if err != nil {
			t.Fatal(err)
		}
		if r := pol.Reach("T", ""); fmt.Sprintf("%s to %s", r.Strictest, r.Loosest) != tt.want {
			t.Errorf("%+v: %+v", tt, r)
		}
	}
}

// TestConditionsOnSubjects: a condition may be about another subject of the same question.
func TestConditionsOnSubjects(t *testing.T) {
	rule := `{"tool":"T","field":"a","match":{"wildcard":"*"},"verdict":"allow","if":[{"field":"b","match":["x"]}]}`
	for input, want := range map[string]obstat.Verdict{`{"a":"1","b":"x"}`: obstat.Allow, `{"a":"1","b":"y"}`: obstat.Deny, `{"a":"1"}`: obstat.Deny, `{"b":"x"}`: obstat.Deny} {
		if d := decideBy(t, `{"match":"rules","rules":"l"}`, rule, "deny", &obstat.Call{Tool: "T", Input: []byte(input)}); d.Verdict != want {
			t.Errorf("%s: %s, %s", input, d.Verdict, d.Reason())
		}
	}
}

// TestLargeSnapshots: a record of more names than are listed lists none, and says so.
func TestLargeSnapshots(t *testing.T) {
	for _, n := range []int{10_000, 10_001} {
		dirs, links := &obstat.Snapshot{}, &obstat.Snapshot{Links: map[string]string{}}
		for i := range n {
			name := fmt.Sprint("/d/", i)
			dirs.Dirs, links.Links[name] = append(dirs.Dirs, name), "/x"
		}
		for kind, w := range map[string]*obstat.Snapshot{"directories": dirs, "links": links} {
			l, d, all := w.List("/d")
			if all != (n == 10_000) || (len(l)+len(d) == n) != all {
				t.Errorf("%d %s: %d links, %d directories, all %t", n, kind, len(l), len(d), all)
			}
		}
	}
}

// TestOwnDirectories: an agent's field for the directory moves the call that the dialect's own tool would make.
func TestOwnDirectories(t *testing.T) {
	l := loadLab(t, "agentscope permission_context.json\n"+`{"mode":"default","deny_rules":{"Bash":[{"tool_name":"Bash","rule_content":"rm:*","behavior":"deny","source":"userSettings"}]}}`)
	for dir, want := range map[string]string{"": "/home/u/project", "src": "/home/u/project/src", "/etc/../etc": "/etc", "~": "/home/u", "~/x": "/home/u/x", "~x": "/home/u/project/~x"} {
		c := &obstat.Call{Tool: "run_shell_command", Input: fmt.Appendf(nil, `{"command":"ls","directory":%q}`, dir), Dir: "/home/u/project", Agent: "gemini"}
		own := l.Policy.AsOwn(c, lab())
		if len(own) != 1 || own[0].Dir != want || own[0].Tool != "Bash" || string(own[0].Input) != `{"command":"ls"}` {
			t.Errorf("%q: %+v", dir, own)
		}
	}
}
