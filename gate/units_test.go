package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// inForce returns the policies in force that a text says alone, of the user or of a place.
func inForce(t *testing.T, place, text string) *policy.InForce {
	t.Helper()
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: place + "/" + native.File, Data: []byte("version: 1\n" + text + "\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	f := policy.Of(l)
	f.Policies[0].Place, f.Pins = place, "on"
	return f
}

// TestWordsOfLimits: what is said past a limit: how much there was, in which time, and what to do instead.
func TestWordsOfLimits(t *testing.T) {
	f := inForce(t, "/p", "limit: [200 calls per session, '30 writes per day, deny', 5 equal calls in a row, '5 equal calls in a row, deny', 10 minutes per session, 3 asks per day]")
	var got []string
	for _, l := range native.LimitsOf(f.Policies[0].Program) {
		one := limit{Limit: l}
		got = append(got, one.words(7))
	}
	for i, want := range []string{
		"the limit is reached: 7 calls were made this session; the count begins anew once a person approves",
		"the limit is reached: 7 writes were made today; end your work here, and tell the user how far you got",
		"the limit is reached: this very call was made 7 times in a row; do something else, or tell the user where you are stuck",
		"the limit is reached: this very call was made 7 times in a row; do something else, or tell the user where you are stuck",
		"the limit is reached: 7 minutes are over this session; the count begins anew once a person approves",
		"the limit is reached: a person was asked 7 times today; end your work here, and tell the user how far you got",
	} {
		if got[i] != want {
			t.Errorf("%q, want %q", got[i], want)
		}
	}
}

// TestMade: how much of a limit is used, since its count began anew.
func TestMade(t *testing.T) {
	at := func(minute int, kinds, digest, more string) use {
		return use{time.Unix(1763460000+60*int64(minute), 0), kinds, digest, more}
	}
	rule := &obstat.Rule{Source: "x"}
	calls, writes := &limit{Limit: native.Limit{Unit: native.Calls, Rule: rule}}, &limit{Limit: native.Limit{Unit: native.Writes, Rule: rule}}
	equal, minutes := &limit{Limit: native.Limit{Unit: native.Equal, Rule: rule}}, &limit{Limit: native.Limit{Unit: native.Minutes, Rule: rule}}
	asks, next := &limit{Limit: native.Limit{Unit: native.Asks, Rule: rule}}, at(30, "c", "a", "")
	id := calls.id()
	for name, tt := range map[string]struct {
		uses []use
		want [5]int // calls, writes, equal calls, minutes, asks
	}{
		"nothing":                {nil, [5]int{}},
		"calls":                  {[]use{at(0, "cw", "b", ""), at(10, "c", "a", ""), at(20, "c", "a", "")}, [5]int{3, 1, 2, 30, 0}},
		"another between":        {[]use{at(0, "c", "a", ""), at(10, "c", "b", ""), at(20, "c", "a", "")}, [5]int{3, 0, 1, 30, 0}},
		"an ask between":         {[]use{at(10, "c", "a", ""), at(15, "a", "b", ""), at(20, "c", "a", "")}, [5]int{2, 0, 2, 20, 1}},
		"anew":                   {[]use{at(0, "cw", "a", ""), at(10, "r", "-", id), at(20, "cn", "a", "")}, [5]int{1, 0, 1, 10, 0}},
		"twice anew":             {[]use{at(0, "c", "a", ""), at(5, "r", "-", id), at(10, "c", "a", ""), at(12, "r", "-", id)}, [5]int{}},
		"another's anew":         {[]use{at(0, "c", "a", ""), at(10, "r", "-", "else")}, [5]int{1, 0, 1, 30, 0}},
		"a clock that goes back": {[]use{at(0, "c", "a", ""), at(20, "c", "b", ""), at(10, "c", "a", "")}, [5]int{3, 0, 1, 40, 0}},
	} {
		for i, l := range []*limit{calls, writes, equal, minutes, asks} {
			if got := l.made(tt.uses, next); got != tt.want[i] {
				t.Errorf("%s: %d %s, want %d", name, got, l.Unit, tt.want[i])
			}
		}
	}
	if other := (&limit{Limit: native.Limit{Rule: &obstat.Rule{Source: "y"}}}).id(); other == id || id == "" {
		t.Errorf("limits are told apart by %q and %q", id, other)
	}
}

// TestDays: of a day's count only the lines of the latest day are kept, and none on a new day.
func TestDays(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	line := func(days int, kinds string) string {
		return use{at: noon.AddDate(0, 0, days), kinds: kinds, digest: "d"}.String()
	}
	for name, tt := range map[string]struct {
		text string
		kept string
		n    int
	}{
		"today":         {line(0, "c") + line(0, "w"), line(0, "c") + line(0, "w"), 2},
		"and before":    {line(-2, "c") + line(-1, "c") + line(0, "c"), line(0, "c"), 1},
		"yesterday":     {line(-1, "c"), "", 0},
		"tomorrow":      {line(0, "c") + line(1, "c") + line(0, "c"), line(1, "c") + line(0, "c"), 2},
		"no line":       {"x\n" + line(0, "c") + "y\n", line(0, "c") + "y\n", 1},
		"nothing":       {"", "", 0},
		"an empty line": {line(0, "c") + "\n" + line(0, "c"), line(0, "c") + "\n" + line(0, "c"), 2},
	} {
		kept, uses := readUses([]byte(tt.text), "day\x00a\x00", noon)
		if string(kept) != tt.kept || len(uses) != tt.n {
			t.Errorf("%s: %q with %d uses", name, kept, len(uses))
		}
		if kept, _ := readUses([]byte(tt.text), "calls\x00a", noon); string(kept) != tt.text {
			t.Errorf("%s, of a session: %q", name, kept)
		}
	}
}

// TestRanOnce: a call that ran after its agent had asked because of a limit begins the count anew, once, and another call
// does not.
func TestRanOnce(t *testing.T) {
	kept := SessionDir(t.TempDir())
	g := &Gate{opts: Options{Sessions: kept}}
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Agent: "a", Session: "s", Dir: "/p"}
	other := *c
	other.Input = []byte(`{"command":"make"}`)
	key := "calls\x00" + sessionOf(c)
	text := func() (out string) {
		_ = kept.Tally(key, func(b []byte) []byte { out = string(b); return b })
		return out
	}
	waits := use{at: time.Unix(1763460000, 0), kinds: string(useWaits), digest: short(c.DigestText()), more: "id Y2FsbHMAYQBz"} // of this key
	_ = kept.Tally(key, func([]byte) []byte { return []byte(waits.String()) })
	before := text()
	if g.ran(&other); text() != before {
		t.Errorf("after another call: %q", text())
	}
	g.ran(c)
	if got := text(); strings.Count(got, " d ") != 1 || strings.Count(got, " r - id\n") != 1 {
		t.Errorf("after the call: %q", got)
	}
	after := text()
	if g.ran(c); text() != after {
		t.Errorf("after the call again: %q", text())
	}
}

