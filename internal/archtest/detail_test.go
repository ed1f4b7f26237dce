package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestDetailIsForPeople(t *testing.T) { check(t, detailDecides) }

// printers are the files that take an effect's Detail apart to print it.
var printers = map[string]bool{"internal/study/explain/would.go": true}

// detailDecides finds code that compares or searches an effect's Detail. Its words are for
// people and may be changed in the knowledge base at any time; what decides is a tag.
func detailDecides(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		for _, s := range m.code(dir) {
			if printers[strings.TrimPrefix(s.name, "./")] || dir != "effect" && !importsEffect(s.ast) {
				continue
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				if looksAtDetail(n) {
					out = append(out, finding{m.at(n), "an effect's Detail is for people; code that decides looks at its Tags"})
					return false
				}
				return true
			})
		}
	}
	return out
}

func importsEffect(f *ast.File) bool {
	for _, i := range f.Imports {
		if strings.HasSuffix(i.Path.Value, `/effect"`) {
			return true
		}
	}
	return false
}

// looksAtDetail tells whether a node compares, searches or switches on a Detail. To see
// whether there is one is no look at its words.
func looksAtDetail(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return (n.Op == token.EQL || n.Op == token.NEQ) && (isDetail(n.X) && !isEmptyText(n.Y) || isDetail(n.Y) && !isEmptyText(n.X))
	case *ast.SwitchStmt:
		return isDetail(n.Tag)
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if pkg, is := f0(f, ok); !is || pkg != "strings" && pkg != "slices" {
			return false
		}
		for _, arg := range n.Args {
			if isDetail(arg) {
				return true
			}
		}
	}
	return false
}

// f0 is the name that a selector selects from.
func f0(f *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	id, ok := f.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

func isDetail(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && (s.Sel.Name == "Detail" || s.Sel.Name == "detail")
}

func isEmptyText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == `""`
}
