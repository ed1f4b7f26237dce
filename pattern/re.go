package pattern

import (
	"errors"
	"fmt"
)

// errTime is the fault of a match that ran out of its time. It is neither a match nor a miss.
var errTime = errors.New("pattern ran out of time")

// A syntaxError says where a text stops being a pattern.
type syntaxError struct {
	Offset int    // in bytes, into the text
	Msg    string // without the position
}

// Error implements error.
func (e *syntaxError) Error() string { return fmt.Sprintf("%s at offset %d", e.Msg, e.Offset) }

// Full and Search are Python's re.fullmatch and re.search (CPython 3.11) on
// text. An expression is read into a tree by our own reader, so that it is
// taken or refused as Python does it.

// readRE returns the tree of an expression and how many groups it has. The tree of a search,
// unlike that of a full match, stands anywhere in a match.
func readRE(text string, full bool) (tree *node, groups int, err error) {
	tree, groups, err = parseRE(text)
	if err != nil {
		return nil, 0, err
	}
	tree = simplify(tree)
	// A reference may depend on the text that a repetition took.
	if !full && !tree.any(func(n *node) bool { return n.op == nRef || n.op == nCond }) {
		tree = trimSearch(tree, true, true)
	}
	return tree, groups, nil
}

// wholeStrings turns the tree of a search into one for whole strings.
func wholeStrings(tree *node) *node {
	items := append([]*node{}, sequenceOf(tree)...)
	if len(items) > 0 && items[0].op == nAt && items[0].at == atStart {
		items = items[1:]
	} else {
		items = append([]*node{anything()}, items...)
	}
	if k := len(items) - 1; k >= 0 && items[k].op == nAt && items[k].at == atEnd {
		return flatCat(items[:k])
	}
	if k := len(items) - 1; k >= 0 && items[k].op == nAt && items[k].at == atEndNL {
		items[k] = repeatNode(charNode('\n'), 0, 1)
		return flatCat(items)
	}
	return flatCat(append(items, anything()))
}

// trimSearch drops repetitions that a search need not look for: at its start (and, by the
// same token, at its end) a repetition has no reason to go on once it went
// round often enough.
func trimSearch(n *node, start, end bool) *node {
	switch n.op {
	case nRepeat:
		if n.mode == possessive || n.min == n.max {
			return n
		}
		c := *n
		c.max = n.min
		return simpleRepeat(&c)
	case nAlt:
		c := *n
		c.subs = make([]*node, len(n.subs))
		for i, sub := range n.subs {
			c.subs[i] = trimSearch(sub, start, end)
		}
		return &c
	case nCat:
		subs := append([]*node{}, n.subs...)
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

// sequenceOf returns the parts of a sequence, which may be just one.
func sequenceOf(n *node) []*node {
	if n.op == nCat {
		return n.subs
	}
	return []*node{n}
}
