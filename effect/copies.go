package effect

import (
	"path"
	"slices"
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
		return c.fromNothing() || !c.flagged(namesOfChanges) && (c.addedAll() || c.givenHistory())
	case "log", "whatchanged", "reflog":
		return c.patches() && (c.fromNothing() || c.addedAll())
	case "format-patch":
		return c.flagged(" --stdout ") && (c.flagged(" --root ") || c.addedAll())
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
		at := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "add" || w.Text == "stage" })
		if at > 0 && words[0].Text == "git" && slices.ContainsFunc(words[at+1:], namesAll) {
			return true
		}
	}
	return false
}

// namesAll reports whether a word of `git add` stands for files of any name: `-Av`, `.`, `src/..`, "$PWD".
func namesAll(w shell.Word) bool {
	switch t, _, _ := strings.Cut(w.Text, "="); {
	case t == "--all" || t == "--force" || t == "--pathspec-from-file" || strings.HasPrefix(t, ":") || strings.Contains(w.Raw, "PWD"):
		return true
	case len(t) > 1 && t[0] == '-' && t[1] != '-':
		return strings.ContainsAny(t, "Af")
	default:
		return t != "" && (path.Clean(t) == "." || strings.HasPrefix(path.Clean(t), "..") || path.Clean(t) == "*")
	}
}

// givenHistory reports whether git is given commits that another git lists, of which the first, where every file is new, is one:
// `git show $(git rev-list --all)`, `git log --format=%H | xargs git show`.
func (c *call) givenHistory() bool {
	for i := range c.words {
		w := &c.words[i]
		if w.Known {
			continue
		}
		if listsHistory(c.producer(w), strings.Contains(w.Raw+w.Why, "head")) {
			return true
		}
		if src := c.a.an.Source; shell.IsPrinted(w) && (strings.Contains(src, "--max-parents") || strings.Contains(src, "rev-list --all") || strings.Contains(src, "--reverse")) { // in a variable
			return true
		}
	}
	for i := range c.a.an.Commands[:c.cmd] { // of a pipe
		next := c.a.an.Commands[i+1].Words
		if listsHistory(c.a.an.Commands[i].Words, len(next) > 0 && next[0].Text == "head") && slices.ContainsFunc(c.words, func(w shell.Word) bool { return !w.Known && w.Raw == "{}" }) {
			return true
		}
	}
	return false
}

// listsHistory reports whether git prints the names of all commits. Of those, head takes some of the last.
func listsHistory(words []shell.Word, head bool) bool {
	if len(words) < 2 || words[0].Text != "git" || words[1].Text != "rev-list" && words[1].Text != "log" {
		return false
	}
	first := slices.ContainsFunc(words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "--max-parents") || w.Text == "--reverse" })
	return allHistory(words[2:]) && (first || !head)
}

// allHistory reports whether git goes through all commits, with the first, in which every file is new: `git log -p` without a
// number, a range or a date, or with ones that leave nothing out.
func allHistory(words []shell.Word) bool {
	for i := range words {
		t := words[i].Text
		name, value, attached := strings.Cut(t, "=")
		switch {
		case name == "--max-parents":
			return true
		case isRange(or(t, words[i].Shape())), strings.HasPrefix(t, "^"), strings.HasPrefix(t, "-L"), t == "--not", strings.HasPrefix(t, "--no-walk"):
			return false
		case t == "-n" || strings.HasPrefix(name, "--max-c") || name == "--since" || name == "--after":
			if !attached && i+1 < len(words) {
				value = words[i+1].Text
			}
		case len(t) > 1 && t[0] == '-' && allDigits(strings.TrimPrefix(t[1:], "n")):
			value = strings.TrimPrefix(t[1:], "n")
		default:
			continue
		}
		return allDigits(value) && len(value) > 2 || value < "2020" && len(value) > 4 && allDigits(value[:4]) || strings.Contains(value, "year") // not `-20`, `--since=2025-01-01`
	}
	return true
}

// fromNothing reports whether a diff begins at the empty tree, which makes it show whole files.
func (c *call) fromNothing() bool {
	switch at := c.at[0]; c.words[at].Text {
	case "log", "whatchanged", "reflog":
		if allHistory(c.words[at+1:]) {
			return true
		}
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
