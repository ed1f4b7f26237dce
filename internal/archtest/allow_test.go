package archtest

import (
	"fmt"
	"go/ast"
	"testing"
)

func TestOnePlaceAllows(t *testing.T) { check(t, onePlaceAllows) }

// onePlaceAllows finds Decisions that get a verdict which may be Allow anywhere
// but in the functions listed: as a literal, or by assignment to a variable that
// the function has as a Decision.
func onePlaceAllows(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		for _, s := range m.code(dir) {
			for _, d := range s.ast.Decls {
				name := ""
				if f, ok := d.(*ast.FuncDecl); ok {
					name = f.Name.Name
				}
				if dir != "" {
					name = dir + " " + name
				}
				if allowers[name] == "" {
					out = append(out, m.allows(dir, d)...)
				}
			}
		}
	}
	return out
}

func (m *module) allows(dir string, d ast.Decl) []finding {
	var out []finding
	report := func(at ast.Node, what string) {
		out = append(out, finding{m.at(at), fmt.Sprintf("%s: only settle, in the root package, can make a Decision that may allow; write obstat.Deny or obstat.Ask, or take the Decision that Decide returned", what)})
	}
	held := decisionVars(dir, d)
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if !isDecision(dir, n.Type) {
				return true
			}
			for _, e := range n.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok {
					report(e, "a Decision without the names of its fields")
				} else if k, ok := kv.Key.(*ast.Ident); ok && k.Name == "Verdict" && !isStrict(dir, kv.Value) {
					report(kv, "a Decision with a verdict that may be Allow")
				}
			}
		case *ast.AssignStmt:
			for i, e := range n.Lhs {
				sel, ok := e.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Verdict" {
					continue
				}
				if id, ok := sel.X.(*ast.Ident); ok && held[id.Name] && (i >= len(n.Rhs) || !isStrict(dir, n.Rhs[i])) {
					report(n, "a Decision is given a verdict that may be Allow")
				}
			}
		}
		return true
	})
	return out
}

// isDecision reports whether a type is the engine's Decision, or a pointer to it.
func isDecision(dir string, typ ast.Expr) bool {
	switch t := typ.(type) {
	case *ast.StarExpr:
		return isDecision(dir, t.X)
	case *ast.Ident:
		return dir == "" && t.Name == "Decision"
	case *ast.SelectorExpr:
		pkg, ok := t.X.(*ast.Ident)
		return ok && pkg.Name == "obstat" && t.Sel.Name == "Decision"
	}
	return false
}

// isStrict reports whether a value is the constant Deny or Ask.
func isStrict(dir string, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return dir == "" && (e.Name == "Deny" || e.Name == "Ask")
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		return ok && pkg.Name == "obstat" && (e.Sel.Name == "Deny" || e.Sel.Name == "Ask")
	}
	return false
}

// decisionVars returns the names under which a declaration has Decisions.
func decisionVars(dir string, d ast.Decl) map[string]bool {
	held := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				held[name.Name] = held[name.Name] || isDecision(dir, n.Type)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				held[name.Name] = held[name.Name] || n.Type != nil && isDecision(dir, n.Type)
			}
		case *ast.AssignStmt:
			for i, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && (makesDecision(dir, n.Rhs[0]) || i < len(n.Rhs) && makesDecision(dir, n.Rhs[i])) {
					held[id.Name] = true
				}
			}
		}
		return true
	})
	return held
}

// makesDecision reports whether an expression is a Decision literal or a call of
// a method named Decide.
func makesDecision(dir string, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return isDecision(dir, e.Type)
	case *ast.UnaryExpr:
		return makesDecision(dir, e.X)
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Decide"
	}
	return false
}
