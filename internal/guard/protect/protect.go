// Package protect sees to it that an agent does not change its own guards: the
// policy, the agents' hook entries, obstat's state, and obstat itself. A call
// that would is at most an ask, whatever the policy, the mode and the floor say.
//
// It owns the list of guarded files (guarded.txt; those of agents are package agent's) and
// the test for a change of one: the sets of paths that a call's effects touch are held
// against the sets that guard. docs/self-protection.md has the table. It decides
// nothing else: it only turns an allow into an ask. It runs before every call, so
// it looks at the machine only for calls that change, or read, something near.
package protect

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// Stage is the stage of a decision that was made here.
const Stage = "self-protection"

// Guarded are the guards of one agent's calls. The zero value has the files that are
// guarded by their names alone, anywhere on the machine. It is made once and used
// for many calls; its fields are not changed after the first.
type Guarded struct {
	// Policies are the files of the policies in force.
	Policies []string
	// Pinned says that the policies in force are pinned: other content of their
	// files cannot loosen them, so that moving between commits is no change.
	Pinned bool
	// Places are directories, beside those of the call, that a policy is looked
	// for in: where the agent started its hook.
	Places []string
	// State are files and directories that obstat keeps, beside the usual ones:
	// the database with ledger, requests and grants, the spool, the key, caches.
	State []string
	// Programs are obstat's binaries.
	Programs []string
	// Getenv looks up the variables that move agents' directories; nil has none.
	Getenv func(string) string

	once  sync.Once
	items []item
	reals sync.Map // where links of directories lead
}

// A Finding is why a call may not run unasked.
type Finding struct {
	Why  string // a sentence
	Part string // the part of the call
	// Unseen: the call speaks of a guarded file, and cannot be looked into. A run that is confined cannot change it.
	Unseen bool
}

// firmer returns the finding that says more: one that confinement does not settle goes before one that it does.
func firmer(a, b *Finding) *Finding {
	if a == nil || b != nil && a.Unseen && !b.Unseen {
		return b
	}
	return a
}

func (f *Finding) firm() bool { return f != nil && !f.Unseen }

// Tighten turns the decision on a call into an ask that no rule and no grant
// settles if the call would change the agent's guards, and reports whether it
// would. A denial stays one. a is the analysis of the call, if the caller has it.
func (g *Guarded) Tighten(d *obstat.Decision, c *obstat.Call, world obstat.World, a *effect.Analysis) bool {
	if d.Verdict == obstat.Deny {
		return false
	}
	f := g.Check(c, world, a)
	if f == nil && d.Input != nil {
		call := *c
		call.Input = d.Input
		f = g.Check(&call, world, nil)
	}
	switch {
	case f == nil:
		return false
	case d.Verdict == obstat.Allow:
		*d = obstat.Decision{Verdict: obstat.Ask, Safety: true, By: obstat.By{Kind: obstat.ByGuard}, Stage: Stage,
			Tool: d.Tool, Mode: d.Mode, Input: d.Input, Part: f.Part, Note: f.Why, OnlyUnknown: f.Unseen}
	default:
		if d.Safety, d.OnlyUnknown, d.Offers = true, d.OnlyUnknown && f.Unseen, nil; d.Note != "" {
			d.Note += "; "
		}
		d.Note += f.Why
	}
	return true
}

// Check tells why a call would change the agent's guards; nil if it would
// not. A panic on the way is a finding, too.
func (g *Guarded) Check(c *obstat.Call, world obstat.World, a *effect.Analysis) (f *Finding) {
	defer func() {
		if recover() != nil {
			f = &Finding{Why: "whether it changes what guards this agent cannot be told"}
		}
	}()
	return g.check(c, world, a)
}

// check is Check without the net under it, so that tests see panics.
func (g *Guarded) check(c *obstat.Call, world obstat.World, a *effect.Analysis) *Finding {
	if a == nil {
		a = effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input, Options: effect.Options{Dir: c.Dir,
			Roots: c.Roots, FS: world}})
	}
	return (&check{g: g, call: c, world: world, a: a}).look()
}

// check is one call on its way through the package.
type check struct {
	g     *Guarded
	call  *obstat.Call
	world obstat.World
	a     *effect.Analysis
	dirs  []place // see places
	depth int     // of scripts that are run by scripts
	asked int     // files that were looked at
	quiet bool    // the source of a mentions no item
	// agents: the command that is looked at is an agent, whose own words were looked at
	agents bool
}

// look holds every effect and every command of the call against the guards.
func (k *check) look() *Finding {
	for i := range k.a.Effects {
		if f := k.effect(&k.a.Effects[i]); f != nil {
			return f
		}
	}
	if slices.ContainsFunc(k.a.Gaps, func(g effect.Gap) bool { return g.Kind == effect.TooBig }) {
		return &Finding{Part: clip(k.a.Source), Why: "it is more than is looked at, so that nobody can tell what it " +
			"changes; a person allows that, or give it in parts"}
	}
	var out *Finding
	for i := range k.a.Commands {
		if out = firmer(out, k.command(i)); out.firm() {
			return out
		}
	}
	for _, look := range [...]func() *Finding{k.variables, k.later, k.fed, k.input, k.subjects} {
		if out = firmer(out, look()); out.firm() {
			return out
		}
	}
	return out
}

