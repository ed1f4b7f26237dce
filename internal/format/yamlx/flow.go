package yamlx

import (
	"fmt"

	"github.com/obstat/obstat/internal/format/tree"
)

// flowCollection reads [...] or {...}.
func (p *parser) flowCollection(depth int) *tree.Node {
	p.flow++
	defer func() { p.flow-- }()
	n := &tree.Node{Kind: tree.Array, Style: tree.Flow, Start: p.pos}
	closing := byte(']')
	if p.peek(0) == '{' {
		n.Kind, closing = tree.Object, '}'
	}
	p.pos++
	seen := map[string]int{}
	for first := true; p.flowNext(n, closing, first); first = false {
		if n.Kind == tree.Object {
			p.flowMember(n, seen, depth)
		} else if e := p.flowElem(depth); e != nil {
			n.Elems = append(n.Elems, e)
		}
	}
	if n.Kind == tree.Object {
		p.merge(n)
	}
	return n
}

// flowNext moves over the comma to the next item and reports whether there is
// one; at the closing bracket it sets the end of n.
func (p *parser) flowNext(n *tree.Node, closing byte, first bool) bool {
	p.flowSkip()
	if !first && p.peek(0) == ',' {
		p.pos++
		p.flowSkip()
	} else if !first && !p.lost && p.peek(0) != closing && p.pos < len(p.src) {
		p.syntax(p.pos, fmt.Sprintf("expected ',' or '%c'", closing))
	}
	n.End = p.pos
	switch {
	case p.lost:
		return false
	case p.pos >= len(p.src):
		p.syntax(n.Start, fmt.Sprintf("the '%c' that closes this is missing", closing))
		return false
	case p.peek(0) == closing:
		p.pos++
		n.End = p.pos
		return false
	}
	return true
}

// flowSkip is skip between brackets, where the layout is free but a document
// must not end.
func (p *parser) flowSkip() {
	p.skip()
	if p.marker("---") || p.marker("...") {
		p.syntax(p.pos, "the document ends inside brackets")
	}
	if p.peek(0) == '#' {
		p.syntax(p.pos, "a comment needs a space before its #")
	}
}

// flowEmpty reports whether an item is left out before pos.
func (p *parser) flowEmpty() bool {
	c := p.peek(0)
	return c == ',' || c == ']' || c == '}'
}

// flowMember reads "key: value" or a lone key.
func (p *parser) flowMember(n *tree.Node, seen map[string]int, depth int) {
	pr := p.props()
	key, r := p.flowHead(pr, depth+1)
	if p.lost {
		return
	}
	if key == nil { // no colon: a key with no value
		if key = p.key(r, pr); key == nil {
			return
		}
		key = p.finish(key, pr, depth+1)
		p.member(n, seen, key, p.scalar(raw{start: key.End, end: key.End}, props{}))
		return
	}
	key = p.finish(key, pr, depth+1)
	p.pos++
	if v := p.flowValue(depth + 1); v != nil {
		p.member(n, seen, key, v)
	}
}

// flowHead is head for a place where a collection cannot stand.
func (p *parser) flowHead(pr props, depth int) (*tree.Node, raw) {
	if c := p.peek(0); c == '[' || c == '{' || c == '?' && isBlank(p.peek(1)) {
		p.syntax(p.pos, "only scalars can be keys")
		return nil, raw{}
	}
	if p.flowEmpty() || p.pos >= len(p.src) {
		p.syntax(p.pos, "a key is expected here")
		return nil, raw{}
	}
	return p.head(pr, depth)
}

// flowValue reads the value after the colon of a pair, as in `{a: 1}`.
func (p *parser) flowValue(depth int) *tree.Node {
	if !p.enter(depth) {
		return nil
	}
	empty := p.pos
	p.flowSkip()
	pr := p.props()
	p.flowSkip()
	switch c := p.peek(0); {
	case p.lost:
		return nil
	case p.flowEmpty() || p.pos >= len(p.src):
		return p.finish(p.scalar(raw{start: empty, end: empty}, pr), pr, depth)
	case c == '[' || c == '{':
		return p.finish(p.flowCollection(depth), pr, depth)
	}
	key, r := p.head(pr, depth)
	if key != nil {
		p.syntax(p.pos, "a second colon in one pair; quote the value if it is meant as text")
		return nil
	}
	return p.flowScalar(r, pr, depth)
}

// flowScalar ends a scalar of which the first line was read.
func (p *parser) flowScalar(r raw, pr props, depth int) *tree.Node {
	switch {
	case p.lost:
		return nil
	case r.alias != nil:
		if pr.some() {
			p.syntax(r.start, "an alias cannot have an anchor or a tag of its own")
		}
		return r.alias
	case r.style == tree.Plain:
		p.plainRest(&r, -1)
	}
	return p.finish(p.scalar(r, pr), pr, depth)
}

// flowElem reads an element of a list; "a: b" is a mapping of one pair.
func (p *parser) flowElem(depth int) *tree.Node {
	start := p.pos
	if !p.enter(depth + 1) {
		return nil
	}
	pr := p.props()
	p.flowSkip()
	if c := p.peek(0); !p.lost && (c == '[' || c == '{') {
		n := p.flowCollection(depth + 1)
		if p.spaces(); p.peek(0) == ':' {
			p.syntax(p.pos, "only scalars can be keys")
		}
		return p.finish(n, pr, depth+1)
	}
	if p.flowEmpty() && !p.lost {
		if !pr.some() {
			p.syntax(p.pos, "a value is expected here")
			return nil
		}
		return p.finish(p.scalar(raw{start: p.pos, end: p.pos}, pr), pr, depth+1)
	}
	key, r := p.flowHead(pr, depth+2)
	if key == nil {
		return p.flowScalar(r, pr, depth+1)
	}
	pair := &tree.Node{Kind: tree.Object, Style: tree.Pair, Start: start}
	key = p.finish(key, pr, depth+2)
	p.pos++
	if v := p.flowValue(depth + 2); v != nil {
		p.member(pair, map[string]int{}, key, v)
		pair.End = max(v.End, key.End)
		p.merge(pair)
	}
	return pair
}
