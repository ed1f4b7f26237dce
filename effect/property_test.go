package effect

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/effect/internal/word"
)

// disguises change how a command is written, not what it does, or run something harmless
// before it.
var disguises = map[string]func(string) string{
	"env prefix":  func(c string) string { return "FOO=1 " + c },
	"env":         func(c string) string { return "env " + c },
	"env assign":  func(c string) string { return "env FOO=1 " + c },
	"timeout":     func(c string) string { return "timeout 5 " + c },
	"nice":        func(c string) string { return "nice " + c },
	"nice number": func(c string) string { return "nice -n 5 " + c },
	"command":     func(c string) string { return "command " + c },
	"true":        func(c string) string { return "true && " + c },
	"list":        func(c string) string { return "ls; " + c },
	"newline":     func(c string) string { return "\n" + c },
	"last line":   func(c string) string { return c + "\nls" },
	"comment":     func(c string) string { return "# x\n" + c },
	"blank":       func(c string) string { return "  " + c },
	"empty quote": func(c string) string { return "''" + c },
	"quoted name": func(c string) string {
		name, rest, ok := strings.Cut(c, " ")
		if !ok || strings.ContainsAny(name, `'"\$()={};|&<>`+"`\n") {
			return c
		}
		return "'" + name + "' " + rest
	},
	"split name": func(c string) string {
		if len(c) < 2 || !word.IsByte(c[0]) || !word.IsByte(c[1]) || c[0] >= 0x80 {
			return c
		}
		return c[:1] + "''" + c[1:]
	},
	"escaped name": func(c string) string {
		if len(c) < 2 || c[0] < 'a' || c[0] > 'z' {
			return c
		}
		return `\` + c
	},
}

// What is not read-only does not become so by being written differently.
func TestDisguiseNeverMakesReadOnly(t *testing.T) {
	cmds := append(corpus(t, "danger.jsonl.gz"), corpus(t, "unsafe.jsonl.gz")...)
	names := make([]string, 0, len(disguises))
	for n := range disguises {
		names = append(names, n)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cmds).Draw(t, "command")
		for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "disguises") {
			c = disguises[n](c)
		}
		if an := AnalyzeCommand(c, testOptions()); an.ReadOnly {
			t.Fatalf("%q is read-only", c)
		}
	})
}

// Every single disguise of every dangerous command, without chance.
func TestDisguises(t *testing.T) {
	for _, c := range append(corpus(t, "danger.jsonl.gz"), corpus(t, "unsafe.jsonl.gz")...) {
		for name, f := range disguises {
			if an := AnalyzeCommand(f(c), testOptions()); an.ReadOnly {
				t.Errorf("%s: %q is read-only", name, f(c))
			}
		}
	}
}

// A list is read-only only if each of its parts is.
func TestListIsNoLooser(t *testing.T) {
	harm := corpus(t, "danger.jsonl.gz")
	fine := corpus(t, "readonly.jsonl.gz")
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(fine).Draw(t, "a"), rapid.SampledFrom(harm).Draw(t, "b")
		op := rapid.SampledFrom([]string{" && ", " || ", "; ", " | ", " & ", "\n"}).Draw(t, "op")
		for _, c := range []string{a + op + b, b + op + a, "(" + a + op + b + "\n)", "{ " + b + op + a + "\n}"} {
			if an := AnalyzeCommand(c, testOptions()); an.ReadOnly {
				t.Fatalf("%q is read-only", c)
			}
		}
	})
}

// sound checks what must hold of every analysis.
func sound(t testing.TB, an *Analysis) {
	t.Helper()
	if an.Full != (len(an.Gaps) == 0) {
		t.Errorf("%q: Full is %v with %d gaps", an.Source, an.Full, len(an.Gaps))
	}
	if an.ReadOnly && !an.Full {
		t.Errorf("%q: read-only, but something is hidden", an.Source)
	}
	for i := range an.Effects {
		e := &an.Effects[i]
		if an.ReadOnly && (!e.Harmless || e.Secret) {
			t.Errorf("%q: read-only with effect %+v", an.Source, e)
		}
		if e.Command >= len(an.Commands) || e.Command < -1 || e.Kind == 0 {
			t.Errorf("%q: effect %+v", an.Source, e)
		}
		inRange(t, an, e.Span.Start, e.Span.End)
	}
	for i := range an.Gaps {
		if an.Gaps[i].Command >= len(an.Commands) || an.Gaps[i].Why == "" {
			t.Errorf("%q: gap %+v", an.Source, an.Gaps[i])
		}
		inRange(t, an, an.Gaps[i].Span.Start, an.Gaps[i].Span.End)
	}
	for i := range an.Commands {
		c := &an.Commands[i]
		if !strings.HasPrefix(c.Text, c.Prefix) || c.Known != (c.Text == c.Prefix) && c.Known {
			t.Errorf("%q: command %q has prefix %q", an.Source, c.Text, c.Prefix)
		}
		if an.ReadOnly && !c.ReadOnly {
			t.Errorf("%q: read-only, but %q is not", an.Source, c.Text)
		}
		inRange(t, an, c.Span.Start, c.Span.End)
	}
}

func inRange(t testing.TB, an *Analysis, start, end int) {
	t.Helper()
	if start < 0 || end < start || end > len(an.Source) {
		t.Errorf("%q: span %d..%d of %d bytes", an.Source, start, end, len(an.Source))
	}
}

func FuzzAnalyzeCommand(f *testing.F) {
	for _, file := range []string{"danger.jsonl.gz", "unsafe.jsonl.gz", "readonly.jsonl.gz"} {
		for _, c := range corpus(f, file) {
			f.Add(c)
		}
	}
	for _, c := range []string{"", "-", "find . -exec", "xargs -I", "git -c", "sed 's", "awk '", "env -S", "bash -c", "tar c", "ssh h", "parallel :::", "\x00", "jq --arg a"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		if len(c) > 1<<14 {
			return
		}
		sound(t, AnalyzeCommand(c, testOptions()))
		sound(t, AnalyzeCommand(c, nil))
	})
}

func FuzzAnalyze(f *testing.F) {
	f.Add("Bash", `{"command":"ls"}`)
	f.Add("apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n"}`)
	f.Add("Read", `{"file_path":"/etc/shadow"}`)
	f.Add("mcp__a__b", `{"path":"x","url":"http://y"}`)
	f.Add("Bash", `{"command":["bash","-lc","ls"]}`)
	f.Add("Grep", `{"pattern":"x","path":"--pre=./e.sh"}`)
	f.Fuzz(func(t *testing.T, tool, in string) {
		an := Analyze(&Request{Tool: tool, Input: []byte(in), Options: *testOptions()})
		sound(t, an)
		if an.ReadOnly && !json.Valid([]byte(in)) {
			t.Errorf("%s %q is read-only", tool, in)
		}
	})
}
