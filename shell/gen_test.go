package shell_test

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// source of choices: a random generator, or rapid.
type chooser interface{ Intn(n int) int }

// generator writes random scripts whose programs are all called p1, p2, ..., which
// succeed, or n1, n2, ..., which fail.
type generator struct {
	c     chooser
	depth int
	funcs int
}

func (g *generator) pick(list ...string) string { return list[g.c.Intn(len(list))] }

func (g *generator) script() string {
	var b strings.Builder
	for i := g.c.Intn(4); i >= 0; i-- {
		b.WriteString(g.command())
		if i > 0 {
			b.WriteString(g.pick("; ", "\n", "\n", ";", " && ", " || ", " | ", " & ", "\n# it's \"`$(\n", " # '\n", ";# \\\n", " |& "))
		}
	}
	return b.String()
}

// inner is a script one level down.
func (g *generator) inner() string {
	if g.depth > 3 {
		return g.program()
	}
	g.depth++
	s := g.script()
	g.depth--
	return s
}

func (g *generator) program() string {
	n := g.c.Intn(9) + 1
	switch g.c.Intn(14) {
	case 0:
		return fmt.Sprintf("'p'%d", n)
	case 1:
		return fmt.Sprintf("p\"%d\"", n)
	case 2:
		return fmt.Sprintf("\\p%d", n)
	case 3:
		return fmt.Sprintf("$'p%d'", n)
	case 4:
		return fmt.Sprintf("$'\\x70%d'", n)
	case 5:
		return fmt.Sprintf("p\\\n%d", n)
	case 6:
		return fmt.Sprintf("{p%d,%s}", n, g.pick("a", "'b c'", "\"\"", "$x"))
	case 7:
		return fmt.Sprintf("n%d", n)
	}
	return fmt.Sprintf("p%d", n)
}

func (g *generator) simple() string {
	var b strings.Builder
	if g.c.Intn(8) == 0 {
		b.WriteString(g.pick("x", "y", "A") + "=" + g.word() + " ")
	}
	if g.c.Intn(12) == 0 {
		b.WriteString(g.redirect() + " ")
	}
	b.WriteString(g.program())
	for i := g.c.Intn(4); i > 0; i-- {
		b.WriteString(g.pick(" ", "  ", "\t", " \\\n"))
		b.WriteString(g.word())
	}
	for g.c.Intn(5) == 0 {
		b.WriteString(" " + g.redirect())
	}
	return b.String()
}

func (g *generator) redirect() string {
	return g.pick(">f1", ">>f1", "2>&1", "</dev/null", "2>/dev/null", "<<<"+g.word(), "<<< "+g.word(), "&>f1", ">|f1", "3<>f1", "1>&2", ">&2")
}

// junk is text that would be code if it were not quoted.
func (g *generator) junk(without string) string {
	var b strings.Builder
	for i := g.c.Intn(6); i >= 0; i-- {
		s := g.pick("a", " ", ";p8", "|p8", "'", "\"", "`", "$(", ")", "(", "}", "{", "#", "\n", "\\", "&", "<<E", "E", "$x", "[", "]", "~", "*", "!", "p8", ">", "<", "=", "é")
		if !strings.ContainsAny(s, without) {
			b.WriteString(s)
		}
	}
	return b.String()
}

func (g *generator) word() string {
	var b strings.Builder
	for i := g.c.Intn(3); i >= 0; i-- {
		b.WriteString(g.part())
	}
	return b.String()
}

func (g *generator) part() string {
	switch g.c.Intn(24) {
	case 0:
		return "'" + g.junk("'") + "'"
	case 1:
		return "\"" + g.junk("\"`$\\") + "\""
	case 2:
		return "\"" + g.quoted() + g.quoted() + "\""
	case 3:
		return "$x"
	case 4:
		return "${x}"
	case 5:
		return "${x" + g.pick(":-", "-", ":+", "+", ":=", "#", "%", "##", "/", "//", "^^") + g.defaultWord() + "}"
	case 6:
		return "$(" + g.inner() + g.pick("", "\n", " ") + ")"
	case 7:
		return "`" + g.backquoted() + "`"
	case 8:
		return "$((" + g.arith() + "))"
	case 9:
		return "{" + g.pick("a", "b", "'c'", "$x") + "," + g.pick("d", "", "\"e\"") + "}"
	case 10:
		return "{" + g.pick("1..3", "a..c", "3..1", "01..3", "1..5..2", "a..", "1..b") + "}"
	case 11:
		return "\\" + g.pick("'", "\"", "`", "$", " ", ";", "\\", "*", "#", "\n", "(", "a")
	case 12:
		return "$'" + g.pick("a\\'b", "\\x41", "\\101", "\\n", "\\\\", "\\u0041", "\\cA", "a\"b") + "'"
	case 13:
		return g.pick("*", "?", "[a]", "~", "~/a", "a=~", "#", "a#", "!", "%", "@", "=", "+", ":", "^", ",")
	case 14:
		return "<(" + g.inner() + ")"
	case 15:
		return g.pick("$1", "$@", "\"$@\"", "$#", "$?", "${#x}", "$$", "\"$*\"", "${x[0]}", "\"${x[@]}\"", "${!x}", "${x:0:1}")
	}
	return g.pick("a", "b", "-c", "d1", "e.f", "g/h", "1", "--i=j", "é")
}

