// Package re is Python's regular expressions, as the re module of CPython 3.11 takes, refuses and
// matches them.
//
// It owns the reader (with Python's own error texts and places), the tree that every pattern flavour
// is turned into, character sets, and the program that a tree is compiled to and run as. It knows no
// flavour, with one exception: a few nodes exist for minimatch alone.
package re

import (
	"errors"
	"fmt"
)

// ErrTime is the fault of a match that ran out of its time. It is neither a match nor a miss.
var ErrTime = errors.New("pattern ran out of time")

// An Error says where a text stops being a pattern.
type Error struct {
	Offset int    // in bytes, into the text
	Msg    string // without the position
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s at offset %d", e.Msg, e.Offset) }

// Read returns the tree of an expression, simplified, and how many groups it has. The tree of a
// search, unlike that of a full match, stands anywhere in a match. Its error is an *Error.
func Read(text string, full bool) (tree *Node, groups int, err error) {
	tree, groups, err = Parse(text)
	if err != nil {
		return nil, 0, err
	}
	tree = Simplify(tree)
	// A reference may depend on the text that a repetition took.
	if !full && !tree.any(func(n *Node) bool { return n.Op == OpRef || n.Op == OpCond }) {
		tree = trimSearch(tree, true, true)
	}
	return tree, groups, nil
}

// Whole turns the tree of a search into one for whole strings.
func Whole(tree *Node) *Node {
	items := append([]*Node{}, Parts(tree)...)
	if len(items) > 0 && items[0].Op == OpAt && items[0].At == AtStart {
		items = items[1:]
	} else {
		items = append([]*Node{Anything()}, items...)
	}
	if k := len(items) - 1; k >= 0 && items[k].Op == OpAt && items[k].At == AtEnd {
		return flatCat(items[:k])
	}
	if k := len(items) - 1; k >= 0 && items[k].Op == OpAt && items[k].At == AtEndNL {
		items[k] = Repeat(Char('\n'), 0, 1)
		return flatCat(items)
	}
	return flatCat(append(items, Anything()))
}

// trimSearch drops repetitions that a search need not look for: at its start (and, by the
// same token, at its end) a repetition has no reason to go on once it went
// round often enough.
func trimSearch(n *Node, start, end bool) *Node {
	switch n.Op {
	case OpRepeat:
		if n.Mode == Possessive || n.Min == n.Max {
			return n
		}
		c := *n
		c.Max = n.Min
		return simpleRepeat(&c)
	case OpAlt:
		c := *n
		c.Subs = make([]*Node, len(n.Subs))
		for i, sub := range n.Subs {
			c.Subs[i] = trimSearch(sub, start, end)
		}
		return &c
	case OpCat:
		subs := append([]*Node{}, n.Subs...)
		for start && len(subs) > 0 {
			if subs[0] = trimSearch(subs[0], true, false); !subs[0].empty() {
				break
			}
			subs = subs[1:]
		}
		for end && len(subs) > 0 {
			last := len(subs) - 1
			if subs[last] = trimSearch(subs[last], false, true); !subs[last].empty() {
				break
			}
			subs = subs[:last]
		}
		return flatCat(subs)
	}
	return n
}

// Parts returns the parts of a sequence, which may be just one.
func Parts(n *Node) []*Node {
	if n.Op == OpCat {
		return n.Subs
	}
	return []*Node{n}
}