// An item is one file or directory that guards the agent and has a place of its own.
type item struct {
	set  paths.Set // folded
	name string    // as it is
	what string    // for a person
}

const (
	isPolicy  = "the policy of this agent"
	mayPolicy = "a policy"
	isHook    = "an agent's hook entries"
	isState   = "what obstat has written down"
	isProgram = "obstat itself"
)

const onlyPersons = "; what guards this agent is changed only with a person's answer"

// finding says that an item would be changed.
func finding(name, what, part string) *Finding {
	return &Finding{Part: clip(part), Why: "it would change " + name + ", " + what + onlyPersons}
}

// own returns the items that are not known by their names alone: the files in
// force, obstat's state, its programs. The list is made once.
func (k *check) own() []item {
	k.g.once.Do(func() {
		for _, p := range k.g.Policies {
			k.g.add(k.world, p, isPolicy, false)
		}
		for _, p := range k.g.State {
			k.g.add(k.world, p, isState, true)
		}
		for _, p := range k.g.Programs {
			k.g.add(k.world, p, isProgram, false)
		}
		for _, e := range table() {
			dir := ""
			switch {
			case e.env != "" && k.g.Getenv != nil:
				dir = k.g.Getenv(e.env)
			case e.env == "" && e.what == isState && e.path[0] != '/':
				dir = k.home()
			case e.what == isState:
				dir = "/"
			}
			if filepath.IsAbs(dir) {
				k.g.add(k.world, filepath.Join(dir, e.path), e.what, e.below)
			}
		}
	})
	return k.g.items
}

// add adds an item, and where links lead from it.
func (g *Guarded) add(world obstat.World, name, what string, below bool) {
	if name == "" {
		return
	}
	if !filepath.IsAbs(name) && name[0] != '/' {
		abs, err := filepath.Abs(name)
		if err != nil {
			return
		}
		name = abs
	}
	name = filepath.ToSlash(filepath.Clean(name))
	g.items = append(g.items, item{paths.Set{Text: fold(name), Below: below}, name, what})
	if real := (paths.Resolver{FS: world}).Resolve(name).Real; real != "" && real != name {
		g.items = append(g.items, item{paths.Set{Text: fold(real), Below: below}, name, what})
	}
}

func (k *check) home() string {
	if k.world == nil {
		return ""
	}
	h, _ := k.world.Home("")
	return h
}

// A place is a directory that a policy or hook entries for the call are looked for in.
type place struct {
	dir, folded string
	real        string // folded, where links lead; "" if that is the same
	home        bool
}

// places returns the directories from those of the call up to home, and home.
func (k *check) places() []place {
	if k.dirs != nil {
		return k.dirs
	}
	home := k.home()
	for _, at := range append(append([]string{k.call.Dir}, k.call.Roots...), k.g.Places...) {
		for at = filepath.Clean(at); filepath.IsAbs(at) && at != filepath.Dir(at) && at != home && k.addPlace(at, false); {
			at = filepath.Dir(at)
		}
	}
	if home != "" {
		k.addPlace(home, true)
	}
	return k.dirs
}

// addPlace adds a directory, and reports whether it is new. Where links lead is looked up
// once for a Guarded.
func (k *check) addPlace(dir string, home bool) bool {
	dir = filepath.ToSlash(dir)
	if slices.ContainsFunc(k.dirs, func(p place) bool { return p.dir == dir }) {
		return false
	}
	real, ok := k.g.reals.Load(dir)
	if !ok {
		to := ""
		if p := k.resolve("", dir).Real; p != dir {
			to = fold(p)
		}
		real = to
		k.g.reals.Store(dir, real)
	}
	k.dirs = append(k.dirs, place{dir: dir, folded: strings.TrimSuffix(fold(dir), "/"), real: real.(string), home: home})
	return true
}

func (k *check) resolve(dir, p string) paths.Path {
	return paths.Resolver{FS: k.world, Dir: dir}.Resolve(p)
}

// onMachine tells whether the world is this machine, so that files can be looked at.
func (k *check) onMachine() bool {
	switch w := k.world.(type) {
	case obstat.OS:
		return true
	case *obstat.Recorder:
		_, ok := w.Of.(obstat.OS)
		return ok
	}
	return false
}

// exists tells whether a file is there. In a world that is not the machine it is
// taken to be.
func (k *check) exists(name string) bool {
	if !k.onMachine() {
		return true
	}
	_, err := os.Lstat(name)
	return err == nil || !os.IsNotExist(err)
}

// content returns the text of a file, up to a length, and whether that is all of it.
func (k *check) content(name string, most int64) (text string, whole bool) {
	if !k.onMachine() {
		return "", true
	}
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return "", true
	}
	if k.asked++; k.asked > maxFiles {
		return "", false
	}
	f, err := os.Open(name)
	if err != nil {
		return "", true
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", false
	}
	return string(data), st.Size() <= most
}

// maxFiles is how many files of a call are looked into.
const maxFiles = 32

// installed tells whether a file holds an entry of obstat's.
func (k *check) installed(name string) bool {
	st, err := os.Stat(name)
	if !k.onMachine() || err != nil {
		return false
	}
	text, whole := k.content(name, 1<<20)
	return st.IsDir() || !whole || strings.Contains(text, "obstat")
}
