package changes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/paths"
)

// TestTakenBackAgainAndAgain: each undo of an undo turns around which of the changes before it stand.
func TestTakenBackAgainAndAgain(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "c", dir, "a")
	shell(t, dir, "rm a")
	line := []*Change{end(t, s, "c")}
	for n := range 4 {
		line = append(line, undo(t, s, line[n]))
		for i := range line {
			c, err := s.Get(line[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			// Each change stands that an even number of undos lies behind, and the latest.
			if stands := (len(line)-1-i)%2 == 0; stands != (c.Undone == "") {
				t.Errorf("after %d undos the change %d is taken back by %q", n+1, i, c.Undone)
			}
			line[i] = c
		}
	}
}

// TestPartOfDeletedDirectory: a file comes back with the directories that it needs, and no more of them.
func TestPartOfDeletedDirectory(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "c", dir, "d/")
	shell(t, dir, "rm -rf d")
	c := end(t, s, "c")
	p, err := s.Plan([]*Change{c}, dir+"/d/e/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(Of{}); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, `[ "$(cat d/e/f)" = f ]; [ ! -e d/c ]; [ "$(stat -c %a d/e)" = 750 ]`)
	// A directory that was made again is left as it is.
	shell(t, dir, "rm -rf d; mkdir -m 711 d")
	if p, err = s.Plan([]*Change{c}, dir+"/d/c"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(Of{}); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, `[ "$(cat d/c)" = c ]; [ "$(stat -c %a d)" = 711 ]`)
}

// TestMoreThanKept: a call that makes more or larger files than one call's limits is taken back whole, also by one that
// does not know the limits of the policy that it was kept under.
func TestMoreThanKept(t *testing.T) {
	s, dir := open(t), project(t)
	s.limits.Files, s.limits.File, s.limits.Call = 10, 100, 150
	before := hashOf(t, dir)
	save(t, s, "c", dir, "new/")
	shell(t, dir, `mkdir new; for i in $(seq 30); do head -c 300 /dev/zero >new/$i; done`)
	c := end(t, s, "c")
	if n := len(c.Differences()); n != 31 {
		t.Errorf("%d paths are known to have changed", n)
	}
	back := undo(t, s, c)
	if hashOf(t, dir) != before {
		t.Error("it is not as it was")
	}
	undo(t, s, back)
	shell(t, dir, `[ $(ls new | wc -l) = 30 ]`)
}

// TestManyFilesBeside: directories in which no path of a pattern lies are not looked into, so that a large one beside a
// file that `sed -i.bak` changes speaks against nothing.
func TestManyFilesBeside(t *testing.T) {
	s, dir := open(t), project(t)
	s.limits.Files = 10
	shell(t, dir, `mkdir many; for i in $(seq 400); do : >many/$i; done`)
	c := save(t, s, "c", dir, "a*")
	if len(c.Gaps) > 0 {
		t.Fatalf("%v", c.Gaps)
	}
	before := hashOf(t, dir)
	shell(t, dir, "sed -i.bak s/a/z/ a")
	undo(t, s, end(t, s, "c"))
	if hashOf(t, dir) != before {
		t.Error("it is not as it was")
	}
}

// TestTooLargeToTakeBack: a file that does not fit the store is not taken away, since it could not be put back.
func TestTooLargeToTakeBack(t *testing.T) {
	s, dir := open(t), project(t)
	s.limits.Total = 1 << 20
	save(t, s, "c", dir, "big")
	shell(t, dir, "truncate -s 2M big")
	p, err := s.Plan([]*Change{end(t, s, "c")})
	if err != nil || len(p.Against) != 1 || !strings.Contains(p.Against[0].String(), "/big: it is larger than 1 MB") {
		t.Fatalf("%v %v", p.Against, err)
	}
}

// TestBrokenAmongOthers: a change whose file was tampered with is told, and the others can be listed, taken back and
// swept; it goes when it is too old.
func TestBrokenAmongOthers(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "bad", dir, "b")
	bad := end(t, s, "bad")
	save(t, s, "c", dir, "a")
	shell(t, dir, "rm a")
	c := end(t, s, "c")
	if err := os.WriteFile(s.name(bad.ID), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if len(list) != 1 || !errors.Is(err, ErrTampered) {
		t.Errorf("%d changes, %v", len(list), err)
	}
	if err := s.Sweep(); err != nil {
		t.Errorf("sweep: %v", err)
	}
	undo(t, s, c)
	shell(t, dir, "[ -e a ]")
	s.now = func() time.Time { return time.Now().Add(30 * 24 * time.Hour) }
	if err := s.Sweep(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(s.name(bad.ID)); err == nil {
		t.Error("it is kept for ever")
	}
}

// TestLaterCallIsNamed: a half of a session is refused where the other half changed the same file, and that is named.
func TestLaterCallIsNamed(t *testing.T) {
	s, dir := open(t), project(t)
	clock := time.Now()
	s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	var calls []*Change
	for i := range 3 {
		call := fmt.Sprint(i)
		save(t, s, call, dir, "a", "b")
		shell(t, dir, fmt.Sprintf("echo %d >a; [ %d != 1 ] || echo 1 >b", i, i))
		calls = append(calls, end(t, s, call))
	}
	p, err := s.Plan(calls[:2]) // the earlier half
	if err != nil || len(p.Against) != 1 || !strings.Contains(p.Against[0].Why, "by the later call "+ShortID(calls[2].ID)) {
		t.Fatalf("%v %v", p.Against, err)
	}
	before := hashOf(t, dir)
	if _, err := p.Apply(Of{}); !errors.Is(err, ErrAgainst) || hashOf(t, dir) != before {
		t.Errorf("half of it was taken back: %v", err)
	}
	undo(t, s, calls[1:]...) // the later half
	shell(t, dir, `[ "$(cat a)" = 0 ]; [ "$(cat b)" = b ]`)
}

// TestNothingChanged: a call that changed nothing leaves no change behind.
func TestNothingChanged(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "c", dir, "a")
	shell(t, dir, "touch a")
	end(t, s, "c")
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("%d changes, %v", len(list), err)
	}
}

