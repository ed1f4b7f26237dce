package shell_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/shell"
)

func TestGaps(t *testing.T) {
	for _, c := range []struct {
		src  string
		kind shell.GapKind
		at   string // text that the gap points at
	}{
		{"a; if", shell.Syntax, "if"},
		{"echo 'a", shell.Syntax, "'a"},
		{"cat <<E\na", shell.Syntax, "<<E\na"},
		{"a &&", shell.Syntax, "&&"},
		{"$x -rf /", shell.DynamicProgram, "$x"},
		{"$(echo rm) x", shell.DynamicProgram, "$(echo rm)"},
		{"/bin/r? x", shell.DynamicProgram, "/bin/r?"},
		{"${x:-rm} y", shell.DynamicProgram, "${x:-rm}"},
		{"eval \"$x\"", shell.DynamicCode, "\"$x\""},
		{"eval \"rm $x\"", shell.DynamicCode, "\"rm $x\""},
		{"trap \"$x\" EXIT", shell.DynamicCode, "\"$x\""},
		{"alias x=\"$y\"", shell.DynamicCode, "x=\"$y\""},
		{"printf 'abc%n' PATH; ls", shell.DynamicCode, "'abc%n'"},
		{"printf %-5n PATH", shell.DynamicCode, "%-5n"},
		{"f() { f; }; f", shell.DynamicCode, "f"},
		{":(){ :|:& };:", shell.DynamicCode, ":"},
		{"echo 'a[$(b)]' | { read x; ((x)); }", shell.DynamicCode, "'a[$(b)]'"},
		{"BASH_ALIASES[ls]='rm x'; ls", shell.DynamicCode, "BASH_ALIASES[ls]='rm x'"},
		{"eval 'if'", shell.Syntax, "if"},
		// where the parser and bash part ways
		{"!(rm x)", shell.Syntax, "!(rm x)"},
		{"cat <<\"a\\\"b\"\na\"b\nrm x\na\\\"b\n", shell.Syntax, "\"a\\\"b\""},
		{"cat <<E\n${x}E\ncat <<'X'\nE\nrm x\nX\n", shell.Syntax, "E"},
		{"cat <<'E'F\n$(a)\nEF\n", shell.Syntax, "'E'F"},
		{"echo \"${x:-'}\"; rm x; echo \"'}\"", shell.Syntax, "'}\"; rm x; echo \"'"},
		{"(echo ''#; rm x\n)", shell.Syntax, "(echo ''#; rm x\n)"},
		{"echo @(a|$(b))", shell.Syntax, "@(a|$(b))"},
		{"a >&-b", shell.Syntax, "-b"},
		{"]=1[[ a", shell.Syntax, "]=1[[ "},
		{"a | time b", shell.Syntax, "time b"},
		{"echo $(cat <<E\nE\nrm; -rf /)", shell.Syntax, "cat <<E"},
		{"a\\", shell.Syntax, "\\"},
		{"a \"$\\\n(rm x)\"", shell.Syntax, "a \"$\\\n(rm x)\""},
		{"((${x:-rm y(}))", shell.Syntax, "((${x:-rm y(}))"},
		{"x=(a b)#; $x", shell.Syntax, "x=(a b)"},
		{"cat <((a) # it's\n)", shell.Syntax, "<((a) # it's\n)"},
		{"a &>2>b", shell.Syntax, ">b"},
		{"coproc a b | c", shell.Syntax, "coproc a b | c"},
		{"else a", shell.Syntax, "else"},
		{"a\x00b", shell.Syntax, "a\x00b"},
	} {
		s := shell.Parse(c.src, nil)
		found := false
		for _, g := range s.Gaps {
			found = found || g.Kind == c.kind && strings.TrimSpace(c.src[g.Span.Start:g.Span.End]) == strings.TrimSpace(c.at)
		}
		if !found {
			t.Errorf("%q: gaps %v, want %v at %q", c.src, s.Gaps, c.kind, c.at)
		}
	}
}

// TestNoGaps: what is certain must not be called unseen.
func TestNoGaps(t *testing.T) {
	for _, src := range []string{
		"ls", "git commit -m \"fix: $x\"", "for f in *; do cat $f; done", "echo $((1+x))", "cd \"$dir\" && make", "x=$(date); echo $x",
		"if [ -f a ]; then cat a; fi", "cat <<'E' > f\n$(x)\nE\n", "git commit -m \"$(cat <<'E'\nit's\nE\n)\"", "npm test 2>&1 | tail -5", "f() { a; }; f",
		"find . -name '*.go' -exec grep x {} +", "[[ $x == a* && -n $y ]] || exit 1", "a=(1 2); echo \"${a[@]}\"", "printf '%s\\n' \"$@\"", "echo a#b",
		"while read -r l; do echo \"$l\"; done < f", "case $x in a|b) c;; *) d;; esac", "echo {1..3}", "((i++))", "trap 'rm -f \"$t\"' EXIT", "(cd a; b)",
		"echo 'a[$(b)]'", "shopt -s extglob\nls !(a)", "[[ a == @(a|b) ]]", "\"$HOME/bin/x\"",
	} {
		s := shell.Parse(src, &shell.Options{Vars: map[string]string{"HOME": "/home/me"}})
		if len(s.Gaps) > 0 {
			t.Errorf("%q: %v", src, s.Gaps)
		}
	}
}

