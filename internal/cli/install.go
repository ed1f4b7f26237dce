package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/agents"
	"github.com/obstat/obstat/internal/textedit"
)

// installOptions are the options of obstat install and uninstall.
type installOptions struct {
	Factory *Factory
	Agent   string
	Project bool
	User    bool
	DryRun  bool
	Command string // how the agent calls obstat
	Remove  bool
	Dir     string
}

func newInstall(f *Factory, remove bool, runF func(*installOptions) error) *cobra.Command {
	o := &installOptions{Factory: f, Remove: remove}
	use, short, long := "install", "Make an agent ask obstat before it calls a tool", `Write obstat's hook into an agent's settings: every other byte stays as it is, and
the change is shown. With --project the settings of the current project are
changed, otherwise the user's own.`
	if remove {
		use, short, long = "uninstall", "Take obstat's hook out of an agent's settings", `Take obstat's hook out of an agent's settings; every other byte stays as it is, and
the change is shown.`
	}
	cmd := &cobra.Command{
		Use: use + " [flags] AGENT", Short: short, Long: long + "\n\nThe agents are " + strings.Join(agents.Names(), ", ") + ".",
		Example: "  obstat " + use + " claude-code --dry-run\n  obstat " + use + " codex --project",
		Args:    some(1, 1), ValidArgs: agents.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Agent = args[0]
			if o.Project && o.User {
				return usagef("--project and --user exclude one another")
			}
			if runF != nil {
				return runF(o)
			}
			return installRun(o)
		},
	}
	cmd.Flags().BoolVar(&o.Project, "project", false, "the settings of the current project")
	cmd.Flags().BoolVar(&o.User, "user", false, "the user's own settings (default)")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the change and write nothing")
	cmd.Flags().StringVarP(&o.Dir, "dir", "C", "", "the project's `directory` (default: the current one)")
	if !remove {
		cmd.Flags().StringVar(&o.Command, "command", "", "`path` of obstat for the agent to call (default: this program)")
	}
	return cmd
}

func installRun(o *installOptions) error {
	plan, err := o.plan()
	if err != nil {
		return err
	}
	for _, c := range plan {
		if err := o.change(&c); err != nil {
			return err
		}
	}
	return nil
}

// plan returns the changes, in the order they are made.
func (o *installOptions) plan() ([]agents.Change, error) {
	a := agents.Of(o.Agent)
	if a == nil {
		return nil, usagef("hooks of %q cannot be installed; the agents are %s", o.Agent, strings.Join(agents.Names(), ", "))
	}
	home, _ := o.Factory.World.Home("")
	dir, err := o.Factory.dir(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &agents.Request{Scope: agents.User, Where: &agents.Where{Home: home, Projects: []string{dir}}, Program: o.Command}
	if o.Project {
		r.Scope = agents.Project
	} else if home == "" {
		return nil, errors.New("the home directory is not known")
	}
	if r.Program == "" {
		if r.Program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("the path of this program is not known; name it with --command: %w", err)
		}
	}
	plan := a.Install(r)
	if o.Remove {
		plan = a.Uninstall(r)
	}
	if plan == nil {
		return nil, usagef("%s reads no hooks from a project unless it is told to; install for the user", o.Agent)
	}
	return plan, nil
}

// change shows one file's change and makes it.
func (o *installOptions) change(c *agents.Change) error {
	old, err := os.ReadFile(c.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := c.Edit(old)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	out := o.Factory.IO.Out
	if bytes.Equal(old, text) && text != nil || text == nil && old == nil {
		fmt.Fprintf(out, "%s: nothing to change\n", visible(c.Name))
		return nil
	}
	fmt.Fprintf(out, "%s\n%s", visible(c.Name), o.diff(old, text))
	switch {
	case o.DryRun:
		return nil
	case text == nil:
		return os.Remove(c.Name)
	}
	if err := os.MkdirAll(filepath.Dir(c.Name), 0o755); err != nil {
		return err
	}
	return textedit.UpdateFile(c.Name, c.Edit)
}

// diff shows the lines that differ: all edits here are in one place each.
func (o *installOptions) diff(old, text []byte) string {
	a, b := textLines(old), textLines(text)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var s strings.Builder
	for _, l := range a {
		s.WriteString(o.Factory.IO.paint(red, "- "+visible(l)) + "\n")
	}
	for _, l := range b {
		s.WriteString(o.Factory.IO.paint(green, "+ "+visible(l)) + "\n")
	}
	return s.String()
}

func textLines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
