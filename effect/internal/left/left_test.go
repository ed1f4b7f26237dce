package left

import (
	"testing"

	"github.com/obstat/obstat/shell"
)

func TestInput(t *testing.T) {
	for cmd, want := range map[string]string{ // "?" if it is not known
		"echo a b | x": "a b", "echo -n a | x": "a", "echo -n | x": "", "printf '%s\\n' a | x": "a", "printf a | x": "a", "printf '%d' 5 | x": "?", "cat <<< a | x": "a",
		"echo $y | x": "?", "ls | x": "?", "x <<< 'a b'": "a b", "x < f": "?", "x": "?", "(echo a; echo b) | x": "?", "echo 'a\\nb' | x": "?", "echo -e a | x": "?",
	} {
		s := shell.Parse(cmd, &shell.Options{})
		at := len(s.Commands) - 1
		got := "?"
		if w, ok := Input(s, at); ok {
			got = w.Text
		}
		if got != want && got != want+"\n" {
			t.Errorf("%s: %q, want %q", cmd, got, want)
		}
	}
}

func TestPrinted(t *testing.T) {
	for cmd, want := range map[string]string{
		"echo a b": "a b\n", "echo -n a": "a", "printf '%s\\n' a": "a\n", "printf 'a\\nb'": "a\nb", "printf '%s' a b": "?", "cat f": "?", "echo *": "?",
	} {
		got := "?"
		if text, ok := Printed(shell.Parse(cmd, &shell.Options{}).Commands[0].Words); ok {
			got = text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", cmd, got, want)
		}
	}
}

func TestMounts(t *testing.T) {
	for text, want := range map[string][2]string{
		".:/app": {".", "/app"}, "/a:/b:ro": {"/a", "/b"}, "type=bind,src=/a,dst=/b": {"/a", "/b"}, "type=bind,source=/a,target=/b,readonly": {"/a", "/b"}, "data": {"data", ""},
	} {
		if from, to := ReadMount(text); from != want[0] || to != want[1] {
			t.Errorf("%s: %s to %s", text, from, to)
		}
	}
	m := Mount{Inside: "/app", Host: "/home/u"}
	for _, tt := range []struct {
		text, dir string
		glob      bool
		rest      string
		ok        bool
	}{
		{"/app/x", "", false, "./x", true}, {"/etc", "", false, "", false}, {"x", "/app", false, "./x", true}, {"x", "", false, "x", true},
		{"/*/.env", "", true, ".env", true}, {"/b*/.env", "", true, "", false}, {"/app", "", false, ".", true}, {"/appx", "", false, "", false},
	} {
		rest, ok := m.Below(&shell.Word{Text: tt.text, Known: true, Glob: tt.glob}, tt.dir, false)
		if rest != tt.rest || ok != tt.ok {
			t.Errorf("%s from %q: %q %v, want %q %v", tt.text, tt.dir, rest, ok, tt.rest, tt.ok)
		}
	}
	if rest, ok := m.Below(&shell.Word{Text: "/", Known: true}, "", true); rest != "." || !ok {
		t.Error("a tree around a mount has all of it")
	}
}

func TestCopies(t *testing.T) {
	var c Copies
	c.Note("/a", "/b")
	c.Note("/b/sub", "/c")
	for _, tt := range []struct {
		i    int
		path string
		tree bool
		want string
	}{
		{0, "/b/.env", false, "/a/.env"}, {1, "/c/x", false, "/a/sub/x"}, {0, "/x", false, ""}, {0, "/", true, "/a"}, {0, "/", false, ""},
	} {
		if got := c.Origin(tt.i, tt.path, tt.tree); got != tt.want {
			t.Errorf("copy %d of %s: %q, want %q", tt.i, tt.path, got, tt.want)
		}
	}
}
