package confine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNested runs a confinement in a confinement: it tells the lower level, and adds to the
// outer one.
func TestNested(t *testing.T) {
	p := newPlace(t)
	exe, _ := os.Executable()
	prof := p.profile(Through)
	prof.Read, prof.Execute = append(prof.Read, exe), append(prof.Execute, exe)
	prof.Env.Set["CONFINE_ATTACK"], prof.Env.Set["WS"] = "nested", p.ws
	o := mustRun(t, p.sh(prof, exe))
	for _, want := range []string{"level files", "wants full: confine: the profile wants level full and this machine gives files", "inner",
		"a.txt: Permission denied", "wants files: files <nil>"} {
		if !o.has(want) {
			t.Errorf("no %q in\n%s%s", want, o.out, o.errs)
		}
	}
}

// TestInContainer runs a confinement in containers that bubblewrap makes as docker and podman make theirs: one in which no
// user namespace can be made, and one with namespaces, where parts of /proc are covered. Both tell the lower level.
func TestInContainer(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("the containers are made by bubblewrap, which is not here")
	}
	p := newPlace(t)
	exe, _ := os.Executable()
	bare := []string{"--unshare-pid", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}
	for why, more := range map[string][]string{
		"user.max_user_namespaces": {"--unshare-user", "--disable-userns"},
		"a /proc of its own":       {"--cap-add", "ALL", "--ro-bind", "/dev/null", "/proc/keys", "--tmpfs", "/proc/irq"},
	} {
		args := slices.Concat(bare, more, []string{"--setenv", "CONFINE_ATTACK", "nested", "--setenv", "WS", p.ws})
		if out, err := exec.Command("bwrap", append(args, "true")...).CombinedOutput(); err != nil {
			t.Logf("%s: no such container can be made here: %v %s", why, err, out)
			continue
		}
		out, err := exec.Command("bwrap", append(args, exe)...).CombinedOutput()
		for _, want := range []string{why, "level files", "wants full: confine: the profile wants level full and this machine gives files", "inner",
			"a.txt: Permission denied", "wants files: files <nil>"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %v, no %q in\n%s", why, err, want, out)
			}
		}
	}
}

// TestStrangeNames has characters that mount options, shells and JSON mean something by.
func TestStrangeNames(t *testing.T) {
	p := newPlace(t)
	ws := p.base + "/a:b,c\\d \"e\"\n" + `f,upperdir=x`
	p.write(ws+"/a.txt", "one\n")
	p.write(ws+"/se:cret,x", "SECRET")
	for _, mode := range []Mode{Overlay, Through} {
		prof := p.profile(mode)
		prof.Workspace.Root = ws
		prof.Execute = SystemTrees()
		prof.Hidden, prof.ReadOnly = []string{ws + "/se:cret,x"}, nil
		o := mustRun(t, p.sh(prof, `cat a.txt; cat se:cret,x; echo "$0" > "new
name"`))
		if !o.has("one") || o.has("SECRET") || p.read(ws+"/new\nname") == "" {
			t.Errorf("%s: %+v %s%s", mode, o.Result, o.out, o.errs)
		}
	}
}

// TestHomeInsideWorkspace hides keys there as well.
func TestHomeInsideWorkspace(t *testing.T) {
	p := newPlace(t)
	for _, mode := range []Mode{Overlay, Through} {
		prof := p.profile(mode)
		prof.Workspace.Root = p.home
		if mode == Overlay {
			prof.Workspace.State = p.base + "/state"
		}
		o := mustRun(t, p.sh(prof, `cat .ssh/id_ed25519 ws/.env; cat ws/a.txt; echo x > ws/x; echo evil >> ws/.git/config; echo rc >> .bashrc`))
		if o.has("SECRET") || !o.has("one") || p.read(p.ws+"/x") != "x\n" || p.read(p.ws+"/.git/config") != "[core]\n" {
			t.Errorf("%s: %+v %s%s", mode, o.Result, o.out, o.errs)
		}
	}
}

