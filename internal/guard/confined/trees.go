package confined

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

//go:embed toolchains.txt
var toolchainsText string

// A toolchain is a line of toolchains.txt.
type toolchain struct {
	kind, dir, program string
}

var toolchains = sync.OnceValue(func() (out []toolchain) {
	for line := range strings.Lines(toolchainsText) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			out = append(out, toolchain{words[0], words[1], strings.Join(words[2:], "")})
		}
	}
	return out
})

// system adds the trees of the system's programs. A policy that keeps files outside the workspace
// from an agent does not mean the libraries of its compiler; names inside /etc are looked at. Files there that not
// everybody may read are secrets to a command of root, who owns them.
func (m *maker) system() error {
	p := m.profile()
	for _, dir := range confine.SystemTrees() {
		p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
	}
	if err := m.look("/etc", obstat.FaceRead, 3); err != nil || os.Geteuid() != 0 {
		return err
	}
	for _, dir := range []string{"/etc", "/usr/local/etc"} {
		// Not remembered: a file's mode changes without its directory's time.
		found, err := newMemory("", "").walk(dir, "root", 8, maxNames, func(name string, isDir bool) bool {
			return !isLink(name) && !open(name, isDir)
		}, nil)
		if err != nil {
			return unfit("%s: %v", dir, err)
		}
		p.Hidden = append(p.Hidden, found...)
	}
	return nil
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// open tells whether everybody on the machine may read a file of the system, such as a certificate:
// then it is no secret.
func open(name string, isDir bool) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().Perm()&0o004 != 0 && (!isDir || info.Mode().Perm()&0o001 != 0)
}

// toolchains adds the trees of toolchains.txt that exist, unless a rule is about one of them.
func (m *maker) toolchains() error {
	p := m.profile()
	for _, t := range toolchains() {
		dir, ok := m.place(t.dir)
		if !ok {
			continue
		}
		switch t.kind {
		case "private":
			if m.visible(dir) {
				p.Hidden = append(p.Hidden, dir)
			}
			continue
		case "keep":
			m.keepTree(dir)
			continue
		case "scratch":
			m.scratch(dir, t.program)
			continue
		}
		if _, err := os.Stat(dir); err != nil {
			if t.kind == "tools" || !m.makes(t.program) {
				continue
			}
			m.out.Make = append(m.out.Make, dir+"/")
		}
		if m.about(obstat.FaceRead, dir) {
			p.Hidden = append(p.Hidden, dir)
			continue
		}
		p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
		if t.kind != "tools" && !m.about(obstat.FaceWrite, dir) {
			p.Write, p.Delete = append(p.Write, dir), append(p.Delete, dir)
		}
		if t.kind != "store" {
			if err := m.look(dir, obstat.FaceRead, 2); err != nil {
				return err
			}
		}
	}
	m.gap("what package managers and compilers keep in their caches",
		"confined commands write it, and one that a rule lets run unconfined may use it")
	return m.onPath()
}

// keepTree lets a tree inside a cache stay as it is.
func (m *maker) keepTree(dir string) {
	p := m.profile()
	if !m.visible(dir) || !slices.ContainsFunc(p.Write, func(tree string) bool { return paths.Inside(tree, dir) }) {
		return
	}
	p.ReadOnly = append(p.ReadOnly, dir)
}

// scratch gives a run a directory to itself: it sees the files that are there, and what it changes is dropped. Without
// layers the directory is read alone.
func (m *maker) scratch(dir, program string) {
	p := m.profile()
	if p.Workspace.Mode != confine.Overlay {
		m.keepTree(dir)
		return
	}
	if !m.visible(dir) {
		if !m.makes(program) || !m.visible(filepath.Dir(filepath.Dir(dir))) {
			return
		}
		m.out.Make = append(m.out.Make, dir+"/")
	}
	p.Workspace.More, m.out.Scratch = append(p.Workspace.More, dir), append(m.out.Scratch, dir)
	p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
}

// onPath adds the directories of PATH, so that programs are found where the user keeps them. None is written: others
// run the programs in it, outside.
func (m *maker) onPath() error {
	p := m.profile()
	for _, dir := range filepath.SplitList(m.Getenv("PATH")) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) || !m.apart(realOf(dir)) {
			continue
		}
		dir = filepath.Clean(dir)
		if around := installed(dir); around != "" && m.apart(realOf(around)) {
			dir = around
		}
		if !m.about(obstat.FaceRead, dir) {
			p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
			m.keepTree(dir)
		}
	}
	return nil
}

