package textedit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/textedit"
)

// TestMain lets the test binary stand in for a process that adds one entry.
func TestMain(m *testing.M) {
	if path := os.Getenv("TEXTEDIT_ADD_TO"); path != "" {
		err := textedit.UpdateFile(path, func(old []byte) ([]byte, error) {
			return textedit.YAML.AppendOnce(old, os.Getenv("TEXTEDIT_ADD"), "permissions", "allow")
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestUpdateFileManyProcesses(t *testing.T) {
	const n = 50
	path := filepath.Join(t.TempDir(), "config.yaml")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmds := make([]*exec.Cmd, n)
	for i := range cmds {
		cmds[i] = exec.Command(self)
		cmds[i].Env = append(os.Environ(), "TEXTEDIT_ADD_TO="+path, fmt.Sprintf("TEXTEDIT_ADD=entry-%d", i))
		cmds[i].Stderr = os.Stderr
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, problems := textedit.YAML.Parse(src)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	seen := map[string]bool{}
	for _, e := range root.At("permissions", "allow").Elems {
		seen[e.Str] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d entries survived:\n%s", len(seen), n, src)
	}
	onlyFile(t, path)
}

// onlyFile fails if anything but path is left in its directory.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) && runtime.GOOS != "windows" {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func replace(with string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(with), nil }
}

func TestUpdateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "old", 0o640)
	if err := textedit.UpdateFile(path, replace("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("holds %q", got)
	}
	if info.Mode() != 0o640 && runtime.GOOS != "windows" {
		t.Errorf("mode is now %v", info.Mode())
	}
	onlyFile(t, path)
}

func TestUpdateFileUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "old", 0o600)
	before, _ := os.Stat(path)
	boom := errors.New("boom")
	if err := textedit.UpdateFile(path, func([]byte) ([]byte, error) { return []byte("new"), boom }); !errors.Is(err, boom) {
		t.Errorf("error is %v", err)
	}
	if err := textedit.UpdateFile(path, func(old []byte) ([]byte, error) {
		same := string(old)
		old[0] = 'X' // scribbling on the argument must not count
		return []byte(same), nil
	}); err != nil {
		t.Error(err)
	}
	after, _ := os.Stat(path)
	if got, _ := os.ReadFile(path); string(got) != "old" || !os.SameFile(before, after) {
		t.Errorf("the file was touched: %q", got)
	}
	onlyFile(t, path)
	none := filepath.Join(t.TempDir(), "none")
	if err := textedit.UpdateFile(none, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing was written, but: %v", err)
	}
}

func TestUpdateFileSymlink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real", "f"), filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join("real", "f"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	// A dangling link first: the file is created where it points.
	for _, text := range []string{"one", "two"} {
		if err := textedit.UpdateFile(link, replace(text)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(real); string(got) != text {
			t.Errorf("target holds %q", got)
		}
		if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
			t.Error("the link was replaced")
		}
	}
	onlyFile(t, real)
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := textedit.UpdateFile(loop, replace("x")); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestUpdateFileForeignWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a", 0o600)
	calls := 0
	err := textedit.UpdateFile(path, func(old []byte) ([]byte, error) {
		if calls++; calls == 1 {
			write(t, path, "b", 0o600) // somebody without the lock
		}
		return append(old, '!'), nil
	})
	if got, _ := os.ReadFile(path); err != nil || string(got) != "b!" || calls != 2 {
		t.Errorf("%q after %d calls, %v", got, calls, err)
	}
}

func TestUpdateFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := textedit.UpdateFile(dir, replace("x")); err == nil {
		t.Error("a directory was written")
	}
	big := filepath.Join(dir, "big")
	write(t, big, strings.Repeat("x", 10<<20+1), 0o600)
	if err := textedit.UpdateFile(big, replace("x")); err == nil {
		t.Error("a file beyond the limit was written")
	}
	path := filepath.Join(dir, "f")
	if err := os.Symlink(path, filepath.Join(dir, ".f.lock")); err == nil {
		if err := textedit.UpdateFile(path, replace("x")); err == nil {
			t.Error("a link served as a lock")
		}
	}
}

func TestReplaceFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sub", "hook")
	set := func(text []byte) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return text, nil }
	}
	if err := textedit.ReplaceFile(name, 0o755, set([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := textedit.ReplaceFile(name, 0o644, set([]byte("y"))); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(name); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the mode is not kept: %v, %v", info.Mode(), err)
	}
	for range 2 {
		if err := textedit.ReplaceFile(name, 0o644, set(nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := textedit.ReadFile(empty); b == nil || err != nil {
		t.Errorf("an empty file: %v %v", b, err)
	}
	if b, err := textedit.ReadFile(filepath.Join(dir, "none")); b != nil || err != nil {
		t.Errorf("no file: %v %v", b, err)
	}
	// A device stands for what never ends.
	for _, name := range []string{dir, os.DevNull} {
		if b, err := textedit.ReadFile(name); err == nil {
			t.Errorf("%s: %q", name, b)
		}
	}
}
