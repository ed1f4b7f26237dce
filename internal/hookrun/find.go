//go:build !obstat_quick

package hookrun

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/internal/policycache"
)

// A finder finds the configuration for a call, and remembers where it looked.
type finder struct {
	*turn
	look policycache.Looker
	// inner are the policies found below a project's own.
	inner map[*dialect.Loaded]bool
}

// A place is a directory's configuration.
type place struct {
	files []dialect.File
	name  string // of the dialect, where it is known
}

// same tells whether a place has these files. The first of them may be
// the user's own, which every project has.
func (p *place) same(files []dialect.File) bool {
	return slices.EqualFunc(p.files, files, func(a, b dialect.File) bool { return a.Name == b.Name })
}

// Find returns the policies that a call which the agent makes in dir is decided
// by; none means that there is none anywhere.
func Find(o *Options, name, dir string) ([]*dialect.Loaded, error) {
	t := &turn{run: &run{Options: *o}, event: &agent.Event{Agent: name, Call: &obstat.Call{Dir: dir}}}
	t.home, _ = o.World.Home("")
	return (&finder{turn: t, look: policycache.Looker{Read: o.Read}}).find()
}

// search finds the policies for the call, and keeps them for the next one.
func (t *turn) search(cache *policycache.Cache, question []string) ([]*policy, error) {
	f := &finder{turn: t, look: policycache.Looker{Read: t.Read}}
	found, err := f.find()
	if err != nil {
		return nil, err
	}
	e := &policycache.Entry{Seen: f.look.Seen()}
	out := make([]*policy, len(found))
	for i, l := range found {
		kept := policycache.Policy{Dialect: l.Dialect.Name(), Digest: l.Policy.Digest(), Program: l.Program, Inner: f.inner[l]}
		for _, file := range l.Input.Files {
			kept.Files = append(kept.Files, file.Name)
		}
		out[i] = &policy{kept, l.Policy}
		kept.Program = needed(l.Program, t.mode(l.Program))
		e.Policies = append(e.Policies, kept)
	}
	if f.look.Err == nil {
		_ = cache.Put(e, question...) // the next one finds it again
	}
	return out, nil
}

// needed returns what of a Program a call in a mode needs; a process that decides
// one call need not read the rest.
func needed(p *obstat.Program, mode obstat.Mode) *obstat.Program {
	q := *p
	q.Pipelines, q.Rules = map[obstat.Mode]obstat.Pipeline{}, map[string][]obstat.Rule{}
	for _, m := range []obstat.Mode{p.Mode, mode} {
		pl, ok := p.Pipelines[m]
		if !ok {
			continue
		}
		q.Pipelines[m] = pl
		for _, s := range slices.Concat(pl.Stages, pl.Amend) {
			if match, ok := s.(obstat.Match); ok {
				q.Rules[match.Rules] = p.Rules[match.Rules]
			}
		}
	}
	return &q
}

// ownDialect returns whose files an agent keeps its own rules in.
func ownDialect(name string) string {
	switch name {
	case agent.ClaudeCode:
		return "claudecode"
	case agent.OpenCode:
		return "opencode"
	}
	return ""
}

// find loads the policies that the call is decided by.
func (f *finder) find() ([]*dialect.Loaded, error) {
	if name := f.Policy.Dialect; name != "" { // what nobody reads is not the same as nothing
		if _, err := all.Find(name); err != nil {
			return nil, err
		}
	}
	if len(f.Policy.Files) > 0 || f.Policy.Dir != "" {
		return f.named()
	}
	var out []*dialect.Loaded
	f.inner = map[*dialect.Loaded]bool{}
	covered := false
	for n, at := range f.places() {
		projects, err := f.discover(at)
		if err != nil {
			return nil, err
		}
		covered = covered || n == f.base() && len(projects) > 0
		if out, err = f.join(out, projects); err != nil {
			return nil, err
		}
	}
	if covered || f.Policy.Dialect != "" && f.Policy.Dialect != "claudecode" {
		return out, nil
	}
	for _, l := range out { // of a place that the call has chosen
		f.inner[l] = true
	}
	files, err := f.layers("") // the user's own rules, and the machine's
	if err != nil || files == nil {
		return out, err
	}
	l, err := f.load(files, "claudecode")
	return append(out, l), err
}

// join loads what a place has that is not there already.
func (f *finder) join(out []*dialect.Loaded, projects []place) ([]*dialect.Loaded, error) {
	for i, p := range projects {
		have := slices.IndexFunc(out, func(l *dialect.Loaded) bool { return p.same(l.Input.Files) })
		if have >= 0 {
			f.inner[out[have]] = f.inner[out[have]] && i > 0
			continue
		}
		l, err := f.load(p.files, p.name)
		if err != nil {
			return nil, err
		}
		f.inner[l] = i > 0
		out = append(out, l)
	}
	return out, nil
}

