package shell

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// walkers is a pool of walkers with their parsers: a parser can be used again, but not by two
// callers at once.
var walkers = sync.Pool{New: func() any {
	return &walker{engine: engine{parser: syntax.NewParser(syntax.Variant(syntax.LangBash))}}
}}

// engine is a parser with the reader that guards it.
type engine struct {
	parser *syntax.Parser
	reader guardReader
}

func (e *engine) parse(text string) (*syntax.File, error) {
	e.reader.reset(text)
	return e.parser.Parse(&e.reader, "")
}

// document parses text as the inside of a here-document.
func (e *engine) document(text string) (*syntax.Word, error) {
	e.reader.reset(text)
	return e.parser.Document(&e.reader)
}

// script parses and walks the whole source.
func (w *walker) script(m marks) {
	src := w.out.Source
	if m.nul {
		w.out.gap(Syntax, "a NUL byte: shells drop it or stop there", Span{0, len(src)})
	}
	if endsInBackslash(src) {
		w.out.gap(Syntax, "the text ends in a backslash", Span{len(src) - 1, len(src)})
	}
	w.brokenDollar(src, Span{0, len(src)})
	t, ok := newText(src, m.mask)
	if !ok {
		w.out.gap(Syntax, "control characters in the text", Span{0, len(src)})
		return
	}
	t.exact = true
	w.text = t
	var f *syntax.File
	var err error
	if m.ascii() {
		f = w.plain.read(src)
	}
	if f == nil {
		f, err = w.parse(&w.text)
	}
	if err != nil {
		w.syntaxGap(err, &w.text)
	}
	if f != nil {
		w.out.reserve(f.Stmts)
		w.stmts(f.Stmts)
		w.finish()
	}
	if m.wide {
		w.out.homographs()
	}
	w.recogniseForeign(err)
}

// reserve makes room for as many commands as the lists have.
func (s *Script) reserve(list []*syntax.Stmt) {
	n := 0
	for _, stmt := range list {
		n++
		for b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok; b, ok = b.X.Cmd.(*syntax.BinaryCmd) {
			n++
		}
	}
	if n = min(n, 64); n <= cap(s.Commands) {
		return
	}
	s.Commands, s.Constructs = make([]Command, 0, n), make([]Construct, 0, 2*n)
}

// endsInBackslash reports whether the last backslash escapes nothing: shells keep or drop it.
func endsInBackslash(src string) bool {
	n := len(src) - len(strings.TrimRight(src, "\\"))
	return n%2 == 1
}

// brokenDollar refuses a line that is continued behind a $: shells put the two lines together
// before they look behind the $, the parser does not.
func (w *walker) brokenDollar(src string, at Span) {
	if strings.Contains(src, "$\\\n") {
		w.out.gap(Syntax, "a line that is continued behind a $", at)
	}
}

// syntaxGap reports a parser error at its place.
func (w *walker) syntaxGap(err error, t *text) {
	whole := t.span(0, len(t.src))
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.Is(err, errTooDeep):
		w.out.gap(TooDeep, "nested deeper than the limit", whole)
	case errors.As(err, &pe):
		w.out.gap(Syntax, pe.Text, t.span(int(pe.Pos.Offset()), len(t.src)))
	case errors.As(err, &le):
		w.out.gap(Syntax, le.Feature+" in another shell's syntax", t.span(int(le.Pos.Offset()), len(t.src)))
	default:
		w.out.gap(Syntax, err.Error(), whole)
	}
}

// parse parses t. Comments are looked at, because the parser takes a backslash at the end of
// one for a line continuation, which hides the next line, and takes a # after a quote
// for a comment inside a subshell, which hides the rest of the word.
func (w *walker) parse(t *text) (*syntax.File, error) {
	if strings.IndexByte(t.src, '#') < 0 {
		return w.engine.parse(t.src)
	}
	syntax.KeepComments(true)(w.engine.parser)
	defer syntax.KeepComments(false)(w.engine.parser)
	for range 8 {
		f, err := w.engine.parse(t.src)
		patched, ok := t.endComments(f)
		if !ok {
			w.gap0(Syntax, "a # inside a word", t)
		}
		if patched == "" {
			return f, err
		}
		t.src = patched
	}
	w.gap0(Syntax, "too many comments that end in a backslash", t)
	return w.engine.parse(t.src)
}

func (w *walker) gap0(kind GapKind, why string, t *text) {
	w.out.gap(kind, why, t.span(0, len(t.orig)))
}

// endComments overwrites the backslash at the end of each comment and returns the new
// text, or nothing. It reports false if a comment starts where the shell sees none.
func (t *text) endComments(f *syntax.File) (patched string, ok bool) {
	var b []byte
	var hashes, ends []int
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			ends = append(ends, int(n.End().Offset()))
		case *syntax.Comment:
			at, _ := t.clamp(int(n.Hash.Offset()), 0)
			hashes = append(hashes, at)
			if !strings.HasSuffix(n.Text, "\\\n") {
				break
			}
			// The text may have lost bytes, so the backslash is looked for in the source.
			if i := strings.Index(t.src[at:], "\\\n"); i >= 0 {
				if b == nil {
					b = []byte(t.src)
				}
				b[at+i] = '.'
			}
		}
		return true
	})
	ok = !slices.ContainsFunc(hashes, func(at int) bool { return !t.startsComment(at, ends) })
	return string(b), ok
}

// startsComment reports whether a shell takes the # at this offset for a comment; ends
// are the ends of the substitutions, which a # continues.
func (t *text) startsComment(at int, ends []int) bool {
	for at >= 2 && t.src[at-2:at] == "\\\n" { // the line before is continued: look at its end
		at -= 2
	}
	if at == 0 {
		return true
	}
	switch t.src[at-1] {
	case ' ', '\t', '\n', ';', '&', '|', '(', '<', '>':
		return true
	case ')', '`':
		return !slices.Contains(ends, at)
	}
	return false
}

// recogniseForeign marks text that is PowerShell or cmd, given as bash: it parses
// as something else, or not at all.
func (w *walker) recogniseForeign(err error) {
	s, lang := w.out, Bash
	for i := range s.Commands {
		if len(s.Commands[i].Words) > 0 && s.Commands[i].Nest&InSubst == 0 {
			if l := foreignCommand(s.Commands[i].Words); l != Bash {
				lang = l
				break
			}
		}
	}
	if lang == Bash && err != nil {
		lang = foreignText(s.Source)
	}
	if lang == Bash {
		return
	}
	s.Lang = lang
	s.Commands, s.Constructs = nil, nil
	s.gap(ForeignShell, "looks like "+lang.String(), Span{0, len(s.Source)})
}