// TestWorkspaceIsRoot is refused as an overlay, and written through where a Profile says so.
func TestWorkspaceIsRoot(t *testing.T) {
	p := newPlace(t)
	prof := p.profile(Overlay)
	prof.Workspace.Root = "/"
	if o := p.sh(prof, "true"); o.err == nil || !strings.Contains(o.err.Error(), "lies inside") {
		t.Errorf("overlay: %v", o.err)
	}
	prof = Profile{Read: []string{"/"}, Execute: []string{"/"}, Hidden: []string{p.home + "/.ssh", p.ws + "/.env"}, Env: Env{Keep: []string{"PATH"}}}
	o := mustRun(t, p.sh(prof, `cat `+p.ws+`/a.txt `+p.ws+`/.env `+p.home+`/.ssh/id_ed25519; echo x > `+p.ws+`/x; ls /tmp | wc -l; echo t > /tmp/t && cat /tmp/t; cat /etc/resolv.conf`))
	if !o.has("one") || o.has("SECRET") || !o.has("nameserver 127.0.0.1") || !o.has("t\n") || !strings.HasPrefix(p.read(p.ws+"/x"), "!") {
		t.Errorf("all readable: %+v %s%s", o.Result, o.out, o.errs)
	}
	prof.Workspace = Workspace{Root: "/", Mode: Through}
	o = mustRun(t, p.sh(prof, `echo x > `+p.ws+`/x; cat `+p.ws+`/.env; mv `+p.home+` `+p.base+`/h2; cat `+p.base+`/h2/.ssh/id_ed25519`))
	if p.read(p.ws+"/x") != "x\n" || o.has("SECRET") {
		t.Errorf("all writable: %+v %s%s", o.Result, o.out, o.errs)
	}
}

