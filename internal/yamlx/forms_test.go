package yamlx

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestForms: what is read by hand is what the expressions say.
func TestForms(t *testing.T) {
	forms := []struct {
		name string
		read func(string) bool
		re   *regexp.Regexp
	}{
		{"coreInt", coreInt, regexp.MustCompile(`^[-+]?[0-9]+$`)},
		{"coreBase", coreBase, regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)},
		{"coreFloat", coreFloat, regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)},
		{"special", special, regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)},
		{"oldInt", oldInt, regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)},
		{"oldSixty", oldSixty, regexp.MustCompile(`^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*$`)},
		{"oldFloat", oldFloat, regexp.MustCompile(`^([-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?$`)},
		{"oldDate", oldDate, regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?$`)},
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(forms).Draw(t, "form")
		text := rapid.OneOf(
			rapid.StringMatching(f.re.String()), // one that matches, if rapid draws the alternatives well
			rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abxoeE_+-.:TtZ \tinfNaé\n")), 0, 12, -1),
		).Draw(t, "text")
		if n := rapid.IntRange(0, 3).Draw(t, "change"); n > 0 && text != "" {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text = text[:at] + rapid.StringOfN(rapid.RuneFrom([]rune("07_+-.:eZ ")), 0, 2, -1).Draw(t, "put") + text[at+n%2:]
		}
		if got, want := f.read(text), f.re.MatchString(text); got != want {
			t.Fatalf("%s(%q) is %v", f.name, text, got)
		}
	})
}
