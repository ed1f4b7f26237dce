package shell

import (
	"errors"
	"io"
	"runtime"
	"strings"
)

// Defaults and bounds of Options.
const (
	defaultMaxCommands = 10_000
	defaultMaxWork     = 40_000

	maxBytes  = 1 << 20 // longest text that is parsed
	maxDepth  = 1000    // deepest nesting that is parsed
	stepCost  = 4       // work of a statement, an expression, ...; a word is 1
	codeCost  = 2       // bytes of code in strings - eval, trap, aliases - for 1
	textCost  = 32      // bytes of expansions for 1
	parseCost = 1000    // nanoseconds of parsing, as estimated, for 1
	maxFields = 256     // words that one word may expand to
	maxCalls  = 12      // nested function calls, evals, aliases
	maxDir    = 1 << 10 // longest working directory that is followed
)

var errTooDeep = errors.New("nested too deep")

// tooDeep reports whether the parentheses and braces of src open more than
// maxDepth levels. Quotes are ignored: honest text is far below the limit, and text that
// hides its depth behind quoted brackets is stopped by guardReader.
func tooDeep(src string) bool {
	if len(src) <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '(', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ')', '}':
			if depth > 0 {
				depth--
			}
		}
	}
	return false
}

// The limits of guardReader. A level of nesting takes 7 to 30 frames.
const (
	guardEvery  = 4 << 10 // bytes between two looks at the stack
	maxFrames   = 12_000  // deepest stack
	deepFrames  = 400     // a stack that no honest text keeps up for long
	maxDeepRuns = 16      // looks that may find a deep stack
)

// guardReader feeds the parser, which recurses without a limit, and is the only
// code of ours that runs while it does: it looks at how deep the stack has become
// and ends the text if that is too deep. A stack overflow could not be recovered.
type guardReader struct {
	text  string
	next  int
	check int // offset of the next look
	deep  int // looks that found a deep stack
}

func (r *guardReader) reset(text string) { *r = guardReader{text: text, check: guardEvery} }

func (r *guardReader) Read(p []byte) (int, error) {
	if r.next >= len(r.text) {
		return 0, io.EOF
	}
	if r.next >= r.check {
		r.check = r.next + guardEvery
		if r.tooDeep() {
			return 0, errTooDeep
		}
	}
	n := copy(p, r.text[r.next:])
	r.next += n
	return n, nil
}

func (r *guardReader) tooDeep() bool {
	var pc [1]uintptr
	if runtime.Callers(deepFrames, pc[:]) == 0 {
		return false
	}
	r.deep++
	return r.deep > maxDeepRuns || runtime.Callers(maxFrames, pc[:]) > 0
}

// Texts up to smallText cannot cost enough to matter; above, the parser's work is
// estimated first, in units of about a nanosecond.
const (
	smallText = 32 << 10
	maxCost   = 18_000_000
)

// tooCostly estimates the work of parsing src, and counts it. Data that the parser
// skips over - quoted strings, here-documents, comments - costs nothing, as long as the
// text up to there is plain enough to be certain that it is data; after the first
// substitution everything counts.
func (s *Script) tooCostly(src string) bool {
	if len(src) <= smallText {
		return false
	}
	c := costScan{src: src}
	c.run()
	s.Work += c.cost / parseCost
	return c.cost > maxCost
}

type costScan struct {
	src   string
	at    int
	cost  int
	delim []hereDelim // here-documents that start at the next newline
}

type hereDelim struct {
	word   string
	quoted bool
	tabs   bool
}

// costs holds the cost of a byte above that of an ordinary one.
var costs = [256]uint16{
	';': 900, '\n': 900, '|': 900, '&': 900,
	' ': 250, '\t': 250,
	'$': 500, '`': 500, '(': 500, '[': 500, '=': 500,
	'"': 250, '\'': 250, '<': 250, '>': 250, '+': 250, '-': 250, '*': 250, '/': 250,
	'%': 250, ',': 250, '?': 250, ':': 250, '^': 250, '~': 250, '!': 250, '}': 250,
	'\\': 100,
	'{':  1, '#': 1, // ordinary, but they are looked at
}

const ordinaryCost = 5

func byteCost(c byte) int { return ordinaryCost + int(costs[c]) }

