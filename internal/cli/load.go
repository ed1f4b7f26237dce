package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// policyOptions say which configuration a command works with.
type policyOptions struct {
	Files   []string
	Dialect string
	Options []string
	Floor   string
	Dir     string
}

func (o *policyOptions) flags(cmd *cobra.Command, files bool) {
	fl := cmd.Flags()
	if files {
		fl.StringArrayVarP(&o.Files, "policy", "p", nil, "configuration `file`, lowest precedence first; [LAYER=]FILE (default: what is found in the directory)")
	}
	fl.StringVarP(&o.Dialect, "dialect", "d", "", "`name` of the files' dialect (default: told by name and shape)")
	fl.StringArrayVarP(&o.Options, "option", "o", nil, "option of the dialect, as `name=value`")
	fl.StringVar(&o.Floor, "floor", "", "whether every part of a call is put to the rules: `on` or off (default on)")
	fl.StringVarP(&o.Dir, "dir", "C", "", "working `directory` of the call, and where files are looked for (default: the current one)")
	complete(cmd, "dialect", all.Names()...)
	complete(cmd, "floor", "on", "off")
}

func complete(cmd *cobra.Command, flag string, words ...string) {
	// The flag exists: it was made just before.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// A policy is a loaded configuration and where it was found.
type policy struct {
	*dialect.Loaded
	Files []dialect.File
	Dir   string // absolute
	Found bool   // nobody named the files
}

// names returns the names of the files.
func (p *policy) names() []string {
	out := make([]string, len(p.Files))
	for i, f := range p.Files {
		out[i] = f.Name
	}
	return out
}

// maxPolicy bounds a configuration file.
const maxPolicy = 256 << 20

// load reads and compiles the configuration that o names.
func (f *Factory) load(o *policyOptions) (*policy, error) {
	p, d, in, err := f.input(o)
	if err != nil {
		return nil, err
	}
	if p.Loaded, err = dialect.Load(d, in); err != nil {
		return nil, err
	}
	return p, nil
}

// input reads the files that o names and finds their dialect.
func (f *Factory) input(o *policyOptions) (*policy, dialect.Dialect, *dialect.Input, error) {
	dir, err := f.dir(o.Dir)
	if err != nil {
		return nil, nil, nil, err
	}
	opts, err := o.options()
	if err != nil {
		return nil, nil, nil, err
	}
	p := &policy{Dir: dir, Found: len(o.Files) == 0}
	if p.Found {
		p.Files, err = all.Discover(o.Dir, dir, o.Dialect, f.read)
	} else {
		p.Files, err = dialect.ReadFiles(o.Files, f.read)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	d, err := all.Of(o.Dialect, p.Files)
	if err != nil {
		return nil, nil, nil, err
	}
	home, _ := f.World.Home("")
	return p, d, &dialect.Input{Files: p.Files, Options: opts, Home: home}, nil
}

func (f *Factory) dir(dir string) (string, error) {
	wd, err := f.Getwd()
	switch {
	case filepath.IsAbs(dir):
		return filepath.Clean(dir), nil
	case err != nil:
		return "", fmt.Errorf("the current directory is not known: %w", err)
	}
	return filepath.Join(wd, dir), nil
}

func (o *policyOptions) options() (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range o.Options {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, usagef("--option takes name=value, not %q", kv)
		}
		if _, twice := out[k]; twice {
			return nil, usagef("option %s is given twice", k)
		}
		out[k] = v
	}
	if o.Floor != "" {
		out[dialect.FloorOption] = o.Floor
	}
	return out, nil
}

func (f *Factory) read(name string) ([]byte, error) {
	r, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxPolicy+1))
	if err == nil && len(data) > maxPolicy {
		err = fmt.Errorf("more than %d bytes", maxPolicy)
	}
	return data, err
}

// announce says which files were found, where nobody named any.
func (f *Factory) announce(p *policy) {
	if !p.Found || f.jsonFlag {
		return
	}
	fmt.Fprintf(f.IO.Err, "using %s (%s)\n", visible(joinNames(p.names())), p.Dialect.Name())
}

// warn shows the warnings of a configuration, unless the output is for programs.
func (f *Factory) warn(p *policy) {
	if len(p.Warnings) > 0 && !f.jsonFlag {
		f.problems(f.IO.Err, p.Warnings, false)
	}
}
