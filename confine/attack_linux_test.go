package confine

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// needsKernel are attacks that some kernels were built without; bare they then do no harm.
var needsKernel = map[string]bool{"cryptography socket": true, "vsock": true, "io_uring": true, "bpf": true, "userfaultfd": true,
	"performance events": true, "session keyring": true, "add a key": true, "TIOCSTI": true, "terminal of the machine": true, "kernel's memory": true,
	"write kernel's messages": true, "disk": true, "control group": true, "release agent": true, "sysrq": true, "accounting": true,
	"another address of the machine": true, "file handle": true, "kernel's messages": true, "user namespace": true, "user and mount namespace": true,
	"namespace by clone": true, "read by /proc/1/root": true, "pid 1's namespaces": true}

// TestAttacks runs each attack bare, where it has to do harm, and confined, where it has to
// begin and do none.
func TestAttacks(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 8
	}
	s := newServices(t)
	isRoot := os.Geteuid() == 0
	began, harmless := 0, 0
	for i, a := range attacks {
		if i%every != 0 || a.root && !isRoot || a.plain && isRoot {
			continue
		}
		t.Run(strings.ReplaceAll(a.name, "/", "_"), func(t *testing.T) {
			g := newTarget(t, s, i*10, Overlay)
			if out := g.bare(a); g.harm(out) == "" {
				if !needsKernel[a.name] || !strings.Contains(out, "BEGAN") {
					t.Fatalf("does no harm bare: %s", out)
				}
				t.Skipf("does no harm on this machine even bare: %s", out)
			}
			began++
			ok := a.confined(t, newTarget(t, s, i*10+1, Overlay), false)
			if a.full && !a.layer || a.code == "unix-ws" {
				ok = a.confined(t, newTarget(t, s, i*10+2, Through), false) && ok
			}
			if !a.full {
				ok = a.confined(t, newTarget(t, s, i*10+3, Through), true) && ok
			}
			if ok {
				harmless++
			}
		})
	}
	t.Logf("uid %d: %d attacks did harm bare, %d of them none confined", os.Geteuid(), began, harmless)
}

// confined runs an attack under the target's Profile and reports whether it did no harm.
func (a attack) confined(t *testing.T, g *target, files bool) bool {
	t.Helper()
	label := "full, " + string(g.profile.Workspace.Mode)
	if files {
		label = "files"
		g.profile.Level = LevelFiles
		for _, name := range g.profile.Hidden {
			g.profile.NotEnforced = append(g.profile.NotEnforced, Gap{"hide " + name, "accepted"})
		}
		for _, name := range g.profile.ReadOnly {
			g.profile.NotEnforced = append(g.profile.NotEnforced, Gap{"keep unchanged " + name, "accepted"})
		}
	}
	var out bytes.Buffer
	res, err := Run(context.Background(), g.profile, Command{Args: a.args(), Stdout: &out, Stderr: &out, Environ: g.environ,
		Judge: func(Change) Verdict { return Commit }, sim: simulation{Files: files}})
	if err != nil {
		t.Errorf("%s: %v", label, err)
		return false
	}
	if !strings.Contains(out.String(), "BEGAN") {
		t.Errorf("%s: did not begin: %+v %s", label, res, out.String())
		return false
	}
	if harm := g.harm(out.String()); harm != "" {
		t.Errorf("%s: %s\n%s", label, harm, out.String())
		return false
	}
	return true
}

// TestAsPlainUser runs the tests of this package again as a user without any rights.
func TestAsPlainUser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: everything once more")
	}
	if os.Geteuid() != 0 {
		t.Skip("this is a plain user already")
	}
	dir, err := os.MkdirTemp("/var/lib", "confine-plain-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyProgram(t, exe, dir+"/confine.test")
	suid := dir + "/suid"
	if err := os.Mkdir(suid, 0o755); err != nil {
		t.Fatal(err)
	}
	copyProgram(t, "/bin/cat", suid+"/cat")
	os.WriteFile(suid+"/secret", []byte("SECRET-ROOT"), 0o600)
	if err := os.Chmod(suid+"/cat", 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	places := dir + "/places"
	if err := os.Mkdir(places, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(places, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir+"/confine.test", "-test.v", "-test.run", plainTests)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "CONFINE_SUID=" + suid, "CONFINE_PLACES=" + places}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "uid 65534") || strings.Contains(line, "even bare") || strings.Contains(line, "level ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// plainTests are those that are run a second time.
const plainTests = "^(TestAttacks|TestProbe|TestOverlay.*|TestRecover.*|TestThrough|TestKilled|TestLimits|TestPoorMachines|TestNetwork.*|TestPublish|TestKeep.*|TestAskDuring)$"
