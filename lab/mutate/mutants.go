package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one change of one file.
type mutant struct {
	file      string
	line, col int
	from, to  int // the bytes that are replaced
	by        string
	what      string
}

// text returns the file with the change.
func (m *mutant) text() ([]byte, error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	return slices.Concat(src[:m.from], []byte(m.by), src[m.to:]), nil
}

// mutants returns all changes of the package in a directory, tests left out.
func mutants(dir string) ([]mutant, error) {
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, name := range pkg.GoFiles {
		c := &changer{name: filepath.Join(dir, name), fset: token.NewFileSet()}
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
				ast.Inspect(fn.Body, c.visit)
			}
		}
		out = append(out, c.out...)
	}
	return out, nil
}

// A changer collects the changes of a file.
type changer struct {
	name    string
	src     []byte
	fset    *token.FileSet
	results *ast.FieldList // of the function that is looked at
	out     []mutant
}

// source returns the text of a node.
func (c *changer) source(n ast.Node) string {
	return string(c.src[c.fset.Position(n.Pos()).Offset:c.fset.Position(n.End()).Offset])
}

// add adds the change of a node's text.
func (c *changer) add(from, to token.Pos, by, what string) {
	at := c.fset.Position(from)
	c.out = append(c.out, mutant{c.name, at.Line, at.Column, at.Offset, c.fset.Position(to).Offset, by, what})
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
			c.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String(), op.String()+" for "+n.Op.String())
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			c.add(n.Pos(), n.End(), strconv.FormatInt(v+1, 10), fmt.Sprintf("%d for %s", v+1, n.Value))
		}
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			c.add(n.Pos(), n.End(), other, other+" for "+n.Name)
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
	if c.results == nil || len(n.Results) == 0 {
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
