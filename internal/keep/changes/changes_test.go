package changes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/paths"
)

// hashOf is everything of a tree that undo has to bring back: names, contents, modes, links.
func hashOf(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		uid, gid := ownerOf(info)
		fmt.Fprintf(sum, "%q %v %d %d ", strings.TrimPrefix(p, dir), info.Mode(), uid, gid)
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%x\n", b)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			fmt.Fprintf(sum, "%q\n", to)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "changes"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// project makes a tree with one of each kind.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shell(t, dir, `printf a >a; printf b >b; mkdir -p d/e empty; printf c >d/c; printf f >d/e/f; ln -s a l; ln -s d ld; ln -s nowhere dangling
		chmod 640 b; chmod 750 d/e; printf x >"$(printf 'n\377m')"; printf y >'new
line'; ln d/c hard; truncate -s 300k sparse; printf s >>sparse; printf '#!/bin/sh\n' >run; chmod 755 run`)
	return dir
}

func shell(t *testing.T, dir, text string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", text)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// commands change a project; reach are the paths that each may change.
var commands = []struct {
	text  string
	reach []string // `d/` is everything below d
}{
	{`rm a`, []string{"a"}},
	{`rm -rf d`, []string{"d/"}},
	{`echo new >a`, []string{"a"}},
	{`echo new >n1`, []string{"n1"}},
	{`mv a b`, []string{"a", "b"}},
	{`mv d d2`, []string{"d/", "d2/"}},
	{`mkdir -p x/y/z; echo 1 >x/y/z/f`, []string{"x/y/z/"}},
	{`cp -r d copy`, []string{"copy/"}},
	{`chmod 600 run; chmod 500 d/e`, []string{"run", "d/e"}},
	{`chmod 000 a`, []string{"a"}},
	{`ln -sf b l`, []string{"l"}},
	{`rm l; mkdir l; echo in >l/x`, []string{"l/"}},
	{`rm -r empty; echo file >empty`, []string{"empty/"}},
	{`rm a; mkdir a; echo 1 >a/1`, []string{"a/"}},
	{`rm -rf d; ln -s empty d`, []string{"d/"}},
	{`echo more >>sparse`, []string{"sparse"}},
	{`rm sparse`, []string{"sparse"}},
	{`echo other >hard`, []string{"hard", "d/c"}},
	{`ln -f a b`, []string{"b"}},
	{`ln -f a hard; echo other >hard`, []string{"a", "hard"}},
	{`rm n*m; echo 1 >'new
line'`, []string{"n*"}},
	{`rm -f * || :`, []string{"*"}},
	{`rm -rf ..?* .[!.]* *`, []string{"/"}},
	{`echo through >ld/c`, []string{"d/c"}},
	{`chmod 500 d; chmod 500 d/e`, []string{"d", "d/e"}},
	{`rm -rf d/e; chmod 500 d`, []string{"d", "d/e/"}},
	{`find . -type f -delete`, []string{"/"}},
	{`sed -i s/a/z/ a b`, []string{"a", "b"}},
	{`: no change`, []string{"a", "b"}},
	{`touch a`, []string{"a"}},
	{`mkfifo pipe`, []string{"pipe"}},
}

func reachOf(dir string, names []string) (out []Reach) {
	for _, n := range names {
		at := dir + "/" + strings.TrimSuffix(n, "/")
		switch {
		case n == "/":
			out = append(out, Reach{Paths: paths.Under(dir)})
		case strings.HasSuffix(n, "/"):
			out = append(out, Reach{Paths: paths.Under(at)})
		case strings.Contains(n, "*"):
			out = append(out, Reach{Paths: paths.Matching(at)})
		default:
			out = append(out, Reach{Paths: paths.Exactly(at)})
		}
	}
	return out
}

func save(t *testing.T, s *Store, call, dir string, reach ...string) *Change {
	t.Helper()
	c, err := s.Save(Of{Call: call, Session: "s", Text: call, Dir: dir}, reachOf(dir, reach), false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func end(t *testing.T, s *Store, call string) *Change {
	t.Helper()
	c, err := s.End(call, "s")
	if err != nil || c == nil {
		t.Fatalf("%v %v", c, err)
	}
	return c
}

func undo(t *testing.T, s *Store, list ...*Change) *Change {
	t.Helper()
	p, err := s.Plan(list)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Apply(Of{Call: "undo", Text: "obstat undo"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUndo: after each command the tree is again as it was, undoing that brings back what the command did, and
// undoing this takes it back once more.
func TestUndo(t *testing.T) {
	for _, c := range commands {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			s, dir := open(t), project(t)
			before := hashOf(t, dir)
			save(t, s, c.text, dir, c.reach...)
			shell(t, dir, c.text)
			after := hashOf(t, dir)
			change := end(t, s, c.text)
			back := undo(t, s, change)
			if got := hashOf(t, dir); got != before {
				t.Fatalf("the tree differs after undo: %v", change.Differences())
			}
			if c.text == "mkfifo pipe" || after == before {
				return // a pipe is not made again; of a call that changed nothing no change is left
			}
			again := undo(t, s, back)
			if got := hashOf(t, dir); got != after {
				t.Fatalf("the tree differs after undo of undo: %v", again.Differences())
			}
			if first, err := s.Get(change.ID); err != nil || first.Undone != "" {
				t.Errorf("the change stands again, and is called undone by %q (%v)", first.Undone, err)
			}
			undo(t, s, again)
			if got := hashOf(t, dir); got != before {
				t.Fatal("the tree differs after the third")
			}
		})
	}
}

// TestUndoTogether: several changes of one session are taken back at once, in whatever order they overlap.
func TestUndoTogether(t *testing.T) {
	for seed := range uint64(12) {
		s, dir, r := open(t), project(t), rand.New(rand.NewPCG(seed, 1))
		before := hashOf(t, dir)
		var list []*Change
		var texts []string
		for i := range 1 + r.IntN(5) {
			c := commands[r.IntN(len(commands)-1)]
			call := fmt.Sprint(i, c.text)
			save(t, s, call, dir, "/")
			cmd := exec.Command("bash", "-c", c.text)
			cmd.Dir = dir
			cmd.Run() // may fail after another, and change something nevertheless
			list = append(list, end(t, s, call))
			texts = append(texts, c.text)
		}
		undo(t, s, list...)
		if got := hashOf(t, dir); got != before {
			t.Fatalf("seed %d: the tree differs after %q", seed, texts)
		}
	}
}

// TestUndoPart: of a call that changed two files one is taken back, and then the other; the call stands until nothing of
// it is left, and taking a part back can be taken back.
func TestUndoPart(t *testing.T) {
	s, dir := open(t), project(t)
	before := hashOf(t, dir)
	save(t, s, "two", dir, "/")
	shell(t, dir, "echo x >a; echo y >sub-new")
	after := hashOf(t, dir)
	change := end(t, s, "two")
	part := func(only ...string) *Change {
		t.Helper()
		p, err := s.Plan([]*Change{change}, only...)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Apply(Of{Call: "undo"})
		if err != nil {
			t.Fatal(err)
		}
		if change, err = s.Get(change.ID); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := part(filepath.Join(dir, "a"))
	if change.Undone != "" {
		t.Fatal("a part was taken back, and the whole is called undone")
	}
	undo(t, s, first)
	if got := hashOf(t, dir); got != after {
		t.Fatal("taking a part back was not taken back")
	}
	part(filepath.Join(dir, "a"))
	part()
	if got := hashOf(t, dir); got != before || change.Undone == "" {
		t.Fatalf("the rest was not taken back, or the change stands: %q", change.Undone)
	}
}

// TestChangedSince: a path that something else changed since is not put back, and neither is anything else.
func TestChangedSince(t *testing.T) {
	for _, c := range []struct{ text, since, why string }{
		{`echo 1 >a; echo 1 >b`, `echo mine >b`, "b: it was changed since"},
		{`rm a b`, `echo mine >a`, "a: it was changed since"},
		{`rm -r d`, `echo mine >d`, "d: it was changed since"},
		{`echo 1 >d/e/f`, `mv d/e elsewhere; ln -s ../elsewhere d/e`, "d/e/f: its directory has become a link"},
		{`echo 1 >a`, `rm a; mkdir a`, "a: it was changed since"},
		{`echo 1 >a`, `rm a; ln -s /etc/passwd a`, "a: it was changed since"},
		{`mkdir x; echo 1 >x/f`, `echo mine >x/own`, ""},
	} {
		t.Run(c.text+"; "+c.since, func(t *testing.T) {
			s, dir := open(t), project(t)
			save(t, s, "c", dir, "a", "b", "d/", "x/")
			shell(t, dir, c.text)
			change := end(t, s, "c")
			shell(t, dir, c.since)
			before := hashOf(t, dir)
			p, err := s.Plan([]*Change{change})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Apply(Of{})
			if c.why == "" {
				if err == nil || hashOf(t, dir) != before {
					t.Errorf("a directory with a file of another was removed: %v", err)
				}
				return
			}
			if !errors.Is(err, ErrAgainst) || !strings.Contains(strings.ReplaceAll(err.Error(), dir+"/", ""), c.why) {
				t.Errorf("%v, want %s", err, c.why)
			}
			if hashOf(t, dir) != before {
				t.Error("something was put back nevertheless")
			}
		})
	}
}

// TestTampered: contents or lists that were changed in the store are not put back.
func TestTampered(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "c", dir, "a")
	shell(t, dir, "rm a")
	change := end(t, s, "c")
	digest := change.Before[0].Digest
	if err := os.WriteFile(s.blob(digest), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan([]*Change{change})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(Of{}); !errors.Is(err, ErrAgainst) || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("%v", err)
	}
	kept, err := os.ReadFile(s.name(change.ID))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(kept, []byte(dir+"/a"), []byte(dir+"/b"), 1) // which would be put in its place
	for _, text := range [][]byte{[]byte(`{"id":`), other, kept[65:]} {
		if err := os.WriteFile(s.name(change.ID), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(change.ID); !errors.Is(err, ErrTampered) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
	for _, id := range []string{"", "../x", "a/b", "nothing"} {
		if _, err := s.Get(id); err == nil {
			t.Errorf("%q was found", id)
		}
	}
}

// TestGaps: what cannot be kept is said when it is saved, and undo is refused for it.
func TestGaps(t *testing.T) {
	s, dir := open(t), project(t)
	s.limits.File = 1 << 10
	shell(t, dir, "mkfifo pipe")
	c := save(t, s, "c", dir, "sparse", "pipe", "a")
	if len(c.Gaps) != 2 || !strings.Contains(c.Gaps[0].String(), "larger than") || !strings.Contains(c.Gaps[1].String(), "pipe") {
		t.Fatalf("gaps %v", c.Gaps)
	}
	shell(t, dir, "rm sparse a")
	p, err := s.Plan([]*Change{end(t, s, "c")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(Of{}); !errors.Is(err, ErrAgainst) {
		t.Errorf("%v", err)
	}
	if p, err = s.Plan(p.Changes, dir+"/a"); err != nil || len(p.Against) > 0 {
		t.Fatalf("%v %v", p.Against, err)
	}
	if _, err := p.Apply(Of{}); err != nil {
		t.Error(err)
	}
	s.limits.Files = 3
	if c := save(t, s, "many", dir, "/"); len(c.Gaps) != 1 || !strings.Contains(c.Gaps[0].Why, "more files") {
		t.Errorf("gaps %v", c.Gaps)
	}
	c, err = s.Save(Of{Call: "any"}, []Reach{{Paths: paths.Anything()}}, false)
	if err != nil || len(c.Gaps) != 1 {
		t.Errorf("%v %v", c, err)
	}
}

// TestStepsThatFail: where a step cannot be done, those before it are taken back.
func TestStepsThatFail(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "c", dir, "a", "b", "d/")
	shell(t, dir, "echo 1 >a; echo 1 >b; rm -r d")
	change := end(t, s, "c")
	before := hashOf(t, dir)
	p, err := s.Plan([]*Change{change})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s.step = func() { // contents go away in the middle
		if n++; n == 3*len(p.Steps) {
			os.RemoveAll(filepath.Join(s.dir, "blobs", treeOf(change.Before).at(dir + "/d/e/f").Digest[:2]))
		}
	}
	if _, err := p.Apply(Of{}); err == nil {
		t.Fatal("it was put back")
	}
	if hashOf(t, dir) != before {
		t.Error("half of it was put back")
	}
	s.step = func() {}
	if err := s.Recover(); err != nil {
		t.Error(err)
	}
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].Undone != "" {
		t.Errorf("%v %v", list, err)
	}
}

// TestKilled: a process that is killed at any step of taking back leaves a journal by which the next one ends it.
func TestKilled(t *testing.T) {
	type killed struct{}
	for at := 1; ; at += 9 { // TestKilledAtCalls has more
		s, dir := open(t), project(t)
		before := hashOf(t, dir)
		save(t, s, "c", dir, "/")
		shell(t, dir, "echo 1 >a; rm -r d; mkdir -p x/y; echo 1 >x/y/z; chmod 600 run; rm l; mkdir l; echo 1 >l/f; rm -r empty; ln -s x empty")
		change := end(t, s, "c")
		p, err := s.Plan([]*Change{change})
		if err != nil {
			t.Fatal(err)
		}
		n, done := 0, false
		s.step = func() {
			if n++; n == at {
				panic(killed{})
			}
		}
		func() {
			defer func() {
				if r := recover(); r != nil && r != (killed{}) {
					panic(r)
				}
			}()
			if _, err := p.Apply(Of{}); err != nil {
				t.Fatal(err)
			}
			done = true
		}()
		next, err := Open(s.dir, Limits{})
		if err != nil {
			t.Fatalf("killed at %d: %v", at, err)
		}
		if hashOf(t, dir) != before {
			t.Fatalf("killed at %d: the tree differs", at)
		}
		if c, err := next.Get(change.ID); err != nil || c.Undone == "" {
			t.Fatalf("killed at %d: %v, undone by %q", at, err, c.Undone)
		}
		if done {
			return
		}
	}
}

// TestSweep: what is too old or too much goes, the oldest first, and contents that nothing needs with it.
func TestSweep(t *testing.T) {
	s, dir := open(t), project(t)
	clock := time.Now()
	s.now = func() time.Time { return clock }
	save(t, s, "old", dir, "a")
	clock = clock.Add(8 * 24 * time.Hour)
	save(t, s, "new", dir, "b")
	clock = clock.Add(time.Second)
	secret, err := s.Save(Of{Call: "secret"}, reachOf(dir, []string{"run"}), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[1].Call != "new" {
		t.Fatalf("%v %v", list, err)
	}
	clock = clock.Add(2 * time.Hour)
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if list, _ := s.List(); len(list) != 1 {
		t.Fatalf("a secret is still kept: %v", list)
	}
	if _, err := os.Lstat(s.blob(secret.Before[0].Digest)); err == nil {
		t.Error("its contents are")
	}
	s.limits.Total = 1
	clock = clock.Add(time.Second)
	save(t, s, "more", dir, "d/c", "d/e/f")
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if list, _ := s.List(); len(list) != 0 {
		t.Errorf("%d are kept with a budget of a byte", len(list))
	}
	c := save(t, s, "forget", dir, "a", "b")
	if n, err := s.Forget(dir + "/a"); err != nil || n != 1 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := os.Lstat(s.blob(c.Before[0].Digest)); err == nil {
		t.Error("forgotten contents are kept")
	}
}

// TestMerge: lines that something else changed since stay, those of the call go back; on the same lines it is a
// conflict, and nothing is put back.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ call, since, want string }{
		{`sed -i s/3/THREE/ n`, `sed -i s/8/EIGHT/ n`, "1 2 3 4 5 6 7 EIGHT 9"},
		{`sed -i s/3/THREE/ n`, `printf '10\n' >>n`, "1 2 3 4 5 6 7 8 9 10"},
		{`sed -i '3d;4d' n`, `sed -i s/9/NINE/ n`, "1 2 3 4 5 6 7 8 NINE"},
		{`sed -i '3a x' n`, `sed -i 1d n`, "2 3 4 5 6 7 8 9"},
		{`chmod 600 n; sed -i s/1/ONE/ n`, `sed -i s/9/NINE/ n`, "1 2 3 4 5 6 7 8 NINE"},
		{`sed -i s/3/THREE/ n`, `sed -i s/THREE/three/ n`, ""},
		{`sed -i s/3/THREE/ n`, `sed -i 3d n`, ""},
		{`sed -i s/3/THREE/ n`, `printf '\377' >>n`, ""},
		{`rm n`, `seq 5 >n`, ""},
		{`echo new >b2`, `echo more >>b2`, ""},
		{`sed -i s/3/THREE/ n`, `rm n; mkdir n`, ""},
		{`sed -i s/3/THREE/ n`, `mv n m; ln -s m n`, ""},
	} {
		t.Run(c.call+"; "+c.since, func(t *testing.T) {
			s, dir := open(t), project(t)
			shell(t, dir, "seq 9 >n; chmod 640 n")
			save(t, s, "c", dir, "n", "b2")
			shell(t, dir, c.call)
			change := end(t, s, "c")
			shell(t, dir, c.since)
			before := hashOf(t, dir)
			p, err := s.Plan([]*Change{change})
			if err != nil || len(p.Against) != 1 {
				t.Fatalf("%v %v", err, p.Against)
			}
			if err := p.Merge(); err != nil {
				t.Fatal(err)
			}
			back, err := p.Apply(Of{})
			if c.want == "" {
				if !errors.Is(err, ErrAgainst) || hashOf(t, dir) != before {
					t.Errorf("a conflict was put back: %v", err)
				}
				return
			}
			b, _ := os.ReadFile(dir + "/n")
			if got := strings.Join(strings.Fields(string(b)), " "); err != nil || got != c.want {
				t.Fatalf("%q %v, want %q", got, err, c.want)
			}
			if info, err := os.Stat(dir + "/n"); err != nil || info.Mode() != 0o640 {
				t.Errorf("mode %v %v", info.Mode(), err)
			}
			undo(t, s, back)
			if hashOf(t, dir) != before {
				t.Error("taking the merge back does not bring the later text back")
			}
		})
	}
}

// TestTwoAtOnce: of two calls that changed a file at the same time, neither is taken back alone, and others are.
func TestTwoAtOnce(t *testing.T) {
	s, dir := open(t), project(t)
	clock := time.Now()
	s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	save(t, s, "one", dir, "a", "b")
	save(t, s, "two", dir, "a")
	shell(t, dir, "echo 1 >a; echo 1 >b")
	one := end(t, s, "one")
	shell(t, dir, "echo 2 >a")
	two := end(t, s, "two")
	before := hashOf(t, dir)
	for _, list := range [][]*Change{{one}, {two}, {one, two}} {
		p, err := s.Plan(list)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply(Of{}); !errors.Is(err, ErrAgainst) || hashOf(t, dir) != before {
			t.Errorf("%d changes: %v", len(list), err)
		}
	}
	p, err := s.Plan([]*Change{one}, dir+"/b")
	if err != nil || len(p.Against) > 0 {
		t.Fatalf("%v %v", p.Against, err)
	}
	if _, err := p.Apply(Of{}); err != nil {
		t.Error(err)
	}
}

// TestWrittenMeanwhile: of a file that is written to while it is kept, whole contents are kept or none.
func TestWrittenMeanwhile(t *testing.T) {
	s, dir := open(t), project(t)
	f, err := os.OpenFile(dir+"/a", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				f.Write([]byte(strings.Repeat("x", 4096)))
				f.Truncate(8192)
			}
		}
	}()
	for i := range 20 {
		c := save(t, s, fmt.Sprint(i), dir, "a")
		if len(c.Gaps) == 1 && strings.Contains(c.Gaps[0].Why, "written to") {
			continue
		}
		if len(c.Gaps) > 0 || s.sound(c.Before[0].Digest) != nil {
			t.Errorf("%v %+v", c.Gaps, c.Before)
		}
	}
	close(stop)
	<-stopped
}

// TestAfterCheckout: on another branch, or after a rebase, a file that differs there is not overwritten; one that is
// the same is put back.
func TestAfterCheckout(t *testing.T) {
	for since, refused := range map[string]bool{
		"git stash -q; git checkout -q other":                     true,
		"git commit -qam x; git checkout -q other":                true,
		"git commit -qam x; git rebase -q other 2>/dev/null || :": true,
		"git commit -qam x":                                       false,
		"git checkout -q -b third":                                false,
	} {
		s, dir := open(t), project(t)
		shell(t, dir, `git init -q -b main; git config user.name a; git config user.email a@b.c; git add a b; git commit -qm one
			git checkout -q -b other; echo other >a; git commit -qam two; git checkout -q main`)
		save(t, s, "c", dir, "a", "b")
		shell(t, dir, "echo mine >a; echo mine >b")
		change := end(t, s, "c")
		shell(t, dir, since)
		before := hashOf(t, dir)
		p, err := s.Plan([]*Change{change})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Apply(Of{})
		if refused != errors.Is(err, ErrAgainst) || refused && hashOf(t, dir) != before {
			t.Errorf("%s: %v", since, err)
		}
	}
}
