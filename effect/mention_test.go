package effect

import (
	"slices"
	"testing"
)

// The parts of a word that may be a file.
func TestPieces(t *testing.T) {
	for word, want := range map[string][]string{
		"a": {"a"}, "y=%a": {"a"}, "s,^,a/,": {"a/"}, `--transform=s/^/a\/b\//`: {"a/b/"}, "--from-file=a": {"a"}, "src=a": {"src", "a"}, "@a": {"a"}, "f@a": {"f", "a"}, "-oa": {"a"}, "x:a,b": {"x", "a", "b"},
	} {
		got := Pieces(word, false)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q has no %q", word, got, w)
			}
		}
	}
}
