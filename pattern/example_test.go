package pattern_test

import (
	"errors"
	"fmt"

	"github.com/obstat/obstat/pattern"
)

func ExampleCompile() {
	for _, f := range []pattern.Flavour{pattern.Fnmatch, pattern.Wildcard, pattern.Minimatch, pattern.Bash} {
		p, err := pattern.Compile(f, "src *")
		if err != nil {
			fmt.Println(err)
			continue
		}
		short, _ := p.Match("src")
		long, _ := p.Match("src a/b")
		fmt.Println(f, short, long)
	}
	// Output:
	// fnmatch false true
	// wildcard true true
	// minimatch false false
	// bash true true
}

func ExampleSyntaxError() {
	_, err := pattern.Compile(pattern.Full, `rm -rf (/|~`)
	var s *pattern.SyntaxError
	if errors.As(err, &s) {
		fmt.Println(s.Offset, s.Msg)
	}
	// Output: 7 missing ), unterminated subpattern
}

func ExamplePattern_Match_outOfTime() {
	p := pattern.MustCompile(pattern.Search, `(a+)+\1[bc]$`)
	_, err := p.Match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad")
	fmt.Println(err)
	// Output: pattern ran out of time
}

func ExamplePattern_MustMatch() {
	p := pattern.MustCompile(pattern.Wildcard, "git *")
	fmt.Println(p.MayMatch("git $X"), p.MustMatch("git $X"), p.MustMatch("git"), p.MayMatch("ls"))
	// Output: true true false false
}