// TestEndsFlags: how the arguments of programs that end processes are read.
func TestEndsFlags(t *testing.T) {
	for command, want := range map[string]string{
		"kill -s TERM 77 78":         "pids [77 78]",
		"kill --signal=TERM 77":      "pids [77]",
		"kill -n 9 77":               "pids [77]",
		"kill 2":                     "pids [2]",
		"kill 1":                     "no",
		"kill x":                     "no",
		"kill -9":                    "no",
		"kill 77 -9":                 "no",
		"killall -q a b":             "names [a b]",
		"killall --signal INT a":     "names [a]",
		"killall /bin/a":             "no",
		"killall -r a":               "no",
		"pkill app":                  "patterns [(?s)app]",
		"pkill -x app":               "patterns [(?s)^(app)$]",
		"pkill --exact app":          "patterns [(?s)^(app)$]",
		"pkill -f 'python app.py'":   "lines [(?s)python app.py]",
		"pkill --full -x 'a b'":      "lines [(?s)^(a b)$]",
		"pkill -TERM -f app":         "lines [(?s)app]",
		"pkill --signal TERM app":    "patterns [(?s)app]",
		"pkill a b":                  "no",
		"pkill 'a['":                 "no",
		"pkill '(a'":                 "no",
		"pkill 'a++'":                "no",
		"pkill":                      "no",
		"p=1; printf -v p 2; kill 7": "pids [7]",
	} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p"}
		a := (&Gate{opts: Options{World: &obstat.Snapshot{}}}).world().Analysis(c)
		got := "none"
		for i := range a.Commands {
			e, ok := enders()[a.Commands[i].Program]
			if !ok {
				continue
			}
			s := new(person.Signalled)
			switch ok := e.read(s, &a.Commands[i], a); {
			case !ok:
				got = "no"
			case s.PIDs != nil:
				got = fmt.Sprint("pids ", s.PIDs)
			case s.Names != nil:
				got = fmt.Sprint("names ", s.Names)
			case s.Patterns != nil:
				got = fmt.Sprint("patterns ", s.Patterns)
			default:
				got = fmt.Sprint("lines ", s.Lines)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	for _, command := range []string{"sleep 9 & p=$!; printf -v p 1; kill $p", "sleep 9 & p=$!; eval x; kill $p", "sleep 9 & p=$!; let p=1; kill $p", "kill $!", "sleep 9 & p=$$; kill $p", "sleep 9 & p=$!; kill $$p"} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p"}
		g := &Gate{opts: Options{World: obstat.OS{}, Getenv: func(string) string { return "" }}}
		if got := g.ends(c, g.world().Analysis(c)); got != "" {
			t.Errorf("%s: %q", command, got)
		}
	}
	g := &Gate{opts: Options{World: &obstat.Snapshot{}, Getenv: func(string) string { return "" }}}
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"killall no-such-program"}`), Dir: "/p"}
	if got := g.ends(c, g.world().Analysis(c)); got != "" {
		t.Errorf("on another machine: %q", got)
	}
}

// TestProbes: a rule that a person writes is tried on calls of the same shape about other things, and of another tool.
func TestProbes(t *testing.T) {
	c := &obstat.Call{Tool: "Edit", Input: json.RawMessage(`{"file_path":"a","n":3}`)}
	got := probes(c)
	if len(got) != 6 || got[5].Tool != "obstat_probe" || string(got[5].Input) != string(c.Input) {
		t.Fatalf("%+v", got)
	}
	for i, text := range []string{"obstat-probe", "/obstat/probe", "obstat/probe.txt", "~/.obstat-probe", "https://probe.obstat.invalid/x"} {
		if want := `{"file_path":"` + text + `","n":3}`; string(got[i].Input) != want || got[i].Tool != "Edit" || got[i].Subjects != nil {
			t.Errorf("%s %s %q", got[i].Tool, got[i].Input, got[i].Subjects)
		}
	}
	got = probes(&obstat.Call{Tool: "t", Input: json.RawMessage(`[]`), Subjects: []string{"a", "b"}})
	if string(got[0].Input) != "{}" || !slices.Equal(got[1].Subjects, []string{"/obstat/probe"}) {
		t.Errorf("%+v", got)
	}
}

// TestRulesOf: rules are read as they are carried; one that a person wrote is called by its pattern, and no rule is an
// error.
func TestRulesOf(t *testing.T) {
	const rule = `{"tool":"Bash","field":"command","match":{"wildcard":"make *"},"verdict":"allow","source":"run rm"}`
	for text, want := range map[string]string{"run make": "run rm", "": "Bash(make *)"} {
		got, err := rulesOf([]approval.Offer{{Text: text, Rule: json.RawMessage(rule), List: "allow"}})
		if err != nil || len(got) != 1 || got[0].Rule.String() != want || got[0].List != "allow" || got[0].Scope != "always" {
			t.Errorf("%q: %+v, %v", text, got, err)
			continue
		}
		if name := map[bool]string{true: want, false: text}[text == ""]; got[0].Text != name {
			t.Errorf("%q is called %q", text, got[0].Text)
		}
	}
	for _, bad := range [][]approval.Offer{nil, {{Rule: json.RawMessage(`{`)}}, {{Rule: json.RawMessage(rule)}, {Rule: json.RawMessage(`[]`)}}} {
		if got, err := rulesOf(bad); err == nil || got != nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

// TestNews: what is in force is told when it changes, once for all places, and not for the first look at a place.
func TestNews(t *testing.T) {
	g := &Gate{noted: map[string]noted{}}
	one, two := noted{"1", ""}, noted{"2", ""}
	for i, tt := range []struct {
		dir  string
		now  noted
		want bool
	}{
		{"/a", one, false}, {"/a", one, false}, {"/a", two, true}, {"/a", two, false}, {"/b", one, false}, {"/b", two, false}, {"/a", one, true}, {"/a", noted{"1", "bad"}, true},
	} {
		if got := g.news(tt.dir, tt.now); got != tt.want {
			t.Errorf("look %d at %s: news %t", i, tt.dir, got)
		}
	}
	for i := range 3 * maxPlaces {
		if g.news(fmt.Sprint("/", i), one); len(g.noted) > maxPlaces+1 {
			t.Fatalf("%d places are remembered", len(g.noted))
		}
	}
	if len(g.noted) < 2 {
		t.Errorf("%d places are remembered", len(g.noted))
	}
}

// TestStricterAgents: of an agent that another one started, the stricter answer and wish of the two count, and as much is
// kept as the first of them says.
func TestStricterAgents(t *testing.T) {
	lax := inForce(t, "/a", "confine: {run: code, time: 1h}\nundo: {keep: 2d}\nallow: [write anything, run make, run ls]")
	strict := inForce(t, "/b", "confine: {run: code, time: 5s}\nundo: {keep: 9d, files: 3}\nallow: [write workspace]\nask: [run make]\ndeny: [write ./gen]")
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Dir: "/p", Roots: []string{"/p"}, Project: "/p"}
	world := &obstat.Snapshot{Dirs: []string{"/", "/p"}}
	for name, line := range map[string][]*policy.InForce{"the strict one last": {lax, strict}, "the strict one first": {strict, lax}} {
		j := &judged{line: line}
		if got := j.wish(); !got.Code || got.Time != 5*time.Second {
			t.Errorf("%s: %s", name, got)
		}
		for target, want := range map[string]obstat.Verdict{"/p/x": obstat.Allow, "/p/gen": obstat.Deny, "/etc/x": obstat.Ask} {
			if got := j.touch(c, obstat.FaceWrite, target, world); got.Verdict != want {
				t.Errorf("%s: write %s: %s", name, target, got.Reason())
			}
		}
		for command, want := range map[string]obstat.Verdict{"make": obstat.Ask, "touch gen": obstat.Deny, "touch x": obstat.Allow} {
			if got := j.runs(c, command, world); got.Verdict != want {
				t.Errorf("%s: %s: %s", name, command, got.Reason())
			}
		}
		if got := j.offer(c, obstat.FaceWrite, "/etc/x", world); !strings.Contains(got, "/etc/x") {
			t.Errorf("%s: %q is offered", name, got)
		}
		for _, target := range []string{"/p/x", "/p/gen"} {
			if got := j.offer(c, obstat.FaceWrite, target, world); got != "" {
				t.Errorf("%s: %q is offered for %s", name, got, target)
			}
		}
	}
	if got := (&judged{line: []*policy.InForce{lax, strict}}).undo(); got != (native.Undo{Keep: 48 * time.Hour, Files: 3}) {
		t.Errorf("kept: %s", got)
	}
	if got := (&judged{line: []*policy.InForce{lax}}).wish(); got.Time != time.Hour {
		t.Errorf("alone: %s", got)
	}
	if got := (&judged{}).offer(c, obstat.FaceWrite, "/etc/x", world); got != "" || (&judged{}).wish().Code {
		t.Errorf("without policies: %q", got)
	}
	for text, want := range map[string]obstat.Verdict{"otherwise: deny": obstat.Deny, "allow: [run ls]": obstat.Ask} {
		j := &judged{line: []*policy.InForce{inForce(t, "/a", text)}}
		if got := j.unasked(obstat.Decision{Verdict: obstat.Ask}); got.Verdict != want {
			t.Errorf("%s: %s", text, got.Reason())
		}
		if got := j.unasked(obstat.Decision{Verdict: obstat.Allow}); got.Verdict != obstat.Allow {
			t.Errorf("%s: %s", text, got.Reason())
		}
	}
}

// TestDoubted: a reason that no rule has seen makes an allowed call ask, as a matter of safety that no rule settles.
func TestDoubted(t *testing.T) {
	rule := &obstat.Rule{Source: "run make"}
	for _, v := range []obstat.Verdict{obstat.Allow, obstat.Ask} {
		j := &judged{}
		j.Decision = obstat.Decision{Verdict: v, Tool: "Bash", Mode: "m", Rule: rule, OnlyUnknown: true, Offers: []obstat.Offer{{}}, Input: []byte("{}")}
		j.doubted("its description has changed")
		if j.Verdict != obstat.Ask || !j.Safety || j.OnlyUnknown || j.Offers != nil || !j.self || !strings.HasSuffix(j.Note, "its description has changed") || j.Tool != "Bash" || j.Mode != "m" || string(j.Input) != "{}" {
			t.Errorf("%s: %+v", v, j.Decision)
		}
		if of := j.Rule == rule; of != (v == obstat.Ask) || (v == obstat.Allow) != (j.Stage == "doubt" && j.By.Kind == obstat.ByGuard) {
			t.Errorf("%s: %+v", v, j.Decision)
		}
	}
}

// TestNotRemembered: answers about a call at a time of its own are not remembered.
func TestNotRemembered(t *testing.T) {
	c := &obstat.Call{Dir: "/p", Time: time.Unix(1, 0)}
	if got := keyOf(c, &judged{}); got != "" {
		t.Errorf("%q", got)
	}
	c.Time = time.Time{}
	one, two := &judged{line: []*policy.InForce{inForce(t, "/a", "allow: [run ls]")}}, &judged{line: []*policy.InForce{inForce(t, "/b", "allow: [run ls]")}}
	if a, b := keyOf(c, one), keyOf(c, two); a == b || !strings.Contains(a, "/a") {
		t.Errorf("%q, %q", a, b)
	}
	more := *c
	more.Roots = []string{"/p", "/q"}
	if keyOf(c, one) == keyOf(&more, one) {
		t.Error("the workspace does not count")
	}
}

// TestGrantRecords: a grant is written down with what it is for, and by whom it was made or taken back.
func TestGrantRecords(t *testing.T) {
	for scope, want := range map[approval.Scope]string{approval.Session: "k  ", approval.Agent: " k ", approval.Workspace: "  k"} {
		gr := &approval.Grant{ID: "g", Request: "r", Tool: "Bash", Digest: "d", Scope: scope, Key: "k", By: "ann"}
		made, back := GrantRecord(gr, ""), GrantRecord(gr, "ben")
		for _, r := range []*ledger.Record{made, back} {
			if got := r.Session + " " + r.Agent + " " + r.Dir; got != want || r.Kind != ledger.Grant || r.Request != "r" || r.Tool != "Bash" || r.Call != "d" || len(r.Detail) == 0 {
				t.Errorf("%s: %+v", scope, r)
			}
		}
		if made.Verdict != "granted" || made.User != "ann" || made.Reason != fmt.Sprintf("ann granted it for the %s k", scope) || back.Verdict != "revoked" || back.User != "ben" || back.Reason != "taken back by ben" {
			t.Errorf("%s: %+v, %+v", scope, made, back)
		}
	}
}

// TestApproveDenied: what was denied is not approved by anybody.
func TestApproveDenied(t *testing.T) {
	by := obstat.By{Kind: obstat.ByPerson, Who: "ann", Note: "approved by ann"}
	for v, want := range map[obstat.Verdict]obstat.Verdict{obstat.Ask: obstat.Allow, obstat.Deny: obstat.Deny} {
		d := approve(obstat.Decision{Verdict: v}, by)
		if d.Verdict != want || want == obstat.Deny && !strings.Contains(d.Reason(), "cannot be") {
			t.Errorf("%s: %s", v, d.Reason())
		}
	}
}

// TestRemembered: a session gets the marks that it has not got, of calls that are not denied.
func TestRemembered(t *testing.T) {
	for _, tt := range []struct {
		verdict     obstat.Verdict
		marks, have []string
		want        string
	}{
		{obstat.Allow, []string{"a", "b"}, []string{"a"}, "b"}, {obstat.Ask, []string{"a"}, nil, "a"}, {obstat.Deny, []string{"a"}, nil, ""},
		{obstat.Allow, []string{"a"}, []string{"a"}, ""}, {obstat.Allow, nil, nil, ""},
	} {
		kept := &markCount{Sessions: new(sessionMap)}
		p := &passage{g: &Gate{opts: Options{Sessions: kept}}, call: &obstat.Call{Session: "s", After: tt.have}, j: new(judged)}
		p.j.Marks = tt.marks
		if err := p.remember(&obstat.Decision{Verdict: tt.verdict}); err != nil {
			t.Error(err)
		}
		got, _ := kept.Marks(sessionOf(p.call))
		if strings.Join(got, " ") != tt.want || kept.n > 0 != (tt.want != "") {
			t.Errorf("%+v: %q, marked %d times", tt, got, kept.n)
		}
	}
}

// markCount counts how often marks are added.
type markCount struct {
	Sessions
	n int
}

func (s *markCount) Mark(session string, marks []string) error {
	s.n++
	return s.Sessions.Mark(session, marks)
}

// TestStanding: how a gate stands: the policy, its dialect and files, and a text of them.
func TestStanding(t *testing.T) {
	f := inForce(t, "/p", "allow: [run ls]")
	g, err := Open(context.Background(), Options{Policy: Fixed{f.Policies[0].Loaded}, World: &obstat.Snapshot{}})
	if err != nil {
		t.Fatal(err)
	}
	s := g.Status(t.Context())
	if s.Dialect != native.Name || s.Policy != f.Policies[0].Policy.Digest() || !slices.Equal(s.Files, []string{"/p/" + native.File}) || s.Broken != "" || s.Ledger != "" {
		t.Errorf("%+v", s)
	}
	if got := sources(f); got != "/p/"+native.File+" ("+native.Name+")" {
		t.Errorf("%q", got)
	}
	builtin, err := policy.Builtin("")
	if err != nil {
		t.Fatal(err)
	}
	of := policy.Of(builtin)
	of.Policies[0].Input = &dialect.Input{}
	if got := sources(of); got != "given ("+native.BuiltinName+")" {
		t.Errorf("%q", got)
	}
	if got := sources(&policy.InForce{}); got != "nothing" || digestOf(&policy.InForce{}) != "" {
		t.Errorf("%q", got)
	}
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Dir: "/p"}
	for tool, want := range map[string]obstat.Reach{"Bash": {Strictest: obstat.Ask, Loosest: obstat.Allow}} {
		c.Tool = tool
		if got := g.Reach(t.Context(), c); got.Loosest != want.Loosest || got.Strictest > want.Strictest {
			t.Errorf("%s: %+v", tool, got)
		}
	}
}

// TestWhyUnseen: why a command that a rule allows runs code that cannot be looked into.
func TestWhyUnseen(t *testing.T) {
	g := &Gate{opts: Options{World: &obstat.Snapshot{}, Getenv: func(string) string { return "" }}}
	for command, want := range map[string]string{"ls": "", "npm ci": "it fetches packages"} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p"}
		if got := g.unseen(c, &judged{world: g.world()}); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
	for tool, want := range map[string]bool{"Bash": true, "run_shell_command": true, "Read": false, "no_such_tool": false, "Task": false} {
		if got := runsCommand(&obstat.Call{Tool: tool}); got != want {
			t.Errorf("%s runs a command: %t", tool, got)
		}
	}
}

// TestUsesOfCall: what a call counts as: a write where it changes a file, a connection where it makes one.
func TestUsesOfCall(t *testing.T) {
	g := &Gate{opts: Options{World: &obstat.Snapshot{}}}
	for command, want := range map[string]string{"ls": "c", "touch a": "cw", "rm a": "cw", "curl https://x.example": "cn", "curl -o a https://x.example": "cwn", "echo > /dev/null": "c", "make": "c"} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p", Roots: []string{"/p"}}
		p := &passage{g: g, call: c, digest: strings.Repeat("0123456789", 4), began: time.Unix(7, 0), j: &judged{world: g.world()}}
		if u := p.use(); u.kinds != want || u.digest != "0123456789012345" || !u.at.Equal(p.began) {
			t.Errorf("%s: %+v, want %s", command, u, want)
		}
	}
}

// TestInputOfRecord: a decision is written down with the input that takes the place of the call's, by a person's word
// before a rule's.
func TestInputOfRecord(t *testing.T) {
	for name, tt := range map[string]struct{ given, input, want, not string }{
		"the call's":    {"", "", "", "other"},
		"a rule's":      {"", `{"command":"other rule"}`, "other rule", "other person"},
		"a person's":    {`{"command":"other person"}`, `{"command":"other rule"}`, "other person", "other rule"},
		"a person's, 2": {`{"command":"other person"}`, "", "other person", "other rule"},
	} {
		g := &Gate{opts: Options{World: &obstat.Snapshot{}}}
		p := &passage{g: g, call: &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, j: new(judged), world: g.world()}
		d := &obstat.Decision{Verdict: obstat.Allow, Tool: "Bash"}
		if tt.given != "" {
			p.given = []byte(tt.given)
		}
		if tt.input != "" {
			d.Input = json.RawMessage(tt.input)
		}
		text, err := p.record(d).Encode()
		if err != nil || !strings.Contains(string(text), tt.want) || strings.Contains(string(text), tt.not) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// TestWorkspaceOfCall: the workspace of a call that names none is where it is made, and another's stays.
func TestWorkspaceOfCall(t *testing.T) {
	g, err := Open(t.Context(), Options{Policy: Fixed{inForce(t, "/p", "allow: [run ls]").Policies[0].Loaded}, World: &obstat.Snapshot{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir   string
		roots []string
		want  string
	}{{"/p", nil, "/p"}, {"/p", []string{"/r", "/q"}, "/r /q"}, {"", nil, ""}} {
		res, err := g.Authorize(t.Context(), &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"frob x"}`), Dir: tt.dir, Roots: tt.roots, Session: tt.want}, &Terms{Ask: Put})
		if err != nil || res.Request == nil || strings.Join(res.Request.Call.Roots, " ") != tt.want || tt.want == "" && res.Request.Call.Roots != nil {
			t.Errorf("%+v: %+v, %v", tt, res.Request, err)
		}
		if r := res.Request; r != nil && (r.Group != approval.GroupOf(r) || r.Group == "" || r.About != "frob x" || r.Digest == "" || r.Policy != g.Status(t.Context()).Policy || r.Reason == "" || len(r.Effects) == 0) {
			t.Errorf("%+v", r)
		}
	}
}
