package doctor

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/shell"
)

// An exam is the examination of one agent.
type exam struct {
	*Options
	*agent.Setup
	out    *Agent
	others []string // programs of another version that were told
}

// judge checks everything and sends the canaries.
func (x *exam) judge(ctx context.Context, named bool) {
	defer func() { x.out.Findings = x.Findings }()
	x.CheckFiles()
	x.gateways(ctx)
	for _, h := range x.Hooks {
		x.out.Entries = append(x.out.Entries, Entry{Scope: h.File.Scope.String(), File: h.File.Name, Line: h.Line,
			Event: h.Event, Command: h.Text, Timeout: h.Timeout.Seconds()})
	}
	if len(x.Hooks) == 0 {
		x.out.State = Open
		if named || len(x.Findings) > 0 {
			x.out.State = Broken
			x.Add(Error, "not-installed", nil, x.Again(), "%s does not ask obstat", x.Agent.Title)
		}
		return
	}
	for _, h := range x.Hooks {
		x.program(h)
		x.timeout(h)
	}
	x.CheckHooks()
	x.prove(ctx)
	x.rules(ctx)
	x.out.Version, x.out.Limits = x.Agent.Covers()
	x.version()
	for _, m := range x.Agent.Modes() {
		x.out.Modes = append(x.out.Modes, Mode{m.Name, m.Event, m.Told(), string(m.Asked()), m.Says})
	}
	x.out.State = Holds
	if slices.ContainsFunc(x.Findings, func(f Finding) bool { return f.Level == Error }) {
		x.out.State = Broken
	}
}

// version says where another version of the agent is here than the one in which its modes and
// prompts were tried.
func (x *exam) version() {
	if x.Options.Installed == nil {
		return
	}
	x.out.Installed = x.Options.Installed(x.Agent.Programs())
	if x.out.Installed == "" || x.out.Version == "" || x.out.Installed == x.out.Version {
		return
	}
	x.Add(Warning, "other-version", nil, "look once whether a call that obstat asks about gets a prompt; obstat ask "+
		"answers in any version",
		"%s %s is here; what its modes do with an answer, and whether it shows an ask, was tried with %s", x.Agent.Title,
		x.out.Installed, x.out.Version)
}

// program checks the program that the entry calls.
func (x *exam) program(h *agent.Hook) {
	path := h.Invocation.Program
	shared := path == agent.OnPath && h.File.Scope == agent.Project
	if shared {
		if found, err := exec.LookPath(path); err == nil {
			path = found
		}
	}
	wrong := func(code, format string) {
		h.Idle = true
		x.Add(Error, code, h, x.Again(), format, path)
	}
	info, err := os.Stat(path)
	switch {
	case h.Invocation.Old():
		wrong("old-program", "%s is of an older obstat, which has no program of that name any more: the entry has to call "+
			"obstat hook")
		return
	case shared && path == agent.OnPath:
		wrong("missing-program", "%s is not on PATH: every call is denied until it is")
		return
	case !filepath.IsAbs(path):
		wrong("relative-program", "%s is looked for wherever the agent runs: it may be another program, or none")
		return
	case err != nil:
		wrong("missing-program", "%s is not there")
		return
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0 && filepath.Ext(path) != ".exe":
		wrong("not-executable", "%s cannot be run")
		return
	}
	b, err := x.Inspect(path)
	if err != nil || !b.Obstat {
		wrong("not-obstat", "%s is not obstat")
		return
	}
	if b.Writable {
		x.Add(Warning, "writable-program", h, "chmod go-w "+shell.Quote(path), "others than its owner may replace %s", path)
	}
	other := b.Version != x.Self.Version || b.Revision != x.Self.Revision
	if other && !slices.Contains(x.others, path) { // once, and not for each of its entries
		x.others = append(x.others, path)
		x.Add(Warning, "other-version", h, x.Again(), "%s is version %s, this is %s", path, versionOf(b), versionOf(&x.Self))
	}
}

func versionOf(b *Binary) string {
	out := b.Version
	if out == "" {
		out = "unknown"
	}
	if b.Revision != "" {
		out += " (" + b.Revision + ")"
	}
	return out
}

// timeout checks that the agent waits longer than the hook may take.
func (x *exam) timeout(h *agent.Hook) {
	if h.Timeout <= 0 || x.Deadline == nil {
		return
	}
	if most := x.Deadline(x.Agent.Name, h.Invocation.Args); h.Timeout <= most {
		x.Add(Error, "short-timeout", h, x.Again(), "%s waits %s, and obstat may take %s: when the agent stops waiting the "+
			"call may run", x.Agent.Title, h.Timeout, most)
	}
}

// A Command is a hook to run the way an agent does.
type Command struct {
	Argv  []string
	Dir   string
	Env   []string // the agent's variables
	Stdin []byte
}

// prove sends the canaries through every entry.
func (x *exam) prove(ctx context.Context) {
	for _, h := range x.Hooks {
		switch {
		case h.Idle:
			continue
		case !x.safe(h):
			x.Add(Warning, "not-proved", h, x.Again(), "the entry came with the project and is not as obstat writes it, so "+
				"that it was not run")
			continue
		}
		for _, c := range h.Canaries(x.Dir) {
			x.send(ctx, h, &c)
		}
	}
}

// safe tells whether running an entry runs only obstat: settings of a project may
// have been written by others.
func (x *exam) safe(h *agent.Hook) bool {
	if h.File.Scope != agent.Project {
		return true
	}
	rel, err := filepath.Rel(x.Dir, h.Invocation.Program)
	outside := err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
	return outside && h.Written()
}

func (x *exam) send(ctx context.Context, h *agent.Hook, c *agent.Canary) {
	argv, env := h.Command(x.Dir, x.Env)
	reply := x.Run(ctx, &Command{Argv: argv, Dir: x.Dir, Env: env, Stdin: c.Stdin})
	outcome := h.Outcome(reply)
	said, _, _ := bytes.Cut(bytes.TrimSpace(reply.Stderr), []byte("\n"))
	p := Proof{File: h.File.Name, Event: h.Event, Canary: c.Name, Outcome: outcome.String(),
		Held: outcome != agent.Runs, Said: string(said), Exit: reply.Exit}
	x.out.Proofs = append(x.out.Proofs, p)
	switch {
	case p.Held:
	case c.Mild:
		x.Add(Warning, "unknown-tools-run", h, "let the policy's last word be ask or deny", "at %s, %s runs", h.Event, c.Name)
	case c.Cut:
		x.Add(Error, "fails-open", h, "", "at %s, %s is not denied", h.Event, c.Name)
	default:
		x.Add(Error, "not-held", h, "deny it in the policy, or see what the hook says: obstat check", "at %s, %q runs",
			h.Event, c.Name)
	}
}

// kept are the variables of the environment that a hook gets besides.
var kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME",
	"USERPROFILE", "SystemRoot", "ComSpec"}

// Environ returns the environment for a hook: the variables that every process
// needs, those of the agent, and a state directory of its own, so that canaries
// neither stand in the ledger nor wait for a person.
func (c *Command) Environ(getenv func(string) string, state string) []string {
	var out []string
	for _, name := range kept {
		if v := getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return slices.Concat(out, c.Env, []string{"XDG_STATE_HOME=" + state, "OBSTAT_WAIT=off"})
}
