package native_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestTimesOfRules: a rule counts within its hours, on its days, and to the end of its last day.
func TestTimesOfRules(t *testing.T) {
	at := func(text string) time.Time {
		out, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tt := range []struct {
		when, at string
		want     bool
	}{
		{"when: {time: '9:00-17:00'}", "2026-11-16 12:00:00", true},
		{"when: {time: '9:00-17:00'}", "2026-11-16 09:00:00", true},
		{"when: {time: '9:00-17:00'}", "2026-11-16 08:59:00", false},
		{"when: {time: '9:00-17:00'}", "2026-11-16 17:00:00", false},
		{"when: {time: '22:00-6:00'}", "2026-11-16 23:00:00", true},
		{"when: {time: '22:00-6:00'}", "2026-11-16 05:59:00", true},
		{"when: {time: '22:00-6:00'}", "2026-11-16 12:00:00", false},
		{"when: {time: ['6:00-7:00', '8:00-9:00']}", "2026-11-16 08:30:00", true},
		{"when: {time: ['6:00-7:00', '8:00-9:00']}", "2026-11-16 07:30:00", false},
		{"when: {days: sat-mon}", "2026-11-16 12:00:00", true},
		{"when: {days: sat-mon}", "2026-11-15 12:00:00", true},
		{"when: {days: sat-mon}", "2026-11-17 12:00:00", false},
		{"when: {days: [tue, thu]}", "2026-11-19 12:00:00", true},
		{"when: {days: [tue, thu]}", "2026-11-18 12:00:00", false},
		{"when: {days: mon, time: '9:00-10:00'}", "2026-11-16 09:30:00", true},
		{"when: {days: mon, time: '9:00-10:00'}", "2026-11-17 09:30:00", false},
		{"until: 2026-12-31", "2026-12-31 23:59:59", true},
		{"until: 2026-12-31", "2027-01-01 00:00:00", false},
		{"until: '2026-12-31T18:00:00+02:00'", "2026-12-31 15:59:59", true},
		{"until: '2026-12-31T18:00:00+02:00'", "2026-12-31 16:00:00", false},
	} {
		l := load(t, "version: 1\nallow:\n  - rule: run make\n    "+tt.when+"\n    examples: []\n")
		c := call("make")
		c.Time = at(tt.at)
		if d := l.Policy.Decide(c, world); (d.Verdict == obstat.Allow) != tt.want {
			t.Errorf("%s at %s: %s", tt.when, tt.at, d.Reason())
		}
	}
	for when, ok := range map[string]bool{ // the examples are made when the rule counts
		"{days: [sat, sun]}": true, "{time: '22:00-6:00'}": true, "{days: sun, time: '22:00-6:00'}": true, "{time: '22:00-6:00', days: sun}": true, "{time: ['1:00-2:00', '3:00-4:00'], days: [tue, fri]}": true,
	} {
		if es := problems("version: 1\nallow:\n  - rule: run make\n    when: " + when + "\n    examples: [make]\n"); (len(es) == 0) != ok {
			t.Errorf("%s: %v", when, es)
		}
	}
}

// TestStagesOfWords: a Program has a stage for marks, a list for what comes before the questions, and a mode, only where
// a rule needs it.
func TestStagesOfWords(t *testing.T) {
	stages := func(l *dialect.Loaded) (out []string) {
		for _, s := range l.Program.Pipelines[l.Program.Mode].Stages {
			if m, is := s.(obstat.Mark); is {
				out = append(out, "mark "+m.Rules)
			}
		}
		return out
	}
	plain := load(t, rules("run make", "{rule: run ls, when: {branch: plan}}"))
	if got := stages(plain); len(got) != 0 || len(plain.Program.Pipelines) != 1 {
		t.Errorf("%q, %d modes", got, len(plain.Program.Pipelines))
	}
	after := load(t, "version: 1\nallow: [{rule: run make, when: {mode: [plan, 'acc*', not x, plan]}}]\ndeny: [{rule: connect anywhere, after: [read secrets, 'read  secrets']}]\n")
	if got := stages(after); !slices.Equal(got, []string{"mark marks"}) || len(after.Program.Rules["marks"]) == 0 {
		t.Errorf("%q", got)
	}
	n := len(load(t, "version: 1\ndeny: [{rule: connect anywhere, after: read secrets}]\n").Program.Rules["marks"])
	if got := len(after.Program.Rules["marks"]); got != n {
		t.Errorf("a sentence that is named twice makes %d marks, once %d", got, n)
	}
	var modes []string
	for m := range after.Program.Pipelines {
		modes = append(modes, string(m))
	}
	if slices.Sort(modes); len(modes) != 3 || !slices.Contains(modes, "plan") || !slices.Contains(modes, "x") {
		t.Errorf("modes %q", modes)
	}
	for mode, want := range map[obstat.Mode]obstat.Verdict{"plan": obstat.Allow, "": obstat.Ask, "x": obstat.Ask} {
		c := call("make")
		c.Mode = mode
		if d := after.Policy.Decide(c, world); d.Verdict != want {
			t.Errorf("in mode %q: %s", mode, d.Reason())
		}
	}
	back := load(t, "version: 1\nallow: [{rule: delete workspace, when: {reversible: true}}, {rule: delete temp, when: {reversible: not true}}]\nask: [delete workspace]\n")
	c := call("rm a")
	if d := back.Policy.Decide(c, world); d.Verdict != obstat.Ask {
		t.Errorf("what cannot be taken back: %s", d.Reason())
	}
	for at := range obstat.Circumstances() {
		if at.When == "reversible" {
			at.Set(c, "true")
		}
	}
	if d := back.Policy.Decide(c, world); d.Verdict != obstat.Allow {
		t.Errorf("what can be taken back: %s", d.Reason())
	}
}

// TestTwoFiles: an example that fails, a rule that never applies and a name that is not known are told at their place in
// their own file.
func TestTwoFiles(t *testing.T) {
	in := func(first, second string) string {
		_, err := layers([2]string{dialect.LayerUser, first}, [2]string{dialect.LayerProject, second})
		if err == nil {
			return ""
		}
		return err.Error()
	}
	failing := "allow:\n  - rule: run git\n    examples: [make]"
	for _, tt := range []struct{ first, second, want string }{
		{failing, "ask: [run ls]", "0/obstat.yaml:4:16: this example should be allowed, and is asked about"},
		{"ask: [run ls]", failing, "1/obstat.yaml:4:16: this example should be allowed, and is asked about"},
		{"ask: [{rule: run ls, after: leak}]", "ask: [run ls]", "0/obstat.yaml:2:29: no rule is called leak"},
		{"ask: [run ls]", "ask: [{rule: run ls, after: leak}]", "1/obstat.yaml:2:29: no rule is called leak"},
		{"deny: [write src]", "deny: [run x]\nallow: [run ls, 'write src']", ""}, // a person may not change the other's file
	} {
		if got := in(tt.first, tt.second); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s and %s: %s", tt.first, tt.second, got)
		}
	}
	for rule, want := range map[string]bool{"read src": true, "read lib": false, "read workspace": false} {
		es := problems("version: 1\nallow: [" + rule + "]\ndeny: [read workspace except lib, read src]\n")
		if told := len(es) > 0 && es[0].Code == obstat.CodeNoEffect && len(es[0].Also) == 1; told != want {
			t.Errorf("%s: %v", rule, es)
		}
	}
	for deny, never := range map[string]map[string]bool{
		"read workspace": {"read workspace": true, "read src": true, "read /etc": false, "read home": false, "read ~/x": false, "write src": false},
		"read anything":  {"read home": true, "read /etc": true, "read src": true},
		"read secrets":   {"read secrets": true, "read .env": false, "read home": false},
		"read /etc":      {"read /etc/hosts": true, "read /var": false},
		"write src":      {"delete src/a": true, "write src/a": true, "read src": false},
		"delete src":     {"write src": false, "delete src": true},
		"read src":       {"read home": false, "read src/a, src/b": true},
		"tool mcp__a__*": {"tool mcp__a__b": true, "tool mcp__b__a": false},
	} {
		for rule, want := range never {
			es := problems("version: 1\nallow: ['" + rule + "']\ndeny: ['" + deny + "']\n")
			if (len(es) > 0) != want {
				t.Errorf("%s beside %s: %v", rule, deny, es)
			}
		}
	}
}

