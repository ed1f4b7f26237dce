package display

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ old, text, want string }{
		{"", "a\nb\n", "+ a|+ b"},
		{"a\nb\n", "", "- a|- b"},
		{"a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\ne\nf\n", "  b|  c|- d|+ X|  e|  f"},
		{"a\nb\nc\n", "a\nx\nb\ny\nc\n", "  a|+ x|  b|+ y|  c"},
		{"same\n", "same\n", "  same"},
	} {
		if got := strings.Join(Diff(tt.old, tt.text), "|"); got != tt.want {
			t.Errorf("%q %q: %s", tt.old, tt.text, got)
		}
	}
	big := strings.Repeat("x\n", 3000)
	if n := len(Diff("a\n"+big+"b", "c\n"+big+"d")); n < 3000 {
		t.Errorf("%d lines", n)
	}
}
