package pattern

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed retables.txt
var retablesText string

// The tables of CPython 3.11. Each is read when an expression first needs it.
var (
	pyWord  = sync.OnceValue(func() []span { return spanTable("word") })    // \w
	pyDigit = sync.OnceValue(func() []span { return spanTable("digit") })   // \d
	pySpace = sync.OnceValue(func() []span { return spanTable("space") })   // \s
	pyLower = sync.OnceValue(func() []shift { return shiftTable("lower") }) // what IGNORECASE turns into what
	pyUpper = sync.OnceValue(func() []shift { return shiftTable("upper") }) // the upper case of characters beyond the BMP
	pyExtra = sync.OnceValue(func() []span { return spanTable("extra") })   // pairs of lower-case characters that are one upper-case character
)

// tableNumbers returns the numbers of a line of retables.txt.
func tableNumbers(name string) []rune {
	_, line, _ := strings.Cut(retablesText, "\n"+name+" ")
	line, _, _ = strings.Cut(line, "\n")
	out := make([]rune, 0, strings.Count(line, " ")+1)
	for word := range strings.SplitSeq(line, " ") {
		n, err := strconv.ParseInt(word, 16, 32)
		if err != nil {
			panic("pattern: retables.txt: " + err.Error())
		}
		out = append(out, rune(n))
	}
	return out
}

func spanTable(name string) []span {
	n := tableNumbers(name)
	out := make([]span, len(n)/2)
	for i := range out {
		out[i] = span{n[2*i], n[2*i+1]}
	}
	return out
}

func shiftTable(name string) []shift {
	n := tableNumbers(name)
	out := make([]shift, len(n)/4)
	for i := range out {
		out[i] = shift{n[4*i], n[4*i+1], n[4*i+2], n[4*i+3]}
	}
	return out
}
