package shell_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/shell"
)

// corpus returns the recorded commands.
func corpus(t testing.TB) []string {
	t.Helper()
	out := jsonltest.All[string](t, "testdata/corpus.txt.gz")
	if len(out) < 2000 {
		t.Fatalf("only %d commands in the corpus", len(out))
	}
	return out
}

func hasGap(s *shell.Script, kinds ...shell.GapKind) bool {
	return slices.ContainsFunc(s.Gaps, func(g shell.Gap) bool { return slices.Contains(kinds, g.Kind) })
}

// bashAccepts asks bash whether each text parses, without running any of it.
func bashAccepts(t testing.TB, texts []string) []bool {
	t.Helper()
	bash := needBash(t)
	out := make([]bool, len(texts))
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := k; i < len(texts); i += 4 {
				cmd := exec.Command(bash, "--norc", "--noprofile", "-n", "-c", "--", texts[i])
				cmd.Env = []string{"PATH=/nonexistent", "LC_ALL=C.UTF-8"}
				out[i] = cmd.Run() == nil
			}
		})
	}
	wg.Wait()
	return out
}

// stricter are the texts that bash parses and Parse does not, with the reason.
var stricter = map[string]string{
	"!":          "a negation of nothing does nothing",
	"a[0]=1 b c": "the parser knows no array element in front of a command; bash refuses it when it runs",
	"echo \\":    "shells disagree on a backslash at the end of the text",
}

// TestConfirmSyntax: what bash refuses is never taken as parsed, and what bash accepts is
// parsed but for the texts listed.
func TestConfirmSyntax(t *testing.T) {
	// An argument cannot hold a NUL byte.
	texts := slices.DeleteFunc(corpus(t), func(s string) bool { return strings.Contains(s, "\x00") })
	accepted := bashAccepts(t, texts)
	for i, src := range texts {
		s := shell.Parse(src, nil)
		if hasGap(s, shell.ForeignShell) {
			continue
		}
		bad := hasGap(s, shell.Syntax, shell.TooDeep, shell.TooBig, shell.Timeout)
		if accepted[i] && bad != (stricter[src] != "") {
			t.Errorf("bash accepts %q: %v", src, s.Gaps)
		}
		if !accepted[i] && !bad {
			t.Errorf("bash refuses %q", src)
		}
	}
	t.Logf("%d texts", len(texts))
}

// TestConfirmWords compares resolved words with what bash makes of them. The commands
// themselves are never run: their words become arguments of a function that prints them.
func TestConfirmWords(t *testing.T) {
	var script bytes.Buffer
	script.WriteString("set -f\np() { printf '%s\\0' \"$@\" ; printf '\\1\\0'; }\n")
	var want [][]string
	var from []string
	for _, src := range corpus(t) {
		s := shell.Parse(src, nil)
		if hasGap(s, shell.Syntax, shell.ForeignShell) {
			continue
		}
		for i := range s.Commands {
			raw, words := literalWords(&s.Commands[i])
			if len(words) == 0 {
				continue
			}
			script.WriteString("p " + strings.Join(raw, " ") + "\n")
			want = append(want, words)
			from = append(from, src)
		}
	}
	cmd := exec.Command(needBash(t), "--norc", "--noprofile", "-r", "-s")
	cmd.Env = []string{"PATH=/nonexistent", "LC_ALL=C.UTF-8"}
	cmd.Dir = t.TempDir()
	cmd.Stdin = &script
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	got := strings.Split(string(out), "\x01\x00")
	if len(got) != len(want)+1 {
		t.Errorf("%d command lines went in, %d came back", len(want), len(got)-1)
	}
	bad := 0
	for i := range want {
		if i >= len(got) || got[i] != strings.Join(want[i], "\x00")+"\x00" {
			t.Errorf("%q\n  parsed %q\n  bash   %q", from[i], want[i], got[i])
			if bad++; bad > 10 {
				break
			}
		}
	}
	t.Logf("%d commands with literal words agree with bash", len(want))
}

// literalWords returns the words of c that depend on nothing outside of them, as written
// and as resolved.
func literalWords(c *shell.Command) (raw, words []string) {
	last := shell.Span{Start: -1}
	for _, w := range c.Words {
		if !w.Known || w.Tilde || strings.Contains(strings.ReplaceAll(w.Raw, "$'", ""), "$") || strings.Contains(w.Raw, "`") || w.Raw == "" {
			continue
		}
		if c.Nest&(shell.InEval|shell.InTrap|shell.InAlias|shell.InArith) != 0 {
			continue
		}
		if w.Span != last {
			raw = append(raw, w.Raw)
			last = w.Span
		}
		words = append(words, w.Text)
	}
	return raw, words
}
