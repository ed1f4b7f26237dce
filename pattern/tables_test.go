package pattern

import (
	"errors"
	"testing"
)

// TestTables holds flavours against recorded answers, and their shapes, too.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		file    string
		flavour Flavour
	}{
		{"fnmatch.jsonl.gz", Fnmatch},   // CPython 3.11
		{"wildcard.jsonl.gz", Wildcard}, // the original's rule, run by a JavaScript engine
		{"opencode.jsonl.gz", Wildcard}, // the original itself
	} {
		t.Run(c.file, func(t *testing.T) {
			n := 0
			eachRow(t, c.file, func(row [2]any) {
				p, err := Compile(c.flavour, row[0].(string))
				if err != nil {
					t.Errorf("%q: %v", row[0], err)
					return
				}
				n += checkAnswers(t, p, row[1].([]any))
			})
			t.Logf("%d answers", n)
		})
	}
}

// checkAnswers compares p with pairs of a text and 1 or 0.
func checkAnswers(t *testing.T, p *Pattern, pairs []any) int {
	t.Helper()
	for _, pair := range pairs {
		text, want := pair.([]any)[0].(string), pair.([]any)[1].(float64) != 0
		if got, err := p.Match(text); got != want || err != nil {
			t.Errorf("%s %q on %q: got %v %v, want %v", p.Flavour(), p, text, got, err, want)
		}
		checkShape(t, p, text, want)
		checkReach(t, p, text, want)
	}
	return len(pairs)
}

// TestBashTable holds the flavour against its rule run by CPython 3.11.
func TestBashTable(t *testing.T) {
	n, refused := 0, 0
	eachRow(t, "bash.jsonl.gz", func(row [3]any) {
		p, err := Compile(Bash, row[0].(string))
		if row[1] != nil {
			refused++
			var s *SyntaxError
			if !errors.As(err, &s) || s.Msg != row[1].(string) || s.Offset > len(row[0].(string)) {
				t.Errorf("%q: %v, python says %q", row[0], err, row[1])
			}
			return
		}
		if err != nil {
			t.Errorf("%q: %v", row[0], err)
			return
		}
		n += checkAnswers(t, p, row[2].([]any))
	})
	t.Logf("%d answers, %d refusals", n, refused)
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		pattern string
		equal   []string
		unequal []string
	}{
		{`1`, []string{`1`, `1.0`, ` 1 `, `10e-1`, `1E0`, `0.1e1`, `100e-2`}, []string{`-1`, `01`, `1.`, `.1e1`, `"1"`, `1 1`, ``, `true`, `1.00000000000000000000000000001`, `+1`}},
		{`0`, []string{`-0`, `0.0`, `0e99999999999999999999999`, `-0.000e-5`}, []string{`1e-400`, `00`, `-`, `0x0`}},
		{`1e400`, []string{`1E+400`, `10e399`, `0.001e403`}, []string{`1e401`, `1e399`}},
		{`1e99999999999999999999`, nil, []string{`1e99999999999999999999`, `1e99999999999999999998`}},
		{`123.456`, []string{`123.4560`, `1234.56e-1`, `0.123456e3`}, []string{`123456`, `12.3456`}},
		{`-120.50`, []string{`-120.5`, `-1205e-1`}, []string{`120.5`}},
		{`"a"`, []string{`"a"`, `"\u0061"`}, []string{`"b"`, `"a`, `a`, `"aa"`, `""`, "\"a\x01\"", `"\a"`, `"a" x`}},
		{`"é😀/"`, []string{`"\u00e9\ud83d\ude00\/"`, `"é😀/"`}, []string{`"e"`, `"\ud83d"`, "\"\xc3\""}},
		{`""`, []string{`""`}, []string{`"a"`, `null`}},
		{`null`, []string{`null`, "\n null\t"}, []string{`nul`, `nulll`, `"null"`, `false`}},
		{`[1,[2],{}]`, []string{`[1.0, [ 2 ] ,{ } ]`}, []string{`[1,[2]]`, `[1,[2],{},3]`, `[1,[2],{},]`, `[,1,[2],{}]`, `[1 [2],{}]`, `[1,[2],{}`, `[]`}},
		{`[]`, []string{`[]`, `[ ]`}, []string{`[1]`, `[`, `{}`}},
		{`{"a":1,"b":{"c":null}}`, []string{`{"b":{"c":null},"a":1e0}`, `{"\u0061" : 1 , "b":{"c":null}}`},
			[]string{`{"a":1}`, `{"a":1,"b":{"c":null},"d":1}`, `{"a":1,"a":1,"b":{"c":null}}`, `{"a":1,"b":{"c":null},"b":{"c":null}}`, `{"a":1,"\u0061":1}`, `{a:1}`, `{"a":1,"b":{"c":0}}`, `{"a":1,}`}},
		{`{}`, []string{`{}`, ` { } `}, []string{`{"a":1}`, `[]`, `{`}},
	} {
		p := MustCompile(JSON, c.pattern)
		for i, texts := range [][]string{c.equal, c.unequal} {
			for _, s := range texts {
				if got, err := p.Match(s); got != (i == 0) || err != nil {
					t.Errorf("%s and %s: got %v %v", c.pattern, s, got, err)
				}
			}
		}
	}
}

func TestJSONRefused(t *testing.T) {
	deep := ""
	for range 600 {
		deep += "["
	}
	for text, want := range map[string]SyntaxError{
		``:                {0, "a value is missing at the end of the document"},
		`  x`:             {2, `expected a value, found "x"`},
		`{"a":1,"a":2}`:   {7, `the key "a" stands twice in one object`},
		`{"a":1,"\u0061"`: {7, `the key "a" stands twice in one object`},
		`[1,]`:            {2, "a comma before ']' is not allowed in this file"},
		`[1`:              {2, "the document ends before the closing ']'"},
		`1 2`:             {2, "unexpected '2' after the end of the document"},
		`01`:              {0, `"01" is not a number`},
		`"a`:              {0, "the string is not closed"},
		`"\x"`:            {1, "unknown escape \\x"},
		`"\ud800"`:        {1, `\ud800 is half of a character (a lone surrogate)`},
		`tru`:             {0, `expected a value, found "tru"`},
		deep:              {501, "nested more than 500 levels deep"},
	} {
		_, err := Compile(JSON, text)
		var s *SyntaxError
		if !errors.As(err, &s) || *s != want {
			t.Errorf("%q: %v, want %v", text, err, &want)
		}
	}
}
