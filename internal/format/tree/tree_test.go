package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

func parse(t *testing.T, src string) *tree.Node {
	t.Helper()
	n, ps := jsonx.Parse([]byte(src), jsonx.JSONC())
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return n
}

func TestLineCol(t *testing.T) {
	tests := []struct {
		src       string
		offset    int
		line, col int
	}{
		{"", 0, 1, 1},
		{"abc", 2, 1, 3},
		{"é\nx", 3, 2, 1},
		{"éx", 2, 1, 2},
		{"a\r\nb", 2, 1, 3}, // the LF of a CR LF still belongs to its line
		{"a\r\nb", 3, 2, 1},
		{"a\rb", 2, 2, 1},
		{"a\n\nb", 3, 3, 1},
		{"\ufeffab", 3, 1, 1},
		{"\ufeffab", 1, 1, 1},
		{"\xff\xffa", 2, 1, 3},
		{"ab", 99, 1, 3},
		{"ab", -1, 1, 1},
	}
	for _, tt := range tests {
		if line, col := tree.LineCol([]byte(tt.src), tt.offset); line != tt.line || col != tt.col {
			t.Errorf("LineCol(%q, %d) = %d:%d, want %d:%d", tt.src, tt.offset, line, col, tt.line, tt.col)
		}
	}
}

func TestFields(t *testing.T) {
	n := parse(t, `{"allow":1,"Deny":2,"alow":3,"zzz":4,"ask":"x"}`)
	var got []string
	for _, p := range n.Check(tree.Field{Name: "allow"}, tree.Field{Name: "deny"}, tree.Field{Name: "ask"}) {
		got = append(got, p.Error())
	}
	want := []string{
		`the key "Deny" is written in other capitals than "deny"; write "deny"`,
		`unknown key "alow"; did you mean "allow"?`,
		`unknown key "zzz"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// U+212A, the Kelvin sign, folds to k: encoding/json would take it for "ask".
	if ps := parse(t, `{"as\u212a":1}`).Check(tree.Field{Name: "ask"}); len(ps) != 1 || ps[0].Code != tree.CodeCase {
		t.Errorf("Kelvin sign: %v", ps)
	}
	if ps := parse(t, `[1]`).Check(tree.Field{Name: "ask"}); len(ps) != 1 || ps[0].Code != tree.CodeType {
		t.Errorf("no object: %v", ps)
	}
	if ps := (*tree.Node)(nil).Check(tree.Field{Name: "ask"}); ps != nil {
		t.Errorf("nil: %v", ps)
	}
	if ps := parse(t, `{"`+strings.Repeat("é", 5000)+`":1}`).Check(tree.Field{Name: "ask"}); len(ps) != 1 || len(ps[0].Msg) > 200 {
		t.Errorf("long key: %v", ps)
	}
}

func TestCheck(t *testing.T) {
	n := parse(t, `{"mode":1,"rules":"x","extra":null}`)
	ps := n.Check(
		tree.Field{Name: "mode", Kinds: []tree.Kind{tree.String}},
		tree.Field{Name: "rules", Kinds: []tree.Kind{tree.Array, tree.Object}},
		tree.Field{Name: "extra"},
		tree.Field{Name: "version", Required: true})
	var got []string
	for _, p := range ps {
		got = append(got, fmt.Sprintf("%d %s: %s", p.Offset, p.Code, p.Msg))
	}
	want := []string{
		`0 missing-key: the key "version" is missing`,
		`8 wrong-type: "mode" should be a string, not a number`,
		`18 wrong-type: "rules" should be a list or an object, not a string`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStrings(t *testing.T) {
	nodes, ps := parse(t, `["a",1,"b",null]`).Strings("allow")
	if len(nodes) != 2 || nodes[1].Str != "b" || len(ps) != 2 || ps[0].Msg != "element 2 of allow should be a string, not a number" {
		t.Errorf("%v %v", nodes, ps)
	}
	if _, ps := parse(t, `"a"`).Strings("allow"); len(ps) != 1 {
		t.Errorf("a string passed for a list: %v", ps)
	}
	if nodes, ps := (*tree.Node)(nil).Strings("allow"); nodes != nil || ps != nil {
		t.Errorf("nil: %v %v", nodes, ps)
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"dney", "deny"}, {"DENY", "deny"}, {"denied", ""}, {"bypas", "bypass"}, {"x", ""}, {"", ""}, {strings.Repeat("a", 1000), ""},
	} {
		if got, _ := tree.Nearest(tt.word, "deny", "allow", "bypass"); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestEqual(t *testing.T) {
	a := parse(t, `{"a":[1,"x",{"b":null}],"c":true}`)
	if !tree.Equal(a, parse(t, `{ "a" : [1, "\u0078", {"b":null}], "c":true }`)) {
		t.Error("layout counts")
	}
	for _, other := range []string{`{"c":true,"a":[1,"x",{"b":null}]}`, `{"a":[1,"x",{"b":0}],"c":true}`, `{"a":[1,"x"],"c":true}`, `{"a":[1.0,"x",{"b":null}],"c":true}`} {
		if tree.Equal(a, parse(t, other)) {
			t.Errorf("equal to %s", other)
		}
	}
	if tree.Equal(a, nil) || !tree.Equal(nil, nil) {
		t.Error("nil")
	}
}

func TestNotation(t *testing.T) {
	scalar := func(n *tree.Node) string {
		switch {
		case n.Is(tree.String):
			return "<" + n.Str + ">"
		case n.Is(tree.Number):
			return n.Num
		case n.Is(tree.Bool):
			return fmt.Sprint(n.Bool)
		}
		return "none"
	}
	asWritten := tree.Notation{Comma: "; ", Colon: " = ", Scalar: scalar}
	sorted := tree.Notation{Comma: ",", Colon: ":", Scalar: scalar, Order: strings.Compare}
	n := parse(t, `{"b": [1, "x", [], {}], "a": {"d": null, "c": true}}`)
	if got, want := asWritten.Write(n), `{<b> = [1; <x>; []; {}]; <a> = {<d> = none; <c> = true}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := sorted.Write(n), `{<a>:{<c>:true,<d>:none},<b>:[1,<x>,[],{}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := n.Members[0].Key; got != "b" {
		t.Errorf("writing in order has changed the tree: %s comes first", got)
	}
	if got := sorted.Write(nil); got != "none" {
		t.Errorf("no value is %s", got)
	}
}
