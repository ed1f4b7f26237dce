package convert

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// An expression reads the regular expressions that people and dialects write, as the globs that they stand for:
// `^git\s+(push|pull)\b` as `git push *` and `git pull *`.
type expression struct {
	// less: the globs stand for no more than the expression, so that an allow rule stays as narrow as it is. Without it
	// they may stand for more, and a denial stays as wide.
	less bool
	wide bool // there is a wildcard
}

func isExpression(t obstat.Text) bool {
	return t.Flavour == pattern.Full || t.Flavour == pattern.Search
}

// maxGlobs bounds how many globs an expression stands for.
const maxGlobs = 64

const (
	// geminiRest is the end of a commandPrefix of Gemini CLI: a blank and anything.
	geminiRest = `(?:(?:[\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"]|\\")(?s:.*))?`
	// scriptBlank is `\s` as JavaScript has it.
	scriptBlank = `[\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]`
	// markedChars are not in what a rule about one command covers, or end the text that an expression sees.
	markedChars = ";|&<>$`()\n\r\"'\\"
)

// pieces are the parts of expressions that stand for wildcards, with the glob of each; the longer of two
// stands first.
var pieces = [...][2]string{
	{geminiRest, " *"}, {"(?:__.*)?", "__*"}, {"(?: .*)?", " *"},
	{`( [\s\S]*)?`, " *"}, {"( [-a-zA-Z0-9 ._/\\\\:\"']*)?", " *"}, // JiuwenSwarm's
	{`(?![\w.-])`, " *"}, // Copilot's, for files
	{`(\s|$)`, " *"}, {`(?:\s|$)`, " *"}, {`(\ |\Z)`, " *"}, {`( |$)`, " *"}, {`(?: |$)`, " *"},
	{`[\s\S]*`, "**"}, {`[/\\]`, "/"}, {"(?:/.*)?", ""}, {"(?:.*/)?", "**/"}, {`[^/\x00]*`, "*"}, {"[^/]*", "*"},
	{`(?:[^.]+\.)+`, "*."}, // VS Code's, for hosts
	{`(?s:.*)`, "**"}, {`[^\n\r\u2028\u2029]*`, "**"}, {".*", "**"}, {".+", "**"},
}

