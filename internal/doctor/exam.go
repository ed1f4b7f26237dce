package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat/agent"
)

// An exam is the examination of one agent.
type exam struct {
	*Options
	*agent.Setup
	out *Agent
}

// judge checks everything and sends the canaries.
func (x *exam) judge(ctx context.Context, named bool) {
	defer func() { x.out.Findings = x.Findings }()
	x.CheckFiles()
	for _, h := range x.Hooks {
		x.out.Entries = append(x.out.Entries, Entry{Scope: h.File.Scope.String(), File: h.File.Name, Line: h.Line, Event: h.Event, Command: h.Text, Timeout: h.Timeout.Seconds()})
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
	x.out.Version, x.out.Limits = x.Agent.Covers()
	x.out.State = Holds
	if slices.ContainsFunc(x.Findings, func(f Finding) bool { return f.Level == Error }) {
		x.out.State = Broken
	}
}

// program checks the program that the entry calls.
func (x *exam) program(h *agent.Hook) {
	path := h.Invocation.Program
	wrong := func(code, format string) {
		h.Idle = true
		x.Add(Error, code, h, x.Again(), format, path)
	}
	info, err := os.Stat(path)
	switch {
	case h.Invocation.Old():
		wrong("old-program", "%s is of an older obstat, which has no program of that name any more: the entry has to call obstat hook")
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
		x.Add(Warning, "writable-program", h, "chmod go-w "+agent.Quote(path), "others than its owner may replace %s", path)
	}
	if b.Version != x.Self.Version || b.Revision != x.Self.Revision {
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
		x.Add(Error, "short-timeout", h, x.Again(), "%s waits %s, and obstat may take %s: when the agent stops waiting the call may run", x.Agent.Title, h.Timeout, most)
	}
}
