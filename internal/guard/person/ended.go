package person

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// A Signalled names processes that a command would send a signal to.
type Signalled struct {
	PIDs  []int
	Names []string // whole names, as `killall node` has them
	// Patterns are held against names, and Lines against command lines: `pkill uvi`, `pkill -f "uvicorn app"`.
	Patterns, Lines []*regexp.Regexp
}

// The answers of [Whose].
const (
	EndsOwn    = "own"    // all of them run below the agent, or are its confined runs'
	EndsNone   = "none"   // there are no such processes
	EndsOthers = "others" // at least one is another's
)

// Whose tells whose the processes are that a call would end. The agent is the one that this process was started by;
// also are processes outside of it that are its own, with those below them, such as confined runs in the background.
// The answer is "" where that cannot be told: there is no /proc, or no agent above this process.
func Whose(s *Signalled, also []int) string {
	m := system()
	chain, _ := m.chain(os.Getpid())
	return m.whose(s, chain, also)
}

func (m *machine) whose(s *Signalled, chain []*proc, also []int) string {
	if !m.reads || len(chain) == 0 {
		return "" // not every process can be looked at
	}
	hit := slices.DeleteFunc(m.pids(), func(pid int) bool {
		p := m.get(pid)
		return p == nil || !s.reaches(p)
	})
	if len(hit) == 0 {
		return EndsNone
	}
	at := slices.IndexFunc(chain, known().agent)
	if at < 0 {
		return ""
	}
	for _, pid := range hit {
		if !m.below(pid, chain[at].pid, also) || m.guards(m.get(pid), chain[0]) {
			return EndsOthers
		}
	}
	return EndsOwn
}

// below tells whether a process is another's child, at any depth, or one of some processes or below them.
func (m *machine) below(pid, top int, also []int) bool {
	line, _ := m.chain(pid)
	for i, p := range line {
		if p.pid == top && i > 0 || slices.Contains(also, p.pid) {
			return true
		}
	}
	return false
}

// guards tells whether a process is obstat at its work, such as its gateway to MCP servers, and not a confined run.
func (m *machine) guards(p, self *proc) bool {
	return p.pid == self.pid || self.exe != "" && p.exe == self.exe && (len(p.args) < 2 || p.args[1] != "run")
}

// reaches tells whether a process gets the signal. A program is known by its name, which the kernel cuts at 15 bytes.
func (s *Signalled) reaches(p *proc) bool {
	names := []string{p.name}
	if len(p.args) > 0 {
		names = append(names, filepath.Base(p.args[0]))
	}
	matches := func(texts ...string) func(*regexp.Regexp) bool {
		return func(re *regexp.Regexp) bool { return slices.ContainsFunc(texts, re.MatchString) }
	}
	line := ""
	for i, arg := range p.args {
		if i > 0 {
			line += " "
		}
		line += arg
	}
	cut := func(name string) bool { return slices.Contains(names, name) || len(name) > 15 && p.name == name[:15] }
	return slices.Contains(s.PIDs, p.pid) || slices.ContainsFunc(s.Names, cut) ||
		slices.ContainsFunc(s.Patterns, matches(names...)) || slices.ContainsFunc(s.Lines, matches(line, p.name))
}
