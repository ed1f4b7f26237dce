package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/scripted"
)

// A run is one start of an agent, in a directory of its own that holds home,
// project and obstat.
type run struct {
	dir      string
	packages string // where npm put the agent
	lab      string // this program, for the agent to start as a tool server
	tools    string // where obstat was built
	policies map[policyState]string
	programs map[string]string // by agent: everything is allowed, in its notation
	model    *scripted.Model
	hook     string   // the settings that the hook is in, below dir
	root     string   // of the checkout
	plugins  bool     // the agents' plugins take the place of what obstat installs
	keep     bool     // the directory stays, with the agent's requests
	at       string   // where the agent is started, below the project
	extra    []string // variables for the agent
	asked    int      // questions that the agent has shown
	hastened bool     // the agent waits less for its hook than it was installed with
}

func (r *run) home(rel string) string { return filepath.Join(r.dir, "home", filepath.FromSlash(rel)) }
func (r *run) project() string        { return filepath.Join(r.dir, "project") }
func (r *run) bin() string            { return filepath.Join(r.dir, "bin") }

// cwd is where the agent is started.
func (r *run) cwd() string { return filepath.Join(r.project(), filepath.FromSlash(r.at)) }

func (r *run) write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// replace changes a file that the installer wrote; nothing to change is an
// error, since then the installer writes something else by now.
func (r *run) replace(name, pattern, with string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := regexp.MustCompile(pattern).ReplaceAll(old, []byte(with))
	if string(text) == string(old) {
		return fmt.Errorf("%s has nothing like %s in it", name, pattern)
	}
	return os.WriteFile(name, text, 0o644)
}

// prepare lays the directories out and installs obstat's hook.
func (r *run) prepare(ctx context.Context, a *Agent, s *scenario) error {
	r.at = s.at
	for _, dir := range []string{"home", "project/allowed", "project/secret", "project/src/deep", "project/inner",
		"other", "bin", "tmp"} {
		if err := os.MkdirAll(filepath.Join(r.dir, filepath.FromSlash(dir)), 0o755); err != nil {
			return err
		}
	}
	if s.hook == inFront {
		if err := r.gateway(a); err != nil {
			return err
		}
	}
	err := errors.Join(r.writePolicy(s.policy), r.write(filepath.Join(r.dir, "other", "opencode.json"), neighbourRules),
		r.write(filepath.Join(r.project(), "inner", "opencode.json"), nestedRules),
		r.write(filepath.Join(r.project(), kept), "x\n"), a.driver.setup(r))
	if err == nil && s.policy == confining {
		err = r.prepareSuite()
	}
	if err != nil || s.hook == never {
		return err
	}
	if s.hook == inFront {
		return r.obstat(ctx, "trust", "--yes")
	}
	if err := r.install(ctx, a, s); err != nil {
		return err
	}
	if s.policy.accepted() {
		if err := r.obstat(ctx, "trust", "--yes"); err != nil {
			return err
		}
	}
	if s.policy == confining {
		r.prove(ctx)
	}
	switch s.hook {
	case killed:
		return r.spoil("#!/bin/sh\nkill -9 $$\n")
	case hanging:
		r.hastened = true
		e := a.driver.entry
		return errors.Join(r.replace(r.home(e.file), e.timeout, e.short), r.spoil("#!/bin/sh\nexec sleep 600\n"))
	case stalled:
		key := r.home(".local/state/obstat/obstat.db.key")
		return errors.Join(os.Remove(key), pipe(key))
	case missing:
		return r.spoil("")
	}
	return nil
}

// policyFile is the file that obstat goes by.
func (r *run) policyFile() string { return filepath.Join(r.project(), "obstat.json") }

func (r *run) writePolicy(which policyState) error {
	switch which {
	case broken:
		return r.write(r.policyFile(), "{")
	case stuck:
		return pipe(r.policyFile())
	case theirs, asking:
		return r.write(filepath.Join(r.project(), "opencode.json"), otherRules[which])
	case byHand:
		return r.write(r.policyFile(), otherRules[which])
	case native, confining:
		return r.write(filepath.Join(r.project(), "obstat.yaml"), otherRules[which])
	}
	return r.write(r.policyFile(), r.policies[which])
}

// errInstall is obstat's own failure, not the agent's.
var errInstall = errors.New("obstat could not be set up")

// gateway makes the tool server that the agent starts one behind obstat's gateway.
func (r *run) gateway(a *Agent) error {
	if err := r.link(); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec %s mcp --name %s --agent %s -- %s \"$@\"\n",
		filepath.Join(r.bin(), "obstat"), serverName, a.Name, r.lab)
	r.lab = filepath.Join(r.dir, "gateway.sh")
	return os.WriteFile(r.lab, []byte(script), 0o755)
}

