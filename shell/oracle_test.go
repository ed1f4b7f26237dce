package shell_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/shell"
)

// needBash returns the path of bash. Without it a test is skipped, except in CI.
func needBash(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("bash is needed to confirm the parser in CI")
		}
		t.Skip("no bash on this machine to confirm the parser with")
	}
	return path
}

// driver runs every script it is given in a subshell in which no program can be found:
// what the script would run is written down instead. Each argument list goes to
// descriptor 9 in one write, so that processes do not mix: the number of the script, the number of
// words, the directory, the words with newlines replaced.
const driver = `PATH=/nonexistent
shopt -%s expand_aliases
command_not_found_handle() {
	printf '%%s\0' "$oracle_script" "$#" "$PWD" "${@//$'\n'/$'\036'}" >&9
	case $1 in n*) return 1;; esac
}
oracle_script=0
while IFS= read -r -d '' s; do
	( ulimit -t 1; eval "$s"
wait ) </dev/null >/dev/null 2>oracle_stderr
	if [[ -s oracle_stderr ]]; then printf '%%s\0' "$oracle_script" -1 >&9; fi
	oracle_script=$((oracle_script+1))
done
`

// run is one command that bash ran: its directory and its words; no words stand for an error
// that bash reported.
type run struct {
	dir  string // relative to where the script started
	argv []string
}

// oracle runs scripts in a real bash and returns the commands that each ran.
func oracle(t testing.TB, aliases bool, scripts []string) [][]run {
	t.Helper()
	bash := needBash(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"d1/d2", "d2"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.SetReadDeadline(time.Now().Add(2 * time.Minute)) // a script may wait for ever
	on := "u"
	if aliases {
		on = "s"
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", fmt.Sprintf(driver, on))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/nonexistent", "HOME=" + dir, "LC_ALL=C.UTF-8"}
	cmd.Stdin = strings.NewReader(strings.Join(scripts, "\x00") + "\x00")
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, nil, nil, w}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out := readRuns(t, r, dir, len(scripts))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the driver failed: %v\n%s", err, stderr.String())
	}
	return out
}

func readRuns(t testing.TB, r *os.File, dir string, scripts int) [][]run {
	t.Helper()
	in := bufio.NewReader(r)
	next := func() string {
		s, _ := in.ReadString(0)
		return strings.ReplaceAll(strings.TrimSuffix(s, "\x00"), "\x1e", "\n")
	}
	out := make([][]run, scripts)
	for {
		head := next()
		if head == "" {
			if _, err := in.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("a script does not end")
			}
			return out
		}
		script, err := strconv.Atoi(head)
		count, err2 := strconv.Atoi(next())
		if err != nil || err2 != nil || script >= scripts {
			t.Fatalf("unexpected record %q", head)
		}
		if count < 0 {
			out[script] = append(out[script], run{})
			continue
		}
		x := run{dir: strings.TrimPrefix(strings.TrimPrefix(next(), dir), "/"), argv: make([]string, count)}
		for i := range x.argv {
			x.argv[i] = next()
		}
		out[script] = append(out[script], x)
	}
}

// covers reports whether some command of s is x.
func covers(s *shell.Script, x run) bool {
	return slices.ContainsFunc(s.Commands, func(c shell.Command) bool {
		return matchDir(&c, x.dir) && matchWords(c.Words, x.argv)
	})
}

func matchDir(c *shell.Command, dir string) bool {
	if !c.Dir.Known || c.Nest&shell.UnsureDir != 0 {
		return true
	}
	want := c.Dir.Text
	if c.Dir.Tilde { // the home directory is where scripts start
		want = strings.TrimPrefix(strings.TrimPrefix(want, "~"), "/")
	}
	return want == dir
}

func matchWords(words []shell.Word, argv []string) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	w := words[0]
	switch {
	case !w.Known && w.Split, w.Glob: // any number
		for n := 0; n <= len(argv); n++ {
			if matchWords(words[1:], argv[n:]) {
				return true
			}
		}
		return false
	case len(argv) == 0:
		return false
	case !w.Known && !strings.HasPrefix(argv[0], w.Text) && !w.Tilde:
		return false
	case w.Known && !w.Tilde && w.Text != argv[0]:
		return false
	}
	return matchWords(words[1:], argv[1:])
}

// unseen describes what a script runs that Parse neither shows nor declares unseen.
func unseen(s *shell.Script, runs []run) string {
	if len(s.Gaps) > 0 {
		return ""
	}
	for _, x := range runs {
		if x.argv != nil && !covers(s, x) {
			return fmt.Sprintf("ran %q in %q", x.argv, x.dir)
		}
	}
	return ""
}

// invented describes a command that Parse says runs for certain, but that did not run.
func invented(s *shell.Script, runs []run) string {
	const unsure = shell.Uncertain | shell.InCondition | shell.InLoop | shell.InTrap | shell.InArith | shell.InAlias | shell.InProcess
	failed := slices.ContainsFunc(runs, func(x run) bool { return x.argv == nil })
	if failed || strings.Contains(s.Source, "2>") || strings.Contains(s.Source, "&>") || strings.Contains(s.Source, "|&") {
		return "" // an error at run time ended the script early, or may have and is not shown
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Nest&unsure != 0 || len(c.Words) == 0 || !strings.HasPrefix(c.Words[0].Text, "p") || len(c.Words[0].Text) != 2 {
			continue
		}
		if !slices.ContainsFunc(runs, func(x run) bool { return matchWords(c.Words, x.argv) }) {
			return fmt.Sprint("did not run ", c.Words)
		}
	}
	return ""
}

// rapidChooser lets rapid make the generator's choices.
type rapidChooser struct{ t *rapid.T }

func (r rapidChooser) Intn(n int) int { return rapid.IntRange(0, n-1).Draw(r.t, "choice") }

// scripts is the generator as rapid sees it.
func scripts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		g := &generator{c: rapidChooser{t}, depth: rapid.IntRange(0, 2).Draw(t, "depth")}
		src := g.script()
		if rapid.Bool().Draw(t, "whole") {
			return src
		}
		return g.mutate(src)
	})
}

// TestConfirmRuns lets a real bash run generated scripts: every command that it runs must be
// shown, in its directory and with its words, or be declared unseen; and every command
// that is shown as certain must run. The seeds are fixed, so that a failure can be repeated.
func TestConfirmRuns(t *testing.T) {
	needBash(t)
	for _, aliases := range []bool{false, true} {
		var texts []string
		var parsed []*shell.Script
		unseenTexts := 0
		for seed := 0; len(texts) < 200; seed++ {
			src := scripts().Example(seed)
			if len(src) > 400 || strings.Contains(src, "\x00") {
				continue
			}
			s := shell.Parse(src, nil)
			if len(s.Gaps) > 0 {
				unseenTexts++
				continue
			}
			texts, parsed = append(texts, src), append(parsed, s)
		}
		ran := 0
		for i, runs := range oracle(t, aliases, texts) {
			ran += len(runs)
			if msg := unseen(parsed[i], runs); msg != "" {
				t.Errorf("%q\n  %s\n  shown: %s", texts[i], msg, renderAll(parsed[i]))
			}
			if msg := invented(parsed[i], runs); msg != "" {
				t.Errorf("%q\n  %s", texts[i], msg)
			}
		}
		if ran < 500 {
			t.Errorf("only %d commands ran", ran)
		}
		t.Logf("%d scripts ran %d commands; %d more have gaps", len(texts), ran, unseenTexts)
	}
}