// countRest counts everything from here on.
func (s *costScan) countRest() {
	for ; s.at < len(s.src) && s.cost <= maxCost; s.at++ {
		s.cost += byteCost(s.src[s.at])
	}
	s.at = len(s.src)
}

func (s *costScan) run() {
	blank := true // a # here starts a comment
	for s.at < len(s.src) && s.cost <= maxCost {
		start := s.at
		for s.at < len(s.src) && costs[s.src[s.at]] == 0 { // most of most texts
			s.at++
		}
		if s.at > start {
			s.cost += ordinaryCost * (s.at - start)
			blank = false
			continue
		}
		c := s.src[s.at]
		s.cost += byteCost(c)
		s.special(c, blank)
		blank = strings.IndexByte(" \t\n;&|", c) >= 0
		s.at++
	}
}

// special skips data that begins with c: a string, a comment, a here-document.
func (s *costScan) special(c byte, blank bool) {
	switch c {
	case '$', '`', '(', '{':
		s.countRest()
	case '\\':
		s.at++
	case '\'':
		s.skipTo("'", false)
	case '"':
		s.double()
	case '#':
		if blank {
			s.skipTo("\n", true)
		}
	case '<':
		switch rest := s.src[s.at:]; {
		case strings.HasPrefix(rest, "<<<"):
			s.at += 2
		case strings.HasPrefix(rest, "<<"):
			s.heredoc()
		}
	case '\n':
		if len(s.delim) > 0 {
			s.bodies()
		}
	}
}

// skipTo moves to the next end, or to the byte before it.
func (s *costScan) skipTo(end string, before bool) {
	i := strings.Index(s.src[s.at+1:], end)
	if i < 0 {
		s.at = len(s.src)
		return
	}
	s.at += i + 1
	if before {
		s.at--
	}
}

// double skips a double-quoted string that holds no substitution.
func (s *costScan) double() {
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '"':
			return
		case '\\':
			s.at++
		case '$', '`':
			s.countRest()
		}
	}
}

// heredoc reads the delimiter after <<; anything unusual ends the certainty.
func (s *costScan) heredoc() {
	s.at += 2
	d := hereDelim{}
	if s.at < len(s.src) && s.src[s.at] == '-' {
		d.tabs = true
		s.at++
	}
	rest := strings.TrimLeft(s.src[s.at:], " \t")
	s.at = len(s.src) - len(rest)
	if rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		d.quoted = true
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			s.countRest()
			return
		}
		d.word = rest[1 : 1+end]
		s.at += end + 1
	} else {
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && (r < '0' || r > 'z' || r > '9' && r < 'A') })
		if n < 0 {
			n = len(rest)
		}
		d.word = rest[:n]
		s.at += n - 1
	}
	if d.word == "" || strings.ContainsAny(d.word, "\\\n$`\"'") || !endsWord(s.src, s.at+1) {
		s.countRest()
		return
	}
	s.delim = append(s.delim, d)
}

func endsWord(src string, at int) bool {
	return at >= len(src) || strings.IndexByte(" \t\n;&|<>)", src[at]) >= 0
}

// bodies skips the here-documents that start after the newline at s.at.
func (s *costScan) bodies() {
	for _, d := range s.delim {
		for {
			start := s.at + 1
			if start >= len(s.src) {
				return
			}
			line := s.src[start:]
			if i := strings.IndexByte(line, '\n'); i >= 0 {
				line = line[:i]
			}
			s.at = start + len(line)
			if d.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == d.word {
				break
			}
			s.cost += 10
			if !d.quoted && strings.ContainsAny(line, "$`\\") {
				s.at = start - 1
				s.countDocument(d)
				return
			}
		}
	}
	s.delim = s.delim[:0]
}

// countDocument counts an expanding here-document, in which only expansions cost,
// and everything after it or after the first substitution.
func (s *costScan) countDocument(d hereDelim) {
	end := strings.Index(s.src[s.at:], "\n"+d.word+"\n")
	if end < 0 || d.tabs {
		s.countRest()
		return
	}
	body := s.src[s.at : s.at+end]
	if strings.Contains(body, "$(") || strings.Contains(body, "`") || strings.Contains(body, "${") {
		s.countRest()
		return
	}
	s.cost += 700*strings.Count(body, "$") + 300*strings.Count(body, "\\")
	s.at += end
	s.countRest()
}
