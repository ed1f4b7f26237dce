package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits keep in view all that a reader has to hold in mind at once.
const (
	maxFuncLines = 80
	maxBranches  = 25 // as gocyclo counts: 1, and 1 for each if, for, case, && and ||
	maxColumns   = 120
	maxFields    = 12
)

// branchy names the functions (package and name) that still have more branches.
var branchy = map[string]bool{}

// wide says how many lines over maxColumns a package may still have, tables included. The figures only fall.
var wide = map[string]int{
	"agent":                         5,
	"approval":                      10,
	"client":                        5,
	"confine":                       3,
	"dialect/adkfluent":             2,
	"dialect/agentscope":            5,
	"dialect/chorus":                5,
	"dialect/claudecode":            5,
	"dialect/codex":                 2,
	"dialect/gemini":                2,
	"dialect/jiuwen":                9,
	"dialect/opencode":              9,
	"gate":                          25,
	"host/jiuwen":                   1,
	"host/opencode":                 1,
	"internal/face/cli":             14,
	"internal/face/console":         4,
	"internal/face/mcp":             10,
	"internal/face/remote":          4,
	"internal/face/server":          15,
	"internal/format/jsonx":         6,
	"internal/format/tomlx":         2,
	"internal/format/tree":          5,
	"internal/format/yamlx":         5,
	"internal/guard/initial":        1,
	"internal/keep/postgres":        28,
	"internal/keep/postgres/pgtest": 3,
	"internal/keep/sqlite":          17,
	"internal/study/cases/freeze":   3,
	"internal/study/convert":        3,
	"internal/study/diff":           1,
	"internal/study/explain":        2,
	"internal/study/lint":           1,
	"ledger":                        13,
	"policy":                        23,
	"shell":                         18,
}

// narrowStructs are the packages in which no struct has more than maxFields fields.
var narrowStructs = []string{"effect", "effect/kb", "effect/internal/code", "effect/internal/git", "effect/internal/left", "effect/internal/search",
	"shell"}

func TestSizes(t *testing.T) { check(t, sizes) }

func sizes(m *module) []finding {
	var out []finding
	for _, dir := range m.packages() {
		for _, s := range m.code(dir) {
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					out = append(out, m.functionSize(dir, f)...)
				}
			}
		}
	}
	return out
}

// functionSize returns the limits that a function breaks.
func (m *module) functionSize(dir string, f *ast.FuncDecl) []finding {
	var out []finding
	if n := m.span(f); n > maxFuncLines {
		out = append(out, finding{m.at(f), fmt.Sprintf("%s has %d lines; a function has at most %d", f.Name.Name, n, maxFuncLines)})
	}
	if n := branches(f); n > maxBranches && !branchy[dir+" "+f.Name.Name] {
		out = append(out, finding{m.at(f), fmt.Sprintf("%s has %d branches; a function has at most %d", f.Name.Name, n, maxBranches)})
	}
	return out
}

// branches counts the ways through a function.
func branches(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func TestColumns(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range m.packages() {
		var over []string
		for _, s := range m.code(dir) {
			text, err := os.ReadFile(filepath.Join(root(), filepath.FromSlash(s.name)))
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if len([]rune(line)) > maxColumns {
					over = append(over, fmt.Sprintf("%s:%d", s.name, i+1))
				}
			}
		}
		if len(over) > wide[dir] {
			t.Errorf("%s has %d lines over %d columns, and may have %d: %s", dir, len(over), maxColumns, wide[dir], strings.Join(over, " "))
		}
	}
}

func TestFields(t *testing.T) { check(t, fields) }

// fields finds structs that hold too many things at once.
func fields(m *module) []finding {
	var out []finding
	for _, dir := range narrowStructs {
		for _, s := range m.code(dir) {
			ast.Inspect(s.ast, func(node ast.Node) bool {
				if st, ok := node.(*ast.StructType); ok && st.Fields.NumFields() > maxFields {
					out = append(out, finding{m.at(st), fmt.Sprintf("%d fields; a struct here has at most %d", st.Fields.NumFields(), maxFields)})
				}
				return true
			})
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
