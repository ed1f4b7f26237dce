package agent

import (
	"io/fs"
	"slices"
)

// A Request is for one installation, or for taking one out.
type Request struct {
	Scope   Scope
	Where   *Where // with at most one project
	Program string // path of obstat
	// Offline: the agent is to start without a network.
	Offline bool
	// Options are options of `obstat hook`.
	Options []string
}

// A Change is an edit of one file: Edit gets its bytes, nil where there is none,
// and returns the new ones, nil to remove the file.
type Change struct {
	Name string
	Mode fs.FileMode // of a new file; zero is the usual one
	Edit func(old []byte) ([]byte, error)
	// Same tells whether two texts say the same but for empty lists: an undo
	// record counts only if it is the same as the result of Edit. Nil for changes
	// that have no record.
	Same func(a, b []byte) bool
	// Dir: the file's directory was made for it, and goes with it.
	Dir bool
}

// Install returns the changes that put obstat's hook in, in the order they are
// made; nil if the agent reads no hooks in that scope.
func (a *Agent) Install(r *Request) []Change {
	t := &target{agent: a, file: a.Target(r.Scope, r.Where), call: Invocation{r.Program,
		append(slices.Clone(r.Options), a.Name)}}
	return t.changes(r, t.add, t.write, false)
}

// Uninstall returns the changes that take obstat's hook out, also one that an older
// version put in.
func (a *Agent) Uninstall(r *Request) []Change {
	t := &target{agent: a, file: a.Target(r.Scope, r.Where)}
	return t.changes(r, t.remove, t.unwrite, true)
}

// changes returns the edit of the settings file, or of obstat's own file, and the
// changes that the agent needs besides.
func (t *target) changes(r *Request, settings, own func([]byte) ([]byte, error), remove bool) []Change {
	if t.file == "" {
		return nil
	}
	out := []Change{{Name: t.file, Edit: settings, Same: t.same}}
	if t.agent.own != nil {
		out[0] = Change{Name: t.file, Edit: own, Mode: t.agent.ownMode}
	}
	if t.agent.more != nil {
		out = append(out, t.agent.more(t, r, remove)...)
	}
	return out
}
