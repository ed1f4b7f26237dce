package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// copied is a directory that git makes a second one of. The files have the same names there: of
// `git worktree add ../w && cat ../w/.env` the second is about .env.
type copied struct{ from, to string }

// copiesTree notes the worktree or clone that git makes.
func (c *call) copiesTree(ops []int) {
	if c.name != "git" || !c.sub || len(ops) == 0 || c.f.where != "" {
		return
	}
	first := &c.words[ops[0]]
	at := func(w *shell.Word) string {
		p := c.a.resolve(c.f.dir, w)
		return or(p.Real, p.Abs)
	}
	note := func(from, to string) {
		for _, before := range c.a.copies { // a copy of a copy
			if paths.Inside(before.to, from) {
				from = before.from + from[len(before.to):]
			}
		}
		c.a.copies = append(c.a.copies, copied{from, to})
	}
	switch sub := c.words[c.at[0]].Text; {
	case c.moved != "" && strings.Contains(c.a.an.Source, "--work-tree"):
		note(c.a.worktree(c.start), c.f.dir)
	case sub == "bundle":
		note(c.a.worktree(c.f.dir), at(first))
	case sub == "worktree" && c.words[c.at[1]].Text == "add":
		note(c.a.worktree(c.f.dir), at(first))
	case sub == "clone" && first.Known && !strings.ContainsAny(strings.TrimPrefix(first.Text, "file://"), ":@"):
		from := *first
		from.Text = strings.TrimPrefix(from.Text, "file://")
		to := shell.Word{Text: strings.TrimSuffix(path.Base(strings.TrimSuffix(from.Text, "/.git")), ".git"), Known: true}
		if len(ops) > 1 {
			to = c.words[ops[1]]
		}
		note(strings.TrimSuffix(at(&from), "/.git"), at(&to))
	}
}

// throughCopies adds what a read of a copy is a read of.
func (a *analyzer) throughCopies(e *Effect) {
	for _, c := range a.copies {
		if e.Kind != Read || e.Tags.Has(List) || e.Path == "" || e.Where != "" || c.from == "" || c.to == "" || paths.Inside(c.to, c.from) || !a.afford(effectWork) {
			continue
		}
		more := *e
		switch p := or(e.Real, e.Path); {
		case paths.Inside(c.to, p):
			more.Path = c.from + p[len(c.to):]
		case e.Recursive && paths.Inside(p, c.to):
			more.Path = c.from
		default:
			continue
		}
		more.Real, more.Certain = more.Path, false
		a.an.Effects = append(a.an.Effects, more)
	}
}

// wholeTree reports whether git shows what is in all tracked files below: `git grep x`, `git archive HEAD`.
func (c *call) wholeTree() bool {
	if c.name != "git" || !c.sub || c.help {
		return false
	}
	switch c.words[c.at[0]].Text {
	case "grep":
		return !c.flagged(" -l --files-with-matches --name-only -L --files-without-match -c --count -q --quiet ")
	case "archive":
		return !c.flagged(" -l --list ") && len(c.ops()) < 2
	case "fast-export":
		return true
	case "format-patch":
		return c.flagged(" --stdout ") && c.flagged(" --root ")
	case "stash":
		return c.words[c.at[1]].Text == "show" && c.flagged(" -p -u --patch ")
	}
	return false
}

// flagged reports whether one of some flags, between blanks, was given.
func (c *call) flagged(flags string) bool {
	for i := range c.words[1:] {
		t, _, _ := strings.Cut(c.words[1+i].Text, "=")
		if isFlag(t) && strings.Contains(flags, " "+t+" ") {
			return true
		}
	}
	return false
}
