package obstat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// wholeProgram has a value in every field that a Program has.
func wholeProgram() *obstat.Program {
	no := obstat.Ask
	return &obstat.Program{
		Dialect: "d", Mode: "m", View: "v", NoFloor: true, Params: json.RawMessage(`{"a":1}`),
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {
			Stages: []obstat.Stage{
				obstat.Match{Name: "a", Rules: "l", Pick: obstat.Strictest, Settle: obstat.SetOf(obstat.Deny, obstat.Ask), AskDenies: true, Except: "e"},
				obstat.Check{Name: "b", Check: "c", Pass: obstat.PlainAsk | obstat.CheckAllow, AskDenies: true, Unless: []string{"a"}},
				obstat.When{Name: "c", Is: "p", Then: obstat.Allow, Else: &no},
				obstat.When{Name: "d", Tools: []string{"t", "u"}, Then: obstat.Ask},
				obstat.Mark{Name: "e", Rules: "l"},
			},
			Default: obstat.Ask,
			Amend:   []obstat.Stage{obstat.Floor{Name: "f"}},
		}},
		Rules: map[string][]obstat.Rule{"l": {{ID: "i", Tool: obstat.Text{Flavour: pattern.Wildcard, Text: "B*"}, Field: "f", Pattern: obstat.Is("x"),
			Verdict: obstat.Allow, Over: obstat.OverReviewer, Source: "s", Layer: "l", Reason: "r", Pos: obstat.Pos{File: "f", Line: 1, Col: 2},
			If: []obstat.Cond{{Field: "call.user", Any: []obstat.Text{obstat.Is("u")}, Not: true}}, Except: []obstat.Cond{{Field: "f", Any: []obstat.Text{obstat.Is("y")}}}}}},
		Faces: map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "p"}},
	}
}

// eachField calls do with every value inside of v that can be set to zero, slices, maps and
// stages followed, and sets it back.
func eachField(v reflect.Value, path string, do func(path string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachField(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
		return
	case reflect.Map:
		for _, k := range v.MapKeys() {
			old := v.MapIndex(k)
			c := reflect.New(old.Type()).Elem()
			c.Set(old)
			eachField(c, fmt.Sprint(path, "[", k, "]"), func(p string) {
				v.SetMapIndex(k, c)
				do(p)
			})
			v.SetMapIndex(k, old)
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			eachField(v.Index(i), fmt.Sprint(path, "[", i, "]"), do)
		}
		return
	case reflect.Interface:
		old := v.Elem()
		c := reflect.New(old.Type()).Elem()
		c.Set(old)
		eachField(c, path, func(p string) {
			v.Set(c)
			do(p)
		})
		v.Set(old)
		return
	}
	if v.IsZero() {
		return
	}
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	v.SetZero()
	do(path)
	v.Set(old)
}

// TestWholeProgram: every field of a Program is written, read again, and part of its digest
// where it is part of its meaning.
func TestWholeProgram(t *testing.T) {
	p := wholeProgram()
	round := func(p *obstat.Program) (*obstat.Program, error) {
		text, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		var out obstat.Program
		return &out, json.Unmarshal(text, &out)
	}
	got, err := round(p)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Fatalf("%+v\n%+v\n%v", got, p, err)
	}
	digest, n := p.Digest(), 0
	eachField(reflect.ValueOf(p).Elem(), "", func(path string) {
		n++
		if same := p.Digest() == digest; same != strings.Contains(path, ".Pos.") {
			t.Errorf("without %s the same digest: %t", path, same)
		}
		if got, err := round(p); err == nil && got.Digest() != p.Digest() {
			t.Errorf("without %s another digest when it is read again", path)
		}
	})
	if n < 50 || p.Digest() != digest {
		t.Errorf("%d fields, digest %s, was %s", n, p.Digest(), digest)
	}
}