// TestSameSizeAndTime: contents that were written with the size and the time of those before are seen to differ.
func TestSameSizeAndTime(t *testing.T) {
	s, dir := open(t), project(t)
	name := filepath.Join(dir, "a")
	for i := range 30 {
		info, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Save(Of{Call: "c", Session: "s"}, []Reach{{Paths: paths.Exactly(name)}}, false)
		if err != nil || i%2 == 1 && len(c.Before) != 1 {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(fmt.Sprint(i % 10)[:1])
		if err = errors.Join(err, f.Close(), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
		if c := end(t, s, "c"); len(c.Differences()) != 1 {
			t.Fatalf("time %d: the difference is not seen", i)
		}
	}
}

// TestTornEnding: of a process that was killed while it noted how a call ended, the call has not ended, and can be
// noted again.
func TestTornEnding(t *testing.T) {
	s, dir := open(t), project(t)
	before := hashOf(t, dir)
	c := save(t, s, "c", dir, "a", "n1")
	shell(t, dir, "rm a; echo 1 >n1")
	f, err := os.OpenFile(s.name(c.ID), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("\n{\"ended\":\"2026-01-02T03:04:05Z\",\"gone\":[\"/x")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(c.ID); err != nil || !got.Ended.IsZero() {
		t.Fatalf("%+v %v", got, err)
	}
	end(t, s, "c")
	got, err := s.Get(c.ID)
	if err != nil || len(got.Differences()) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	undo(t, s, got)
	if hashOf(t, dir) != before {
		t.Error("it is not as it was")
	}
}

// TestDeclinedThenRun: of the same call twice, the first of which was declined, the second is the one that ends.
func TestDeclinedThenRun(t *testing.T) {
	s, dir := open(t), project(t)
	first := save(t, s, "c", dir, "a")
	shell(t, dir, "echo mine >a")
	second := save(t, s, "c", dir, "a")
	shell(t, dir, "rm a")
	if c := end(t, s, "c"); c.ID != second.ID {
		t.Errorf("%s ended", c.ID)
	}
	undo(t, s, kept(t, s, second.ID))
	shell(t, dir, `[ "$(cat a)" = mine ]`)
	s.now = func() time.Time { return time.Now().Add(30 * 24 * time.Hour) }
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, "open")); len(left) > 0 {
		t.Errorf("%s is said to run for ever", first.ID)
	}
}

func kept(t *testing.T, s *Store, id string) *Change {
	t.Helper()
	c, err := s.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEndOfID: the end of an ID stands for a change from four characters on; a shorter one is the name of a file.
func TestEndOfID(t *testing.T) {
	s, dir := open(t), project(t)
	save(t, s, "c", dir, "a")
	shell(t, dir, "rm a")
	id := end(t, s, "c").ID
	if c, err := s.Get(id[len(id)-4:]); err != nil || c.ID != id {
		t.Errorf("the last four of %s: %v, %v", id, c, err)
	}
	if c, err := s.Get(id[len(id)-3:]); !errors.Is(err, ErrUnknown) {
		t.Errorf("the last three of %s: %v, %v", id, c, err)
	}
}
