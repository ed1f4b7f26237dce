package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/doctor"
	"github.com/obstat/obstat/internal/guard/drive"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// versioned matches the version in the path of a program that keeps one directory or file a
// version: `~/.local/share/claude/versions/2.1.326`.
var versioned = regexp.MustCompile(`[/-](\d+\.\d+\.\d+)(?:/|$)`)

// installedVersion returns the version of the first of some programs that PATH finds, "" where
// it is not told. It reads the package.json above the program, or the program's path; the
// program is not run.
func installedVersion(names []string) string {
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if m := versioned.FindStringSubmatch(path); m != nil {
			return m[1]
		}
		if v := packageVersion(filepath.Dir(path)); v != "" {
			return v
		}
	}
	return ""
}

// maxAbove is how many directories above a program its package.json is looked for in.
const maxAbove = 4

// packageVersion returns the version of the package of Node that a directory belongs to.
func packageVersion(dir string) string {
	for range maxAbove {
		var p struct{ Version string }
		if text, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil && json.Unmarshal(text, &p) == nil &&
			p.Version != "" {
			return p.Version
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// programOf returns the program of an agent that PATH finds, "" where there is none.
func programOf(a *agent.Agent) string {
	for _, name := range a.Programs() {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// drive starts an agent to see whether it runs a changed command, and keeps that.
func (o *doctorOptions) drive(ctx context.Context, state string, a *agent.Agent, x *doctor.Agent, program string) {
	add := func(level agent.Level, code, format string, args ...any) {
		x.Findings = append(x.Findings, doctor.Finding{Level: level, Code: code, Msg: fmt.Sprintf(format, args...)})
	}
	if program == "" {
		add(doctor.Warning, "not-driven", "%s is not on PATH, so that it cannot be started", a.Title)
		return
	}
	self, err := os.Executable()
	if err == nil {
		o.IO.note("starting " + program + " with a model that obstat plays, in an empty home ...")
		s := &drive.Start{Agent: a, Program: program, Canary: []string{self, "canary", a.Name},
			Path: o.Getenv("PATH")}
		err = s.Run(ctx)
	}
	if err != nil {
		_ = confined.Disprove(state, a.Name) // what cannot be forgotten names another file
		add(doctor.Warning, "runs-another-command", "no command of it runs confined: it was started, and %v", err)
		return
	}
	if err := confined.ProveDriven(state, a.Name, x.Installed, program); err != nil {
		add(doctor.Warning, "not-driven", "what was seen cannot be kept: %v", err)
		return
	}
	x.Driven = true
}

// prove keeps for each agent whether it is known to run a changed command: its version here is the one
// in which that was seen, or it was started to see, and its hook holds.
func (o *doctorOptions) prove(ctx context.Context, r *doctor.Report) {
	state, err := statedir.Dir(o.Getenv)
	if err != nil {
		return // nothing is kept, and nothing runs confined
	}
	for _, x := range r.Agents {
		a := agent.Of(x.Name)
		if a == nil || !a.Changes() {
			continue
		}
		program := programOf(a)
		if o.Drive && a.Drive() != nil && x.State != doctor.Broken {
			o.drive(ctx, state, a, x, program)
			continue
		}
		tried := x.Installed != "" && x.Installed == x.Version || confined.Driven(state, a.Name, program)
		if x.State == doctor.Broken || program == "" || !tried {
			_ = confined.Disprove(state, a.Name) // what cannot be forgotten names another file
			continue
		}
		_ = confined.Prove(state, a.Name, x.Installed, program) // what is not kept is not proved
		if why := confined.Unproved(state, a.Name); why != "" {
			x.Findings = append(x.Findings, doctor.Finding{Level: doctor.Warning, Code: "runs-another-command",
				Msg: "no command of it runs confined: " + why})
		}
	}
}
