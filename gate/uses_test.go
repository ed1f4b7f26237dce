package gate

import (
	"strings"
	"testing"
	"time"
)

// TestUses: lines of a count are read as they are written, and what is no line counts for nothing.
func TestUses(t *testing.T) {
	at := time.Unix(1763460000, 0)
	for _, u := range []use{{at: at, kinds: "c", digest: "1f2e"}, {at: at, kinds: "cw", digest: "1f2e", more: "id of a limit"}, {at: at, kinds: "r", digest: "-", more: "id"}} {
		if got, ok := readUse(strings.TrimSuffix(u.String(), "\n")); !ok || got != u {
			t.Errorf("%q is read as %+v, %t", u.String(), got, ok)
		}
	}
	for _, line := range []string{"", "1763460000", "1763460000 c", "soon c 1f2e", " c 1f2e"} {
		if u, ok := readUse(line); ok {
			t.Errorf("%q is read as %+v", line, u)
		}
	}
	for digest, want := range map[string]string{"": "", "0123": "0123", "0123456789abcdef": "0123456789abcdef", "0123456789abcdef0": "0123456789abcdef"} {
		if got := short(digest); got != want {
			t.Errorf("%q in short is %q", digest, got)
		}
	}
	text := []byte("1763460000 c a\nno line\n1763470000 cw b\n")
	kept, uses := readUses(text, "calls\x00s", at.Add(time.Hour))
	if string(kept) != string(text) || len(uses) != 2 || uses[1].digest != "b" {
		t.Errorf("%q with %+v", kept, uses)
	}
}
