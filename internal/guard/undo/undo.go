// Package undo keeps what an allowed call is about to change, so that it can be taken back.
//
// It owns which paths those are: it makes them of the call's effects, and says which part of a call cannot be taken
// back, and why. Keeping and putting back is package changes's; whether a call is allowed is the policy's.
package undo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// Store opens the changes that are kept in obstat's state, without those that are too old.
func Store(getenv func(string) string) (*changes.Store, error) {
	s, err := open(getenv, native.Undo{})
	if err != nil {
		return nil, err
	}
	return s, s.SweepOld()
}

// open opens the changes for one that keeps more, in the limits of a policy.
func open(getenv func(string) string, u native.Undo) (*changes.Store, error) {
	dir, err := statedir.Dir(getenv)
	if err != nil {
		return nil, err
	}
	return changes.Open(statedir.Changes(dir), changes.Limits{File: u.File, Call: u.Call, Files: u.Files,
		Total: u.Budget, Age: u.Keep})
}

// A Reach is everything that a call is known to change.
type Reach struct {
	Paths  []changes.Reach
	Secret bool // secrets are among them
	// Gaps are the effects that cannot be taken back, or that are not known.
	Gaps []string
	// Unknown: it is a tool of which only the paths that it names are known, as `mcp__files__write_file`.
	Unknown bool

	hookless map[string]bool // directories whose repository runs no programs, as found
}

// Of returns what a call changes.
func Of(a *effect.Analysis) *Reach {
	r := new(Reach)
	for i := range a.Effects {
		r.add(a, &a.Effects[i])
	}
	if linked(a.Effects) {
		r.gap("a file with several names loses one")
	}
	for i := range a.Commands {
		if a.Unknown(i) {
			r.gap("a command is not known")
		}
		if hasWord(&a.Commands[i], leavesMore) {
			r.gap("it may leave files that it does not name")
		}
	}
	for _, g := range a.Gaps {
		if g.Kind == effect.UnknownTool {
			r.Unknown = true
			continue
		}
		r.gap("part of it cannot be seen: " + g.Kind.String())
		break
	}
	return r
}

// linked tells whether a file with several hard links is deleted, or written twice. An undo makes a new file: it does
// not join the links again, and after `shred -u a`, or `echo x > a; sed -i s/x/y/ a`, the other names keep that text.
func linked(list []effect.Effect) bool {
	times := map[string]int{}
	return slices.ContainsFunc(list, func(e effect.Effect) bool {
		if e.Kind != effect.Delete && e.Kind != effect.Write {
			return false
		}
		name := filepath.Clean(e.Target().Text)
		if times[name]++; e.Kind == effect.Write && times[name] < 2 {
			return false
		}
		info, err := os.Lstat(name)
		return err == nil && info.Mode().IsRegular() && changes.Links(info) > 1
	})
}

// Certain tells whether all that the call does can be taken back, once its paths are kept. Secrets are kept for an hour
// only, so that a call on them is not one to allow for it.
func (r *Reach) Certain() bool { return len(r.Gaps) == 0 && !r.Unknown && !r.Secret }

func (r *Reach) gap(why string) {
	for _, g := range r.Gaps {
		if g == why {
			return
		}
	}
	r.Gaps = append(r.Gaps, why)
}

// add adds an effect.
func (r *Reach) add(a *effect.Analysis, e *effect.Effect) {
	switch e.Kind {
	case effect.Run, effect.Read:
		return
	case effect.Code:
		if !e.Harmless && !(e.Tags.Has(effect.Hooks) && isGit(e) && r.noHooks(a.Commands[e.Command].Dir)) {
			r.gap("it runs code that cannot be looked into")
		}
		return
	case effect.Connect:
		if !e.Harmless {
			r.gap("what is sent to a host cannot be taken back")
		}
		return
	case effect.System:
		r.gap("it changes more than files: " + e.Detail)
		return
	}
	if e.Where != "" || e.Host != "" {
		r.gap("it changes files on another machine")
		return
	}
	if e.Secret || e.Sensitive != "" {
		r.Secret = true
	}
	r.files(a, e)
}

// files adds the paths of an effect on files, links followed and not.
func (r *Reach) files(a *effect.Analysis, e *effect.Effect) {
	if isGit(e) {
		named := !e.Unnamed && !e.Tags.Has(effect.Books|effect.Tree|effect.Clean)
		if !r.git(&a.Commands[e.Command], e, named) {
			r.gap("it changes a repository that lies elsewhere, or that is not understood")
		}
		if !named {
			return
		}
	}
	if e.Command >= 0 {
		r.named(&a.Commands[e.Command])
	}
	named := false
	target, real := e.Target(), e.RealTarget()
	if real == target {
		real = paths.Set{}
	}
	for _, set := range []paths.Set{target, real} {
		if set.IsZero() {
			continue
		}
		if set.IsAnything() || len(set.Known()) < 2 {
			r.gap("which files it changes is not known")
			continue
		}
		named = true
		r.Paths = append(r.Paths, changes.Reach{Paths: whole(set, e)})
		if e.Kind == effect.Delete && e.Command >= 0 {
			r.above(set, a.Commands[e.Command].Dir)
		}
		if e.Command >= 0 && !set.Marked() && hasWord(&a.Commands[e.Command], longerNames) {
			r.Paths = append(r.Paths, changes.Reach{Paths: paths.Set{Text: set.Text + string(paths.AnyName)}})
		}
	}
	if !named {
		r.gap("it changes files that are not named: " + e.Detail)
	}
}

