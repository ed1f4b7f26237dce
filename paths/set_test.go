package paths

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestSetMeets(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b Set
		want bool
	}{
		{"same", Exactly("/p/a"), Exactly("/p/a"), true},
		{"other", Exactly("/p/a"), Exactly("/p/b"), false},
		{"below", Under("/p"), Exactly("/p/a/b"), true},
		{"itself", Under("/p"), Exactly("/p"), true},
		{"beside", Under("/p"), Exactly("/pa"), false},
		{"root", Under("/"), Exactly("/x"), true},
		{"two trees", Under("/p"), Under("/p/q"), true},
		{"two other trees", Under("/p"), Under("/q"), false},
		{"a star", Matching("/p/*.json"), Exactly("/p/obstat.json"), true},
		{"no slash", Matching("/p/*.json"), Exactly("/p/q/obstat.json"), false},
		{"no dot", Matching("/p/*"), Exactly("/p/.env"), false},
		{"a dot that is written", Matching("/p/.e*"), Exactly("/p/.env"), true},
		{"a star for nothing", Matching("/p/*x"), Exactly("/p/x"), true},
		{"one", Matching("/p/.en?"), Exactly("/p/.env"), true},
		{"one is one", Matching("/p/.en?"), Exactly("/p/.envx"), false},
		{"a class", Matching("/p/[o]bstat.json"), Exactly("/p/obstat.json"), true},
		{"a class of others", Matching("/p/[hint]*"), Exactly("/p/obstat.json"), false},
		{"a range", Matching("/p/[a-z]x"), Exactly("/p/qx"), true},
		{"not a range", Matching("/p/[!a-z]x"), Exactly("/p/qx"), false},
		{"not a range, but another", Matching("/p/[^a-z]x"), Exactly("/p/7x"), true},
		{"two classes", Matching("/p/[abc]"), Matching("/p/[cde]"), true},
		{"two other classes", Matching("/p/[abc]"), Matching("/p/[def]"), false},
		{"an open class", Matching("/p/[o"), Exactly("/p/[o"), true},
		{"escaped", Matching(`/p/\*`), Exactly("/p/x"), false},
		{"a directory", Matching("/h/.ss?/id_rsa"), Under("/h/.ssh"), true},
		{"into a tree", Matching("/h/*/x"), Under("/h/a"), true},
		{"stars", Matching("/p/a*"), Matching("/p/*b"), true},
		{"stars that differ", Matching("/p/a*"), Matching("/p/b*"), false},
		{"deep", Matching("/p/**/x"), Exactly("/p/a/b/x"), true},
		{"a shape", Shaped("/p/ope\x00ncode.json"), Exactly("/p/opencode.json"), true},
		{"another shape", Shaped("/p/ope\x00ncode.json"), Exactly("/p/obstat.json"), false},
		{"found", Named("/p", "*.pyc"), Exactly("/p/a/b.pyc"), true},
		{"found at the top", Named("/p", ".env"), Exactly("/p/.env"), true},
		{"found with a dot", Named("/p", "*env"), Exactly("/p/.env"), true},
		{"not found", Named("/p", "*.pyc"), Exactly("/p/a/b.py"), false},
		{"anything", Anything(), Exactly("/x"), true},
		{"nothing", Set{}, Anything(), false},
		{"a path with a mark", Exactly("/p/\x01"), Exactly("/p/x"), true},
	} {
		if got := tc.a.Meets(tc.b); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
		if got := tc.b.Meets(tc.a); got != tc.want {
			t.Errorf("%s, the other way round: %v", tc.name, got)
		}
	}
}

func TestSetContains(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b Set
		want bool
	}{
		{"itself", Exactly("/p"), Exactly("/p"), true},
		{"a tree", Under("/p"), Exactly("/p/a"), true},
		{"a tree in it", Under("/p"), Under("/p/a"), true},
		{"a tree around it", Under("/p/a"), Under("/p"), false},
		{"a pattern in it", Under("/p"), Matching("/p/a/*"), true},
		{"a pattern beside it", Under("/p/a"), Matching("/p/a*"), false},
		{"a pattern and a path", Matching("/p/*.go"), Exactly("/p/a.go"), true},
		{"a pattern and a pattern", Matching("/p/*.go"), Matching("/p/a*.go"), false},
		{"a shape that may leave", Under("/p"), Shaped("/p/\x00/../../x"), false},
		{"anything", Anything(), Matching("/p/*"), true},
		{"not anything", Under("/p"), Anything(), false},
	} {
		if got := tc.a.Contains(tc.b); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestSetFrom(t *testing.T) {
	for _, tc := range []struct {
		set  Set
		dir  string
		want []Set
	}{
		{Exactly("/p/a"), "/p", []Set{Exactly("a")}},
		{Exactly("/q/a"), "/p", nil},
		{Under("/p"), "/p", []Set{Anything()}},
		{Under("/"), "/p", []Set{Anything()}},
		{Under("/p/src"), "/p", []Set{Under("src")}},
		{Matching("/p/*/.env"), "/p/q", []Set{Exactly(".env")}},
		{Matching("/p/.e*"), "/p", []Set{Matching(".e*")}},
		{Named("/p", "*.go"), "/p/q", []Set{{Text: "\x00/\x01.go"}, {Text: "\x01.go"}}},
		{Anything(), "/p", []Set{Anything()}},
	} {
		if got := tc.set.From(tc.dir); !slices.Equal(got, tc.want) {
			t.Errorf("%v from %s: %v, want %v", tc.set, tc.dir, got, tc.want)
		}
	}
}

// Of random patterns over few letters, a path that path.Match finds in both is found by
// Meets, and a set that Contains another meets all that the other meets.
func TestSetProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(letters string, n int) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	met := 0
	for range 20000 {
		pa, pb, p := random("ab*?/", 6), random("ab*?/", 6), random("ab/", 5)
		inA, _ := path.Match(pa, p)
		inB, _ := path.Match(pb, p)
		a, b := Matching(pa), Matching(pb)
		if got := a.Has(p); !strings.Contains(pa, "**") && got != inA {
			t.Fatalf("%q has %q: %v, want %v", pa, p, got, inA)
		}
		if inA && inB {
			if met++; !a.Meets(b) || !b.Meets(a) {
				t.Fatalf("%q and %q both have %q", pa, pb, p)
			}
		}
		if a.Contains(b) && inB && !a.Has(p) {
			t.Fatalf("%q contains %q, but not %q", pa, pb, p)
		}
	}
	if met < 20 {
		t.Errorf("only %d had a path in common", met)
	}
}

// Long texts end, and what is not walked counts as possible.
func TestSetLong(t *testing.T) {
	long := strings.Repeat("a*", 5000)
	if !Matching("/" + long).Meets(Matching("/" + long + "b")) {
		t.Error("what cannot be told is possible")
	}
	if Matching("/a" + long).Meets(Exactly("/b")) {
		t.Error("what begins in another way is not")
	}
}
