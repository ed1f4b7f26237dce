package obstat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
	"pgregory.net/rapid"
)

// sample is a small program: deny, then ask, then allow, then ask.
func sample(rules ...obstat.Rule) *obstat.Program {
	return &obstat.Program{
		Mode:  "default",
		Rules: map[string][]obstat.Rule{"rules": rules},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"default": {
			Stages:  []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules", Pick: obstat.Strictest}},
			Default: obstat.Ask,
		}},
	}
}

func rule(v obstat.Verdict, tool, field, wildcard string) obstat.Rule {
	r := obstat.Rule{Tool: obstat.Is(tool), Verdict: v, Field: field}
	if wildcard != "" {
		r.Pattern = obstat.Text{Flavour: pattern.Wildcard, Text: wildcard}
	}
	return r
}

func ExamplePolicy_Decide() {
	pol, err := obstat.Compile(sample(
		rule(obstat.Deny, "Bash", "command", "git push *"),
		rule(obstat.Allow, "Bash", "command", "git *"),
	), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cmd := range []string{"git status", "git push origin main", "make"} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		d := pol.Decide(&obstat.Call{Tool: "Bash", Input: input}, nil)
		fmt.Printf("%-5v %s\n", d.Verdict, d.Reason())
	}
	// Output:
	// allow allow rule Bash(git *)
	// deny  deny rule Bash(git push *)
	// ask   Bash: no rule is about it, and mode default asks then
}

