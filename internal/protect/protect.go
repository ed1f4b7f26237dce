// Package protect sees to it that an agent does not change what guards it: the
// policy, the agents' hook entries, what obstat keeps, and obstat itself. A call
// that would is at most an ask, whatever the policy, the mode and the floor say.
//
// It owns the list of what guards (guarded.txt) and what counts as changing it.
// It decides nothing else: it only turns an allow into an ask. It is linked into
// the hook that runs before every call, so it imports little and looks at the
// machine only for calls that could matter.
package protect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// Stage is the stage of a decision that was made here.
const Stage = "self-protection"

// Guarded is what guards the calls of one agent. The zero value has what is
// guarded by its name alone, anywhere on the machine.
type Guarded struct {
	// Policies are the files of the policies in force.
	Policies []string
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
}

// A Finding is why a call may not run unasked.
type Finding struct {
	Why  string // a sentence
	Part string // the part of the call
}

// Tighten turns the decision on a call into an ask that no rule and no grant
// settles if the call would change what guards the agent, and reports whether it
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
		*d = obstat.Decision{Verdict: obstat.Ask, Safety: true, Stage: Stage, Tool: d.Tool, Mode: d.Mode, Input: d.Input, Part: f.Part, Note: f.Why}
	default:
		if d.Safety, d.Offers = true, nil; d.Note != "" {
			d.Note += "; "
		}
		d.Note += f.Why
	}
	return true
}

// Check tells why a call would change what guards the agent; nil if it would
// not. Whatever goes wrong on the way is a finding.
func (g *Guarded) Check(c *obstat.Call, world obstat.World, a *effect.Analysis) (f *Finding) {
	defer func() {
		if recover() != nil {
			f = &Finding{Why: "whether it changes what guards this agent cannot be told"}
		}
	}()
	if a == nil {
		a = effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input, Options: effect.Options{Dir: c.Dir, Roots: c.Roots, FS: world}})
	}
	return (&check{g: g, call: c, world: world, a: a}).look()
}

// look looks at the call from every side.
func (k *check) look() *Finding {
	for _, look := range []func() *Finding{k.effects, k.commands, k.input, k.subjects} {
		if f := look(); f != nil {
			return f
		}
	}
	return nil
}

// check is one call on its way through the package.
type check struct {
	g     *Guarded
	call  *obstat.Call
	world obstat.World
	a     *effect.Analysis
	list  []item // see own and items
	all   bool   // the list is what items returns
	dirs  []string
	depth int // of scripts that are run by scripts

	// What is found out once, since a call may have very many commands.
	shapesSeen map[string]bool // by partly: shapes that are no finding
	mayBeSeen  map[string]bool // by mayBe
	fedSeen    [2]bool         // by fed: names, code
	sourceSeen bool            // by source: it speaks of nothing
	within     []bool          // by substituted: offsets of the source
}

// maxShapes is how many names that are known in part are looked at in a call.
const maxShapes = 256

// An item is one file or directory that guards the agent.
type item struct {
	path   string // absolute, folded
	name   string // as it is
	what   string // for a person
	inUse  bool   // it is there, and counts
	below  bool   // a directory, with everything in it
	common bool   // a name that other files have as well
	local  bool   // below one of the call's directories
}

const (
	isPolicy  = "the policy of this agent"
	mayPolicy = "a policy"
	isHook    = "an agent's hook entries"
	isState   = "what obstat has written down"
	isProgram = "obstat itself"
)

// finding says that an item would be changed.
func finding(name, what, part string) *Finding {
	return &Finding{Part: part, Why: "it would change " + name + ", " + what + "; what guards this agent is changed only with a person's answer"}
}

// items returns everything that guards the agent and has a place of its own.
func (k *check) items() []item {
	if k.all {
		return k.list
	}
	k.own()
	k.all = true
	if home, known := k.home(); known {
		k.expand(home, false, true)
	}
	for _, dir := range k.places() {
		k.expand(dir, true, dir == k.call.Dir || slices.Contains(k.call.Roots, dir) || slices.Contains(k.g.Places, dir))
	}
	return k.list
}