func TestOpaque(t *testing.T) {
	deep := strings.Repeat("(", 1001) + "a" + strings.Repeat(")", 1001)
	for _, c := range []struct {
		src    string
		opts   *shell.Options
		opaque bool
		kind   shell.GapKind
	}{
		{"'", nil, true, shell.Syntax},
		{"ls\nif", nil, false, shell.Syntax},
		{strings.Repeat("a", 1<<20+1), nil, true, shell.TooBig},
		{"a;b;c", &shell.Options{MaxCommands: 2}, false, shell.TooBig},
		{"$x;b;c", &shell.Options{MaxCommands: 2}, false, shell.TooBig},
		{deep, nil, true, shell.TooDeep},
		{strings.Repeat("(", 1<<20), nil, true, shell.TooDeep},
		{"Get-ChildItem C:\\ | Remove-Item -Recurse", nil, true, shell.ForeignShell},
		{"[IO.File]::Delete('x')", nil, true, shell.ForeignShell},
		{"del /f /q C:\\x", nil, true, shell.ForeignShell},
		{"ls", &shell.Options{Lang: shell.PowerShell}, true, shell.ForeignShell},
		{"ls", &shell.Options{Lang: shell.Cmd}, true, shell.ForeignShell},
		{"ls", &shell.Options{Lang: 77}, true, shell.ForeignShell},
	} {
		s := shell.Parse(c.src, c.opts)
		if s.Opaque() != c.opaque || !hasGap(s, c.kind) {
			t.Errorf("%.40q: opaque %v, gaps %v", c.src, s.Opaque(), s.Gaps)
		}
	}
	for _, src := range []string{"", "ls", "# c", "x=1", "$x"} {
		if shell.Parse(src, nil).Opaque() {
			t.Errorf("%q is opaque", src)
		}
	}
}

func TestDir(t *testing.T) {
	for _, c := range []struct{ src, want string }{ // the directory of the last command; ? unknown, ! unsure
		{"x", ""},
		{"cd a && x", "a"},
		{"cd a; x", "a!"},
		{"cd a || exit; x", "a"},
		{"cd a || { echo no; exit 1; }; x", "a"},
		{"set -e; cd a; x", "a"},
		{"cd a && cd b && x", "a/b"},
		{"cd a && cd .. && x", ""},
		{"cd .. && x", ".."},
		{"cd /a/../b && x", "/b"},
		{"cd && x", "~"},
		{"cd ~/a && x", "~/a"},
		{"(cd a); x", ""},
		{"a | cd b; x", "?!"},
		{"cd a & x", ""},
		{"$(cd a); x", ""},
		{"cd $d && x", "?"},
		{"cd - && x", "?"},
		{"cd a && cd - && x", ""},
		{"pushd a && popd && x", "!"},
		{"if y; then cd a; fi; x", "?!"},
		{"for i in 1 2; do cd a; done; x", "?!"},
		{"y && cd a; x", "a!"},
		{"y || cd a; x", "?!"},
		{"f() { cd a; }; f; x", "a!"},
		{"cd -P a && x", "?"},
		{"CDPATH=/b; cd a && x", "?"},
		{"command cd a && x", "a!"},
		{"cd a* && x", "?"},
		{". f; x", "?!"},
		{"eval 'cd a'; x", "a!"},
		{"eval \"$y\"; x", "?!"},
	} {
		s := shell.Parse(c.src, nil)
		last := s.Commands[len(s.Commands)-1]
		got := last.Dir.Text
		if !last.Dir.Known {
			got = "?"
		}
		if last.Nest&shell.UnsureDir != 0 {
			got += "!"
		}
		if strings.TrimSuffix(got, "!") == "?" {
			got, c.want = "?", strings.TrimSuffix(c.want, "!")
		}
		if got != c.want {
			t.Errorf("%q: in %q, want %q", c.src, got, c.want)
		}
	}
}

