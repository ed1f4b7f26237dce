package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// projects makes directories with a policy each, and returns the one around them.
func projects(t *testing.T, n int) (top string, all []string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		dir := filepath.Join(top, fmt.Sprintf("p%03d", i))
		if err := os.MkdirAll(filepath.Join(dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, dir)
	}
	return top, all
}

// TestManyNeighbours: of a call that works in more projects than are looked at, that is said, and the first of them
// are returned; in as many as that, nothing is left out.
func TestManyNeighbours(t *testing.T) {
	_, all := projects(t, maxNeighbours+2)
	for _, n := range []int{1, maxNeighbours, maxNeighbours + 1, maxNeighbours + 2} {
		got, whole := new(Neighbours).Of(all[:n], nil, "")
		if want := min(n, maxNeighbours); len(got) != want || got[want-1] != all[want-1] || whole != (n <= maxNeighbours) {
			t.Errorf("%d projects: %d, the last %s, all of them: %t", n, len(got), got[len(got)-1], whole)
		}
	}
}

// TestPatternDirs: a pattern leads into the directories that fit it, the last name of it need not be there,
// and one that fits more than are looked at says so.
func TestPatternDirs(t *testing.T) {
	top, all := projects(t, maxDirs+1)
	for pattern, want := range map[string]int{
		top + "/p00?/x": 10, top + "/p00[12]/.claude": 2, top + "/p001": 1, top + "/none*/x": 1, top + "/p*/x": maxDirs,
	} {
		got, whole := Dirs(pattern)
		if len(got) != want || whole != (want < maxDirs) {
			t.Errorf("%s: %d directories, all of them: %t", strings.TrimPrefix(pattern, top), len(got), whole)
		}
	}
	if got, _ := Dirs(top + "/p00[12]/.claude"); got[0] != filepath.Join(all[1], ".claude") {
		t.Errorf("it leads into %v", got)
	}
	if got, _ := Dirs(top + "/none*/x"); got[0] != top {
		t.Errorf("where nothing fits it leads into %v", got)
	}
}

// TestProgramChanges: accepting shows every difference of two Programs: the mode, the stages and how a call is put to
// them, and the settings, each by itself.
func TestProgramChanges(t *testing.T) {
	base := func() *obstat.Program {
		return &obstat.Program{Dialect: "d", Mode: "m", View: "v", Params: json.RawMessage(`{"a":1}`),
			Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: obstat.Ask}},
			Faces:     map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "path"}}}
	}
	if got := diff("d", base(), base()); len(got) != 0 {
		t.Errorf("nothing has changed, and it shows %v", got)
	}
	for name, tt := range map[string]struct {
		change func(*obstat.Program)
		text   string
	}{
		"mode":     {func(p *obstat.Program) { p.Mode = "n" }, "the mode in force: m, now n"},
		"default":  {func(p *obstat.Program) { p.Pipelines["m"] = obstat.Pipeline{Default: obstat.Allow} }, "the stages"},
		"face":     {func(p *obstat.Program) { p.Faces[obstat.FaceRead] = obstat.Face{Tool: "View"} }, "the stages"},
		"view":     {func(p *obstat.Program) { p.View = "w" }, "the stages"},
		"settings": {func(p *obstat.Program) { p.Params = json.RawMessage(`{"a":2}`) }, "settings that its rules depend on"},
	} {
		p := base()
		tt.change(p)
		if got := diff("d", base(), p); len(got) != 1 || got[0].Kind != Changed || got[0].Text != tt.text {
			t.Errorf("%s: it shows %v", name, got)
		}
	}
	if got := diff("d", nil, base()); len(got) != 1 || got[0].Kind != Added {
		t.Errorf("a new Program without rules shows %v", got)
	}
}

