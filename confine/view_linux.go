package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// privateDirs are empty and private in every full run unless a tree names them.
var privateDirs = []string{"/tmp", "/var/tmp", "/dev/shm"}

// devices are the nodes that a private /dev has.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

const resolvConf = "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n"

// full builds the mounts and rules of level full.
func (v *viewer) full() error {
	v.baseMounts()
	v.treeMounts()
	v.hideNames()
	v.protectNames()
	if err := v.sockets(); err != nil {
		return err
	}
	v.lateSockets()
	v.resolverFiles()
	v.linkMounts()
	v.fullRules()
	return nil
}

// add appends a mount. Its mount point is made where it lies in memory, and never on the host:
// a mount point made there would stay behind as an empty file.
func (v *viewer) add(m mount) {
	around := v.enclosing(m.To)
	m.Make = around == nil || !around.isHost()
	v.mounts = append(v.mounts, m)
}

// baseMounts has the root and the directories that are private to each run.
func (v *viewer) baseMounts() {
	if r, ok := v.trees["/"]; ok {
		v.add(mount{Kind: mountTree, From: "/", To: "/", ReadOnly: r&(mayWrite|mayDelete) == 0, NoExec: r&mayExecute == 0})
	} else {
		v.add(mount{Kind: mountTmpfs, To: "/", Size: 64 << 20, ReadOnly: true})
	}
	v.add(mount{Kind: mountProc, To: "/proc", ReadOnly: true})
	v.add(mount{Kind: mountTmpfs, To: "/dev", Size: 1 << 20, ReadOnly: true})
	for _, name := range devices {
		v.add(mount{Kind: mountTree, From: "/dev/" + name, To: "/dev/" + name, Dev: true, NoExec: true, Optional: true})
	}
	v.add(mount{Kind: mountDevpts, To: "/dev/pts"})
	for at, target := range map[string]string{"/dev/ptmx": "pts/ptmx", "/dev/fd": "/proc/self/fd",
		"/dev/stdin":  "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		v.add(mount{Kind: makeLink, To: at, Data: target})
	}
	if _, ok := v.trees["/run"]; !ok {
		v.add(mount{Kind: mountTmpfs, To: "/run", Size: 16 << 20, ReadOnly: true})
	}
	for _, dir := range privateDirs {
		if _, ok := v.trees[dir]; ok {
			continue
		}
		if info, err := os.Lstat(dir); v.trees["/"] != 0 && (err != nil || !info.IsDir()) {
			continue // no mount point, and a link leads to one of the others
		}
		if v.temp != "" && dir == "/tmp" {
			v.add(mount{Kind: mountTree, From: v.temp, To: dir, Own: true})
			continue
		}
		v.add(mount{Kind: mountTmpfs, To: dir, Size: v.p.Limits.Temp})
	}
}

// treeMounts shows the trees, outer ones first. A tree inside another with the same rights
// needs no mount.
func (v *viewer) treeMounts() {
	for _, tree := range v.sortedTrees() {
		if isBelow(tree, "/proc") || isBelow(tree, "/dev") {
			continue // always a run's own
		}
		r := v.rightsOf(tree)
		m := mount{Kind: mountTree, From: tree, To: tree, ReadOnly: r&(mayWrite|mayDelete) == 0, NoExec: r&mayExecute == 0}
		if l := v.layerOf(tree); l != nil {
			m = mount{Kind: mountOverlay, From: tree, To: tree, Upper: l.upper, Work: l.work, Mask: l.mask,
				Between: v.between(tree), NoExec: m.NoExec}
		} else if slices.ContainsFunc(v.layers, func(l *layers) bool { return isBelow(tree, l.root) }) {
			continue // a layer holds its directory whole
		}
		if around := v.enclosing(tree); around != nil && around.To == tree && around.Kind == mountTree &&
			m.Kind == mountTree {
			continue // the root
		} else if around != nil && around.isHost() && m.Kind == mountTree && sameAccess(*around, m) {
			continue
		}
		v.add(m)
	}
}

// between is the temporary directory of the session, where others that stay in the background have left something
// in theirs: it lies above the machine's.
func (v *viewer) between(tree string) string {
	if tree != "/tmp" || v.temp == "" {
		return ""
	}
	if entries, err := os.ReadDir(v.temp); err != nil || len(entries) == 0 {
		return ""
	}
	return v.temp
}

