package textedit

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

// blockInsert puts an item into a block collection: after the item before it,
// with the rest of its line, or in front of the first.
func (l *layout) blockInsert(n *tree.Node, c *change) []Edit {
	col := l.column(n.Start)
	text := "- " + l.blockItem(c.value, col+2)
	if n.Kind == tree.Object {
		text = l.quote(c.key, true, false) + ":" + l.blockValue(c.value, col, false)
	}
	items := spans(n)
	at := c.at - (len(n.Members) + len(n.Elems) - len(items)) // inherited members stand first
	if at <= 0 {
		return []Edit{{n.Start, n.Start, text + l.nl + blanks(col)}}
	}
	at = min(at, len(items))
	end := items[at-1].end
	if l.lineStart(end) && end > n.Start { // after a block scalar that keeps its last line breaks
		return []Edit{{end, end, blanks(col) + text + l.nl}}
	}
	end = l.eol(end)
	return []Edit{{end, end, l.nl + blanks(col) + text}}
}

// blockSet replaces the value of an item of a block collection.
func (l *layout) blockSet(n *tree.Node, at int, value *tree.Node) []Edit {
	old := child(n, at)
	nested := old.Style == tree.Block && old.Alias == nil
	if n.Kind == tree.Array {
		text := l.blockItem(value, l.column(old.Start))
		if old.Start == old.End {
			text = " " + l.blockItem(value, l.column(n.Start)+2)
		}
		return []Edit{{old.Start, old.End, text + l.lineEnd(old)}}
	}
	key := n.Members[at]
	if key.Inherited { // write it out, which overrides the inherited value
		text := l.quote(key.Key, true, false) + ":" + l.blockValue(value, l.column(n.Start), false)
		return []Edit{{n.Start, n.Start, text + l.nl + blanks(l.column(n.Start))}}
	}
	text := l.blockValue(value, l.column(n.Start), false)
	long := strings.HasPrefix(text, l.nl)
	switch {
	case nested && !l.sameLine(key.KeyNode.End, old.Start):
		from := l.before(old.Start)
		if long {
			return []Edit{{from, old.End, text}}
		}
		colon := l.props(l.gap(key.KeyNode.End) + 1)
		return []Edit{{colon, colon, text}, {from, old.End, l.lineEnd(old)}}
	case long: // the old value goes, comments on its line stay, the new lines follow
		start := old.Start
		for start > 0 && isSpace(l.src[start-1]) && start > key.KeyNode.End+1 && old.End > old.Start {
			start--
		}
		if l.lineStart(old.End) {
			return []Edit{{start, old.End, text + l.nl}}
		}
		end := l.eol(old.End)
		return []Edit{{start, old.End, ""}, {end, end, text}}
	case old.Start == old.End:
		return []Edit{{old.Start, old.End, text}}
	}
	return []Edit{{old.Start, old.End, text[1:] + l.lineEnd(old)}}
}

// props skips the anchor and the tag that may follow a colon.
func (l *layout) props(pos int) int {
	for {
		p := pos
		for p < len(l.src) && isSpace(l.src[p]) {
			p++
		}
		if p >= len(l.src) || l.src[p] != '&' && l.src[p] != '!' {
			return pos
		}
		for pos = p; pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[pos]) < 0; pos++ {
		}
	}
}

// lineEnd is the line break that a replacement of old must end with: one if old
// took its own in.
func (l *layout) lineEnd(old *tree.Node) string {
	if old.End > old.Start && l.lineStart(old.End) {
		return l.nl
	}
	return ""
}

func (l *layout) sameLine(a, b int) bool { return l.eol(a) == l.eol(b) }

// blockRemove takes an item out of a block collection, with its lines.
func (l *layout) blockRemove(c *change) []Edit {
	n := c.box()
	items := spans(n)
	at := c.at - (len(n.Members) + len(n.Elems) - len(items))
	if at < 0 {
		return nil
	}
	if len(items) == 1 {
		empty := &tree.Node{Kind: n.Kind}
		if len(c.chain) == 1 {
			return []Edit{{n.Start, n.End, l.bracketValue(empty, "", false) + l.lineEnd(n)}}
		}
		return l.blockSet(c.chain[len(c.chain)-2], c.steps[len(c.steps)-1].(int), empty)
	}
	start := n.Start
	if at > 0 {
		start = l.gap(items[at-1].end)
	}
	end := items[at].end
	switch {
	case !l.first(start): // the first key after a dash: the next one takes its place
		return []Edit{{start, l.gap(end), ""}}
	case l.lineStart(end) && end > start:
		return []Edit{{l.line(start), end, ""}}
	case l.next(end) == l.eol(end): // the last line has no line break
		return []Edit{{l.before(start), len(l.src), ""}}
	}
	return []Edit{{l.line(start), l.next(end), ""}}
}