// TestChangesInOrder: accepting shows rules in the order of the file, whichever lists they are in.
func TestChangesInOrder(t *testing.T) {
	at := func(text string, line, col int) obstat.Rule {
		return obstat.Rule{Tool: obstat.Is(text), Source: text, Pos: obstat.Pos{File: "f", Line: line, Col: col}}
	}
	p := &obstat.Program{Dialect: "d", Rules: map[string][]obstat.Rule{
		"allow": {at("third", 3, 5), at("first", 1, 9), at("second", 2, 7)}, "deny": {at("fifth", 4, 9), at("fourth", 4, 1)},
	}}
	var got []string
	for _, c := range diff("d", nil, p) {
		got = append(got, c.Text)
	}
	if want := []string{"first", "second", "third", "fourth", "fifth"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLostProgram: an accepted Program that was too large to be kept, or is damaged, is no policy that could allow.
func TestLostProgram(t *testing.T) {
	f := &Finder{State: t.TempDir()}
	s, err := f.search(&Where{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claudecode", "none"} {
		st := &site{pin: &Pin{Policies: []PinPolicy{{Dialect: name}}}}
		if got := s.pinned(st); len(got) != 1 || got[0] != nil {
			t.Errorf("%s: %v stands for a Program that is lost", name, got)
		}
	}
	if l, err := s.fromPin(&PinPolicy{}, nil); l != nil || err == nil {
		t.Errorf("%v, %v", l, err)
	}
}

// TestChainRoles: the outermost policy of a chain is the one whose answer counts as it is, those inside of it
// tighten; a site of two chains keeps the role that counts for more.
func TestChainRoles(t *testing.T) {
	has, accepted := []*config{{}}, &Pin{}
	chain := []*site{{key: "/"}, {key: "/a", configs: has}, {key: "/a/b", pin: accepted},
		{key: "/a/b/c", configs: has, pin: accepted}}
	got := merge(nil, chain, true, false)
	for i, want := range []struct{ role, pinRole Role }{{Inner, Inner}, {Own, Inner}, {Inner, Own}, {Inner, Inner}} {
		if got[i].role != want.role || got[i].pinRole != want.pinRole || !got[i].base {
			t.Errorf("%s: %v, accepted %v, base %t", got[i].key, got[i].role, got[i].pinRole, got[i].base)
		}
	}
	got = merge(got, []*site{{key: "/a/b/c", configs: has, pin: accepted}, {key: "/x", configs: has}}, false, true)
	if last := got[len(got)-1]; len(got) != 5 || last.role != Inner || last.base {
		t.Errorf("a chain that tightens: %d sites, %s as %v", len(got), last.key, last.role)
	}
	got = merge(got, []*site{{key: "/a/b/c", configs: has, pin: accepted}}, false, false)
	if c := got[3]; len(got) != 5 || c.role != Own || c.pinRole != Own || !c.base {
		t.Errorf("in another chain it comes first: %v, accepted %v, base %t", c.role, c.pinRole, c.base)
	}
}

// TestBrokenError: the problems of files keep their places, and any other error gets the file's.
func TestBrokenError(t *testing.T) {
	own := obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: "a", Line: 3, Col: 1}, Msg: "bad"}}
	f := &InForce{Broken: []Broken{{Place: "/p/a", Err: own}, {Place: "/p/b", Err: errors.New("gone")}}}
	var es obstat.Errors
	if err := f.Err(); !errors.As(err, &es) || len(es) != 2 || !strings.Contains(err.Error(), "a:3:1") ||
		!strings.Contains(err.Error(), "/p/b") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("%v", err)
	}
}

// TestPut: a call that names its project keeps it, and one without a workspace works in its directory.
func TestPut(t *testing.T) {
	f := new(InForce)
	c := f.put(&obstat.Call{Dir: "/p", Project: "/q"}, new(Policy))
	if c.Project != "/q" || len(c.Roots) != 1 || c.Roots[0] != "/p" {
		t.Errorf("project %s, workspace %v", c.Project, c.Roots)
	}
	if c := f.put(&obstat.Call{Dir: "/p", Roots: []string{"/r"}}, new(Policy)); c.Roots[0] != "/r" {
		t.Errorf("workspace %v", c.Roots)
	}
}

// TestSuggested: rules that an agent has shown count in the records of calls alone.
func TestSuggested(t *testing.T) {
	detail := []byte(`{"suggested":["Bash(make *)"]}`)
	for kind, want := range map[ledger.Kind]int{ledger.Decision: 1, ledger.Ask: 1, ledger.Pin: 0} {
		if got := suggested(&ledger.Record{Kind: kind, Detail: detail}); len(got) != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if got := suggested(&ledger.Record{Kind: ledger.Ask, Detail: []byte(`[`)}); got != nil {
		t.Errorf("of a damaged record: %v", got)
	}
}

// TestNothingNamed: files, a dialect or options alone are named.
func TestNothingNamed(t *testing.T) {
	for _, n := range []Named{{Files: []string{"f"}}, {Dialect: "d"}, {Options: map[string]string{"o": ""}}} {
		if n.IsZero() {
			t.Errorf("%v names nothing", n)
		}
	}
	if !new(Named).IsZero() {
		t.Error("nothing names something")
	}
}

// TestDraft: a draft is looked at as if it were written, also where its directory is not there yet.
func TestDraft(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	draft := filepath.Join(dir, ".claude", "settings.json")
	f := &Finder{NoPins: true, State: t.TempDir(), Machine: t.TempDir(),
		With: map[string][]byte{draft: []byte(`{"permissions":{"deny":["Bash(make *)"]}}`)}}
	w := &Where{Dir: dir, Home: t.TempDir(), Agent: "claude-code"}
	call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"make x"}`), Dir: dir}
	in, err := f.Find(w)
	if err != nil {
		t.Fatal(err)
	}
	if d := in.Decide(call, new(obstat.Snapshot)); d.Verdict != obstat.Deny {
		t.Errorf("with the draft: %s", d.Reason())
	}
	f.With = nil
	if in, err = f.Find(w); err != nil {
		t.Fatal(err)
	}
	if d := in.Decide(call, new(obstat.Snapshot)); d.Verdict == obstat.Deny {
		t.Errorf("without it: %s", d.Reason())
	}
}

// TestToolsState: tools cannot be accepted where no pin can be kept, and that is said.
func TestToolsState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tools := &Tools{Place: "server", Getenv: os.Getenv, State: filepath.Join(file, "below")}
	if err := tools.Accept(context.Background(), []PinTool{{Name: "poke", Digest: "d"}}, "ann"); err == nil {
		t.Error("tools were accepted in a state directory that cannot be")
	}
}