func sameAccess(a, b mount) bool {
	return a.Kind == mountTree && a.ReadOnly == b.ReadOnly && a.NoExec == b.NoExec
}

// hideNames takes hidden names out of the view. In a tree that is not written, their directory
// is shown again through a layer of whiteouts, which hides the name whatever is put there later
// and makes sockets in that directory dead. Where a tree is written through, that layer would
// catch the writes, so that the name is covered instead.
func (v *viewer) hideNames() {
	byDir := map[string][]string{}
	for _, name := range v.hidden {
		switch around := v.enclosing(name); {
		case around == nil || !around.isHost() || around.Kind == mountOverlay:
		case !around.ReadOnly:
			v.cover(name)
		default:
			if dir := filepath.Dir(name); isDir(dir) {
				byDir[dir] = append(byDir[dir], filepath.Base(name))
			}
		}
	}
	var hides []mount
	for dir, names := range byDir {
		around := v.enclosing(dir)
		slices.Sort(names)
		hides = append(hides, mount{Kind: mountHide, From: dir, To: dir, Names: slices.Compact(names), ReadOnly: true,
			NoExec: around.NoExec})
	}
	if len(hides) == 0 {
		return
	}
	// A layer over a directory covers the mounts below it, so that all are made in order of depth.
	v.mounts = append(v.mounts, hides...)
	slices.SortStableFunc(v.mounts, func(a, b mount) int {
		if a.To == b.To {
			return 0
		}
		return byDepth(a.To, b.To)
	})
}

// cover puts an empty file or directory over a name that exists, and pins the directories
// above it: otherwise `mv .git x; mkdir .git` would make room for a new one.
func (v *viewer) cover(name string) {
	info, err := os.Lstat(name)
	if err != nil {
		v.missing = append(v.missing, name)
		v.gap("hide "+name, "it does not exist yet, and names that are made later show in a tree that is written through")
		return
	}
	if info.Mode()&os.ModeSymlink != 0 {
		v.gap("hide the link "+name,
			"a link cannot be covered where a tree is written through; the file it leads to is hidden")
		return
	}
	v.pin(filepath.Dir(name))
	data := "file"
	if info.IsDir() {
		data = "dir"
	}
	v.mounts = append(v.mounts, mount{Kind: mountMask, To: name, Data: data, ReadOnly: true, NoExec: true})
}

// pin mounts the directories from a tree's top down to dir on themselves, since a mount point
// can be neither renamed nor removed.
func (v *viewer) pin(dir string) {
	around := v.enclosing(dir)
	if around == nil || around.Kind != mountTree || around.To == dir {
		return
	}
	v.pin(filepath.Dir(dir))
	around = v.enclosing(dir)
	v.mounts = append(v.mounts, mount{Kind: mountTree, From: dir, To: dir, ReadOnly: around.ReadOnly,
		NoExec: around.NoExec})
}

// protectNames makes ReadOnly names read-only. In an overlay those that do not exist yet are refused when the
// changes are judged, and so are ways around the others: `mv .git x; mkdir .git`.
func (v *viewer) protectNames() {
	for _, given := range v.p.ReadOnly {
		for _, name := range v.names(given) {
			around := v.enclosing(name)
			if around == nil || !around.isHost() || around.ReadOnly {
				continue
			}
			info, err := os.Lstat(name)
			if around.Kind == mountOverlay {
				if err == nil && info.Mode()&os.ModeSymlink == 0 && !v.isHidden(name) {
					v.mounts = append(v.mounts, mount{Kind: mountKeep, To: name, ReadOnly: true, NoExec: around.NoExec})
				}
				continue
			}
			if err != nil {
				v.missing = append(v.missing, name)
				v.gap("keep "+name+" unchanged", "it does not exist yet, and a tree that is written through lets it be made")
				continue
			}
			v.pin(filepath.Dir(name))
			if info.Mode()&os.ModeSymlink != 0 {
				v.gap("keep the link "+name, "a link can be replaced where a tree is written through; the file it leads to is kept")
				continue
			}
			v.mounts = append(v.mounts, mount{Kind: mountTree, From: name, To: name, ReadOnly: true, NoExec: around.NoExec})
		}
	}
}

