// Package drive starts an installed agent once, to see whether it runs a command as
// its hook has changed it, and not at all where the hook denies it. Both have to be
// so before a command of it may run confined.
//
// The agent gets an empty home with obstat's entry in its settings, a model that
// obstat plays on the loopback interface, and no variables of the person's. The
// package owns the start and what is read off it; it keeps no proof.
package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/scripted"
	"github.com/obstat/obstat/shell"
)

// limit is how long an agent may take for its two calls.
const limit = 90 * time.Second

// A Start is one start of an agent.
type Start struct {
	Agent   *agent.Agent
	Program string   // of the agent
	Canary  []string // the command that answers its hook, with [agent.Driven]
	Path    string   // the variable PATH
}

// Run starts the agent, and returns why it is not shown that it runs changed commands; nil where it is.
func (s *Start) Run(ctx context.Context) error {
	d := s.Agent.Drive()
	if d == nil {
		return fmt.Errorf("%s was never started so", s.Agent.Title)
	}
	dir, err := os.MkdirTemp("", "obstat-drive-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	calls := []scripted.Call{call(d, agent.DriveAsked), call(d, agent.DriveDenied)}
	model, err := scripted.New(scripted.Script{scripted.MainMarker: calls})
	if err != nil {
		return err
	}
	defer model.Close()
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	words := strings.NewReplacer("{PROGRAM}", s.Program, "{PROMPT}", scripted.Prompt(scripted.MainMarker), "{HOME}", home,
		"{DIR}", work, "{URL}", model.URL())
	if err := errors.Join(s.settings(d, home, words), s.entry(dir, home)); err != nil {
		return err
	}
	said, err := s.start(ctx, d, home, work, words)
	if err != nil {
		return err
	}
	return judge(work, len(model.Results(scripted.MainMarker)), said)
}

// call is a call of the agent's tool for commands.
func call(d *agent.Drive, command string) scripted.Call {
	args := map[string]any{d.Field: command}
	maps.Copy(args, d.Args)
	return scripted.Call{Tool: d.Tool, Args: args}
}

// maxPayload bounds what an agent sends its hook.
const maxPayload = 4 << 20

// Canary answers one call of a started agent in the place of `obstat hook`, and returns the exit code.
func Canary(name string, in io.Reader, out, errs io.Writer) int {
	stdin, err := io.ReadAll(io.LimitReader(in, maxPayload))
	if err != nil {
		return 2
	}
	r := agent.Driven(name, stdin, os.Getenv)
	_, _ = out.Write(r.Stdout) // a reply that is lost is a denial that is not heard: the call then tells
	_, _ = errs.Write(r.Stderr)
	return r.Exit
}

// judge reads off the files what ran.
func judge(work string, heard int, said string) error {
	there := func(command string) bool {
		_, err := os.Lstat(filepath.Join(work, strings.TrimPrefix(command, "touch ")))
		return err == nil
	}
	switch {
	case heard < 2:
		return fmt.Errorf("it has made %d of 2 calls: %s", heard, said)
	case there(agent.DriveAsked):
		return errors.New("it ran the command as the model asked for it, and not the changed one")
	case !there(agent.DriveChanged):
		return errors.New("it did not run the changed command")
	case there(agent.DriveDenied):
		return errors.New("it ran a command that its hook denied")
	}
	return nil
}

// settings writes the agent's own settings.
func (s *Start) settings(d *agent.Drive, home string, words *strings.Replacer) error {
	for name, text := range d.Files {
		if err := write(filepath.Join(home, name), words.Replace(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// entry has the agent call the canary in obstat's place.
func (s *Start) entry(dir, home string) error {
	program := filepath.Join(dir, "bin", "obstat")
	var line []string
	for _, w := range s.Canary {
		line = append(line, shell.Quote(w))
	}
	if err := write(program, "#!/bin/sh\nexec "+strings.Join(line, " ")+"\n", 0o700); err != nil {
		return err
	}
	where := &agent.Where{Home: home, Getenv: func(string) string { return "" }}
	for _, c := range s.Agent.Install(&agent.Request{Scope: agent.User, Where: where, Program: program, Offline: true}) {
		old, err := os.ReadFile(c.Name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		text, err := c.Edit(old)
		if err != nil || text == nil {
			return err
		}
		if err := write(c.Name, string(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// nowhere has an agent's other connections, for updates and statistics, end at the model, which refuses them.
const nowhere = " HTTP_PROXY={URL} HTTPS_PROXY={URL} http_proxy={URL} https_proxy={URL}" +
	" NO_PROXY=127.0.0.1 no_proxy=127.0.0.1"

// start runs the agent to its end, and returns its last words.
func (s *Start) start(ctx context.Context, d *agent.Drive, home, work string, words *strings.Replacer) (string, error) {
	var line []string
	for w := range strings.FieldsSeq(d.Line) {
		line = append(line, words.Replace(w))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.WaitDelay = work, 5*time.Second
	cmd.Env = []string{"PATH=" + s.Path, "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1"}
	for kv := range strings.FieldsSeq(d.Env + nowhere) {
		cmd.Env = append(cmd.Env, words.Replace(kv))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	inGroup(cmd)
	err := cmd.Run()
	endGroup(cmd)
	if ctx.Err() != nil {
		return "", fmt.Errorf("it did not end within %s", limit)
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return "", err
	}
	said := strings.Join(strings.Fields(out.String()), " ")
	return said[max(0, len(said)-200):], nil
}

func write(name, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), mode)
}
