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
	if c.name != "git" || !c.sub || c.f.where != "" {
		return
	}
	first := &shell.Word{}
	if len(ops) > 0 {
		first = &c.words[ops[0]]
	}
	switch sub := c.words[c.at[0]].Text; {
	case c.moved != "" && strings.Contains(c.a.an.Source, "--work-tree"):
		c.noteCopy(c.a.worktree(c.start), c.f.dir)
	case sub == "checkout-index", sub == "read-tree":
		for i := range c.words {
			if prefix, ok := strings.CutPrefix(c.words[i].Text, "--prefix="); ok {
				c.noteCopy(c.a.worktree(c.f.dir), c.realPath(&shell.Word{Text: prefix, Known: true}))
			}
		}
	case len(ops) == 0:
	case sub == "bundle" && first.Text == "-":
		c.readTree()
	case sub == "bundle":
		c.noteCopy(c.a.worktree(c.f.dir), c.realPath(first))
	case sub == "worktree" && c.words[c.at[1]].Text == "add":
		c.noteCopy(c.a.worktree(c.f.dir), c.realPath(first))
	case (sub == "clone" || sub == "submodule") && first.Known && !strings.ContainsAny(strings.TrimPrefix(first.Text, "file://"), ":@"):
		from := *first
		from.Text = strings.TrimPrefix(from.Text, "file://")
		to := shell.Word{Text: strings.TrimSuffix(path.Base(strings.TrimSuffix(from.Text, "/.git")), ".git"), Known: true}
		if len(ops) > 1 {
			to = c.words[ops[1]]
		}
		c.noteCopy(strings.TrimSuffix(c.realPath(&from), "/.git"), c.realPath(&to))
	}
}

func (c *call) realPath(w *shell.Word) string {
	p := c.a.resolve(c.f.dir, w)
	return or(p.Real, p.Abs)
}

// noteCopy notes a copy, or a copy of a copy.
func (c *call) noteCopy(from, to string) {
	for _, before := range c.a.copies {
		if paths.Inside(before.to, from) {
			from = before.from + from[len(before.to):]
		}
	}
	c.a.copies = append(c.a.copies, copied{from, to})
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

// readTree adds a read of all that is below.
func (c *call) readTree() {
	c.recursive = true
	here := shell.Word{Text: ".", Known: true, Span: c.words[0].Span}
	c.readFile(&here, true)
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
		return !c.flagged(" -l --list ")
	case "fast-export", "upload-pack", "upload-archive", "http-backend", "daemon", "pack-objects":
		return true
	case "checkout-index":
		return c.flagged(" --prefix --temp ")
	case "diff", "diff-tree", "diff-index", "show":
		return c.fromNothing() || c.addedAll() && !c.flagged(namesOfChanges)
	case "log", "whatchanged", "reflog":
		return c.patches() && c.fromNothing()
	case "format-patch":
		return c.flagged(" --stdout ") && c.flagged(" --root ")
	case "stash":
		return c.words[c.at[1]].Text == "show" && c.flagged(" -p -u --patch --include-untracked --only-untracked ")
	}
	return false
}

// namesOfChanges are flags that make git say which files were changed, not how.
const namesOfChanges = " --stat --name-only --name-status --numstat --shortstat --summary --quiet --check -s --no-patch "

// addedAll reports whether the command has put files of any name under git's control before, so that git shows them as new:
// `git add -A && git diff --cached`.
func (c *call) addedAll() bool {
	for i := range c.a.an.Commands[:c.cmd] {
		words := c.a.an.Commands[i].Words
		if len(words) < 3 || words[0].Text != "git" || words[1].Text != "add" && words[1].Text != "stage" {
			continue
		}
		for j := range words[2:] {
			switch t, _, _ := strings.Cut(words[2+j].Text, "="); t {
			case "-A", "--all", "-f", "--force", ".", ":/", "*", "--pathspec-from-file":
				return true
			}
		}
	}
	return false
}

// allHistory reports whether git shows all commits, with the first, in which every file is new: `git log -p` without a number,
// a range or a date.
func (c *call) allHistory() bool {
	switch c.words[c.at[0]].Text {
	case "log", "whatchanged", "reflog":
	default:
		return false
	}
	for i := c.at[0] + 1; i < len(c.words); i++ {
		t := c.words[i].Text
		if isRange(or(t, c.words[i].Shape())) || strings.HasPrefix(t, "^") || len(t) > 1 && t[0] == '-' && (allDigits(t[1:]) || t[1] == 'n' || t[1] == 'L') ||
			strings.HasPrefix(t, "--max-c") || strings.HasPrefix(t, "--since") || strings.HasPrefix(t, "--after") || t == "--not" || strings.HasPrefix(t, "--no-walk") {
			return false
		}
	}
	return true
}

// fromNothing reports whether a diff begins at the empty tree, which makes it show whole files.
func (c *call) fromNothing() bool {
	if c.allHistory() {
		return true
	}
	for _, i := range c.ops() {
		switch w := &c.words[i]; {
		case strings.HasPrefix(w.Text, "4b825dc"), strings.HasPrefix(w.Text, "6ef19b4"), !w.Known && strings.Contains(c.a.an.Source, "hash-object"):
			return true
		}
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
