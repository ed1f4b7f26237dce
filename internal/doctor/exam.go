package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/agents"
)

// An exam is the examination of one agent.
type exam struct {
	*Options
	agent *agents.Agent
	out   *Agent
	files []*agents.File
	mine  []*found
}

// found is an entry of obstat's and its file.
type found struct {
	agents.Entry
	file *agents.File
	// sick: what is wrong with it leaves nothing to prove.
	sick bool
}

// look reads the agent's settings, and tells whether the agent seems to be used
// here.
func (x *exam) look() bool {
	used := false
	for _, p := range x.agent.Places(x.Where) {
		files, err := x.agent.Read(p)
		if err != nil {
			x.add(Error, "unreadable-file", nil, "", "%v", err)
		}
		x.files = append(x.files, files...)
		if p.Scope == agents.User {
			_, err := os.Stat(filepath.Dir(p.Name))
			used = used || err == nil && x.telling(filepath.Dir(p.Name))
		}
	}
	for _, f := range x.files {
		for _, e := range f.Entries {
			if e.Ours {
				x.mine = append(x.mine, &found{Entry: e, file: f})
			}
		}
	}
	return used || len(x.files) > 0
}

// telling tells whether a directory is there because of this agent.
func (x *exam) telling(dir string) bool {
	base := filepath.Base(dir)
	return base != ".config" && base != ".codeium" && dir != x.Where.Home
}

