//go:build !obstat_quick

package pattern

import "regexp/syntax"

// stdlibProg compiles an expression, nil if it is none.
func stdlibProg(expr string) *syntax.Prog {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil
	}
	return prog
}