func (g *generator) defaultWord() string {
	return g.pick("a", "p7", "", "'q r'", "\"s t\"", "u v", "$y", "\\}", "'}'", "\"}\"", "$(p8)")
}

// quoted is a part of a double-quoted string.
func (g *generator) quoted() string {
	switch g.c.Intn(9) {
	case 0:
		return "$(" + g.inner() + ")"
	case 1:
		return "`" + g.backquoted() + "`"
	case 2:
		return "${x:-" + g.pick("a", "b c", "\"d\"", "$y", "$(p6)", "\\}", "'e'", "'") + "}"
	case 3:
		return "$x"
	case 4:
		return "\\" + g.pick("\"", "$", "`", "\\", "a", "\n", "'")
	case 5:
		return "$((" + g.arith() + "))"
	}
	return g.junk("\"`$\\")
}

func (g *generator) backquoted() string {
	s := g.inner()
	if strings.ContainsAny(s, "`\\$\"'") {
		return "p5 a"
	}
	return s
}

func (g *generator) arith() string {
	return g.pick("1", "x", "x+1", "y=2", "a[1]", "(2)", "$x", "${x:-1}", "$(p4)", "a[$(p4)]", "x++", "1?2:3", "\"1\"", "x<<1", "1 , 2")
}

func (g *generator) heredoc() string {
	delim := g.pick("E", "'E'", "\"E\"", "\\E", "E'F'", "'E F'", "\"a\\\"b\"")
	end := strings.NewReplacer("'", "", "\"", "", "\\", "").Replace(delim)
	if delim == "\"a\\\"b\"" {
		end = "a\"b"
	}
	op := g.pick("<<", "<< ", "<<-")
	tab := ""
	if op == "<<-" {
		tab = g.pick("\t", "", "\t\t")
	}
	body := ""
	for i := g.c.Intn(3); i > 0; i-- {
		body += tab + g.pick(g.junk("`$\\"), g.quoted(), "$x"+end, "${x}"+end, end+" ", " "+end, "\\", "a\\", "$(p3 a)", "`p3 b`") + "\n"
	}
	return g.simple() + " " + op + delim + g.pick("", "; p2 b", " && p2 c", " | p2 d", " >f1") + "\n" + body + tab + end + "\n" + g.simple()
}

