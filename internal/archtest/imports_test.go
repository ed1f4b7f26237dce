package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestImports(t *testing.T) { check(t, imports) }

func imports(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		row := rowOf(dir)
		if row == nil {
			out = append(out, finding{dir, "this package has no row in the import table of internal/archtest; give it one that says what it may know"})
			continue
		}
		for _, s := range m.code(dir) {
			for _, spec := range s.ast.Imports {
				if p := strings.Trim(spec.Path.Value, `"`); !row.permits(p) {
					out = append(out, finding{m.at(spec), fmt.Sprintf("may not import %s: %s", p, row.why)})
				}
			}
		}
	}
	return out
}

func TestImportsOfTests(t *testing.T) { check(t, importsOfTests) }

func importsOfTests(m *module) []finding {
	var out []finding
	for dir, sources := range m.dirs {
		row := rowOf(dir)
		for _, s := range sources {
			for _, spec := range s.ast.Imports {
				p := strings.Trim(spec.Path.Value, `"`)
				if !s.test || !third(p) || anyPrefix(testImports, p) || row != nil && anyPrefix(row.third, p) {
					continue
				}
				out = append(out, finding{m.at(spec), fmt.Sprintf("tests may not import %s: it is not in the table of internal/archtest", p)})
			}
		}
	}
	return out
}

func TestDependenciesHaveReasons(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root(), "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for _, sources := range m.dirs {
		for _, s := range sources {
			for _, spec := range s.ast.Imports {
				if p := strings.Trim(spec.Path.Value, `"`); third(p) {
					used[p] = m.at(spec)
				}
			}
		}
	}
	for _, mod := range requirements(t) {
		for p, at := range used {
			if anyPrefix([]string{mod}, p) && !strings.Contains(string(doc), "`"+mod+"`") {
				t.Errorf("%s: %s is used but has no line in docs/dependencies.md that says why", at, mod)
				break
			}
		}
	}
}

// rowOf returns the row of the import table for a package.
func rowOf(dir string) *importRow {
	for i := range importTable {
		if covers(importTable[i].pkg, dir) {
			return &importTable[i]
		}
	}
	return nil
}

// covers reports whether a name of the table, which may end in "...", stands for
// a package.
func covers(name, dir string) bool {
	if before, ok := strings.CutSuffix(name, "..."); ok {
		return strings.HasPrefix(dir, before) || dir+"/" == before
	}
	return name == dir
}

func (r *importRow) permits(p string) bool {
	if own, ok := own(p); ok {
		return slices.ContainsFunc(r.may, func(name string) bool { return covers(name, own) })
	}
	return !third(p) || anyPrefix(r.third, p)
}

// own returns the directory of a package of this module.
func own(p string) (string, bool) {
	if p == modulePath {
		return "", true
	}
	return strings.CutPrefix(p, modulePath+"/")
}

// third reports whether an import path is of another module: its first element
// is a host name.
func third(p string) bool {
	_, mine := own(p)
	first, _, _ := strings.Cut(p, "/")
	return !mine && strings.Contains(first, ".")
}

func anyPrefix(list []string, p string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return p == s || strings.HasPrefix(p, s+"/") })
}
