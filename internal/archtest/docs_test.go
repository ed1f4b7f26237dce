package archtest

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

func TestPackageDocs(t *testing.T) { check(t, packageDocs) }

func packageDocs(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		var docs []string
		files := m.code(dir)
		name := files[0].ast.Name.Name
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + dir[strings.LastIndex(dir, "/")+1:] + " "
		}
		for _, s := range files {
			if s.ast.Doc == nil {
				continue
			}
			docs = append(docs, s.name)
			if text := strings.Join(strings.Fields(s.ast.Doc.Text()), " ") + " "; !strings.HasPrefix(text, want) {
				out = append(out, finding{m.at(s.ast.Doc), fmt.Sprintf("the package comment should start with %q", want)})
			}
		}
		if len(docs) != 1 {
			out = append(out, finding{files[0].name, fmt.Sprintf("package %s has %d package comments %v; it should have one, which says what it owns and what it does not", name, len(docs), docs)})
		}
	}
	return out
}

func TestExportedNamesAreDocumented(t *testing.T) { check(t, exportedDocs) }

func exportedDocs(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		for _, s := range m.code(dir) {
			if s.ast.Name.Name == "main" {
				continue
			}
			for _, d := range s.ast.Decls {
				for _, name := range undocumented(d) {
					out = append(out, finding{m.at(d), name + " is exported and has no comment"})
				}
			}
		}
	}
	return out
}

// undocumented returns the exported names of a declaration without a comment.
func undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var out []string
		for _, spec := range d.Specs {
			out = append(out, undocumentedSpec(d, spec)...)
		}
		return out
	}
	return nil
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) (out []string) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && (d.Doc == nil || d.Lparen.IsValid()) {
			out = append(out, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				out = append(out, n.Name)
			}
		}
	}
	return out
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}