// TestManyMistakes: of very many problems the first hundred are told.
func TestManyMistakes(t *testing.T) {
	for _, n := range []int{99, 100, 101, 300} {
		stages := strings.TrimSuffix(strings.Repeat(`{"floor":"a","x":1},`, n), ",")
		_, err := obstat.ParseProgram("f", []byte(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[`+stages+`],"default":"ask"}}}`))
		if got := len(obstat.ErrorsOf(err)); got != min(n, 101) {
			t.Errorf("%d problems: %d reported", n, got)
		}
		if strings.Contains(err.Error(), "more problems than the first 100") != (n > 100) {
			t.Errorf("%d problems: %v", n, err)
		}
	}
}

// TestCompileTellsAll: the problems of code that a Program names are reported, with the place
// that the code says.
func TestCompileTellsAll(t *testing.T) {
	at := obstat.Pos{File: "f", Line: 7}
	bad := map[string]error{"plain": errors.New("broken"), "one": &obstat.Error{Code: obstat.CodeIO, Pos: at, Msg: "broken"},
		"many": obstat.Errors{{Code: obstat.CodeIO, Pos: at, Msg: "broken"}, {Code: obstat.CodeIO, Msg: "as well"}}}
	for name, err := range bad {
		lib := &obstat.Library{
			Views:      map[string]func(json.RawMessage) (obstat.View, error){"v": func(json.RawMessage) (obstat.View, error) { return nil, err }},
			Checks:     map[string]func(json.RawMessage) (obstat.Checker, error){"c": func(json.RawMessage) (obstat.Checker, error) { return nil, err }},
			Predicates: map[string]func(json.RawMessage) (obstat.Predicate, error){"p": func(json.RawMessage) (obstat.Predicate, error) { return nil, err }},
		}
		for _, stage := range []obstat.Stage{nil, obstat.Check{Name: "c"}, obstat.When{Name: "w", Is: "p"}} {
			p := &obstat.Program{Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {}}}
			if stage == nil {
				p.View = "v"
			} else {
				p.Pipelines["m"] = obstat.Pipeline{Stages: []obstat.Stage{stage}}
			}
			_, got := obstat.Compile(p, &obstat.Options{Library: lib})
			if got == nil || !strings.Contains(got.Error(), "broken") || (name != "plain") != strings.Contains(got.Error(), "f:7") {
				t.Errorf("%s of %T: %v", name, stage, got)
			}
		}
	}
	over := obstat.Verdict(3)
	for name, stage := range map[string]obstat.Stage{
		"then": obstat.When{Name: "w", Then: over}, "else": obstat.When{Name: "w", Else: &over},
		"no check": obstat.Check{Name: "none"}, "no predicate": obstat.When{Name: "w", Is: "none"}, "no list": obstat.Match{Name: "m", Rules: "none"},
	} {
		p := &obstat.Program{Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{stage}}}}
		if _, err := obstat.Compile(p, nil); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}

// TestReasons: the sentence says the rule, the part and the note, as far as there are some.
func TestReasons(t *testing.T) {
	rule := &obstat.Rule{Tool: obstat.Is("Bash"), Pattern: obstat.Is("rm"), Verdict: obstat.Deny}
	placed := *rule
	placed.Pos, placed.Reason = obstat.Pos{File: "f", Line: 1}, "because"
	long := strings.Repeat("ä", 100)
	for _, tt := range []struct {
		d    obstat.Decision
		want string
	}{
		{obstat.Decision{Rule: rule}, "deny rule Bash(rm)"},
		{obstat.Decision{Rule: &obstat.Rule{}}, "deny rule *"},
		{obstat.Decision{Rule: &placed, Part: "rm x", Note: "n"}, "deny rule Bash(rm) (f:1): because, on rm x: n"},
		{obstat.Decision{Part: "rm x", Note: "n"}, "rm x: n"},
		{obstat.Decision{Note: "n"}, "n"},
		{obstat.Decision{Tool: "Bash", About: "ls", Note: "n", By: obstat.By{Kind: obstat.ByMode}}, "Bash ls: n"},
		{obstat.Decision{Tool: "Bash", About: "ls", Note: "n", By: obstat.By{Kind: obstat.ByCheck}}, "n"},
		{obstat.Decision{Tool: "Bash", Note: "n", By: obstat.By{Kind: obstat.ByMode}}, "n"},
		{obstat.Decision{Tool: "Bash", About: "ls", Part: "p", Note: "n", By: obstat.By{Kind: obstat.ByMode}}, "p: n"},
		{obstat.Decision{Faults: []obstat.Fault{{Msg: "a"}, {Msg: "b"}}}, "a; b"},
		{obstat.Decision{Faults: []obstat.Fault{{Msg: "a"}}, Note: "n"}, "a; n"},
		{obstat.Decision{Tool: "Bash"}, "Bash: no rule is about it, and what no rule allows is denied"},
		{obstat.Decision{Tool: "Bash", Verdict: obstat.Ask, Mode: "m"}, "Bash: no rule is about it, and mode m asks then"},
		{obstat.Decision{Tool: "Bash", Verdict: obstat.Allow}, "Bash: no rule is about it, and what no rule stops is allowed"},
		{obstat.Decision{Tool: "B", About: long}, "B " + long[:120] + "…: no rule is about it, and what no rule allows is denied"},
		{obstat.Decision{Tool: "B", About: strings.Repeat("a", 120)}, "B " + strings.Repeat("a", 120) + ": no rule is about it, and what no rule allows is denied"},
	} {
		if got := tt.d.Reason(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	ask := obstat.Decision{Verdict: obstat.Ask, Tool: "Bash"}
	for _, tt := range []struct {
		note, want string
		rule       *obstat.Rule
	}{
		{"", "Bash: no rule is about it, and it is asked about then; no", nil}, {"unclear", "unclear; no", nil}, {"", "no", rule},
	} {
		ask.Note, ask.Rule = tt.note, tt.rule
		if got := ask.Refuse(obstat.By{Note: "no"}); got.Note != tt.want {
			t.Errorf("%q, want %q", got.Note, tt.want)
		}
	}
}

// TestBranch: the branch is that of the repository around the directory, and of none where
// there is none.
func TestBranch(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main/.git/HEAD", "ref: refs/heads/main\n")
	write("main/sub/deep/x", "")
	write("detached/.git/HEAD", "0123456789\n")
	write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n")
	write("main/.git/worktrees/tree/HEAD", "ref: refs/heads/feature/x\n")
	write("abs/.git", "gitdir: "+filepath.Join(dir, "main/.git")+"\n")
	write("odd/.git", "something else\n")
	write("empty/.git/x", "")
	for place, want := range map[string]string{"main": "main", "main/sub/deep": "main", "detached": "(detached)", "tree": "feature/x",
		"abs": "main", "odd": "", "empty": ""} {
		c := obstat.Call{Dir: filepath.Join(dir, place)}
		at, ok := obstat.CircumstanceOf("call.branch")
		if at.Find(&c, obstat.Machine{World: obstat.OS{}}); !ok {
			t.Fatal("no branch")
		}
		if c.Branch != want {
			t.Errorf("%s: %q, want %q", place, c.Branch, want)
		}
	}
}

// TestWalk: one question tells whether a path has links, and whether it is a directory.
func TestWalk(t *testing.T) {
	w, ok := any(obstat.OS{}).(interface {
		Walk(string) (straight, dir bool)
	})
	if !ok {
		t.Skip("this system has no such question")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "d"), 0o700), os.WriteFile(filepath.Join(dir, "f"), nil, 0o600), os.Symlink("d", filepath.Join(dir, "l"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{"d": {true, true}, "f": {true, false}, "none": {true, false}, "l": {false, false}, "l/x": {false, false}, "a\x00": {false, false}} {
		if straight, isDir := w.Walk(filepath.Join(dir, name)); [2]bool{straight, isDir} != want {
			t.Errorf("%q: straight %t, a directory %t", name, straight, isDir)
		}
	}
}

// TestFloorBounds: a call that writes or passes on more than is looked at asks where a rule
// could apply, and one within the bounds does not.
func TestFloorBounds(t *testing.T) {
	pol := denyRm(t)
	code := func(n int) string {
		return "cat > x_test.go <<'E'\npackage x\n" + strings.Repeat("run(\"ls\")\n", n) + "E\ngo test ./..."
	}
	for _, tt := range []struct {
		name, command string
		want          obstat.Verdict
	}{
		{"little code", code(3), obstat.Allow},
		{"much code", code(2000), obstat.Ask},
		{"few words", "frobnicate " + strings.Repeat("a ", 4), obstat.Allow},
		{"a wrapper of rm", "frobnicate rm x", obstat.Ask},
	} {
		if d := bashAt(pol, tt.command, lab()); d.Verdict != tt.want {
			t.Errorf("%s: %s, %s", tt.name, d.Verdict, d.Reason())
		}
	}
}
