package archtest

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A module is the source of a whole module, parsed.
type module struct {
	fset *token.FileSet
	dirs map[string][]*source // by package directory, "" for the root
}

// A source is one Go file.
type source struct {
	name string // path from the module root
	dir  string
	test bool
	ast  *ast.File
}

// A finding is one breach of a rule.
type finding struct{ at, msg string }

func (m *module) at(n ast.Node) string {
	p := m.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// add parses one file into m.
func (m *module) add(name string, text []byte) error {
	f, err := parser.ParseFile(m.fset, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	if dir == "." {
		dir = ""
	}
	m.dirs[dir] = append(m.dirs[dir], &source{name, dir, strings.HasSuffix(name, "_test.go"), f})
	return nil
}

// code returns the files of a directory that are no tests, in order.
func (m *module) code(dir string) []*source {
	var out []*source
	for _, s := range m.dirs[dir] {
		if !s.test {
			out = append(out, s)
		}
	}
	return out
}

// packages returns the directories that hold code, in order.
func (m *module) packages() []string {
	var out []string
	for dir := range m.dirs {
		if len(m.code(dir)) > 0 {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}

// public reports whether others can import the package.
func public(dir string) bool {
	return !slices.Contains(strings.Split(dir, "/"), "internal") && !strings.HasPrefix(dir, "cmd/") && !strings.HasPrefix(dir, "examples")
}

// root is the module's directory.
var root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(b), "module "+modulePath+"\n") {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			panic("go.mod of " + modulePath + " not found")
		}
		dir = up
	}
})

// walk calls fn for every file of the module, by its path from the root. Other
// modules below it, and what tools leave around, are not of the module.
func walk(fn func(name string) error) error {
	return filepath.WalkDir(root(), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root(), p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(p, "go.mod"))
			if name != "." && (other == nil || d.Name() == ".git" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || name == ".git" { // a worktree has a file of that name
			return nil
		}
		return fn(filepath.ToSlash(name))
	})
}

var load = sync.OnceValues(func() (*module, error) {
	m := &module{token.NewFileSet(), map[string][]*source{}}
	err := walk(func(name string) error {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil {
			return err
		}
		return m.add(name, text)
	})
	return m, err
})

// check runs a rule over the module.
func check(t *testing.T, rule func(*module) []finding) {
	t.Helper()
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rule(m) {
		t.Errorf("%s: %s", f.at, f.msg)
	}
}

// requirements returns the module paths that go.mod requires.
func requirements(t *testing.T) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(root(), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(strings.TrimPrefix(lines.Text(), "require "))
		if len(words) >= 2 && strings.Contains(words[0], ".") && strings.HasPrefix(words[1], "v") {
			out = append(out, words[0])
		}
	}
	return out
}
