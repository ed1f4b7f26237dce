// Package yamlx reads YAML strictly into the tree that JSON is read into: byte
// offsets, key order, and every problem with its position.
//
// It takes the YAML that configuration files are written in: one document of
// block and flow collections with scalar keys, all scalar styles, anchors,
// aliases, merge keys and the standard tags. What one reader of YAML takes and
// another refuses or reads differently (tabs in indentation, equal keys, several
// documents, Unicode line breaks, custom tags) is a problem, never a guess. Plain
// scalars mean what the YAML 1.2 core schema says; where YAML 1.1 says otherwise
// there is a warning. It writes nothing: edits are splices, made by textedit.
package yamlx

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/format/tree"
)

// The limits of Parse. MaxNodes counts a node again for every alias to it.
const (
	MaxBytes = 10 << 20
	MaxDepth = 500
	MaxNodes = 1 << 20
	maxKey   = 1024 // the longest key that may stand before its colon unannounced
)

// Options say how a document is read. The zero value is the YAML 1.2 core schema.
type Options struct {
	// V11 gives plain scalars the meaning that YAML 1.1 readers such as PyYAML
	// give them: yes and off are booleans, 010 is eight. The warnings stay.
	V11 bool
}

// Parse reads one YAML document. The problems are all that were found, sorted;
// reading goes on after equal keys, unknown tags, bad aliases and the like, and
// stops where the structure is lost. An empty document is Null. As in jsonx, the
// node must not be used where tree.Fatal(problems).
func Parse(src []byte, opt Options) (*tree.Node, []tree.Problem) {
	p := parser{src: src, opt: opt, seen: -1, anchors: map[string]*anchor{}}
	if len(src) > MaxBytes {
		p.fail(MaxBytes, tree.CodeSize, fmt.Sprintf("the document has more than %d bytes", MaxBytes))
		return nil, p.log.Problems()
	}
	if !p.checkText() {
		return nil, p.log.Problems()
	}
	if len(src) >= 3 && string(src[:3]) == "\ufeff" {
		p.pos, p.line = 3, 3
	}
	root := p.document()
	return root, p.log.Problems()
}

type parser struct {
	src  []byte
	pos  int
	line int // offset where the line of pos starts
	text int // offset of the first character of that line that is no blank; only fresh looks
	seen int // the line that text is of
	opt  Options
	log  tree.Log
	lost bool // the structure is lost: stop everywhere

	anchors map[string]*anchor
	size    int // nodes so far, aliases expanded
	high    int // the deepest level since the innermost open anchor began
	flow    int // how many flow collections are open
}

// An anchor is a named node; until the node is read, node is nil.
type anchor struct {
	node         *tree.Node
	size, height int
}

func (p *parser) fail(at int, code, msg string) {
	if !p.lost {
		p.lost = true
		p.log.Add(tree.Problem{Offset: at, Code: code, Msg: msg})
	}
}

func (p *parser) syntax(at int, msg string) { p.fail(at, tree.CodeSyntax, msg) }

func (p *parser) note(at int, code, msg, hint string) {
	p.log.Add(tree.Problem{Offset: at, Code: code, Msg: msg, Hint: hint})
}

