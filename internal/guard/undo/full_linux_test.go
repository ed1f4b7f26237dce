package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// elsewhere does the part of a test that takes another namespace or another user.
func elsewhere() (code int, ok bool) {
	var err error
	small, work, do := os.Getenv("OBSTAT_UNDO_SMALL"), os.Getenv("OBSTAT_UNDO_CONFINED"), os.Getenv("OBSTAT_UNDO_USER")
	switch {
	case small != "":
		err = onSmallDisk(small)
	case work != "":
		err = runsConfined(work)
	case do != "":
		err = asUser(do, os.Getenv("OBSTAT_UNDO_DIR"))
	default:
		return 0, false
	}
	if err != nil {
		fmt.Println(err)
		return 1, true
	}
	return 0, true
}

// onSmallDisk is what this program does in a namespace of its own, where a file system of 256 KB can be mounted.
func onSmallDisk(dir string) error {
	disk, project := filepath.Join(dir, "disk"), filepath.Join(dir, "project")
	for _, d := range []string{disk, project} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := syscall.Mount("small", disk, "tmpfs", 0, "size=256k"); err != nil {
		fmt.Println("no file system can be mounted here:", err)
		return nil
	}
	return errors.Join(storeIsFull(disk, project), workspaceIsFull(disk, dir))
}

// storeIsFull: a call whose files do not fit on the disk of the store asks, and one whose files do is allowed.
func storeIsFull(disk, project string) error {
	policy := filepath.Join(project, "obstat.yaml")
	big, small := filepath.Join(project, "big"), filepath.Join(project, "small")
	err := errors.Join(os.WriteFile(policy, []byte("version: 1\nallow:\n  - write workspace\n"), 0o600),
		os.WriteFile(big, make([]byte, 1<<20), 0o600), os.WriteFile(small, []byte("small"), 0o600))
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": disk, "HOME": project}[name] }
	g, gerr := gate.Open(context.Background(), gate.Options{Policy: &gate.Files{Names: []string{policy}, NoPins: true, Getenv: env},
		Getenv: env, NoRecord: true, Undo: &Keeper{Getenv: env}})
	if err = errors.Join(err, gerr); err != nil {
		return err
	}
	for name, want := range map[string]obstat.Verdict{small: obstat.Allow, big: obstat.Ask} {
		input, _ := json.Marshal(map[string]string{"file_path": name, "content": "x"})
		d, err := g.Authorize(context.Background(), &obstat.Call{Tool: "Write", Input: input, Dir: project, Roots: []string{project}}, &gate.Terms{Ask: gate.Leave})
		if err != nil || d.Verdict != want || want == obstat.Ask && !strings.Contains(d.Reason(), "no space left") {
			return fmt.Errorf("%s: %s, %s, %v", name, d.Verdict, d.Reason(), err)
		}
	}
	list, err := os.ReadDir(filepath.Join(disk, "obstat/changes"))
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".new-") {
			err = errors.Join(err, fmt.Errorf("%s was left", e.Name()))
		}
	}
	return err
}

