package doctor

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
)

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
			x.Add(Warning, "not-proved", h, x.Again(), "the entry came with the project and is not as obstat writes it, so that it was not run")
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
	p := Proof{File: h.File.Name, Event: h.Event, Canary: c.Name, Outcome: outcome.String(), Held: outcome != agent.Runs, Said: string(said), Exit: reply.Exit}
	x.out.Proofs = append(x.out.Proofs, p)
	switch {
	case p.Held:
	case c.Mild:
		x.Add(Warning, "unknown-tools-run", h, "let the policy's last word be ask or deny", "at %s, %s runs", h.Event, c.Name)
	case c.Cut:
		x.Add(Error, "fails-open", h, "", "at %s, %s is not denied", h.Event, c.Name)
	default:
		x.Add(Error, "not-held", h, "deny it in the policy, or see what the hook says: obstat check", "at %s, %q runs", h.Event, c.Name)
	}
}

// kept are the variables of the environment that a hook gets besides.
var kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "USERPROFILE", "SystemRoot", "ComSpec"}

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
