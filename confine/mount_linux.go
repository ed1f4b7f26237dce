package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// scratch is covered by a file system in memory while the new root is built; any directory
// that every machine has would do.
const scratch = "/tmp"

// A builder makes the mounts of a plan, in a mount namespace of its own.
type builder struct {
	new     string         // where the new root grows
	files   int            // number of files made in memory
	sources map[string]int // the host's paths, opened before scratch is covered
	gaps    []Gap
	sim     simulation
}

// buildRoot makes the mounts of a plan and moves into the root that they form.
func buildRoot(p plan) ([]Gap, error) {
	b := &builder{new: scratch + "/new", sources: map[string]int{}, sim: p.Sim}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, &levelProblem{fmt.Errorf("make mounts private: %w", err)}
	}
	mounts, err := b.openSources(p.Mounts)
	if err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", scratch, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return nil, &levelProblem{fmt.Errorf("cover %s: %w", scratch, err)}
	}
	for _, dir := range []string{b.new, scratch + "/files", scratch + "/empty", scratch + "/mask"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for _, m := range mounts {
		if err := b.make(m); err != nil {
			if !m.Optional {
				return nil, fmt.Errorf("mount %s: %w", m.To, err)
			}
			if m.Gap != "" {
				b.gaps = append(b.gaps, Gap{m.Gap, err.Error()})
			}
		}
	}
	b.closeSources()
	if err := b.seal(mounts); err != nil {
		return nil, err
	}
	return b.gaps, enterRoot(b.new)
}

// seal makes directories in memory read-only once their mount points are made.
func (b *builder) seal(mounts []mount) error {
	for _, m := range mounts {
		if m.Kind != mountTmpfs || !m.ReadOnly {
			continue
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, filepath.Join(b.new, m.To), 0, &attr); err != nil {
			return fmt.Errorf("make %s read-only: %w", m.To, err)
		}
	}
	return nil
}

// openSources opens the host's side of each mount. Their paths have no links: one that has
// got a link since is an error.
func (b *builder) openSources(mounts []mount) ([]mount, error) {
	var out []mount
	for _, m := range mounts {
		err := error(nil)
		for _, path := range []string{m.From, m.Upper, m.Work, m.Mask, m.Between} {
			if path != "" && err == nil {
				err = b.open(path)
			}
		}
		if m.Kind == mountTree && err == nil {
			m.clone, err = cloneTree(b.sources[m.From])
		}
		if err != nil && !m.Optional {
			return nil, err
		}
		if err == nil {
			out = append(out, m)
		}
	}
	return out, nil
}

func (b *builder) open(path string) error {
	if _, ok := b.sources[path]; ok {
		return nil
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	b.sources[path] = fd
	return nil
}

func (b *builder) closeSources() {
	for _, fd := range b.sources {
		unix.Close(fd)
	}
}

// enterRoot makes dir the root and lets go of the old one.
func enterRoot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	// The old root lies on the new one, at the same place, until it is detached.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	return unix.Chdir("/")
}

