package yamlx

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

const twice = "a value cannot have two sets of anchor and tag"

// place says where a block node stands.
type place struct {
	indent  int  // the column of the collection around it, -1 at the top
	depth   int  // how many collections are around it
	empty   int  // the offset of the node if there is nothing
	compact bool // a collection may start on this line, after "- "
	list    bool // a list may stand in the column of the mapping around it
}

// block reads the node that follows an indicator or starts the document.
func (p *parser) block(w place) *tree.Node {
	if !p.enter(w.depth) {
		return nil
	}
	if !p.open(w) {
		return p.scalar(raw{start: w.empty, end: w.empty}, props{})
	}
	return p.content(w, props{})
}

// open moves to the content of a node and reports whether there is any.
func (p *parser) open(w place) bool {
	p.skip()
	if p.lost || p.ended() {
		return false
	}
	if !p.fresh() {
		return true
	}
	if p.column() > w.indent {
		return !p.tabbed()
	}
	return w.list && p.column() == w.indent && p.dash()
}

func (p *parser) dash() bool { return p.peek(0) == '-' && isBlank(p.peek(1)) }

// content reads a node. outer are properties that stood on a line before it and
// are the node's own; those on its line are its own, too, unless the node turns
// out to be a mapping: then they are the first key's.
func (p *parser) content(w place, outer props) *tree.Node {
	col, may := p.column(), w.compact || p.fresh()
	inner := p.props()
	if p.lost {
		return nil
	}
	both := inner.some() && outer.some() // which only a first key can make sense of
	if inner.some() && !both && (isBlank(p.peek(0)) || p.peek(0) == '#') {
		empty := p.pos
		if !p.open(w) {
			return p.finish(p.scalar(raw{start: empty, end: empty}, inner), inner, w.depth)
		}
		return p.content(w, inner)
	}
	own := outer
	if inner.some() {
		own = inner
	}
	switch c := p.peek(0); {
	case both && strings.IndexByte(" \t\r\n#|>[{", c) >= 0:
		p.syntax(p.pos, twice)
		return nil
	case p.dash() || c == '?' && isBlank(p.peek(1)):
		if !may || inner.some() {
			p.syntax(p.pos, "a list or mapping cannot start on this line; put it on lines of its own")
			return nil
		}
		if c == '-' {
			return p.finish(p.sequence(col, w), outer, w.depth)
		}
		return p.finish(p.mapping(col, w, nil), outer, w.depth)
	case c == '|' || c == '>':
		return p.finish(p.scalar(p.blockScalar(w.indent), own), own, w.depth)
	case c == '[' || c == '{':
		n := p.flowCollection(w.depth)
		if p.spaces(); p.peek(0) == ':' {
			p.syntax(p.pos, "only scalars can be keys")
		}
		return p.finish(n, own, w.depth)
	}
	return p.keyOrScalar(w, ownProps{col: col, may: may, inner: inner, outer: outer, own: own, both: both})
}

// ownProps are the properties around a node: those on its line, those on a line before it, and which of them are
// its own. Where both are some, only a first key can make sense of it.
type ownProps struct {
	col               int
	may, both         bool // may: a mapping can start here
	inner, outer, own props
}

// keyOrScalar reads a mapping that starts with the key at pos, or a scalar.
func (p *parser) keyOrScalar(w place, o ownProps) *tree.Node {
	key, r := p.head(o.inner, w.depth)
	switch {
	case p.lost:
		return nil
	case key != nil && !o.may:
		p.syntax(p.pos, `a second ": " on one line; quote the value if it is meant as text`)
		return nil
	case key != nil:
		return p.finish(p.mapping(o.col, w, p.finish(key, o.inner, w.depth+1)), o.outer, w.depth)
	case o.both:
		p.syntax(r.start, twice)
		return nil
	case r.alias != nil:
		if o.own.some() {
			p.syntax(r.start, "an alias cannot have an anchor or a tag of its own")
		}
		return r.alias
	}
	if r.style == tree.Plain {
		p.plainRest(&r, w.indent)
	}
	return p.finish(p.scalar(r, o.own), o.own, w.depth)
}

// head reads an alias, a quoted scalar or the first line of a plain one. If it
// is followed by a colon it is a key: pos is then at the colon, and the key is
// returned as a node. Otherwise the raw scalar is.
func (p *parser) head(pr props, depth int) (*tree.Node, raw) {
	var r raw
	switch p.peek(0) {
	case '*':
		r.start = p.pos
		r.alias = p.alias(depth)
		r.end = p.pos
	case '"', '\'':
		r = p.quoted()
	default:
		r = p.plain()
	}
	if p.lost {
		return nil, r
	}
	after := p.pos
	p.spaces()
	if p.peek(0) != ':' || !isBlank(p.peek(1)) && !(p.flow > 0 && (isFlow(p.peek(1)) || r.style != tree.Plain)) {
		p.pos = after
		return nil, r
	}
	return p.key(r, pr), r
}

