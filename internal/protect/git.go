package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

type wordT = shell.Word

// gitWords returns the directory that git works in, the subcommand and what
// follows it.
func gitWords(c *effect.Command) (dir []wordT, sub string, rest []wordT) {
	words := c.Args()
	for i := 0; i < len(words); i++ {
		switch t := words[i].Text; {
		case t == "-C" || t == "--work-tree":
			if i++; i < len(words) {
				dir = append(dir, words[i])
			}
		case strings.HasPrefix(t, "--work-tree="):
			w := words[i]
			w.Text = t[len("--work-tree="):]
			dir = append(dir, w)
		case t == "-c" || t == "--git-dir" || t == "--namespace" || t == "--exec-path" || t == "--config-env":
			i++
		case strings.HasPrefix(t, "-"):
		default:
			return dir, t, words[i+1:]
		}
	}
	return dir, "", nil
}

// git looks at commands that change the working tree as a whole. Moving between
// commits counts where it can take the policy in force, or hook entries that are
// obstat's, with it; a patch can make files of any name.
func (k *check) git(c *effect.Command) *Finding {
	if c.Program != "git" {
		return nil
	}
	to, sub, rest := gitWords(c)
	dir, known := c.Dir, true
	for i := range to {
		p := k.resolve(dir, to[i].Text)
		dir, known = p.Real, known && to[i].Known && p.Abs != ""
	}
	known = known && !slices.Contains(c.Env, "GIT_WORK_TREE") && !slices.Contains(c.Env, "GIT_DIR")
	tree, paths := gitChanges(sub, rest)
	switch {
	case tree == "":
		return nil
	case !known:
		dir = "/" // anywhere
	case paths == nil:
		dir = k.worktree(dir)
	}
	if paths == nil {
		return k.gitTree(c, fold(dir), tree)
	}
	for i := range paths {
		p := pathspec(likely(&paths[i]))
		open := !paths[i].Known && (paths[i].Shape() == "" || strings.Contains(paths[i].Shape(), shell.Unknown))
		if p == "" && !open || open && k.mayBe(paths[i].Shape(), dir) {
			return k.gitTree(c, fold(k.worktree(dir)), tree)
		}
		e := effect.Effect{Kind: effect.Delete, Raw: p, Glob: strings.ContainsAny(p, "*?["), Recursive: true}
		at := k.resolve(dir, p)
		if e.Path, e.Real = at.Abs, at.Real; e.Glob {
			e.Path = strings.ReplaceAll(at.Abs, "*", "**") // a star of git's takes slashes
			e.Real = ""
		}
		if f := k.changes(&e); f != nil {
			return f
		}
	}
	return nil
}

// pathspec returns the path of a pathspec; "" where it is none that is plain.
func pathspec(s string) string {
	s = strings.TrimPrefix(s, "./")
	if strings.HasPrefix(s, ":") || strings.Contains(s, "*") && strings.Contains(s, "/") {
		return ""
	}
	return s
}

// The ways to change a working tree.
const (
	commits = "commits" // other versions of the tracked files
	patches = "patches" // files of any name
	cleans  = "cleans"  // untracked files go
)

// gitTree tells whether the tree holds something that guards the agent.
func (k *check) gitTree(c *effect.Command, root, how string) *Finding {
	for i := range k.items() {
		it := &k.items()[i]
		if it.common || !inside(root, it.path) {
			continue
		}
		counts := it.inUse || how == patches
		if !counts && how == cleans {
			counts = k.exists(it.name)
		}
		if !counts && how == commits {
			counts = it.local && it.what != isState && it.what != isProgram && k.installed(it.name)
		}
		if counts {
			return &Finding{Part: c.Text, Why: "it may change " + it.name + ", " + it.what + ", with the other files of the working tree; only a person allows that"}
		}
	}
	return nil
}

