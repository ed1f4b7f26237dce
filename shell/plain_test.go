package shell

import (
	"reflect"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// plainSame compares the tree of a plain text with the parser's, and reports whether it is plain.
func plainSame(t *testing.T, src string) bool {
	t.Helper()
	var p plainTree
	got := p.read(src)
	if got == nil {
		return false
	}
	want, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		t.Fatalf("%q is plain, and the parser says %v", src, err)
	}
	if !reflect.DeepEqual(got, want) {
		var g, w strings.Builder
		syntax.DebugPrint(&g, got)
		syntax.DebugPrint(&w, want)
		t.Fatalf("%q: got\n%s\nwant\n%s", src, g.String(), w.String())
	}
	return true
}

func TestPlainTree(t *testing.T) {
	for _, src := range []string{
		"ls", " git  status\t", "git log --oneline -5 | head", "cd web && npm test || exit 1; make a=b", "a;", "a ; b;", "'a b' \"c d\" '' x",
		"echo {a,b}* ~/x ? ! time }", "a | b && c | d || e", "\"ls\" -l", "{a,b} c", "a 'b\tc'", "!x y", strings.Repeat("a ", 20_000),
	} {
		if !plainSame(t, src) {
			t.Errorf("%q is not plain", src)
		}
	}
	for _, src := range []string{
		"", " ", "a\nb", "$x", "a>b", "a &", "a & b", "a |& b", "a=1", "a=1 b", "a[1]=2", "if a", "time a", "export a=b", "! a", "{ a", "a &&", "&& a", "a || | b", "a;;", "; a", "a'b'", "'a'b", "'a", "\"\"",
		"\"a\\b\"", "\"$a\"", "a\\ b", "#a", "a #b", "(a)", "a()", "[[ a", "[ -f x ]", "a b[", "a && time b", "é", "in a", "else", "a | if",
	} {
		var p plainTree
		if p.read(src) != nil {
			plainSame(t, src)
			t.Errorf("%q is plain", src)
		}
	}
}

// FuzzPlainTree holds the trees of plain texts against the parser's.
func FuzzPlainTree(f *testing.F) {
	for _, src := range []string{"a b", "a 'b' | c && d; e", "x \"y z\" || e", "!a ^b {c} =d +e", "time=1 a[b"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if (&Script{Source: src}).scan().ascii() {
			plainSame(t, src)
		}
	})
}
