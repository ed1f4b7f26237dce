package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestFloodOfEvents: where more events wait than are read for one call, a relevant one may be among the rest, and
// something counts as changed.
func TestFloodOfEvents(t *testing.T) {
	dir := t.TempDir()
	k := newKernelEvents()
	if k == nil {
		t.Skip("the system has no inotify")
	}
	if _, ok := k.add(dir); !ok {
		t.Skip("the system cannot watch the temporary directory")
	}
	irrelevant := func(int32, string) bool { return false }
	make := func(n int) {
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, fmt.Sprint("f", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	make(3)
	if k.read(irrelevant) {
		t.Error("six events that are not watched for count")
	}
	make(maxReads * len(k.buf) / 32) // two events of 32 bytes each
	if !k.read(irrelevant) {
		t.Error("more events than are read do not count as a change")
	}
}
