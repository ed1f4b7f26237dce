package textedit

import (
	"bytes"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// edits returns the splices that make c.
func (l *layout) edits(c *change) ([]Edit, error) {
	box := c.box()
	switch {
	case box.Style == tree.Pair && (c.insert || c.remove):
		return nil, refuse("a mapping without braces has one key; write the braces first")
	case box.Style == tree.Block && c.insert:
		return l.blockInsert(box, c), nil
	case box.Style == tree.Block && c.remove:
		return l.blockRemove(c), nil
	case box.Style == tree.Block:
		return l.blockSet(box, c.at, c.value), nil
	case c.insert && l.f == YAML && len(c.chain) > 1 && len(box.Elems)+len(box.Members) == 0 && deep(c.value):
		// [] in a YAML file grows into lines, not into a long line.
		if up := c.chain[len(c.chain)-2]; up.Style == tree.Block {
			at := c.steps[len(c.steps)-1].(int)
			grown := &tree.Node{Kind: tree.Array, Elems: []*tree.Node{c.value}}
			if box.Kind == tree.Object {
				grown = &tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: c.key, Value: c.value}}}
			}
			return l.blockSet(up, at, grown), nil
		}
	case c.remove:
		return l.bracketRemove(box, c.at), nil
	case !c.insert:
		v := child(box, c.at)
		text := l.bracketValue(c.value, l.indent(v.Start), l.likeSibling(box, c.at))
		if v.Start == v.End && v.Start > 0 && !isSpace(l.src[v.Start-1]) {
			text = " " + text
		}
		return []Edit{{v.Start, v.End, text}}, nil
	}
	return l.bracketInsert(box, c), nil
}

func deep(n *tree.Node) bool { return n.Kind == tree.Object || n.Kind == tree.Array }

// A span is where one item of a collection stands.
type span struct{ start, end int }

// spans returns where the items of n stand: keys and values, without commas.
func spans(n *tree.Node) []span {
	var out []span
	for _, e := range n.Elems {
		out = append(out, span{e.Start, e.End})
	}
	for _, m := range n.Members {
		if !m.Inherited {
			out = append(out, span{m.KeyNode.Start, max(m.KeyNode.End, m.Value.End)})
		}
	}
	return out
}

// bracketInsert puts an item into [...] or {...}.
func (l *layout) bracketInsert(n *tree.Node, c *change) []Edit {
	items := spans(n)
	at := min(c.at, len(items))
	item := func(indent string, multi bool) string {
		text := l.bracketValue(c.value, indent, multi)
		if n.Kind == tree.Object {
			return l.bracketKey(c.key) + l.colon(n) + text
		}
		return text
	}
	switch {
	case len(items) == 0:
		return l.bracketFill(n, item)
	case at == len(items):
		return l.bracketAppend(n, items, item, l.likeSibling(n, at-1))
	}
	after := n.Start + 1
	if at > 0 {
		after = l.gap(items[at-1].end) + 1
	}
	multi := l.likeSibling(n, at)
	if p, end := l.tail(after); end {
		indent := l.indent(items[at].start)
		return []Edit{{p, p, l.nl + indent + item(indent, multi) + ","}}
	}
	text := item(l.indent(items[at].start), multi) + ","
	if at > 0 && !l.tight {
		text = " " + text
	} else if after < len(l.src) && !isSpace(l.src[after]) && !l.tight {
		text += " "
	}
	return []Edit{{after, after, text}}
}

type itemFunc func(indent string, multi bool) string

// bracketAppend puts an item after the last one.
func (l *layout) bracketAppend(n *tree.Node, items []span, item itemFunc, multi bool) []Edit {
	last, from := items[len(items)-1], n.Start+1
	if len(items) > 1 {
		from = items[len(items)-2].end
	}
	comma := l.gap(last.end)
	trailing := comma < len(l.src) && l.src[comma] == ','
	indent := l.indent(last.start)
	if bytes.IndexByte(l.src[from:last.start], '\n') < 0 {
		sep := " "
		if l.tight {
			sep = ""
		}
		if trailing {
			return []Edit{{comma + 1, comma + 1, sep + item(indent, multi) + ","}}
		}
		return []Edit{{last.end, last.end, "," + sep + item(indent, multi)}}
	}
	after, text := last.end, l.nl+indent+item(indent, multi)
	if trailing {
		after, text = comma+1, text+","
	}
	p, end := l.tail(after)
	if !end {
		p = after
	}
	if trailing {
		return []Edit{{p, p, text}}
	}
	return []Edit{{last.end, last.end, ","}, {p, p, text}}
}