// TestBadInputDenies: what cannot be read is denied, with the reason.
func TestBadInputDenies(t *testing.T) {
	pol := mustCompile(t, sample(rule(obstat.Allow, "t", "", "")))
	for _, in := range []string{`{"a":1,"a":2}`, `{"path":"x","PATH":"y"}`, `{"a"`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `[1]`, `"x"`, `{} {}`,
		`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, `{"a":tru}`, `{"a":01}`, `{"a":1,}`, `{'a':1}`, "{\"a\":\"\n\"}"} {
		d := pol.Decide(&obstat.Call{Tool: "t", Input: json.RawMessage(in)}, nil)
		if d.Verdict != obstat.Deny || len(d.Faults) == 0 || d.Reason() == "" {
			t.Errorf("%.40s: %v, %s", in, d.Verdict, d.Reason())
		}
	}
	for _, in := range []string{``, `null`, `{}`, ` {"a" : [ 1 , {"b":"c"} ] } `} {
		if d := pol.Decide(&obstat.Call{Tool: "t", Input: json.RawMessage(in)}, nil); d.Verdict != obstat.Allow {
			t.Errorf("%q: %v, %s", in, d.Verdict, d.Reason())
		}
	}
	if d := pol.Decide(&obstat.Call{Tool: ""}, nil); d.Verdict != obstat.Deny {
		t.Errorf("no tool: %v", d.Verdict)
	}
	if d := pol.Decide(&obstat.Call{Tool: "t", Mode: "x"}, nil); d.Verdict != obstat.Deny {
		t.Errorf("unknown mode: %v", d.Verdict)
	}
}

// TestEscapesAreRead: a rule sees the value, however it was written.
func TestEscapesAreRead(t *testing.T) {
	pol := mustCompile(t, sample(rule(obstat.Deny, "t", "command", "rm *"), rule(obstat.Allow, "t", "", "")))
	for _, in := range []string{`{"command":"\u0072m x"}`, `{"comm\u0061nd":"rm x"}`, `{"x":"a\tb","command":"r\u006d \ud83d\ude00"}`} {
		if d := pol.Decide(&obstat.Call{Tool: "t", Input: json.RawMessage(in)}, nil); d.Verdict != obstat.Deny {
			t.Errorf("%s: %v", in, d.Verdict)
		}
	}
}

// errWorld breaks whatever looks at it.
type brokenCode struct{ how string }

func (b brokenCode) Questions(*obstat.Facts) ([]obstat.Question, error) {
	switch b.how {
	case "panic":
		panic("boom")
	case "error":
		return nil, errors.New("no view")
	}
	return nil, nil
}

func (b brokenCode) Check(*obstat.Facts) obstat.Finding {
	if b.how == "panic" {
		panic("boom")
	}
	return obstat.Finding{}
}

func (b brokenCode) Holds(*obstat.Facts) (bool, error) { return true, errors.New("cannot tell") }

// TestFaultsNeverAllow injects faults into everything that code can do.
func TestFaultsNeverAllow(t *testing.T) {
	for _, how := range []string{"panic", "error", "nothing"} {
		code := &obstat.Library{
			Views:      map[string]func(json.RawMessage) (obstat.View, error){"v": func(json.RawMessage) (obstat.View, error) { return brokenCode{how}, nil }},
			Checks:     map[string]func(json.RawMessage) (obstat.Checker, error){"c": func(json.RawMessage) (obstat.Checker, error) { return brokenCode{how}, nil }},
			Predicates: map[string]func(json.RawMessage) (obstat.Predicate, error){"p": func(json.RawMessage) (obstat.Predicate, error) { return brokenCode{how}, nil }},
		}
		programs := map[string]*obstat.Program{"view": sample(), "check": sample(), "predicate": sample(), "amend": sample()}
		programs["view"].View = "v"
		for name, stage := range map[string]obstat.Stage{"check": obstat.Check{Name: "c"}, "predicate": obstat.When{Name: "p", Is: "p", Then: obstat.Allow}} {
			programs[name].Pipelines["default"] = obstat.Pipeline{Stages: []obstat.Stage{stage}, Default: obstat.Allow}
		}
		programs["amend"].Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow, Amend: []obstat.Stage{obstat.Check{Name: "c"}}}
		for name, p := range programs {
			pol, err := obstat.Compile(p, &obstat.Options{Library: code})
			if err != nil {
				t.Fatal(err)
			}
			if d := pol.Decide(&obstat.Call{Tool: "t"}, nil); d.Verdict != obstat.Deny || d.Reason() == "" {
				t.Errorf("%s, %s: %v", name, how, d.Verdict)
			}
		}
	}
}

// TestExcept: a filter leaves rules out of one stage's list, one that panics
// denies each call, and one that does not exist is an error.
func TestExcept(t *testing.T) {
	p := sample(rule(obstat.Allow, "t", "command", "git *"), rule(obstat.Allow, "t", "command", "sh *"))
	p.Pipelines["default"] = obstat.Pipeline{Stages: []obstat.Stage{obstat.Match{Rules: "rules", Except: "broad"}}, Default: obstat.Ask}
	if _, err := obstat.Compile(p, nil); err == nil {
		t.Error("a filter that does not exist compiles")
	}
	compile := func(broad func(*obstat.Rule) bool) *obstat.Policy {
		pol, err := obstat.Compile(p, &obstat.Options{Library: &obstat.Library{Filters: map[string]func(*obstat.Rule) bool{"broad": broad}}})
		if err != nil {
			t.Fatal(err)
		}
		return pol
	}
	good := compile(func(r *obstat.Rule) bool { return r.Pattern.Text == "sh *" })
	bad := compile(func(*obstat.Rule) bool { panic("boom") })
	for command, want := range map[string]obstat.Verdict{"git log": obstat.Allow, "sh x": obstat.Ask} {
		call := &obstat.Call{Tool: "t", Input: []byte(`{"command":"` + command + `"}`)}
		if d := good.Decide(call, nil); d.Verdict != want {
			t.Errorf("%s: %v, want %v", command, d.Verdict, want)
		}
		if d := bad.Decide(call, nil); d.Verdict != obstat.Deny {
			t.Errorf("%s, with a filter that panics: %v", command, d.Verdict)
		}
	}
}

// TestSubjectsGiven: each given subject is judged, and the strictest answer counts.
func TestSubjectsGiven(t *testing.T) {
	p := sample(rule(obstat.Deny, "bash", "command", "rm *"), rule(obstat.Allow, "bash", "command", "git *"))
	pol := mustCompile(t, p)
	for want, subjects := range map[obstat.Verdict][]string{obstat.Allow: {"git status", "git log"}, obstat.Deny: {"git status", "rm x"}, obstat.Ask: {"git status", "make"}} {
		if d := pol.Decide(&obstat.Call{Tool: "bash", Subjects: subjects}, nil); d.Verdict != want {
			t.Errorf("%q: %v, want %v", subjects, d.Verdict, want)
		}
	}
}

// TestOneSubjectGiven: a call of one given subject, which most policies answer without a
// walk, gets the answer that Explain walks to, conditions, words and all.
func TestOneSubjectGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, call := genProgram(t), genCall(t)
		for _, rules := range p.Rules {
			if len(rules) > 0 && rapid.IntRange(0, 3).Draw(t, "guarded") == 0 {
				rules[0].If = []obstat.Cond{{Field: "call.branch", Any: []obstat.Text{obstat.Is("main")}}}
			}
		}
		call.Branch = rapid.SampledFrom([]string{"", "main"}).Draw(t, "branch")
		call.Subjects = []string{rapid.SampledFrom([]string{"git push", "rm -rf src/a.go", "a", ""}).Draw(t, "subject")}
		pol := mustCompile(t, p)
		got := pol.Decide(call, nil)
		if want, _ := pol.Explain(call, nil); !reflect.DeepEqual(got, want) {
			t.Fatalf("Decide says %+v, Explain %+v", got, want)
		}
	})
}

// TestManyTools: each tool is answered by its own rules, however many were asked about
// and however alike their names are.
func TestManyTools(t *testing.T) {
	var rules []obstat.Rule
	for i := range 700 {
		rules = append(rules, rule([]obstat.Verdict{obstat.Deny, obstat.Allow}[i%2], fmt.Sprintf("mcp__%03d__list", i), "", ""))
	}
	rules = append(rules, rule(obstat.Deny, "ls", "", ""), rule(obstat.Allow, "rm", "", ""))
	pol := mustCompile(t, sample(rules...))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, r := range rules {
				if d := pol.Decide(&obstat.Call{Tool: r.Tool.Text, Subjects: []string{"x"}}, nil); d.Verdict != r.Verdict {
					t.Errorf("%s: %v, want %v", r.Tool.Text, d.Verdict, r.Verdict)
				}
			}
		})
	}
	wg.Wait()
}

// TestReusedBuffer: a host that reads each input into one buffer, as a server
// does, gets the answer of the input that is in it now. Call.Read used to keep
// the fields of the input before, by the buffer's address and length.
func TestReusedBuffer(t *testing.T) {
	pol := mustCompile(t, sample(rule(obstat.Deny, "t", "command", "rm *"), rule(obstat.Allow, "t", "", "")))
	buf := make([]byte, 0, 64)
	call := &obstat.Call{Tool: "t"}
	for _, c := range []struct {
		input string
		want  obstat.Verdict
	}{{`{"command":"ls \"a\""}`, obstat.Allow}, {`{"command":"rm \"a\""}`, obstat.Deny}, {`{"command":"ls \"b\""}`, obstat.Allow}} {
		buf = append(buf[:0], c.input...)
		call.Input = buf
		again := *call
		if err := (&obstat.Facts{Call: call}).Fault(); err != nil {
			t.Fatal(err)
		}
		for _, call := range []*obstat.Call{call, &again} {
			if d := pol.Decide(call, nil); d.Verdict != c.want {
				t.Errorf("%s: %v, want %v", c.input, d.Verdict, c.want)
			}
		}
	}
}

// TestFloorIsOn: Compile without options allows no second command behind the one
// that a rule is for; only an option or the Program itself turns that off.
func TestFloorIsOn(t *testing.T) {
	p := sample(rule(obstat.Allow, "Bash", "command", "git *"))
	call := &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"git status; rm -rf ~"}`)}
	var read obstat.Program
	if err := json.Unmarshal([]byte(`{"obstat":1,"floor":"off","mode":"m","pipelines":{"m":{"stages":[{"match":"rules","rules":"rules"}],"default":"deny"}},
		"rules":{"rules":[{"tool":"Bash","field":"command","match":{"fnmatch":"git *"},"verdict":"allow"}]}}`), &read); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		p    *obstat.Program
		opts *obstat.Options
		want obstat.Verdict
	}{
		{"no options", p, nil, obstat.Ask},
		{"zero options", p, &obstat.Options{}, obstat.Ask},
		{"floor in the Program", p.WithFloor(true), nil, obstat.Ask},
		{"off and on again", p.WithFloor(false).WithFloor(true), nil, obstat.Ask},
		{"option", p, &obstat.Options{NoFloor: true}, obstat.Allow},
		{"off in the Program", p.WithFloor(false), nil, obstat.Allow},
		{"off in its JSON", &read, nil, obstat.Allow},
	} {
		pol, err := obstat.Compile(c.p, c.opts)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if d := pol.Decide(call, nil); d.Verdict != c.want {
			t.Errorf("%s: %v, want %v", c.name, d.Verdict, c.want)
		}
		if pol.Program().HasFloor() != (c.want != obstat.Allow) || pol.Digest() != pol.Program().Digest() || c.opts == nil && pol.Digest() != c.p.Digest() {
			t.Errorf("%s: the policy's Program says otherwise", c.name)
		}
	}
	both := p.WithFloor(true)
	both.NoFloor = true
	if _, err := obstat.Compile(both, nil); err == nil {
		t.Error("a Program that has a floor and turns it off compiles")
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	if underRace {
		t.Skip("under the race detector pools forget, and walks are made anew")
	}
	var rules []obstat.Rule
	for i := range 200 {
		rules = append(rules, rule(obstat.Verdict(i%3), fmt.Sprint("t", i%10), "command", fmt.Sprintf("prog%d *", i)))
	}
	pol := mustCompile(t, sample(rules...))
	call := &obstat.Call{Tool: "t3", Input: json.RawMessage(`{"command":"prog13 \"a b\" c","timeout":5}`)}
	for range 1000 {
		pol.Decide(call, nil) // until the index is built
	}
	if n := testing.AllocsPerRun(1000, func() { pol.Decide(call, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("t", `{"command":"git push"}`)
	f.Add("Bash", `{"command":"env rm -rf / && ls","path":"x"}`)
	f.Add("t", `{"command":"\u0000"`)
	pol := mustCompile(f, sample(rule(obstat.Deny, "t", "command", "rm *"), rule(obstat.Allow, "t", "command", "git *"), rule(obstat.Allow, "Bash", "command", "git *")).WithFloor(true))
	f.Fuzz(func(t *testing.T, tool, input string) {
		call := &obstat.Call{Tool: tool, Input: json.RawMessage(input), Dir: "/w"}
		d := pol.Decide(call, nil)
		if d.Reason() == "" {
			t.Error("no reason")
		}
		if d.Verdict == obstat.Allow && (len(d.Faults) > 0 || !json.Valid([]byte(input))) {
			t.Errorf("allowed: %q", input)
		}
		if e, _ := pol.Explain(call, nil); e.Verdict != d.Verdict {
			t.Errorf("Explain says %v, Decide %v", e.Verdict, d.Verdict)
		}
	})
}

func FuzzProgram(f *testing.F) {
	b, _ := json.Marshal(sample(rule(obstat.Deny, "t", "command", "rm *")).WithFloor(true))
	f.Add(string(b))
	f.Add(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"check":"x"}],"default":"allow"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := obstat.ParseProgram("p.json", []byte(text))
		if err != nil {
			var es obstat.Errors
			if !errors.As(err, &es) {
				t.Fatalf("not positioned: %v", err)
			}
			for _, e := range es {
				if e.Pos.Line < 1 || e.Code == "" {
					t.Errorf("no position or code: %v", e)
				}
			}
			return
		}
		out, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := obstat.ParseProgram("p.json", out)
		if err != nil || p.Digest() != q.Digest() {
			t.Fatalf("does not round trip: %v", err)
		}
		if pol, err := obstat.Compile(p, nil); err == nil {
			pol.Decide(&obstat.Call{Tool: "t"}, nil)
		}
	})
}

