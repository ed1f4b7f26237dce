package confine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type unixStat = syscall.Stat_t

func changeTime(info fs.FileInfo) int64 {
	sys := info.Sys().(*unixStat)
	return sys.Ctim.Nano()
}

// differences lists the changes that the upper layer holds, directories before their contents,
// deletions after them.
func (l *layers) differences() ([]Change, error) {
	d := &differ{layers: l}
	err := d.dir("", true)
	if err == nil {
		d.pairMoves()
	}
	return d.out, err
}

// pairMoves finds the files that were only renamed, with their directory or alone. Programs copy where a layer
// cannot rename, so that contents are compared.
func (d *differ) pairMoves() {
	type shape struct {
		kind, target string
		size         int64
	}
	gone := map[shape][]*Change{}
	for i := range d.out {
		c := &d.out[i]
		if c.Kind == Deleted && (c.Type == "file" || c.Type == "link") {
			key := shape{c.Type, c.Target, c.Size}
			gone[key] = append(gone[key], c)
		}
	}
	for i := range d.out {
		c := &d.out[i]
		list := gone[shape{c.Type, c.Target, c.Size}]
		if c.Kind != Created || len(list) == 0 {
			continue
		}
		slices.SortStableFunc(list, func(a, b *Change) int { return likeness(b, c) - likeness(a, c) })
		for _, old := range list {
			if old.Moved == "" && d.sameFile(old, c) {
				old.Moved, c.Moved = c.Path, old.Path
				break
			}
		}
	}
}

// likeness is larger for a deleted file with the name of a new one.
func likeness(old, c *Change) int {
	if filepath.Base(old.rel) == filepath.Base(c.rel) {
		return 1
	}
	return 0
}

func (d *differ) sameFile(old, c *Change) bool {
	if c.Type == "link" {
		return old.Target == c.Target
	}
	up, err := os.Lstat(c.Layer)
	if err != nil {
		return false
	}
	low, err := os.Lstat(old.Path)
	if err != nil {
		return false
	}
	same, err := sameContents(c.Layer, old.Path, up, low)
	return same && err == nil
}

type differ struct {
	*layers
	out []Change
}