// link puts obstat's program into the run.
func (r *run) link() error {
	built, err := filepath.Glob(filepath.Join(r.tools, "*"))
	if err != nil {
		return err
	}
	for _, name := range built {
		if err := os.Link(name, filepath.Join(r.bin(), filepath.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// install puts obstat's program into the run, and runs the real installer.
func (r *run) install(ctx context.Context, a *Agent, s *scenario) error {
	if err := r.link(); err != nil {
		return err
	}
	if r.plugins {
		return r.plugin(ctx, a)
	}
	args := append([]string{"install", "--yes", a.Name}, a.driver.entry.flags...)
	if s.project {
		args = append(args, "--project")
	}
	switch {
	case s.tty:
		args = append(args, a.driver.dialog.flags...)
	case s.asked():
		args = append(args, a.driver.entry.asking...)
	}
	return r.obstat(ctx, args...)
}

// plugin has the agent install obstat's plugin.
func (r *run) plugin(ctx context.Context, a *Agent) error {
	if len(a.driver.entry.plugin) == 0 {
		return fmt.Errorf("%w: there is no plugin for %s", errInstall, a.Name)
	}
	for _, line := range a.driver.entry.plugin {
		args, env, err := a.driver.command(r, line, "")
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Env = r.project(), slices.Concat(r.env(), env)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s: %w\n%s", errInstall, line, err, out)
		}
	}
	return nil
}

// obstat runs a command of obstat's in the project, as the user would.
func (r *run) obstat(ctx context.Context, args ...string) error {
	// Accepting needs a person, or the variable in the environment that a process above was started with.
	below := append([]string{"-c", `unset OBSTAT_TRUST; "$@"; exit $?`, "sh", filepath.Join(r.bin(), "obstat")}, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", below...)
	cmd.Dir, cmd.Env = r.project(), append(r.env(), "OBSTAT_TRUST="+r.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %w\n%s", errInstall, err, out)
	}
	return nil
}

// spoil puts a script in the place of obstat's programs, or nothing.
func (r *run) spoil(script string) error {
	programs, err := filepath.Glob(filepath.Join(r.bin(), "*"))
	for _, name := range programs {
		err = errors.Join(err, os.Remove(name)) // a link: the built program stays
		if script != "" {
			err = errors.Join(err, os.WriteFile(name, []byte(script), 0o755))
		}
	}
	return err
}

// mark is the variable by which the processes of a run, or of all runs in a
// directory, are found.
func mark(dir string) string { return "OBSTAT_LAB_RUN=" + dir + "/" }

// env returns the environment of every program of a run: no proxies, settings or
// credentials of the lab's user.
func (r *run) env() []string {
	list := string(filepath.ListSeparator)
	path := filepath.Join(r.packages, "node_modules", ".bin") + list + os.Getenv("PATH")
	if r.plugins { // which find obstat there
		path = r.bin() + list + path
	}
	return []string{"PATH=" + path, "HOME=" + r.home(""), "TMPDIR=" + filepath.Join(r.dir, "tmp"),
		"LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "SHELL=/bin/sh", mark(r.dir)}
}

// logName is the file for the agent's output.
func (r *run) logName() string { return filepath.Join(r.dir, "agent.log") }

// start runs the agent to its end, or to the limit. hung tells which. during, if any, is called while it
// runs, and its result in the end.
func (r *run) start(a *Agent, s *scenario, limit time.Duration, during func(*exec.Cmd) func()) (hung bool, err error) {
	args, env, err := a.driver.command(r, a.driver.headless, scripted.Prompt(scripted.MainMarker))
	if s.tty {
		args, env, err = a.driver.talk(r, scripted.Prompt(scripted.MainMarker))
	}
	if err != nil {
		return false, err
	}
	log, err := os.Create(r.logName())
	if err != nil {
		return false, err
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.cwd(), slices.Concat(r.env(), env, r.extra), log, log
	cmd.WaitDelay = 5 * time.Second
	inGroup(cmd)
	if during == nil {
		during = func(*exec.Cmd) func() { return func() {} }
	}
	if s.tty {
		err = r.onScreen(ctx, cmd, log, &a.driver.dialog, s, during)
	} else if err = cmd.Start(); err == nil {
		end := during(cmd)
		err = cmd.Wait()
		end()
	}
	endStrays(mark(r.dir))
	var status *exec.ExitError
	if ctx.Err() != nil {
		return true, nil
	}
	if err != nil && !errors.As(err, &status) {
		return false, err
	}
	return false, nil // exit codes are the agent's business; files are looked at
}

// onScreen runs cmd on a terminal, and has its questions answered there.
func (r *run) onScreen(ctx context.Context, cmd *exec.Cmd, log io.Writer, d *dialog, s *scenario,
	during func(*exec.Cmd) func()) error {
	sc, err := openScreen(cmd)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	sc.watch(log)
	r.model.Notify(sc.calls)
	end := during(cmd)
	gone := make(chan struct{})
	alive, stop := context.WithCancel(ctx)
	go func() {
		defer close(gone)
		r.asked = r.converse(alive, sc, d, s, func() { _ = cmd.Cancel() })
	}()
	err = cmd.Wait()
	stop()
	<-gone
	end()
	endStrays(mark(r.dir)) // the last of them lets go of the terminal
	sc.close()
	return err
}

// lastLines returns the end of the agent's output.
func (r *run) lastLines() string {
	b, err := os.ReadFile(r.logName())
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(b))
	const most = 600
	if len(text) > most {
		text = "..." + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