func TestNestAndStdin(t *testing.T) {
	for _, c := range []struct {
		src   string
		which string // program
		nest  shell.Nest
		stdin string // program that feeds it, or ""
	}{
		{"a | b", "b", shell.InPipe | shell.InSubshell, "a"},
		{"a | b | c", "c", shell.InPipe | shell.InSubshell, "b"},
		{"(a; b) | c", "c", shell.InPipe | shell.InSubshell | shell.MixedStdin, "b"},
		{"a | { b; }", "b", shell.InPipe | shell.InSubshell | shell.InGroup, "a"},
		{"f() { b; }; a | f", "b", shell.InPipe | shell.InSubshell | shell.InFunction | shell.InGroup, "a"},
		{"a | b; c", "c", 0, ""},
		{"echo $(a)", "a", shell.InSubst | shell.InSubshell, ""},
		{"cat <(a)", "a", shell.InSubst | shell.InSubshell | shell.InProcess, ""},
		{"cat <<E\n$(a)\nE", "a", shell.InSubst | shell.InSubshell | shell.InHeredoc, ""},
		{"a && b", "b", shell.InCondition, ""},
		{"! a", "a", shell.Negated, ""},
		{"! a | b", "b", shell.Negated | shell.InPipe | shell.InSubshell, "a"},
		{"a &", "a", shell.InBackground | shell.InSubshell, ""},
		{"while a; do b; done", "b", shell.InLoop | shell.InCondition, ""},
		{"trap a EXIT", "a", shell.InTrap, ""},
		{"eval a", "a", shell.InEval, ""},
		{"((x[$(a)]))", "a", shell.InSubst | shell.InSubshell, ""},
		{"let 'x[$(a)]'", "a", shell.InArith | shell.InSubst | shell.InSubshell | shell.InHeredoc, ""},
		{"command_not_found_handle() { a; }", "a", shell.Uncertain | shell.InCondition | shell.InFunction | shell.InGroup, ""},
	} {
		s := shell.Parse(c.src, nil)
		found := false
		for i := range s.Commands {
			k := &s.Commands[i]
			if k.Program().Text != c.which {
				continue
			}
			found = true
			stdin := ""
			if k.Stdin >= 0 {
				stdin = s.Commands[k.Stdin].Program().Text
			}
			if k.Nest != c.nest || stdin != c.stdin {
				t.Errorf("%q: nest %b fed by %q, want %b and %q", c.src, k.Nest, stdin, c.nest, c.stdin)
			}
		}
		if !found {
			t.Errorf("%q: no %s", c.src, c.which)
		}
	}
	s := shell.Parse("{ sh; } <<< 'rm x'", nil)
	if c := s.Commands[1]; c.Stdin != 0 || s.Commands[0].Redirects[0].Body.Text != "rm x" {
		t.Errorf("the input of a group does not reach its command: %+v", s.Commands)
	}
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		src string
		why string
		at  string
	}{
		{"ls\r\n", "a carriage return, which is part of the word", "\r"},
		{"a\x00", "a NUL byte", "\x00"},
		{"a\xff b", "a byte that is not UTF-8", "\xff"},
		{"a\xed\xa0\x80", "a byte that is not UTF-8", "\xed"}, // a lone surrogate
		{"a \u202eb", "a character that reorders the text", "\u202e"},
		{"r\u200bm x", "a character that is not displayed", "\u200b"},
		{"rm\u00a0x", "a space that is part of the word", "\u00a0"},
		{"сat x", "letters that look like ASCII ones", "сat"},
		{"сат x", "letters that look like ASCII ones", "сат"},
		{"cat /еtc/passwd", "letters that look like ASCII ones", "/еtc/passwd"},
		{"rm –rf x", "letters that look like ASCII ones", "–rf"},
		{"echo > /tmp/ｘa", "letters that look like ASCII ones", "/tmp/ｘa"},
		{"echo \x1b[0m", "a control character", "\x1b"},
	} {
		found := false
		for _, f := range shell.Parse(c.src, nil).Findings {
			found = found || f.Why == c.why && c.src[f.Span.Start:f.Span.End] == c.at
		}
		if !found {
			t.Errorf("%q: no finding %q at %q in %v", c.src, c.why, c.at, shell.Parse(c.src, nil).Findings)
		}
	}
	for _, src := range []string{"ls é", "cat файл.txt", "echo 'don’t — stop'", "git commit -m 'naïve'", "ls 你好", "a\n\tb"} {
		if f := shell.Parse(src, nil).Findings; len(f) > 0 {
			t.Errorf("%q: %v", src, f)
		}
	}
	s := shell.Parse("ls\xff\r '\xfe' \"\r\xfd\"", nil)
	if got := renderAll(s); got != "ls\xff\r \xfe \r\xfd" {
		t.Errorf("bytes are not kept: %q", got)
	}
}

func TestConstructs(t *testing.T) {
	src := "a=$(b) c ${x} $y `d`; (e) | [[ f ]] && { g; } > h & for i in 1; do j; done\nk <<E\nE\n"
	var kinds []shell.ConstructKind
	for _, c := range shell.Parse(src, nil).Constructs {
		kinds = append(kinds, c.Kind)
		if c.Span.Start < 0 || c.Span.End > len(src) || c.Span.Start > c.Span.End {
			t.Errorf("construct %d lies at %v", c.Kind, c.Span)
		}
	}
	for _, want := range []shell.ConstructKind{
		shell.SimpleCommand, shell.CommandSubst, shell.BraceParam, shell.SimpleParam, shell.Semicolon, shell.Subshell, shell.PipeOp,
		shell.TestClause, shell.AndOp, shell.Group, shell.RedirectOut, shell.BackgroundOp, shell.ForLoop, shell.Newline, shell.HereDoc,
	} {
		if !contains(kinds, want) {
			t.Errorf("construct %d is missing in %v", want, kinds)
		}
	}
}

func contains(list []shell.ConstructKind, k shell.ConstructKind) bool {
	for _, x := range list {
		if x == k {
			return true
		}
	}
	return false
}