// named adds the links that a command names, and patterns as they stand: `find ld -name '*' -delete` removes the
// link ld itself, while its effect is told as one below the directory that ld leads to, and `mv a x[y]` makes a file
// of that name where no other matches.
func (r *Reach) named(c *effect.Command) {
	for i := range c.Words {
		name := c.Words[i].Text
		if name == "" || strings.HasPrefix(name, "-") {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		name = filepath.Clean(name)
		info, err := os.Lstat(name)
		if err == nil && info.Mode()&os.ModeSymlink != 0 || strings.ContainsAny(name, "*?[") {
			r.Paths = append(r.Paths, changes.Reach{Paths: paths.Exactly(name)})
		}
	}
}

// above adds the directories that a path lies in, below the one that the command is run in: `git rm src/a` takes src
// along where it was the last file, `find src -name '*' -delete` where it began.
func (r *Reach) above(set paths.Set, top string) {
	dir := filepath.Dir(set.Known())
	if !set.Exact() {
		dir = filepath.Clean(set.Known())
	}
	for ; len(dir) > len(top) && paths.Inside(top, dir); dir = filepath.Dir(dir) {
		r.Paths = append(r.Paths, changes.Reach{Paths: paths.Exactly(dir)})
	}
}

var (
	// longerNames are words of commands that may make a file with a longer name beside one that they are given:
	// `sed -i.bak a`, `cp --backup a b`, `zip x a` makes x.zip.
	longerNames = kb.Table("!longer-names")
	// leavesMore are words of commands after which files of any name may be left.
	leavesMore = kb.Table("!leaves-more")
)

// hasWord tells whether one of a command's words is in a table.
func hasWord(c *effect.Command, table func() *kb.List) bool {
	for i := range c.Words {
		if table().Has(c.Words[i].Text) {
			return true
		}
	}
	return false
}

// whole adds everything below a path that does not exist or is deleted, which may become a directory (`rm l && mkdir l
// && touch l/a`), and below a directory that files of any name are put in: `mv src lib` is on two directories with all
// their files.
func whole(set paths.Set, e *effect.Effect) paths.Set {
	if !set.Exact() {
		return set
	}
	info, err := os.Lstat(set.Text)
	into := err == nil && info.IsDir() && e.Tags.Has(effect.Into)
	if os.IsNotExist(err) || e.Kind == effect.Delete || into {
		return paths.Under(set.Text)
	}
	return set
}

// A Keeper keeps what calls change in the store of obstat's state. It opens that store for a call that changes
// something, and not before.
type Keeper struct {
	Getenv func(string) string
	// Say tells a person that something of a killed process was ended first; nil tells nobody.
	Say func(text string)

	mu   sync.Mutex
	last looked
}

// looked is what a call changes, as the policy was told.
type looked struct {
	of    *effect.Analysis
	reach *Reach
}

// Reversible tells whether everything that a call does could be taken back.
func (k *Keeper) Reversible(a *effect.Analysis) bool {
	r := Of(a)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = looked{a, r}
	return r.Certain()
}

// reach returns what a call changes, looking at the files once for a decision and keeping what it allows. After a
// question, which takes a person some time, it looks again.
func (k *Keeper) reach(a *effect.Analysis, by obstat.By) *Reach {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.last
	if k.last = (looked{}); last.of == a && !by.Person() {
		return last.reach
	}
	return Of(a)
}

// Keep keeps what a call changes.
func (k *Keeper) Keep(c *obstat.Call, d *obstat.Decision, a *effect.Analysis, limits native.Undo) (
	all bool, err error) {
	told, err := Settle(k.Getenv)
	if err != nil {
		return false, err
	}
	for _, text := range told {
		if k.Say != nil {
			k.Say(text)
		}
	}
	r := k.reach(a, d.By)
	if len(r.Paths) == 0 {
		return r.Certain(), nil
	}
	s, err := open(k.Getenv, limits)
	if err != nil {
		return false, err
	}
	var gaps []changes.Gap
	for _, why := range r.Gaps {
		gaps = append(gaps, changes.Gap{Why: why})
	}
	if r.Unknown {
		gaps = append(gaps, changes.Gap{Why: "what else the tool does is not known", Stays: true})
	}
	by := of(c, d.Reason())
	by.Asked = d.Verdict == obstat.Ask
	change, err := s.Save(by, r.Paths, r.Secret, gaps...)
	if err != nil {
		return false, err
	}
	return len(change.Gaps) == 0, s.SweepNow()
}

// of says which call makes a change.
func of(c *obstat.Call, reason string) changes.Of {
	return changes.Of{Call: c.DigestText(), Session: c.Session, Agent: c.Agent, Tool: c.Tool, Text: clip(c.Text()),
		Dir: c.Dir, Reason: reason}
}

// clip makes a text fit for a list.
func clip(text string) string {
	const most = 500
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
