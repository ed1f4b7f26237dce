package shell_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/shell"
)

// render writes a command in one line: words, a dynamic word as its known part and …,
// assignments and redirections where a shell has them.
func render(c *shell.Command) string {
	var parts []string
	prefix := len(c.Words) == 0 || !strings.Contains(c.Words[len(c.Words)-1].Raw, "=")
	for _, a := range c.Assigns {
		if prefix {
			parts = append(parts, a.Name+"="+value(a.Value))
		}
	}
	for _, w := range c.Words {
		parts = append(parts, value(w))
	}
	for _, r := range c.Redirects {
		s := r.Fd + r.Op + value(r.Target)
		if r.Body != nil && strings.HasPrefix(r.Op, "<<") && r.Op != "<<<" {
			s += "{" + value(*r.Body) + "}"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func value(w shell.Word) string {
	s := w.Text
	if w.Known && (s == "" || strings.ContainsAny(s, " ;…")) {
		s = "'" + s + "'"
	}
	if !w.Known {
		s += "…"
	}
	return s
}

func renderAll(s *shell.Script) string {
	var out []string
	for i := range s.Commands {
		out = append(out, render(&s.Commands[i]))
	}
	return strings.Join(out, " ; ")
}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		// where commands sit
		{"ls -la", "ls -la"},
		{"", ""},
		{"# only a comment", ""},
		{"a; b & c && d || e | f |& g\nh", "a ; b ; c ; d ; e ; f ; g ; h"},
		{"ls & rm canary", "ls ; rm canary"},
		{"{ a; b; }; (c)", "a ; b ; c"},
		{"echo $(a `b` \"$(c)\") <(d) >(e)", "echo … … … ; a … … ; b ; c ; d ; e"},
		{"if a; then b; elif c; then d; else e; fi", "a ; b ; c ; d ; e"},
		{"while a; do b; done; until c; do d; done", "a ; b ; c ; d"},
		{"case $(a) in $(b)) c;; *) d;; esac", "a ; b ; c ; d"},
		{"for ((i=$(a); i<$(b); i+=$(c))); do d; done", "a ; b ; d ; c"},
		{"select x in $(a); do b; done", "a ; b"},
		{"! a; time b; time -p c; coproc d; coproc N { e; }", "a ; b ; c ; d ; e"},
		{"[[ -f $(a) && $(b) == $(c) ]]", "a ; b ; c"},
		{"a=$(b) c=(d $(e)) f", ""},
		{"a=$(b); c=(d $(e))", "a=… ; b ; c=… ; e"},
		{"exec 3< <(a)", "exec 3<… ; a"},
		// here-documents
		{"cat <<E\n$(a) `b`\nE\nc", "cat <<E{…} ; a ; b ; c"},
		{"cat <<'E'\n$(a)\nE\nc", "cat <<E{$(a)\n} ; c"},
		{"cat <<-E\n\t$(a)\n\tE\nc", "cat <<-E{…} ; a ; c"},
		{"cat <<E; rm x\nbody\nE", "cat <<E{body\n} ; rm x"},
		{"cat <<E & rm x\nE", "cat <<E{''} ; rm x"},
		{"cat <<A <<B\na\nA\nb\nB\nc", "cat <<A{a\n} <<B{b\n} ; c"},
		{"bash <<< 'rm x'", "bash <<<'rm x'"},
		{"git commit -m \"$(cat <<'E'\nmsg; rm x\nE\n)\"", "git commit -m … ; cat <<E{'msg; rm x\n'}"},
		// functions
		{"f() { a \"$1\" $2; b \"$@\"; }; f x 'y z'", "a x y z ; b x 'y z'"},
		{"f() { rm x; }", ""},
		{"rm() { :; }; rm x", ":"},
		{"rm() { :; }; unset -f rm; rm x", "unset -f rm ; rm x"},
		{"(rm() { :; }); rm x", "rm x"},
		{"rm() { :; }; command rm x", "command rm x"},
		{"rm() { :; }; /bin/rm x", "/bin/rm x"},
		{"if a; then rm() { :; }; fi; rm x", "a ; rm x ; :"},
		{"f() { a; } > o; f", " >o ; a"},
		{"f() { a; }; f > o", " >o ; a"},
		{"f() { local x=rm; }; x=ls; f; $x y", "x=ls ; local x=rm ; ls y"},
		{"x=rm; f() { $x y; }; x=ls; f", "x=rm ; x=ls ; ls y"},
		{"x=ls f() { $x; }; x=rm f", ""},
		{"f() { $x; }; x=rm f", "x=rm ; rm"},
		{"a() { b; }; b() { c; }; a", "c"},
		{"f() { a; } && rm x; f", "rm x ; a"},
		{"f() { a; } | rm x", "rm x"},
		{"(f() { rm x; }; trap f EXIT)", "trap f EXIT ; f ; rm x"},
		{"cd() { :; }; cd /; rm x", ": ; rm x"},
		{"f() { $1 y; x=1; }; x=rm; f a; f a; f a; f a; f a; f a; f a; f a; f rm; $x",
			"x=rm ; a y ; x=1 ; a y ; x=1 ; a y ; x=1 ; a y ; x=1 ; a y ; x=1 ; a y ; x=1 ; a y ; x=1 ; a y ; x=1 ; … y ; x=1 ; …"},
		// code in strings
		{"eval 'a; b'", "eval 'a; b' ; a ; b"},
		{"eval a \"b c\"", "eval a 'b c' ; a b c"},
		{"command eval 'a'", "command eval a ; a"},
		{"x='rm y'; eval \"$x\"", "x='rm y' ; eval 'rm y' ; rm y"},
		{"trap 'a; b' EXIT", "trap 'a; b' EXIT ; a ; b"},
		{"trap f 0; f() { rm x; }", "trap f 0 ; f ; rm x"},
		{"trap - INT; trap '' INT; trap INT", "trap - INT ; trap '' INT ; trap INT"},
		{"alias x='rm -rf'; x /", "alias 'x=rm -rf' ; x / ; rm -rf /"},
		{"mapfile -C 'rm x' -c 1 a", "mapfile -C 'rm x' -c 1 a ; rm x"},
		{"PS4='$(rm x)'; set -x; a", "PS4='$(rm x)' ; rm x ; set -x ; a"},
		{"x='$(rm y)'; echo ${x@P}", "x='$(rm y)' ; echo … ; rm y"},
		{"hash -p /bin/rm ls; ls x", "hash -p /bin/rm ls ; ls x ; /bin/rm x"},
		// arithmetic evaluation
		{"(( $(a) + b[$(c)] ))", "a ; c"},
		{"echo $(( $(a) )) $[ $(b) ]", "echo … … ; a ; b"},
		{"let x=$(a)", "let … ; a"},
		{"a[$(b)]=1", "a[$(b)]=1 ; b"},
		{"echo ${a[$(b)]} ${a:$(c)} ${a:-$(d)} ${a//$(e)/$(f)}", "echo … … … … ; b ; c ; d ; e ; f"},
		{"[[ -v 'a[$(b)]' ]]", "b"},
		{"[ -v 'a[$(b)]' ]", "[ -v a[$(b)] ] ; b"},
		{"test -v 'a[$(b)]'", "test -v a[$(b)] ; b"},
		{"[[ 'a[$(b)]' -eq 0 ]]", "b"},
		{"declare 'a[$(b)]=1'", "declare a[$(b)]=1 ; b"},
		{"unset 'a[$(b)]'", "unset a[$(b)] ; b"},
		{"printf -v 'a[$(b)]' x", "printf -v a[$(b)] x ; b"},
		{"read 'a[$(b)]'", "read a[$(b)] ; b"},
		{"y='a[$(b)]'; z[y]=1", "y=a[$(b)] ; z[y]=1 ; b"},
		{"y='a[$(b)]'; echo $((y))", "y=a[$(b)] ; echo … ; b"},
		{"y='a[$(b)]'; x=y; ((x))", "y=a[$(b)] ; x=y ; b"},
		{"declare -i x; x='a[$(b)]'", "declare -i x ; x=a[$(b)] ; b"},
		{"y='a[$(b)]'; echo ${!y}", "y=a[$(b)] ; echo … ; b"},
		{"echo 'a[$(b)]'", "echo a[$(b)]"},
		// words
		{"'r'm \"-\"rf \\/ $'\\x2f' a\\\nb", "rm -rf / / ab"},
		{"a=rm; $a -rf /", "a=rm ; rm -rf /"},
		{"a='rm -rf'; $a /; \"$a\" /", "a='rm -rf' ; rm -rf / ; 'rm -rf' /"},
		{"rm${IFS}-rf$IFS/", "rm -rf /"},
		{"{rm,-rf,/{a,b},{1..3},x{y}}", "rm -rf /a /b 1 2 3 x{y}"},
		{"x=; echo ${x:-a} ${x-b} ${x:+c} ${x+d} \"${x:-e f}\"", "x='' ; echo a d 'e f'"},
		{"echo ${x:-a}", "echo …"},
		{"a=(rm -rf /); \"${a[@]}\"; ${a[0]} x", "a=… ; rm -rf / ; rm x"},
		{"set -- rm -rf; \"$@\" /; shift; echo $1 $#", "set -- rm -rf ; rm -rf / ; shift ; echo -rf …"},
		{"for x in rm 'a b'; do $x f; done", "rm f ; a b f"},
		{"for x in rm ls; do echo y; done", "echo y"},
		{"for x in *.c; do rm \"$x\" $x; done", "rm *.c …"},
		{"x=ls; if a; then x=rm; fi; $x", "x=ls ; a ; x=rm ; …"},
		{"x=ls; while a; do $x; x=rm; done", "x=ls ; a ; … ; x=rm"},
		{"x=ls; (x=rm); $x", "x=ls ; x=rm ; ls"},
		{"x=ls; a | x=rm; $x", "x=ls ; a ; x=rm ; …"},
		{"x=ls; read x; $x", "x=ls ; read x ; …"},
		{"x=ls; declare -n y=x; y=rm; $x", "x=ls ; declare -n y=x ; y=rm ; …"},
		{"x=ls; . ./f; $x", "x=ls ; . ./f ; …"},
		{"x=a; x+=b; echo $x", "x=a ; x=b ; echo ab"},
		{"IFS=x; a=rmx-rf; $a", "IFS=x ; a=rmx-rf ; …"},
		{"echo a#b # c", "echo a#b"},
		{"echo \"a\\$b\\\"c\\d\" 'e'\\''f'", "echo a$b\"c\\d e'f"},
		// what the parser alone gets wrong
		{"echo a # foo \\\nrm x", "echo a ; rm x"},
		{"ls\r\nrm x", "ls\r ; rm x"},
		// redirections
		{"a > f 2>&1 < g >> h &> i >| j 3<> k", "a >f 2>&1 <g >>h &>i >|j 3<>k"},
		{"> f", ">f"},
		{"{ a; } > f", ">f ; a"},
		{"(a) > f; for x in 1; do b; done < g; if c; then d; fi 2> h", ">f ; a ; <g ; b ; 2>h ; c ; d"},
		{"[[ a ]] > f", ">f"},
		{"((1)) > f", ">f"},
		{"export A=1 > f", "export A=1 >f"},
		{"cd . > f", "cd . >f"},
		// declarations
		{"export PATH=/x:$PATH; ls", "export PATH=/x:… ; ls"},
		{"\\export x=rm; $x y", "export x=rm ; rm y"},
		{"declare -r x=rm y; $x", "x=rm declare -r x=rm y ; rm"},
	} {
		got := renderAll(shell.Parse(c.src, nil))
		if strings.TrimSpace(strings.ReplaceAll(got, " ;  >", " ; >")) != strings.TrimSpace(strings.ReplaceAll(c.want, " ;  >", " ; >")) {
			t.Errorf("%q\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// TestConcurrent: parsers are shared, but never at the same time.
func TestConcurrent(t *testing.T) {
	texts := corpus(t)
	want := make([]string, len(texts))
	for i, src := range texts {
		want[i] = renderAll(shell.Parse(src, nil))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, src := range texts {
				if got := renderAll(shell.Parse(src, nil)); got != want[i] {
					t.Errorf("%q: %s, want %s", src, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}
