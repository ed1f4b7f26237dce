package display_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/face/display"
)

// TestHidden: what has no shape of its own is seen all the same, by whichever face shows it.
func TestHidden(t *testing.T) {
	for _, r := range []rune{0x00ad, 0x034f, 0x115f, 0x200b, 0x202e, 0x2066, 0x3164, 0xfe0f, 0xffa0, 0xfeff, 0xe0041} {
		if got := display.Visible("a" + string(r) + "b"); !strings.Contains(got, `\u`) && !strings.Contains(got, `\U`) {
			t.Errorf("%U stays hidden: %q", r, got)
		}
	}
}
