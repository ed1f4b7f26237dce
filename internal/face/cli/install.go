package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/face/hook"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// installOptions are the options of obstat install and uninstall.
type installOptions struct {
	*Factory
	Agent   string
	Project bool   `flag:"project"`
	User    bool   `flag:"user"`
	DryRun  bool   `flag:"dry-run"`
	Yes     bool   `flag:"yes y"`
	Offline bool   `flag:"offline"`
	Command string `flag:"command"` // how the agent calls obstat
	Wait    string `flag:"wait"`
	MCP     bool   `flag:"mcp"`
	Dir     string `flag:"dir C"`
	Remove  bool
	Getenv  func(string) string
}

func newInstall(f *Factory) *cobra.Command {
	o := &installOptions{Factory: f, Getenv: os.Getenv}
	return takesAgents(command("install", some(1, 1), o, o.run), installable())
}

func newUninstall(f *Factory) *cobra.Command {
	o := &installOptions{Factory: f, Remove: true, Getenv: os.Getenv}
	return takesAgents(command("uninstall", some(1, 1), o, o.run), installable())
}

// A pending change is one that has been worked out and is not yet made.
type pendingChange struct {
	agent.Change
	undo      *agent.Undo // record of the file as it was
	old, text []byte
}

func (p *pendingChange) none() bool {
	return bytes.Equal(p.old, p.text) && (p.old == nil) == (p.text == nil)
}

