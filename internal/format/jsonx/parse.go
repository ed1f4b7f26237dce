// Package jsonx reads JSON and JSON with comments strictly, and writes JSON in a
// chosen order of keys. It is the module's only reader of JSON that comes from
// outside: a [Scanner] reads token by token without allocating, [Parse] builds a
// tree with byte offsets and key order on it.
//
// Where encoding/json is lenient (the last of two equal keys wins, TOOL_NAME
// stands for tool_name, broken UTF-8 is patched over), jsonx reports a problem
// with its position: two readers of one document must not see two documents. It
// knows no dialect; tree.Node's Check says which keys may stand where.
package jsonx

import (
	"fmt"

	"github.com/obstat/obstat/internal/format/tree"
)

// The limits of Parse; a Scanner has the second alone.
const (
	MaxBytes = 10 << 20
	MaxDepth = 500
	MaxNodes = 1 << 20 // a node weighs far more than the two bytes it may be written with
)

// Options admit more than strict JSON, or refuse more. The zero value is strict
// JSON.
type Options struct {
	// Comments admits // and /* */ comments.
	Comments bool
	// TrailingCommas admits one comma after the last member or element.
	TrailingCommas bool
	// NUL admits \u0000 in strings, which no path or command can hold.
	NUL bool
	// NoMark refuses a byte order mark, which a file may start with.
	NoMark bool
	// Fold is how many levels of objects refuse keys that differ only in case:
	// 1 is the outermost object alone, FoldAll all of them. Zero: equal keys are
	// refused, case variants taken.
	Fold int
}

// FoldAll refuses case variants of a key at every depth.
const FoldAll = MaxDepth + 1

// JSONC are the options of the .jsonc files that editors and agents read.
func JSONC() Options { return Options{Comments: true, TrailingCommas: true} }

// Parse reads one JSON document. The problems are all that were found, sorted;
// reading goes on after duplicate keys, broken characters, comments and trailing
// commas, and stops at the first place where the structure is lost. The node holds
// the values up to there, nil if there are none: unless tree.Fatal(problems) is
// false it must not be used for anything but finding further problems.
func Parse(src []byte, opt Options) (*tree.Node, []tree.Problem) {
	var log tree.Log
	if len(src) > MaxBytes {
		log.Add(tree.Problem{Offset: MaxBytes, Code: tree.CodeSize, Msg: fmt.Sprintf("the document has more than %d bytes", MaxBytes)})
		return nil, log.Problems()
	}
	p := &parser{}
	p.s.open, p.s.keys = p.open[:0], p.keys[:0]
	p.s.Reset(string(src), opt)
	p.s.Log = &log
	root := p.value(p.s.Next())
	if !p.full && p.s.Err() == nil {
		p.s.Next() // the end, or a problem
	}
	return root, log.Problems()
}

type parser struct {
	s     Scanner
	nodes int
	full  bool // there are more nodes than MaxNodes
	// Most documents are small: their buffers come with the parser.
	open [4]container
	keys [8]seenKey
	slab []tree.Node
}

// node returns a new node. They are made in stretches that grow with the document.
func (p *parser) node() *tree.Node {
	if len(p.slab) == 0 {
		p.slab = make([]tree.Node, min(256, max(4, p.nodes)))
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	return n
}

// value builds the node of the value whose first token was read last.
func (p *parser) value(k Kind) *tree.Node {
	if k == Bad || p.full {
		return nil
	}
	if p.nodes++; p.nodes > MaxNodes {
		p.full = true
		p.s.Log.Add(tree.Problem{Offset: p.s.Start, Code: tree.CodeSize, Msg: fmt.Sprintf("the document holds more than %d values", MaxNodes)})
		return nil
	}
	n := p.node()
	n.Start, n.End = p.s.Start, p.s.End
	switch k {
	case ObjectStart:
		n.Kind, n.Style = tree.Object, tree.Flow
		p.object(n)
	case ArrayStart:
		n.Kind, n.Style = tree.Array, tree.Flow
		p.array(n)
	case Str:
		n.Kind, n.Style, n.Str = tree.String, tree.Double, p.s.Text
	case Num:
		n.Kind, n.Num = tree.Number, p.s.Text
	case True, False:
		n.Kind, n.Bool = tree.Bool, k == True
	case Null:
		n.Kind = tree.Null
	}
	return n
}

func (p *parser) object(n *tree.Node) {
	for !p.full && p.s.Next() == Key {
		key := p.node()
		key.Kind, key.Style, key.Start, key.End, key.Str = tree.String, tree.Double, p.s.Start, p.s.End, p.s.Text
		if n.Members == nil {
			n.Members = make([]tree.Member, 0, 4)
		}
		if v := p.value(p.s.Next()); v != nil {
			n.Members = append(n.Members, tree.Member{Key: key.Str, KeyNode: key, Value: v})
		}
	}
	n.End = p.s.pos
}

func (p *parser) array(n *tree.Node) {
	for {
		k := p.s.Next()
		if k == Bad || k == ArrayEnd || p.full {
			break
		}
		if v := p.value(k); v != nil {
			n.Elems = append(n.Elems, v)
		}
	}
	n.End = p.s.pos
}
