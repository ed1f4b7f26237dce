package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// kinds prints changes as `created file b.txt committed`, sorted.
func kinds(root string, changes []Change) []string {
	var out []string
	for _, c := range changes {
		rel, _ := filepath.Rel(root, c.Path)
		out = append(out, fmt.Sprintf("%s %s %s %s", c.Kind, c.Type, rel, c.Outcome))
	}
	slices.Sort(out)
	return out
}

func mustRun(t *testing.T, o output) output {
	t.Helper()
	if o.err != nil {
		t.Fatalf("%v\n%s%s", o.err, o.out, o.errs)
	}
	return o
}

func TestOverlayChanges(t *testing.T) {
	p := newPlace(t)
	p.write(p.ws+"/d/x", "x")
	p.write(p.ws+"/d/y", "y")
	p.write(p.ws+"/gone/a", "a")
	p.write(p.ws+"/e/old", "old")
	p.write(p.ws+"/t", "t")
	p.write(p.ws+"/m", "m")
	p.write(p.ws+"/same", "same")
	p.write(p.ws+"/file-to-dir", "f")
	o := mustRun(t, p.sh(p.profile(Overlay), `
		echo two >> a.txt; echo new > b.txt; rm d/x; rm -rf gone; rm -rf e; mkdir e; echo new > e/new
		touch -d 2001-01-01 t; chmod 700 m; exec 3<>same; ln -s a.txt link; mkdir -p n/p; echo deep > n/p/q; ln b.txt hard
		rm file-to-dir; mkdir file-to-dir; echo in > file-to-dir/in; mkfifo pipe; chmod 750 d`))
	want := []string{
		"changed file a.txt committed", "created dir file-to-dir committed", "created dir n committed", "created dir n/p committed",
		"created fifo pipe committed", "created file b.txt committed", "created file e/new committed", "created file file-to-dir/in committed",
		"created file hard committed", "created file n/p/q committed", "created link link committed", "deleted dir gone committed",
		"deleted file d/x committed", "deleted file e/old committed", "deleted file file-to-dir committed", "deleted file gone/a committed",
		"mode dir d committed", "mode file m committed", "touched file t committed",
	}
	if got := kinds(p.ws, o.Changes); !slices.Equal(got, want) {
		t.Errorf("changes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "b.txt": "new\n", "d/y": "y", "e/new": "new\n", "n/p/q": "deep\n", "hard": "new\n",
		"link": "one\ntwo\n", "file-to-dir/in": "in\n", ".env": "SECRET-ENV"} {
		if got := p.read(p.ws + "/" + name); got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
	for _, name := range []string{"d/x", "gone", "e/old"} {
		if _, err := os.Lstat(p.ws + "/" + name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there", name)
		}
	}
	var a, b unix.Stat_t
	unix.Stat(p.ws+"/b.txt", &a)
	unix.Stat(p.ws+"/hard", &b)
	if a.Ino != b.Ino {
		t.Error("hard links are two files now")
	}
	if info, _ := os.Stat(p.ws + "/m"); info.Mode().Perm() != 0o700 {
		t.Error("mode", info.Mode())
	}
	if info, _ := os.Stat(p.ws + "/t"); info.ModTime().Year() != 2001 {
		t.Error("time", info.ModTime())
	}
	if left, _ := os.ReadDir(p.base + "/state"); len(left) > 0 {
		t.Error("left in the state directory:", left)
	}
	for _, name := range []string{"a.txt", "b.txt", "n", "n/p/q"} {
		if attrs := attributes(p.ws + "/" + name); len(attrs) > 0 {
			t.Errorf("%s has %v", name, attrs)
		}
	}
}

func TestOverlayAcrossFileSystems(t *testing.T) {
	p := newPlace(t)
	state, err := os.MkdirTemp("/dev/shm", "confine-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer removeTree(state)
	if sameDevice(state, p.ws) {
		t.Skip("/dev/shm is on the workspace's file system")
	}
	prof := p.profile(Overlay)
	prof.Workspace.State = state
	o := p.sh(prof, `echo two >> a.txt; mkdir -p n/p; echo q > n/p/q; chmod 751 n/p; ln -s q n/p/l; rm -rf .git/x; mkfifo f`)
	mustRun(t, o)
	if p.read(p.ws+"/a.txt") != "one\ntwo\n" || p.read(p.ws+"/n/p/l") != "q\n" {
		t.Error("not committed", o.Changes)
	}
	if info, err := os.Stat(p.ws + "/n/p"); err != nil || info.Mode().Perm() != 0o751 {
		t.Error("mode", info)
	}
}

func TestOverlayJudge(t *testing.T) {
	p := newPlace(t)
	judge := func(c *Command) {
		c.Judge = func(c Change) Verdict {
			if c.Type == "file" && c.Kind == Created && p.read(c.Layer) == "bad\n" || strings.HasSuffix(c.Path, "/dir") {
				return Drop
			}
			return Commit
		}
	}
	o := mustRun(t, p.sh(p.profile(Overlay), `echo bad > x; echo good > y; mkdir dir; echo good > dir/z; cp /bin/true s; chmod 2755 s; rm .git/config; mkdir .husky; echo x > .husky/pre-commit`, judge))
	want := []string{"created dir .husky refused", "created dir dir dropped", "created file .husky/pre-commit refused", "created file dir/z dropped",
		"created file s refused", "created file x dropped", "created file y committed"}
	if got := kinds(p.ws, o.Changes); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(o.Refused) != 3 || !o.Refused[0].Exact {
		t.Errorf("refused: %v", o.Refused)
	}
	none := mustRun(t, p.sh(p.profile(Overlay), `echo x > w`, func(c *Command) { c.Judge = nil }))
	if got := kinds(p.ws, none.Changes); !slices.Equal(got, []string{"created file w dropped"}) {
		t.Errorf("without a judge: %q", got)
	}
}

// TestOverlayConflict changes files outside while the command runs.
func TestOverlayConflict(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"both", "deleted-outside", "deleted-inside", "kept/inner"} {
		p.write(p.ws+"/"+name, "before")
	}
	prof := p.profile(Overlay)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, readyW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		ready.Read(make([]byte, 1))
		p.write(p.ws+"/both.new", "outside")
		os.Rename(p.ws+"/both.new", p.ws+"/both")
		os.Remove(p.ws + "/deleted-outside")
		p.write(p.ws+"/deleted-inside", "outside")
		p.write(p.ws+"/new-on-both-sides", "outside")
		p.write(p.ws+"/kept/late", "outside")
		p.write(p.ws+"/.env.new", "SECRET-NEW")
		os.Rename(p.ws+"/.env.new", p.ws+"/.env") // a hidden name that is replaced stays hidden
		w.Close()
	}()
	o := mustRun(t, p.sh(prof, `echo inside > new-on-both-sides; for f in both deleted-outside; do echo inside >> $f; done; echo . ; cat; cat .env; rm deleted-inside; rm -rf kept`,
		func(c *Command) { c.Stdin, c.Stdout = r, readyW }))
	if o.has("SECRET") {
		t.Error("a replaced hidden file shows", o.out)
	}
	want := map[string]Outcome{"both": Conflict, "deleted-outside": Conflict, "deleted-inside": Conflict, "new-on-both-sides": Conflict,
		"kept/late": Conflict, "kept/inner": Committed, "kept": Conflict}
	got := map[string]Outcome{}
	for _, c := range o.Changes {
		rel, _ := filepath.Rel(p.ws, c.Path)
		got[rel] = c.Outcome
	}
	for name, outcome := range want {
		if got[name] != outcome {
			t.Errorf("%s: %q, want %q", name, got[name], outcome)
		}
	}
	for name, text := range map[string]string{"both": "outside", "deleted-inside": "outside", "new-on-both-sides": "outside", "kept/late": "outside"} {
		if p.read(p.ws+"/"+name) != text {
			t.Errorf("%s is %q", name, p.read(p.ws+"/"+name))
		}
	}
}

// TestRecover stops a commit after each step and lets Recover finish it.
func TestRecover(t *testing.T) {
	script := `echo two >> a.txt; rm -rf old; mkdir n; echo x > n/x; echo y > y; chmod 700 m; touch -d 2001-01-01 t; ln -s y l`
	for _, across := range []bool{false, true} {
		for stop := 1; stop <= 8; stop++ {
			p := newPlace(t)
			p.write(p.ws+"/old/o", "o")
			p.write(p.ws+"/m", "m")
			p.write(p.ws+"/t", "t")
			prof := p.profile(Overlay)
			if across {
				dir, err := os.MkdirTemp("/dev/shm", "confine-test-")
				if err != nil {
					t.Fatal(err)
				}
				defer removeTree(dir)
				prof.Workspace.State = dir
			}
			o := p.sh(prof, script, func(c *Command) { c.sim.KillCommit = stop })
			if o.err == nil {
				continue // fewer steps than that
			}
			if !errors.Is(o.err, errStopped) {
				t.Fatal(o.err)
			}
			if _, err := Recover(prof.Workspace.State); err != nil {
				t.Fatalf("stopped after %d: %v", stop, err)
			}
			for name, text := range map[string]string{"a.txt": "one\ntwo\n", "n/x": "x\n", "y": "y\n", "l": "y\n"} {
				if got := p.read(p.ws + "/" + name); got != text {
					t.Errorf("stopped after %d: %s is %q, want %q", stop, name, got, text)
				}
			}
			if _, err := os.Lstat(p.ws + "/old"); err == nil {
				t.Errorf("stopped after %d: old is still there", stop)
			}
			if left, _ := os.ReadDir(prof.Workspace.State); len(left) > 0 {
				t.Errorf("stopped after %d: left %v", stop, left)
			}
		}
	}
}

func TestRecoverDropsLayersWithoutJournal(t *testing.T) {
	p := newPlace(t)
	state := p.base + "/state"
	l, err := newLayers(state, p.ws)
	if err != nil {
		t.Fatal(err)
	}
	p.write(l.upper+"/a.txt", "changed")
	if _, err := Recover(state); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.dir); err != nil {
		t.Error("the layers of a run that is alive are gone")
	}
	l.lock.Close() // as if killed
	o := mustRun(t, p.sh(p.profile(Overlay), `true`))
	if e := o.Earlier; len(e) != 1 || e[0].Path != p.ws+"/a.txt" || e[0].Outcome != Dropped {
		t.Errorf("the next run tells %+v", e)
	}
	if left, _ := os.ReadDir(state); len(left) > 0 || p.read(p.ws+"/a.txt") != "one\n" {
		t.Error("left", left, p.read(p.ws+"/a.txt"))
	}
}
