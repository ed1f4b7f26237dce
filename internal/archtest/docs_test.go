package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
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

func TestSizes(t *testing.T) { check(t, sizes) }

func sizes(m *module) []finding {
	var out []finding
	for _, sources := range m.dirs {
		for _, s := range sources {
			if s.lines > maxFileLines && longFiles[s.name] == "" {
				out = append(out, finding{s.name, fmt.Sprintf("%d lines; a file has at most %d, so that it can be read in one sitting", s.lines, maxFileLines)})
			}
			if s.test {
				continue // a table test is as long as its table
			}
			for _, d := range s.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := m.span(f); n > maxFuncLines && longFuncs[s.name+" "+f.Name.Name] == "" {
					out = append(out, finding{m.at(f), fmt.Sprintf("%s has %d lines; a function has at most %d", f.Name.Name, n, maxFuncLines)})
				}
			}
		}
	}
	return out
}

// span returns how many lines a node takes, the comment above not counted.
func (m *module) span(n ast.Node) int {
	pos, end := n.Pos(), n.End()
	if f, ok := n.(*ast.FuncDecl); ok && f.Doc != nil {
		pos = f.Type.Func
	}
	line := func(p token.Pos) int { return m.fset.Position(p).Line }
	return line(end) - line(pos) + 1
}

func TestExceptionsAreNeeded(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, sources := range m.dirs {
		for _, s := range sources {
			files[s.name] = s.lines > maxFileLines
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					files[s.name+" "+f.Name.Name] = m.span(f) > maxFuncLines
				}
			}
		}
	}
	for _, table := range []map[string]string{longFiles, longFuncs} {
		for name := range table {
			if !files[name] {
				t.Errorf("%s is short enough now; take it off the table of exceptions", name)
			}
		}
	}
}