// TestSayingPaths: what is offered for a path is said from the project, from home or from the root, and a directory
// beside it only for reading, and not for the highest ones.
func TestSayingPaths(t *testing.T) {
	l := load(t, "version: 1\nallow: []\n")
	for command, want := range map[string]string{
		"cat /var/log/app/x.log": "read /var/log/app/x.log, read /var/log/app",
		"cat /etc/hosts":         "read /etc/hosts",
		"cat ~/notes/a":          "read ~/notes/a, read ~/notes",
		"touch /etc/app/x/y":     "write /etc/app/x/y",
		"cat 'a b'":              `read "./a b"`,
		"curl https://x.example": "connect x.example",
	} {
		c := call(command)
		d := l.Policy.Decide(c, world)
		var got []string
		for _, o := range l.Offers(c, world, &d) {
			got = append(got, o.Text)
		}
		for _, text := range strings.Split(want, ", ") {
			if !slices.Contains(got, text) {
				t.Errorf("%s: %q, want %s", command, got, text)
			}
		}
		if slices.Contains(got, "read /etc") || slices.Contains(got, "write /etc/app/x") {
			t.Errorf("%s: %q", command, got)
		}
	}
	c := call("cat /etc/hosts")
	for name, d := range map[string]*obstat.Decision{"a safety question": {Safety: true}, "a fault": {Faults: []obstat.Fault{{Msg: "x"}}}} {
		if got := l.Offers(c, world, d); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	c.Subjects = []string{"x"}
	if got := l.Offers(c, world, new(obstat.Decision)); len(got) != 0 {
		t.Errorf("a call that names its own subjects: %v", got)
	}
	for _, tt := range []struct{ kind, target, want string }{
		{"read", "/p/src" + dialect.AnyBelow + "*.go", "read ./src" + dialect.AnyBelow + "*.go"}, {"read", "/p/a b" + dialect.AnyBelow + "*.go", ""},
		{"write", "/p/src/[a]", ""}, {"write", "/", "write /"},
	} {
		o, ok := native.Dialect{}.RuleFor(nil, tt.kind, tt.target, "/p")
		if ok != (tt.want != "") || o.Text != tt.want && tt.want != "" {
			t.Errorf("%s %s: %q %t", tt.kind, tt.target, o.Text, ok)
		}
	}
}

// TestCallAfterCall: one policy decides calls of several projects and homes in turns, each by its own places.
func TestCallAfterCall(t *testing.T) {
	l := load(t, "version: 1\nallow: [write workspace, read home]\n")
	for range 3 {
		for _, dir := range []string{"/p", "/q"} {
			for target, want := range map[string]obstat.Verdict{"/p/a": obstat.Ask, "/q/a": obstat.Ask} {
				c := &obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"` + target + `","content":"x"}`), Dir: dir, Roots: []string{dir}}
				if strings.HasPrefix(target, dir+"/") {
					want = obstat.Allow
				}
				if d := l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home" + dir, Dirs: []string{"/", "/p", "/q"}}); d.Verdict != want {
					t.Errorf("%s from %s: %s", target, dir, d.Reason())
				}
				c.Tool, c.Input = "Read", []byte(`{"file_path":"/home/p/notes"}`)
				if d := l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home" + dir, Dirs: []string{"/", "/p", "/q"}}); (d.Verdict == obstat.Allow) != (dir == "/p") {
					t.Errorf("a home from %s: %s", dir, d.Reason())
				}
			}
		}
	}
}
