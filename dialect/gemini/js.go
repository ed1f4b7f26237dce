package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/pattern"
)

// A jsRegexp is a regular expression of JavaScript, without flags, as one of Python.
type jsRegexp struct {
	python string // the same expression
	why    string // the part that Python's cannot say; "" is none
	key    string // the argument that it is about, if it begins `"key":"`
	rest   string // the expression behind that, for the argument's text up to the end of all
	prefix string // of a commandPrefix: the words
}

// look returns the field and the pattern of a rule; a nil expression has none. A rule about
// one argument looks at that: the text of all arguments goes on behind a word that is only
// known at run time, so that a rule about all of it could apply or not.
func (re *jsRegexp) look(r *rule) (field string, t obstat.Text) {
	if re == nil || re.why != "" {
		return "", obstat.Text{}
	}
	field = fieldSeen
	if r.verdict == obstat.Allow {
		field = fieldArgs
	}
	if re.key != "" && slices.Contains(tables()["tools"], r.tool.Text) {
		return field + "." + re.key, obstat.Text{Flavour: pattern.Full, Text: "(?a)" + re.rest}
	}
	return field, re.search()
}

// search returns the pattern for all arguments.
func (re *jsRegexp) search() obstat.Text {
	return obstat.Text{Flavour: pattern.Search, Text: "(?a)" + re.python}
}

// prefixRegexp returns the expression of a commandPrefix: the command begins with it, and then
// comes a blank, a quote or the end.
func prefixRegexp(prefix string) *jsRegexp {
	text := jsonx.Quote(prefix)
	text = kit.Literal(text[1 : len(text)-1])
	return &jsRegexp{python: `"command":"` + text + `(?:[` + kit.JavaScriptSpaces + `"]|\\")`, key: "command",
		rest: text + `(?:(?:[` + kit.JavaScriptSpaces + `"]|\\")(?s:.*))?`, prefix: prefix}
}

// parseRegexp reads an expression.
func parseRegexp(src string) (*jsRegexp, *kit.JavaScriptError) {
	js, bad := kit.ReadJavaScript(src)
	if bad != nil {
		return nil, bad
	}
	re := &jsRegexp{python: js.Python, why: js.Cannot}
	if _, err := pattern.Compile(pattern.Search, "(?a)"+re.python); err != nil && re.why == "" {
		re.why = fmt.Sprintf("obstat cannot run this (%v)", err)
	}
	if key, rest, ok := aboutKey(src); ok && !js.Split && re.why == "" {
		re.key, re.rest = key, rest
	}
	return re, nil
}

// aboutKey splits an expression that begins with `"key":"`, perhaps behind a zero byte, and
// whose rest stays within that argument's text, but for a quote at the end.
func aboutKey(src string) (key, rest string, ok bool) {
	for _, zero := range []string{`\x00`, `\0`, `\u0000`} {
		src = strings.TrimPrefix(src, zero)
	}
	src, ok = strings.CutPrefix(src, `"`)
	key, src, cut := strings.Cut(src, `":"`)
	if !ok || !cut || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" || key == "" {
		return "", "", false
	}
	for _, zero := range []string{`"\x00`, `"\0`, `"\u0000`} {
		if body, is := strings.CutSuffix(src, zero); is {
			src = body + `"`
		}
	}
	body, closed := strings.CutSuffix(src, `"`)
	if closed && strings.HasSuffix(body, `\`) || leavesText(body) {
		return "", "", false
	}
	js, bad := kit.ReadJavaScript(body)
	if bad != nil || js.Cannot != "" {
		return "", "", false
	}
	if rest = js.Python; closed {
		return key, rest + `(?:"(?s:.*))?`, true
	}
	return key, rest + `(?s:.*)`, true
}

// leavesText tells whether an expression may match behind the end of an argument's text: it has a quote,
// a zero byte or `$`.
func leavesText(expr string) bool {
	return strings.Contains(strings.ReplaceAll(expr, `[^"]`, ""), `"`) || strings.ContainsAny(expr, "$\x00") ||
		strings.Contains(expr, `\x00`) || strings.Contains(expr, `\0`)
}
