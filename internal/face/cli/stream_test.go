package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/face/cli"
	"github.com/obstat/obstat/internal/format/jsonl"
)

const policyText = `{"obstat": 1, "mode": "m",
  "pipelines": {"m": {"stages": [{"match": "rules", "rules": "r"}], "default": "ask"}},
  "rules": {"r": [
    {"tool": "Bash", "field": "command", "match": {"wildcard": "rm *"}, "verdict": "deny"},
    {"tool": "Bash", "field": "command", "match": {"wildcard": "git *"}, "verdict": "allow"},
    {"tool": "t", "verdict": "allow"}
  ]}}`

func policyFile(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "obstat.json")
	if err := os.WriteFile(name, []byte(policyText), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// run calls the command in this process.
func run(in io.Reader, args ...string) (stdout, stderr string, code cli.ExitCode) {
	var out, err bytes.Buffer
	code = cli.Main(args, &cli.IO{In: in, Out: &out, Err: &err})
	return out.String(), err.String(), code
}

// TestBadLines: whatever a line holds, it gets one answer, and so does the line
// after it.
func TestBadLines(t *testing.T) {
	policy := policyFile(t)
	const ok = `{"tool":"t"}`
	long := `{"tool":"t","input":{"x":"` + strings.Repeat("a", jsonl.MaxLine) + `"}}`
	fits := `{"tool":"t","input":{"x":"` + strings.Repeat("a", jsonl.MaxLine-100) + `"}}`
	for name, tt := range map[string]struct {
		line string
		want string // what the answer holds
	}{
		"too long":          {long, "too-large"},
		"as long as may be": {fits, `"verdict":"allow"`},
		"invalid UTF-8":     {"{\"tool\":\"t\",\"input\":{\"x\":\"\xff\"}}", "syntax"},
		"not text":          {"\x00\x01\x02", "syntax"},
		"lone surrogate":    {`{"tool":"t","input":{"x":"\ud800"}}`, "syntax"},
		"deep":              {`{"tool":"t","input":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`, "too-large"},
		"deep, unclosed":    {strings.Repeat("[", 1_000_000), "too-large"},
		"wide":              {`{"tool":"t","input":[` + strings.Repeat("1,", 3_000_000) + `1]}`, "too-large"},
		"many keys":         {`{"tool":"t",` + strings.Repeat(`"a":1,`, 100_000) + `"b":1}`, "errors"},
		"a case variant":    {`{"Tool":"t"}`, "unknown-key"},
		"a duplicate":       {`{"tool":"t","tool":"t"}`, "duplicate-key"},
		"a Kelvin sign":     {`{"tool":"t","mo\u0064e":"m","\u212aind":1}`, "unknown-key"},
		"a bare word":       {`allow`, "syntax"},
		"NUL in a string":   {`{"tool":"Bash","input":{"command":"git log\u0000; rm x"}}`, `"verdict":"`},
	} {
		stdout, _, code := run(strings.NewReader(ok+"\n"+tt.line+"\n"+ok+"\n"), "check", "--json", "-C", "/repo", "-p", policy)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], `"verdict":"allow"`) || !strings.Contains(lines[2], `"verdict":"allow"`) || !strings.Contains(lines[2], `"line":3`) {
			t.Errorf("%s: %.300q", name, lines)
			continue
		}
		if !strings.Contains(lines[1], tt.want) || !strings.Contains(lines[1], `"line":2`) {
			t.Errorf("%s: %.300s, want %s", name, lines[1], tt.want)
		}
		if isError := strings.Contains(lines[1], `"errors"`); isError != (code == cli.ExitError) {
			t.Errorf("%s: exit code %d", name, code)
		}
		for _, l := range lines {
			if !json.Valid([]byte(l)) || len(l) > 100_000 {
				t.Errorf("%s: answered with %.300q", name, l)
			}
		}
	}
}

// endless hands out the same line until n bytes have been read.
type endless struct {
	line []byte
	left int
	peak func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n+len(e.line) <= len(p) {
		n += copy(p[n:], e.line)
	}
	e.left -= n
	e.peak()
	return n, nil
}

// TestFlatMemory: a stream of calls is answered in memory that does not grow.
func TestFlatMemory(t *testing.T) {
	var first, peak uint64
	var reads int
	in := &endless{line: []byte(`{"tool":"Bash","input":{"command":"git status"},"dir":"/repo"}` + "\n"), left: 1 << 20}
	in.peak = func() {
		if reads++; reads%8 == 0 {
			var m runtime.MemStats
			runtime.GC() // what counts is what is held; earlier tests left something, too
			runtime.ReadMemStats(&m)
			if first == 0 {
				first = m.HeapAlloc
			}
			peak = max(peak, m.HeapAlloc)
		}
	}
	code := cli.Main([]string{"check", "-C", "/repo", "-p", policyFile(t)}, &cli.IO{In: in, Out: io.Discard, Err: io.Discard})
	if code != cli.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	if first == 0 || peak > first+8<<20 {
		t.Errorf("%d MB on the heap, %d when it began", peak>>20, first>>20)
	}
}

