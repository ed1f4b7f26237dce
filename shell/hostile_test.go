package shell_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/obstat/obstat/shell"
)

// hostile are texts of about size bytes that cost a parser without limits its time, its
// memory or its stack.
func hostile(size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	out := map[string]string{
		"doubling":      "x=aaaaaaaa;" + rep("x=$x$x;"),
		"expansion":     "x=" + strings.Repeat("a", 8000) + ";p " + rep("$x "),
		"fields":        "x='" + strings.Repeat("a ", 4000) + "';p " + rep("$x "),
		"braces":        "p " + rep("{a,b}"),
		"sequence":      "p " + rep("{1..200} "),
		"calls":         "f(){ " + rep("p;") + "};" + strings.Repeat("f;", 5000),
		"nested calls":  "a(){ p; };b(){ a;a;a;a;a;a;a;a; };c(){ b;b;b;b;b;b;b;b; };d(){ c;c;c;c;c;c;c;c; };e(){ d;d;d;d;d;d;d;d; };f(){ e;e;e;e;e;e;e;e; };f",
		"loops":         strings.Repeat("for x in 1 2 3 4 5 6 7 8 9;do y=$x;", 40) + "p $x;" + strings.Repeat("done;", 40),
		"evals":         rep("eval 'p;p;p';"),
		"deep eval":     "eval " + rep("eval "),
		"traps":         rep("trap 'p;p' EXIT;"),
		"aliases":       "alias a='b a' b='a b';" + rep("a;"),
		"branches":      rep("if a;then x=1;fi;"),
		"variables":     rep("a=1;") + "((a))",
		"chain":         "a=b;b=c;c=a;" + rep("((a));"),
		"heredoc":       "cat <<'E'\n" + rep("some text; with $(things) in it\n") + "E\n",
		"open heredoc":  "cat <<'E'\n" + rep("some text\n"),
		"heredoc vars":  "cat <<E\n" + rep("$v and text here\n") + "E\n",
		"prose":         "p '" + rep("a word, and (another) one; ") + "'",
		"fake quote":    ": \"<<'E'\n" + rep("\"a;") + "\nE\n",
		"fake closers":  rep("( ')' "),
		"findings":      rep("\u202e"),
		"invalid":       rep("\xff"),
		"nul":           rep("a\x00"),
		"cr":            rep("a\r\n"),
		"bomb":          rep("x='a[$(p)]';((x));"),
		"bombs vague":   rep("x='a[$(p)]';") + "((y))",
		"homograph":     "p " + rep("аbc "),
		"comments \\":   rep("# a \\\n"),
		"case":          "case x in " + rep("a) p;;") + "esac",
		"tests":         "[[ " + rep("a && ") + "a ]]",
		"functions":     rep("f(){ p;};"),
		"unset":         rep("unset a;"),
		"redirects":     "p " + rep(">a "),
		"array":         "a=(" + rep("x ") + ");" + strings.Repeat("p ${a[@]};", 1000),
		"nested dollar": rep("${a:-"),
		"directories":   strings.Repeat("cd a;", 6500),
		"escapes":       "p " + rep("\\ "),
		"escapes in \"": "p \"" + rep("\\a") + "\"",
		"bidi word":     "p " + rep("\u202e"),
		"wide word":     "p " + rep("ａ"),
		"invalid words": rep("\xff "),
		"tabs heredoc":  "cat <<-E\n" + rep("\t\ttext\n") + "\tE\n",
		"heredocs":      rep("cat <<E\nx\nE\n"),
		"unquoted \\":   "cat <<E\n" + rep("\\") + "\nE\n",
		"one brace":     "p {" + rep("a,") + "b}",
		"nested braces": "p " + rep("{a,{b,c},"),
	}
	for _, s := range []string{
		"a;", "a ", "a|", "a&&", "$a", "${a}", "`a`", "$(a)", "\"$a\" ", "'a'", "a=b ", "a=b;", "{ a;};", "#\n", "\n", "a\n", "$((1))",
		"[[ a ]];", "((1));", "<<a ", "$'a'", "a[1]=2;", "if a;then b;fi;", "\\\n", "!(a)", "()", "(", "((", "$((", "$(", "\"$(", "if ", "{ ",
		"`", "time ", "f()", "case a in b)", "while ", "coproc ", "a(){ ", "$[", "<(", "((1+", "$((-", "$((a=", "$((a?", "$((2**", "[[ ! ", "[[ (",
		"'", "\"", "\\", "<<", "|", "&", ";", "<<E\n", "~", "*", "é", "x=(", "! ", "\t", "eval ", "${", "[[", "]]", "{", "}", ")", "do ", "a\\\n",
	} {
		out["repeated "+s] = rep(s)
	}
	for _, s := range []string{"1+", "-", "!", "~", "a=", "a?", "2**", "(", "a[", "$a+"} {
		out["arithmetic "+s] = "((" + rep(s)
	}
	for _, s := range []string{"! ", "(", "a && ", "a =~ (", "-v "} {
		out["test "+s] = "[[ " + rep(s)
	}
	return out
}

// BenchmarkHostile shows the hostile texts at the size limit, and the worst of them: with
// -benchtime 1x each is read once.
func BenchmarkHostile(b *testing.B) {
	worst, which := 0.0, ""
	for name, src := range hostile(1<<20 - 64) {
		b.Run(strings.ReplaceAll(fmt.Sprintf("%q", name), "/", "|"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				shell.Parse(src, nil)
			}
			if ms := b.Elapsed().Seconds() * 1000 / float64(b.N); ms > worst {
				worst, which = ms, name
			}
		})
	}
	b.Logf("the worst is %q, %.0f ms", which, worst)
}

// TestHostile: no panic, no stack overflow, bounded output.
func TestHostile(t *testing.T) {
	for name, src := range hostile(1<<20 - 64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := shell.Parse(src, nil)
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
			t.Errorf("%q: %d MB allocated", name, mb)
		}
		for i := range s.Gaps {
			if strings.Contains(s.Gaps[i].Why, "parser failed") {
				t.Errorf("%q: a panic was recovered", name)
			}
		}
		if len(s.Commands) > 10_000 {
			t.Errorf("%q: %d commands", name, len(s.Commands))
		}
		if len(s.Gaps) > 20_000 || len(s.Findings) > 1000 {
			t.Errorf("%q: %d gaps, %d findings", name, len(s.Gaps), len(s.Findings))
		}
	}
}
