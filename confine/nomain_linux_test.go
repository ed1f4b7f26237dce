package confine_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoMain: a program that forgets Main is told so, and does not start itself without end.
func TestNoMain(t *testing.T) {
	out, err := exec.Command("go", "run", "./testdata/nomain").CombinedOutput()
	if err == nil || strings.Count(string(out), "does not call confine.Main") != 1 {
		t.Errorf("%v: %s", err, out)
	}
}
