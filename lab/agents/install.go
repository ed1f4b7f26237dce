package agents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages is where an agent is, at its version.
func (o *options) packages(a *Agent) string {
	return filepath.Join(o.cache, a.Name+"-"+a.Version)
}

// done and failed are files that mark an agent as installed, or as failed.
const (
	done   = "installed"
	failed = "failed"
)

// install fetches the agents that are not there yet. One that cannot be had does
// not keep the others from being tried.
func (o *options) install(agents []Agent) error {
	for i := range agents {
		a := &agents[i]
		dir := o.packages(a)
		if _, err := os.Stat(filepath.Join(dir, done)); err == nil {
			fmt.Fprintf(o.out, "%s %s is here\n", a.Title, a.Version)
			continue
		}
		fmt.Fprintf(o.out, "%s %s: npm i %s@%s ...\n", a.Title, a.Version, a.Package, a.Version)
		name, text := done, ""
		if err := npm(dir, a.Package+"@"+a.Version); err != nil {
			name, text = failed, err.Error()
			fmt.Fprintln(o.out, text)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// whyNot says why the agent is not there, "" if it is.
func (r *run) whyNot() string {
	if text, err := os.ReadFile(filepath.Join(r.packages, failed)); err == nil {
		return string(text)
	}
	if _, err := os.Stat(filepath.Join(r.packages, done)); err != nil {
		return err.Error()
	}
	return ""
}

// npm installs one package into a directory of its own; no script of the
// package runs.
func npm(dir, what string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"private\": true}\n"), 0o644); err != nil {
		return err
	}
	cmd := exec.Command("npm", "i", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", what)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm i %s: %w\n%s", what, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// build makes obstat's program from the checkout, as `make build` does: one that is linked with the C
// library starts a third slower.
func (o *options) build() error {
	fmt.Fprintln(o.out, "building obstat ...")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o",
		o.tools+string(filepath.Separator), "./cmd/obstat")
	cmd.Dir, cmd.Env = o.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