// worktree returns the top of the working tree that a directory is in, the
// directory itself if none is found.
func (k *check) worktree(dir string) string {
	if dir == "" {
		return "/"
	}
	for at := dir; k.world != nil; at = path.Dir(at) {
		if k.world.IsDir(path.Join(at, ".git")) {
			return at
		}
		if at == path.Dir(at) || at == "." {
			break
		}
	}
	// A linked working tree has a file there, which cannot be seen: look from
	// the outermost directory that could be its top.
	if dirs := k.places(); len(dirs) > 0 {
		top := dir
		for _, d := range dirs {
			if inside(fold(d), fold(top)) {
				top = d
			}
		}
		return top
	}
	return dir
}

// gitChanges tells how a subcommand changes the working tree, "" if it does
// not, and of which paths; nil is all of it.
func gitChanges(sub string, args []wordT) (how string, paths []wordT) {
	ops, after := operands(args)
	switch sub {
	case "checkout", "switch":
		switch {
		case after != nil:
			return commits, after
		case flag(args, "-b", "-B", "-c", "-C", "--orphan", "--create") && len(ops) <= 1, len(args) == 0:
			return "", nil // a new branch, from where we are
		case len(ops) > 1:
			return commits, ops
		}
		return commits, nil
	case "restore":
		if flag(args, "--staged", "-S") && !flag(args, "--worktree", "-W") {
			return "", nil
		}
		return commits, append(ops, after...)
	case "reset":
		if flag(args, "--hard", "--merge", "--keep") {
			return commits, nil
		}
		return "", nil
	case "stash":
		if len(ops) > 0 && slices.Contains([]string{"list", "show", "drop", "clear", "create", "store"}, ops[0].Text) {
			return "", nil
		}
		if flag(args, "-u", "-a", "--include-untracked", "--all") {
			return cleans, after
		}
		return commits, after
	case "pull", "merge", "rebase", "cherry-pick", "revert", "bisect", "sparse-checkout", "read-tree", "checkout-index", "filter-branch", "filter-repo", "subtree":
		return commits, nil
	case "am":
		return patches, nil
	case "apply":
		if flag(args, "--check", "--stat", "--numstat", "--summary", "--cached") {
			return "", nil
		}
		return patches, nil
	case "clean":
		if flag(args, "-n", "--dry-run") || len(args) == 0 {
			return "", nil
		}
		return cleans, append(ops, after...)
	}
	return "", nil
}

// keeps are git's subcommands that leave the files of the working tree alone,
// whatever they are told; told by their arguments those that may.
var (
	keeps = []string{"add", "stage", "commit", "push", "fetch", "tag", "branch", "notes", "remote", "log", "show", "diff", "status", "ls-files", "blame", "grep", "describe", "config", "init", "clone"}
	told  = []string{"checkout", "switch", "restore", "reset", "stash", "apply", "clean"}
)

// gitKeeps tells whether git leaves the files of the working tree alone.
func gitKeeps(c *effect.Command) bool {
	_, sub, rest := gitWords(c)
	how, _ := gitChanges(sub, rest)
	if sub == "config" && flag(rest, "--file", "-f") && !flag(rest, "--get", "--list", "--get-all", "--get-regexp") {
		return false
	}
	return slices.Contains(keeps, sub) || slices.Contains(told, sub) && how == ""
}

// operands returns the words that are no flags, before and after --.
func operands(args []wordT) (ops, after []wordT) {
	for i := range args {
		switch t := args[i].Text; {
		case t == "--":
			return ops, args[i+1:]
		case !strings.HasPrefix(t, "-") || t == "-":
			ops = append(ops, args[i])
		}
	}
	return ops, nil
}

// flag tells whether one of the flags is there, also among letters that stand
// together.
func flag(args []wordT, names ...string) bool {
	return slices.ContainsFunc(args, func(w wordT) bool {
		for _, n := range names {
			long := strings.HasPrefix(n, "--")
			if w.Text == n || long && strings.HasPrefix(w.Text, n+"=") || !long && len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, n[1:]) {
				return true
			}
		}
		return false
	})
}