func blanks(n int) string { return strings.Repeat(" ", n) }

// document writes a whole file.
func (l *layout) document(n *tree.Node) string {
	if l.f != YAML {
		return l.bracketValue(n, "", true) + l.nl
	}
	switch {
	case n.Kind == tree.Object && len(n.Members) > 0:
		return l.blockMembers(n, 0, false) + l.nl
	case n.Kind == tree.Array && len(n.Elems) > 0:
		return strings.TrimPrefix(l.blockElems(n, 0), l.nl) + l.nl
	}
	return l.bracketValue(n, "", false) + l.nl
}

// blockValue writes the value after the colon of a key in column col: text on the
// line, or lines, each after its line break.
func (l *layout) blockValue(n *tree.Node, col int, inItem bool) string {
	switch {
	case n.Kind == tree.Object && len(n.Members) > 0:
		col += len(l.unit)
		return l.nl + blanks(col) + l.blockMembers(n, col, inItem)
	case n.Kind == tree.Array && len(n.Elems) > 0 && !(inItem && l.flow && scalars(n)):
		return l.blockElems(n, col+l.lists)
	}
	return " " + l.bracketValue(n, "", false)
}

func (l *layout) blockMembers(n *tree.Node, col int, inItem bool) string {
	var parts []string
	for _, m := range n.Members {
		parts = append(parts, l.quote(m.Key, true, false)+":"+l.blockValue(m.Value, col, inItem))
	}
	return strings.Join(parts, l.nl+blanks(col))
}

func (l *layout) blockElems(n *tree.Node, col int) string {
	var b strings.Builder
	for _, e := range n.Elems {
		b.WriteString(l.nl + blanks(col) + "- " + l.blockItem(e, col+2))
	}
	return b.String()
}

// blockItem writes an element whose text starts in column col.
func (l *layout) blockItem(n *tree.Node, col int) string {
	if n.Kind == tree.Object && len(n.Members) > 0 {
		return l.blockMembers(n, col, true)
	}
	return l.bracketValue(n, "", false)
}

// scalar writes a value without children; in brackets of a YAML file where flow is set.
func (l *layout) scalar(n *tree.Node, flow bool) string {
	switch {
	case n.Kind == tree.String && l.f == YAML:
		return l.quote(n.Str, false, flow)
	case n.Kind == tree.String:
		return jsonx.Quote(n.Str)
	case n.Kind == tree.Number:
		return n.Num
	case n.Kind == tree.Bool:
		return fmt.Sprint(n.Bool)
	}
	return "null"
}

// quote writes s as a YAML scalar: plain where every reader takes that for this
// very text, otherwise in quotes. In brackets, flow, more has to be quoted.
func (l *layout) quote(s string, key, flow bool) string {
	if plainSafe(s, key, flow) {
		return s
	}
	if !strings.ContainsFunc(s, unprintable) && (l.single || strings.Contains(s, `\`)) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	for _, r := range jsonx.Quote(s) {
		if unprintable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unprintable reports whether r cannot stand in a YAML file, or is a line break
// to some readers.
func unprintable(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// plainLetter tells whether a plain scalar may begin with r, in every reader.
func plainLetter(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("_/.", r)
}

// plainInner tells whether r may stand further in, as the colon of `a:b` outside of brackets.
func plainInner(r rune, flow bool) bool {
	if r > 0xa0 {
		return !unprintable(r)
	}
	return strings.ContainsRune(" -+=@~^$();:", r) && (!flow || r != ':')
}

// plainSafe goes by letters first, so that no reader's quirk matters, and then
// asks a reader.
func plainSafe(s string, key, flow bool) bool {
	if s == "" || len(s) > 200 || s != strings.TrimSpace(s) {
		return false
	}
	for i, r := range s {
		if !plainLetter(r) && (i == 0 || !plainInner(r, flow)) {
			return false
		}
	}
	text := "k: " + s
	if key {
		text = s + ": v"
	}
	n, problems := yamlx.Parse([]byte(text), yamlx.Options{})
	if len(problems) > 0 || len(n.Members) != 1 {
		return false
	}
	if key {
		return n.Members[0].KeyNode.Kind == tree.String && n.Members[0].Key == s
	}
	return n.Members[0].Value.Kind == tree.String && n.Members[0].Value.Str == s
}
