package tomlx

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/tree"
)

// TestParse: tables, lists of tables and inline values are in the tree, each where it
// was written.
func TestParse(t *testing.T) {
	const src = "\ufefftitle = 'x'\n[a.b]\nn = 1_000\n[[rule]]\nname = \"r1\"\ntags = [\"p\", 'q']\n[[rule]]\nopts = { on = true }\nlist = [ [], [1, 2 ] , # x\n { a.b = [ ] },]\n"
	root, problems := Parse([]byte(src))
	if problems != nil {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		path []any
		want string
	}{
		{[]any{"title"}, "'x'"}, {[]any{"a", "b", "n"}, "1_000"}, {[]any{"rule", 0, "tags", 1}, "'q'"}, {[]any{"rule", 1, "opts", "on"}, "true"},
		{[]any{"rule", 0, "tags"}, `["p", 'q']`}, {[]any{"rule", 1, "opts"}, "{ on = true }"}, {[]any{"rule", 1, "list", 0}, "[]"}, {[]any{"rule", 1, "list", 1}, "[1, 2 ]"},
		{[]any{"rule", 1, "list", 2}, "{ a.b = [ ] }"}, {[]any{"rule", 1, "list"}, "[ [], [1, 2 ] , # x\n { a.b = [ ] },]"},
	} {
		if n := root.At(tt.path...); string(n.Source([]byte(src))) != tt.want {
			t.Errorf("%v: %q, want %q", tt.path, n.Source([]byte(src)), tt.want)
		}
	}
	for i, want := range []string{"[[rule]]\nname", "[[rule]]\nopts"} {
		if at := root.At("rule", i).Start; !strings.HasPrefix(src[at:], want) {
			t.Errorf("table %d starts at %q", i, src[at:])
		}
	}
	if n := root.At("a", "b", "n"); n.Num != "1000" || root.At("rule").Kind != tree.Array || len(root.At("rule").Elems) != 2 {
		t.Errorf("%+v", root)
	}
	if _, problems := Parse([]byte("a = 1\nb = \n")); len(problems) != 1 || problems[0].Offset < 6 {
		t.Errorf("%v", problems)
	}
}
