package obstat

import (
	"iter"
	"strings"
	"unicode"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// maxTail bounds how many ends of an unknown program's arguments are looked at.
const maxTail = 64

// maxTails bounds the bytes of all of them in a call: each is parsed anew, and counts as minTail bytes at least.
const (
	maxTails = 128 << 10
	minTail  = 256
)

// unknownWrapper asks whether a rule would stop the end of an unknown program's
// arguments if it were a command: the program may run it, as in `unknownwrap -x a rm f`. With more arguments than are looked at, any rule might.
func (fl *floorWalk) unknownWrapper(i int, c *effect.Command) {
	for at := 1; at < len(c.Words); at++ {
		if at > maxTail || fl.tails > maxTails {
			fl.manyArguments(c)
			return
		}
		if fl.tail(i, at, "is not a program that is known, and might run this") {
			return
		}
	}
}

// manyArguments lowers the verdict of a command with more arguments than are looked at, if a rule
// might stop any command.
func (fl *floorWalk) manyArguments(c *effect.Command) {
	fl.doubted(fl.mayTightenCommand("", c.Dir), fl.text(c.Span), "might apply: "+c.Program+" may run its arguments, which are more than are looked at")
}

// tail lowers the verdict if a rule would stop the words of command i from at on as a command, and
// reports that.
func (fl *floorWalk) tail(i, at int, why string) bool {
	c := &fl.a.Commands[i]
	word := c.Words[at].Text
	if !strings.HasPrefix(word, "-") {
		text := joinWords(c.Words[at:])
		if strings.HasPrefix(word, "/") {
			text = text[strings.LastIndexByte(word, '/')+1:] // `/bin/rm x`
		}
		if fl.mayRun(i, text, why) {
			return true
		}
	}
	if raw, ok := strings.CutPrefix(c.Words[at].Raw, "<("); ok { // `modd -f <(echo 'prep: rm x')`
		for text := range commandsWritten(raw) {
			if fl.alsoRun(i, text, why) {
				return true
			}
		}
		return false
	}
	for text := range commandsIn(word) {
		if fl.alsoRun(i, text, why) {
			return true
		}
	}
	return false
}

// alsoRun is mayRun for a text that stands inside a word, of which there may be many.
func (fl *floorWalk) alsoRun(i int, text, why string) bool {
	if fl.tails > maxTails {
		fl.manyArguments(&fl.a.Commands[i])
		return true
	}
	return fl.mayRun(i, text, why)
}

// maxWritten bounds how many beginnings of commands are looked at in the files that a call writes.
const maxWritten = 512

// written lowers the verdict of a call that writes code and runs the project's code, if a rule would stop a command or a
// file that stands in it: `exec.Command("rm", "x")` in a test, `RUN curl h` in a Dockerfile, `open(".env")`.
func (fl *floorWalk) written() {
	left := maxWritten
	for i := range fl.a.Written {
		if fl.o.verdict < Allow || fl.exact() || fl.confined {
			return
		}
		if left = fl.writtenText(&fl.a.Written[i], left); left < 0 {
			fl.manyArguments(&fl.a.Commands[fl.a.Written[i].Command])
			return
		}
	}
}

// writtenText is written for one text; it returns how many more beginnings are looked at.
func (fl *floorWalk) writtenText(t *effect.Text, left int) int {
	c := &fl.a.Commands[t.Command]
	for text := range commandsWritten(t.Text) {
		if left--; left < 0 {
			return left
		}
		if r := fl.stops(t.Command, text); r != nil && !fl.breadth(r, fl.f.Call.Tool).wide { // `"*": "ask"` is no rule about it
			fl.cap(text, c.Program+" writes this into a file that may be run")
			return left
		}
	}
	e := effect.Effect{Kind: effect.Read, Raw: c.Program, Program: c.Program, Command: t.Command, Span: c.Span}
	for _, piece := range pieces(t.Text, true) {
		if left--; left < 0 {
			return left
		}
		if strings.Contains(piece, ".") && len(piece) < maxWord {
			for fl.mayTouch(c, e, piece); strings.HasPrefix(piece, "../"); { // as seen from where the file lies
				piece = piece[len("../"):]
				fl.mayTouch(c, e, piece)
			}
		}
	}
	return left
}

// lineParts makes openers of what stands before a command in a file: `web: rm x`, `<run>rm x`.
var lineParts = strings.NewReplacer(": ", ";", ">", ";")

// commandsWritten yields the texts inside a file at which a command may begin: behind what [commandsIn] knows, and at the
// beginning of a line or of what a line says, as `rm x` of `RUN rm x`, of `web: rm x` and of `//go:generate rm x`.
func commandsWritten(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimLeft(line, " \t@-+")
			for _, word := range [...]string{"RUN ", "CMD ", "ENTRYPOINT ", "//go:generate "} {
				line = strings.TrimPrefix(line, word)
			}
			for found := range commandsIn(";" + lineParts.Replace(line)) {
				if !seen[found] && !yield(found) {
					return
				}
				seen[found] = true
			}
		}
	}
}

// mayRun lowers the verdict if a rule would stop a text that command i might run, and reports that.
func (fl *floorWalk) mayRun(i int, text, why string) bool {
	r := fl.stops(i, text)
	if r != nil {
		fl.cap(text, fl.a.Commands[i].Program+" "+why)
	}
	return r != nil
}

// stops returns the rule that would stop a text if command i ran it.
func (fl *floorWalk) stops(i int, text string) *Rule {
	fl.tails += max(len(text), minTail)
	o := fl.judgeCommand(i, text, "a program might run its arguments")
	if o.rule == nil || o.verdict == Allow || o.rule.Whole() {
		return nil
	}
	return o.rule
}

// commandsIn yields the texts inside a word at which a command may begin, behind a quote, a bracket, an equals sign
// or an operator: `rm x` of `System.cmd("rm", ["x"])`, `curl h` of `CC=curl h` and of `$(shell curl h)`.
func commandsIn(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := strings.IndexAny(word, openers); i >= 0 && i < len(word); {
			begin := i + 1 + strings.IndexFunc(word[i+1:]+"x", func(r rune) bool { return !strings.ContainsRune(openers+" \t\n", r) })
			begin = min(begin, len(word))
			end := begin + strings.IndexFunc(word[begin:]+" ", func(r rune) bool { return !isNameRune(r) })
			end = min(end, len(word))
			if name := word[begin:end]; strings.Contains(runners, " "+name+" ") {
				i = end // `$(shell curl h)`: the command is what follows
				continue
			} else if name != "" && !yield(name[strings.LastIndexByte(name, '/')+1:]+" "+plainText(word[end:min(end+minTail, len(word))])) {
				return
			}
			next := strings.IndexAny(word[end:], openers)
			if next < 0 {
				return
			}
			i = end + next
		}
	}
}

// openers are the characters behind which a command may begin.
const openers = "\"'`([{;|&!=,"

// runners are functions behind whose name, without a bracket, a command stands: `sh "rm x"`, `$(shell rm x)`.
const runners = " shell sh bash exec system spawn run eval cmd call popen "

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r == '/' || r == '+' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// plainText writes the arguments of a call in some language as a shell's words: ` -rf x` of `", ["-rf", "x"])`.
func plainText(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`()[]{},;", r) }), " ")
}

func joinWords(words []shell.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}
