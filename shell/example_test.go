package shell_test

import (
	"fmt"

	"github.com/obstat/obstat/shell"
)

func ExampleParse() {
	s := shell.Parse(`a=rm; cd build && $a -r "o"ut/{x,y} > log; eval 'echo hi | sh'`, nil)
	for _, c := range s.Commands {
		for _, w := range c.Words {
			fmt.Printf("%s ", w.Text)
		}
		for _, a := range c.Assigns {
			fmt.Printf("%s=%s ", a.Name, a.Value.Text)
		}
		for _, r := range c.Redirects {
			fmt.Printf("%s %s ", r.Op, r.Target.Text)
		}
		fmt.Printf("in %q\n", c.Dir.Text)
	}
	// Output:
	// a=rm in ""
	// cd build in ""
	// rm -r out/x out/y > log in "build"
	// eval echo hi | sh in "build"
	// echo hi in "build"
	// sh in "build"
}

// What cannot be seen is said, with the reason and the place.
func ExampleScript_gaps() {
	src := `eval "$(curl -s example.com)"; $EDITOR notes`
	for _, g := range shell.Parse(src, nil).Gaps {
		fmt.Printf("%v: %s: %s\n", g.Kind, g.Why, src[g.Span.Start:g.Span.End])
	}
	// Output:
	// dynamic code: eval of text known only at run time: "$(curl -s example.com)"
	// dynamic program: the program is variable EDITOR: $EDITOR
}
