// Package tomlx reads TOML into a tree with positions.
//
// It owns the way from the library's expressions to the tree; it knows no file of
// anybody.
package tomlx

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/obstat/obstat/internal/format/tree"
)

// A Doc is a TOML document as a tree with positions. A list of tables starts at its
// first `[[`, each of its tables at its own.
type Doc struct {
	Root *tree.Node
	// Headers has the offset of the `[` of every table with a header of its own.
	Headers map[*tree.Node]int
	src     []byte
}

const bom = "\ufeff"

// Parse reads a document for its tree alone.
func Parse(src []byte) (*tree.Node, []tree.Problem) {
	d, problems := ParseDoc(src)
	return d.Root, problems
}

// ParseDoc reads a document. The decoder says whether it is one, with all rules
// about tables that are defined twice; the parser then gives positions.
func ParseDoc(src []byte) (*Doc, []tree.Problem) {
	d := &Doc{src: src, Root: &tree.Node{Kind: tree.Object, End: len(src)}, Headers: map[*tree.Node]int{}}
	text := bytes.TrimPrefix(src, []byte(bom))
	skipped := len(src) - len(text)
	if err := toml.Unmarshal(text, &map[string]any{}); err != nil {
		return d, []tree.Problem{{Offset: skipped + offsetOf(text, err), Code: tree.CodeSyntax, Msg: strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	b := &builder{Doc: d, skipped: skipped}
	b.Reset(text)
	table := d.Root
	for b.NextExpression() {
		switch e := b.Expression(); e.Kind {
		case unstable.KeyValue:
			b.put(table, e)
		case unstable.Table, unstable.ArrayTable:
			table = b.table(e)
		}
	}
	return d, nil
}

// offsetOf returns where a decoding error is, 0 if it does not say.
func offsetOf(text []byte, err error) int {
	var at *toml.DecodeError
	if !errors.As(err, &at) {
		return 0
	}
	row, col := at.Position()
	offset := 0
	for ; row > 1; row-- {
		offset += bytes.IndexByte(text[offset:], '\n') + 1
	}
	return min(offset+max(col-1, 0), len(text))
}

// A builder turns the parser's expressions into a tree.
type builder struct {
	unstable.Parser
	*Doc
	skipped int
}

// child returns the object at a key, which is made where there is none; of a list
// of tables it is the last.
func (b *builder) child(n *tree.Node, key *unstable.Node) *tree.Node {
	next := n.Get(string(key.Data))
	if next == nil {
		next = &tree.Node{Kind: tree.Object}
		b.add(n, key, next)
	}
	if next.Is(tree.Array) {
		return next.At(-1)
	}
	return next
}

func (b *builder) add(n *tree.Node, key *unstable.Node, value *tree.Node) {
	at := b.skipped + int(key.Raw.Offset)
	n.Members = append(n.Members, tree.Member{Key: string(key.Data), Value: value, KeyNode: &tree.Node{Kind: tree.String, Str: string(key.Data), Start: at, End: at + int(key.Raw.Length)}})
}

// table returns the object that a header, `[a.b]` or `[[a.b]]`, opens.
func (b *builder) table(e *unstable.Node) *tree.Node {
	n := b.Root
	start := -1
	for it := e.Key(); it.Next(); {
		key := it.Node()
		if start < 0 {
			start = bytes.LastIndexByte(b.src[:b.skipped+int(key.Raw.Offset)], '[')
			if e.Kind == unstable.ArrayTable {
				start--
			}
		}
		if !it.IsLast() || e.Kind == unstable.Table {
			n = b.child(n, key)
			continue
		}
		list := n.Get(string(key.Data))
		if list == nil {
			list = &tree.Node{Kind: tree.Array, Start: start, End: start}
			b.add(n, key, list)
		}
		n = &tree.Node{Kind: tree.Object}
		list.Elems = append(list.Elems, n)
	}
	n.Start, n.End, b.Headers[n] = start, start, start
	return n
}

// put adds `a.b = value` to a table.
func (b *builder) put(n *tree.Node, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		if key := it.Node(); it.IsLast() {
			at := b.skipped + int(key.Raw.Offset+key.Raw.Length)
			at += bytes.IndexByte(b.src[at:], '=') + 1
			b.add(n, key, b.value(e.Value(), at))
			return
		}
		n = b.child(n, it.Node())
	}
}

// value reads a value that stands somewhere behind from, with nothing but blanks, commas
// and comments between: the parser does not say where lists and inline tables are.
func (b *builder) value(v *unstable.Node, from int) *tree.Node {
	start := b.skipped + int(v.Raw.Offset)
	n := &tree.Node{Start: start, End: start + int(v.Raw.Length)}
	switch v.Kind {
	case unstable.Array:
		n.Kind, n.Start = tree.Array, b.skip(from)
		at := n.Start + 1
		for it := v.Children(); it.Next(); {
			e := b.value(it.Node(), at)
			n.Elems, at = append(n.Elems, e), e.End
		}
		n.End = b.skip(at) + 1
	case unstable.InlineTable:
		n.Kind, n.Start = tree.Object, b.skip(from)
		at := n.Start + 1
		for it := v.Children(); it.Next(); {
			b.put(n, it.Node())
			for last := n; last.Is(tree.Object) && len(last.Members) > 0; {
				last = last.Members[len(last.Members)-1].Value
				at = max(at, last.End)
			}
		}
		n.End = b.skip(at) + 1
	case unstable.Bool:
		n.Kind, n.Bool = tree.Bool, v.Data[0] == 't'
	case unstable.Integer, unstable.Float:
		n.Kind, n.Num = tree.Number, string(bytes.ReplaceAll(v.Data, []byte("_"), nil))
	default: // dates are texts here
		n.Kind, n.Str = tree.String, string(v.Data)
	}
	return n
}

// skip returns the place of the next character that is no blank, comma or comment.
func (b *builder) skip(at int) int {
	for ; at < len(b.src); at++ {
		switch b.src[at] {
		case ' ', '\t', '\r', '\n', ',':
		case '#':
			end := bytes.IndexByte(b.src[at:], '\n')
			if end < 0 {
				return len(b.src) - 1
			}
			at += end
		default:
			return at
		}
	}
	return max(len(b.src)-1, 0)
}