// base returns which of the places is the agent's own: the one it names as its
// project, or the one that its calls are made in, which the agent says. Codex
// says the directory that the model has chosen for the call instead: there it is
// where the hook runs.
func (f *finder) base() int {
	if f.event.Agent == agent.Codex && len(f.event.Call.Roots) == 0 {
		return len(f.places()) - 1
	}
	return 0
}

// named loads the files, or those of the directory, that the options name.
func (f *finder) named() ([]*dialect.Loaded, error) {
	wd, err := f.Getwd()
	if err != nil {
		return nil, err
	}
	absolute := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(wd, name)
	}
	read := func(name string) ([]byte, error) { return f.look.ReadFile(absolute(name)) }
	var files []dialect.File
	if len(f.Policy.Files) > 0 {
		files, err = dialect.ReadFiles(f.Policy.Files, read)
	} else {
		files, err = all.Discover(f.Policy.Dir, f.Policy.Dir, f.Policy.Dialect, read)
	}
	if err != nil {
		return nil, err
	}
	l, err := f.load(files, f.Policy.Dialect)
	return []*dialect.Loaded{l}, err
}

func (f *finder) load(files []dialect.File, name string) (*dialect.Loaded, error) {
	d, err := all.Of(name, files)
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, &dialect.Input{Files: files, Options: f.Policy.Options, Home: f.home})
}

// discover finds the projects that a directory is in. The outermost directory
// with a policy counts: whoever may write below it could write a policy there.
// What is found below it comes after it; it can only make things stricter.
func (f *finder) discover(at string) (out []place, err error) {
	for _, dir := range ancestors(at, f.home) {
		p, err := f.at(dir)
		var es obstat.Errors
		switch {
		case err == nil && p.files != nil:
			out = append(out, p)
		case err == nil || errors.As(err, &es) && (es[0].Code == obstat.CodeMissing || es[0].Code == obstat.CodeAmbiguous && len(out) > 0):
		default:
			return nil, err
		}
	}
	return out, nil
}

// at finds the files of a directory, and their dialect.
func (f *finder) at(dir string) (p place, err error) {
	p.name = f.Policy.Dialect
	p.files, err = all.Discover(dir, dir, p.name, f.look.ReadFile)
	var es obstat.Errors
	if errors.As(err, &es) && es[0].Code == obstat.CodeAmbiguous && p.name == "" {
		p.files, p.name, err = f.preferred(dir)
	}
	if err == nil && isClaude(p.name, p.files) {
		p.name = "claudecode"
		p.files, err = f.layers(dir)
	}
	return p, err
}

// preferred chooses among several dialects: obstat's own file, then the agent's,
// if there are rules in it.
func (f *finder) preferred(dir string) ([]dialect.File, string, error) {
	for _, name := range []string{"program", ownDialect(f.event.Agent)} {
		if name == "" {
			continue
		}
		d, err := all.Find(name)
		if err != nil {
			return nil, "", err
		}
		files, err := all.Discover(dir, dir, name, f.look.ReadFile)
		if err == nil && slices.ContainsFunc(files, func(file dialect.File) bool { return d.Detect(&file) != dialect.No }) {
			return files, name, nil
		}
	}
	files, err := all.Discover(dir, dir, "", f.look.ReadFile)
	return files, "", err
}

func isClaude(name string, files []dialect.File) bool {
	d, err := all.Of(name, files)
	return err == nil && d.Name() == "claudecode"
}

// layers reads Claude Code's settings of all layers; nil if there are none with
// rules in them.
func (f *finder) layers(dir string) ([]dialect.File, error) {
	var out []dialect.File
	rules := false
	places, err := claudecode.Places(dir, f.home, "", f.look.ReadDir)
	if err != nil {
		return nil, obstat.Errors{dialect.IOError(filepath.Join(claudecode.ManagedDir(), "managed-settings.d"), err)}
	}
	for _, p := range places {
		if dir == "" && !filepath.IsAbs(p.Name) {
			continue
		}
		data, err := f.look.ReadFile(p.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		file := dialect.File{Name: p.Name, Layer: p.Layer, Data: data}
		if err != nil {
			return nil, obstat.Errors{dialect.IOError(p.Name, err)}
		}
		rules = rules || claudecode.Dialect{}.Detect(&file) != dialect.No
		out = append(out, file)
	}
	if !rules {
		return nil, nil
	}
	return out, nil
}

// ancestors returns the directories a project may start in, outermost first:
// below the home directory, or below the root.
func ancestors(at, home string) []string {
	if at == "" || !filepath.IsAbs(at) {
		return nil
	}
	var out []string
	for at = filepath.Clean(at); ; at = filepath.Dir(at) {
		if at == filepath.Dir(at) || home != "" && at == filepath.Clean(home) {
			break
		}
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}
