package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rights are the things that a tree allows.
type rights uint8

const (
	mayRead rights = 1 << iota
	mayWrite
	mayDelete
	mayExecute
	mayIoctl
	mayList // directories, not files
	mayAll  = mayRead | mayWrite | mayDelete | mayExecute | mayIoctl
)

// A plan is a Profile turned into the steps that the process inside takes: mounts in order,
// then Landlock rules, then the command. It travels there as JSON.
type plan struct {
	Level     Level
	Probe     bool `json:",omitempty"`
	Sim       simulation
	Mounts    []mount
	Rules     []rule
	NoInet    bool
	NoUnix    bool
	Notify    bool
	Owners    bool
	Limits    Limits
	Keep      bool
	Args      []string
	Dir       string
	Env       []string
	Addresses []string // literal addresses among the allowed hosts
}

type rule struct {
	Path   string
	Rights rights
}

// mountKind says how one mount of a plan is made.
type mountKind string

const (
	mountTree    mountKind = "tree"    // the host's tree From, recursively
	mountTmpfs   mountKind = "tmpfs"   // an empty file system in memory
	mountProc    mountKind = "proc"    // the processes of this run
	mountDevpts  mountKind = "devpts"  // its own terminals
	mountOverlay mountKind = "overlay" // From below, Upper and Work above
	mountHide    mountKind = "hide"    // From again, read-only, without Names
	mountMask    mountKind = "mask"    // an empty file or directory in place of To
	mountFile    mountKind = "file"    // a file with the contents Data
	mountKeep    mountKind = "keep"    // To on itself, read-only
	makeLink     mountKind = "link"    // a symbolic link to Data
)

type mount struct {
	Kind     mountKind
	To       string
	From     string   `json:",omitempty"`
	Upper    string   `json:",omitempty"`
	Work     string   `json:",omitempty"`
	Mask     string   `json:",omitempty"` // a layer of whiteouts on the host
	Between  string   `json:",omitempty"` // another layer, above From
	Names    []string `json:",omitempty"`
	Data     string   `json:",omitempty"`
	Size     int64    `json:",omitempty"`
	ReadOnly bool     `json:",omitempty"`
	NoExec   bool     `json:",omitempty"`
	Dev      bool     `json:",omitempty"`
	Own      bool     `json:",omitempty"` // obstat's own directory, in which mount points may be made
	Make     bool     `json:",omitempty"` // the mount point lies in memory and is made
	Optional bool     `json:",omitempty"` // left out, and told, where it cannot be made
	Gap      string   `json:",omitempty"` // told where an Optional mount is left out

	clone int // descriptor of the copied tree, in the process inside
}

// isHost reports whether a mount shows a part of the machine's own tree under its own name.
func (m mount) isHost() bool {
	return m.Kind == mountTree && !m.Own || m.Kind == mountOverlay || m.Kind == mountHide
}

// A viewer builds the mounts and rules of a Profile.
type viewer struct {
	p       Profile
	trees   map[string]rights // by real path
	links   map[string]string
	hidden  []string // real paths, and names that do not exist
	mounts  []mount
	rules   []rule
	gaps    []Gap
	missing []string  // protected names that do not exist yet, in trees written through
	root    string    // real path of the workspace
	layers  []*layers // the workspace's, then those of Workspace.More
	more    []string  // real paths of Workspace.More
	temp    string    // on the host, shown as /tmp to all runs of a session
}

func newViewer(p Profile) *viewer {
	v := &viewer{p: p, trees: map[string]rights{}, links: map[string]string{}}
	for _, name := range p.Hidden {
		v.hidden = append(v.hidden, v.names(name)...)
	}
	if p.Workspace.Mode == Overlay {
		// The command reaches its layers through the workspace alone.
		v.hidden = append(v.hidden, v.names(p.Workspace.State)...)
	}
	add := func(list []string, r rights) {
		for _, path := range list {
			v.addTree(path, r)
		}
	}
	add(p.Read, mayRead)
	add(p.Write, mayWrite)
	add(p.Delete, mayDelete)
	add(p.Execute, mayExecute)
	if p.Workspace.Mode != "" {
		v.root = v.addTree(p.Workspace.Root, mayRead|mayWrite|mayDelete)
	}
	for _, dir := range p.Workspace.More {
		if err := Layered(dir); err != nil {
			v.gap("show "+dir, err.Error()+"; it is private or left out")
		} else if real := v.addTree(dir, mayRead|mayWrite|mayDelete); real != "" && real != v.root {
			v.more = append(v.more, real)
		}
	}
	return v
}

// layerOf returns the layer that begins at a directory, nil for none.
func (v *viewer) layerOf(dir string) *layers {
	for _, l := range v.layers {
		if l.root == dir {
			return l
		}
	}
	return nil
}

// names returns a protected name with its links resolved as far as they exist: the name in its
// real directory, and the file that it leads to.
func (v *viewer) names(name string) []string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return []string{name}
	}
	out := []string{filepath.Join(dir, filepath.Base(name))}
	if real, err := filepath.EvalSymlinks(name); err == nil && real != out[0] {
		out = append(out, real)
	}
	return out
}

// addTree gives rights to the real path of a tree and notes the links on the way. Trees that
// do not exist, or lie below a hidden name, are left out.
func (v *viewer) addTree(path string, r rights) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || v.isHidden(real) {
		return ""
	}
	if v.p.Workspace.Mode != "" && path == v.p.Workspace.Root {
		real = path // a link in its place, put there since it was looked at, is an error where it is opened
	}
	v.noteLinks(path)
	v.trees[real] |= r
	return real
}

func (v *viewer) isHidden(path string) bool {
	return slices.ContainsFunc(v.hidden, func(h string) bool { return isBelow(path, h) })
}

// noteLinks remembers the symbolic links of a path, so that `/bin` leads to `usr/bin` inside too.
func (v *viewer) noteLinks(path string) {
	for range 40 {
		dir := "/"
		again := ""
		rest := strings.Split(strings.TrimPrefix(path, "/"), "/")
		for i, name := range rest {
			at := filepath.Join(dir, name)
			target, err := os.Readlink(at)
			if err != nil {
				dir = at
				continue
			}
			v.links[at] = target
			if !filepath.IsAbs(target) {
				target = filepath.Join(dir, target)
			}
			again = filepath.Join(append([]string{target}, rest[i+1:]...)...)
			break
		}
		if again == "" {
			return
		}
		path = again
	}
}

// rightsOf unites the rights of all trees that hold a path.
func (v *viewer) rightsOf(path string) (r rights) {
	for tree, has := range v.trees {
		if isBelow(path, tree) {
			r |= has
		}
	}
	return r
}

// enclosing returns the last mount that a path lies in, nil for none.
func (v *viewer) enclosing(path string) *mount {
	best := -1
	for i, m := range v.mounts {
		if m.Kind == makeLink || !isBelow(path, m.To) {
			continue
		}
		if best < 0 || len(m.To) >= len(v.mounts[best].To) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &v.mounts[best]
}

func (v *viewer) gap(what, why string) { v.gaps = append(v.gaps, Gap{what, why}) }

// sortedTrees returns the trees, outer ones first.
func (v *viewer) sortedTrees() []string {
	var out []string
	for tree := range v.trees {
		out = append(out, tree)
	}
	slices.SortFunc(out, byDepth)
	return out
}

func byDepth(a, b string) int {
	if d := depth(a) - depth(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func depth(path string) int {
	if path == "/" {
		return 0
	}
	return strings.Count(path, "/")
}