// own returns the items that are not known by their names alone.
func (k *check) own() []item {
	if k.list != nil {
		return k.list
	}
	k.list = make([]item, 0, 32)
	for _, p := range k.g.Policies {
		k.add(item{name: p, what: isPolicy, inUse: true})
	}
	for _, p := range k.g.State {
		k.add(item{name: p, what: isState, inUse: true, below: true})
	}
	for _, p := range k.g.Programs {
		k.add(item{name: p, what: isProgram, inUse: true})
	}
	for i := range table() {
		e := &table()[i]
		switch it := (item{what: e.what, below: e.below}); {
		case e.env != "" && k.g.Getenv != nil:
			if dir := k.g.Getenv(e.env); filepath.IsAbs(dir) {
				it.name = filepath.Join(dir, e.path)
				k.add(it)
			}
		case e.env == "" && e.path[0] == '/':
			it.name, it.path = e.path, e.folded
			k.list = append(k.list, it)
		}
	}
	return k.list
}

// expand adds what the table has for a directory; with links, also where links
// lead from there.
func (k *check) expand(dir string, local, links bool) {
	dir = strings.TrimSuffix(filepath.ToSlash(dir), "/")
	folded, real := fold(dir), ""
	if links {
		real = k.resolve("", dir).Real
	}
	absent := map[string]bool{} // first names that are not there
	for i := range table() {
		e := &table()[i]
		if e.env != "" || e.path[0] == '/' || e.generic && !local {
			continue
		}
		it := item{name: dir + "/" + e.path, what: e.what, below: e.below, common: e.generic, local: local}
		if it.path = it.name; folded != dir || e.folded != e.path {
			it.path = folded + "/" + e.folded
		}
		k.list = append(k.list, it)
		first, rest, deeper := strings.Cut(e.path, "/")
		if real == "" || absent[first] {
			continue
		}
		at := real + "/" + first
		_, link := k.world.Readlink(at)
		if !link && deeper && !k.world.IsDir(at) {
			absent[first] = true
			continue
		}
		for name := range strings.SplitSeq(rest, "/") {
			if name != "" {
				at += "/" + name
				_, is := k.world.Readlink(at)
				link = link || is
			}
		}
		if !link && real == dir {
			continue
		}
		if to := k.resolve("", at).Real; to != "" && to != it.name {
			it.path = fold(to)
			k.list = append(k.list, it)
		}
	}
}

// add adds an item, and where links lead from it.
func (k *check) add(it item) {
	if it.name == "" {
		return
	}
	if !filepath.IsAbs(it.name) && it.name[0] != '/' {
		abs, err := filepath.Abs(it.name)
		if err != nil {
			return
		}
		it.name = abs
	}
	it.name = filepath.ToSlash(filepath.Clean(it.name))
	it.path = fold(it.name)
	k.list = append(k.list, it)
	if real := k.resolve("", it.name).Real; real != "" && real != it.name {
		it.path = fold(real)
		k.list = append(k.list, it)
	}
}

func (k *check) home() (string, bool) {
	if k.world == nil {
		return "", false
	}
	h, ok := k.world.Home("")
	return h, ok && h != ""
}

// places returns the directories that a policy for the call is looked for in.
func (k *check) places() []string {
	if k.dirs != nil {
		return k.dirs
	}
	home, _ := k.home()
	seen := map[string]bool{}
	for _, at := range append(append([]string{k.call.Dir}, k.call.Roots...), k.g.Places...) {
		if !filepath.IsAbs(at) {
			continue
		}
		for at = filepath.Clean(at); !seen[at]; at = filepath.Dir(at) {
			seen[at] = true
			if at == filepath.Dir(at) || at == home {
				break
			}
			k.dirs = append(k.dirs, at)
		}
	}
	if k.dirs == nil {
		k.dirs = []string{}
	}
	return k.dirs
}

func (k *check) resolve(dir, p string) paths.Path {
	return paths.Resolver{FS: k.world, Dir: dir}.Resolve(p)
}

// exists tells whether a file is there. Of a world that is not the machine
// nobody knows, so there it is.
func (k *check) exists(name string) bool {
	if _, real := k.world.(obstat.OS); !real {
		return true
	}
	_, err := os.Lstat(name)
	return err == nil || !os.IsNotExist(err)
}
