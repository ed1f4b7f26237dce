package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
	"testing"
)

func TestNoForeignTypesInPublic(t *testing.T) { check(t, foreignTypes) }

// foreignTypes finds types of other modules in the exported surface of packages
// that others can import: they would tie every user to our choice of library.
func foreignTypes(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		if !public(dir) {
			continue
		}
		for _, s := range m.code(dir) {
			names := foreignNames(s.ast)
			for _, d := range s.ast.Decls {
				for _, e := range exported(d) {
					ast.Inspect(e, func(n ast.Node) bool {
						if f, ok := n.(*ast.Field); ok && len(f.Names) > 0 && !anyExported(f.Names) {
							return false // an unexported field is nobody's business
						}
						sel, ok := n.(*ast.SelectorExpr)
						if !ok {
							return true
						}
						if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil && names[pkg.Name] != "" {
							out = append(out, finding{m.at(sel), fmt.Sprintf("%s.%s, a type of %s, is part of the public surface; give it a type of our own", pkg.Name, sel.Sel.Name, names[pkg.Name])})
						}
						return true
					})
				}
			}
		}
	}
	return out
}

// foreignNames returns the names under which a file has other modules' packages.
func foreignNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if !third(p) {
			continue
		}
		name := path.Base(p)
		if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
	}
	return names
}

// exported returns the parts of a declaration that others can see.
func exported(d ast.Decl) []ast.Node {
	var out []ast.Node
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d)) {
			return nil
		}
		// Parameters have names that are not exported, and yet are seen.
		for _, list := range []*ast.FieldList{d.Type.TypeParams, d.Type.Params, d.Type.Results} {
			if list != nil {
				for _, f := range list.List {
					out = append(out, f.Type)
				}
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					out = append(out, s.Type)
				}
			case *ast.ValueSpec:
				if anyExported(s.Names) && s.Type != nil {
					out = append(out, s.Type)
				}
			}
		}
	}
	return out
}

func anyExported(names []*ast.Ident) bool {
	for _, n := range names {
		if n.IsExported() {
			return true
		}
	}
	return false
}