// key makes a key of the node before a colon.
func (p *parser) key(r raw, pr props) *tree.Node {
	p.size++
	switch {
	case r.multi:
		p.syntax(r.start, "a key cannot go over several lines")
	case r.end-r.start > maxKey:
		p.syntax(r.start, fmt.Sprintf("a key cannot be longer than %d bytes", maxKey))
	case r.alias != nil && (r.alias.Kind == tree.Object || r.alias.Kind == tree.Array):
		p.syntax(r.start, "only scalars can be keys")
	case r.alias != nil:
		return r.alias
	case r.style == tree.Plain && r.text == "":
		p.syntax(p.pos, "a key is missing before the colon")
	default:
		return p.scalar(r, pr)
	}
	return nil
}

// sequence reads a block list whose dashes stand in column col.
func (p *parser) sequence(col int, w place) *tree.Node {
	n := &tree.Node{Kind: tree.Array, Style: tree.Block, Start: p.pos}
	for !p.lost && p.dash() {
		p.pos++
		item := p.block(place{indent: col, depth: w.depth + 1, empty: p.pos, compact: true})
		if item == nil {
			return n
		}
		n.Elems = append(n.Elems, item)
		n.End = item.End
		if !p.again(col) {
			break
		}
		if !p.dash() && col > w.indent {
			p.syntax(p.pos, `this line should start with "- " as the lines above do`)
		}
	}
	return n
}

// again moves to the next line and reports whether it belongs to the collection
// in column col.
func (p *parser) again(col int) bool {
	p.skip()
	if p.lost || p.ended() {
		return false
	}
	if !p.fresh() || p.column() > col || p.tabbed() {
		p.leftover()
		return false
	}
	return p.column() == col
}

// mapping reads a block mapping in column col. The first key, if it was read
// already, is given, and pos is at its colon.
func (p *parser) mapping(col int, w place, key *tree.Node) *tree.Node {
	n := &tree.Node{Kind: tree.Object, Style: tree.Block, Start: p.line + col}
	seen := map[string]int{}
	for more := true; more && !p.lost; more = p.again(col) {
		in := place{indent: col, depth: w.depth + 1, list: true}
		if key == nil {
			key, in.compact = p.nextKey(col, w.depth+1)
		}
		if key == nil || p.lost {
			break
		}
		in.empty = key.End
		var value *tree.Node
		if p.peek(0) == ':' {
			p.pos++
			in.empty = p.pos
			value = p.block(in)
		} else { // "? key" without a value
			value = p.scalar(raw{start: key.End, end: key.End}, props{})
		}
		if value == nil {
			break
		}
		p.member(n, seen, key, value)
		n.End = max(value.End, in.empty)
		key = nil
	}
	p.merge(n)
	return n
}

// nextKey reads a further key of a mapping. explicit is true for "? key", whose
// value may start a collection on the line of its colon.
func (p *parser) nextKey(col, depth int) (key *tree.Node, explicit bool) {
	if p.dash() {
		p.syntax(p.pos, "a list item stands where a key is expected; indent it or remove the dash")
		return nil, false
	}
	if p.peek(0) != '?' || !isBlank(p.peek(1)) {
		start := p.pos
		pr := p.props()
		if c := p.peek(0); c == '[' || c == '{' || c == '|' || c == '>' {
			p.syntax(p.pos, "only scalars can be keys")
			return nil, false
		}
		key, _ = p.head(pr, depth)
		if key == nil {
			p.syntax(start, `a key and ": " are expected here`)
		}
		return p.finish(key, pr, depth), false
	}
	p.pos++
	key = p.block(place{indent: col, depth: depth, empty: p.pos, compact: true})
	if key != nil && (key.Kind == tree.Object || key.Kind == tree.Array) {
		p.syntax(key.Start, "only scalars can be keys")
	}
	p.skip()
	if p.ended() || !p.fresh() || p.column() != col || p.peek(0) != ':' || !isBlank(p.peek(1)) {
		// No value: leave the rest to the caller, which sees no colon at pos.
		if p.peek(0) == ':' {
			p.leftover()
		}
	}
	return key, true
}

// member adds a key and its value, and reports a key that is there already.
func (p *parser) member(n *tree.Node, seen map[string]int, key, value *tree.Node) {
	name := key.Str
	if key.Kind != tree.String {
		name = string(key.Source(p.src))
		if key.Alias != nil {
			name = string(key.Alias.Source(p.src))
		}
	}
	if first, ok := seen[name]; ok {
		p.log.Add(tree.Problem{Offset: key.Start, Code: tree.CodeDuplicate, Also: []int{first},
			Msg: fmt.Sprintf("the key %.60q stands twice in one mapping", name), Hint: "keep one of the two"})
	} else {
		seen[name] = key.Start
	}
	n.Members = append(n.Members, tree.Member{Key: name, KeyNode: key, Value: value})
}
