package effect

import (
	"slices"
	"testing"

	"github.com/obstat/obstat/paths"
)

func hides(an *Analysis) bool {
	return slices.ContainsFunc(an.Gaps, func(g Gap) bool { return g.Hides })
}

// Whatever sets PATH, what runs afterwards is not known: arithmetic in any expansion, subscripts given
// as text, expansions that assign, loops and builtins.
func TestImpliedAssignments(t *testing.T) {
	for _, c := range []string{
		"echo ${a[PATH=5]}; ls", "echo ${HOME:PATH=5:1}; ls", "echo ${@:PATH=5}; ls", "echo ${a[@]:PATH=5}; ls", "echo $[PATH=5]; ls",
		"echo $((PATH++)); ls", "((PATH<<=1)); ls", "a[PATH=5]=1; ls", "a=([PATH=5]=1); ls", "declare -i x=PATH=5; ls", "let 'PATH=5'; ls",
		"test -v 'a[PATH=5]'; ls", "[[ -v a[PATH=5] ]]; ls", "[[ PATH=5 -eq 5 ]]; ls", "unset 'a[PATH=5]'; ls", "x='PATH=5'; echo $((x)); ls",
		"read 'a[PATH=5]'; ls", "printf -v 'a[PATH=5]' x; ls", "exec {a[PATH=5]}>f; ls",
		"echo ${PATH:=x}; ls", "echo ${PATH=x}; ls", "x=PATH; echo ${!x:=y}; ls", "echo ${!y:=z}; ls",
		"for PATH in a; do ls; done", "for ((PATH=1;;)); do ls; done", "select PATH in a; do ls; done", "coproc PATH { ls; }; ls", "exec {PATH}>f; ls",
		"printf -v PATH x; ls", "read PATH; ls", "wait -p PATH; ls", "declare -n r=PATH; r=x; ls",
		"set -k; git diff GIT_EXTERNAL_DIFF=./evil", "set -o keyword; git diff GIT_EXTERNAL_DIFF=./evil", "set -eko pipefail; git diff GIT_EXTERNAL_DIFF=./evil",
		"set $X; git diff GIT_EXTERNAL_DIFF=./evil",
	} {
		if an := AnalyzeCommand(c, testOptions()); !hides(an) || an.ReadOnly {
			t.Errorf("%s: read-only %v, gaps %+v", c, an.ReadOnly, an.Gaps)
		}
	}
	for _, c := range []string{
		"((i++)); ls", "i=0; while ((i < 5)); do ((i++)); echo $i; done", "for i in a b; do echo $i; done", "((i == 5)) && ls", "echo $((1+2)); ls",
		"[[ $x == y ]] && ls", "printf -v x y; echo $x", "echo ${a[1]}", "echo ${HOME:1:2}", "set -e; git diff", "set -euo pipefail; ls", "echo ${x:=1}; ls",
		"export A=1 B=2; ls", "test -v x && ls",
	} {
		if an := AnalyzeCommand(c, testOptions()); !an.ReadOnly {
			t.Errorf("%s is not read-only: %s", c, an.Why)
		}
	}
}

// A word among the flags that is known only at run time may be any flag.
func TestDynamicFlags(t *testing.T) {
	for _, c := range []string{
		"git ${X:+} -c alias.x='!rm a.txt' x", "git ${X:--c} alias.x='!rm a.txt' x", `git -c "$(cat cfg)" status`, "git $X status", `git "$X"`,
		"git grep $(cat cfg)", "rg $X", "tar $X", "env $X ls", "find . $X", "npm $X", "find . -exec=x", "fd -xrm a",
	} {
		if an := AnalyzeCommand(c, testOptions()); !hides(an) {
			t.Errorf("%s: nothing hides what runs: %+v", c, an.Gaps)
		}
	}
	for _, c := range []string{"ls $X", "cat $X", "git log -1 --format=%H -- $X", "grep -- $X f", `wc -l "$X"`} {
		if an := AnalyzeCommand(c, testOptions()); hides(an) {
			t.Errorf("%s: %+v", c, an.Gaps)
		}
	}
}

