package textedit

import (
	"fmt"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A request is one change as asked for.
type request struct {
	value  any
	path   []any
	before *string // for a key that is created
	insert bool    // into the list at path, at index
	index  int
	remove bool // the value at path
}

// A change is a request resolved against a document: one child of one
// collection is set, inserted or removed.
type change struct {
	chain  []*tree.Node // from the root to the collection
	steps  []any        // from each node of chain to the next
	at     int          // index of the child, or where it goes
	insert bool
	remove bool
	key    string // of an inserted member
	value  *tree.Node
}

func (c *change) box() *tree.Node { return c.chain[len(c.chain)-1] }

func (f Format) change(src []byte, r request) ([]byte, error) {
	value, err := toNode(r.value)
	if err != nil {
		return nil, err
	}
	if f.blank(src) && f != 0 {
		return f.create(src, r, value)
	}
	root, err := f.read(src)
	if err != nil {
		return nil, err
	}
	if root.Kind == tree.Null && root.Start == root.End { // nothing after a YAML document's ---
		return f.create(src, r, value)
	}
	if len(r.path) == 0 && !r.insert {
		return nil, refuse("a whole document cannot be replaced")
	}
	if !r.insert && !r.remove && tree.Equal(root.At(r.path...), value) {
		return src, nil
	}
	c, err := resolve(root, r, value)
	if err != nil {
		return nil, err
	}
	edits, err := newLayout(f, src, root).edits(c)
	if err != nil {
		return nil, err
	}
	return f.verify(src, edits, c.expected())
}

// verify applies edits and makes sure that the text now means want.
func (f Format) verify(src []byte, edits []Edit, want *tree.Node) ([]byte, error) {
	out, err := Apply(src, edits...)
	if err != nil {
		return nil, refuse("%v", err)
	}
	got, err := f.read(out)
	if err != nil {
		return nil, refuse("the file would not be readable any more (%v)", err)
	}
	if !tree.Equal(got, want) {
		return nil, refuse("it would change other parts of the file as well")
	}
	return out, nil
}

// create writes the first content of a file that holds none.
func (f Format) create(src []byte, r request, value *tree.Node) ([]byte, error) {
	if r.remove {
		return nil, refuse("there is nothing at %s", show(r.path))
	}
	if r.insert {
		value = list(value)
	}
	doc, err := wrap(r.path, value)
	if err != nil {
		return nil, err
	}
	l := newLayout(f, src, nil)
	text := l.document(doc)
	if end := len(src); end > bom(src) && !l.lineStart(end) {
		text = l.nl + text
	}
	return f.verify(src, []Edit{{len(src), len(src), text}}, doc)
}

// resolve finds the collection to change. Steps that are not there yet become
// part of the value.
func resolve(root *tree.Node, r request, value *tree.Node) (*change, error) {
	c := &change{chain: []*tree.Node{root}, value: value, remove: r.remove}
	path := r.path
	for i, step := range path {
		box := c.box()
		at, err := childIndex(box, step)
		if err != nil {
			return nil, refuse("%v at %s", err, show(path[:i]))
		}
		last := i == len(path)-1
		missing := at < 0
		if !missing && !(last && !r.insert) {
			next := child(box, at)
			if inherited(box, at) || next.Alias != nil {
				return nil, refuse("%s is shared through an alias", show(path[:i+1]))
			}
			if next.Kind != tree.Null {
				c.chain, c.steps = append(c.chain, next), append(c.steps, at)
				continue
			}
		}
		if missing && r.remove {
			return nil, refuse("there is nothing at %s", show(path))
		}
		if r.insert {
			value = list(value)
		}
		if c.value, err = wrap(path[i+1:], value); err != nil {
			return nil, err
		}
		c.at = at
		if missing {
			if err := c.create(box, step, r, last); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	return c, c.intoList(r)
}

// create makes c insert a member with the key step.
func (c *change) create(box *tree.Node, step any, r request, last bool) error {
	key, ok := step.(string)
	if !ok {
		return refuse("there is no element %v", step)
	}
	c.insert, c.key, c.at = true, key, len(box.Members)
	if r.before != nil && last {
		for i, m := range box.Members {
			if m.Key == *r.before && !m.Inherited {
				c.at = i
			}
		}
	}
	return nil
}

// intoList makes c insert its value into the list that the path led to.
func (c *change) intoList(r request) error {
	box := c.box()
	if box.Kind != tree.Array {
		return refuse("%s is %v, not a list", show(r.path), box.Kind)
	}
	c.insert, c.at = true, r.index
	if r.index == -1 {
		c.at = len(box.Elems)
	}
	if c.at < 0 || c.at > len(box.Elems) {
		return refuse("the list at %s has no place %d", show(r.path), r.index)
	}
	return nil
}

// childIndex returns the place of a step in box, or -1 if a key is not there.
func childIndex(box *tree.Node, step any) (int, error) {
	switch s := step.(type) {
	case string:
		if box.Kind != tree.Object {
			return 0, fmt.Errorf("there is %v, not an object,", box.Kind)
		}
		for i, m := range box.Members {
			if m.Key == s {
				return i, nil
			}
		}
		return -1, nil
	case int:
		if box.Kind != tree.Array || s < 0 || s >= len(box.Elems) {
			return 0, fmt.Errorf("there is no element %d", s)
		}
		return s, nil
	}
	return 0, fmt.Errorf("a path has keys and indexes, not %T,", step)
}

func child(box *tree.Node, at int) *tree.Node {
	if box.Kind == tree.Object {
		return box.Members[at].Value
	}
	return box.Elems[at]
}

func inherited(box *tree.Node, at int) bool {
	return box.Kind == tree.Object && box.Members[at].Inherited
}

// expected is the document as it has to be read after the change.
func (c *change) expected() *tree.Node {
	box := *c.box()
	switch {
	case box.Kind == tree.Object:
		box.Members = splice(box.Members, c, tree.Member{Key: c.key, Value: c.value})
		if !c.insert && !c.remove {
			box.Members[c.at].Key = c.box().Members[c.at].Key
		}
	default:
		box.Elems = splice(box.Elems, c, c.value)
	}
	node := &box
	for i := len(c.steps) - 1; i >= 0; i-- {
		up := *c.chain[i]
		at := c.steps[i].(int)
		if up.Kind == tree.Object {
			up.Members = append([]tree.Member{}, up.Members...)
			up.Members[at].Value = node
		} else {
			up.Elems = append([]*tree.Node{}, up.Elems...)
			up.Elems[at] = node
		}
		node = &up
	}
	return node
}

// splice returns a copy of items with c made.
func splice[T any](items []T, c *change, item T) []T {
	out := append([]T{}, items[:c.at]...)
	if !c.remove {
		out = append(out, item)
	}
	if c.insert {
		return append(out, items[c.at:]...)
	}
	return append(out, items[c.at+1:]...)
}

// wrap puts value at the end of a path of new objects.
func wrap(path []any, value *tree.Node) (*tree.Node, error) {
	for i := len(path) - 1; i >= 0; i-- {
		key, ok := path[i].(string)
		if !ok {
			return nil, refuse("there is no element %v at %s", path[i], show(path[:i]))
		}
		value = &tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: key, Value: value}}}
	}
	return value, nil
}

func list(value *tree.Node) *tree.Node {
	return &tree.Node{Kind: tree.Array, Elems: []*tree.Node{value}}
}

// toNode turns a Go value into the tree that a file with it would be read as.
func toNode(value any) (*tree.Node, error) {
	raw, err := jsonx.Marshal(value)
	if err != nil {
		return nil, err
	}
	n, problems := jsonx.Parse(raw, jsonx.Options{})
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return n, nil
}

// show prints a path for a message.
func show(path []any) string {
	if len(path) == 0 {
		return "the top of the file"
	}
	s := ""
	for _, step := range path {
		if k, ok := step.(string); ok {
			if s != "" {
				s += "."
			}
			s += fmt.Sprintf("%.60s", k)
		} else {
			s += fmt.Sprintf("[%v]", step)
		}
	}
	return s
}
