package doctor

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/agents"
)

// A Command is a hook to run the way an agent does.
type Command struct {
	Argv  []string
	Dir   string
	Env   []string // the agent's variables
	Stdin []byte
}

// A canary is a call that must not simply run.
type canary struct {
	name string
	call call
	cut  bool // what is sent ends in the middle
	// mild: a policy may allow it, and should not.
	mild bool
}

// canaries returns the calls for an event; file is where the entry stands.
func canaries(file string) []canary {
	return []canary{
		{name: "rm -rf /", call: call{kind: shell, text: "rm -rf /"}},
		{name: "write to " + filepath.Base(file), call: call{kind: write, text: file}},
		{name: "a tool nobody knows", call: call{kind: unknown, text: "obstat_doctor_canary"}, mild: true},
		{name: "a call cut short", call: call{kind: shell, text: "true"}, cut: true},
	}
}

// prove sends the canaries through every entry.
func (x *exam) prove(ctx context.Context) {
	for _, m := range x.mine {
		switch {
		case m.sick:
			continue
		case !x.safe(m):
			x.add(Warning, "not-proved", m, "obstat install "+x.agent.Name, "the entry came with the project and is not as obstat writes it, so that it was not run")
			continue
		}
		for _, c := range canaries(m.file.Name) {
			payload := x.payload(m.Event, c.call)
			if payload == nil {
				continue // this event has no such calls
			}
			if c.cut {
				payload = payload[:len(payload)*2/3]
			}
			x.send(ctx, m, &c, payload)
		}
	}
}

// safe tells whether running an entry runs only what obstat wrote: settings of a
// project may be somebody else's.
func (x *exam) safe(m *found) bool {
	if m.file.Place.Scope != agents.Project {
		return true
	}
	rel, err := filepath.Rel(x.Dir, m.Call.Program)
	outside := err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
	return outside && x.agent.Written(&m.Entry)
}

func (x *exam) send(ctx context.Context, m *found, c *canary, payload []byte) {
	reply := x.Run(ctx, &Command{Argv: x.argv(m), Dir: x.Dir, Env: x.environment(m.Event), Stdin: payload})
	outcome := x.agent.Honours(m.Event, m.FailClosed, reply)
	said, _, _ := bytes.Cut(bytes.TrimSpace(reply.Stderr), []byte("\n"))
	p := Proof{File: m.file.Name, Event: m.Event, Canary: c.name, Outcome: outcome.String(), Held: outcome != agents.Runs, Said: string(said), Exit: reply.Exit}
	x.out.Proofs = append(x.out.Proofs, p)
	switch {
	case p.Held:
	case c.mild:
		x.add(Warning, "unknown-tools-run", m, "let the policy's last word be ask or deny", "at %s, %s runs", m.Event, c.name)
	case c.cut:
		x.add(Error, "fails-open", m, "", "at %s, %s is not denied", m.Event, c.name)
	default:
		x.add(Error, "not-held", m, "deny it in the policy, or see what the hook says: obstat check", "at %s, %q runs", m.Event, c.name)
	}
}

// argv returns the words that the agent starts.
func (x *exam) argv(m *found) []string {
	switch x.agent.Name {
	case agents.OpenCode:
		return m.Call.Argv()
	case agents.Cline:
		return []string{m.file.Name}
	case agents.Gemini, agents.Copilot:
		return []string{"bash", "-c", m.Text}
	case agents.Codex:
		if sh := x.Env("SHELL"); filepath.IsAbs(sh) {
			return []string{sh, "-lc", m.Text}
		}
	}
	return []string{"/bin/sh", "-c", m.Text}
}

// environment returns the variables that the agent sets for its hooks.
func (x *exam) environment(event string) []string {
	switch x.agent.Name {
	case agents.ClaudeCode:
		return []string{"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_PROJECT_DIR=" + x.Dir}
	case agents.Gemini:
		return []string{"GEMINI_SESSION_ID=" + session, "GEMINI_CWD=" + x.Dir, "GEMINI_PROJECT_DIR=" + x.Dir, "CLAUDE_PROJECT_DIR=" + x.Dir}
	case agents.Crush:
		return []string{"CRUSH_EVENT=" + event, "CRUSH_SESSION_ID=" + session, "CRUSH_CWD=" + x.Dir, "CRUSH_PROJECT_DIR=" + x.Dir, "AGENT=crush"}
	case agents.Cursor:
		return []string{"CURSOR_PROJECT_DIR=" + x.Dir, "CURSOR_VERSION=2.4", "CLAUDE_PROJECT_DIR=" + x.Dir}
	}
	return nil
}

// kept are the variables of the environment that a hook gets besides.
var kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "USERPROFILE", "SystemRoot", "ComSpec"}

// Environ returns the environment for a hook: what every process needs, the
// agent's variables, and a state directory of its own, so that canaries neither
// stand in the ledger nor wait for a person.
func (c *Command) Environ(getenv func(string) string, state string) []string {
	var out []string
	for _, name := range kept {
		if v := getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return slices.Concat(out, c.Env, []string{"XDG_STATE_HOME=" + state, "OBSTAT_WAIT=off"})
}
