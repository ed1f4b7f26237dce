package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestNoHiddenState(t *testing.T) { check(t, hiddenState) }

// hiddenState finds init functions and package variables that are, or can only
// be meant to be, changed.
func hiddenState(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		vars := map[string]*ast.ValueSpec{}
		for _, s := range m.code(dir) {
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					out = append(out, finding{m.at(f), "init runs behind everybody's back; call a function, or use sync.OnceValue"})
				}
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					for i, n := range v.Names {
						if n.Name == "_" || mutableVars[dir+" "+n.Name] != "" {
							continue
						}
						vars[n.Name] = v
						if why := changeable(g, v, i); why != "" {
							out = append(out, finding{m.at(n), fmt.Sprintf("the package variable %s %s; state belongs into a value that somebody makes and hands on", n.Name, why)})
						}
					}
				}
			}
		}
		for _, s := range m.code(dir) {
			out = append(out, m.writes(s, vars)...)
		}
	}
	return out
}

// changeable says why the i-th variable of v looks like state, "" if it does not.
func changeable(g *ast.GenDecl, v *ast.ValueSpec, i int) string {
	if len(v.Values) == 0 {
		if embedded(g.Doc) || embedded(v.Doc) {
			return ""
		}
		return "has no value yet"
	}
	if i >= len(v.Values) {
		return ""
	}
	switch e := v.Values[i].(type) {
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && (f.Name == "make" || f.Name == "new") {
			return "is made to be filled"
		}
	case *ast.CompositeLit:
		return mutableType(e.Type)
	case *ast.UnaryExpr:
		if lit, ok := e.X.(*ast.CompositeLit); ok {
			return mutableType(lit.Type)
		}
	}
	return ""
}

// mutableType says that a type of the standard library is made to change. A
// pool is not: nobody can tell what it holds.
func mutableType(typ ast.Expr) string {
	sel, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if ok && (pkg.Name == "atomic" || pkg.Name == "sync" && sel.Sel.Name != "Pool") {
		return "is a " + pkg.Name + "." + sel.Sel.Name
	}
	return ""
}

func embedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// writes finds assignments to package variables, their elements and fields.
func (m *module) writes(s *source, vars map[string]*ast.ValueSpec) []finding {
	var out []finding
	report := func(at ast.Node, e ast.Expr) {
		if id := base(e); id != nil && vars[id.Name] != nil && (id.Obj == nil || id.Obj.Decl == vars[id.Name]) {
			out = append(out, finding{m.at(at), fmt.Sprintf("the package variable %s is written to; tables are read-only", id.Name)})
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if n.Tok != token.DEFINE {
					report(n, e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				report(n, n.Key)
				report(n, n.Value)
			}
		case *ast.IncDecStmt:
			report(n, n.X)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") {
				report(n, n.Args[0])
			}
		}
		return true
	})
	return out
}

// base returns the variable that an expression is an element or field of.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
