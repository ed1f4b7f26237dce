//go:build unix

package hookcrash_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

const nobody = 65534

// What the tests make is for others to read as well, whatever the umask.
func init() { syscall.Umask(0o022) }

// asNobody makes a command another user's, where that is possible.
func asNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// unprivileged returns changes by which a hook heeds permissions: the superuser has
// none to heed.
func unprivileged(t *testing.T, m *machine) []func(*exec.Cmd) {
	if os.Getuid() != 0 {
		return nil
	}
	for dir := m.home; dir != "/"; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err != nil || st.Mode()&0o005 != 0o005 {
			if err := os.Chmod(dir, st.Mode()|0o055); err != nil {
				t.Skipf("another user cannot get to %s: %v", dir, err)
			}
		}
	}
	return []func(*exec.Cmd){asNobody}
}

func TestReadOnlyHome(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		user := unprivileged(t, m)
		if err := os.Chmod(m.home, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(m.home, 0o755)
		m.holds(t, program, "a home that cannot be written", user...)
		m.denies(t, program, "what cannot be written down", user...)
	})
}

// TestOthersState: a state directory that others can write to, or that is
// theirs.
func TestOthersState(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		m.holds(t, program, "at first")
		if err := os.Chmod(m.state(), 0o777); err != nil {
			t.Fatal(err)
		}
		m.holds(t, program, "a state directory for everybody")
		if os.Getuid() != 0 {
			t.Log("a state directory of somebody else's is not tried: only the superuser can make one")
			return
		}
		user := unprivileged(t, m)
		m.holds(t, program, "a state directory of another user's", user...)
		if err := os.Chmod(m.state(), 0o700); err != nil {
			t.Fatal(err)
		}
		m.holds(t, program, "a state directory that another user has closed", user...)
		m.denies(t, program, "what cannot be written down", user...)
	})
}

// TestFileLimit: no file may grow; much like a full disk, and needs no
// superuser.
func TestFileLimit(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		under := append([]string{"/bin/sh", "-c", `ulimit -f 0; exec "$@"`, "sh"}, program...)
		m.holds(t, under, "no file may grow")
		m.denies(t, under, "what cannot be written down")
	})
}

func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only the superuser can make a disk to fill; TestFileLimit is the next best")
	}
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k,mode=755", "tmpfs", mkdir(t, filepath.Join(m.home, ".local"))).CombinedOutput(); err != nil {
			t.Skipf("no disk can be mounted here: %v: %s", err, out)
		}
		defer exec.Command("umount", filepath.Join(m.home, ".local")).Run()
		m.holds(t, program, "a disk with room")
		// The ledger has room for the next records; without it they do not fit.
		ledger := filepath.Join(m.state(), "obstat.ledger")
		data, err := os.ReadFile(ledger)
		if err == nil {
			err = os.Truncate(ledger, int64(len(bytes.TrimRight(data, "\x00"))))
		}
		if err != nil {
			t.Fatal(err)
		}
		fill, err := os.Create(filepath.Join(m.home, ".local", "fill"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = fill.Write(make([]byte, 512))
		}
		fill.Close()
		for range 5 {
			m.holds(t, program, "a full disk")
		}
		m.denies(t, program, "what cannot be written down")
		if err := os.Remove(fill.Name()); err != nil {
			t.Fatal(err)
		}
		m.holds(t, program, "a disk with room again")
	})
}

func mkdir(t *testing.T, name string) string {
	t.Helper()
	if err := os.MkdirAll(name, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}
