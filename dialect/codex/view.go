package codex

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// A view turns a call into questions about the words of its commands, or about the host
// that it fetches from.
type view struct{ *params }

var (
	_ kit.Outliner = view{}
	_ kit.PartView = view{}
)

// Questions returns the questions that a call poses to the rules.
func (v view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	var out []obstat.Question
	switch t, _ := effect.Lookup(f.Call.Tool); {
	case t.Canonical == "shell":
		out = v.shell(f)
	case t.Canonical == "fetch":
		out = []obstat.Question{fetched(f)}
	default:
		out = []obstat.Question{{Tool: f.Call.Tool}}
	}
	if v.passes(f, everything) {
		for i := range out {
			out[i].Subjects = append(out[i].Subjects, held)
		}
	}
	return out, nil
}

// held is the subject of a call that the sandbox lets pass.
var held = obstat.Subject{Field: fieldHeld, Text: "yes"}

// fetched asks about the hosts of a call that fetches.
func fetched(f *obstat.Facts) obstat.Question {
	q := obstat.Question{Tool: toolFetch}
	a := f.Analysis()
	for i := range a.Effects {
		if host, err := hostName(a.Effects[i].Host); err == nil && a.Effects[i].Kind == effect.Connect {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldHost, Text: host})
		}
	}
	return q
}

// shell asks about each command of the line. As in Codex, those that stand inside another
// (`sudo git push`, `bash -c 'git push'`) are words of it; the floor asks about them.
func (v view) shell(f *obstat.Facts) (out []obstat.Question) {
	a := f.Analysis()
	plain := plainLine(a)
	for i := range a.Commands {
		if c := &a.Commands[i]; len(c.Via) == 0 {
			if words := known(c); len(words) > 0 {
				out = append(out, v.scripted(a, i, v.question(f.Call.Dir, words, plain))...)
			}
		}
	}
	if len(out) == 0 {
		out = append(out, obstat.Question{Tool: toolShell, Subjects: []obstat.Subject{{Field: fieldSeen, Text: a.Source}}})
	}
	return out
}

// shells are programs whose script Codex reads as commands of their own, `/bin/zsh -lc 'npm test'`.
var shells = []string{"bash", "zsh", "sh"}

// scripted returns the question about a command, or, of a shell with a script, one about each command of the
// script, each with the shell's own words besides: a rule may be about either.
func (v view) scripted(a *effect.Analysis, i int, q obstat.Question) (out []obstat.Question) {
	c := &a.Commands[i]
	words := known(c)
	if len(words) != 3 || words[1] != "-lc" && words[1] != "-c" || !slices.Contains(shells, path.Base(words[0])) {
		return []obstat.Question{q}
	}
	for j := range a.Commands {
		in := &a.Commands[j]
		within := c.Span.Start <= in.Span.Start && in.Span.End <= c.Span.End
		if j == i || !within || len(in.Via) != len(c.Via)+1 {
			continue
		}
		inner := known(in)
		if len(inner) == 0 {
			return []obstat.Question{q}
		}
		plain := in.Known && len(in.Env) == 0 && !slices.ContainsFunc(in.Words, expands) &&
			!slices.ContainsFunc(a.Effects, func(e effect.Effect) bool { return e.Command == j && e.Tags.Has(effect.Redirect) })
		one := v.question(in.Dir, inner, plain)
		one.Subjects = append(one.Subjects, q.Subjects...)
		out = append(out, one)
	}
	if len(out) == 0 {
		return []obstat.Question{q}
	}
	return out
}

// known returns the words of a command up to the first that is not known.
func known(c *effect.Command) []string {
	words := make([]string, 0, len(c.Words))
	for i := range c.Words {
		if !c.Words[i].Known {
			break
		}
		words = append(words, c.Words[i].Text)
	}
	return words
}

// Command asks about a command as if it stood alone. Its words are those that the analysis
// has made of the line, so only a word that the shell makes names of, `*.go`, is not plain.
func (v view) Command(f *obstat.Facts, i int) ([]obstat.Question, bool) {
	c := &f.Analysis().Commands[i]
	words := known(c)
	if len(words) == 0 {
		return nil, false
	}
	plain := c.Known && !slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Glob || w.Tilde || w.Split })
	out := v.scripted(f.Analysis(), i, v.question(c.Dir, words, plain))
	if v.passes(f, everything) || c.ReadOnly && v.passes(f, i) {
		for j := range out {
			out[j].Subjects = append(out[j].Subjects, held)
		}
	}
	return out, true
}

// File says that no rule is about files.
func (v view) File(*obstat.Facts, string, string, string) ([]obstat.Question, bool) {
	return nil, false
}