// checkText refuses text that is not UTF-8 or not printable, and the characters that
// only some readers take for line breaks.
func (p *parser) checkText() bool {
	bad := 0
	for i := 0; i < len(p.src) && bad < 20; {
		c := p.src[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(p.src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			bad++
			p.note(i, tree.CodeEncoding, fmt.Sprintf("the file is not UTF-8 text here (byte 0x%02x)", c), "")
		case r == '\u0085' || r == '\u2028' || r == '\u2029':
			bad++
			p.note(i, tree.CodeEncoding, fmt.Sprintf("%U is a line break to some readers of YAML and text to others", r), fmt.Sprintf(`write it as "\u%04x" in double quotes`, r))
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff || r == '\ufeff' && i > 0:
			bad++
			p.note(i, tree.CodeEncoding, fmt.Sprintf("the character %U cannot stand in YAML", r), "")
		}
		i += size
	}
	return bad == 0
}

// document reads the directives, the one document and the end marker after it.
func (p *parser) document() *tree.Node {
	p.skip()
	for p.peek(0) == '%' && p.pos == p.line && !p.lost {
		p.directive()
	}
	if p.marker("---") {
		p.pos += 3
	}
	root := p.block(place{indent: -1, empty: p.pos})
	p.skip()
	for p.marker("...") && !p.lost {
		p.pos += 3
		p.skip()
		if p.pos < len(p.src) && !p.fresh() {
			p.syntax(p.pos, "unexpected text after the end of the document")
		}
	}
	switch {
	case p.lost || p.pos >= len(p.src):
	case p.marker("---") || p.peek(0) == '%':
		p.fail(p.pos, tree.CodeDocuments, "the file holds more than one document")
	default:
		p.leftover()
	}
	return root
}

func (p *parser) directive() {
	end := p.pos
	for end < len(p.src) && !isBreak(p.src[end]) {
		end++
	}
	if text := string(p.src[p.pos:end]); len(text) < 8 || text[:8] != "%YAML 1." {
		p.note(p.pos, tree.CodeTag, fmt.Sprintf("the directive %.40q is not understood", text), "remove the line")
	}
	p.pos = end
	p.skip()
	if p.peek(0) != '%' && !p.marker("---") {
		p.syntax(p.pos, "a directive must be followed by a line with ---")
	}
}

// leftover reports text that belongs to no node.
func (p *parser) leftover() {
	switch c := p.peek(0); {
	case p.lost:
	case p.fresh() && p.tabbed():
	case c == '#':
		p.syntax(p.pos, "a comment needs a space before its #")
	case c == ':' && isBlank(p.peek(1)):
		p.syntax(p.pos, "a colon cannot stand here; quote the text if it is meant as text")
	case p.fresh():
		p.syntax(p.pos, "the indentation of this line fits nothing above it")
	default:
		p.syntax(p.pos, "unexpected text after a value; quote the whole value if it is meant as one")
	}
}

// peek returns the byte i places ahead, 0 beyond the end.
func (p *parser) peek(i int) byte {
	if p.pos+i < len(p.src) {
		return p.src[p.pos+i]
	}
	return 0
}

func isBreak(c byte) bool { return c == '\n' || c == '\r' }
func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// isBlank reports whether c ends an indicator: a space, a break or the end.
func isBlank(c byte) bool { return isSpace(c) || isBreak(c) || c == 0 }

func isFlow(c byte) bool { return c == ',' || c == '[' || c == ']' || c == '{' || c == '}' }

// newline moves over one line break, if there is one.
func (p *parser) newline() bool {
	switch p.peek(0) {
	case '\n':
		p.pos++
	case '\r':
		p.pos++
		if p.peek(0) == '\n' {
			p.pos++
		}
	default:
		return false
	}
	p.line = p.pos
	return true
}

// spaces moves over blanks within the line.
func (p *parser) spaces() {
	for isSpace(p.peek(0)) {
		p.pos++
	}
}

// skip moves over blanks, comments and line breaks to the next content.
func (p *parser) skip() {
	for {
		p.spaces()
		if p.peek(0) == '#' && (p.pos == p.line || isSpace(p.src[p.pos-1])) {
			for p.pos < len(p.src) && !isBreak(p.src[p.pos]) {
				p.pos++
			}
		}
		if !p.newline() {
			return
		}
	}
}

// fresh reports whether nothing but blanks stands before pos on its line.
func (p *parser) fresh() bool {
	if p.seen != p.line {
		p.seen, p.text = p.line, p.line
		for p.text < len(p.src) && isSpace(p.src[p.text]) {
			p.text++
		}
	}
	return p.pos <= p.text
}

// tabbed fails if the indentation of the line holds a tab, and reports it.
func (p *parser) tabbed() bool {
	for i := p.line; i < p.pos && isSpace(p.src[i]); i++ {
		if p.src[i] == '\t' {
			p.tabs(i)
			return true
		}
	}
	return false
}

// maxTabs is how many lines with tabs are told.
const maxTabs = 20

// tabs reports a tab in the indentation of a line, and of all lines after it: a file that is indented with tabs
// does it everywhere.
func (p *parser) tabs(at int) {
	if p.lost {
		return
	}
	p.lost = true
	for n := 0; n < maxTabs; n++ {
		p.note(at, tree.CodeSyntax, "a tab cannot indent YAML", "use spaces")
		for found := false; !found; {
			line := bytes.IndexByte(p.src[at:], '\n') + 1
			if line == 0 {
				return
			}
			at += line
			margin := p.src[at : len(p.src)-len(bytes.TrimLeft(p.src[at:], " \t"))]
			tab, end := bytes.IndexByte(margin, '\t'), at+len(margin)
			if found = tab >= 0 && end < len(p.src) && !isBlank(p.src[end]) && p.src[end] != '#'; found {
				at += tab
			}
		}
	}
}

func (p *parser) column() int { return p.pos - p.line }

// marker reports whether the line at pos starts with the document marker m.
func (p *parser) marker(m string) bool {
	return p.pos == p.line && p.pos+3 <= len(p.src) && string(p.src[p.pos:p.pos+3]) == m && isBlank(p.peek(3))
}

// ended reports whether the document ends here.
func (p *parser) ended() bool { return p.pos >= len(p.src) || p.marker("---") || p.marker("...") }

// enter counts a node at a depth and reports whether it may be read.
func (p *parser) enter(depth int) bool {
	p.size++
	p.high = max(p.high, depth)
	if depth > MaxDepth {
		p.fail(p.pos, tree.CodeDepth, fmt.Sprintf("nested more than %d levels deep", MaxDepth))
	}
	if p.size > MaxNodes {
		p.fail(p.pos, tree.CodeSize, fmt.Sprintf("the document holds more than %d values", MaxNodes))
	}
	return !p.lost
}