// add notes a finding; at is the entry that it is about.
func (x *exam) add(level Level, code string, at *found, hint, format string, args ...any) {
	f := Finding{Level: level, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if at != nil {
		f.File, f.Line, f.Col = at.file.Name, at.Line, at.Col
	}
	if !slices.Contains(x.out.Findings, f) {
		x.out.Findings = append(x.out.Findings, f)
	}
}

// judge checks everything and sends the canaries.
func (x *exam) judge(ctx context.Context, named bool) {
	for _, f := range x.files {
		if err := f.Broken(); err != nil {
			x.out.Findings = append(x.out.Findings, Finding{Level: Error, Code: "broken-file", File: f.Name,
				Msg: fmt.Sprintf("%s: %s cannot read this file, and skips all of it", err, x.agent.Title), Hint: "mend it; obstat install leaves it alone until then"})
		}
	}
	x.shapes()
	for _, m := range x.mine {
		x.out.Entries = append(x.out.Entries, Entry{Scope: m.file.Place.Scope.String(), File: m.file.Name, Line: m.Line, Event: m.Event, Command: m.Text, Timeout: m.Timeout.Seconds()})
	}
	if len(x.mine) == 0 {
		x.out.State = Open
		if named || len(x.out.Findings) > 0 {
			x.out.State = Broken
			x.add(Error, "not-installed", nil, "obstat install "+x.agent.Name, "%s does not ask obstat", x.agent.Title)
		}
		return
	}
	for _, m := range x.mine {
		x.program(m)
		x.entry(m)
		x.ownFile(m)
		x.trust(m)
	}
	x.switches()
	x.events()
	x.duplicates()
	x.prove(ctx)
	if l, err := x.agent.Limits(); err == nil {
		x.out.Version, x.out.Limits = l.Version, l.List
	}
	x.out.State = Holds
	if slices.ContainsFunc(x.out.Findings, func(f Finding) bool { return f.Level == Error }) {
		x.out.State = Broken
	}
}

// shapes checks that nothing beside obstat's entries makes the agent skip the
// file.
func (x *exam) shapes() {
	for _, f := range x.files {
		if err := x.agent.Shape(f); err != nil && slices.ContainsFunc(x.mine, func(m *found) bool { return m.file == f }) {
			x.out.Findings = append(x.out.Findings, Finding{Level: Error, Code: "misshapen-file", File: f.Name,
				Msg: fmt.Sprintf("%s: %s may skip all of the file", err, x.agent.Title), Hint: "mend it"})
		}
	}
}

// program checks what the entry calls.
func (x *exam) program(m *found) {
	path := m.Call.Program
	again := "obstat install " + x.agent.Name
	if !filepath.IsAbs(path) {
		m.sick = true
		x.add(Error, "relative-program", m, again, "%s is looked for wherever the agent runs: it may be another program, or none", path)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		m.sick = true
		x.add(Error, "missing-program", m, again, "%s is not there", path)
		return
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0 && filepath.Ext(path) != ".exe":
		m.sick = true
		x.add(Error, "not-executable", m, again, "%s cannot be run", path)
		return
	}
	b, err := x.Inspect(path)
	if err != nil || !b.Obstat {
		m.sick = true
		x.add(Error, "not-obstat", m, again, "%s is not obstat", path)
		return
	}
	if b.Writable {
		x.add(Warning, "writable-program", m, "chmod go-w "+agents.Quote(path), "others than its owner may replace %s", path)
	}
	if b.Version != x.Self.Version || b.Revision != x.Self.Revision {
		x.add(Warning, "other-version", m, again, "%s is version %s, this is %s", path, versionOf(b), versionOf(&x.Self))
	}
	if strings.HasPrefix(filepath.Base(path), "obstat-hook") {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "obstat"+filepath.Ext(path))); err != nil {
			x.add(Error, "missing-obstat", m, "put both programs into one directory", "%s has no obstat beside it: what it cannot answer by itself is denied", path)
		}
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

// entry checks how the entry is written.
func (x *exam) entry(m *found) {
	again := "obstat install " + x.agent.Name
	if m.Timeout > 0 && x.Deadline != nil {
		if most := x.Deadline(x.agent.Name, m.Call.Args); m.Timeout <= most {
			x.add(Error, "short-timeout", m, again, "%s waits %s, and obstat may take %s: when the agent stops waiting the call may run", x.agent.Title, m.Timeout, most)
		}
	}
	if len(m.Lax) > 0 {
		m.sick = true
		x.add(Error, "not-waited-for", m, again, "%s: the agent does not always wait for the answer", strings.Join(m.Lax, ", "))
	}
	if m.Type != "" {
		m.sick = true
		x.add(Error, "other-type", m, again, "its type is %s: %s does not run its command", m.Type, x.agent.Title)
	}
	if want := x.agent.Matcher(m.Event); !slices.Contains([]string{"", "*", ".*", want}, m.Matcher) {
		x.add(Error, "narrow-matcher", m, again, "the matcher %q lets other tools run without asking", m.Matcher)
	}
	if other := m.Call.Agent(); other != "" && other != x.agent.Name {
		x.add(Warning, "other-agent", m, again, "obstat is told that %s asks", other)
	}
	if own := choosing(m.Call.Args); own != "" {
		x.add(Warning, "own-policy", m, "see what it comes to with obstat explain and the same options", "%s: the entry chooses another policy than the one that is looked at below", own)
	}
	if x.agent.Name == agents.Cursor && !m.FailClosed {
		x.add(Error, "fails-open", m, again, "without failClosed a hook that fails lets the call run")
	}
	if !x.agent.Written(&m.Entry) {
		x.add(Warning, "other-line", m, again, "the command line is not as obstat writes it: a program that goes missing may let calls run")
	}
	if x.agent.Name == agents.Copilot && m.file.Place.Scope == agents.Project {
		x.add(Warning, "skipped-scope", m, again, "Copilot skips hooks of a project unless its folder is trusted, and says nothing")
	}
	if x.agent.Name == agents.Gemini && slices.Contains(m.Call.Args, "--interactive") {
		x.add(Warning, "may-hang", m, "take --interactive out for runs without a terminal", "an ask without a terminal makes Gemini hang for ever")
	}
}

// choosing returns the options of an entry by which another policy counts than
// the one that obstat finds, or the same one less.
func choosing(args []string) string {
	var out []string
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		if len(name) > 2 && name[0] == '-' && name[1] != '-' {
			name = name[:2] // -pFILE
		}
		if slices.Contains([]string{"--policy", "-p", "--dialect", "-d", "--dir", "-C", "--option", "-o", "--floor"}, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// ownFile checks a plugin or script.
func (x *exam) ownFile(m *found) {
	if !x.agent.Own() {
		return
	}
	if !x.agent.Intact(m.file) {
		m.sick = true
		x.add(Error, "changed-file", m, "obstat install "+x.agent.Name, "the file is not as obstat wrote it, so what it does cannot be told")
	}
	info, err := os.Stat(m.file.Name)
	if x.agent.Name == agents.Cline && (err != nil || info.Mode()&0o111 == 0) {
		m.sick = true
		x.add(Error, "not-executable", m, "chmod +x "+agents.Quote(m.file.Name), "Cline runs only files that are executable")
	}
	if x.agent.Name == agents.OpenCode && agents.NeedsNetwork(m.file.Name) {
		x.add(Warning, "needs-network", m, "obstat install opencode --offline", "without a network opencode waits for its plugin package, and does not start")
	}
}

// trust checks Codex's list of hooks that it may run.
func (x *exam) trust(m *found) {
	config := x.agent.Config(x.Where)
	if config == "" || m.file.Root == nil || m.file.Place.Scope == agents.Managed {
		return
	}
	data, err := os.ReadFile(config)
	if err != nil && !os.IsNotExist(err) {
		x.add(Error, "unreadable-file", m, "", "%v", err)
		return
	}
	t, err := m.file.TrustOf(&m.Entry, data)
	hint := "obstat install codex, or /hooks in Codex"
	switch {
	case err != nil:
		x.add(Error, "not-trusted", m, hint, "%v", err)
	case t.Disabled:
		x.add(Error, "hooks-off", m, hint, "the hook is switched off in %s", config)
	case t.Have == "":
		x.add(Error, "not-trusted", m, hint, "%s has no hash of the hook: Codex skips it, and says nothing", config)
	case !t.Holds():
		x.add(Error, "not-trusted", m, hint, "%s has the hash of another hook: Codex skips this one, and says nothing", config)
	}
}

// events checks that nothing goes past obstat for want of an entry.
func (x *exam) events() {
	for _, event := range x.agent.Events {
		if slices.ContainsFunc(x.mine, func(m *found) bool { return m.Event == event }) {
			continue
		}
		level := Error
		if event == "PermissionRequest" {
			level = Warning // PreToolUse has been asked before
		}
		x.add(level, "missing-event", x.mine[0], "obstat install "+x.agent.Name, "%s has no entry of obstat's", event)
	}
	for _, m := range x.mine {
		if !slices.Contains(x.agent.Events, m.Event) {
			m.sick = true
			x.add(Warning, "other-event", m, "", "obstat is not needed at %s", m.Event)
		}
	}
}

// duplicates finds entries that make the agent ask twice.
func (x *exam) duplicates() {
	for i, m := range x.mine {
		for _, n := range x.mine[:i] {
			if m.Event != n.Event || x.agent.Name == agents.ClaudeCode && m.Text == n.Text && m.file != n.file {
				continue // Claude Code runs equal entries of several files once
			}
			x.add(Warning, "duplicate", m, "take one of them out", "%s is asked for here and in %s:%d, so that every call is asked for twice", m.Event, n.file.Name, n.Line)
		}
	}
}
