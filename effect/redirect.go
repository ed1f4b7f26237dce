package effect

import (
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// redirect gives a redirection its effect.
func (a *analyzer) redirect(r *shell.Redirect, cmd int, f *frame) {
	if len(r.Fd) > 2 && r.Fd[0] == '{' {
		a.assign(r.Fd[1:len(r.Fd)-1], &shell.Word{}, f.span(r.Span), cmd)
	}
	if r.Body != nil {
		return // a here-document: text
	}
	w := &r.Target
	kind := Write
	switch r.Op {
	case "<":
		kind = Read
	case "<&", ">&":
		if w.Known && descriptor(w.Text) {
			return
		}
		if r.Op == "<&" {
			kind = Read
		}
	}
	if w.Known && kind == Write && sink(w.Text) || processSubst(w) {
		return
	}
	e := f.effect(kind, w.Text, f.span(r.Span), cmd)
	e.Detail, e.Tags, e.Certain = "redirect", Redirect, w.Known
	e.shape, e.bound = a.shapeOf(w, f.dir), w.Bound
	e.runner = a.isRunnerFile(w, f)
	switch {
	case !w.Known:
		a.gap(DynamicOperand, "where the redirection leads is known only at run time", f.span(w.Span), cmd)
	case strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/"):
		e.Kind, e.Detail = Connect, "redirect"
		e.Host, _, _ = strings.Cut(w.Text[len("/dev/tcp/"):], "/")
	default:
		a.place(&e, w, f)
	}
	e.Harmless = e.Kind == Read && !e.Secret
	a.effect(e)
	a.throughLinks(&e)
	if r.Op == "<>" && kind == Write { // it can be read, too
		in := *r
		in.Op = "<"
		a.redirect(&in, cmd, f)
	}
}

// runnerFiles are variables that a CI system sets to files of its own.
var (
	runnerFiles   = kb.Table("!runner-files")
	runnerReaders = kb.Table("!runner-readers")
)

// isRunnerFile reports whether a word leads to a CI system's own file by a variable that no part of the command sets,
// `>> "$GITHUB_OUTPUT"`. Where the system is not there the name is empty, and the shell writes nothing; any other
// use of the variable would then say something else: `cat $GITHUB_OUTPUT.env`.
func (a *analyzer) isRunnerFile(w *shell.Word, f *frame) bool {
	name, whole := strings.CutPrefix(strings.Trim(w.Raw, `"`), "$")
	if inner, ok := strings.CutPrefix(name, "{"); ok {
		name, _ = strings.CutSuffix(inner, "}")
	}
	return whole && !w.Known && w.Outside && f.script == a.top && runnerFiles().Has(name)
}

// descriptor reports whether the target of a duplication is a descriptor: 1, 2-, -.
func descriptor(s string) bool {
	return s == "-" || word.AllDigits(strings.TrimSuffix(s, "-"))
}
