package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// heredoc records a here-document and checks that it ends where the shell ends it: a
// here-document that goes on longer than the shell thinks would hide commands.
func (w *walker) heredoc(rd *Redirect, r *syntax.Redirect) {
	w.seen.heredocs++
	delim, quoted, ok := delimiter(r.Word)
	start, end := w.text.node(r.Word)
	rd.Target = Word{Text: delim, Known: true, Raw: w.text.orig[start:end], Span: w.text.span(start, end)}
	if !ok {
		w.gap(Syntax, "an unusual here-document delimiter", r.Word)
	}
	body := Word{Known: true}
	if r.Hdoc != nil {
		start, end := w.bodyBounds(r.Hdoc, r.Op)
		if quoted {
			body.Text = w.text.orig[start:end]
		} else {
			body = w.body(r.Hdoc)
		}
		body.Raw, body.Span = w.text.orig[start:end], w.text.span(start, end)
		if !w.endsAt(delim, start, end, r.Op) {
			w.gap(Syntax, "a here-document that shells end elsewhere", r.Word)
		}
	}
	if r.Op == syntax.DashHdoc {
		body.Text = dropTabs(body.Text)
	}
	rd.Body = &body
}

// delimiter returns the text of a here-document delimiter and whether it was quoted;
// ok is false for forms that the parser reads differently from the shell.
func delimiter(sw *syntax.Word) (text string, quoted, ok bool) {
	if len(sw.Parts) != 1 {
		return "", true, false
	}
	switch p := sw.Parts[0].(type) {
	case *syntax.Lit:
		return unescape(p.Value), strings.Contains(p.Value, "\\"), !strings.Contains(p.Value, "\n")
	case *syntax.SglQuoted:
		return p.Value, true, !p.Dollar && !strings.Contains(p.Value, "\n")
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			return "", true, !p.Dollar
		}
		if lit, isLit := p.Parts[0].(*syntax.Lit); isLit && len(p.Parts) == 1 {
			return lit.Value, true, !p.Dollar && !strings.ContainsAny(lit.Value, "\\\n$`")
		}
	}
	return "", true, false
}

// bodyBounds returns the offsets of a here-document. The parser's own end lies
// after the delimiter.
func (w *walker) bodyBounds(body *syntax.Word, op syntax.RedirOperator) (start, end int) {
	start, end = w.text.node(body)
	if lit, ok := body.Parts[len(body.Parts)-1].(*syntax.Lit); ok {
		start, end = w.text.clamp(start, int(lit.Pos().Offset())+len(lit.Value))
	}
	for op == syntax.DashHdoc && end > start && w.text.src[end-1] == '\t' {
		end-- // indentation of the delimiter
	}
	return start, end
}

// endsAt checks in the source that the first line that equals the delimiter is
// the one that follows the body.
func (w *walker) endsAt(delim string, start, end int, op syntax.RedirOperator) bool {
	src := w.text.src
	if start > 0 && src[start-1] != '\n' || end > 0 && src[end-1] != '\n' {
		return false
	}
	if lines := src[start:end]; strings.Contains(lines, delim) {
		for line := range strings.Lines(lines) {
			if isDelimiter(strings.TrimSuffix(line, "\n"), delim, op) {
				return false
			}
		}
	}
	line, _, _ := strings.Cut(src[end:], "\n")
	return isDelimiter(line, delim, op)
}

func isDelimiter(line, delim string, op syntax.RedirOperator) bool {
	if op == syntax.DashHdoc {
		line = strings.TrimLeft(line, "\t")
	}
	return line == delim
}

// dropTabs removes the leading tabs of each line, as <<- does.
func dropTabs(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
