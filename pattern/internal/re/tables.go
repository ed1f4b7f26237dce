package re

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables.txt
var tablesText string

// The tables of CPython 3.11. Each is read when an expression first needs it.
var (
	pyWord  = sync.OnceValue(func() []Span { return spanTable("word") })    // \w
	pyDigit = sync.OnceValue(func() []Span { return spanTable("digit") })   // \d
	pySpace = sync.OnceValue(func() []Span { return spanTable("space") })   // \s
	pyLower = sync.OnceValue(func() []shift { return shiftTable("lower") }) // the lower case of IGNORECASE
	pyUpper = sync.OnceValue(func() []shift { return shiftTable("upper") }) // the upper case of characters beyond the BMP
	pyExtra = sync.OnceValue(func() []Span { return spanTable("extra") })   // pairs of lower cases with one upper case
)

// tableNumbers returns the numbers of a line of tables.txt.
func tableNumbers(name string) []rune {
	_, line, _ := strings.Cut(tablesText, "\n"+name+" ")
	line, _, _ = strings.Cut(line, "\n")
	out := make([]rune, 0, strings.Count(line, " ")+1)
	for word := range strings.SplitSeq(line, " ") {
		n, err := strconv.ParseInt(word, 16, 32)
		if err != nil {
			panic("re: tables.txt: " + err.Error())
		}
		out = append(out, rune(n))
	}
	return out
}

func spanTable(name string) []Span {
	n := tableNumbers(name)
	out := make([]Span, len(n)/2)
	for i := range out {
		out[i] = Span{n[2*i], n[2*i+1]}
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
