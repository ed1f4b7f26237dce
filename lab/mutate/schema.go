package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable of the environment says which change is switched on.
const variable = "OBSTAT_MUTANT"

// changed returns the files of a package with all changes in them: a function that is
// changed begins with its changed copies, of which at most one runs,
//
//	func f(a int) bool {
//		if mutantNow == 7 {
//			return func(a int) bool { return a <= 3 }(a)
//		}
//		return a < 3
//	}
//
// and one file more says which.
func changed(dir string, chosen []mutant) (map[string][]byte, error) {
	byFile := map[string][]insertion{}
	var pkg string
	for i, m := range chosen {
		byFile[m.file] = append(byFile[m.file], insertion{m.fn.brace, m.fn.copied(i+1, m.body())})
		pkg = m.fn.pkg
	}
	out := map[string][]byte{filepath.Join(dir, "mutant_now.go"): fmt.Appendf(nil, `package %s

import (
	"os"
	"strconv"
)

var mutantNow, _ = strconv.Atoi(os.Getenv(%q))
`, pkg, variable)}
	for name, list := range byFile {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[name] = insert(name, src, list)
	}
	return out, nil
}

// An insertion puts text behind a byte of a file.
type insertion struct {
	at   int
	text string
}

// insert puts the copies into a file. The compiler goes on counting lines as if they were not there.
func insert(name string, src []byte, list []insertion) []byte {
	slices.SortStableFunc(list, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out []byte
	done := 0
	for _, in := range list {
		out = append(out, src[done:in.at]...)
		done = in.at
		line := 1 + bytes.Count(src[:in.at], []byte("\n"))
		column := in.at - bytes.LastIndexByte(src[:in.at], '\n')
		out = fmt.Appendf(out, "%s/*line %s:%d:%d*/", in.text, name, line, column)
	}
	return append(out, src[done:]...)
}

// A function is the declaration that a change is in.
type function struct {
	pkg, name       string
	brace, end      int    // the byte behind { and that of }
	params, args    string // of a copy, and of its call
	results         string // with parentheses
	returns, recovs bool
}

// newFunction describes a declaration.
func (c *changer) newFunction(pkg string, d *ast.FuncDecl) *function {
	f := &function{
		pkg: pkg, name: d.Name.Name,
		brace: c.fset.Position(d.Body.Lbrace).Offset + 1, end: c.fset.Position(d.Body.Rbrace).Offset,
		returns: d.Type.Results != nil, recovs: recovers(d.Body),
	}
	var params, args []string
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				if name.Name == "_" {
					continue
				}
				params = append(params, name.Name+" "+c.source(field.Type))
				if _, many := field.Type.(*ast.Ellipsis); many {
					name.Name += "..."
				}
				args = append(args, name.Name)
			}
		}
	}
	f.params, f.args = strings.Join(params, ", "), strings.Join(args, ", ")
	if f.returns {
		f.results = "(" + strings.Trim(c.source(d.Type.Results), "()") + ")"
		if d.Type.Results.Opening == 0 {
			f.results = "(" + c.source(d.Type.Results) + ")"
		}
	}
	return f
}

// recovers reports whether a body calls recover itself. Only a deferred function can
// do so, not one that it calls.
func recovers(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			found = found || ok && id.Name == "recover"
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return found
}

// copied returns the statement that runs a changed body in place of the function's.
func (f *function) copied(number int, body string) string {
	at := fmt.Sprintf("/*line mutant_%d.go:1:1*/", number)
	switch {
	case f.recovs:
		return fmt.Sprintf(" if mutantNow == %d { %s%s\nreturn };", number, at, body)
	case f.returns:
		return fmt.Sprintf(" if mutantNow == %d { %sreturn func(%s) %s {%s}(%s) };", number, at, f.params, f.results, body, f.args)
	default:
		return fmt.Sprintf(" if mutantNow == %d { %sfunc(%s) {%s}(%s); return };", number, at, f.params, body, f.args)
	}
}