// question asks about the words of a command in a directory: by the program as it is
// written, and by its bare name if rules for that hold for it.
func (v view) question(dir string, words []string, plain bool) obstat.Question {
	q := obstat.Question{Tool: toolShell}
	add := func(seen, sure, text string) {
		q.Subjects = append(q.Subjects, obstat.Subject{Field: seen, Text: text})
		if plain {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: sure, Text: text})
		}
	}
	if isPath(words[0]) {
		add(fieldSeenPath, fieldPlainPath, joined(words))
		name, ok := byName(dir, words[0], v.Hosts)
		if !ok {
			return q
		}
		words = append([]string{name}, words[1:]...)
	}
	add(fieldSeen, fieldPlain, joined(words))
	return q
}

// plainLine tells whether a line is so plain that its words are sure to be those of the
// commands: words alone, joined by && || ; or |, as Codex wants it of a line that a rule
// allows.
func plainLine(a *effect.Analysis) bool {
	for _, c := range a.Constructs {
		switch c.Kind {
		case shell.SimpleCommand, shell.AndOp, shell.OrOp, shell.PipeOp, shell.Semicolon, shell.Newline:
		default:
			return false
		}
	}
	for i := range a.Commands {
		if c := &a.Commands[i]; len(c.Via) == 0 && (!c.Known || len(c.Env) > 0 || slices.ContainsFunc(c.Words, expands)) {
			return false
		}
	}
	return kit.Parsed(a)
}

// expands tells whether a shell, bash or zsh, may make another word of w.
func expands(w shell.Word) bool {
	if w.Glob || w.Tilde || w.Split || strings.HasPrefix(w.Raw, "=") {
		return true
	}
	quote := byte(0)
	for i := range len(w.Raw) {
		switch c := w.Raw[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte("{}*?[]\\~^#$`", c) >= 0, quote == '"' && quotedExpands(w.Raw[i:]):
			return true
		}
	}
	return false
}

// quotedExpands tells whether a text between double quotes begins with a character that is special there.
func quotedExpands(s string) bool {
	return s[0] == '$' || s[0] == '`' || s[0] == '\\' && len(s) > 1 && strings.IndexByte("$`\"\\\n", s[1]) >= 0
}

// Outline returns the questions of any call to a tool.
func (v view) Outline(tool string) []obstat.Question {
	switch t, _ := effect.Lookup(tool); t.Canonical {
	case "shell":
		return []obstat.Question{kit.Outlined(toolShell, fieldSeen), kit.Outlined(toolShell, fieldSeen, fieldPlain),
			kit.Outlined(toolShell, fieldSeenPath, fieldPlainPath, fieldSeen, fieldPlain)}
	case "fetch":
		return []obstat.Question{kit.Outlined(toolFetch), kit.Outlined(toolFetch, fieldHost)}
	}
	return []obstat.Question{kit.Outlined(tool), kit.Outlined(tool, fieldHeld)}
}

// everything stands for all commands of a call.
const everything = -1

// passes tells whether Codex would run a command of a call, or all of them, without asking
// although no rule is about it: its sandbox lets commands read, and write in the
// workspace. Codex itself has that sandbox; for any other agent only a call that provably changes
// nothing passes.
func (v view) passes(f *obstat.Facts, command int) bool {
	a := f.Analysis()
	if slices.ContainsFunc(a.Commands, forced) {
		return false
	}
	sandboxed := f.Call.Agent == "codex" && !v.ReadOnly
	if command == everything && (!a.Full || !a.ReadOnly && !sandboxed) {
		return false
	}
	for i := range a.Effects {
		if e := &a.Effects[i]; (command == everything || e.Command == command) && !stays(e, f.Call.Workspace()) {
			return false
		}
	}
	return true
}

// forced tells whether a command is `rm -f`, which Codex asks about in every mode.
func forced(c effect.Command) bool {
	return c.Program == "rm" && slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
		return w.Text == "--force" || kit.Short(w.Text, "f")
	})
}

// keptDirs are directories of a workspace that its sandbox does not let commands write.
var keptDirs = []string{".git", ".codex", ".agents"}

// stays tells whether an effect is one that the sandbox lets pass: a read that gives no
// secret away, a write in the workspace.
func stays(e *effect.Effect, roots []string) bool {
	switch {
	case e.Secret || e.Where != "" || e.Kind == effect.Connect || e.Kind == effect.Code || e.Kind == effect.System:
		return false
	case e.Harmless || e.Kind == effect.Read || e.Kind == effect.Run:
		return true
	case e.Path == "" || e.Real == "":
		return false
	}
	kept := func(root string) bool {
		return slices.ContainsFunc(keptDirs, func(dir string) bool { return paths.Inside(path.Join(root, dir), e.Real) })
	}
	return e.Reaches(nil, keptDirs) == "" && slices.ContainsFunc(roots, func(root string) bool {
		return paths.Inside(root, e.Real) && !kept(root)
	})
}
