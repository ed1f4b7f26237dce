package effect

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPlainInput: what is read without the decoder is what the decoder reads.
func TestPlainInput(t *testing.T) {
	pieces := []string{"{", "}", `"a"`, `"b"`, ":", ",", " ", "true", "false", "null", "1", `"x y"`, `"\n"`, `"é"`, "[", "]", "\n", `"`, "\xff", `"a":"1"`, `,"b":true`}
	whole := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		if rapid.Bool().Draw(t, "whole") {
			text = "{" + text + "}"
		}
		var a, b input
		ok, err := a.plain(text)
		if !ok {
			return
		}
		whole++
		want := b.decodeAny([]byte(text))
		if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Fatalf("%q: %v, the decoder %v", text, err, want)
		}
		if err == nil && (!reflect.DeepEqual(a.fields, b.fields) || !reflect.DeepEqual(a.keys, b.keys)) {
			t.Fatalf("%q: %v, the decoder %v", text, a.fields, b.fields)
		}
	})
	if whole == 0 {
		t.Error("nothing was plain")
	}
}