func (g *generator) command() string {
	if g.depth > 3 {
		return g.simple()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.c.Intn(40) {
	case 30:
		return g.pick("f()", "f ()", "function f", "function g()", "p3()") + g.pick(" ", "\n") + g.pick("{ "+g.inner()+"\n}", "("+g.inner()+")", "if n1; then "+g.inner()+"\nfi") + g.pick("", " >f1")
	case 31:
		return "until p1; do " + g.inner() + "\ndone" + g.pick("", " <f1", " | p1", " && p2 a")
	case 32:
		return "for ((z=0; z<2; z++)); do " + g.inner() + "\ndone"
	case 33:
		return "case " + g.pick("a", "b", "$x") + " in (a) " + g.inner() + "\n;;&\n*|b) " + g.inner() + "\nesac" + g.pick("", " >f1", " && p3")
	case 34:
		return "coproc " + g.pick("{ "+g.inner()+"\n}", "N { "+g.inner()+"\n}", g.program()+" a", "("+g.inner()+")") + g.pick("", " >f1", " | p4")
	case 35:
		return g.simple() + " < <(" + g.inner() + ")" + g.pick("", " > >("+g.inner()+")")
	case 36:
		return "time " + g.pick("-p ", "") + g.simple() + " | " + g.simple()
	case 37:
		return "! " + g.simple() + g.pick(" | ", " && ", " || ") + g.simple()
	case 38:
		return g.pick("printf -v x p1", "printf -v x '%s' p1", "mapfile x <<< p1", "x=$(<f1)", "IFS=,", "x=a,p1", "exec 3<f1", "declare -a x=(p1 b)", "declare -A x=([a]=p1)", "x[0]=p2", "readonly y=p1", "x=p1 y=$x") + "; $x " + g.word()
	case 39:
		return "f() { " + g.pick("local x=p1", "x=p1", "return", "local x", "shift", "cd d1", "set -- p1", "f() { p2; }", "unset -f f") + "; " + g.inner() + "\n}; f " + g.word() + "; $x a"
	case 0:
		return "{ " + g.inner() + g.pick("; }", "\n}") + g.pick("", "", " >f1", " <<<a", " 2>&1")
	case 1:
		return "(" + g.inner() + g.pick(")", "\n)") + g.pick("", " >f1")
	case 2:
		return "if " + g.inner() + g.pick("; ", "\n") + "then " + g.inner() + g.pick("\nfi", "\nelse "+g.inner()+"\nfi", "\nelif n1\nthen "+g.inner()+"\nfi")
	case 3:
		return "while n1" + g.pick("; ", "\n") + "do " + g.inner() + "\ndone"
	case 4:
		return "for x in " + g.word() + " " + g.word() + g.pick("; ", "\n") + "do " + g.inner() + "\ndone"
	case 5:
		return "case " + g.word() + " in " + g.pick("a", "*", "(a|b", "'c'") + ") " + g.inner() + g.pick("\n;;", "\n;&", "") + "\nesac"
	case 6:
		g.funcs++
		name := g.pick("f", "g", "p1", "p2", "cd")
		return name + "() { " + g.inner() + "\n}" + g.pick("; ", "\n") + name + " " + g.word()
	case 7:
		return "eval '" + strings.ReplaceAll(g.inner(), "'", "'\\''") + "'"
	case 8:
		return "eval " + g.word()
	case 9:
		return "trap '" + strings.ReplaceAll(g.inner(), "'", "'\\''") + "' EXIT"
	case 10:
		return g.heredoc()
	case 11:
		return "[[ " + g.word() + " " + g.pick("==", "=", "!=", "=~", "-eq", "<") + " " + g.word() + " ]]"
	case 12:
		return "((" + g.arith() + "))"
	case 13:
		return g.pick("x", "y") + g.pick("=", "+=") + g.word()
	case 14:
		return "x=" + g.program() + "; $x " + g.word()
	case 15:
		return "! " + g.simple()
	case 16:
		return "time " + g.simple()
	case 17:
		return g.pick("cd d1", "cd d1/d2", "cd -", "cd", "cd nowhere", "pushd d1", "popd", "cd d1 && p1 $PWD")
	case 18:
		return g.pick("declare", "export", "local", "typeset") + " " + g.pick("x=", "y=", "-i x=", "'a[$(p3)]'=", "-n x=", "-r z=") + g.word()
	case 19:
		return g.pick("[ -v ", "test -v ", "[[ -v ", "unset ", "read ", "printf -v ", "let ", "((", "let x=") + "'a[$(p3 " + g.pick("a", "b") + ")]'" + g.pick(" ]", "", " ]]", "))")
	case 20:
		return "set -- " + g.word() + " " + g.word() + g.pick("; \"$@\"", "; $1 a", "; shift; $1", "; p1 \"$2\"")
	case 21:
		return "x=(" + g.word() + " " + g.word() + "); " + g.pick("\"${x[@]}\"", "${x[0]} a", "p1 ${x[1]}", "$x")
	case 22:
		return "alias f=" + g.pick("p1", "'p2 a;p3'", "\"p4 \"") + g.pick("\n", "; ") + "f " + g.word()
	case 23:
		return "unset " + g.pick("x", "-f p1", "f", "-v y")
	case 24:
		return g.simple() + " &"
	case 25:
		return "read x <<< " + g.word() + "; $x"
	}
	return g.simple()
}

// mutate makes small damage to a script. Nothing with a slash is damaged, so that no new path can
// come out of it.
func (g *generator) mutate(src string) string {
	const chars = "'\"`$(){}[]\\#\n;&|<>!=~*? \tE-"
	if strings.Contains(src, "/") || strings.Contains(src, "coproc") {
		return src
	}
	for n := g.c.Intn(3); n >= 0 && src != ""; n-- {
		p := g.c.Intn(len(src))
		switch g.c.Intn(3) {
		case 0:
			src = src[:p] + src[p+1:]
		case 1:
			at := g.c.Intn(len(chars))
			src = src[:p] + chars[at:at+1] + src[p:]
		case 2:
			src = src[:p] + src[p+g.c.Intn(len(src)-p):]
		}
	}
	if !utf8.ValidString(src) { // bash reads scripts character by character
		return "p1"
	}
	return src
}
