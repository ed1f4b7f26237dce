package undo

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/paths"
)

var (
	// madeAgain are directories in which a checkout changes nothing that is not tracked.
	madeAgain = kb.Table("!made-again")
	books     = kb.Table("!git-books")
)

// isGit tells whether a command of git has the effect.
func isGit(e *effect.Effect) bool { return e.Program == "git" && e.Command >= 0 }

// git adds the files of a repository that a command of git changes. Its objects are left out: they only grow, so
// that every commit, stash and branch comes back with its name; and its hooks, which git does not write. Of a command
// whose effect names files, as
// `git rm a`, they are git's own alone.
func (r *Reach) git(c *effect.Command, e *effect.Effect, named bool) bool {
	root, ok := repository(c.Dir)
	if !ok || len(c.Words) < 2 {
		return false
	}
	own := filepath.Join(root, ".git")
	sub := c.Words[1]
	grow := []string{filepath.Join(own, "objects"), filepath.Join(own, "lfs")}
	if sub.Text != "init" { // which adds samples; of all files of a small repository hooks are the most
		grow = append(grow, filepath.Join(own, "hooks"))
	}
	r.Paths = append(r.Paths, changes.Reach{Paths: paths.Under(own), Except: grow})
	if (named || books().Has(sub.Text)) && !e.Tags.Has(effect.Tree|effect.Clean) {
		return true
	}
	except := []string{own}
	if !e.Tags.Has(effect.Clean) {
		tracked, ok := trackedDirs(filepath.Join(own, "index"), root)
		if !ok {
			return false
		}
		except = append(except, untracked(root, tracked)...)
	}
	r.Paths = append(r.Paths, changes.Reach{Paths: paths.Under(root), Except: except})
	return true
}

// noHooks is noHooks, looked up once for a call: `git add -A && git commit` is one.
func (r *Reach) noHooks(dir string) bool {
	none, known := r.hookless[dir]
	if !known {
		none = noHooks(dir)
		if r.hookless == nil {
			r.hookless = map[string]bool{}
		}
		r.hookless[dir] = none
	}
	return none
}

// noHooks tells whether git runs no program of the repository beside its work.
func noHooks(dir string) bool {
	root, ok := repository(dir)
	if !ok {
		return false
	}
	home, _ := os.UserHomeDir() // "" has no settings
	for _, name := range []string{filepath.Join(root, ".git/config"), filepath.Join(home, ".gitconfig"),
		filepath.Join(home, ".config/git/config"), "/etc/gitconfig"} {
		if b, err := os.ReadFile(name); err == nil && runsPrograms(strings.ToLower(string(b))) {
			return false
		}
	}
	list, err := os.ReadDir(filepath.Join(root, ".git/hooks"))
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".sample") {
			return false
		}
	}
	return err == nil || os.IsNotExist(err)
}

// runsPrograms tells whether settings name hooks, filters or other files of settings.
func runsPrograms(config string) bool {
	for _, word := range []string{"hookspath", "[filter", "[include", "fsmonitor"} {
		if strings.Contains(config, word) {
			return true
		}
	}
	return false
}

// repository returns the top of the work tree that a directory lies in; not for one whose repository lies elsewhere.
func repository(dir string) (root string, ok bool) {
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil && !info.IsDir() {
			return dir, false
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git/HEAD")); err == nil { // git takes no empty `.git` for one either
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", false
}

// untracked returns the directories of programs that hold no tracked file.
func untracked(root string, tracked map[string]bool) (out []string) {
	filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil
		case d.Name() == ".git":
			return fs.SkipDir
		case p != root && madeAgain().Has(d.Name()) && !tracked[p]:
			out = append(out, p)
			return fs.SkipDir
		}
		return nil
	})
	return out
}

// trackedDirs returns the directories with tracked files, from git's index; none of an index that is not understood.
func trackedDirs(name, root string) (map[string]bool, bool) {
	out := map[string]bool{}
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return out, true // nothing was ever added
	}
	if err != nil || len(b) < 12 || string(b[:4]) != "DIRC" {
		return nil, false
	}
	version, n := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version != 2 && version != 3 {
		return nil, false // of version 4 the names are packed
	}
	at := 12
	for range n {
		const fixed = 62 // bytes before the name
		head := fixed
		if at+fixed > len(b) {
			return nil, false
		}
		if binary.BigEndian.Uint16(b[at+60:])&0x4000 != 0 {
			head += 2
		}
		if at+head > len(b) {
			return nil, false
		}
		length := bytes.IndexByte(b[at+head:], 0)
		if length < 0 {
			return nil, false
		}
		path := filepath.Join(root, string(b[at+head:at+head+length]))
		for dir := filepath.Dir(path); len(dir) > len(root) && !out[dir]; dir = filepath.Dir(dir) {
			out[dir] = true
		}
		at += (head + length + 8) &^ 7
	}
	return out, true
}