// workspaceIsFull: where the disk of the files is full, nothing is put back, and nothing is lost.
func workspaceIsFull(disk, dir string) error {
	s, err := changes.Open(filepath.Join(dir, "store"), changes.Limits{})
	if err != nil {
		return err
	}
	a, b := filepath.Join(disk, "a"), filepath.Join(disk, "b")
	err = errors.Join(os.WriteFile(a, []byte("a before"), 0o600), os.WriteFile(b, make([]byte, 100<<10), 0o600))
	_, serr := s.Save(changes.Of{Call: "c"}, []changes.Reach{{Paths: paths.Exactly(a)}, {Paths: paths.Exactly(b)}}, false)
	err = errors.Join(err, serr, os.WriteFile(a, []byte("a after"), 0o600), os.WriteFile(b, nil, 0o600))
	c, eerr := s.End("c", "")
	if err = errors.Join(err, eerr); err != nil {
		return err
	}
	os.WriteFile(filepath.Join(disk, "fill"), make([]byte, 1<<20), 0o600) // as much as there is room for
	plan, err := s.Plan([]*changes.Change{c})
	if err != nil {
		return err
	}
	if _, err = plan.Apply(changes.Of{}); err == nil || !strings.Contains(err.Error(), "no space left") {
		return fmt.Errorf("put back on a full disk: %v", err)
	}
	now, err := os.ReadFile(a)
	if info, serr := os.Stat(b); err != nil || serr != nil || string(now) != "a after" || info.Size() != 0 {
		return fmt.Errorf("half of it was put back: %q, %v, %v", now, err, serr)
	}
	err = os.Remove(filepath.Join(disk, "fill"))
	if plan, perr := s.Plan([]*changes.Change{c}); perr == nil {
		_, perr = plan.Apply(changes.Of{})
		err = errors.Join(err, perr)
	} else {
		err = errors.Join(err, perr)
	}
	if now, _ := os.ReadFile(a); string(now) != "a before" {
		err = errors.Join(err, fmt.Errorf("with room again a holds %q", now))
	}
	return err
}

// TestFullDisk runs on a real file system that is full.
func TestFullDisk(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OBSTAT_UNDO_SMALL="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "no file system can be mounted"):
		t.Skipf("this machine gives no namespace with a file system of its own: %v %s", err, out)
	case err != nil:
		t.Errorf("%v: %s", err, out)
	}
}

// TestAnotherUsersFile: a plain user's obstat does not keep a file that it cannot read, and says so; another's file that
// it can read, in a directory that it cannot write to, is not put back, with the reason, and neither is the rest.
func TestAnotherUsersFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for d := dir; len(d) > 1 && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	roots, mine, state := filepath.Join(dir, "roots"), filepath.Join(dir, "mine"), filepath.Join(dir, "state")
	for _, d := range []string{roots, mine, state} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{roots + "/closed": 0o600, roots + "/open": 0o644, mine + "/a": 0o644} {
		if err := os.WriteFile(name, []byte("before"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{mine, mine + "/a", state} {
		if err := os.Chown(name, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "program") // where the user can start it
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	as := func(do string) string {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Env = []string{"OBSTAT_UNDO_USER=" + do, "OBSTAT_UNDO_DIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v %s", do, err, out)
		}
		return string(out)
	}
	if out := as("save"); !strings.Contains(out, "roots/closed: permission denied") {
		t.Errorf("a file that cannot be read: %s", out)
	}
	for _, name := range []string{roots + "/open", mine + "/a"} { // a call that sudo made
		if err := os.WriteFile(name, []byte("after"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out := as("undo"); !strings.Contains(out, "permission denied") {
		t.Errorf("another's file: %s", out)
	}
	for _, name := range []string{roots + "/open", mine + "/a"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != "after" {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
}

// asUser is what this program does as a plain user.
func asUser(do, dir string) error {
	s, err := changes.Open(statedir.Changes(filepath.Join(dir, "state")), changes.Limits{})
	if err != nil {
		return err
	}
	reach := func(names ...string) (out []changes.Reach) {
		for _, n := range names {
			out = append(out, changes.Reach{Paths: paths.Exactly(filepath.Join(dir, n))})
		}
		return out
	}
	if do == "save" {
		closed, err := s.Save(changes.Of{Call: "closed"}, reach("roots/closed"), false)
		if err == nil {
			fmt.Println(closed.Gaps)
			_, err = s.Save(changes.Of{Call: "open"}, reach("mine/a", "roots/open"), false)
		}
		return err
	}
	c, err := s.End("open", "")
	if err != nil {
		return err
	}
	plan, err := s.Plan([]*changes.Change{c})
	if err != nil {
		return err
	}
	_, err = plan.Apply(changes.Of{})
	fmt.Println(err)
	return nil
}
