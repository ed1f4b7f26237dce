package hookrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/claudecode"
)

// A policy is a configuration that a call is decided by.
type policy struct {
	*dialect.Loaded
	Inner bool // found below a project's own
}

// A finder finds the configuration for a call.
type finder struct {
	*turn
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
	return (&finder{turn: t}).find()
}

// policies finds the policies for the call; none means that there is none
// anywhere.
func (t *turn) policies() ([]*policy, error) {
	f := &finder{turn: t}
	found, err := f.find()
	out := make([]*policy, len(found))
	for i, l := range found {
		out[i] = &policy{l, f.inner[l]}
	}
	return out, err
}

// places returns where the project of the call may be.
func (t *turn) places() []string {
	if t.found != nil {
		return t.found
	}
	c := t.event.Call
	t.found = []string{c.Dir}
	if len(c.Roots) > 0 {
		t.found[0] = c.Roots[0]
	}
	if wd, err := t.Getwd(); err == nil && wd != t.found[0] {
		t.found = append(t.found, wd)
	}
	return t.found
}

// list returns the names in a directory.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
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
	read := func(name string) ([]byte, error) { return f.Read(absolute(name)) }
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
	p.files, err = all.Discover(dir, dir, p.name, f.Read)
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
		files, err := all.Discover(dir, dir, name, f.Read)
		if err == nil && slices.ContainsFunc(files, func(file dialect.File) bool { return d.Detect(&file) != dialect.No }) {
			return files, name, nil
		}
	}
	files, err := all.Discover(dir, dir, "", f.Read)
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
	places, err := claudecode.Dialect{}.Places(&dialect.Where{Dir: dir, Home: f.home, Getenv: f.Getenv, List: list})
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if dir == "" && !filepath.IsAbs(p.Name) {
			continue
		}
		data, err := f.Read(p.Name)
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
