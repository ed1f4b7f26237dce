package protect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/protect"
)

// waysToName are ways to write a file's name, in halves: what comes before the
// command, and the word.
var waysToName = [][2]string{
	{"", `HT`}, {"", `"HT"`}, {"", `'H'T`}, {"", `H""T`}, {"", `\HT`}, {"", `$'HT'`}, {"", `./HT`}, {"", `.//HT`}, {"", `src/../HT`}, {"", `{proj}/HT`}, {"", `../proj/HT`},
	{"", `/proc/self/cwd/HT`}, {"", `~/src/proj/HT`}, {"", `"$PWD"/HT`}, {"", `"$(pwd)/HT"`}, {"", `$HOME/src/proj/HT`}, {"", `{home}/here/HT`}, {"", `H*`}, {"", `./H*`}, {"", `[H]*`},
	{"", `H${x}T`}, {"", `"H$(:)T"`}, {"", "H`:`T"}, {"", `H$(echo T)`}, {"", `$(echo HT)`}, {"", `"$(printf 'H%s' T)"`}, {"", `${x:-HT}`}, {"", `${x:-H}T`},
	{"f=HT; ", `$f`}, {"f=HT; ", `"${f}"`}, {"f=H; ", `$f""T`}, {"a=H b=T; ", `$a$b`}, {"f=HT.x; ", `${f%.x}`}, {"f=x/HT; ", `${f##*/}`}, {"f=HXT; ", `${f/X/}`}, {"f=xHT; ", `${f:1}`},
	{"a=(HT x); ", `"${a[0]}"`}, {"set -- HT; ", `"$1"`}, {"f=H; f+=T; ", `$f`}, {"printf -v f H%s T; ", `$f`}, {"if true; then f=H; fi; ", `${f}T`}, {"f=$(echo H); ", `${f}T`},
	{"cd src && ", `../HT`}, {"cd ..; ", `proj/HT`}, {"cd {home}; ", `src/proj/HT`}, {"cd {home}/here && ", `HT`}, {"pushd src; ", `../HT`}, {"cd src; cd -; ", `HT`},
}

// waysToChange are ways to change the file N.
var waysToChange = []string{
	`rm N`, `rm -f -- N`, `/bin/rm N`, `sudo rm N`, `env A=1 timeout 5 rm N`, `nohup rm N &`, `(rm N)`, `if :; then rm N; fi`, `for i in 1 2; do rm N; done`, `g() { rm "$@"; }; g N`, `unlink N`, `shred -u N`,
	`echo x > N`, `echo x >> N`, `: > N`, `echo x >| N`, `echo x &> N`, `exec 3> N`, `echo x | tee N`, `cat x | sudo tee -a N > /dev/null`, `sed -i s/a/b/ N`, `perl -pi -e s/a/b/ N`, `truncate -s 0 N`,
	`dd if=x of=N`, `cp x N`, `mv x N`, `mv N /tmp/y`, `ln -sf x N`, `ln N twin`, `install -m 644 x N`, `chmod 000 N`, `chown nobody N`, `sort -o N x`, `curl -o N http://x`, `wget -O N http://x`, `gzip N`,
	`git rm -f N`, `git checkout HEAD~1 -- N`, `git mv N y`, `ed -s N`, `vim -es -c wq N`, `jq . x | sponge N`, `yq -i .a=1 N`, `openssl enc -in x -out N`, `go build -o N`, `./tool --out N`, `python3 x.py N`,
	`node x.js N`, `xargs -I% rm % <<< x; rm N`, `parallel rm ::: N`, `busybox rm N`, `script -c ls N`, `find N -delete`,
}

// composed is a way to change a file with a way to name it, whose name is in two halves.
func composed(p *project, name [2]string, change, head, tail string) string {
	halves := strings.NewReplacer("HOME", "HOME", "H", head, "T", tail, "{home}", p.home, "{proj}", p.proj)
	change = strings.ReplaceAll(change, "N", "\x00") // a half may have an N
	return halves.Replace(name[0]) + strings.ReplaceAll(change, "\x00", halves.Replace(name[1]))
}

// A project is a directory in a home directory, with a link to it there.
type project struct{ home, proj string }

func openProject(t *testing.T, files ...string) *project {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{home: filepath.Join(tmp, "home")}
	p.proj = filepath.Join(p.home, "src", "proj")
	t.Setenv("HOME", p.home)
	if err := os.MkdirAll(filepath.Join(p.proj, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(p.proj, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(p.proj, filepath.Join(p.home, "here")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *project) bash(command string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &obstat.Call{Tool: "Bash", Input: input, Dir: p.proj, Roots: []string{p.proj}}
}

// TestCompose: every way to name the policy with every way to change a file is
// found, and the same with another file's name is not.
func TestCompose(t *testing.T) {
	p := openProject(t, "obstat.json", "hints.txt")
	g := &protect.Guarded{Policies: []string{filepath.Join(p.proj, "obstat.json")}, Getenv: os.Getenv}
	found := func(command string) bool { return g.Check(p.bash(command), obstat.OS{}, nil) != nil }
	for i, name := range waysToName {
		for j, change := range waysToChange {
			if command := composed(p, name, change, "obst", "at.json"); !found(command) {
				t.Errorf("not found: %s", command)
			}
			if (i+j)%4 != 0 {
				continue // enough to see that it is the name that counts
			}
			if command := composed(p, name, change, "hint", "s.txt"); found(command) {
				t.Errorf("found: %s", command)
			}
		}
	}
}
