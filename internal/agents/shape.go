package agents

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat/internal/tree"
)

// Shape returns what in a file's hooks the agent cannot make sense of, nil if
// there is nothing: it may skip the whole file for it, and obstat's hook with
// it.
func (a *Agent) Shape(f *File) error {
	if f.Root == nil || tree.Fatal(f.Problems) {
		return nil
	}
	if a.strict != nil && f.Root.Is(tree.Object) {
		for _, m := range f.Root.Members {
			if !slices.Contains(a.strict, m.Key) {
				return fmt.Errorf("the key %q is none of %s's", m.Key, a.Title)
			}
		}
	}
	if err := a.kinds(f); err != nil || !a.form.nested {
		return err
	}
	hooks := f.Root.Get("hooks")
	if hooks == nil {
		return nil
	}
	for _, m := range hooks.Members {
		for i, e := range m.Value.Elems {
			if e.Get("hooks") == nil {
				return fmt.Errorf("hooks.%s[%d] has no hooks", m.Key, i)
			}
		}
	}
	return nil
}

// kinds returns where there is something else than the object or list that has
// to be there. What is put beside it would not be read.
func (a *Agent) kinds(f *File) error {
	hooks := f.Root.Get("hooks")
	if err := kind("hooks", hooks, tree.Object); err != nil || hooks == nil {
		return err
	}
	for _, m := range hooks.Members {
		at := "hooks." + m.Key
		if err := kind(at, m.Value, tree.Array); err != nil {
			return err
		}
		for i, e := range m.Value.Elems {
			at := fmt.Sprintf("%s[%d]", at, i)
			if err := kind(at, e, tree.Object); err != nil {
				return err
			}
			if !a.form.nested {
				continue
			}
			inner := e.Get("hooks")
			if err := kind(at+".hooks", inner, tree.Array); err != nil {
				return err
			}
			if inner == nil {
				continue
			}
			for j, h := range inner.Elems {
				if err := kind(fmt.Sprintf("%s.hooks[%d]", at, j), h, tree.Object); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// kind refuses a node that is there and is another kind.
func kind(at string, n *tree.Node, want tree.Kind) error {
	if n == nil || n.Is(want) {
		return nil
	}
	return fmt.Errorf("%s is %s, not %s", at, n.Kind, want)
}
