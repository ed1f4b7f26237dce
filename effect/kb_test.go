package effect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/effect/kb"
)

// eachBlock calls fn with every block of the knowledge base, file by file.
func eachBlock(t *testing.T, fn func(file string, b *kb.Block)) {
	t.Helper()
	for _, name := range kbNames(t) {
		data, err := os.ReadFile("kb/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for b := range kb.Blocks(string(data)) {
			fn(name, &b)
		}
	}
}

func kbNames(t *testing.T) []string {
	list, err := filepath.Glob("kb/*.kb")
	if err != nil || len(list) == 0 {
		t.Fatal("no knowledge base", err)
	}
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	return list
}

// Every block of the knowledge base is understood, with all its subcommands, and no program
// has two.
func TestKnowledgeBaseCompiles(t *testing.T) {
	seen := map[string]bool{}
	eachBlock(t, func(file string, e *kb.Block) {
		if kb.Special(e.Head) {
			return
		}
		s, err := builtin.compile(e.Body)
		if err != nil {
			t.Errorf("%s:%d: %v", file, errorLine(e.Line, err), err)
		}
		for name := range strings.FieldsSeq(e.Head) {
			if seen[name] {
				t.Errorf("%s:%d: %s is listed twice", file, e.Line, name)
			}
			seen[name] = true
			if got := builtin.lookup(name); got == nil || len(got.flags) != len(s.flags) || len(got.subs) != len(s.subs) {
				t.Errorf("%s:%d: %s is not found", file, e.Line, name)
			}
		}
		for i := range s.subs {
			if err := s.ready(&s.subs[i]).err; err != nil {
				t.Errorf("%s:%d: %v: %v", file, e.Line, s.subs[i].names, err)
			}
		}
		if !s.hasSubs() && s.does == nil && !runs(s.args[len(s.args)-1].role) {
			t.Errorf("%s:%d: does nothing", file, e.Line)
		}
	})
	if len(seen) < 400 || len(seen) != len(knownPrograms()) {
		t.Errorf("%d programs, want 400; %d are listed", len(seen), len(knownPrograms()))
	}
	t.Logf("%d programs", len(seen))
}

// What is not a program is not found as one.
func TestLookupUnknown(t *testing.T) {
	for _, name := range []string{"", "@gnu", "!env", "!verbs", "git git.kb", "zzzz", "\x00", "\xff", "gi", "gitt", "git.kb"} {
		if builtin.lookup(name) != nil {
			t.Errorf("%q is known", name)
		}
	}
}

// Which of two subcommands with a name in common is meant is never left to chance: the one with
// fewer alternatives is.
func TestSubcommandsAreTold(t *testing.T) {
	eachBlock(t, func(file string, e *kb.Block) {
		if kb.Special(e.Head) {
			return
		}
		s, _ := builtin.compile(e.Body)
		for i := range s.subs {
			for j := range s.subs[:i] {
				a, b := &s.subs[i], &s.subs[j]
				if a.words == b.words && a.alts == b.alts && share(a.names, b.names) {
					t.Errorf("%s:%d: %q and %q have names in common", file, e.Line, a.names, b.names)
				}
			}
		}
	})
	for cmd, want := range map[string]bool{
		"gh auth status": true, "gh auth status --show-token": false, "gh config get x": false, "gh config list": true, "docker ps": true, "glab token list": true,
		"go clean": false, "npm run": false, "vault kv metadata": false,
	} {
		if an := AnalyzeCommand(cmd, testOptions()); an.ReadOnly != want {
			t.Errorf("%s: read-only is %v (%s)", cmd, an.ReadOnly, an.Why)
		}
	}
}

// share reports whether some words are named by both.
func share(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	for i := range x {
		if !slices.ContainsFunc(strings.Split(x[i], "|"), func(n string) bool { return slices.Contains(strings.Split(y[i], "|"), n) }) {
			return false
		}
	}
	return true
}

// errorLine is the line of a file that an error of a block that begins at a line is in.
func errorLine(head int, err error) int {
	if e := (*kb.Error)(nil); errors.As(err, &e) {
		return head + 1 + e.Line
	}
	return head
}

// A tag that does not exist is an error with its line: were it skipped, as a detail is that
// nothing knows, a command would lose what guards against it.
func TestUnknownTag(t *testing.T) {
	_, err := builtin.compile("\tdoes read args read*\n\tflags -x:write.content(extracted files)\n")
	if err == nil || err.Error() != `unknown tag "content"` || errorLine(10, err) != 12 {
		t.Errorf("%v at line %d", err, errorLine(10, err))
	}
	for i, name := range tagNames {
		s, err := builtin.compile("\tdoes write." + name + "(x)\n")
		if err != nil || s.does[0].tags != 1<<i {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A flag table that is wrong is an error with its line, all of them at once, and never a panic.
func TestWrongFlagTable(t *testing.T) {
	for _, bad := range []string{"-x=nosuchrole", "-x:nosuchverb", "@nosuchgroup", "-x:args(", "-x=code(", "x", "--", "-", "-x:args(nosuch*)", "-x=read,write"} {
		_, err := builtin.compile("\tdoes read\n\targs read*\n\tflags -a\n\t\t" + bad + "\n")
		if err == nil || errorLine(10, err) != 14 {
			t.Errorf("%s: %v at line %d", bad, err, errorLine(10, err))
		}
	}
	_, err := builtin.compile("\tdoes reads\n\targs nosuch*\n\tflags --\n\t\t-x:args(\n")
	if want := 4; err == nil || strings.Count(err.Error(), "\n") != want-1 {
		t.Errorf("%v, want %d errors", err, want)
	}
}

// knownPrograms returns the names that the knowledge base has, sorted.
func knownPrograms() []string { return slices.Collect(kb.Names()) }
