package display

import (
	"slices"
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

// TestFolded: a long difference of JSON has a line for each event, and every word that it had.
func TestFolded(t *testing.T) {
	old := "{\n  \"model\": \"m\"\n}\n"
	event := func(name string) string {
		return "    \"" + name + "\": [\n      {\n        \"hooks\": [\n          {\n            \"command\": \"run it\",\n            \"timeout\": 6\n          }\n        ]\n      }\n    ]"
	}
	text := "{\n  \"model\": \"m\",\n  \"hooks\": {\n" + event("Before") + ",\n" + event("After") + "\n  }\n}\n"
	lines := Diff(old, text)
	folded := Folded(lines)
	one := `+     "Before": [ { "hooks": [ { "command": "run it", "timeout": 6 } ] } ],`
	if len(folded) > 10 || !slices.Contains(folded, one) {
		t.Errorf("%d lines:\n%s", len(folded), strings.Join(folded, "\n"))
	}
	words := func(lines []string) string {
		return strings.NewReplacer("+", "", "\n", " ").Replace(strings.Join(lines, " "))
	}
	if a, b := strings.Fields(words(lines)), strings.Fields(words(folded)); !slices.Equal(a, b) {
		t.Errorf("%q became %q", a, b)
	}
	if short := lines[:10]; !slices.Equal(Folded(short), short) {
		t.Error("a short difference is folded")
	}
}