// sockets shows the allowed ones and covers others that are bound below a visible tree.
func (v *viewer) sockets() error {
	allowed := map[string]bool{}
	for _, path := range v.p.Sockets {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // not there: nothing to reach
		}
		allowed[real] = true
		v.noteLinks(path)
		v.add(mount{Kind: mountTree, From: real, To: real, NoExec: true})
	}
	bound, err := boundSockets()
	if err != nil {
		return fmt.Errorf("confine: which sockets are there: %w", err)
	}
	for _, path := range bound {
		around := v.enclosing(path)
		if allowed[path] || around == nil || around.Kind != mountTree {
			continue
		}
		v.mounts = append(v.mounts, mount{Kind: mountMask, To: path, Data: "file", Optional: true, ReadOnly: true,
			NoExec: true})
	}
	return nil
}

// lateSockets tells where sockets that are made during the run can be reached: in trees of the
// user's own that are shown as they are. The system's trees hold none.
func (v *viewer) lateSockets() {
	if landlockABI() >= socketABI {
		return
	}
	told := slices.Clone(systemTrees)
	for _, m := range v.mounts {
		if m.Kind != mountTree || m.Own || m.Dev || v.enclosing(m.To).Kind != mountTree || below(m.To, told) {
			continue
		}
		if isDir(m.To) && unix.Access(m.To, unix.W_OK) == nil {
			told = append(told, m.To)
		}
	}
	if own := told[len(systemTrees):]; len(own) > 0 {
		v.gap("unix sockets made during the run, or renamed since they were bound, below "+strings.Join(own, ", "),
			"Landlock before ABI 9 does not cover them, and no layer lies there")
	}
}

// boundSockets lists the unix sockets of this machine that have a path.
func boundSockets() ([]string, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		at := strings.Index(line, " /")
		if at < 0 {
			continue
		}
		path := strings.TrimSuffix(line[at+1:], "\n")
		if real, err := filepath.EvalSymlinks(path); err == nil {
			out = append(out, real)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// resolverFiles names the name server of the run, and nothing else.
func (v *viewer) resolverFiles() {
	host, _ := os.Hostname()
	hosts := "127.0.0.1 localhost " + host + "\n::1 localhost ip6-localhost\n"
	for path, data := range map[string]string{"/etc/resolv.conf": resolvConf, "/etc/hosts": hosts} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			if target, lerr := os.Readlink(path); lerr == nil {
				real = filepath.Join("/etc", target)
				if filepath.IsAbs(target) {
					real = target
				}
			} else {
				real = path
			}
		}
		around := v.enclosing(real)
		if around.isHost() && err != nil {
			continue // no mount point; resolvers then ask 127.0.0.1
		}
		v.add(mount{Kind: mountFile, To: real, Data: data, ReadOnly: true, NoExec: true})
		v.rules = append(v.rules, rule{real, mayRead})
	}
}

// linkMounts makes the links that lead to trees, where the place lies in memory.
func (v *viewer) linkMounts() {
	for at, target := range v.links {
		if around := v.enclosing(at); around == nil || !around.isHost() {
			v.mounts = append(v.mounts, mount{Kind: makeLink, To: at, Data: target})
		}
	}
}

func (v *viewer) fullRules() {
	for _, tree := range v.sortedTrees() {
		r := v.trees[tree]
		if r&mayRead != 0 && r&(mayWrite|mayDelete) != 0 {
			r |= mayIoctl
		}
		v.rules = append(v.rules, rule{tree, r})
	}
	for _, path := range v.p.Sockets {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			v.rules = append(v.rules, rule{real, mayRead | mayWrite})
		}
	}
	if v.allReadable() {
		v.rules = append(v.rules, rule{"/", mayList}) // only visible things are there
	}
	v.rules = append(v.rules, rule{"/proc", mayRead}, rule{"/dev", mayRead | mayWrite | mayIoctl}, rule{"/run", mayRead})
	for _, dir := range privateDirs {
		if _, ok := v.trees[dir]; !ok {
			v.rules = append(v.rules, rule{dir, mayAll})
		}
	}
}

// allReadable reports whether each visible tree may be read, so that listing gives nothing away.
func (v *viewer) allReadable() bool {
	for tree := range v.trees {
		if v.rightsOf(tree)&mayRead == 0 {
			return false
		}
	}
	return true
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
