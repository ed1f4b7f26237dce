package pytext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/pytext"
)

func TestPythonFloats(t *testing.T) {
	for in, want := range map[string]string{
		"1.0": "1.0", "1e2": "100.0", "1e15": "1000000000000000.0", "1e16": "1e+16", "0.0001": "0.0001", "0.00001": "1e-05", "1.50": "1.5",
		"-0": "0", "-0.0": "-0.0", "1e400": "Infinity", "-1e400": "-Infinity", "5e-324": "5e-324", "123456789012345678.0": "1.2345678901234568e+17", "0.1": "0.1",
	} {
		text, err := pytext.JSON([]byte("[" + in + "]"))
		if want = "[" + want + "]"; err != nil || text != want {
			t.Errorf("%s: %s, %v, want %s", in, text, err, want)
		}
	}
	if _, err := pytext.JSON([]byte(strings.Repeat("9", 5000))); err == nil {
		t.Error("an integer that Python refuses was written")
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a": [1, 2.5e10, null, "\u00e9"]}`)
	f.Fuzz(func(t *testing.T, args string) {
		text, err := pytext.JSON([]byte(args))
		if err != nil {
			return
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q is not printable ASCII", text)
		}
		if !json.Valid([]byte(text)) && !strings.Contains(text, "Infinity") {
			t.Errorf("%q is no JSON", text)
		}
	})
}
