package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/hook"
)

// ownDialect is whose files an agent keeps its own rules in.
var ownDialect = map[string]string{hook.ClaudeCode: "claudecode", hook.OpenCode: "opencode"}

// policies loads the policies that a call is decided by; none means that there
// is none anywhere.
func (o *hookOptions) policies(e *hook.Event) ([]*policy, error) {
	if len(o.Policy.Files) > 0 || o.Policy.Dir != "" {
		p, err := o.Factory.load(&o.Policy)
		return []*policy{p}, err
	}
	home, _ := o.Factory.World.Home("")
	var out []*policy
	for _, at := range o.places(e.Call) {
		files, name, err := o.discover(e, at, home)
		if err != nil {
			return nil, err
		}
		if files == nil || len(out) > 0 && out[0].Files[0].Name == files[0].Name {
			continue
		}
		p, err := o.compile(files, name, home)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if len(out) > 0 || o.Policy.Dialect != "" && o.Policy.Dialect != "claudecode" {
		return out, nil
	}
	files, err := o.layers("", home) // the user's own rules, and the machine's
	if err != nil || files == nil {
		return nil, err
	}
	p, err := o.compile(files, "claudecode", home)
	return []*policy{p}, err
}

// places returns where the project of a call may be.
func (o *hookOptions) places(c *obstat.Call) []string {
	out := []string{c.Dir}
	if len(c.Roots) > 0 {
		out[0] = c.Roots[0]
	}
	if wd, err := o.Factory.Getwd(); err == nil && wd != out[0] {
		out = append(out, wd)
	}
	return out
}

func (o *hookOptions) compile(files []dialect.File, name, home string) (*policy, error) {
	opts, err := o.Policy.options()
	if err != nil {
		return nil, err
	}
	d, err := all.Of(name, files)
	if err != nil {
		return nil, err
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Options: opts, Home: home})
	return &policy{Loaded: l, Files: files}, err
}

// discover finds the files of the project that a directory is in, and their
// dialect. The outermost directory with a policy counts: whoever may write
// below it could write a policy there.
func (o *hookOptions) discover(e *hook.Event, at, home string) ([]dialect.File, string, error) {
	for _, dir := range ancestors(at, home) {
		name := o.Policy.Dialect
		files, err := all.Discover(dir, dir, name, o.Factory.read)
		var es obstat.Errors
		if errors.As(err, &es) && es[0].Code == obstat.CodeAmbiguous && name == "" {
			files, name, err = o.preferred(dir, e.Agent)
		}
		switch {
		case err == nil && isClaude(name, files):
			files, err := o.layers(dir, home)
			return files, "claudecode", err
		case err == nil:
			return files, name, nil
		case !errors.As(err, &es) || es[0].Code != obstat.CodeMissing:
			return nil, "", err
		}
	}
	return nil, "", nil
}

// preferred chooses among several dialects: obstat's own file, then the agent's.
func (o *hookOptions) preferred(dir, agent string) ([]dialect.File, string, error) {
	for _, name := range []string{"program", ownDialect[agent]} {
		if name == "" {
			continue
		}
		if files, err := all.Discover(dir, dir, name, o.Factory.read); err == nil {
			return files, name, nil
		}
	}
	files, err := all.Discover(dir, dir, "", o.Factory.read)
	return files, "", err
}

func isClaude(name string, files []dialect.File) bool {
	d, err := all.Of(name, files)
	return err == nil && d.Name() == "claudecode"
}

// layers reads Claude Code's settings of all layers; nil if there are none with
// rules in them.
func (o *hookOptions) layers(dir, home string) ([]dialect.File, error) {
	var out []dialect.File
	rules := false
	for _, p := range claudecode.Places(dir, home, "") {
		if dir == "" && !filepath.IsAbs(p.Name) {
			continue
		}
		data, err := o.Factory.read(p.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f := dialect.File{Name: p.Name, Layer: p.Layer, Data: data}
		if err != nil {
			return nil, obstat.Errors{dialect.IOError(p.Name, err)}
		}
		rules = rules || claudecode.Dialect{}.Detect(&f) != dialect.No
		out = append(out, f)
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