func (o *installOptions) run(_ context.Context, args []string) error {
	o.Agent = args[0]
	if o.Project && o.User {
		return usagef("--project and --user exclude one another")
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	todo := make([]*pendingChange, len(plan))
	nothing := true
	for i := range plan {
		p := &pendingChange{Change: plan[i], undo: loadUndo(plan[i].Name)}
		if p.old, err = textedit.ReadFile(p.Name); err == nil {
			p.text, err = o.edit(p, p.old)
		}
		if err != nil {
			return err
		}
		todo[i], nothing = p, nothing && p.none()
	}
	for _, p := range todo {
		o.show(p)
	}
	if nothing || o.DryRun {
		return nil
	}
	if err := o.agreed(todo[0].Name); err != nil {
		return err
	}
	for _, p := range todo {
		if err := o.write(p); err != nil {
			return err
		}
	}
	return o.after()
}

// agreed asks before the changes are made. Taking the guard away is for a person.
func (o *installOptions) agreed(place string) error {
	if !o.Remove {
		return o.confirm(o.Yes)
	}
	_, err := o.accept(place, "Write this?", o.Yes)
	return err
}

// plan returns the changes, in the order they are made.
func (o *installOptions) plan() ([]agent.Change, error) {
	a := agent.Of(o.Agent)
	if a == nil || !a.Installable() {
		return nil, mistyped(fmt.Sprintf("hooks of %q cannot be installed; the agents are %s", o.Agent,
			strings.Join(installable(), ", ")), o.Agent, installable())
	}
	home, _ := o.World.Home("")
	dir, err := o.dir(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &agent.Request{Scope: agent.User, Where: &agent.Where{Home: home, Projects: []string{dir}, Getenv: o.Getenv},
		Program: o.Command, Offline: o.Offline}
	if o.Project {
		r.Scope = agent.Project
	} else if home == "" {
		return nil, errors.New("the home directory is not known")
	}
	if r.Program == "" && o.Project && !o.MCP {
		r.Program = agent.OnPath
	}
	if r.Program == "" {
		if r.Program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("the path of this program is not known; name it with --command: %w", err)
		}
	} else if !filepath.IsAbs(r.Program) && (!o.Project || r.Program != agent.OnPath) {
		return nil, usagef("--command needs a full path: an agent may run it anywhere, and %q could be another program there", r.Program)
	}
	if (agent.Invocation{Program: r.Program}).Old() {
		return nil, usagef("%s is of an older obstat; name obstat itself", r.Program)
	}
	if o.Offline && !a.Waits() {
		return nil, usagef("--offline has no effect: %s does not wait for a network", a.Title)
	}
	if r.Options, err = o.waiting(a); err != nil {
		return nil, err
	}
	if o.MCP {
		return o.planServers(a, r)
	}
	plan := a.Install(r)
	if o.Remove {
		plan = a.Uninstall(r)
	}
	if plan == nil {
		return nil, usagef("%s skips hooks of a project unless the folder is trusted, and says nothing; install for the user", a.Title)
	}
	return plan, nil
}

// planServers returns the changes that put the gateway in front of the agent's servers, or
// take it out.
func (o *installOptions) planServers(a *agent.Agent, r *agent.Request) ([]agent.Change, error) {
	plan, left := a.GuardServers(r, o.Remove)
	for _, s := range left {
		fmt.Fprintf(o.IO.Out, "%s stays as it is: it is reached at an address, and its tokens are for that; see obstat mcp --upstream\n", visible(s))
	}
	if len(plan) == 0 && len(left) == 0 {
		return nil, fmt.Errorf("%s has no MCP servers in the %s's settings", a.Title, r.Scope)
	}
	return plan, nil
}

// installable returns the names of the agents that obstat can be installed for.
func installable() []string { return agent.All().Installable().Names() }

// edit returns a file's new bytes.
func (o *installOptions) edit(p *pendingChange, old []byte) (text []byte, err error) {
	if o.Remove {
		text, err = p.Revert(p.undo, old)
	} else {
		text, err = p.Edit(old)
	}
	var broken *textedit.BrokenError
	switch {
	case errors.As(err, &broken):
		return nil, fmt.Errorf("%s:%w; it is left as it is", p.Name, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return text, nil
}

// show prints a change as a diff.
func (o *installOptions) show(p *pendingChange) {
	s := o.IO
	heading := visible(p.Name)
	switch {
	case p.none():
		heading += ": nothing to change"
	case p.text == nil:
		heading += " goes away"
	case p.old == nil:
		heading += " is new"
	}
	fmt.Fprintln(s.Out, strings.Join(s.hung(heading), "\n"))
	lines := display.Diff(string(p.old), string(p.text))
	if filepath.Ext(p.Name) == ".json" {
		lines = display.Folded(lines)
	}
	for _, line := range lines {
		ink := signInk(line)
		for _, l := range s.hung(visible(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    "))) {
			fmt.Fprintln(s.Out, s.paint(ink, l))
		}
	}
}

// write makes a change; the file may have changed meanwhile, so that it is
// worked out again under the file's lock.
func (o *installOptions) write(p *pendingChange) error {
	if o.Remove && p.old == nil && p.none() {
		os.Remove(undoFile(p.Name))
		return nil // there may not even be a directory
	}
	mode := p.Mode
	if mode == 0 {
		mode = 0o644
	}
	err := textedit.ReplaceFile(p.Name, mode, func(old []byte) (text []byte, err error) {
		p.old = old
		p.text, err = o.edit(p, old)
		return p.text, err
	})
	if err != nil {
		return err
	}
	if p.Mode != 0 && p.text != nil {
		if err := os.Chmod(p.Name, p.Mode); err != nil { // it may have been there without
			return err
		}
	}
	if p.Dir && p.old != nil && p.text == nil {
		_ = os.Remove(filepath.Dir(p.Name)) // unless there is something else in it by now
	}
	switch {
	case o.Remove:
		os.Remove(undoFile(p.Name))
	case p.Same != nil && !p.none():
		before := p.old
		if first, ok := p.undo.Before(p.old); ok {
			before = first // obstat's own older entry is nothing to go back to
		}
		saveUndo(agent.NewUndo(p.Name, before, p.text))
	}
	return nil
}

// after prints the next steps, and offers to accept the policy of a project.
func (o *installOptions) after() error {
	if o.Remove {
		return nil
	}
	if o.MCP {
		o.IO.tell("See what the servers offer: obstat mcp tools; whether the gateway holds: obstat doctor " + o.Agent)
		return nil
	}
	if note := agent.Of(o.Agent).Note(); note != "" && !o.Offline {
		o.IO.tell(note)
	}
	o.IO.tell("See whether it holds: obstat doctor " + o.Agent +
		"\nIn a project without a policy the preset balanced is in force; obstat init writes one there")
	if !o.Project {
		return nil
	}
	if o.Command == "" {
		o.IO.tell("Commit the file: it calls obstat by its name, and denies every call where obstat is not on PATH")
		if _, err := exec.LookPath(agent.OnPath); err != nil {
			o.IO.tell("It is not on PATH here: put it there, or name it with --command")
		}
	}
	return o.offerTrust(context.Background(), o.Dir)
}

// waiting returns the hook's options about waiting. The agent has to wait longer
// than its hook: when it does not, it runs the call.
func (o *installOptions) waiting(a *agent.Agent) ([]string, error) {
	if o.Wait == "" {
		return nil, nil
	}
	w, err := hook.ParseWaiting(o.Wait)
	if err != nil {
		return nil, usagef("%s", err)
	}
	if most := a.Limit() - hook.Margin; w.For > most {
		return nil, usagef("%s waits %s for its hook, so that the hook can wait for %s at most", a.Title, a.Limit(), most)
	}
	return []string{"--wait", o.Wait}, nil
}

// undoFile returns the record by which a settings file is given back byte for byte, ""
// if there is no place for it. Records are a convenience: without one the entry is taken
// out all the same.
func undoFile(file string) string {
	dir, err := statedir.Dir(os.Getenv)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(dir, "install", hex.EncodeToString(sum[:12])+".json")
}

func loadUndo(file string) *agent.Undo {
	data, err := os.ReadFile(undoFile(file))
	u := &agent.Undo{}
	if err != nil || json.Unmarshal(data, u) != nil || u.File != file {
		return nil
	}
	return u
}

// saveUndo keeps a record. Settings may hold secrets, so that only their owner may
// read it.
func saveUndo(u *agent.Undo) {
	name := undoFile(u.File)
	data, err := json.Marshal(u)
	if name == "" || err != nil || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	_ = os.WriteFile(name, append(data, '\n'), 0o600)
}
