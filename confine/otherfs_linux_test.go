package confine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOtherFileSystems has the workspace on a file system other than that of the layers: changes are copied there, and
// nothing is left.
func TestOtherFileSystems(t *testing.T) {
	p := newPlace(t)
	mountTemp(t, p.base+"/tmpfs", "size=8m")
	stacked := p.base + "/stacked"
	for _, name := range []string{"lower/a.txt", "upper/b.txt", "work/x", "/../stacked/x"} {
		p.write(p.base+"/layers/"+name, "one\n")
	}
	options := "lowerdir=" + p.base + "/layers/lower,upperdir=" + p.base + "/layers/upper,workdir=" + p.base + "/layers/work"
	if err := unix.Mount("overlay", stacked, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(stacked, unix.MNT_DETACH) })
	bound := p.base + "/bound"
	p.write(p.base+"/source/a.txt", "one\n")
	p.write(bound+"/x", "")
	if err := unix.Mount(p.base+"/source", bound, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(bound, unix.MNT_DETACH) })
	for _, ws := range append(p.moreFileSystems(t), p.base+"/tmpfs/ws", stacked, bound) {
		p.write(ws+"/a.txt", "one\n")
		p.write(ws+"/old/o", "o")
		p.write(ws+"/secret", "SECRET")
		for _, mode := range []Mode{Overlay, Through} {
			prof := p.profile(mode)
			prof.Workspace.Root, prof.Hidden, prof.ReadOnly = ws, []string{ws + "/secret"}, []string{ws + "/a.txt"}
			o := p.sh(prof, `cat secret; echo x > a.txt; mkdir -p n/m; echo y > n/m/y; rm -rf old; mv n k; ln -s k l; cat l/m/y`)
			if o.err != nil {
				t.Errorf("%s, %s: %v", ws, mode, o.err)
				continue
			}
			if o.has("SECRET") || p.read(ws+"/a.txt") != "one\n" || p.read(ws+"/l/m/y") != "y\n" || !o.has("y\n") {
				t.Errorf("%s, %s: %v %s%s", ws, mode, o.Changes, o.out, o.errs)
			}
			if _, err := os.Lstat(ws + "/old"); err == nil {
				t.Errorf("%s, %s: old is still there", ws, mode)
			}
			removeTree(ws + "/k")
			os.Remove(ws + "/l")
		}
		if left, _ := os.ReadDir(p.base + "/state"); len(left) > 0 {
			t.Errorf("%s: left %v", ws, left)
		}
	}
}

// moreFileSystems are workspaces on those that this machine has programs for: one by FUSE, which like NFS and 9p asks
// elsewhere whether a name still is what it was, and one in a file.
func (p *place) moreFileSystems(t *testing.T) (out []string) {
	mounted := func(at string, args ...string) {
		if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Logf("without %s: %v %s", filepath.Base(at), err, text)
			return
		}
		t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
		out = append(out, at+"/ws")
	}
	fuse, loop, image := p.base+"/fuse", p.base+"/loop", p.base+"/image"
	if err := errors.Join(os.Mkdir(fuse, 0o755), os.Mkdir(loop, 0o755), os.Mkdir(p.base+"/elsewhere", 0o755)); err != nil {
		t.Fatal(err)
	}
	mounted(fuse, "bindfs", "-o", "allow_other", p.base+"/elsewhere", fuse)
	mounted(loop, "sh", "-c", "truncate -s 16M "+image+" && mkfs.ext4 -q "+image+" && mount -o loop "+image+" "+loop)
	return out
}

// TestLayered names the mount that stands in a layer's way.
func TestLayered(t *testing.T) {
	p := newPlace(t)
	if err := Layered(p.ws); err != nil {
		t.Error(err)
	}
	mountTemp(t, p.ws+"/a b\tc", "size=1m")
	if err := Layered(p.ws); err == nil || !strings.Contains(err.Error(), "a b\tc is mounted in it") {
		t.Error(err)
	}
	if err := Layered(p.ws + "/a b\tc"); err != nil {
		t.Error("a mount itself:", err)
	}
	if err := Layered(p.base + "/none"); err == nil {
		t.Error("a directory that is not there")
	}
}

// TestNoLinkIsFollowed: a link that a command in the background puts in the place of a file or of a directory, after it
// was looked at, leads neither a new mode nor a move outside.
func TestNoLinkIsFollowed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, ".env")
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Symlink(victim, filepath.Join(root, "file")),
		os.Symlink(outside, filepath.Join(root, "dir"))); err != nil {
		t.Fatal(err)
	}
	parent, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(parent)
	if err := modeStep(parent, "file", step{Mode: 0o777, UID: -1, GID: -1}); err == nil {
		t.Error("the mode of a link was changed")
	}
	if at, err := TakeOut(root, "dir/.env", filepath.Join(root, "moved"), "spare"); err == nil {
		t.Errorf("a file behind a link was moved to %s", at)
	}
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file outside: %v, %v", info, err)
	}
}

// TestWorkspaceBecomesALink: a link that is put in the place of the workspace, after its limits were made, is not
// followed.
func TestWorkspaceBecomesALink(t *testing.T) {
	p := newPlace(t)
	other := p.base + "/other"
	p.write(other+"/secret.txt", "SECRET\n")
	if err := errors.Join(os.RemoveAll(p.ws), os.Symlink(other, p.ws)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Overlay, Through} {
		profile := p.profile(mode)
		profile.Read = append(profile.Read, p.ws)
		var out strings.Builder
		res, err := Run(t.Context(), profile, Command{Args: []string{"/bin/sh", "-c", "cat secret.txt; echo x > new"},
			Dir: p.ws, Stdout: &out, Stderr: &out, Judge: func(Change) Verdict { return Commit }})
		if err == nil || res.Level != "" || strings.Contains(out.String(), "SECRET") {
			t.Errorf("%s: it ran: %v, %v, %s", mode, res, err, out.String())
		}
	}
}

// TestRecoverBesideNewRuns: layers that are being made are not taken for those of a killed run.
func TestRecoverBesideNewRuns(t *testing.T) {
	state, root := t.TempDir(), t.TempDir()
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := Recover(state); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 300 {
		l, err := newLayers(state, root)
		if err != nil {
			t.Errorf("new layers: %v", err)
			break
		}
		if err := l.remove(); err != nil {
			t.Errorf("their end: %v", err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDeletedAgain: a commit that is done again, after a file took the name and the inode of a directory that it had
// removed, leaves the file: file systems use the number of a removed one for the next.
func TestDeletedAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/empty", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stat unix.Stat_t
	if err := unix.Lstat(dir+"/empty", &stat); err != nil {
		t.Fatal(err)
	}
	parent, err := openReal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(parent)
	err = deleteStep(parent, "empty", step{Do: "delete", Dir: true, Lower: identity{Exists: true, Inode: stat.Ino}})
	var conflict *conflictError
	if !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(dir + "/empty"); err != nil {
		t.Error(err)
	}
}
