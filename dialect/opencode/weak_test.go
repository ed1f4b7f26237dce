package opencode

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// TestWeakPoints runs what gets past the rules of the original: none of it is
// allowed with the floor on.
func TestWeakPoints(t *testing.T) {
	denies := load(t, nil, "opencode.json", `{"permission": {"bash": {"*": "allow", "rm *": "deny", "git push *": "deny", "sudo *": "deny"}, "external_directory": "ask"}}`)
	allows := load(t, nil, "opencode.json", `{"permission": {"bash": {"*": "deny", "ls *": "allow", "git *": "allow", "echo *": "allow"}, "external_directory": "allow", "edit": "deny"}}`)
	for _, cmd := range []string{
		// asked about by nobody
		"> f", ">> f", "cd . > f", "cd 'PAYLOAD' 2>> ~/.bashrc", "[[ a ]] > f", "export A=1 > f",
		"[[ -v 'a[$(rm x)]' ]]", "[ -v 'a[$(rm x)]' ]", "[[ 'a[$(rm x)]' -eq 0 ]]", "declare 'a[$(rm x)]=1'", "a=(1); unset 'a[$(rm x)]'", "y='a[$(rm x)]'; z[y]=1",
		// redirects lost
		"{ echo a; } > /etc/x", "(echo a) > f", "for i in 1; do echo a; done > f", "echo a | ls > /etc/x", "echo a > ../../x",
	} {
		notAllowed(t, allows, cmd)
	}
	for _, cmd := range []string{
		// lost by the original's parser
		"git add -A . && git commit -F - <<'MSG' 2>&1 | rm -rf /tmp/x\nmsg\nMSG", "! { rm x; }", "time { rm x; }", "coproc { rm x; }",
		// another spelling
		"rm\tx", "git  push", "PATH=/x:$PATH rm x", `\rm x`, "'rm' x", "r''m x", "/bin/rm x", "$(echo rm) x", "git -C . push", "git --git-dir=x push",
		"env rm x", "nice rm x", "timeout 5 rm x", "nohup rm x", "command rm x", "exec rm x", "time rm x", "echo x | xargs rm", "find . -exec rm {} \\;",
		"sh -c 'rm x'", "eval 'rm x'", "bash <<< 'rm x'", "bash <<E\nrm x\nE", "cat <<E | sh\nrm x\nE", "X=rm; $X y", "alias l=rm; l x", "f() { rm x; }; f", "trap 'rm x' EXIT",
		"ls; rm x", "ls\nrm x", "ls & rm x", "echo `rm x`", "cat <(rm x)", "if rm x; then :; fi", "case a in a) rm x;; esac", "busybox rm x", "xargs -a list rm",
		// outside, by a program that the original does not look at, or by a link
		"ls /etc", "head /etc/passwd", "tee /etc/x", "sed -i s/a/b/ /etc/hosts", "dd if=/etc/shadow of=x", "cat $HOME/x", "cat ~root/x", "cp {/etc/a,b}", "cat link/passwd", "cd link && ls", "cd src && cat ../../../x",
	} {
		notAllowed(t, denies, cmd)
	}
}

func notAllowed(t *testing.T, l *dialect.Loaded, cmd string) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		t.Fatal(err)
	}
	if d := l.Policy.Decide(callOf("bash", string(input)), world); d.Verdict == obstat.Allow {
		t.Errorf("%q is allowed (%s)", cmd, d.Reason())
	}
}

// TestQuiet: everyday commands that the rules allow stay allowed.
func TestQuiet(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": {"*": "allow", "bash": {"*": "allow", "rm *": "deny", "git push *": "deny"}, "external_directory": "ask", "read": {"*": "allow", "*.env": "ask"}}}`)
	for _, cmd := range []string{
		"ls", "git status", "git diff HEAD~1 -- src", "npm test", "go test ./...", "cargo build --release", "cd src && ls -la", "grep -rn foo src | head -5", "cat src/a.ts", "echo hi 1>&2",
		"mkdir -p out && touch out/x", "make -j4", "find . -name '*.go'", "git log --oneline -5 | cat", "sed -n 1,5p a.txt", "ls > out.txt 2>/dev/null", "cat < in.txt", "FOO=1 npm run dev", "test -f x && echo y",
		"for i in 1 2; do echo $i; done", "git add -A && git commit -m 'x; rm -rf /'", "python script.py", "docker compose up -d", "git stash pop", "[ -f a ] || touch a",
	} {
		input, err := json.Marshal(map[string]string{"command": cmd})
		if err != nil {
			t.Fatal(err)
		}
		if d := l.Policy.Decide(callOf("bash", string(input)), world); d.Verdict != obstat.Allow {
			t.Errorf("%q: %v (%s)", cmd, d.Verdict, d.Reason())
		}
	}
}
