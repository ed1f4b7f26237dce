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
	// More are lists of rules besides those of "permissions".
	More []List
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

// more reads the lists and the mode of a family.
func (l *loader) more(s *settings) {
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
