package agents

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// A Request says what is to be installed, or taken out, and where.
type Request struct {
	Scope   Scope
	Where   *Where // with at most one project
	Program string // path of obstat, or of obstat-hook
	// Offline: the agent is to start without a network.
	Offline bool
	// Options are options of obstat hook.
	Options []string
}

// A Change is one file and what is done to it: Edit gets its bytes, nil where
// there is none, and returns the new ones, nil to remove the file.
type Change struct {
	Name string
	Mode fs.FileMode // of a new file; zero is the usual one
	Edit func(old []byte) ([]byte, error)
	// Same tells whether a text is, but for empty lists, what Edit makes of the
	// other: an undo record has to pass it. Nil for changes that have no record.
	Same func(a, b []byte) bool
	// Dir: the file's directory was made for it, and goes with it.
	Dir bool
}

// Target returns the file that obstat's entry goes into, "" if the agent reads
// none in that scope.
func (a *Agent) Target(s Scope, w *Where) string {
	for _, p := range a.Places(w) {
		switch {
		case !p.Install || p.Scope != s:
		case p.Dir:
			return filepath.Join(p.Name, a.ownFile)
		default:
			return p.Name
		}
	}
	return ""
}

// Install returns the changes that put obstat's hook in, in the order they are
// made; nil if the agent reads no hooks in that scope.
func (a *Agent) Install(r *Request) []Change {
	t := &target{agent: a, file: a.Target(r.Scope, r.Where), call: Call{r.Program, append(slices.Clone(r.Options), a.Name)}}
	switch {
	case t.file == "":
		return nil
	case a.own != nil:
		out := []Change{{Name: t.file, Edit: t.write}}
		if a.Name == Cline {
			out[0].Mode = 0o755
		}
		if a.Name == OpenCode && r.Offline {
			out = append(out, offline(t.file)...)
			if user := a.Target(User, r.Where); user != "" && user != t.file {
				out = append(out, offline(user)...) // it waits for that directory as well
			}
		}
		return out
	}
	out := []Change{{Name: t.file, Edit: t.add, Same: t.same}}
	if a.trust {
		out = append(out, Change{Name: a.config(r.Where), Edit: t.trust, Same: sameTOML})
	}
	return out
}

// Uninstall returns the changes that take obstat's hook out.
func (a *Agent) Uninstall(r *Request) []Change {
	t := &target{agent: a, file: a.Target(r.Scope, r.Where)}
	switch {
	case t.file == "":
		return nil
	case a.own != nil:
		out := []Change{{Name: t.file, Edit: t.unwrite}}
		if a.Name == OpenCode {
			out = append(out, online(t.file)...)
		}
		return out
	}
	out := []Change{{Name: t.file, Edit: t.remove, Same: t.same}}
	if a.trust {
		out = append(out, Change{Name: a.config(r.Where), Edit: t.distrust, Same: sameTOML})
	}
	return out
}

// config returns Codex's config.toml of the user: trust is given there, for
// projects as well.
func (a *Agent) config(w *Where) string {
	for _, p := range a.Places(w) {
		if p.Scope == User && filepath.Base(p.Name) == "config.toml" {
			return p.Name
		}
	}
	return ""
}

// Config returns the file in which Codex is told which hooks to trust, "" for
// other agents.
func (a *Agent) Config(w *Where) string {
	if !a.trust {
		return ""
	}
	return a.config(w)
}
