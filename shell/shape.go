package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shapeOf returns the text of a known word, and the shape of another.
func shapeOf(w Word) string {
	if w.Known {
		return w.Text
	}
	return w.Shape()
}

// printedShape returns the shape of $(echo text), $(printf text) and of commands that print one word, where all of it is
// plain, and why the word is not known.
func (w *walker) printedShape(p *syntax.CmdSubst) (why, shape string) {
	why, shape = "command substitution", Unknown
	args := plainCommand(p)
	if len(args) == 0 {
		if text, ok := decodedIn(p); ok {
			return why, text
		}
		return why, shape
	}
	if text, ok := printed(args); ok && !w.out.Redefines(args[0]) {
		return whyPrinted + args[0], text
	}
	switch {
	case known().kind(args) == printsHere:
		return why, here
	case len(args) < 2:
		return why, shape
	}
	text, ok := "", false
	switch args[0] {
	case "echo":
		text, ok = echoed(args[1:])
	case "printf":
		text, ok = formatted(args[1:])
	}
	if text = strings.TrimRight(text, "\n"); !ok || text == "" || len(text) > maxValue {
		return why, shape
	}
	return why, text
}

// plainCommand returns the words of a substitution that is one simple command of plain text, nil for any other.
func plainCommand(p *syntax.CmdSubst) []string {
	if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 || p.Stmts[0].Negated || p.Stmts[0].Background {
		return nil
	}
	call, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	return plainArgs(call)
}

// plainArgs returns the words of a simple command that are all plain text, nil if one is not.
func plainArgs(call *syntax.CallExpr) []string {
	if len(call.Assigns) > 0 || len(call.Args) == 0 || len(call.Args) > maxPrinted {
		return nil
	}
	args := make([]string, len(call.Args))
	for i, a := range call.Args {
		var ok bool
		if args[i], ok = textOf(a); !ok && !isPattern(a) {
			return nil
		}
	}
	return args
}

// whyName begins the reason of a word that is a file's name, which a pattern has found.
const whyName = "a file name in variable "

// IsName reports whether a word is a file's name that a loop over a pattern has put into a variable.
func IsName(w *Word) bool { return strings.HasPrefix(w.Why, whyName) }

// here is the shape of the directory that the command is in.
const here = "."

// isPattern tells whether a word is one that the shell looks for files with.
func isPattern(sw *syntax.Word) bool {
	lit, ok := sw.Parts[0].(*syntax.Lit)
	return ok && len(sw.Parts) == 1 && !strings.ContainsAny(lit.Value, "\\~{$")
}

// maxPrinted is how many words of echo and printf are looked at.
const maxPrinted = 64