func (b *builder) make(m mount) error {
	switch m.Kind {
	case makeLink:
		return b.link(m)
	case mountTree:
		return b.tree(m)
	case mountTmpfs:
		options := "mode=0755"
		if isShared(m.To) {
			options = "mode=1777"
		}
		if m.Size > 0 {
			options += fmt.Sprintf(",size=%d", m.Size)
		}
		return b.fileSystem(m, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	case mountProc:
		err := b.fileSystem(m, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
		if err == nil && b.sim.MaskedProc {
			err = unix.EPERM
		}
		if err != nil { // in containers that cover parts of theirs
			return &levelProblem{fmt.Errorf("a /proc of its own: %w", err)}
		}
		return nil
	case mountDevpts:
		return b.fileSystem(m, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	case mountOverlay:
		return b.overlay(m)
	case mountHide:
		return b.hide(m)
	case mountMask:
		return b.mask(m.To, m.Data == "dir")
	case mountFile:
		return b.file(m)
	case mountKeep:
		return b.attachOwn(filepath.Join(b.new, m.To), m.To, mount{ReadOnly: true, NoExec: m.NoExec})
	}
	return fmt.Errorf("unknown kind of mount %q", m.Kind)
}

func isShared(dir string) bool { return dir == "/tmp" || dir == "/var/tmp" || dir == "/dev/shm" }

// point returns the mount point inside the new root, made where it lies in memory.
func (b *builder) point(m mount, dir bool) (string, error) {
	at := filepath.Join(b.new, m.To)
	if !m.Make || m.To == "/" {
		return at, nil
	}
	parent := at
	if !dir {
		parent = filepath.Dir(at)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	if dir {
		return at, nil
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	return at, f.Close()
}

func (b *builder) link(m mount) error {
	at := filepath.Join(b.new, m.To)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(m.Data, at); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func (b *builder) fileSystem(m mount, kind string, flags uintptr, options string) error {
	at, err := b.point(m, true)
	if err != nil {
		return err
	}
	return unix.Mount(kind, at, kind, flags, options)
}

// tree attaches the copy of a host's tree.
func (b *builder) tree(m mount) error {
	source := b.sources[m.From]
	var stat unix.Stat_t
	if err := unix.Fstat(source, &stat); err != nil {
		return err
	}
	at, err := b.point(m, stat.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	return attachClone(m.clone, at, m)
}

// cloneTree makes a detached copy of a directory's mounts. For the host's trees that happens
// before scratch is covered, which would otherwise be a part of the copy.
func cloneTree(source int) (int, error) {
	clone, err := unix.OpenTree(source, "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("clone: %w", err)
	}
	return clone, nil
}

// attachClone restricts a detached copy and attaches it.
func attachClone(clone int, at string, m mount) error {
	defer unix.Close(clone)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !m.Dev {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if m.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if m.NoExec {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	if err := unix.MountSetattr(clone, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("restrict: %w", err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	target, err := unix.Openat2(unix.AT_FDCWD, at, &how)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return unix.MoveMount(clone, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// layer is how overlayfs is told a directory: by descriptor, so that neither colons and
// commas in a name nor a covered path matter.
func (b *builder) layer(path string) string { return fmt.Sprintf("/proc/self/fd/%d", b.sources[path]) }

func (b *builder) overlay(m mount) error {
	if b.sim.NoOverlay {
		return unix.EINVAL
	}
	at, err := b.point(m, true)
	if err != nil {
		return err
	}
	lower := b.layer(m.From)
	if m.Between != "" {
		lower = b.layer(m.Between) + ":" + lower
	}
	if m.Mask != "" {
		lower = b.layer(m.Mask) + ":" + lower
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", lower, b.layer(m.Upper), b.layer(m.Work))
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if m.NoExec {
		flags |= unix.MS_NOEXEC
	}
	if err := unix.Mount("overlay", at, "overlay", flags, options); err != nil {
		return fmt.Errorf("overlay (not possible over a directory with mounts inside): %w", err)
	}
	return nil
}

// hide shows a directory again without some names. Where an overlay cannot be, the names are
// covered, which holds only as long as the same files stay there.
func (b *builder) hide(m mount) error {
	err := b.hideByLayer(m)
	if err == nil {
		return nil
	}
	why := "no layer can be laid over " + m.To + ": " + err.Error()
	for _, name := range m.Names {
		at := filepath.Join(m.To, name)
		info, lerr := os.Lstat(filepath.Join(b.new, at))
		if lerr != nil {
			b.gaps = append(b.gaps, Gap{"hide " + at, "it does not exist yet, and " + why})
			continue
		}
		if info.Mode()&os.ModeSymlink != 0 {
			continue // leads to a file that is hidden as well
		}
		if merr := b.mask(at, info.IsDir()); merr != nil {
			return merr
		}
		b.gaps = append(b.gaps, Gap{"hide " + at + " where it is replaced during the run", why})
	}
	return nil
}

func (b *builder) hideByLayer(m mount) error {
	if b.sim.NoOverlay {
		return unix.EINVAL
	}
	b.files++
	mask := fmt.Sprintf("%s/mask/%d", scratch, b.files)
	var stat unix.Stat_t
	if err := unix.Fstat(b.sources[m.From], &stat); err != nil {
		return err
	}
	if err := os.Mkdir(mask, 0o755); err != nil {
		return err
	}
	// The topmost layer's directory is the one whose owner and mode show.
	if err := os.Chmod(mask, os.FileMode(stat.Mode&0o777)); err != nil {
		return err
	}
	// A plain user has no other owners to give.
	if err := os.Chown(mask, int(stat.Uid), int(stat.Gid)); err != nil && !isAny(err, unix.EPERM, unix.EINVAL) {
		return err
	}
	for _, name := range m.Names {
		if err := unix.Mknod(filepath.Join(mask, name), unix.S_IFCHR, 0); err != nil {
			return err
		}
	}
	at := filepath.Join(b.new, m.To)
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_RDONLY)
	if m.NoExec {
		flags |= unix.MS_NOEXEC
	}
	return unix.Mount("overlay", at, "overlay", flags, "lowerdir="+mask+":"+b.layer(m.From)+",userxattr")
}

// mask covers a name with something empty that cannot be opened.
func (b *builder) mask(to string, dir bool) error {
	b.files++
	empty := fmt.Sprintf("%s/empty/%d", scratch, b.files)
	var err error
	if dir {
		err = os.Mkdir(empty, 0)
	} else {
		err = os.WriteFile(empty, nil, 0)
	}
	if err != nil {
		return err
	}
	return b.attachOwn(empty, to, mount{ReadOnly: true, NoExec: true})
}

func (b *builder) file(m mount) error {
	at, err := b.point(m, false)
	if err != nil {
		return err
	}
	b.files++
	name := fmt.Sprintf("%s/files/%d", scratch, b.files)
	if err := os.WriteFile(name, []byte(m.Data), 0o444); err != nil {
		return err
	}
	return b.attachOwn(name, strings.TrimPrefix(at, b.new), mount{ReadOnly: true, NoExec: true})
}

// attachOwn mounts a file or directory of scratch, or of the new root.
func (b *builder) attachOwn(from, to string, m mount) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	source, err := unix.Openat2(unix.AT_FDCWD, from, &how)
	if err != nil {
		return err
	}
	defer unix.Close(source)
	clone, err := cloneTree(source)
	if err != nil {
		return err
	}
	return attachClone(clone, filepath.Join(b.new, to), m)
}
