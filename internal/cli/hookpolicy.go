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

// policy loads the policy for a call; nil means that there is none anywhere.
func (o *hookOptions) policy(e *hook.Event) (*policy, error) {
	if len(o.Policy.Files) > 0 || o.Policy.Dir != "" {
		return o.Factory.load(&o.Policy)
	}
	opts, err := o.Policy.options()
	if err != nil {
		return nil, err
	}
	home, _ := o.Factory.World.Home("")
	files, name, err := o.discover(e, home)
	if err != nil || files == nil {
		return nil, err
	}
	d, err := all.Of(name, files)
	if err != nil {
		return nil, err
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Options: opts, Home: home})
	if err != nil {
		return nil, err
	}
	return &policy{Loaded: l, Files: files}, nil
}

// discover finds the files of the call's project and their dialect. The
// outermost directory with a policy counts: a call can choose where it is made,
// and write a policy there first.
func (o *hookOptions) discover(e *hook.Event, home string) ([]dialect.File, string, error) {
	for _, dir := range ancestors(e.Call, home) {
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
	if o.Policy.Dialect != "" && o.Policy.Dialect != "claudecode" {
		return nil, "", nil
	}
	files, err := o.layers("", home) // the user's own rules, and the machine's
	return files, "claudecode", err
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
func ancestors(c *obstat.Call, home string) []string {
	at := c.Dir
	if len(c.Roots) > 0 {
		at = c.Roots[0]
	}
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