// The words of a declaration are expanded before any of them is assigned.
func TestDeclarationOrder(t *testing.T) {
	for _, decl := range []string{"declare", "export", "readonly", "typeset", "declare -x"} {
		c := "A=rm; " + decl + ` A=echo B=$A; "$B" -rf x`
		an := AnalyzeCommand(c, testOptions())
		if last := an.Commands[len(an.Commands)-1]; last.Text != "rm -rf x" {
			t.Errorf("%s: %+v", c, last)
		}
	}
	an := AnalyzeCommand("A=rm; f() { local A=echo B=$A; $B x; }; f", testOptions())
	if last := an.Commands[len(an.Commands)-1]; last.Text != "rm x" {
		t.Errorf("local: %+v", last)
	}
}

// Programs that run others: what they run is found, or the words that may be a command are told.
func TestRunsOthers(t *testing.T) {
	for _, c := range []string{
		"npx rm x", "npx -c 'rm x'", "npx --call='rm x'", "npm exec -- rm x", "npm exec -c 'rm x'", "npm run env -- rm x", "npm run env rm x", "npm run -s env -- rm x",
		"fakeroot rm x", "valgrind rm x", "perf stat rm x", "cmake -E rm x", "cmake -E env rm x", "tmux new -d 'rm x'", "tmux new-session -d rm x", "screen -dm rm x",
		"git difftool -y -x 'rm x' HEAD", "git difftool -yx 'rm x'", "git difftool --extcmd='rm x' -y", "git fetch-pack --exec='rm x;' .", "git send-pack --exec='rm x' .",
		"git ls-remote --upload-pack='rm x' .", "gdb --args rm x", "xvfb-run rm x", "dbus-run-session rm x", "rg --pre rm foo", "npm explore a -- rm x", "nix-shell -p a --run 'rm x'", "dotenv rm x", "dotenv -f x run -- rm x", "sudo -s <<< 'rm x'", "echo 'rm x' | sudo -i", "newgrp <<< 'rm x'", "aws-vault exec p -- rm x", "op run --env-file=e -- rm x", "doppler run --command 'rm x'", "infisical run --env=dev -- rm x", "chamber exec s -- rm x",
	} {
		an := AnalyzeCommand(c, testOptions())
		if !slices.ContainsFunc(an.Commands, func(c Command) bool { return c.Program == "rm" }) {
			t.Errorf("%s: rm is not found: %+v", c, an.Commands)
		}
	}
	for _, c := range []string{
		"gdb -batch -ex '!rm x'", "make --eval='x:;rm x' x", "make -E 'x:;rm x'", "sftp -o ProxyCommand='rm x' h", "git remote-ext x 'rm x'", "npm config edit --editor='$(rm x)'",
		"git config alias.x '!rm x'", "git config core.hooksPath .", "git -c \"$(<cfg)\" status",
	} {
		if an := AnalyzeCommand(c, testOptions()); !hides(an) && !slices.ContainsFunc(an.Commands, func(c Command) bool { return c.Program == "rm" }) {
			t.Errorf("%s: %+v", c, an.Gaps)
		}
	}
	for c, tail := range map[string]string{"pyenv exec rm x": "rm"} {
		an := AnalyzeCommand(c, testOptions())
		if cmd := &an.Commands[0]; !slices.ContainsFunc(cmd.Tails, func(i int) bool { return cmd.Words[i].Text == tail }) {
			t.Errorf("%s: tails %v", c, cmd.Tails)
		}
	}
}

// The environment holds secrets: what prints all of it, or a variable with a telling name, is not
// read-only, and touches no file.
func TestEnvironmentIsRead(t *testing.T) {
	for _, c := range []string{
		"env", "env -0", "env | grep FOO", "printenv", "printenv AWS_SECRET_ACCESS_KEY", "set", "(set -o posix; set)", "export", "export -p", "declare -p", "declare -x",
		"typeset", "readonly -p", "ps e", "ps auxe", "ps eww", "jq -n env", "jq -n '$ENV'", "jq -n 'env.HOME'", "awk 'BEGIN{for(k in ENVIRON)print ENVIRON[k]}'",
		"echo $API_KEY", "echo \"a ${AWS_SECRET_ACCESS_KEY}\"", "printf '%s' $TOKEN", "systemctl show-environment", "tmux show-environment",
		"cat /proc/self/environ", "strings /proc/1/environ", "kubectl get Secret x -o yaml",
	} {
		an := AnalyzeCommand(c, testOptions())
		secret := slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Secret })
		if an.ReadOnly || !secret {
			t.Errorf("%s: read-only %v, secret %v", c, an.ReadOnly, secret)
		}
	}
	for _, c := range []string{
		"echo $HOME", "echo ${API_KEY:+set}", "test -n \"$TOKEN\"", "printenv HOME", "printenv PATH USER", "set -e", "set -euo pipefail", "set -x; ls", "export FOO", "export FOO=1; ls", "declare -f", "declare -p x", "ps aux", "ps -ef",
		"env FOO=1 ls", "jq .env package.json", "jq . f", "awk '{print $1}' f",
	} {
		if an := AnalyzeCommand(c, testOptions()); !an.ReadOnly {
			t.Errorf("%s is not read-only: %s", c, an.Why)
		}
	}
}