// quietView asks nothing of commands that only go to another directory.
type quietView struct{}

func (quietView) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	cmd, _ := f.Field("command")
	if strings.HasPrefix(cmd, "cd ") && !strings.Contains(cmd, "&&") {
		return nil, nil
	}
	return []obstat.Question{{Tool: f.Call.Tool, Subjects: []obstat.Subject{{Field: "command", Text: cmd}}}}, nil
}

// TestPartWithoutQuestion: a part may ask nothing, a whole call may not.
func TestPartWithoutQuestion(t *testing.T) {
	p := &obstat.Program{Dialect: "test", Mode: "m", View: "quiet",
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules"}}, Default: obstat.Ask, Amend: []obstat.Stage{obstat.Floor{}}}},
		Rules:     map[string][]obstat.Rule{"rules": {{Tool: obstat.Is("bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Fnmatch, Text: "*ls"}, Verdict: obstat.Allow}}}}
	lib := &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){"quiet": func(json.RawMessage) (obstat.View, error) { return quietView{}, nil }}}
	pol, err := obstat.Compile(p, &obstat.Options{Library: lib})
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]obstat.Verdict{"cd x && ls": obstat.Allow, "cd x && rm y && ls": obstat.Ask, "cd x": obstat.Deny} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		if d := pol.Decide(&obstat.Call{Tool: "bash", Input: input}, nil); d.Verdict != want {
			t.Errorf("%s: %v (%s)", cmd, d.Verdict, d.Reason())
		}
	}
}
