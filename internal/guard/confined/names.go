package confined

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// maxNames bounds the names of a tree that are asked about, and maxRefused those that are kept
// apart in one.
const (
	maxNames   = 400_000
	maxRefused = 2_000
)

// A memory keeps the answers about the names of trees: looking again asks only about directories
// whose time has changed. It belongs to one policy in one set of circumstances.
type memory struct {
	file  string // "" forgets
	Trees map[string]map[string]dirNames
	fresh bool
	asked int // about names, in this run
}

// dirNames is a directory as it was read: its time, the directories in it and the names that were
// refused.
type dirNames struct {
	Time    int64    `json:"t"`
	Dirs    []string `json:"d,omitempty"`
	Refused []string `json:"r,omitempty"`
	All     bool     `json:"a,omitempty"` // every name in it was refused
	// Files are the others, in a directory that changes all the time: these and Dirs are not asked about again.
	Files []string `json:"f,omitempty"`
}

// isText tells whether all names are UTF-8.
func (d *dirNames) isText() bool {
	return !slices.ContainsFunc(slices.Concat(d.Dirs, d.Refused, d.Files), func(name string) bool {
		return !utf8.ValidString(name)
	})
}

func newMemory(state, key string) *memory {
	m := &memory{Trees: map[string]map[string]dirNames{}}
	if state == "" || key == "" {
		return m
	}
	sum := sha256.Sum256([]byte(key))
	m.file = filepath.Join(state, "confined", "names-"+hex.EncodeToString(sum[:12])+".json")
	if text, err := os.ReadFile(m.file); err == nil && json.Unmarshal(text, &m.Trees) != nil {
		m.Trees = map[string]map[string]dirNames{}
	}
	return m
}

// save keeps the memory for the next call. That it cannot be kept costs time and nothing else.
func (m *memory) save() {
	if m.file == "" || !m.fresh {
		return
	}
	text, err := json.Marshal(m.Trees)
	if err != nil || os.MkdirAll(filepath.Dir(m.file), 0o700) != nil {
		return
	}
	_ = statedir.Replace(m.file, text)
}

// isLarge tells whether a directory has had too many names; large notes that.
func (m *memory) isLarge(dir string) bool {
	_, ok := m.Trees["large"][dir]
	return ok
}

func (m *memory) large(dir string) {
	if m.Trees["large"] == nil {
		m.Trees["large"] = map[string]dirNames{}
	}
	m.Trees["large"][dir], m.fresh = dirNames{}, true
}

// forget drops the answers about entries of a directory that are gone.
func (m *memory) forget(dir string, entries []os.DirEntry) {
	has := map[string]bool{}
	for _, e := range entries {
		has[e.Name()] = true
	}
	gone := func(name string) bool {
		rest, below := strings.CutPrefix(name, dir+"/")
		first, _, _ := strings.Cut(rest, "/")
		return below && !has[first]
	}
	for id := range m.Trees {
		if _, root, _ := strings.Cut(id, " "); gone(root) {
			delete(m.Trees, id)
			m.fresh = true
		}
	}
	for name := range m.Trees["large"] {
		if gone(name) {
			delete(m.Trees["large"], name)
		}
	}
}

// A nameWalk is one walk through a tree.
type nameWalk struct {
	root   string
	old    map[string]dirNames
	now    map[string]dirNames
	match  func(name string, isDir bool) bool
	skip   func(dir string) bool
	found  []string
	asked  int
	most   int  // names to ask about
	missed bool // something was not remembered
	busy   bool // the directory changes all the time
}

var errTooMany = errors.New("it has too many names to ask the policy about")

// walk returns the names below root that match, down to a depth. A directory that matches is not
// looked into; of one whose names all match, the directory is returned.
func (m *memory) walk(root, face string, depth, most int, match func(string, bool) bool,
	skip func(string) bool) ([]string, error) {
	id := face + " " + root
	w := &nameWalk{root: root, most: most, busy: most == maxTop,
		old: m.Trees[id], now: map[string]dirNames{}, match: match, skip: skip}
	err := w.visit(root, depth)
	if m.asked += w.asked; err != nil {
		return nil, err
	}
	if w.missed || len(w.now) != len(w.old) {
		m.Trees[id], m.fresh = w.now, true
	}
	if len(w.found) > maxRefused {
		return nil, errTooMany
	}
	slices.Sort(w.found)
	return w.found, nil
}

