package confined

import (
	_ "embed"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
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
	return !slices.ContainsFunc(gitBooks(), func(own string) bool {
		ok, _ := path.Match(own, rest[0])
		return ok
	})
}

// leads tells whether an entry of a submodule's or a work tree's repository names programs or another repository.
func leads(entry string) bool {
	return slices.Contains([]string{"hooks", "config", "config.worktree", "info", "commondir", "gitdir"}, entry)
}

func isDirectory(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}