// A flag that the table of its program does not have is never harmless, alone, bundled or with a value.
func TestTablesAreClosed(t *testing.T) {
	for _, c := range []string{
		"ruff check -n --fix .", "ruff check -n --fix", "codespell -w f", "rpm -qa --define 'x y'", "openssl list -provider-path . -provider evil", "pip index versions x --index-url=http://h",
		"man -C x.conf ls", "apt list --option=Dir::Bin::dpkg=./evil", "cargo tree --config 'build.rustc=\"./evil\"'", "ss -tD f", "fuser -vk f", "utmpdump -o f /dev/null",
		"gpg --list-keys --status-file f", "gpg --status-file f --version", "ssh-keygen -l -k -f f k.pub", "kubectl get pods --frobnicate", "git log --frobnicate", "docker ps --frobnicate=1", "lsblk --log=f",
		"git tag --format=x NEW", "git branch --format=x NEW", "pip --python ./evil list", "git --git-dir=evil status", "tmux ls ';' run-shell x", "nft list ruleset ';' flush ruleset", "npm ls --cache=./x",
		"entr cat /_", "make -f - <<< x", "{ cat; } < .env", "sqlite3 -readonly db <<< '.shell touch x'", "git remote show http://h/x", "objdump --plugin=./x f", "rg --pre ./x y",
	} {
		if an := AnalyzeCommand(c, testOptions()); an.ReadOnly {
			t.Errorf("%s is read-only", c)
		}
	}
}

// Copies of the project that git makes hold the same files, and so do the tree that it searches or
// packs, and the files that entr is fed.
func TestReadsByWayOfGit(t *testing.T) {
	env := paths.Exactly("/home/user/project/.env")
	reads := func(c string) bool {
		return slices.ContainsFunc(AnalyzeCommand(c, testOptions()).Effects, func(e Effect) bool { return e.Kind == Read && !e.Tags.Has(List) && e.Target().Meets(env) })
	}
	for _, c := range []string{
		"git worktree add ../w && cat ../w/.env", "git worktree add -b x ../w main; cd ../w && cat .env", "git worktree add ../w && grep -r S ../w", "git worktree add ../w; cat < ../w/.env",
		"git clone . /tmp/c && cat /tmp/c/.env", "git clone file:///home/user/project /tmp/c; head /tmp/c/.e*", "git clone ./.git /tmp/c && tail /tmp/c/.env",
		"git bundle create /tmp/b HEAD && git clone /tmp/b /tmp/c && cat /tmp/c/.env", "git --work-tree=/tmp/wt checkout -- . && cat /tmp/wt/.env",
		"git grep SECRET", "git grep -n -e S HEAD", "git archive HEAD", "git archive HEAD | tar xO", "git stash show -p", "ls -a | entr cat /_", "find . | entr -p head -3 /_",
	} {
		if !reads(c) {
			t.Errorf("%s does not read .env: %+v", c, AnalyzeCommand(c, testOptions()).Effects)
		}
	}
	for _, c := range []string{
		"git worktree add ../w && cat ../w/README.md", "git worktree add ../w", "git clone . /tmp/c", "git clone https://example.com/x.git && cat x/.env", "git grep -l SECRET", "git grep S -- src",
		"git stash show", "git archive HEAD src", "ls src/*.go | entr go test ./...",
	} {
		if reads(c) {
			t.Errorf("%s reads .env: %+v", c, AnalyzeCommand(c, testOptions()).Effects)
		}
	}
}