func echoed(args []string) (text string, ok bool) {
	escapes := false
	for len(args) > 0 && (args[0] == "-n" || args[0] == "-e" || args[0] == "-ne" || args[0] == "-en") {
		escapes = escapes || args[0] != "-n"
		args = args[1:]
	}
	if text = strings.Join(args, " "); escapes {
		return ansiC(strings.ReplaceAll(text, `\0`, `\`))
	}
	return text, true
}

// formatted returns the output of printf; it knows of strings only.
func formatted(args []string) (text string, ok bool) {
	if args[0] == "--" && len(args) > 1 {
		args = args[1:]
	}
	format, ok := ansiC(args[0])
	if !ok || strings.HasPrefix(format, "-") {
		return "", false
	}
	var b strings.Builder
	for rest := args[1:]; ; {
		before := len(rest)
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			if i++; i == len(format) {
				return "", false
			}
			arg := ""
			switch format[i] {
			case '%':
				b.WriteByte('%')
				continue
			case 's', 'b':
				if len(rest) > 0 {
					arg, rest = rest[0], rest[1:]
				}
			default:
				return "", false
			}
			if format[i] == 'b' {
				arg, ok = ansiC(strings.ReplaceAll(arg, `\0`, `\`))
			}
			b.WriteString(arg)
		}
		if len(rest) == 0 || len(rest) == before || b.Len() > maxValue {
			return b.String(), ok
		}
	}
}

// changed returns the shape of ${x%y}, ${x/y/z}, ${x:1:2} and their relatives, where x is known
// and the rest is plain text.
func changed(v variable, p *syntax.ParamExp) string {
	if v.state != varKnown || v.glob || v.tilde {
		return Unknown
	}
	switch {
	case p.Slice != nil:
		return sliced(v.text, p.Slice)
	case p.Repl != nil:
		from, ok := textOf(p.Repl.Orig)
		to, ok2 := textOf(p.Repl.With)
		if !ok || !ok2 || from == "" || strings.ContainsAny(from[:1], "#%") || len(v.text)*(len(to)+1) > maxValue {
			return Unknown
		}
		if p.Repl.All {
			return strings.ReplaceAll(v.text, from, to)
		}
		return strings.Replace(v.text, from, to, 1)
	case p.Exp == nil:
		return Unknown
	}
	cut, ok := textOf(p.Exp.Word)
	if !ok {
		return cutShort(v.text, cut, p.Exp.Op)
	}
	switch p.Exp.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return strings.TrimSuffix(v.text, cut)
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return strings.TrimPrefix(v.text, cut)
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return strings.ToLower(v.text) // shapes are compared without regard to case
	}
	return Unknown
}

// changedName is ${x%.js} and ${x##*/} of a file's name that a pattern has found: the rest of the pattern.
func changedName(pattern string, p *syntax.ParamExp) (string, bool) {
	open := strings.LastIndexAny(pattern, "*?[]")
	cut, plain := textOf(p.Exp.Word)
	switch {
	case p.Exp.Op == syntax.RemSmallSuffix && plain && cut != "" && strings.HasSuffix(pattern[open+1:], cut):
		return pattern[:len(pattern)-len(cut)], true
	case p.Exp.Op == syntax.RemSmallSuffix && cut == ".*" && strings.Contains(pattern[open+1:], "."):
		return pattern[:strings.LastIndexByte(pattern, '.')], true
	case p.Exp.Op == syntax.RemLargePrefix && cut == "*/" && !strings.ContainsAny(pattern, "[{"):
		return pattern[strings.LastIndexByte(pattern, '/')+1:], true
	}
	return "", false
}

// cutShort is ${x%.*}, ${x##*/} and their relatives: a star and a text.
func cutShort(s, pattern string, op syntax.ParExpOperator) string {
	mark, at := strings.Trim(pattern, "*"), -1
	if mark == "" || !plainLit(mark) {
		return Unknown
	}
	switch op {
	case syntax.RemSmallSuffix, syntax.RemLargePrefix:
		at = strings.LastIndex(s, mark)
	case syntax.RemLargeSuffix, syntax.RemSmallPrefix:
		at = strings.Index(s, mark)
	}
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
	switch {
	case at < 0:
		return s
	case suffix && strings.HasPrefix(pattern, mark):
		return s[:at]
	case !suffix && strings.HasSuffix(pattern, mark):
		return s[at+len(mark):]
	}
	return Unknown
}

// textOf returns the text of a word that is nothing but that; no word is none.
func textOf(sw *syntax.Word) (string, bool) {
	if sw == nil || len(sw.Parts) == 0 {
		return "", true
	}
	if len(sw.Parts) != 1 {
		return "", false
	}
	switch p := sw.Parts[0].(type) {
	case *syntax.Lit:
		return unescape(p.Value), plainLit(unescape(p.Value))
	case *syntax.SglQuoted:
		if p.Dollar {
			return ansiC(p.Value)
		}
		return p.Value, true
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			return "", true
		}
		if lit, ok := p.Parts[0].(*syntax.Lit); ok && len(p.Parts) == 1 && !p.Dollar {
			return unescapeDouble(lit.Value, "\""), true
		}
	}
	return "", false
}

func sliced(s string, p *syntax.Slice) string {
	from, ok := plainNumber(p.Offset, 0)
	n, ok2 := plainNumber(p.Length, len(s))
	if !ok || !ok2 || from > len(s) {
		return Unknown
	}
	return s[from:min(len(s), from+n)]
}

func plainNumber(x syntax.ArithmExpr, none int) (int, bool) {
	if x == nil {
		return none, true
	}
	word, ok := x.(*syntax.Word)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(word.Lit())
	return n, err == nil && n >= 0 && n <= maxValue
}

// printsInto gives the variable of printf -v its shape.
func (w *walker) printsInto(name string, args []Word) {
	if len(args) == 0 || len(args) > maxPrinted || !validName(name) {
		return
	}
	texts := make([]string, len(args))
	for i := range args {
		if !args[i].Known {
			return
		}
		texts[i] = args[i].Text
	}
	if text, ok := formatted(texts); ok && text != "" {
		v := w.env.get(name)
		v.shape = text
		w.env.set(name, v)
	}
}
