package agents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Passed is one call of obstat's hook: the agent's payload, and the answer.
type Passed struct {
	Args   []string
	Env    []string `json:",omitempty"` // variables of the agent's own, NAME=VALUE
	Stdin  string
	Stdout string `json:",omitempty"`
	Exit   int    `json:",omitempty"`
}

// keptVariables are variables that agents set for their hooks, but for keys and addresses.
var keptVariables = regexp.MustCompile(`^(CLAUDE|CODEX|GEMINI|COPILOT|OPENCODE|AI_AGENT|AGENT)`)

var leftVariables = regexp.MustCompile(`^[A-Z_]*(KEY|TOKEN|SOCKET|URL|_PID)[A-Z_]*=`)

// passedName is the file that a shim writes to, a line for each call.
func (r *run) passedName() string { return filepath.Join(r.dir, "passed.jsonl") }

// watch puts a shim in the place of obstat's program, which calls the real one.
func (r *run) watch() error {
	program, real := filepath.Join(r.bin(), "obstat"), filepath.Join(r.dir, "real", "obstat")
	script := fmt.Sprintf("#!/bin/sh\nexec %s shim %s %s \"$@\"\n", r.lab, real, r.passedName())
	return errors.Join(os.MkdirAll(filepath.Dir(real), 0o755), os.Rename(program, real),
		os.WriteFile(program, []byte(script), 0o755))
}

// shimmed is set below a shim: one that calls itself would never end.
const shimmed = "OBSTAT_LAB_SHIM"

// shim is `lab shim OBSTAT FILE ARG...`: it runs obstat, and writes calls of its hook down.
func shim(args []string, in io.Reader, out, errs io.Writer) (int, error) {
	if len(args) < 2 {
		return 2, errors.New("shim: obstat's program and a file are missing")
	}
	if os.Getenv(shimmed) != "" {
		return 2, errors.New("shim: it was to call itself")
	}
	if err := os.Setenv(shimmed, "1"); err != nil {
		return 2, err
	}
	real, name, args := args[0], args[1], args[2:]
	if slices.Contains(args, "--serve") {
		return shimServe(real, name, args, in, out, errs)
	}
	p := Passed{Args: args, Env: keptEnv()}
	stdin, err := io.ReadAll(in)
	if err != nil {
		return 2, err
	}
	p.Stdin = string(stdin)
	var said bytes.Buffer
	cmd := exec.Command(real, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), io.MultiWriter(out, &said), errs
	err = cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return 2, err
	}
	p.Stdout, p.Exit = said.String(), cmd.ProcessState.ExitCode()
	return p.Exit, keepPassed(name, &p)
}

func keptEnv() []string {
	var out []string
	for _, v := range os.Environ() {
		if keptVariables.MatchString(v) && !leftVariables.MatchString(v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// keepPassed adds a line to the file; hooks may run at the same time.
func keepPassed(name string, p *Passed) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// shimServe stands between an agent and `obstat hook --serve`, whose lines are `7 CALL` and `7 0 ANSWER`.
func shimServe(real, name string, args []string, in io.Reader, out, errs io.Writer) (int, error) {
	cmd := exec.Command(real, args...)
	to, err := cmd.StdinPipe()
	if err != nil {
		return 2, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return 2, err
	}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		return 2, err
	}
	var mu sync.Mutex
	open := map[string]*Passed{}
	go func() {
		eachLine(in, func(line string) {
			id, call, _ := strings.Cut(line, " ")
			mu.Lock()
			open[id] = &Passed{Args: args, Env: keptEnv(), Stdin: call}
			mu.Unlock()
			_, _ = io.WriteString(to, line+"\n")
		})
		_ = to.Close()
	}()
	eachLine(from, func(line string) {
		id, rest, _ := strings.Cut(line, " ")
		code, said, _ := strings.Cut(rest, " ")
		mu.Lock()
		p := open[id]
		delete(open, id)
		mu.Unlock()
		if p != nil {
			_, _ = fmt.Sscan(code, &p.Exit)
			p.Stdout = said
			_ = keepPassed(name, p)
		}
		_, _ = io.WriteString(out, line+"\n")
	})
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), nil
}

// eachLine calls do with the lines of a stream, until its end.
func eachLine(r io.Reader, do func(string)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 32<<20)
	for lines.Scan() {
		do(lines.Text())
	}
}

// passed returns the calls of the hook in a run, with /RUN for its directory.
func (r *run) passed() ([]Passed, error) {
	text, err := os.ReadFile(r.passedName())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Passed
	asName := strings.NewReplacer(r.dir, runDir, strings.ReplaceAll(r.dir, "/", "-"), "-RUN")
	for line := range strings.Lines(asName.Replace(string(text))) {
		var p Passed
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return nil, err
		}
		if !afterwards.MatchString(p.Stdin) {
			out = append(out, p)
		}
	}
	return out, nil
}

// afterwards are payloads that tell the outcome of a call: there is nothing to answer.
var afterwards = regexp.MustCompile(`"(PostToolUse|PostToolUseFailure|PermissionDenied|AfterTool|tool\.execute\.after)"|"toolResult"`)

// runDir stands for a run's directory in the records of it.
const runDir = "/RUN"
