package native

import "testing"

// TestVariable: a path that begins with a variable is refused, since it would match nothing; a name with a
// dollar in it is a name.
func TestVariable(t *testing.T) {
	for p, refused := range map[string]bool{"$HOME/p": true, "${HOME}/p": true, "$TMPDIR": true, "~/p": false, "$RECYCLE.BIN/x": false, "src/$x": false, "a$HOME": false, "$": false} {
		if _, why := newGlob(p); (why != "") != refused {
			t.Errorf("%s: %q", p, why)
		}
	}
}
