package archtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snippetVars are what the Go code in a document takes for granted, by file.
var snippetVars = map[string]string{
	"README.md":      "program *obstat.Program, input json.RawMessage, dir string",
	"docs/policy.md": "dir string, call obstat.Call",
	"docs/gate.md":   "ctx context.Context, project, name, id, user string, input json.RawMessage, s store.Store",
}

// snippetImports are the packages that snippets may use, by name.
var snippetImports = map[string]string{
	"obstat": modulePath, "dialect": modulePath + "/dialect", "all": modulePath + "/dialect/all", "policy": modulePath + "/policy", "gate": modulePath + "/gate",
	"store": modulePath + "/store", "adkfluent": modulePath + "/dialect/adkfluent", "pattern": modulePath + "/pattern",
	"json": "encoding/json", "context": "context", "fmt": "fmt",
}

// TestSnippets compiles the Go code of README.md and docs/. A line of three dots
// stands for code that is left out; a snippet that leaves out part of a
// statement, or is for the ADK's own module, is not compiled, nor are the walks of
// docs/contributing, which change packages that a reader has yet to write.
func TestSnippets(t *testing.T) {
	root := moduleRoot(t)
	overlay := map[string]string{}
	dir := t.TempDir()
	for _, name := range documents(t, root) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range goBlocks(string(text)) {
			if strings.Contains(code, "{...") || strings.Contains(code, "adkplugin.") {
				continue
			}
			src, err := snippet(fmt.Sprintf("snippet%d", len(overlay)), snippetVars[name], code)
			if err != nil {
				t.Errorf("%s, Go block %d: %v", name, i+1, err)
				continue
			}
			file := filepath.Join(dir, fmt.Sprintf("s%d.go", len(overlay)))
			if err := os.WriteFile(file, src, 0o600); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(root, "internal", "snippets", strings.NewReplacer("/", "_", ".", "_").Replace(name)+fmt.Sprint(i)+".go")] = file
		}
	}
	if len(overlay) < 4 {
		t.Errorf("only %d snippets found", len(overlay))
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(config, list, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-overlay", config, "./internal/snippets")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the Go code of the documents does not compile: %v\n%s", err, out)
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func documents(t *testing.T, root string) []string {
	t.Helper()
	out := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if rel = filepath.ToSlash(rel); err == nil && strings.HasSuffix(rel, ".md") && !strings.HasPrefix(rel, "docs/contributing/") {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// goBlocks returns the blocks of a document that are fenced as Go.
func goBlocks(text string) (out []string) {
	for {
		_, rest, ok := strings.Cut(text, "\n```go\n")
		if !ok {
			return out
		}
		code, after, ok := strings.Cut(rest, "\n```")
		if !ok {
			return append(out, rest)
		}
		out, text = append(out, code), after
	}
}

// snippet makes a function of a block of statements, or a file of declarations.
func snippet(name, vars, code string) ([]byte, error) {
	lines := strings.Split(code, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "..." })
	code = strings.Join(lines, "\n")
	body := fmt.Sprintf("func %s(%s) {\n%s\n", name, vars, code)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", "package snippets\n"+body+"}\n", 0)
	if err != nil {
		decls := "package snippets\n" + code + "\n"
		if file, err2 := parser.ParseFile(fset, "x.go", decls, 0); err2 == nil {
			return format.Source([]byte(decls[:len("package snippets\n")] + importsOf(file) + code + "\n"))
		}
		return nil, err
	}
	fn := file.Decls[0].(*ast.FuncDecl)
	for _, st := range fn.Body.List {
		a, ok := st.(*ast.AssignStmt)
		if !ok || a.Tok != token.DEFINE {
			continue
		}
		for _, e := range a.Lhs {
			body += fmt.Sprintf("_ = %s\n", e.(*ast.Ident).Name) // a reader uses it further down
		}
	}
	return format.Source([]byte("package snippets\n" + importsOf(file) + body + "}\n"))
}

// importsOf returns the import declarations for the packages that a file names.
func importsOf(file *ast.File) string {
	used := map[string]bool{}
	defined := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					defined[id.Name] = true
				}
			}
		}
		return true
	})
	var b strings.Builder
	for name, path := range snippetImports {
		if used[name] && !defined[name] {
			fmt.Fprintf(&b, "import %s %q\n", name, path)
		}
	}
	return b.String()
}
