package left

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

var (
	echoes  = kb.Table("!echoes")
	formats = kb.Table("!formats")
	passes  = kb.Table("!passes")
)

// Prints reports whether a program prints its words: echo, printf.
func Prints(program string) bool { return echoes().Has(program) || formats().Has(program) }

// Passes reports whether a program passes its input on: cat, tee.
func Passes(program string) bool { return passes().Has(program) }

// ReadsFrom reports whether a redirection says where a command's input comes from.
func ReadsFrom(c *shell.Command) bool {
	return slices.ContainsFunc(c.Redirects, func(r shell.Redirect) bool { return strings.HasPrefix(r.Op, "<") })
}

// Input returns the literal text that the command at a place of a script reads.
func Input(s *shell.Script, at int) (shell.Word, bool) {
	if s == nil || at >= len(s.Commands) {
		return shell.Word{}, false
	}
	from := &s.Commands[at]
	for i := len(from.Redirects) - 1; i >= 0; i-- {
		r := &from.Redirects[i]
		if r.Body != nil && (r.Fd == "" || r.Fd == "0") {
			return *r.Body, r.Body.Known
		}
		if strings.HasPrefix(r.Op, "<") {
			return shell.Word{}, false
		}
	}
	if from.Stdin < 0 || from.Stdin >= len(s.Commands) || from.Nest&shell.MixedStdin != 0 {
		return shell.Word{}, false // `(echo a; echo b) | xargs env`
	}
	words := s.Commands[from.Stdin].Words
	if len(words) == 1 && from.Stdin < at && Passes(words[0].Text) && !s.Redefines(words[0].Text) {
		return Input(s, from.Stdin) // `cat <<E | git apply`
	}
	return printed(words)
}

// printed is the output of a plain echo or printf of literal words.
func printed(words []shell.Word) (shell.Word, bool) {
	if len(words) < 2 || !words[0].Known {
		return shell.Word{}, false
	}
	switch name := words[0].Text; {
	case echoes().Has(name):
		if words[1].Text == "-n" {
			words = words[1:]
		}
	case formats().Has(name):
		if len(words) > 2 && (words[1].Text == "%s" || words[1].Text == `%s\n`) {
			words = words[1:]
		}
		if len(words) != 2 || strings.ContainsRune(words[1].Text, '%') {
			return shell.Word{}, false
		}
	default:
		return shell.Word{}, false
	}
	return joined(words[1:])
}

// joined puts words together with blanks; it is known if all of them are.
func joined(words []shell.Word) (shell.Word, bool) {
	var b strings.Builder
	known := true
	for i := range words {
		text := words[i].Text
		if !words[i].Known {
			known, text = false, words[i].Shape()
		}
		if text == "" || words[i].Glob || strings.HasPrefix(text, "-") || strings.ContainsRune(text, '\\') {
			return shell.Word{}, false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	if len(words) == 0 {
		return shell.Word{}, true
	}
	if !known {
		return shell.Word{Span: words[0].Span}.WithShape(b.String()), false
	}
	return shell.Word{Text: b.String(), Known: true, Span: words[0].Span}, true
}

// unescape replaces the commonest escapes as printf, and some echo, do.
var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// Printed returns the text that echo or printf writes, with the ends of the lines.
func Printed(words []shell.Word) (string, bool) {
	if w, ok := printed(words); ok {
		if echoes().Has(words[0].Text) && words[1].Text != "-n" || words[1].Text == `%s\n` {
			return w.Text + "\n", true
		}
		return w.Text, true
	}
	if len(words) != 2 || !formats().Has(words[0].Text) || !words[1].Known {
		return "", false
	}
	text := unescape.Replace(words[1].Text)
	return text, !strings.ContainsAny(text, `\%`)
}

// Literal joins words as they are written, one a line.
func Literal(words []shell.Word) string {
	var b strings.Builder
	for i := range words {
		b.WriteString(words[i].Text)
		b.WriteByte('\n')
	}
	return unescape.Replace(b.String())
}
