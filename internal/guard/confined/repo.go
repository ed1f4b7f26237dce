package confined

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/paths"
)

// repository widens the view to the repository that the workspace is a directory of, where the policy lets code
// read that: git, and builds of a monorepo, need all of it. What may be written there is for the policy to say.
func (m *maker) repository() {
	if isRepository(filepath.Join(m.work, ".git")) {
		return
	}
	for top := filepath.Dir(m.work); top != "/"; top = filepath.Dir(top) {
		if paths.Inside(top, m.Home) || paths.Inside(top, m.State) {
			return
		}
		if !isRepository(filepath.Join(top, ".git")) {
			continue
		}
		if d := m.Ask(obstat.FaceRead, filepath.Join(top, neutral)); !refuses(&d) {
			m.root, m.out.Git = top, filepath.Join(top, ".git")
		}
		return
	}
}

// isRepository tells whether a path is the directory of a repository, or the file of a worktree.
func isRepository(git string) bool {
	info, err := os.Lstat(git)
	if err != nil || info.Mode().IsRegular() {
		return err == nil
	}
	return !slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(git, name))
		return err != nil
	})
}

// worktree shows a linked worktree, or a submodule, the repository that it belongs to, in a layer of its own where
// there are layers: the file `.git` says `gitdir: /p/.git/worktrees/x`. An agent may have written that file, so
// that it counts only where it leads to a repository that leads back.
func (m *maker) worktree() error {
	file := filepath.Join(m.root, ".git")
	text, err := readSmall(file)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(m.root, dir)
	}
	dir = realOf(dir)
	at := strings.LastIndex(dir, "/.git/")
	if at < 0 || paths.Inside(m.root, dir) {
		return nil
	}
	git := dir[:at] + "/.git"
	if paths.Inside(git, m.Home) || !m.leadsBack(dir) {
		return nil
	}
	if d := m.Ask(obstat.FaceRead, filepath.Join(git, neutral)); refuses(&d) {
		return nil
	}
	p := m.profile()
	p.Read = append(p.Read, git)
	if p.Workspace.Mode != confine.Overlay || confine.Layered(git) != nil {
		return nil
	}
	m.out.Git = git
	p.Workspace.More = append(p.Workspace.More, git)
	return m.keepNames(git)
}

// own returns the path by which a policy is asked about a change, and whether the path belongs to the workspace:
// the books of a repository around it, or of a worktree's, count as if they lay in the workspace's own `.git`.
func (b *Bounds) own(path string) (subject string, own bool) {
	switch {
	case b.Work == "" || paths.Inside(b.Work, path):
		return path, true
	case b.Git != "" && paths.Inside(b.Git, path):
		return filepath.Join(b.Work, ".git", strings.TrimPrefix(path, b.Git)), true
	}
	return path, false
}

// refusesChange tells whether the policy keeps code from writing or deleting a path, and returns its answer. base is
// the answer about any other name of the workspace; elsewhere, a rule has to allow the change.
func (b *Bounds) refusesChange(ask func(face, target string) obstat.Decision, face, path string,
	base *obstat.Decision) (obstat.Decision, bool) {
	subject, own := b.own(path)
	d := ask(face, subject)
	switch {
	case !own:
		return d, d.Verdict != obstat.Allow
	case refusesName(&d, base):
		return d, true
	case subject != path:
		// A rule about all that lies outside the workspace is not about its repository, any other one is.
		real, beside := ask(face, path), ask(face, filepath.Join(filepath.Dir(b.Git), neutral))
		return real, refusesName(&real, base) && (real.Verdict == obstat.Deny || !sameRule(&real, &beside))
	}
	return d, false
}
