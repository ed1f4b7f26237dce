package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A mutant is one change of one file.
type mutant struct {
	file, shown string // shown is seen from the root of the repository
	line, col   int
	from, to    int // the bytes that are replaced
	by          string
	what        string
	fn          *function
	src         []byte
}

// body returns the body of the mutant's function with the change.
func (m *mutant) body() string {
	return string(m.src[m.fn.brace:m.from]) + m.by + string(m.src[m.to:m.fn.end])
}

// place returns the file with line and column.
func (m *mutant) place() string { return fmt.Sprintf("%s:%d:%d", m.shown, m.line, m.col) }

// key names the mutant without its line, which other changes of the file would move.
func (m *mutant) key() string { return fmt.Sprintf("%s %s: %s", m.shown, m.fn.name, m.what) }

// mutants returns all changes of a package, tests left out. Shown is its directory
// as people name it.
func mutants(pkg *build.Package, shown string) (out []mutant, err error) {
	for _, name := range pkg.GoFiles {
		c := &changer{name: filepath.Join(pkg.Dir, name), shown: filepath.Join(shown, name), fset: token.NewFileSet()}
		if c.src, err = os.ReadFile(c.name); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(c.fset, c.name, c.src, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				c.results = fn.Type.Results
				c.fn = c.newFunction(pkg.Name, fn)
				ast.Inspect(fn.Body, c.visit)
			}
		}
		out = append(out, c.out...)
	}
	return out, nil
}

// A changer collects the changes of a file.
type changer struct {
	name, shown string
	src         []byte
	fset        *token.FileSet
	results     *ast.FieldList // of the function or literal that is looked at
	fn          *function
	out         []mutant
}

// source returns the text of a node.
func (c *changer) source(n ast.Node) string {
	return string(c.src[c.fset.Position(n.Pos()).Offset:c.fset.Position(n.End()).Offset])
}

// lineOf returns the line that a node begins in.
func (c *changer) lineOf(n ast.Node) string {
	at := c.fset.Position(n.Pos())
	line, _, _ := bytes.Cut(c.src[at.Offset-at.Column+1:], []byte("\n"))
	return string(line)
}

// add adds the change of a node's text.
func (c *changer) add(from, to token.Pos, by, what string) {
	at := c.fset.Position(from)
	c.out = append(c.out, mutant{
		file: c.name, shown: c.shown, line: at.Line, col: at.Column, from: at.Offset, to: c.fset.Position(to).Offset,
		by: by, what: strings.Join(strings.Fields(what), " "), fn: c.fn, src: c.src,
	})
}

// swapped are the operators that take each other's place.
var swapped = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// visit adds the changes of one node.
func (c *changer) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit: // returns other things than the function around it
		around := c.results
		c.results = n.Type.Results
		ast.Inspect(n.Body, c.visit)
		c.results = around
		return false
	case *ast.IfStmt:
		c.add(n.Cond.Pos(), n.Cond.End(), "!("+c.source(n.Cond)+")", "negated "+c.source(n.Cond))
	case *ast.BinaryExpr:
		if op, ok := swapped[n.Op]; ok {
			c.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String(), op.String()+" for "+n.Op.String()+" in "+c.source(n))
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			c.add(n.Pos(), n.End(), strconv.FormatInt(v+1, 10), fmt.Sprintf("%d for %s in %s", v+1, n.Value, c.lineOf(n)))
		}
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			c.add(n.Pos(), n.End(), other, other+" for "+n.Name+" in "+c.lineOf(n))
		}
	case *ast.ExprStmt:
		c.leaveOut(n)
	case *ast.IncDecStmt:
		c.leaveOut(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			c.leaveOut(n)
		}
	case *ast.ReturnStmt:
		c.zero(n)
	}
	return true
}

// leaveOut leaves a statement out: an empty one takes its place.
func (c *changer) leaveOut(n ast.Stmt) { c.add(n.Pos(), n.End(), "", "left out "+c.source(n)) }

// zero returns zero values in place of others.
func (c *changer) zero(n *ast.ReturnStmt) {
	changes := false
	for _, r := range n.Results {
		changes = changes || !isZero(r)
	}
	if c.results == nil || !changes {
		return
	}
	var zeros []string
	for _, f := range c.results.List {
		for range max(len(f.Names), 1) {
			zeros = append(zeros, "*new("+c.source(f.Type)+")")
		}
	}
	c.add(n.Pos(), n.End(), "return "+strings.Join(zeros, ", "), "zero for "+c.source(n))
}

// isZero reports whether an expression is written as a zero value: `nil`, `Answer{}`.
func isZero(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nil" || e.Name == "false"
	case *ast.BasicLit:
		return e.Value == `""` || e.Value == "0"
	case *ast.CompositeLit:
		_, named := e.Type.(*ast.Ident)
		return named && len(e.Elts) == 0
	}
	return false
}
