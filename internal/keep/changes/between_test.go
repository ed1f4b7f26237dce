package changes

import (
	"strings"
	"testing"
)

// killedStep is the panic that ends a restore in the middle, as a kill does.
type killedStep struct{}

// killStep takes a change back and is killed before a step; done where it ends before that.
func killStep(t *testing.T, s *Store, c *Change, at int) (done bool) {
	t.Helper()
	p, err := s.Plan([]*Change{c})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s.step = func() {
		if n++; n == at {
			panic(killedStep{})
		}
	}
	defer func() {
		if r := recover(); r != nil && r != (killedStep{}) {
			panic(r)
		}
	}()
	if _, err := p.Apply(Of{Call: "undo"}); err != nil {
		t.Fatal(err)
	}
	return true
}

// TestWrittenBetween: paths that somebody writes between the kill of a restore and its end stay as they were written,
// and the others are as before the restore or as after it, all of them.
func TestWrittenBetween(t *testing.T) {
	const call = `echo 1 >a; rm -r d; echo 2 >b; rm l; mkdir l; rm -r empty; ln -s x empty; rm run; echo 1 >new; mkdir made; echo 1 >made/f; echo 2 >hard`
	for _, since := range []string{
		`printf mine >a`, `mkdir -p d; printf mine >d/c`, `rm -rf d; printf mine >d`, `mkdir -p d/e; printf mine >d/e/f`, `rm -rf l; ln -s mine l`,
		`rm -rf new; mkdir new; printf mine >new/in`, `mkdir -p made; printf mine >made/more`, `printf mine >hard`, `rm -rf d; ln -s /nowhere d`,
	} {
		t.Run(since, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at += 16 {
				s, dir := open(t), project(t)
				others := func() string {
					t.Helper()
					copied := t.TempDir()
					shell(t, dir, `cp -a . `+copied+`; cd `+copied+`; rm -rf a d l new made hard ld`)
					return hashOf(t, copied)
				}
				before := others()
				save(t, s, "c", dir, "/")
				shell(t, dir, call)
				after := others()
				c := end(t, s, "c")
				if killStep(t, s, c, at) {
					return
				}
				shell(t, dir, since+`; { grep -rl mine . || :; find . -type l -lname mine; } | sort >../mine`)
				next, err := Open(s.dir, Limits{})
				if err != nil {
					t.Fatalf("killed at %d: %v", at, err)
				}
				shell(t, dir, `{ grep -rl mine . || :; find . -type l -lname mine; } | sort | cmp - ../mine`)
				if c, err = next.Get(c.ID); err != nil {
					t.Fatal(err)
				}
				if want := map[bool]string{true: before, false: after}[c.Undone != ""]; others() != want {
					t.Errorf("killed at %d: taken back by %q, and the other paths are not as they should be", at, c.Undone)
				}
			}
		})
	}
}

// TestWrittenBetweenIsKept: what the path held before the restore can still be had, and the change can be taken back
// when the path is out of the way.
func TestWrittenBetweenIsKept(t *testing.T) {
	s, dir := open(t), project(t)
	before := hashOf(t, dir)
	save(t, s, "c", dir, "/")
	shell(t, dir, `echo two >a; echo two >b; rm -r empty`)
	after := hashOf(t, dir)
	c := end(t, s, "c")
	if killStep(t, s, c, 10) {
		t.Fatal("it was not killed")
	}
	shell(t, dir, `echo mine >a`)
	s, err := Open(s.dir, Limits{})
	if err != nil || !strings.Contains(s.Told(), "1 paths were changed since and stay so") {
		t.Fatalf("%v, told %q", err, s.Told())
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[0].ID == c.ID || list[1].Undone != "" {
		t.Fatalf("%v %v", list, err)
	}
	undo(t, s, list[0])
	if hashOf(t, dir) != after {
		t.Error("the contents from before the restore are lost")
	}
	undo(t, s, list[1])
	if hashOf(t, dir) != before {
		t.Error("it is not taken back")
	}
}