// A file that a program takes its commands from is code where the command writes it.
func TestWrittenForAProgram(t *testing.T) {
	for _, c := range []string{
		"printf 'x:\\n\\tcat .env\\n' > Makefile && make", "echo 'x: ; cat .env' >> ./makefile; make x", `echo '{"scripts":{"x":"cat .env"}}' > package.json && npm run x`, "cd web && echo x | tee package.json && yarn x",
		"echo 'import os' > conftest.py; pytest -q", "npm pkg set scripts.x='cat .env' && npm run x", "npm set-script x 'cat .env'; npm run x", "pnpm pkg set --json \"scripts={}\" && pnpm test", "npm pkg set \"$x\" && npm test",
		"npm config set script-shell ./x && npm test", "npm set shell=./x; npm test", "echo script-shell=./x > .npmrc && npm test", "echo x > setup.py && pip install .", "echo x > noxfile.py; nox", "echo x > .cargo/config.toml && cargo build",
		"echo x > CMakeLists.txt && cmake .", "echo x > vite.config.ts && vite build",
		"echo 'echo x > Makefile && make' > q.sh && . ./q.sh",
	} {
		if an := AnalyzeCommand(c, testOptions()); !hides(an) {
			t.Errorf("%s: nothing hides what runs: %+v", c, an.Gaps)
		}
	}
	for _, c := range []string{"echo x > notes.txt && make", "make > Makefile.log", "echo x > a/package.json; npm test", "touch Makefile && make", "npm install left-pad && npm test",
		"npm pkg set version=1.2.3 && npm run build", "npm pkg set private=true --json; npm test", "npm config set registry http://h/ && npm ci", "npm version patch && npm run build"} {
		if an := AnalyzeCommand(c, testOptions()); hides(an) {
			t.Errorf("%s: %+v", c, an.Gaps)
		}
	}
}

// An extended pattern is a set of names.
func TestExtendedPatterns(t *testing.T) {
	env := paths.Exactly("/home/user/project/.env")
	for _, c := range []string{"shopt -s extglob\ncat .+(env)", "shopt -s extglob\ncat .!(git)", "shopt -s extglob\nhead ./.@(env|x)", "shopt -s extglob\ncat @(.env)", "shopt -s extglob\ncat ?(.)env"} {
		an := AnalyzeCommand(c, testOptions())
		if !hides(an) && !slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Kind == Read && e.Target().Meets(env) }) {
			t.Errorf("%s does not read .env: %+v", c, an.Effects)
		}
	}
	for _, c := range []string{"shopt -s extglob\nls !(a)", "[[ $x == @(*.js|*.ts) ]]"} {
		if an := AnalyzeCommand(c, testOptions()); hides(an) {
			t.Errorf("%s: %+v", c, an.Gaps)
		}
	}
}

