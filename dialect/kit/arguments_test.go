package kit_test

import (
	"testing"

	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// A field may have several names; what is said of it is said of the one that was given.
func TestText(t *testing.T) {
	for input, want := range map[string]string{
		`{"cmd":5}`:                    "cmd of bash should be a text, not a number",
		`{"command":["ls"]}`:           "command of bash should be a text, not a list",
		`{"command":"ls","cmd":"rm"}`:  "bash is called with command and cmd at once; which one counts is not known",
		`{"cmd":"rm","script":"true"}`: "bash is called with cmd and script at once; which one counts is not known",
	} {
		args, problems := jsonx.Parse([]byte(input), jsonx.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if text, found, err := kit.Text("bash", args, "command", "cmd", "script"); err == nil || err.Error() != want {
			t.Errorf("%s: %q %v %v", input, text, found, err)
		}
	}
	for input, want := range map[string]string{`{"script":"ls"}`: "ls", `{"cmd":"a","other":"b"}`: "a"} {
		args, _ := jsonx.Parse([]byte(input), jsonx.Options{})
		if text, found, err := kit.Text("bash", args, "command", "cmd", "script"); text != want || !found || err != nil {
			t.Errorf("%s: %q %v %v", input, text, found, err)
		}
	}
	for _, input := range []string{`{}`, `{"cmd":null}`} {
		args, _ := jsonx.Parse([]byte(input), jsonx.Options{})
		if text, found, err := kit.Text("bash", args, "command", "cmd"); found || err != nil {
			t.Errorf("%s: %q %v", input, text, err)
		}
	}
}

func TestOneBlank(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  ": "", " ls  -la ": "ls -la", "grep  'a  b'\t x": "grep 'a  b' x", `a  "b  'c  d"  e`: `a "b  'c  d" e`,
		`a  \"  b`: `a \" b`, `a "\"  " b`: `a "\"  " b`, `a '\  '  b`: `a '\  ' b`, "it's  a   b": "it's a b", "a\n b": "a\n b", `a\  b`: `a\  b`,
	} {
		if got := kit.OneBlank(text, " \t"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
