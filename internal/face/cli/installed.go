package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/doctor"
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

// prove keeps for each agent whether it is known to run a changed command: its version here is the one
// in which that was seen, and its hook holds.
func (o *doctorOptions) prove(r *doctor.Report) {
	state, err := statedir.Dir(o.Getenv)
	if err != nil {
		return // nothing is kept, and nothing runs confined
	}
	for _, x := range r.Agents {
		a := agent.Of(x.Name)
		if a == nil || !a.Changes() {
			continue
		}
		program := ""
		for _, name := range a.Programs() {
			if path, err := exec.LookPath(name); err == nil {
				program = path
				break
			}
		}
		if x.State == doctor.Broken || program == "" || x.Installed == "" || x.Installed != x.Version {
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