// expressionGlobs returns the globs of an expression; exact says that there is no wildcard in them.
func expressionGlobs(t obstat.Text, less bool) (out []string, exact, ok bool) {
	x := expression{less: less}
	text := strings.TrimPrefix(strings.TrimPrefix(t.Text, "(?s)"), "(?a)")
	if !less {
		text = strings.TrimPrefix(text, "(?i)") // PowerShell's, as rules that deny or ask see its texts
	}
	for _, alt := range split(strings.ReplaceAll(text, scriptBlank, `\s`)) {
		begun, ended := t.Flavour == pattern.Full, t.Flavour == pattern.Full
		if rest, is := strings.CutPrefix(alt, "^"); is {
			alt, begun = rest, true
		}
		for _, end := range []string{"$", `\Z`} { // Python's, of a JavaScript expression
			if rest, is := strings.CutSuffix(alt, end); is && !strings.HasSuffix(rest, `\`) {
				alt, ended = rest, true
			}
		}
		globs, ok := x.sequence(alt)
		if !ok {
			return nil, false, false
		}
		for _, g := range globs {
			if !begun {
				g, x.wide = "*"+g, true
			}
			if !ended {
				g, x.wide = g+"*", true
			}
			for strings.Contains(g, "***") {
				g = strings.ReplaceAll(g, "***", "**")
			}
			out = append(out, g)
		}
	}
	out = x.needed(out)
	return out, !x.wide, len(out) <= maxGlobs
}

// needed returns the globs that say more than others: `make *` says `make` and `make * x`. Where they may stand for
// less, those with an operator are left out beside others: a rule for a command does not cover them.
func (x *expression) needed(globs []string) (out []string) {
	for i, g := range globs {
		said := false
		for j, o := range globs {
			begin := strings.TrimRight(o, "*")
			alike := begin == strings.TrimRight(g, "*")
			said = said || strings.HasPrefix(g+" ", begin) && strings.HasSuffix(begin, " ") && begin != o && (!alike || j < i)
		}
		if !said && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	plain := slices.DeleteFunc(slices.Clone(out), func(g string) bool { return strings.ContainsAny(g, ";|&<>") })
	if x.less && len(plain) > 0 {
		return plain
	}
	return out
}

// split cuts an expression at the `|` that are in no group.
func split(text string) (out []string) {
	from := 0
	for i := 0; i < len(text); i += sizeOf(text[i:]) {
		if text[i] == '|' {
			out, from = append(out, text[from:i]), i+1
		}
	}
	return append(out, text[from:])
}

// sizeOf returns how long the group, class, escaped character or other character is that a text begins with.
func sizeOf(text string) int {
	at := 1
	switch text[0] {
	case '\\':
		return min(2, len(text))
	case '[':
		at += len(text[at:]) - len(strings.TrimPrefix(text[at:], "^"))
		at += len(text[at:]) - len(strings.TrimPrefix(text[at:], "]")) // the first is a character
		for at < len(text) && text[at] != ']' {
			at += 1 + strings.Count(text[at:at+1], `\`)
		}
	case '(':
		for at < len(text) && text[at] != ')' {
			at += sizeOf(text[at:])
		}
	default:
		return 1
	}
	return min(at+1, len(text))
}

// sequence reads pieces that stand behind one another.
func (x *expression) sequence(text string) (out []string, ok bool) {
	out = []string{""}
	for text != "" {
		alts, rest, ok := x.piece(text)
		if !ok || len(alts)*len(out) > maxGlobs {
			return nil, false
		}
		var all []string
		for _, o := range out {
			for _, a := range alts {
				all = append(all, o+a)
			}
		}
		out, text = all, rest
	}
	return out, true
}

// piece reads the first piece of a text.
func (x *expression) piece(text string) (alts []string, rest string, ok bool) {
	if glob, rest, is := wildcard(text); is {
		x.wide = true
		return []string{glob}, rest, true
	}
	if rest, is := strings.CutPrefix(text, `\b`); is {
		return x.boundary(rest)
	}
	size := sizeOf(text)
	unit, rest := text[:size], text[size:]
	optional, many := false, false
	if rest != "" {
		optional, many = rest[0] == '?' || rest[0] == '*', rest[0] == '*' || rest[0] == '+'
	}
	if optional || many {
		rest = rest[1:]
	}
	switch {
	case unit == `\s`: // several are shown as one
		alts, ok = []string{" "}, true
	case unit[0] == '(':
		alts, ok = x.group(unit)
		ok = ok && !many
	case unit[0] == '[':
		return x.class(unit, rest, optional, many)
	case unit == ".", len(unit) == 2 && strings.Contains("dwSDWs", unit[1:]):
		x.wide = true
		return []string{"*"}, rest, !x.less
	case unit == `\*`:
		alts, ok = []string{unit}, !many // a star by the letter
	case unit[0] == '\\' && len(unit) == 2 && !isWord(unit[1]):
		alts, ok = []string{unit[1:]}, !many
	case strings.Contains(`*+?]{}|^$)\`, unit[:1]):
	default:
		alts, ok = []string{unit}, !many
	}
	switch {
	case optional && !ok && x.less:
		return []string{""}, rest, true
	case optional && ok:
		alts = append([]string{""}, alts...)
	}
	return alts, rest, ok
}

// wildcard cuts a piece that stands for a wildcard from a text.
func wildcard(text string) (glob, rest string, ok bool) {
	for _, p := range pieces {
		if rest, is := strings.CutPrefix(text, p[0]); is {
			return p[1], strings.TrimPrefix(rest, "?"), true // `.*?` is shorter, and means the same here
		}
	}
	return "", text, false
}

// boundary reads what stands behind a `\b`: at the end of a command any arguments, or none.
func (x *expression) boundary(rest string) (alts []string, behind string, ok bool) {
	if glob, behind, is := wildcard(rest); rest == "" || is && strings.Trim(glob, "*") == "" {
		x.wide = true
		return []string{" *"}, behind, true
	}
	blank := strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, `\ `) || strings.HasPrefix(rest, `\s`)
	return []string{""}, rest, blank || !x.less
}

// group reads the alternatives of a group.
func (x *expression) group(unit string) (out []string, ok bool) {
	inner := strings.TrimPrefix(strings.TrimSuffix(unit[1:], ")"), "?:")
	if strings.HasPrefix(inner, "?") {
		return nil, false
	}
	wide := x.wide
	for _, alt := range split(inner) {
		globs, ok := x.sequence(alt)
		if !ok {
			x.wide = wide
			return nil, false
		}
		out = append(out, globs...)
	}
	return out, true
}

// class reads a class of characters: `[fF]` as both, `[^"]*` as anything.
func (x *expression) class(unit, rest string, optional, many bool) (alts []string, behind string, ok bool) {
	inner := strings.TrimSuffix(unit[1:], "]")
	chars := strings.ReplaceAll(strings.TrimPrefix(inner, "^"), `\`, "")
	x.wide = x.wide || many
	switch negated := inner != "" && inner[0] == '^'; {
	case negated && many && (!x.less || strings.Trim(chars, markedChars) == ""):
		return []string{"**"}, rest, true
	case negated || many:
		x.wide = true
		return []string{"*"}, rest, !x.less
	case strings.Contains(strings.Trim(chars, "-"), "-") || len(chars) > 4 || !isASCII(chars) || classes.MatchString(inner):
		x.wide = true
		return []string{"*"}, rest, !x.less
	}
	for _, c := range chars {
		alts = append(alts, string(c))
	}
	if optional {
		alts = append(alts, "")
	}
	return alts, rest, true
}

// classes are those of characters behind a backslash, `\w`.
var classes = regexp.MustCompile(`\\\w`)

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= unicode.MaxASCII })
}

// isWord tells whether a character behind a backslash may mean something else than itself.
func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}
