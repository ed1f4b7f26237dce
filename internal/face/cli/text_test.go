package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"a\tb\nc\r":       `a\tb\nc\r`,
		"\x1b[2J":         `\x1b[2J`,
		"\x00\x7f":        `\x00\x7f`,
		"é漢":              "é漢",
		"a\u202eb":        `a\u202eb`,
		"a\u200bb\ufeff":  `a\u200bb\ufeff`,
		"\xff\xfe":        `\xff\xfe`,
		"\U000e0041":      `\U000e0041`,
		"no\u00a0break":   `no\u00a0break`,
		"line\u2028break": `line\u2028break`,
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[31m\u202e漢\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := visible(s)
		if !utf8.ValidString(v) || strings.ContainsAny(v, "\x1b\n\r\t\x00\u202e\u200b") {
			t.Errorf("visible(%q) = %q", s, v)
		}
		for _, n := range []int{1, 5, 20} {
			if c := clip(v, n); columns(c) > n {
				t.Errorf("clip(%q, %d) has %d columns", v, n, columns(c))
			}
			for _, l := range wrap(v, n+1) {
				if columns(l) > n+1 {
					t.Errorf("wrap(%q, %d): %q", v, n+1, l)
				}
			}
		}
	})
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"one two three", 7, "one two|three"},
		{"", 7, ""},
		{"abcdefghij k", 4, "abcd|efgh|ij k"},
		{"ab cdefgh", 4, "ab|cdef|gh"},
		{" a  b   c \n\t d ", 6, "a  b|c d"},
	} {
		if got := strings.Join(wrap(tt.in, tt.n), "|"); got != tt.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

// TestWindow: whatever the line, the mark is where its text is.
func TestWindow(t *testing.T) {
	for _, tt := range []struct{ line, mark string }{
		{"short rm line", "rm"},
		{strings.Repeat("a", 100) + "rm -rf x" + strings.Repeat("b", 100), "rm -rf x"},
		{"rm" + strings.Repeat("b", 100), "rm"},
		{strings.Repeat("漢", 60) + "rm", "rm"},
		{strings.Repeat("é", 90) + "rm" + strings.Repeat("漢", 50), "rm"},
	} {
		start := strings.Index(tt.line, tt.mark)
		text, at := window(tt.line, Range{start, start + len(tt.mark)}, 40)
		if columns(text) > 40 {
			t.Errorf("%q is %d columns wide", text, columns(text))
		}
		i := strings.Index(text, tt.mark)
		if i < 0 || columns(text[:i]) != at.Start || at.End-at.Start != len(tt.mark) {
			t.Errorf("%q: mark at %v, text at %d", text, at, i)
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add("echo 漢 rm x", 5, 8, 20)
	f.Fuzz(func(t *testing.T, line string, start, end, width int) {
		width = 10 + max(0, width)%200
		text, at := window(line, Range{start, end}, width)
		if columns(text) > width+1 || at.Start < 0 || at.Start > width || at.End < at.Start {
			t.Errorf("window(%q, %d, %d, %d) = %q, %v", line, start, end, width, text, at)
		}
	})
}

func TestUseColor(t *testing.T) {
	env := func(kv ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == k {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	if !useColor(true, env()) || useColor(false, env()) || useColor(true, env("NO_COLOR", "1")) || useColor(true, env("TERM", "dumb")) {
		t.Error("colour where it is not wanted, or none where it is")
	}
}

// TestProgress: on a terminal there is a line that says how far the cases are,
// at most five times a second, and it is wiped before anything else is said.
func TestProgress(t *testing.T) {
	var out, progress bytes.Buffer
	now := time.Unix(0, 0)
	tt := &tester{testOptions: &testOptions{Factory: newFactory(&IO{Out: &out, Err: &progress, ErrTTY: true}), Now: func() time.Time { return now }}}
	for range 10 {
		now = now.Add(50 * time.Millisecond)
		tt.passed++
		tt.progress()
	}
	if got := progress.String(); got != "\r1 passed, 0 failed\r6 passed, 0 failed" {
		t.Errorf("%q", got)
	}
	if err := tt.close(); err != nil || out.String() != "10 passed, 0 failed\n" || !strings.HasSuffix(progress.String(), "\r\x1b[K") {
		t.Errorf("%v, %q, %q", err, out.String(), progress.String())
	}
}

// TestFold: a long line is shown whole, broken at blanks, and the mark goes with its bytes.
func TestFold(t *testing.T) {
	for _, tt := range []struct {
		line  string
		mark  Range
		width int
		want  []folded
	}{
		{"", Range{}, 10, []folded{{}}},
		{"rm -rf build", Range{0, 2}, 20, []folded{{"rm -rf build", Range{0, 2}}}},
		{"echo aaa && rm b", Range{12, 16}, 12, []folded{{"echo aaa && ", Range{}}, {"rm b", Range{0, 4}}}},
		{"aaaaaaaaaaaaaaa", Range{4, 6}, 5, []folded{{"aaaaa", Range{4, 5}}, {"aaaaa", Range{0, 1}}, {"aaaaa", Range{}}}},
		{"\x1b[2J日本", Range{}, 8, []folded{{`\x1b[2J`, Range{}}, {"日本", Range{}}}},
	} {
		if got := fold(tt.line, tt.mark, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %+v, want %+v", tt.line, got, tt.want)
		}
	}
}

// TestHang: a line that is too wide goes on below its text, and nothing of it is lost.
func TestHang(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"some words of prose", 12, "some words |of prose"},
		{"  ask    Answer what agents ask", 20, "  ask    Answer|         what agents|          ask"},
		{"      --store file   where it is", 20, "      --store file|            where|            it is"},
		{"  - run git status, git log", 18, "  - run git |    status, git |    log"},
		{"    # a comment of some words", 20, "    # a comment of|      some words"},
		{`+   "command": "obstat hook x"`, 20, `+   "command": |    "obstat hook x"`},
	} {
		got := hang(tt.line, tt.width)
		for _, l := range got {
			if columns(l) > tt.width {
				t.Errorf("%q has %d columns", l, columns(l))
			}
		}
		var want []string
		for l := range strings.SplitSeq(tt.want, "|") {
			want = append(want, strings.TrimRight(l, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", tt.line, got, want)
		}
	}
	for _, width := range []int{40, 80} {
		s := &IO{OutTTY: true, Width: width}
		for _, cmd := range []string{"", "check", "ask", "policy diff", "serve"} {
			root := newRoot(newFactory(s))
			sub, _, err := root.Find(strings.Fields(cmd))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(s.helpText(sub), "\n") {
				if columns(line) > width {
					t.Errorf("obstat %s --help at %d columns: %q", cmd, width, line)
				}
			}
		}
	}
}

// TestGroups: every command is in a group of `obstat --help`.
func TestGroups(t *testing.T) {
	for _, cmd := range newRoot(newFactory(&IO{})).Commands() {
		if cmd.GroupID == "" && !cmd.Hidden {
			t.Errorf("obstat %s is in no group", cmd.Name())
		}
	}
}

// TestLight: on a light terminal colours are dark; what does not say its colours is dark.
func TestLight(t *testing.T) {
	for colours, want := range map[string]bool{"": false, "15;0": false, "0;15": true, "0;default;7": true, "12;8": false} {
		if isLight(colours) != want {
			t.Errorf("COLORFGBG=%s: %v", colours, !want)
		}
	}
	light := &IO{Color: true, Light: true}
	if got := light.paint(yellow+";1", "x") + light.paint(bold, "y"); got != "\x1b[38;5;94;1mx\x1b[0m\x1b[1my\x1b[0m" {
		t.Errorf("%q", got)
	}
}
