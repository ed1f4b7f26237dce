package gate

import (
	"os"
	"testing"
)

// TestMarksOnFullDisk: marks that could not be written are an error.
func TestMarksOnFullDisk(t *testing.T) {
	d := SessionDir(t.TempDir())
	if err := os.Symlink("/dev/full", d.file("s")); err != nil {
		t.Fatal(err)
	}
	if err := d.Mark("s", []string{"a"}); err == nil {
		t.Error("they are taken for written")
	}
	if err := d.Mark("other", []string{"a"}); err != nil {
		t.Error(err)
	}
}
