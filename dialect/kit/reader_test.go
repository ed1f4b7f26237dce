package kit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/dialect"
)

// TestCursor: a place is what counting from the start finds.
func TestCursor(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "\n", "\r\n", "\r", "é", "\u4e16", "\xff", "\ufeff", "😀", " "})
	rapid.Check(t, func(t *rapid.T) {
		f := &dialect.File{Name: "f", Data: []byte(strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), ""))}
		var c cursor
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, len(f.Data)+1), 1, 6).Draw(t, "offsets") {
			if at < len(f.Data) && !utf8.RuneStart(f.Data[at]) {
				continue // within a character: nobody asks
			}
			if got, want := c.pos(f, at), f.Pos(at); got != want {
				t.Fatalf("byte %d of %q is at %v, want %v", at, f.Data, got, want)
			}
		}
	})
}

// TestSubcommand: only a word that may say what a program does stands in a rule without its arguments.
func TestSubcommand(t *testing.T) {
	for word, want := range map[string]bool{"push": true, "run-script": true, "-C": false, "./x": false, "a.txt": false, "x=1": false, "host:80": false, "'a b'": false, "": false} {
		if Subcommand(word) != want {
			t.Errorf("%q: want %t", word, want)
		}
	}
}