// dir compares one directory of the layer, which exists, with that of the workspace.
func (d *differ) dir(rel string, merged bool) error {
	entries, err := os.ReadDir(filepath.Join(d.upper, rel))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		seen[e.Name()] = true
		if err := d.entry(filepath.Join(rel, e.Name()), merged); err != nil {
			return err
		}
	}
	if !merged || xattr(filepath.Join(d.upper, rel), "user.overlay.opaque") != "y" {
		return nil
	}
	below, err := os.ReadDir(filepath.Join(d.root, rel))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range below {
		if !seen[e.Name()] {
			if err := d.deleted(filepath.Join(rel, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry compares one name of the layer.
func (d *differ) entry(rel string, merged bool) error {
	up, err := opened(filepath.Join(d.upper, rel))
	if err != nil {
		return err
	}
	var low fs.FileInfo
	if merged {
		if low, err = os.Lstat(filepath.Join(d.root, rel)); err != nil && !isAny(err, unix.ENOENT, unix.ENOTDIR) {
			return err
		}
	}
	if isWhiteout(filepath.Join(d.upper, rel)) {
		if low == nil {
			return nil
		}
		return d.deleted(rel)
	}
	c := d.change(rel, up, low)
	if low != nil && low.Mode().Type() != up.Mode().Type() {
		if err := d.deleted(rel); err != nil {
			return err
		}
		low, c.Kind, c.lower, c.origin = nil, Created, identity{}, false
	}
	if low != nil {
		if c.Kind, err = d.compare(rel, up, low); err != nil {
			return err
		}
	}
	if c.Kind != "" {
		d.out = append(d.out, c)
	}
	if up.IsDir() {
		return d.dir(rel, low != nil)
	}
	return nil
}

// opened returns an entry of the layer. A directory that its owner cannot look into (`chmod 000 d`) gets the rights for
// that, and keeps them: a change that is not judged does not count, and neither do those beside it.
func opened(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o500 == 0o500 {
		return info, err
	}
	if err := os.Chmod(path, info.Mode()|0o700); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

func (d *differ) change(rel string, up, low fs.FileInfo) Change {
	layer := filepath.Join(d.upper, rel)
	sys := up.Sys().(*unixStat)
	c := Change{Path: filepath.Join(d.root, rel), Kind: Created, Type: typeName(up.Mode()), Mode: up.Mode(),
		Layer: layer, rel: rel,
		lower: identityOf(low), origin: hasXattr(layer, "user.overlay.origin"),
		times: [2]time.Time{time.Unix(sys.Atim.Unix()), up.ModTime()}}
	if up.Mode().IsRegular() {
		c.Size = up.Size()
	}
	if up.Mode()&fs.ModeSymlink != 0 {
		c.Target, _ = os.Readlink(layer)
	}
	return c
}

func typeName(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeDir:
		return "dir"
	case fs.ModeSymlink:
		return "link"
	case fs.ModeNamedPipe:
		return "fifo"
	case fs.ModeSocket:
		return "socket"
	case 0:
		return "file"
	}
	return "device"
}

func identityOf(info fs.FileInfo) identity {
	if info == nil {
		return identity{}
	}
	sys := info.Sys().(*unixStat)
	out := identity{Exists: true, Inode: sys.Ino, Change: changeTime(info)}
	if sys.Nlink > 1 && !info.IsDir() {
		out.Time = info.ModTime().UnixNano()
	}
	return out
}

// compare says how a file of the same type differs, "" if it does not: a file that was only
// opened for writing was copied and is the same.
func (d *differ) compare(rel string, up, low fs.FileInfo) (ChangeKind, error) {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	upper, lower := filepath.Join(d.upper, rel), filepath.Join(d.root, rel)
	modes := up.Mode()&bits != low.Mode()&bits || owner(up) != owner(low)
	switch up.Mode().Type() {
	case fs.ModeDir:
		if modes {
			return ModeChanged, nil
		}
		return "", nil
	case fs.ModeSymlink:
		a, _ := os.Readlink(upper)
		b, _ := os.Readlink(lower)
		if a != b {
			return Changed, nil
		}
		return "", nil
	}
	same, err := sameContents(upper, lower, up, low)
	switch {
	case err != nil:
		return "", err
	case !same || !slices.Equal(userAttributes(upper), userAttributes(lower)):
		return Changed, nil
	case modes:
		return ModeChanged, nil
	case !up.ModTime().Equal(low.ModTime()):
		return Touched, nil
	}
	return "", nil
}

func owner(info fs.FileInfo) [2]uint32 {
	sys := info.Sys().(*unixStat)
	return [2]uint32{sys.Uid, sys.Gid}
}

func sameContents(upper, lower string, up, low fs.FileInfo) (bool, error) {
	if up.Size() != low.Size() || !up.Mode().IsRegular() {
		return up.Size() == low.Size(), nil
	}
	a, err := os.Open(upper)
	if errors.Is(err, os.ErrPermission) {
		return false, nil // written without a right to read: told as changed
	} else if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(lower)
	if err != nil {
		return false, nil
	}
	defer b.Close()
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, _ := io.ReadFull(b, bufB)
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		if errA != nil {
			return errors.Is(errA, io.EOF) || errors.Is(errA, io.ErrUnexpectedEOF), nil
		}
	}
}

// deleted lists a path of the workspace and all below it, contents first.
func (d *differ) deleted(rel string) error {
	path := filepath.Join(d.root, rel)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := d.deleted(filepath.Join(rel, e.Name())); err != nil {
				return err
			}
		}
	}
	c := Change{Path: path, Kind: Deleted, Type: typeName(info.Mode()), rel: rel, lower: identityOf(info)}
	if c.Type == "file" {
		c.Size = info.Size()
	} else if c.Type == "link" {
		c.Target, _ = os.Readlink(path)
	}
	d.out = append(d.out, c)
	return nil
}

func xattr(path, name string) string {
	b := make([]byte, 256)
	n, err := unix.Lgetxattr(path, name, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// hasXattr is for attributes whose value may be empty.
func hasXattr(path, name string) bool {
	_, err := unix.Lgetxattr(path, name, nil)
	return err == nil
}

// attributes lists the names of a file's attributes that users set.
func attributes(path string) []string {
	b := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, b)
	if err != nil {
		return nil
	}
	var out []string
	for name := range strings.SplitSeq(string(b[:n]), "\x00") {
		if strings.HasPrefix(name, "user.") {
			out = append(out, name)
		}
	}
	return out
}

const overlayAttributes = "user.overlay."

func userAttributes(path string) []string {
	var out []string
	for _, name := range attributes(path) {
		if !strings.HasPrefix(name, overlayAttributes) {
			out = append(out, name+"="+xattr(path, name))
		}
	}
	slices.Sort(out)
	return out
}

// stripAttributes removes those that overlayfs keeps its books in.
func stripAttributes(path string) {
	for _, name := range attributes(path) {
		if strings.HasPrefix(name, overlayAttributes) {
			unix.Lremovexattr(path, name)
		}
	}
}
