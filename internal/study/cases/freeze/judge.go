package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A judge tells of a command whether it may run unasked: a policy of obstat's, or another guard.
type judge struct {
	name   string
	passes func(command string) (bool, error)
}

// policyJudge decides commands by a policy, in a project of the world.
func policyJudge(name string, l *dialect.Loaded, world obstat.World) judge {
	return judge{name, func(command string) (bool, error) {
		input, err := json.Marshal(map[string]string{"command": command})
		call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/home/u/project", Roots: []string{"/home/u/project"}}
		return err == nil && l.Policy.Decide(call, world).Verdict == obstat.Allow, err
	}}
}

// beside are the guards that -beside names, as `nah=python3 -m nah.hook`, each in an empty home of its own.
type beside struct {
	judges []judge
	homes  []string
}

func (b *beside) String() string { return "" }

// Set takes a guard's name and the command of its hook.
func (b *beside) Set(text string) error {
	name, command, ok := strings.Cut(text, "=")
	argv := strings.Fields(command)
	if !ok || len(argv) == 0 {
		return errors.New("want NAME=COMMAND")
	}
	home, err := project()
	if err != nil {
		return err
	}
	b.homes = append(b.homes, home)
	b.judges = append(b.judges, judge{name, func(command string) (bool, error) { return hookPasses(home, argv, command) }})
	return nil
}

// close removes the homes.
func (b *beside) close() {
	for _, home := range b.homes {
		os.RemoveAll(home)
	}
}

// project makes an empty home with the project that the commands are about: a repository with an .env.
func project() (home string, err error) {
	if home, err = os.MkdirTemp("", "beside"); err != nil {
		return "", err
	}
	dir := filepath.Join(home, "project")
	if err = os.MkdirAll(dir, 0o777); err == nil {
		err = os.WriteFile(filepath.Join(dir, ".env"), []byte("KEY=1\n"), 0o666)
	}
	if err != nil {
		return "", err
	}
	out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git init: %w: %s", err, out)
	}
	return home, nil
}

// hookPasses puts a command to a guard as Claude Code puts it to its hooks. A guard stops it by exit status 2 or by
// the words deny or ask; one that says nothing has no objection.
func hookPasses(home string, argv []string, command string) (bool, error) {
	dir := filepath.Join(home, "project")
	event, err := json.Marshal(map[string]any{"session_id": "s", "hook_event_name": "PreToolUse", "cwd": dir,
		"tool_name": "Bash", "tool_input": map[string]string{"command": command}})
	if err != nil {
		return false, err
	}
	hook := exec.Command(argv[0], argv[1:]...)
	hook.Dir, hook.Env, hook.Stdin = dir, append(os.Environ(), "HOME="+home), bytes.NewReader(event)
	out, err := hook.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 2 {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	var said struct {
		HookSpecificOutput struct{ PermissionDecision string }
	}
	if len(bytes.TrimSpace(out)) > 0 {
		err = json.Unmarshal(out, &said)
	}
	word := said.HookSpecificOutput.PermissionDecision
	return err == nil && word != "deny" && word != "ask", err
}

// lines puts a file of commands, one a line, to the presets and the guards beside: the table of how many pass.
func lines(out io.Writer, file string, beside []judge) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	judges, err := presetJudges(&obstat.Snapshot{HomeDir: "/home/u"})
	if err != nil {
		return err
	}
	counts := newTally(append(judges, beside...))
	for line := range strings.Lines(string(data)) {
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if _, err := counts.add(filepath.Base(file), commandOf(line)); err != nil {
			return err
		}
	}
	counts.print(out, "file")
	return nil
}

// commandOf returns the command of a line of such a file: behind the last tab, with \n for a line's end.
func commandOf(line string) string {
	line = strings.TrimSuffix(line, "\n")
	return strings.ReplaceAll(line[strings.LastIndexByte(line, '\t')+1:], `\n`, "\n")
}

// A tally counts, for each kind of commands, how many there are and how many each judge lets pass.
type tally struct {
	judges []judge
	kinds  []string // in order of appearance
	total  map[string]int
	passed map[string][]int
}

func newTally(judges []judge) *tally {
	return &tally{judges: judges, total: map[string]int{}, passed: map[string][]int{}}
}

// add puts a command to all judges and returns the names of those that let it pass.
func (t *tally) add(kind, command string) (by []string, err error) {
	if t.total[kind]++; t.total[kind] == 1 {
		t.kinds, t.passed[kind] = append(t.kinds, kind), make([]int, len(t.judges))
	}
	for i, j := range t.judges {
		passes, err := j.passes(command)
		if err != nil {
			return nil, fmt.Errorf("%s, of %q: %w", j.name, command, err)
		}
		if passes {
			t.passed[kind][i]++
			by = append(by, j.name)
		}
	}
	return by, nil
}

// print writes the table: a row for each kind, a column for each judge.
func (t *tally) print(out io.Writer, kind string) {
	var names []string
	for _, j := range t.judges {
		names = append(names, j.name)
	}
	fmt.Fprintf(out, "| %s | commands | %s |\n", kind, strings.Join(names, " | "))
	fmt.Fprintf(out, "|---|---|%s\n", strings.Repeat("---|", len(names)))
	for _, kind := range t.kinds {
		fmt.Fprintf(out, "| %s | %d |", kind, t.total[kind])
		for _, n := range t.passed[kind] {
			fmt.Fprintf(out, " %d |", n)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

// oneLine writes a command of several lines as one.
func oneLine(command string) string { return strings.ReplaceAll(command, "\n", " ⏎ ") }
