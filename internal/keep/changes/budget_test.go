package changes

import (
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// diskUse is the size of a directory as `du` tells it.
func diskUse(t *testing.T, dir string) int64 {
	t.Helper()
	out, err := exec.Command("du", "-sk", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(out))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestBudget: calls that together change far more than the budget, in less time than lies between two sweeps, leave the
// store within it after each of them, and the latest call can be taken back.
func TestBudget(t *testing.T) {
	if _, err := exec.LookPath("du"); err != nil {
		t.Skip("the size on the disk is taken from du, which is not here")
	}
	at, dir := t.TempDir(), project(t)
	const budget = 4 << 20
	s, err := Open(at, Limits{Total: budget})
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 200<<10)
	for call := range 60 {
		save(t, s, "c", dir, "a", "b", "d/")
		if used := diskUse(t, at); used > budget {
			t.Fatalf("%d bytes are used while call %d runs", used, call)
		}
		rand.Read(content)
		if err := os.WriteFile(dir+"/a", content, 0o600); err != nil {
			t.Fatal(err)
		}
		shell(t, dir, "date +%N >b; echo x >>d/c")
		c := end(t, s, "c")
		if err := s.SweepNow(); err != nil {
			t.Fatal(err)
		}
		if used := diskUse(t, at); used > budget {
			t.Fatalf("%d bytes are used after call %d", used, call)
		}
		if p, err := s.Plan([]*Change{c}); err != nil || len(p.Against) > 0 {
			t.Fatalf("call %d cannot be taken back: %v %v", call, p.Against, err)
		}
	}
	list, err := s.List()
	if err != nil || len(list) < 5 || len(list) > 20 {
		t.Errorf("%d changes are kept, %v", len(list), err)
	}
	if err := os.WriteFile(dir+"/a", make([]byte, budget*3/4), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(Of{Call: "large"}, reachOf(dir, []string{"a"}), false); err == nil {
		t.Error("a call that does not fit beside others is kept")
	}
}
