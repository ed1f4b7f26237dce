package shell_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/shell"
)

// seed adds the corpus and the generated scripts to a fuzz target.
func seed(f *testing.F, every int) {
	for i, s := range corpus(f) {
		if i%every == 0 {
			f.Add(s)
		}
	}
	for i := range 100 {
		f.Add(scripts().Example(i))
	}
	for name, s := range hostile(300) {
		_ = name
		f.Add(s)
	}
}

// check verifies what must hold for any text.
func check(t *testing.T, src string, o *shell.Options) {
	t.Helper()
	s := shell.Parse(src, o)
	in := func(what string, at shell.Span) {
		if at.Start < 0 || at.Start > at.End || at.End > len(src) {
			t.Fatalf("%q: %s lies at %v of %d", src, what, at, len(src))
		}
	}
	if s.Source != src {
		t.Fatalf("%q: source became %q", src, s.Source)
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		in("command", c.Span)
		if c.Stdin >= i || c.Stdin < -1 {
			t.Fatalf("%q: command %d is fed by %d", src, i, c.Stdin)
		}
		if len(c.Words)+len(c.Assigns)+len(c.Redirects) == 0 && !emptied(src, c) {
			t.Fatalf("%q: command %d is empty", src, i)
		}
		for _, w := range c.Words {
			in("word", w.Span)
			if w.Known != (w.Why == "") || w.Known && w.Split {
				t.Fatalf("%q: word %+v contradicts itself", src, w)
			}
		}
		for _, r := range c.Redirects {
			in("redirect", r.Span)
			in("target", r.Target.Span)
		}
		for _, a := range c.Assigns {
			in("assignment", a.Span)
		}
	}
	for _, g := range s.Gaps {
		in("gap", g.Span)
		if g.Why == "" {
			t.Fatalf("%q: gap without a reason", src)
		}
	}
	for _, f := range s.Findings {
		in("finding", f.Span)
	}
	for _, k := range s.Constructs {
		in("construct", k.Span)
	}
	if s.Opaque() && len(s.Gaps) == 0 {
		t.Fatalf("%q: opaque without a gap", src)
	}
}

// emptied reports whether all words of a command may have expanded to nothing: `$x` with x known to be empty.
func emptied(src string, c *shell.Command) bool {
	return strings.ContainsAny(src[c.Span.Start:c.Span.End], "$`{") || c.Nest != 0
}

func FuzzParse(f *testing.F) {
	seed(f, 1)
	f.Fuzz(func(t *testing.T, src string) {
		check(t, src, &shell.Options{Vars: map[string]string{"HOME": "/home/me", "E": ""}})
	})
}

// seen is the list of commands without positions.
func seen(s *shell.Script) []string {
	var out []string
	for i := range s.Commands {
		out = append(out, render(&s.Commands[i]))
	}
	return out
}

// sameSeen checks that a change which means nothing leaves the commands as they were; drop is
// how many commands the change adds in front.
func sameSeen(t *testing.T, before, after string, drop int) {
	t.Helper()
	a, b := shell.Parse(before, nil), shell.Parse(after, nil)
	if hasGap(a, shell.Syntax, shell.TooDeep, shell.TooBig, shell.Timeout, shell.ForeignShell) {
		return
	}
	if len(a.Commands) == 0 {
		return
	}
	got := seen(b)
	if len(got) < drop || !slices.Equal(seen(a), got[drop:]) {
		t.Errorf("%q shows %q\n%q shows %q (%v)", before, seen(a), after, got, b.Gaps)
	}
}

// FuzzSame: what is put around a script does not change the commands that are seen.
func FuzzSame(f *testing.F) {
	seed(f, 3)
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4000 || strings.ContainsAny(src, "\x00") {
			return
		}
		sameSeen(t, src, "true\n"+src, 1)
		sameSeen(t, src, "\n\n"+src, 0)
		sameSeen(t, src, src+"\n", 0)
		sameSeen(t, src, "  "+src, 0)
		sameSeen(t, src, "# it's \\\n"+src, 0)
		sameSeen(t, src, "(\n"+src+"\n)", 0)
		sameSeen(t, src, "if true; then\n"+src+"\nfi", 1)
		quoteWords(t, src)
	})
}

// quoteWords puts quotes around each word of the first command, and an assignment and a
// condition in front of it.
func quoteWords(t *testing.T, src string) {
	t.Helper()
	s := shell.Parse(src, nil)
	if len(s.Gaps) > 0 || len(s.Commands) != 1 || len(s.Commands[0].Words) == 0 || len(s.Commands[0].Assigns) > 0 {
		return
	}
	c := &s.Commands[0]
	if len(s.Constructs) == 0 || s.Constructs[0].Kind != shell.SimpleCommand || c.Span.Start != 0 || c.Nest != 0 || shellWord(c.Words[0].Raw) {
		return
	}
	sameSeen(t, src, "true && "+src, 1)
	if prefixed := shell.Parse("A=1 "+src, nil); len(prefixed.Commands) != 1 || !slices.EqualFunc(prefixed.Commands[0].Words, c.Words, func(a, b shell.Word) bool { return a.Text == b.Text && a.Known == b.Known }) {
		t.Errorf("%q is seen differently behind an assignment: %s", src, renderAll(prefixed))
	}
	for i := range c.Words {
		w := &c.Words[i]
		if !w.Known || w.Glob || w.Tilde || w.Raw == "" || strings.Trim(w.Raw, "abcdefghijklmnopqrstuvwxyz-./0123456789") != "" || shellWord(w.Raw) {
			continue
		}
		for _, quoted := range []string{"'" + w.Raw + "'", "\"" + w.Raw + "\"", "\\" + w.Raw, "$'" + w.Raw + "'", w.Raw[:1] + "''" + w.Raw[1:], w.Raw[:1] + "\\\n" + w.Raw[1:]} {
			sameSeen(t, src, src[:w.Span.Start]+quoted+src[w.Span.End:], 0)
		}
	}
}

// shellWord reports whether quoting a word changes its meaning: a keyword, or digits before a
// redirection.
func shellWord(s string) bool {
	switch s {
	case "time", "coproc", "let", "declare", "local", "export", "readonly", "typeset", "nameref", "function":
		return true
	}
	return strings.Trim(s, "0123456789") == ""
}

// TestScripts runs the properties over generated scripts.
func TestScripts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		src := scripts().Draw(rt, "script")
		check(t, src, nil)
		sameSeen(t, src, "true\n"+src, 1)
	})
}
