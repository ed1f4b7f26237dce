package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOverlayReadOnly refuses a change of a read-only name while the command runs: dropped at the end, the other
// half of the same work would stay.
func TestOverlayReadOnly(t *testing.T) {
	p := newPlace(t)
	p.write(p.ws+"/.git/hooks/post-commit", "#!/bin/sh\n")
	o := mustRun(t, p.sh(p.profile(Overlay), `
		for c in 'echo x >> .git/config' 'echo x > .git/hooks/pre-commit' 'rm .git/config' 'mv .git/hooks .git/h' \
			'rm -r .git/hooks' 'echo x > new && mv new .git/config' 'ln -f a.txt .git/config' 'chmod 777 .git/config'; do
			sh -c "$c" 2>/dev/null && echo "HARM $c"
		done
		echo x > .git/index && echo wrote; cat .git/config`))
	if o.has("HARM") || !o.has("wrote") || !o.has("[core]") {
		t.Errorf("%s%s", o.out, o.errs)
	}
	for name, want := range map[string]string{".git/config": "[core]\n", ".git/index": "x\n", ".git/hooks/post-commit": "#!/bin/sh\n"} {
		if got := p.read(p.ws + "/" + name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, c := range o.Changes {
		if c.Outcome == Refused {
			t.Errorf("refused only at the end: %+v", c)
		}
	}
}

// TestOverlayLinksAndMoves has hard links and renames, of which none is a conflict.
func TestOverlayLinksAndMoves(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"h1", "src/one", "src/sub/two", "m1"} {
		p.write(p.ws+"/"+name, name)
	}
	for _, pair := range [][2]string{{"h1", "h2"}, {"h1", "h3"}, {"m1", "m2"}} {
		if err := os.Link(p.ws+"/"+pair[0], p.ws+"/"+pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	o := mustRun(t, p.sh(p.profile(Overlay), `ln a.txt linked; echo more >> h1; echo more >> h2; rm m1 m2
		mv src lib && mv lib/one top && ln -s top l && mkdir d && mv a.txt d/`))
	for _, c := range o.Changes {
		if c.Outcome != Committed {
			t.Errorf("%s %s: %s, %s", c.Kind, c.Path, c.Outcome, c.Why)
		}
	}
	for name, want := range map[string]string{"linked": "one\n", "h1": "h1more\n", "h3": "h1", "top": "src/one", "lib/sub/two": "src/sub/two",
		"d/a.txt": "one\n"} {
		if got := p.read(p.ws + "/" + name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{"src", "m1", "m2", "a.txt"} {
		if _, err := os.Lstat(p.ws + "/" + name); err == nil {
			t.Error(name, "is still there")
		}
	}
	moved := map[string]string{}
	for _, c := range o.Changes {
		if c.Moved != "" {
			moved[strings.TrimPrefix(c.Path, p.ws+"/")] = strings.TrimPrefix(c.Moved, p.ws+"/")
		}
	}
	if moved["top"] != "src/one" || moved["src/one"] != "top" || moved["src/sub/two"] != "lib/sub/two" {
		t.Error("moved:", moved)
	}
}

// TestOverlayMore judges other directories like the workspace, and leaves sockets in them dead.
func TestOverlayMore(t *testing.T) {
	p := newPlace(t)
	more := p.base + "/more"
	p.write(more+"/old", "old")
	p.write(more+"/secret", "SECRET")
	p.write(more+"/kept/k", "k")
	prof := p.profile(Overlay)
	prof.Workspace.More = []string{more}
	prof.Hidden = append(prof.Hidden, more+"/secret")
	prof.ReadOnly = append(prof.ReadOnly, more+"/kept")
	var asked []string
	o := mustRun(t, p.sh(prof, `cd `+more+`; cat old secret; echo new > new; rm old; echo no > no; echo x > kept/k || echo kept; mv new new2; echo w > `+p.ws+`/w`,
		func(c *Command) {
			c.Judge = func(c Change) Verdict {
				asked = append(asked, filepath.Base(c.Path))
				if strings.HasSuffix(c.Path, "/no") {
					return Drop
				}
				return Commit
			}
		}))
	if o.has("SECRET") || !o.has("old") || !o.has("kept") {
		t.Errorf("%s%s", o.out, o.errs)
	}
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"new2", "no", "old", "w"}) {
		t.Error("asked", asked)
	}
	if p.read(more+"/new2") != "new\n" || p.read(p.ws+"/w") != "w\n" {
		t.Error("not committed", o.Changes)
	}
	for _, name := range []string{"old", "no"} {
		if _, err := os.Lstat(more + "/" + name); err == nil {
			t.Error(name, "is there")
		}
	}
	if left, _ := os.ReadDir(prof.Workspace.State); len(left) > 0 {
		t.Error("left", left)
	}
}

// TestLayeredTemp shows the machine's /tmp in a layer, with the workspace inside.
func TestLayeredTemp(t *testing.T) {
	p := newPlace(t)
	temp, err := os.MkdirTemp("/tmp", "confine-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer removeTree(temp)
	p.write(temp+"/seen", "seen")
	p.write(temp+"/ws/in", "in")
	prof := p.profile(Overlay)
	prof.Workspace.Root, prof.Workspace.More = temp+"/ws", []string{"/tmp"}
	script := `cat ` + temp + `/seen in; echo out > ` + temp + `/out; echo in2 > in2; f=$(mktemp); rm $f`
	for range 2 {
		o := p.sh(prof, script, func(c *Command) { c.Session = p.base + "/session" })
		if o.err != nil && strings.Contains(o.err.Error(), "mounts inside") {
			t.Skip("something is mounted in /tmp:", o.err)
		}
		mustRun(t, o)
		if !o.has("seenin") || p.read(temp+"/out") != "out\n" || p.read(temp+"/ws/in2") != "in2\n" {
			t.Errorf("%+v %s%s", o.Changes, o.out, o.errs)
		}
		os.Remove(temp + "/out")
		script = strings.Replace(script, "echo", `ls `+temp+`/out; echo`, 1)
	}
}

// TestLinkedDir starts in a directory that is reached by a link, as `cd ~/link; make` does.
func TestLinkedDir(t *testing.T) {
	p := newPlace(t)
	p.write(p.ws+"/sub/s", "s")
	link := p.base + "/link"
	if err := os.Symlink(p.ws, link); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Overlay, Through} {
		o := mustRun(t, p.sh(p.profile(mode), `pwd -P; cat s; cat `+link+`/sub/s; echo x > x`, func(c *Command) { c.Dir = link + "/sub" }))
		if o.out != p.ws+"/sub\nss" || p.read(p.ws+"/sub/x") != "x\n" {
			t.Errorf("%s: %q %s", mode, o.out, o.errs)
		}
	}
}

// TestOverlayGitStash stashes beside a read-only file that is changed: either all of it or an error.
func TestOverlayGitStash(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	p := newPlace(t)
	removeTree(p.ws + "/.git")
	p.write(p.ws+"/kept.yaml", "one\n")
	prepare := exec.Command("sh", "-c", `git init -q && git config user.email a@b && git config user.name n && git add a.txt kept.yaml && git commit -qm one && echo two >> kept.yaml && echo two >> a.txt`)
	prepare.Dir = p.ws
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	prof := p.profile(Overlay)
	prof.ReadOnly = append(prof.ReadOnly, p.ws+"/kept.yaml")
	o := mustRun(t, p.sh(prof, `git stash -q`))
	if o.Exit == 0 || p.read(p.ws+"/kept.yaml") != "one\ntwo\n" {
		t.Errorf("exit %d, %q %s%s", o.Exit, p.read(p.ws+"/kept.yaml"), o.out, o.errs)
	}
	show := exec.Command("git", "stash", "show", "-p")
	show.Dir = p.ws
	if text := p.read(p.ws + "/a.txt"); text != "one\ntwo\n" {
		if out, _ := show.CombinedOutput(); !strings.Contains(string(out), "+two") {
			t.Errorf("the work is neither there (%q) nor in the stash: %s", text, out)
		}
	}
}

// TestSignals ends a command by a signal, as an agent's time limit does, and keeps the changes made until then.
func TestSignals(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		script string
		sig    os.Signal
		exit   int
	}{
		{`echo done > done; echo .; while :; do sleep 0.05; done`, unix.SIGTERM, 143},
		{`echo done > done; echo .; while :; do sleep 0.05; done`, unix.SIGINT, 130},
		{`trap 'echo done > done; exit 7' TERM; echo .; while :; do sleep 0.05; done`, unix.SIGTERM, 7},
		{`trap '' TERM; echo done > done; echo .; while :; do sleep 0.05; done`, unix.SIGTERM, 137},
	} {
		for _, mode := range []Mode{Overlay, Through} {
			os.Remove(p.ws + "/done")
			ready, readyW, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			signals := make(chan os.Signal, 1)
			go func() {
				ready.Read(make([]byte, 1))
				signals <- test.sig
			}()
			o := mustRun(t, p.sh(p.profile(mode), test.script, func(c *Command) {
				c.Stdout, c.Signals, c.Keep = readyW, signals, mode == Through
				c.Session = p.base + "/session"
			}))
			readyW.Close()
			ready.Close()
			if o.Exit != test.exit || p.read(p.ws+"/done") != "done\n" {
				t.Errorf("%s %s, %v: exit %d, want %d; done is %q", mode, test.script, test.sig, o.Exit, test.exit, p.read(p.ws+"/done"))
			}
		}
	}
}
