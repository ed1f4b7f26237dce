package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestLookedOnce: each file is listed once for a dialect, and one that is in force stands for one that is not.
func TestLookedOnce(t *testing.T) {
	s := &search{out: &InForce{}}
	c := &config{d: native.Dialect{}}
	for _, name := range []string{"a", "b"} {
		c.files = append(c.files, file{File: dialect.File{Name: name}, users: name == "b"})
	}
	s.looked(c, nil, false, false, "first")
	s.looked(c, nil, false, true, "second")
	want := []Looked{{Name: "a", Dialect: native.Name, Why: "first"}, {Name: "b", Dialect: native.Name, Why: "first", Accepted: true}}
	if diff := cmp.Diff(want, s.out.Looked); diff != "" {
		t.Error("twice\n", diff)
	}
	s.looked(c, &site{dir: "/p"}, true, true, "third")
	s.looked(c, nil, true, true, "fourth")
	for i := range want {
		want[i].Why, want[i].InForce, want[i].Accepted, want[i].Place = "third", true, true, "/p"
	}
	if diff := cmp.Diff(want, s.out.Looked); diff != "" {
		t.Error("in force\n", diff)
	}
}

// TestWrittenRules: a rule that is written in several lists is told once, and rules without a text, or without a line,
// are told each, in the order of the file.
func TestWrittenRules(t *testing.T) {
	at := func(line, col int) obstat.Pos { return obstat.Pos{File: "f", Line: line, Col: col} }
	r := func(source string, pos obstat.Pos) obstat.Rule {
		return obstat.Rule{Source: source, Tool: obstat.Is("t"), Pos: pos}
	}
	for _, tt := range []struct {
		name  string
		lists map[string][]obstat.Rule
		want  string
	}{
		{"one list", map[string][]obstat.Rule{"a": {r("x", at(2, 1)), r("y", at(1, 1))}}, "y x"},
		{"in two lists", map[string][]obstat.Rule{"a": {r("x", at(1, 1))}, "b": {r("x", at(1, 1))}}, "x"},
		{"twice on a line", map[string][]obstat.Rule{"a": {r("x", at(1, 5)), r("x", at(1, 1))}}, "x x"},
		{"two of one place", map[string][]obstat.Rule{"a": {r("x", at(1, 1)), r("y", at(1, 1))}}, "x y"},
		{"without a text", map[string][]obstat.Rule{"a": {r("", at(1, 1)), r("", at(1, 1))}}, "t t"},
		{"of no file", map[string][]obstat.Rule{"a": {r("x", obstat.Pos{})}}, ""},
	} {
		var got []string
		for _, l := range rules(&obstat.Program{Rules: tt.lists}) {
			got = append(got, l.rule.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
