package jiuwen

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/pattern"
)

// The subjects that the patterns of rules look at.
const (
	fieldCommand   = "command"    // the command, stripped; plain text and wildcards
	fieldCommandRE = "command.re" // the same for re:, and once more with \ as /
	fieldPath      = "path"       // a path argument and the directories above it, \ as /
	fieldPathRE    = "path.re"    // a path argument for re:, \ as /
	fieldArgs      = "args"       // legacy: each text argument, and all of them as Python prints them
	fieldEffect    = "effect"     // the effects of a command, a line for each
	fieldTrusted   = "trusted"    // a directory of add-dir that holds all that a command touches
)

// class are the characters that * and ? of a wildcard take in the original: letters, digits, blank and a
// few marks, and nothing else. `rm *` does not match `rm a=b` there. The backslash stands
// for the slash that it is read as.
const class = `[-a-zA-Z0-9 ._/\\:"']`

// anything are those that they take in the document, which calls them a glob.
const anything = `[\s\S]`

// special are the characters of a wildcard that are escaped.
const special = `.+^$(){}|[]`

// wildcard translates a wildcard to a Python expression: bare as the original reads it,
// else as the glob of the document, in which `rm *` is about `rm a=b` and `pip* install *`
// about `pip3 install x`. A pattern that ends in " *" also matches without the
// blank and all behind it, and then (an oddity of the original) every other * repeats the character
// before it: `a * *` is "a", blanks, and perhaps more; `* *` is no expression and matches
// nothing.
func wildcard(p string, bare bool) string {
	class := class
	if !bare {
		class = anything
	}
	body, tail := slashes(p), ""
	odd := strings.HasSuffix(body, " *")
	if odd {
		body, tail = body[:len(body)-2], "( "+class+"*)?"
	}
	odd = odd && bare
	var b strings.Builder
	b.WriteByte('^')
	for _, r := range body {
		switch {
		case r == '*' && odd:
			b.WriteByte('*')
		case r == '*':
			b.WriteString(class + "*")
		case r == '?':
			b.WriteString(class)
		case r == '/':
			b.WriteString(`[/\\]`)
		case strings.ContainsRune(special, r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + tail + "$"
}

func search(expr string) obstat.Text { return obstat.Text{Flavour: pattern.Search, Text: expr} }

// expression returns the expression of a pattern that starts with re:.
func expression(p string) (string, bool) {
	if len(p) < 3 || !strings.EqualFold(p[:3], "re:") {
		return "", false
	}
	return pytext.Strip(p[3:]), true
}

// commandPattern returns the field and the pattern of a shell rule: a plain text is compared, a text with * ? or [ is a
// wildcard, re: is a Python expression that is searched for.
func commandPattern(p string, bare bool) (field string, t obstat.Text) {
	if expr, ok := expression(p); ok {
		return fieldCommandRE, search(expr)
	}
	if strings.ContainsAny(p, "*?[") {
		return fieldCommand, search(wildcard(p, bare))
	}
	return fieldCommand, obstat.Is(p)
}

// pathPattern does the same for the pattern of a path rule. A plain text
// matches the path itself and everything below it, since the directories above
// a path are subjects, too.
func pathPattern(p string, bare bool) (field string, t obstat.Text) {
	if expr, ok := expression(p); ok {
		return fieldPathRE, search(expr)
	}
	if strings.ContainsAny(p, "*?") {
		return fieldPath, search(wildcard(p, bare))
	}
	return fieldPath, obstat.Is(slashes(p))
}

// alternatives are the parts that the original makes of a broken expression of a shell
// rule: those between bars, those of them that are expressions.
func alternatives(expr string) []string {
	if !strings.Contains(expr, "|") {
		return nil
	}
	var out []string
	for part := range strings.SplitSeq(expr, "|") {
		part = pytext.Strip(part)
		if _, err := pattern.Compile(pattern.Search, part); err == nil {
			out = append(out, part)
		}
	}
	return out
}
