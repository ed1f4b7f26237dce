package obstat

import (
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/shell"
)

// The floor puts text that a call leaves for a later program to the rules: `echo rm x > z; sh z`.

// maxWritten bounds how many beginnings of commands are looked at in the files that a call writes.
const maxWritten = 512

// written lowers the verdict of a call that writes code and runs the project's code, if a rule would
// stop a command or a file that stands in it: `exec.Command("rm", "x")` in a test, `RUN curl h` in a
// Dockerfile, `open(".env")`.
func (fl *floorWalk) written() {
	left := maxWritten
	for i := range fl.a.Written {
		fl.writtenText(&fl.a.Written[i], &left, " writes this into a file that may be run")
	}
	for i := range fl.a.Fed {
		fl.writtenText(&fl.a.Fed[i], &left, " reads this, and might run it")
	}
}

// writtenText is written for one text; left is how many more beginnings are looked at.
func (fl *floorWalk) writtenText(t *effect.Text, left *int, why string) {
	if fl.o.verdict < Allow || fl.exact() || fl.blind {
		return
	}
	c := &fl.a.Commands[t.Command]
	for text := range floor.CommandsWritten(t.Text) {
		if *left--; *left < 0 {
			fl.manyArguments(c)
			return
		}
		if r := fl.stops(t.Command, text); r != nil && !fl.general(r, fl.f.Call.Tool) {
			fl.cap(text, c.Program+why)
			return
		}
	}
	e := effect.Effect{Kind: effect.Read, Origin: effect.Origin{Program: c.Program, Command: t.Command, Span: c.Span}}
	e.Raw = c.Program
	for _, piece := range effect.Pieces(t.Text, true) {
		if *left--; *left < 0 {
			fl.manyArguments(c)
			return
		}
		fl.mayReach(c, c.Span, c.Program, piece)
		if strings.Contains(piece, ".") && len(piece) < maxWord {
			for fl.mayTouch(c, e, piece); strings.HasPrefix(piece, "../"); { // as seen from where the file lies
				piece = piece[len("../"):]
				fl.mayTouch(c, e, piece)
			}
			if write := e; fl.inProject(c, piece) {
				write.Kind = effect.Write
				fl.mayTouch(c, write, piece)
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

func joinWords(words []shell.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}