// What git takes for the files that it shows: from the top, without regard to case, all but some.
func TestPathspecs(t *testing.T) {
	env, other := paths.Exactly("/p/.env"), paths.Exactly("/p/config/prod.yaml")
	opts := &Options{Dir: "/p", FS: dirsOf{"/p": true, "/p/.git": true, "/p/src": true, "/p/config": true}}
	reads := func(c string, set paths.Set) bool {
		return slices.ContainsFunc(AnalyzeCommand(c, opts).Effects, func(e Effect) bool { return e.Kind == Read && !e.Tags.Has(List) && e.Target().Meets(set) })
	}
	for _, c := range []string{
		"git grep '' -- ':(icase).ENV'", "git grep '' -- ':(glob)**/.env'", "git grep '' -- ':(top).env'", "git grep '' -- ':/.env'", "git grep '' -- '*nv'", "git grep '' '*nv'", "git grep x -- ':!src'", "git grep x -- '*'",
		"git show HEAD -- ':(icase).ENV'", "git show HEAD '*nv'", "git diff HEAD~1 -- '*nv'", "git log -p -- '*nv'", "git log --patch -- ':(top,icase).EnV'", "git log -U9 -- .env", "git format-patch -1 --stdout '*nv'",
		"git archive HEAD ':!src'", "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 -- .", "git diff $(git hash-object -t tree /dev/null)",
		"git upload-pack .", "git upload-archive .", "git http-backend", "git daemon --export-all", "git pack-objects --stdout --all", "git bundle create - HEAD", "git checkout-index --prefix=/tmp/x/ -a",
		"git checkout-index --temp .env", "git --work-tree=/tmp/x checkout -f && cat /tmp/x/.env", "git read-tree --prefix=x/ -u HEAD && cat x/.env", "git submodule add ./. x && cat x/.env", "git mv .env e && cat e",
	} {
		if !reads(c, env) {
			t.Errorf("%s does not read .env: %+v", c, AnalyzeCommand(c, opts).Effects)
		}
	}
	for _, c := range []string{"git log -p -- config/prod.yaml", "git log -p -- 'config/*.yaml'", "git log $x -- config/prod.yaml", "git show HEAD:config/prod.yaml", "cd src && git show HEAD:config/prod.yaml", "git log -p -- ':/config'",
		"git show $(git rev-parse HEAD:config/prod.yaml)", "B=$(git rev-parse :config/prod.yaml); git show $B", "git show $(git ls-tree HEAD config/prod.yaml | cut -d' ' -f3)", "git fmt-merge-msg -F config/prod.yaml", "aws x y --z=file://config/prod.yaml", "sqlite3 'file:config/prod.yaml?mode=ro' .dump"} {
		if !reads(c, other) {
			t.Errorf("%s does not read config/prod.yaml: %+v", c, AnalyzeCommand(c, opts).Effects)
		}
	}
	for _, c := range []string{
		"git diff -- .", "git diff -- . ':!package-lock.json'", "git log -p -- src", "git log --oneline -- config/prod.yaml", "git diff main -- '*.go'", "git show HEAD -- src", "git log -p -3", "git diff $BASE",
		"git grep x -- '*.go'", "git format-patch -1", "git bundle create /tmp/b HEAD", "git show :/fix", "git show $(git rev-parse HEAD~2)", "git log --until=now -- config/prod.yaml",
	} {
		if reads(c, env) || reads(c, other) {
			t.Errorf("%s reads .env or config/prod.yaml: %+v", c, AnalyzeCommand(c, opts).Effects)
		}
	}
}

// What is put into the environment of a command is read where that prints its environment; what is piped to ssh runs
// there; a file of a revision that is not known may be any; a letter behind two dashes is not that letter's flag.
func TestLoadedAndPiped(t *testing.T) {
	opts := &Options{Dir: "/p", FS: dirsOf{"/p": true, "/p/.git": true}}
	env := paths.Exactly("/p/.env")
	for c, want := range map[string]bool{
		"pipenv run env": true, "pipenv run printenv": true, "pipenv run pytest": false, "direnv exec . env": true, "direnv export bash": true, "foreman run env": true, "git show HEAD:$f": true, "git show $rev": false,
		"rclone cat .env": true, "history -r .env; history": true, "caddy file-server": true, "busybox httpd -f -h .": true, "shopt -s nocaseglob; cat .ENV*": true, "cat .[[:lower:]]nv": true, "docker-compose config": true,
	} {
		reads := func(e Effect) bool { return e.Kind == Read && !e.Tags.Has(List) && e.Target().Meets(env) }
		if got := slices.ContainsFunc(AnalyzeCommand(c, opts).Effects, reads); got != want {
			t.Errorf("%s: reads .env: %v", c, got)
		}
	}
	for _, c := range []string{"ssh h <<< 'rm v'", "echo 'rm v' | ssh h", "ssh-agent rm v", "parallel <<< 'rm v'"} {
		if a := AnalyzeCommand(c, opts); !slices.ContainsFunc(a.Commands, func(c Command) bool { return c.Program == "rm" }) {
			t.Errorf("%s does not run rm: %+v", c, a.Commands)
		}
	}
	for _, c := range []string{"awk --C '{ print }' f", "gpg --homedir k -k", "cargo fmt -- src/a.rs", "go fmt ./...", "go fmt ./src/...", "go fmt x", "git show HEAD:$f", "git diff HEAD -- '*env'"} {
		if AnalyzeCommand(c, opts).ReadOnly {
			t.Errorf("%s is read-only", c)
		}
	}
}
