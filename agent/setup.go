package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

// A Level says how bad a finding is.
type Level string

// The levels. Only an error means that rules do not hold.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// A Finding is one thing that is wrong.
type Finding struct {
	Level Level  `json:"level"`
	Code  string `json:"code"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Col   int    `json:"col,omitempty"`
	Msg   string `json:"message"`
	Hint  string `json:"hint,omitempty"`
}

// A Setup is an agent's settings on a machine.
type Setup struct {
	Agent *Agent
	Where *Where
	Files []*File
	Hooks []*Hook // obstat's entries
	// Used: there are signs that the agent is used here.
	Used     bool
	Findings []Finding
}

// A Hook is an entry of obstat's in an agent's settings.
type Hook struct {
	Entry
	File *File
	// Idle: it does not run as it is, so that there is nothing to prove.
	Idle  bool
	agent *Agent
}

// Look reads the agent's settings.
func (a *Agent) Look(w *Where) *Setup {
	s := &Setup{Agent: a, Where: w}
	for _, p := range a.spots(w) {
		files, err := a.read(p)
		if err != nil {
			s.Add(Error, "unreadable-file", nil, "", "%v", err)
		}
		s.Files = append(s.Files, files...)
		dir := filepath.Dir(p.name)
		if _, err := os.Stat(dir); err == nil && p.scope == User && !p.shared && dir != w.Home {
			s.Used = true
		}
	}
	for _, f := range s.Files {
		s.Used = true
		for _, e := range f.Entries {
			if e.Ours {
				s.Hooks = append(s.Hooks, &Hook{Entry: e, File: f, agent: a})
			}
		}
	}
	return s
}

// Add notes a finding; at is the hook that it is about, or nil.
func (s *Setup) Add(level Level, code string, at *Hook, hint, format string, args ...any) {
	f := Finding{Level: level, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if at != nil {
		f.File, f.Line, f.Col = at.File.Name, at.Line, at.Col
	}
	s.note(f)
}

func (s *Setup) note(f Finding) {
	if !slices.Contains(s.Findings, f) {
		s.Findings = append(s.Findings, f)
	}
}

// Again is the hint that a new installation mends it.
func (s *Setup) Again() string { return "obstat install " + s.Agent.Name }

// idle notes a finding that keeps a hook from running.
func (s *Setup) idle(h *Hook, code, hint, format string, args ...any) {
	h.Idle = true
	s.Add(Error, code, h, hint, format, args...)
}

// off notes a setting that switches all hooks off; n is where it stands.
func (s *Setup) off(f *File, n *tree.Node, format string, args ...any) {
	for _, h := range s.Hooks {
		h.Idle = true
	}
	out := Finding{Level: Error, Code: "hooks-off", File: f.Name, Msg: fmt.Sprintf(format, args...), Hint: "take it out"}
	out.Line, out.Col = tree.LineCol(f.data, n.Start)
	s.note(out)
}

// CheckFiles finds files that the agent skips, and obstat's hook with them.
func (s *Setup) CheckFiles() {
	for _, f := range s.Files {
		if err := f.Broken(); err != nil {
			s.note(Finding{Level: Error, Code: "broken-file", File: f.Name,
				Msg:  fmt.Sprintf("%s: %s cannot read this file, and skips all of it", err, s.Agent.Title),
				Hint: "mend it; obstat install leaves it alone until then"})
		}
		if err := s.Agent.shape(f); err != nil && slices.ContainsFunc(s.Hooks, func(h *Hook) bool { return h.File == f }) {
			s.note(Finding{Level: Error, Code: "misshapen-file", File: f.Name,
				Msg: fmt.Sprintf("%s: %s may skip all of the file", err, s.Agent.Title), Hint: "mend it"})
		}
	}
}

// CheckHooks finds settings by which a hook is not asked, not waited for or not
// obeyed.
func (s *Setup) CheckHooks() {
	for _, h := range s.Hooks {
		s.entry(h)
	}
	s.switches()
	s.moved()
	if s.Agent.check != nil {
		s.Agent.check(s)
	}
	for _, event := range s.Agent.all() {
		if slices.ContainsFunc(s.Hooks, func(h *Hook) bool { return h.Event == event }) {
			continue
		}
		level := Error
		if among(s.Agent.spare+" "+s.Agent.after, event) {
			level = Warning
		}
		s.Add(level, "missing-event", s.Hooks[0], s.Again(), "%s has no entry of obstat's", event)
	}
	for i, h := range s.Hooks {
		if !slices.Contains(s.Agent.all(), h.Event) {
			h.Idle = true
			s.Add(Warning, "other-event", h, "", "obstat is not needed at %s", h.Event)
		}
		for _, o := range s.Hooks[:i] {
			if h.Event == o.Event && !(s.Agent.merges && h.Text == o.Text && h.File != o.File) {
				s.Add(Warning, "duplicate", h, "take one of them out", "%s is asked for here and in %s:%d, so that every call is "+
					"asked for twice", h.Event, o.File.Name, o.Line)
			}
		}
	}
}

// switches finds variables that switch the agent's hooks off: in the environment, which
// an agent that is started here inherits, and in its settings.
func (s *Setup) switches() {
	for name := range strings.FieldsSeq(s.Agent.off) {
		if s.Where.Getenv != nil && !among("0 false", cmp.Or(s.Where.Getenv(name), "0")) {
			for _, h := range s.Hooks {
				h.Idle = true
			}
			s.note(Finding{Level: Error, Code: "hooks-off", Msg: fmt.Sprintf("%s is set: %s runs no hooks", name,
				s.Agent.Title), Hint: "unset " + name})
		}
		for _, f := range s.Files {
			if n := f.root.At("env", name); n != nil {
				s.off(f, n, "%s is set: %s runs no hooks", name, s.Agent.Title)
			}
		}
	}
}

// moved finds variables that make the agent read other settings than those that are looked at here.
func (s *Setup) moved() {
	for name := range strings.FieldsSeq(s.Agent.moves) {
		if s.Where.Getenv != nil && s.Where.Getenv(name) != "" {
			s.note(Finding{Level: Warning, Code: "moved-settings", Msg: fmt.Sprintf("%s is set: %s may read other settings "+
				"than these", name, s.Agent.Title), Hint: "unset " + name + ", or see that obstat's hook is there as well"})
		}
	}
}

// entry checks how an entry is written.
func (s *Setup) entry(h *Hook) {
	a := s.Agent
	if len(h.lax) > 0 {
		s.idle(h, "not-waited-for", s.Again(), "%s: the agent does not always wait for the answer", strings.Join(h.lax, ", "))
	}
	if h.kind != "" {
		s.idle(h, "other-type", s.Again(), "its type is %s: %s does not run its command", h.kind, a.Title)
	}
	if !slices.Contains([]string{"", "*", ".*", a.form.matcherOf(h.Event)}, h.Matcher) {
		s.Add(Error, "narrow-matcher", h, s.Again(), "the matcher %q lets other tools run without asking", h.Matcher)
	}
	if other := h.Invocation.agent(); other != "" && other != a.Name {
		s.Add(Warning, "other-agent", h, s.Again(), "obstat is told that %s asks", other)
	}
	if own := h.Invocation.choosing(); own != "" {
		s.Add(Warning, "own-policy", h, "see what it comes to with obstat explain and the same options",
			"%s: the entry chooses another policy than the one that is looked at below", own)
	}
	if !h.Written() {
		s.Add(Warning, "other-line", h, s.Again(), "the command line is not as obstat writes it: a program that goes "+
			"missing may let calls run")
	}
	if a.script != nil && !bytes.Equal(h.File.data, a.own(h.Invocation)) {
		s.idle(h, "changed-file", s.Again(), "the file is not as obstat wrote it, so what it does cannot be told")
	}
}

// Written tells whether the entry's command line is as obstat writes it; of a
// script, the whole file is looked at.
func (h *Hook) Written() bool {
	return h.agent.script != nil || h.Text == h.agent.lineOf(h.Event, h.Invocation)
}

// choosing returns the options by which another policy counts than the one that
// obstat finds, or the same one less: "--policy, --floor".
func (c Invocation) choosing() string {
	var out []string
	for _, arg := range c.Args {
		name, _, _ := strings.Cut(arg, "=")
		if len(name) > 2 && name[0] == '-' && name[1] != '-' {
			name = name[:2] // -pFILE
		}
		if among("--policy -p --dialect -d --dir -C --option -o --floor", name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