// bracketFill puts the first item into an empty collection.
func (l *layout) bracketFill(n *tree.Node, item itemFunc) []Edit {
	open, shut := n.Start+1, n.End-1
	outer := l.indent(n.Start)
	inner := outer + l.unit
	if bytes.IndexByte(l.src[open:shut], '\n') >= 0 {
		p := open
		for q := l.gapEnd(open, shut); q > p; q = l.gapEnd(p, shut) {
			p = q
		}
		return []Edit{{p, p, l.nl + inner + item(inner, true)}}
	}
	blank := len(bytes.TrimSpace(l.src[open:shut])) == 0
	switch {
	case l.f == YAML || !l.pretty:
		if blank {
			return []Edit{{open, shut, item(outer, false)}}
		}
		return []Edit{{shut, shut, item(outer, false)}}
	case blank:
		return []Edit{{open, shut, l.nl + inner + item(inner, true) + l.nl + outer}}
	}
	return []Edit{{shut, shut, l.nl + inner + item(inner, true) + l.nl + outer}}
}

// gapEnd returns where the next comment between pos and limit ends, or pos.
func (l *layout) gapEnd(pos, limit int) int {
	for i := pos; i < limit; i++ {
		if end := l.comment(i); end > i {
			return end
		}
	}
	return pos
}

// bracketRemove takes an item out of [...] or {...}.
func (l *layout) bracketRemove(n *tree.Node, at int) []Edit {
	items := spans(n)
	if at >= len(items) {
		return nil
	}
	it := items[at]
	var more []Edit
	comma := l.gap(it.end)
	if comma < len(l.src) && l.src[comma] == ',' {
		it.end = comma + 1
	} else if at > 0 {
		prev := l.gap(items[at-1].end)
		more = append(more, Edit{Start: prev, End: prev + 1})
	}
	p, end := l.tail(it.end)
	if l.first(it.start) && end {
		return append(more, Edit{Start: max(l.before(it.start), n.Start+1), End: p})
	}
	if at == len(items)-1 {
		for it.start > n.Start+1 && isSpace(l.src[it.start-1]) {
			it.start--
		}
	} else {
		for it.end < len(l.src) && isSpace(l.src[it.end]) {
			it.end++
		}
	}
	return append(more, Edit{Start: it.start, End: it.end})
}

// colon returns the text between keys and values in n, e.g. `: `.
func (l *layout) colon(n *tree.Node) string {
	for i := len(n.Members) - 1; i >= 0; i-- {
		m := n.Members[i]
		if m.Inherited || m.Value.Start <= m.KeyNode.End {
			continue
		}
		if s := string(l.src[m.KeyNode.End:m.Value.Start]); s == ":" && l.f != YAML || s == " : " || s == ": " {
			return s
		}
		break
	}
	if l.tight {
		return ":"
	}
	return ": "
}

// likeSibling reports whether a collection next to item at should go over
// several lines, because its neighbour does or there is none to tell.
func (l *layout) likeSibling(n *tree.Node, at int) bool {
	items := len(n.Elems) + len(n.Members)
	for _, i := range []int{at, at - 1, at + 1} {
		if i < 0 || i >= items {
			continue
		}
		if v := child(n, i); deep(v) && len(v.Elems)+len(v.Members) > 0 {
			return bytes.IndexByte(v.Source(l.src), '\n') >= 0
		}
	}
	return l.pretty
}

func (l *layout) bracketKey(key string) string {
	if l.f == YAML {
		return l.quote(key, true, true)
	}
	return jsonx.Quote(key)
}

// bracketValue writes a value on one line or, in JSON where multi is set, over several
// lines whose first is indented by indent.
func (l *layout) bracketValue(n *tree.Node, indent string, multi bool) string {
	if !deep(n) {
		return l.scalar(n, false)
	}
	open, shut := "[", "]"
	if n.Kind == tree.Object {
		open, shut = "{", "}"
	}
	if len(n.Elems)+len(n.Members) == 0 {
		return open + shut
	}
	inner, lead, sep, trail := indent, "", ", ", ""
	colon := ": "
	if l.tight {
		sep, colon = ",", ":"
	}
	if multi && l.f != YAML {
		inner = indent + l.unit
		lead, sep, trail = l.nl+inner, ","+l.nl+inner, l.nl+indent
	}
	child := func(n *tree.Node) string {
		if deep(n) {
			return l.bracketValue(n, inner, multi)
		}
		return l.scalar(n, true)
	}
	var parts []string
	for _, e := range n.Elems {
		parts = append(parts, child(e))
	}
	for _, m := range n.Members {
		parts = append(parts, l.bracketKey(m.Key)+colon+child(m.Value))
	}
	return open + lead + strings.Join(parts, sep) + trail + shut
}
