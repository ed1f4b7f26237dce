package policy

import (
	"strings"
	"testing"
	"time"
)

// A path of 64 kB, which nobody can open, is not looked for on every level.
func TestNeighboursOfLongPath(t *testing.T) {
	start := time.Now()
	if out := new(Neighbours).Of([]string{strings.Repeat("/a", 32_000)}, nil, ""); out != nil || time.Since(start) > time.Second {
		t.Errorf("%d directories after %v", len(out), time.Since(start))
	}
}
