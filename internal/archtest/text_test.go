package archtest

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNoMachinePaths keeps the paths of the machine that a change was made on
// out of the files.
func TestNoMachinePaths(t *testing.T) {
	if filepath.Dir(root()) == "/" {
		t.Skipf("%s is a path that examples have", root()) // such as /src, /srv or /repo
	}
	mine := machinePaths()
	err := walk(func(name string) error {
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil || len(text) > 4<<20 || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		if at := mine.FindIndex(text); at != nil {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			t.Errorf("%s:%d: %q is a path of this machine; nobody else has it", name, line, text[at[0]:at[1]])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// machinePaths matches the module's directory, and everything beside it unless
// that is a directory that every system has.
func machinePaths() *regexp.Regexp {
	words := []string{regexp.QuoteMeta(root()) + `\b`}
	up := filepath.Dir(root())
	common := []string{"/", "/home", "/root", "/tmp", "/usr", "/usr/src", "/usr/local/src", "/var", "/opt", "/srv", "/mnt", "/src", "/app", "/build", "/builds", "/workspace"}
	if !slices.Contains(common, up) {
		words = append(words, regexp.QuoteMeta(up)+`/[A-Za-z0-9_.]`)
	}
	return regexp.MustCompile(`(?m)(?:^|[^A-Za-z0-9_.-])(?:` + strings.Join(words, "|") + `)`)
}

// TestErrorCodesAreListed compares the constants of type Code in the root
// package with the rows of docs/errors.md, both ways.
func TestErrorCodesAreListed(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for _, s := range m.code("") {
		for _, d := range s.ast.Decls {
			collectCodes(m, d, codes)
		}
	}
	if len(codes) == 0 {
		t.Skip("the root package has no constants of type Code yet")
	}
	doc, err := os.ReadFile(filepath.Join(root(), "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllSubmatch(doc, -1) {
		code := string(row[1])
		if listed[code] {
			t.Errorf("docs/errors.md lists %s twice", code)
		}
		listed[code] = true
		if codes[code] == "" {
			t.Errorf("docs/errors.md lists %s, which no constant of type Code has", code)
		}
	}
	for code, at := range codes {
		if !listed[code] {
			t.Errorf("%s: the code %s has no row in docs/errors.md", at, code)
		}
	}
}

// collectCodes notes where each constant of type Code is declared.
func collectCodes(m *module, d ast.Decl, codes map[string]string) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if typ, ok := v.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			continue
		}
		for _, e := range v.Values {
			if lit, ok := e.(*ast.BasicLit); ok {
				codes[strings.Trim(lit.Value, `"`)] = m.at(v)
			}
		}
	}
}
