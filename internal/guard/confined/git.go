package confined

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

//go:embed git.txt
var gitText string

// gitBooks returns the entries of a repository that git fills by itself.
var gitBooks = sync.OnceValue(func() []string { return words(gitText) })

// runByGit tells whether a change of name may have git run a program: a hook or a setting of a repository, a new
// repository, a `.git` that leads elsewhere. isDir tells whether a directory was there before.
func runByGit(name string, isDir func(string) bool) bool {
	at := strings.LastIndex(name+"/", "/.git/")
	if at < 0 {
		return false
	}
	repo := name[:at] + "/.git"
	rest := strings.Split(strings.TrimPrefix(name[len(repo):], "/"), "/")
	switch {
	case !isDir(repo):
		return true
	case rest[0] == "":
		return false
	case rest[0] == "modules", rest[0] == "worktrees":
		return slices.ContainsFunc(rest[1:], leads)
	case rest[0] == "objects":
		return len(rest) == 3 && rest[1] == "info" && strings.HasSuffix(rest[2], "alternates")
	}
	return !isBook(rest[0])
}

// leads tells whether an entry of a submodule's or a work tree's repository names programs or another repository.
func leads(entry string) bool {
	return slices.Contains([]string{"hooks", "config", "config.worktree", "info", "commondir", "gitdir"}, entry)
}

// bareEntries are the entries by which git takes a directory itself for a repository.
var bareEntries = []string{"HEAD", "objects", "refs", "commondir"}

// completesBare tells whether a change makes a directory look like a bare repository, whose config names programs that
// `git status` runs there. Layer has the new entries of the directory, dir those that were there; code may have made
// the others in an earlier run.
func completesBare(name, layer string) bool {
	if !slices.Contains(bareEntries, filepath.Base(name)) || strings.Contains(name, "/.git/") {
		return false
	}
	has := func(entry string) bool {
		for _, dir := range []string{filepath.Dir(name), filepath.Dir(layer)} {
			if _, err := os.Lstat(filepath.Join(dir, entry)); err == nil {
				return true
			}
		}
		return false
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// HasHooks tells whether git runs hooks in the repository of a directory. Most run code of the project, and those of
// `core.hooksPath = .husky` are files of it.
func (o *Outside) HasHooks(dir string) bool {
	text, err := o.git(dir, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return false // no repository: git does nothing
	}
	hooks := strings.TrimSuffix(text, "\n")
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(dir, hooks)
	}
	entries, _ := os.ReadDir(hooks)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".sample") }) {
		return true
	}
	_, err = o.git(dir, "config", "--get-regexp", `^hook\.`)
	return err == nil
}

// Outside finds programs that no confined run can have made: those of PATH that lie outside the workspace.
type Outside struct {
	Path  string   // the variable
	Roots []string // the workspace
}

// find returns the file of a program, "" where there is none.
func (o *Outside) find(program string) string {
	for _, dir := range filepath.SplitList(o.Path) {
		at := filepath.Join(dir, program)
		if info, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && !o.inside(at) {
			return at
		}
	}
	return ""
}

// inside tells whether a file lies in the workspace, links followed.
func (o *Outside) inside(name string) bool {
	real := realOf(name)
	return slices.ContainsFunc(o.Roots, func(root string) bool { return paths.Inside(realOf(root), real) })
}

// git returns what git prints about a repository. The commands that it is asked with run no programs; a missing
// object is not fetched, which could.
func (o *Outside) git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.find("git"), append([]string{"-c", "core.fsmonitor=false", "-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0")
	cmd.Env = slices.DeleteFunc(cmd.Env, isRepoVariable)
	text, err := cmd.Output()
	return string(text), err
}

// isRepoVariable tells whether a variable leads git to another repository than that of the directory.
func isRepoVariable(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
		"GIT_OBJECT_DIRECTORY"}, name)
}

// Planted tells whether a command runs a program that lies in the workspace: `.venv/bin/pip list`, or `ls` where PATH
// has `node_modules/.bin` of the project first.
func (o *Outside) Planted(an *effect.Analysis) bool {
	return slices.ContainsFunc(an.Commands, func(c effect.Command) bool {
		at := c.Path
		if at != "" && !strings.Contains(at, "/") {
			at = firstOf(o.Path, c.Dir, at)
		} else if !filepath.IsAbs(at) {
			at = filepath.Join(c.Dir, at)
		}
		return c.Path != "" && at != "" && o.inside(at)
	})
}

// firstOf returns the file of a program that a shell in dir runs, "" where there is none.
func firstOf(path, dir, program string) string {
	for _, at := range filepath.SplitList(path) {
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if info, err := os.Stat(filepath.Join(at, program)); err == nil && !info.IsDir() {
			return filepath.Join(at, program)
		}
	}
	return ""
}

// newRepository tells whether a change is a part of a repository that `git init` or `git clone` makes, in which nothing
// names a program: hooks are samples, and its settings are those of aNewConfig. `cargo new` and `uv init` make such
// ones.
func newRepository(c *confine.Change) bool {
	at := strings.LastIndex(c.Path+"/", "/.git/")
	repo := c.Path[:at] + "/.git"
	if c.Kind != confine.Created || isDirectory(repo) {
		return false
	}
	rest := strings.Split(strings.TrimPrefix(c.Path[len(repo):], "/"), "/")
	switch name := path.Join(rest...); {
	case c.Type == "dir":
		return name == "" || name == "hooks" || name == "info" || isBook(rest[0])
	case c.Type != "file":
		return false
	case name == "config":
		text, err := readSmall(c.Layer)
		return err == nil && aNewConfig.Match(text)
	case rest[0] == "hooks":
		return len(rest) == 2 && strings.HasSuffix(rest[1], ".sample")
	}
	return path.Join(rest...) == "info/exclude" || isBook(rest[0]) && !runByGit(c.Path, func(string) bool { return true })
}

// aNewConfig is the file of settings that git writes into a new repository, or into a clone: the address of a remote is
// one that runs no program, as `ext::sh -c x` does.
var aNewConfig = regexp.MustCompile(`^(\[(core|init|extensions)\]\n|\[(remote|branch) "[\w./-]+"\]\n|` +
	`\t(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|defaultbranch|` +
	`objectformat|remote) = \w+\n|\tfetch = \+refs/heads/[\w./*-]+:refs/remotes/[\w./*-]+\n|` +
	`\tmerge = refs/heads/[\w./-]+\n|\turl = (https?://|ssh://|git@|/)\w[\w@./~%+-]*(:[\w./~%+-]+)?\n)*$`)

func isBook(entry string) bool {
	return slices.ContainsFunc(gitBooks(), func(own string) bool {
		ok, _ := path.Match(own, entry)
		return ok
	})
}

func isDirectory(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}