// installed returns the directory of an installation whose programs lie in dir and lead to files beside it, "" for
// none: `node_modules` of `node_modules/.bin`, a virtual environment.
func installed(dir string) string {
	around := filepath.Dir(dir)
	if filepath.Base(dir) == ".bin" && filepath.Base(around) == "node_modules" {
		return around
	}
	if _, err := os.Stat(filepath.Join(around, "pyvenv.cfg")); err == nil && filepath.Base(dir) == "bin" {
		return around
	}
	return ""
}

// apart tells whether a directory that a variable names cannot be meant for something else: it is
// neither around the home or the workspace, nor does it hold secrets.
func (m *maker) apart(real string) bool {
	for _, around := range []string{m.Home, m.root, m.State} {
		if around == "" || paths.Inside(real, around) {
			return false
		}
	}
	_, secret := paths.Sensitive(real)
	_, holds := paths.SensitiveBelow(real)
	return !secret && !holds
}

// makes tells whether the call runs a program that would make its cache by itself.
func (m *maker) makes(program string) bool {
	return program == "-" || program != "" && slices.ContainsFunc(m.Analysis.Commands, func(c effect.Command) bool {
		return c.Program == program
	})
}

// place returns the directory of a line.
func (m *maker) place(dir string) (string, bool) {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		return filepath.Join(m.Home, rest), filepath.IsAbs(m.Home)
	}
	name, rest, _ := strings.Cut(dir, "/")
	variable, ok := strings.CutPrefix(name, "$")
	if !ok {
		return dir, true
	}
	at := filepath.Clean(m.Getenv(variable))
	if !filepath.IsAbs(at) || m.Getenv(variable) == "" {
		return "", false
	}
	at = filepath.Join(at, rest)
	return at, m.apart(realOf(at))
}

// about tells whether a rule refuses a tree in particular. One about all that lies outside the
// workspace, or in the home, is not meant for a compiler's own files.
func (m *maker) about(face, dir string) bool {
	for _, at := range []string{dir, filepath.Join(dir, neutral)} {
		d := m.Ask(face, at)
		if written := d.Rule != nil && d.Rule.Pos.IsValid(); !refuses(&d) || !written && d.Verdict == obstat.Ask {
			continue // a check of the agent's own is not about a compiler's files
		}
		wide := false
		for _, around := range []string{"/", m.Home} {
			o := m.Ask(face, filepath.Join(around, neutral, neutral))
			wide = wide || sameRule(&d, &o)
		}
		if !wide {
			return true
		}
	}
	return false
}

// extra adds the trees that the word `confine:` names. Rules about them count in full.
func (m *maker) extra() error {
	p := m.profile()
	for _, tree := range slices.Concat(m.Wish.Read, m.Wish.Write) {
		dir, ok := m.place(tree)
		if _, err := os.Stat(dir); !ok || err != nil {
			continue
		}
		if m.about(obstat.FaceRead, dir) || paths.Inside(realOf(dir), m.State) {
			continue
		}
		p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
		if err := m.look(dir, obstat.FaceRead, 64); err != nil {
			return err
		}
		if !slices.Contains(m.Wish.Write, tree) || m.about(obstat.FaceWrite, dir) {
			continue
		}
		p.Write, p.Delete = append(p.Write, dir), append(p.Delete, dir)
		if err := m.look(dir, obstat.FaceWrite, 64); err != nil {
			return err
		}
	}
	return nil
}

// look asks about the names inside a tree, to a depth, and hides or keeps those that a rule
// refuses in particular.
func (m *maker) look(dir, face string, depth int) error {
	p := m.profile()
	base := m.Ask(face, filepath.Join(dir, neutral))
	found, err := m.memo.walk(dir, face, depth, maxNames, func(name string, isDir bool) bool {
		if face == obstat.FaceWrite && m.Guards(name) != "" {
			return true
		}
		d := m.Ask(face, name)
		return refuses(&d) && !sameRule(&d, &base) && (dir != "/etc" || !open(name, isDir))
	}, m.skip)
	if err != nil {
		return unfit("%s: %v", dir, err)
	}
	if face == obstat.FaceRead {
		p.Hidden = append(p.Hidden, found...)
	} else {
		p.ReadOnly = append(p.ReadOnly, found...)
	}
	return nil
}

// skip tells whether a directory is a package store, whose names are not looked at.
func (m *maker) skip(dir string) bool {
	if m.stores == nil {
		m.stores = map[string]bool{}
		for _, t := range toolchains() {
			if at, ok := m.place(t.dir); ok && t.kind == "store" {
				m.stores[at] = true
			}
		}
	}
	return m.stores[dir]
}
