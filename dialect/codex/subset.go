package codex

import (
	"errors"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/obstat/obstat"
)

// names are those of Starlark's own functions and constants that rules may use. The others
// may take for ever on a list of a few lists: str writes them out.
var names = []string{"None", "True", "False", "len", "range", "list", "tuple", "enumerate", "zip", "sorted",
	"reversed", "any", "all", "bool", "int", "min", "max", "type"}

// methods are those whose result is no longer than their arguments.
var methods = []string{"append", "extend", "insert", "startswith", "endswith", "lower", "upper", "strip", "lstrip",
	"rstrip", "split"}

// check walks a file before it is run. It keeps where calls are, refuses code that could make a
// file of a few lines take all memory, and reports whether values can grow at all.
func (s *script) check(f *syntax.File) (grows bool) {
	fail := func(n syntax.Node, format string, args ...any) {
		e := s.Fail(nil, obstat.CodeSyntax, "", format, args...)
		e.Pos = place(s.file, syntax.Start(n))
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			fail(n, "load is not available: rules are in one file")
			return false
		case *syntax.CallExpr:
			s.calls[syntax.MakePosition(nil, n.Lparen.Line, n.Lparen.Col)] = n
		case *syntax.DotExpr:
			if !slices.Contains(methods, n.Name.Name) {
				fail(n.Name, "obstat does not run the method %q; it runs %s", n.Name.Name, strings.Join(methods, ", "))
			}
			grows = grows || n.Name.Name == "append" || n.Name.Name == "extend" || n.Name.Name == "insert"
		case *syntax.BinaryExpr:
			if n.Op == syntax.STAR || n.Op == syntax.PERCENT || n.Op == syntax.LTLT {
				fail(n, "obstat does not compute %s in rules; write the words out", n.Op)
			}
			grows = grows || n.Op == syntax.PLUS || n.Op == syntax.PIPE
		case *syntax.AssignStmt:
			if n.Op == syntax.STAR_EQ || n.Op == syntax.PERCENT_EQ || n.Op == syntax.LTLT_EQ {
				fail(n, "obstat does not compute %s in rules; write the words out", n.Op)
			}
			grows = grows || n.Op != syntax.EQ
		case *syntax.DictExpr:
			fail(n, "obstat reads no dictionaries in rules; lists do")
		case *syntax.ForStmt, *syntax.Comprehension, *syntax.DefStmt, *syntax.LambdaExpr:
			grows = true
		case *syntax.Ident:
			if starlark.Universe.Has(n.Name) && !slices.Contains(names, n.Name) {
				fail(n, "obstat does not run %q in rules", n.Name)
			}
		}
		return true
	})
	return grows
}

// errQuote is the problem of a line that ends inside quotes.
var errQuote = errors.New("the example has a quote that does not end")

// split splits a line into words as shells do, without expanding anything.
func split(line string) ([]string, error) {
	var out []string
	var b strings.Builder
	open, in := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case in == '\'' && c != '\'', in == '"' && c != '"' && c != '\\':
			b.WriteByte(c)
		case in != 0 && c == in:
			in = 0
		case c == '\\':
			i++
			if i == len(line) {
				return nil, errQuote
			}
			if in == '"' && !strings.ContainsRune("$`\"\\\n", rune(line[i])) {
				b.WriteByte('\\')
			}
			if line[i] != '\n' {
				b.WriteByte(line[i])
				open = true
			}
		case c == '\'' || c == '"':
			in, open = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if open {
				out = append(out, b.String())
				b.Reset()
				open = false
			}
		case c == '#' && !open:
			if end := strings.IndexByte(line[i:], '\n'); end >= 0 {
				i += end
				continue
			}
			i = len(line)
		default:
			b.WriteByte(c)
			open = true
		}
	}
	switch {
	case in != 0:
		return nil, errQuote
	case open:
		out = append(out, b.String())
	}
	return out, nil
}
