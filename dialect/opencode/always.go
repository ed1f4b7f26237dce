package opencode

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// alwaysOf returns the patterns that "always" remembers of a simple command.
// Each set of them matches the command itself; none is an interpreter or a
// program that runs others with a star after it: of such a command only its
// very text is remembered, and not even that where its code comes through a pipe or is known
// only at run time.
func alwaysOf(src string, sc *shell.Command) []string {
	text := commandText(src, sc)
	words := wordsOf(sc)
	if text == "" || len(words) == 0 || !sc.Words[0].Known || sc.Words[0].Glob {
		return nil
	}
	at := prefix(words)
	if len(at) == 0 {
		return exactly(text, sc)
	}
	last := at[len(at)-1]
	short := strings.Join(pickWords(words, at), " ") + " *"
	long := short
	if text := between(src, sc.Span.Start, sc.Words[last].Span.End); sc.Nest&within == 0 && text != "" {
		long = text + " *"
	}
	skipped := last >= len(at) // flags stand between the words
	switch {
	case broad(short) || broad(long):
		return exactly(text, sc)
	case wildcard(short, text):
		return []string{short}
	case wildcard(long, text) && skipped && sc.Words[0].Span.Start == sc.Span.Start:
		return []string{short, long}
	case wildcard(long, text):
		return []string{long}
	}
	return exactly(text, sc)
}

// between returns a part of a text, "" where there is none.
func between(src string, start, end int) string {
	if start < 0 || end > len(src) || start >= end {
		return ""
	}
	return src[start:end]
}

func pickWords(words []string, at []int) (out []string) {
	for _, i := range at {
		out = append(out, words[i])
	}
	return out
}

// exactly returns the text of a command as the pattern of itself alone.
func exactly(text string, sc *shell.Command) []string {
	body := slices.ContainsFunc(sc.Redirects, func(r shell.Redirect) bool { return r.Body != nil })
	unknown := slices.ContainsFunc(sc.Words, func(w shell.Word) bool { return !w.Known })
	hidden := unknown || sc.Stdin >= 0 || len(sc.Words) < 2 && !body
	if hidden || strings.ContainsAny(text, "*?") || !wildcard(text, text) {
		return nil
	}
	return []string{text}
}

// wildcard tells whether a pattern of the program matches a text.
func wildcard(p, text string) bool {
	ok, err := matches(obstat.Text{Flavour: pattern.Wildcard, Text: p}, text)
	return ok && err == nil
}

// broad tells whether a pattern for the shell hands out an interpreter, a shell
// or a program that runs others.
func broad(p string) bool {
	r := (&Rule{Permission: "bash", Pattern: p, Action: obstat.Allow}).compile(Last)
	return dialect.Broad(&r)
}