func mountTemp(t *testing.T, at, options string) {
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, options); err != nil {
		t.Skipf("only root can mount here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}

// TestMountInWorkspace cannot be an overlay, says so, and can be written through.
func TestMountInWorkspace(t *testing.T) {
	p := newPlace(t)
	mountTemp(t, p.ws+"/mnt", "size=1m")
	p.write(p.ws+"/mnt/inner", "inner\n")
	p.write(p.ws+"/mnt/.env", "SECRET")
	if o := p.sh(p.profile(Overlay), "true"); o.err == nil || !strings.Contains(o.err.Error(), "mounts inside") {
		t.Errorf("overlay: %v", o.err)
	}
	prof := p.profile(Through)
	prof.Hidden = append(prof.Hidden, p.ws+"/mnt/.env")
	o := mustRun(t, p.sh(prof, `cat mnt/inner; echo x > mnt/x; cat mnt/.env`))
	if !o.has("inner\n") || o.has("SECRET") || p.read(p.ws+"/mnt/x") != "x\n" {
		t.Errorf("%+v %s%s", o.Result, o.out, o.errs)
	}
}

// TestFullDisk has no room for the layers: the error is told and the workspace stays.
func TestFullDisk(t *testing.T) {
	p := newPlace(t)
	small := p.base + "/small"
	mountTemp(t, small, "size=256k")
	prof := p.profile(Overlay)
	prof.Workspace.State = small + "/state"
	o := p.sh(prof, `head -c 5000000 /dev/zero > big || echo full; echo more >> a.txt`)
	if !o.has("full") {
		t.Errorf("%+v %v %s%s", o.Result, o.err, o.out, o.errs)
	}
	if o.err == nil {
		t.Logf("committed in the room that was left: %v", kinds(p.ws, o.Changes))
	} else if text := p.read(p.ws + "/a.txt"); !errors.Is(o.err, unix.ENOSPC) || text != "one\n" {
		t.Errorf("%v, and a.txt is %q", o.err, text)
	}
	if _, err := Recover(prof.Workspace.State); err != nil {
		t.Error(err)
	}
}

// TestManyProcesses leaves 10,000 behind, which all end with the run.
func TestManyProcesses(t *testing.T) {
	p := newPlace(t)
	o := mustRun(t, p.sh(p.profile(Through), `mkfifo f; i=0; while [ $i -lt 10000 ]; do ( : < f ) & i=$((i+1)); done; echo started`))
	if !o.has("started") && !o.has("fork") { // a machine with fewer says so
		t.Errorf("%+v %s%s", o.Result, o.out, o.errs)
	}
}

// TestLinkedTrees follows links on the way to trees, and hides both a link and its target.
func TestLinkedTrees(t *testing.T) {
	p := newPlace(t)
	p.write(p.base+"/real/keys/key", "SECRET")
	p.write(p.base+"/real/data/d.txt", "data\n")
	if err := os.Symlink(p.base+"/real", p.base+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real/keys", p.base+"/keys"); err != nil {
		t.Fatal(err)
	}
	prof := p.profile(Through)
	prof.Read = append(prof.Read, p.base+"/link")
	prof.Hidden = append(prof.Hidden, p.base+"/keys")
	o := mustRun(t, p.sh(prof, `cd `+p.base+`; cat link/data/d.txt real/data/d.txt; cat real/keys/key link/keys/key keys/key`))
	if strings.Count(o.out, "data\n") != 2 || o.has("SECRET") {
		t.Errorf("%+v %s%s", o.Result, o.out, o.errs)
	}
}

// TestMissingTrees are no error: they cannot be touched.
func TestMissingTrees(t *testing.T) {
	p := newPlace(t)
	prof := p.profile(Through)
	prof.Read = append(prof.Read, "/no/such/tree", p.home+"/.bashrc")
	prof.Write = []string{p.base + "/none"}
	prof.Sockets = []string{"/no/such/socket"}
	o := mustRun(t, p.sh(prof, `mkdir `+p.base+`/none; cat ~/.bashrc`))
	if !o.has("# rc") {
		t.Errorf("%s%s", o.out, o.errs)
	}
	if _, err := os.Lstat(p.base + "/none"); err == nil {
		t.Error("made")
	}
}

// TestSockets reaches those that the Profile has.
func TestSockets(t *testing.T) {
	p := newPlace(t)
	exe, _ := os.Executable()
	g := newTarget(t, services{}, 7777, Through)
	g.profile.Sockets = []string{g.home + "/agent.sock", filepath.Join(g.other, "agent.sock")}
	for code, want := range map[string]bool{"unix-home": true, "unix-other": true, "unix-ws": false, "unix-tmp": false} {
		prof := g.profile
		o := p.sh(prof, "CONFINE_ATTACK="+code+" "+exe)
		if o.err != nil || o.has("SECRET-SERVICE") != want {
			t.Errorf("%s: %v %s%s", code, o.err, o.out, o.errs)
		}
	}
}

// TestOwners lets root's commands change owners inside their trees, and nothing more.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has rights over owners")
	}
	p := newPlace(t)
	p.write(p.base+"/other/f", "x")
	prof := p.profile(Through)
	script := `chown 12345 a.txt && echo changed; chown 12345 ` + p.base + `/other/f ~/.bashrc && echo HARM; mount -t tmpfs x /mnt && echo HARM; cat .env ~/.ssh/id_ed25519`
	if o := mustRun(t, p.sh(prof, script)); o.has("changed") || o.has("HARM") || o.has("SECRET") {
		t.Errorf("without: %s%s", o.out, o.errs)
	}
	prof.Owners = true
	o := mustRun(t, p.sh(prof, script+`; setpriv --reuid 12345 --clear-groups cat a.txt`))
	if !o.has("changed") || o.has("HARM") || o.has("SECRET") || !o.has("one") {
		t.Errorf("with: %s%s", o.out, o.errs)
	}
}