func (w *nameWalk) visit(dir string, depth int) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil // it holds nothing that the same user could read
	}
	rel := strings.TrimPrefix(dir, w.root)
	now := changeTime(info) // a command can set the other time back
	d, ok := w.old[rel]
	if !ok || d.Time != now || now == 0 {
		w.missed = true
		if d, err = w.read(dir, d); errors.Is(err, errTooMany) {
			return err
		} else if err != nil {
			return nil // nor does this
		}
		if d.Time = now; time.Since(time.Unix(0, now)) < time.Second || !d.isText() {
			d.Time = 0 // it may change again without a new time, or JSON would keep other names
		}
	}
	w.now[rel] = d
	if d.All && dir != w.root {
		w.found = append(w.found, dir)
		return nil
	}
	for _, name := range d.Refused {
		w.found = append(w.found, filepath.Join(dir, name))
	}
	if depth <= 1 {
		return nil
	}
	for _, name := range d.Dirs {
		at := filepath.Join(dir, name)
		if w.skip != nil && w.skip(at) {
			continue
		}
		if err := w.visit(at, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// read asks about the names in a directory, was is how it was before.
func (w *nameWalk) read(dir string, was dirNames) (out dirNames, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out, err
	}
	known := map[string]fs.FileMode{} // a link is never known: it might lead elsewhere by now
	if w.busy {
		for _, name := range was.Files {
			known[name] = 0
		}
		for _, name := range was.Dirs {
			known[name] = fs.ModeDir
		}
	}
	for _, e := range entries {
		if kind, ok := known[e.Name()]; !ok || kind != e.Type() {
			if w.asked >= w.most {
				return out, errTooMany
			}
			w.asked++
			if w.match(filepath.Join(dir, e.Name()), e.IsDir()) {
				out.Refused = append(out.Refused, e.Name())
				continue
			}
		}
		switch {
		case e.IsDir():
			out.Dirs = append(out.Dirs, e.Name())
		case w.busy && e.Type().IsRegular():
			out.Files = append(out.Files, e.Name())
		}
	}
	out.All = len(entries) > 1 && len(out.Refused) == len(entries) && w.match(filepath.Join(dir, neutral), false)
	return out, nil
}

// names asks about every name in the workspace: those that code may not read are hidden, unless git
// tracks them; those that it may not write are read-only.
func (m *maker) names() error {
	p := m.profile()
	hidden, err := m.memo.walk(m.root, obstat.FaceRead, 64, maxNames, func(name string, isDir bool) bool {
		d := m.Ask(obstat.FaceRead, name)
		return refuses(&d)
	}, isObjects)
	if err != nil {
		return unfit("the workspace %s: %v", m.root, err)
	}
	hidden, tracked := m.untracked(hidden)
	p.Hidden = append(p.Hidden, hidden...)
	if m.out.Tracked = tracked; len(tracked) > 0 {
		m.gap("hide "+strings.Join(tracked, ", "),
			"git tracks it, so that it is no secret of this machine, and `git show` prints it")
	}
	if p.Workspace.Mode != "" || slices.Contains(p.Write, m.work) {
		if err := m.keepNames(m.root); err != nil {
			return err
		}
	}
	if err := m.roots(); err != nil {
		return err
	}
	if err := m.temp(); err != nil {
		return err
	}
	m.memo.save()
	m.out.Root, m.out.AtOnce = m.root, p.Workspace.Mode == confine.Through || slices.Contains(p.Write, m.work)
	if m.out.AtOnce {
		m.out.Root = m.work
	}
	m.gap("hide names that others make in "+m.root+" during the run", "its names are looked at when the run begins")
	if m.out.AtOnce {
		if git := filepath.Join(m.root, ".git"); m.visible(git) {
			p.ReadOnly = append(p.ReadOnly, git)
		}
		m.gap("keep code from making names in "+m.work+" that a rule protects, such as .env",
			"it is written through; they are moved away when the command ends, not those that something in the "+
				"background makes later")
	}
	return nil
}

// keepNames makes the names below a directory read-only that code may not write.
func (m *maker) keepNames(dir string) error {
	p := m.profile()
	kept, err := m.memo.walk(dir, obstat.FaceWrite, 64, maxNames, func(name string, isDir bool) bool {
		if isDir && paths.Inside(name, m.work) && name != m.work {
			return false // on the way to the workspace
		}
		return m.Guards(name) != "" || runByGit(name, isDirectory) || m.keeps(name)
	}, isObjects)
	if err != nil {
		return unfit("the workspace %s: %v", dir, err)
	}
	for _, name := range kept {
		if at := strings.Index(name+"/", "/.git/"); at >= 0 && p.Workspace.Mode != confine.Overlay {
			name = name[:at] + "/.git" // whole: new names in it count at once
		}
		if !slices.ContainsFunc(p.Hidden, func(h string) bool { return paths.Inside(h, name) }) {
			p.ReadOnly = append(p.ReadOnly, name)
		}
	}
	return nil
}

// isObjects tells whether a directory is the store of a repository, whose names are digests.
func isObjects(dir string) bool {
	return filepath.Base(dir) == "objects" && filepath.Base(filepath.Dir(dir)) == ".git"
}

// keeps tells whether the policy refuses to write a name.
func (m *maker) keeps(name string) bool {
	_, refused := m.out.refusesChange(m.Ask, obstat.FaceWrite, name, &m.base)
	return refused
}

// untracked parts names into those that are this machine's own and those of which git's last commit has the same
// contents. That the index has a name does not count: `git add -f .env` puts it there.
func (m *maker) untracked(names []string) (out, tracked []string) {
	if _, err := os.Lstat(filepath.Join(m.root, ".git")); err != nil || len(names) == 0 {
		return names, nil
	}
	args := []string{"--literal-pathspecs", "ls-tree", "-z", "HEAD", "--"}
	for _, name := range names {
		args = append(args, strings.TrimPrefix(strings.TrimPrefix(name, m.root), "/"))
	}
	text, err := m.outside().git(m.root, args...)
	if err != nil {
		return names, nil // nothing is known to be tracked
	}
	blobs := map[string]string{}
	for entry := range strings.SplitSeq(text, "\x00") { // `100644 blob 3b18e5…\tconfig/.env`
		about, name, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(about); len(fields) == 3 && fields[1] == "blob" {
			blobs[filepath.Join(m.root, name)] = fields[2]
		}
	}
	for _, name := range names {
		if id := blobs[name]; id != "" && id == blobOf(name, len(id)) {
			tracked = append(tracked, name)
		} else {
			out = append(out, name)
		}
	}
	return out, tracked
}

// maxBlob bounds the files that are compared with git's.
const maxBlob = 16 << 20

// blobOf returns the name that git gives to the contents of a file, with as many digits as the repository's names
// have; "" for anything but a small plain file.
func blobOf(name string, digits int) string {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBlob {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	blob := append(fmt.Appendf(nil, "blob %d\x00", len(text)), text...)
	if digits == 2*sha256.Size {
		sum := sha256.Sum256(blob)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(blob)
	return hex.EncodeToString(sum[:])
}

// roots adds the other directories of the workspace, which are written through, and the repository
// that a worktree belongs to.
func (m *maker) roots() error {
	p := m.profile()
	for _, root := range m.Call.Roots {
		dir := realOf(root)
		if paths.Inside(m.root, dir) || paths.Inside(dir, m.root) || paths.Inside(dir, m.Home) {
			continue
		}
		if d := m.Ask(obstat.FaceRead, filepath.Join(dir, neutral)); refuses(&d) {
			continue
		}
		p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
		if err := m.look(dir, obstat.FaceRead, 64); err != nil {
			return err
		}
		if d := m.Ask(obstat.FaceWrite, filepath.Join(dir, neutral)); refuses(&d) {
			continue
		}
		p.Write = append(p.Write, dir)
		if d := m.Ask(obstat.FaceDelete, filepath.Join(dir, neutral)); !refuses(&d) {
			p.Delete = append(p.Delete, dir)
		}
		if err := m.look(dir, obstat.FaceWrite, 64); err != nil {
			return err
		}
	}
	return m.worktree()
}

// leadsBack tells whether a directory of a repository, of a worktree or of a submodule, names the workspace as its own.
func (m *maker) leadsBack(dir string) bool {
	if text, err := os.ReadFile(filepath.Join(dir, "gitdir")); err == nil {
		back := strings.TrimSpace(string(text))
		if !filepath.IsAbs(back) {
			back = filepath.Join(dir, back)
		}
		return realOf(filepath.Dir(back)) == m.root
	}
	text, err := m.outside().git(dir, "config", "--file", filepath.Join(dir, "config"), "core.worktree")
	back := strings.TrimSpace(text)
	if err != nil || back == "" {
		return false
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(dir, back)
	}
	return realOf(back) == m.root
}

// toldTree is where the memory keeps what programs have told.
const toldTree = "told"

// told returns the answer of a program that was asked before.
func (m *memory) told(command, stamp string) (string, bool) {
	d, ok := m.Trees[toldTree][command]
	if !ok || len(d.Dirs) != 2 || d.Dirs[0] != stamp {
		return "", false
	}
	return d.Dirs[1], true
}

func (m *memory) tell(command, stamp, text string) {
	if m.Trees[toldTree] == nil {
		m.Trees[toldTree] = map[string]dirNames{}
	}
	m.Trees[toldTree][command] = dirNames{Dirs: []string{stamp, text}}
	m.fresh = true
	m.save()
}

// short names a text by a few digits.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
