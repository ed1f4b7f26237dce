package claudecode

import (
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// A Family is a system whose rules are written like Claude Code's, `Tool(content)` in lists that allow, ask and
// deny. Dialects of such systems, Cursor's and Qwen Code's, say here how theirs differ.
type Family struct {
	Name   string
	Format textedit.Format
	// Rule writes a rule in Claude Code's notation, `Shell(rm)` of Cursor's as `Bash(rm *)`, or says why it
	// cannot be one. nil: the notation is the same.
	Rule func(text string, v obstat.Verdict) (rules []string, why string)
	// Above: a denial of `../**` holds for what lies above the project, which Claude Code's patterns never reach.
	Above bool
	// More are lists of rules besides those of "permissions".
	More []List
	// Entries returns the rules of a file that stand in no list; a nil file asks for those that the system brings along.
	Entries func(root *tree.Node) []Entry
	// Mode is the key of the mode in force, and Modes its words for Claude Code's modes.
	Mode  []string
	Modes map[string]string
}

// A List is a list of rules at a key of the settings, such as "terminalAllowlist". Form makes a rule of an
// entry; nil takes it as it is.
type List struct {
	Key     []string
	Verdict obstat.Verdict
	Form    func(entry string) string
}

// An Entry is a rule that stands in no list, such as the member `"/^git log/": true` of an object.
type Entry struct {
	At      *tree.Node
	Verdict obstat.Verdict
	Source  string
	Rules   []string    // in Claude Code's notation
	Command obstat.Text // instead: an expression over a command
	Line    bool        // to allow, Command has to match the whole line
	Why     string      // it is no rule
	Says    string      // a warning; the entry counts as far as it has rules
	Hint    string
}

// entry adds a rule that stands in no list.
func (l *loader) entry(s *settings, e *Entry) {
	if e.Says != "" {
		l.Warn(e.At, obstat.CodeNoEffect, e.Hint, "%s", e.Says)
	}
	if e.Why != "" {
		l.bad(e.At, e.Verdict, obstat.CodeBadPattern, "%s", e.Why)
		return
	}
	for _, text := range e.Rules {
		sp, err := parseSpec(text)
		if err != nil {
			l.bad(e.At, e.Verdict, obstat.CodeBadPattern, "%s", err)
			return
		}
		l.compiled(s, e.At, sp, e.Source, e.Verdict.String(), e.Verdict)
	}
	if e.Command.IsZero() {
		return
	}
	r := obstat.Rule{Verdict: e.Verdict, Layer: s.layer, Tool: anyOf(bashTools...), Pattern: e.Command, Field: fieldSeen,
		Source: e.Source}
	if e.At != nil {
		r.Pos = l.Pos(e.At)
	}
	switch {
	case e.Verdict == obstat.Allow && e.Line:
		r.Field = fieldExact
	case e.Verdict == obstat.Allow:
		r.Field = fieldCommand
	}
	list := e.Verdict.String()
	l.prog.Rules[list] = append(l.prog.Rules[list], r)
}

// more reads the lists and the mode of a family.
func (l *loader) more(s *settings) {
	if l.fam.Entries != nil {
		list := l.fam.Entries(s.root)
		for i := range list {
			l.entry(s, &list[i])
		}
	}
	for _, list := range l.fam.More {
		n := s.root.At(Path(list.Key)...)
		if n == nil || !l.Is(n, list.Key[len(list.Key)-1], tree.Array) {
			continue
		}
		for _, e := range l.texts(n, list.Verdict) {
			text := e.Str
			if list.Form != nil {
				text = list.Form(text)
			}
			l.rule(s, e, text, list.Verdict.String(), list.Verdict)
		}
	}
	if n := s.root.At(Path(l.fam.Mode)...); len(l.fam.Mode) > 0 && n.Is(tree.String) && l.fam.Modes[n.Str] != "" {
		l.prog.Mode = obstat.Mode(l.fam.Modes[n.Str])
	}
}

// Path returns keys as the steps of a path in a document.
func Path(keys []string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}

// Settings tells whether f is a file of a family: sure where placed says that its name and place are the
// family's own, and the file is an object.
func Settings(f *dialect.File, format textedit.Format, placed bool) dialect.Confidence {
	root, problems := format.Parse(f.Data)
	switch {
	case !placed:
		return dialect.No
	case tree.Fatal(problems) || !root.Is(tree.Object):
		return dialect.Maybe
	}
	return dialect.Sure
}
