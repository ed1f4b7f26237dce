package kit

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// ErrNoObject is the error of a call whose input is a value of another kind.
var ErrNoObject = errors.New("the arguments should be an object")

// Arguments reads a call's input, an object, for a dialect's view or check; none, or
// null, is an empty one.
func Arguments(f *obstat.Facts) (*tree.Node, error) {
	raw := bytes.TrimSpace(f.Call.Input)
	if len(raw) == 0 || string(raw) == "null" {
		return &tree.Node{Kind: tree.Object}, nil
	}
	n, problems := jsonx.Parse(raw, jsonx.Options{NUL: true})
	switch {
	case tree.Fatal(problems):
		return nil, fmt.Errorf("the input cannot be read: %w", problems[0])
	case !n.Is(tree.Object):
		return nil, fmt.Errorf("%w, not %s", ErrNoObject, n.Kind)
	}
	return n, f.Fault()
}

// Text returns the text of an argument that may be given under any of the names, but
// under one alone; found is false where it is missing, or null.
func Text(tool string, args *tree.Node, names ...string) (text string, found bool, err error) {
	var n *tree.Node
	var given string
	for _, name := range names {
		switch have := args.Get(name); {
		case have == nil || have == n:
		case n != nil:
			return "", false, fmt.Errorf("%s is called with %s and %s at once; which one counts is not known", tool, given, name)
		default:
			n, given = have, name
		}
	}
	switch {
	case n == nil || n.Is(tree.Null):
		return "", false, nil
	case !n.Is(tree.String):
		return "", false, fmt.Errorf("%s of %s should be a text, not %s", given, tool, n.Kind)
	}
	return n.Str, true, nil
}