// failing is a pipe whose reader has gone.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestNobodyReads: a command whose output nobody takes ends with an error
// instead of deciding on for nobody.
func TestNobodyReads(t *testing.T) {
	policy := policyFile(t)
	for _, args := range [][]string{{"check", "-p", policy, "t"}, {"check", "-p", policy}, {"explain", "-p", policy, "t"}, {"policy", "show", policy},
		{"policy", "validate", policy}, {"effects", "ls"}, {"version"}, {"--json", "version"}} {
		in := &endless{line: []byte(`{"tool":"t"}` + "\n"), left: 1 << 30, peak: func() {}}
		if code := cli.Main(args, &cli.IO{In: in, Out: failing{}, Err: io.Discard}); code != cli.ExitError {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}

// TestTerminal: on a terminal there is colour, and an error comes with the line
// it is about.
func TestTerminal(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "p.json")
	if err := os.WriteFile(name, []byte("{\"obstat\": 1,\n\t\"mod\": \"x\",\n\"mode\": \"x\", \"pipelines\": {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := cli.Main([]string{"policy", "validate", name}, &cli.IO{Out: &out, Err: &out, OutTTY: true, ErrTTY: true, Color: true})
	want := "     2 |     \"mod\": \"x\",\n       |     \x1b[36m^\x1b[0m\n"
	if code != cli.ExitError || !strings.Contains(out.String(), want) {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	cli.Main([]string{"check", "-p", policyFile(t), "Bash", "--command", "rm x"}, &cli.IO{Out: &out, Err: io.Discard, OutTTY: true, Color: true})
	if !strings.HasPrefix(out.String(), "\x1b[31mdeny") {
		t.Errorf("%q", out.String())
	}
}

func FuzzCheckLine(f *testing.F) {
	f.Add(`{"tool":"Bash","input":{"command":"git log && rm x"}}`)
	f.Add(`{"tool":"t","roots":["/a"],"repeat":1}`)
	f.Add(`{"tool":`)
	policy := policyFile(f)
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.NewReplacer("\n", " ", "\r", " ").Replace(line)
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "\x1f") {
			return
		}
		stdout, _, code := run(strings.NewReader(line+"\n"), "check", "--json", "-C", "/repo", "-p", policy)
		var answer struct {
			Verdict string
			Errors  []any
		}
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || strings.Count(stdout, "\n") != 1 {
			t.Fatalf("%q answered with %q", line, stdout)
		}
		want := map[string]cli.ExitCode{"allow": cli.ExitOK, "deny": cli.ExitDeny, "ask": cli.ExitAsk, "": cli.ExitError}[answer.Verdict]
		if code != want || (len(answer.Errors) > 0) != (want == cli.ExitError) {
			t.Errorf("%q: exit code %d, answer %s", line, code, stdout)
		}
		if answer.Verdict == "allow" && !json.Valid([]byte(line)) {
			t.Errorf("allowed: %q", line)
		}
	})
}

func FuzzExplain(f *testing.F) {
	f.Add("git log && rm x > y", 80)
	f.Add("echo '\u202e'; $X <<E\nrm\nE\n", 40)
	policy := policyFile(f)
	f.Fuzz(func(t *testing.T, command string, width int) {
		var out bytes.Buffer
		code := cli.Main([]string{"explain", "-C", "/repo", "-p", policy, "Bash", "--command=" + command}, &cli.IO{Out: &out, Err: io.Discard, Width: max(0, width%300)})
		if code == cli.ExitOK && !strings.HasPrefix(out.String(), "ALLOW") {
			t.Errorf("%q: %q", command, out.String())
		}
		if strings.ContainsAny(out.String(), "\x1b\x00\r") {
			t.Errorf("%q: sends control characters: %q", command, out.String())
		}
	})
}

func BenchmarkCheckStream(b *testing.B) {
	policy := policyFile(b)
	line := []byte(`{"tool":"Bash","input":{"command":"git status"},"dir":"/repo"}` + "\n")
	for _, format := range []string{"text", "json"} {
		b.Run(format, func(b *testing.B) {
			args := []string{"check", "-C", "/repo", "-p", policy, fmt.Sprintf("--json=%v", format == "json")}
			in := &endless{line: line, left: b.N * len(line), peak: func() {}}
			b.SetBytes(int64(len(line)))
			b.ResetTimer()
			cli.Main(args, &cli.IO{In: in, Out: io.Discard, Err: io.Discard})
		})
	}
}
