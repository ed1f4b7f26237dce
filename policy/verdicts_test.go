package policy

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// answering returns a policy of a role that gives one answer: by a rule for Bash, or by its
// default for any other tool.
func answering(t *testing.T, role Role, rule, otherwise obstat.Verdict) *Policy {
	t.Helper()
	d, err := all.Find("program")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"obstat":1,"mode":"m","floor":"off","pipelines":{"m":{"stages":[{"match":"rules","rules":"l"}],"default":%q}},
		"rules":{"l":[{"tool":"Bash","verdict":%q,"source":"Bash %s"}]}}`, otherwise, rule, rule)
	in := &dialect.Input{Files: []dialect.File{{Name: "f.json", Data: []byte(text)}}}
	l, err := dialect.Load(d, in)
	if err != nil {
		t.Fatal(err)
	}
	return &Policy{Loaded: l, Role: role, OnDisk: role == Own}
}

// TestStrictestCounts: for every pair of a project's answer and that of another policy, the
// strictest of those that count by their role is the answer, and it says whose it is.
func TestStrictestCounts(t *testing.T) {
	all := []obstat.Verdict{obstat.Deny, obstat.Ask, obstat.Allow}
	for _, role := range []Role{Own, Inner, User} {
		for _, tool := range []string{"Bash", "Other"} {
			for _, a := range all {
				for _, b := range all {
					project, other := answering(t, Own, a, a), answering(t, role, b, b)
					counts := map[Role]bool{
						Own:   true,
						Inner: tool == "Bash" && b != obstat.Allow, // its default does not count
						User:  tool == "Bash" && b == obstat.Deny,
					}[role]
					want := a
					if counts {
						want = min(a, b)
					}
					f := &InForce{Policies: []*Policy{project, other}, Pins: "on"}
					call := &obstat.Call{Tool: tool, Input: []byte(`{}`), Dir: "/p"}
					for name, got := range map[string]Ruling{"decide": f.Decide(call, nil), "explain": f.Explain(call, nil)} {
						if got.Verdict != want || (got.Trace != nil) != (name == "explain") {
							t.Errorf("%s: project %s, %v %s, %s: %s, want %s", name, a, role, b, tool, got.Verdict, want)
						}
						if first := got.From == project; first != (!counts || a <= b) {
							t.Errorf("project %s, %v %s, %s: decided by the first: %t", a, role, b, tool, first)
						}
						if got.Call.Project != "" || len(got.Call.Roots) != 1 || got.Call.Roots[0] != "/p" {
							t.Errorf("put as %+v", got.Call)
						}
					}
					if r := f.Reach(tool, "none"); want < r.Strictest || want > r.Loosest {
						t.Errorf("project %s, %v %s, %s: %s is out of reach %+v", a, role, b, tool, want, r)
					}
				}
			}
		}
	}
}

// TestBrokenPolicies: a file that cannot be loaded denies where nothing was accepted before,
// and lets nothing be allowed where something was.
func TestBrokenPolicies(t *testing.T) {
	call := &obstat.Call{Tool: "Bash", Input: []byte(`{}`), Dir: "/p"}
	broken := errors.New("line one\nline two")
	for _, tt := range []struct {
		name    string
		f       InForce
		want    obstat.Verdict
		bounded bool
		words   string
		reach   obstat.Reach
	}{
		{"none", InForce{}, obstat.Deny, false, "no policy is in force", obstat.Reach{}},
		{"broken", InForce{Broken: []Broken{{Err: broken}}}, obstat.Deny, true, "cannot be loaded: line one", obstat.Reach{}},
		{"bound, allows", InForce{Broken: []Broken{{Err: broken, Bound: true}}, Policies: []*Policy{answering(t, Own, obstat.Allow, obstat.Allow)}},
			obstat.Ask, true, "what was accepted before decides, and asks: line one", obstat.Reach{Strictest: obstat.Ask, Loosest: obstat.Ask}},
		{"bound, denies", InForce{Broken: []Broken{{Err: broken, Bound: true}}, Policies: []*Policy{answering(t, Own, obstat.Deny, obstat.Deny)}},
			obstat.Deny, true, "line one", obstat.Reach{}},
		{"crowded, denies", InForce{Broken: []Broken{{Err: errCrowded, Bound: true}}, Policies: []*Policy{answering(t, Own, obstat.Deny, obstat.Deny)}},
			obstat.Deny, false, "deny rule", obstat.Reach{}},
		{"crowded, allows", InForce{Broken: []Broken{{Err: errCrowded, Bound: true}}, Policies: []*Policy{answering(t, Own, obstat.Allow, obstat.Allow)}},
			obstat.Ask, false, firstLine(errCrowded), obstat.Reach{Strictest: obstat.Ask, Loosest: obstat.Ask}},
	} {
		got := tt.f.Decide(call, nil)
		if got.Verdict != tt.want || got.Bounded != tt.bounded || got.OnlyUnknown || got.Over != 0 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if why := got.Reason(); !strings.Contains(why, tt.words) || strings.Contains(why, "line two") {
			t.Errorf("%s: %q", tt.name, why)
		}
		if r := tt.f.Reach("Bash", ""); r != tt.reach {
			t.Errorf("%s: reach %+v", tt.name, r)
		}
	}
}

// TestJoinedNotes: notes are joined where there are two.
func TestJoinedNotes(t *testing.T) {
	for _, tt := range [][3]string{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a; b"}} {
		if got := join(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q", got)
		}
	}
}

// TestProjectOf: path rules start where they were written, else where the policy was found
// for the call's directory, else at home.
func TestProjectOf(t *testing.T) {
	f := &InForce{home: "/home/u"}
	for _, tt := range []struct {
		place, from, dir, want string
	}{
		{"/p", "/q", "/q/x", "/p"}, {"", "/q", "/q/x", "/q"}, {"", "/q", "/r", "/home/u"}, {"", "", "/r", "/home/u"},
	} {
		if got := f.project(&Policy{Place: tt.place, from: tt.from}, &obstat.Call{Dir: tt.dir}); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// TestModes: an agent's word for its mode counts in policies that have it and are the agent's.
func TestModes(t *testing.T) {
	load := func(name, file, text string) *Policy {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: file, Data: []byte(text)}}})
		if err != nil {
			t.Fatal(err)
		}
		return &Policy{Loaded: l}
	}
	claude := load("claudecode", "settings.json", `{"permissions":{"deny":["Bash(rm:*)"]}}`)
	adk := load("adkfluent", "adk-permissions.json", `{"mode":"plan","deny":["rm"]}`)
	printed, err := claude.Program.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	program := load("program", "obstat.json", string(printed))
	for _, tt := range []struct {
		name  string
		p     *Policy
		mode  obstat.Mode
		agent string
		want  obstat.Mode
	}{
		{"its own", claude, "plan", "claude-code", "plan"}, {"no such mode", claude, "nonesuch", "claude-code", ""},
		{"another agent's", claude, "plan", "codex", ""}, {"none", claude, "", "claude-code", ""},
		{"Claude Code's at adk-fluent", adk, "default", "claude-code", ""},
		{"printed", program, "plan", "claude-code", "plan"}, {"printed, another agent's", program, "plan", "codex", ""},
	} {
		if got := tt.p.ModeOf(&obstat.Call{Mode: tt.mode, Agent: tt.agent}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		c := (&InForce{agent: tt.agent}).put(&obstat.Call{Mode: tt.mode, Agent: tt.agent}, tt.p)
		if c.Mode != tt.want {
			t.Errorf("%s: put in mode %q, want %q", tt.name, c.Mode, tt.want)
		}
	}
}

// TestAnswersTogether: of several answers the marks are joined, the words `over` are those that all have, and an ask is
// for an unknown part alone, or for some of many files, if each ask is.
func TestAnswersTogether(t *testing.T) {
	ask := func(unknown, partly bool, marks ...string) obstat.Decision {
		return obstat.Decision{Verdict: obstat.Ask, OnlyUnknown: unknown, Partly: partly, Marks: marks}
	}
	allow := func(over obstat.Over, marks ...string) obstat.Decision {
		return obstat.Decision{Verdict: obstat.Allow, Over: over, Marks: marks, By: obstat.By{Kind: obstat.ByRule}}
	}
	for _, tt := range []struct {
		name            string
		answers         []obstat.Decision
		broken          bool
		marks           string
		unknown, partly bool
		over            obstat.Over
	}{
		{name: "marks of all", answers: []obstat.Decision{allow(0, "a"), allow(0, "a", "b"), ask(false, false, "c")}, marks: "a b c"},
		{name: "each ask is for an unknown part", answers: []obstat.Decision{ask(true, false), ask(true, true), allow(0)}, unknown: true, partly: true},
		{name: "no ask is for some of many files", answers: []obstat.Decision{ask(true, false), allow(0)}, unknown: true},
		{name: "one ask is for more", answers: []obstat.Decision{ask(true, true), ask(false, false)}},
		{name: "the first ask is for more", answers: []obstat.Decision{ask(false, true), ask(true, true)}},
		{name: "a broken file", answers: []obstat.Decision{ask(true, true)}, broken: true},
		{name: "words of both", answers: []obstat.Decision{allow(obstat.OverAutoMode), allow(obstat.OverAutoMode)}, over: obstat.OverAutoMode},
		{name: "words of one", answers: []obstat.Decision{allow(obstat.OverAutoMode), allow(0)}},
		{name: "words of an allow beside an ask", answers: []obstat.Decision{allow(obstat.OverAutoMode), ask(true, false)}, unknown: true},
	} {
		f, of := &InForce{Pins: "on"}, map[*Policy]obstat.Decision{}
		for _, d := range tt.answers {
			p := answering(t, Own, obstat.Allow, obstat.Allow)
			f.Policies, of[p] = append(f.Policies, p), d
		}
		if tt.broken {
			f.Broken = []Broken{{Err: errors.New("x"), Bound: true}}
		}
		got := f.decide(&obstat.Call{Tool: "Bash", Dir: "/p"}, func(p *Policy, _ *obstat.Call) (obstat.Decision, *obstat.Trace) { return of[p], nil })
		if marks := strings.Join(got.Marks, " "); marks != tt.marks || got.OnlyUnknown != tt.unknown || got.Partly != tt.partly || got.Over != tt.over {
			t.Errorf("%s: marks %q, only unknown %t, partly %t, over %v", tt.name, marks, got.OnlyUnknown, got.Partly, got.Over)
		}
	}
}

// TestNoPolicyNote: the built-in policy says that no policy was found where it asks by its default or the floor, and
// nowhere else.
func TestNoPolicyNote(t *testing.T) {
	rule := new(obstat.Rule)
	for _, tt := range []struct {
		name string
		d    obstat.Decision
		want bool
	}{
		{"default", obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByDefault}}, true},
		{"floor", obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByFloor}}, true},
		{"guard", obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByGuard}}, false},
		{"rule", obstat.Decision{Verdict: obstat.Ask, Rule: rule, By: obstat.By{Kind: obstat.ByDefault}}, false},
		{"deny", obstat.Decision{Verdict: obstat.Deny, By: obstat.By{Kind: obstat.ByFloor}}, false},
		{"allow", obstat.Decision{Verdict: obstat.Allow, By: obstat.By{Kind: obstat.ByDefault}}, false},
	} {
		if r := (&Ruling{Decision: tt.d}); r.unruled() != tt.want {
			t.Errorf("%s: unruled %t", tt.name, !tt.want)
		}
	}
}

// TestMainPolicy: the policy to show is the first of the project's own on disk, else the first.
func TestMainPolicy(t *testing.T) {
	user, accepted, disk := answering(t, User, obstat.Deny, obstat.Deny), answering(t, Own, obstat.Ask, obstat.Ask), answering(t, Own, obstat.Allow, obstat.Allow)
	user.OnDisk, accepted.OnDisk = true, false
	for _, tt := range []struct {
		list []*Policy
		want *Policy
	}{
		{nil, nil}, {[]*Policy{user}, user}, {[]*Policy{user, accepted}, user}, {[]*Policy{user, accepted, disk}, disk}, {[]*Policy{disk, user}, disk},
	} {
		if got := (&InForce{Policies: tt.list}).Main(); got != tt.want {
			t.Errorf("of %d policies another is shown: %+v", len(tt.list), got)
		}
	}
}

// TestUnpack: an accepted Program that is damaged, or unfolds to more than its bound, is an error.
func TestUnpack(t *testing.T) {
	packed, err := deflate([]byte(`{"a":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := unpack(packed); err != nil || string(text) != `{"a":"b"}` {
		t.Errorf("%s %v", text, err)
	}
	if _, err := unpack(packed[:len(packed)/2]); err == nil {
		t.Error("half a Program is read")
	}
	var bomb bytes.Buffer
	w, _ := flate.NewWriter(&bomb, flate.BestSpeed)
	for range maxUnpacked>>20 + 1 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(bomb.Bytes()); err == nil {
		t.Errorf("%d bytes unfold to more than %d", bomb.Len(), maxUnpacked)
	}
}
