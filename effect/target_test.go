package effect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/paths"
)

// dirsFS knows a home and some directories.
type dirsFS struct {
	dirs  []string
	links map[string]string
}

func (f dirsFS) Home(string) (string, bool) { return "/home/u", true }
func (f dirsFS) Readlink(p string) (string, bool) {
	to, ok := f.links[p]
	return to, ok
}
func (f dirsFS) IsDir(p string) bool { return slices.Contains(f.dirs, p) }

// show writes a set with its marks as characters that can be read.
func show(s paths.Set) string {
	out := strings.NewReplacer("\x00", "…", "\x03\x01", "*", "\x01", "*", "\x02", "?").Replace(s.Text)
	if s.Below {
		out += "/…"
	}
	return out
}

// A pattern reaches a name that it may stand for, and a star none in particular.
func TestReaches(t *testing.T) {
	for command, want := range map[string]string{
		"rm -r .gi?": ".git", "cp x .gi?/hooks": ".git", "rm .en?": ".env", "rm .e*": ".env", "rm *": "", "rm *.ts": "", "rm .git": "", "cp src/* out": "", "tee ~/.bashr?": ".bashrc",
	} {
		an, got := AnalyzeCommand(command, &Options{Dir: "/p", FS: dirsFS{}}), ""
		for i := range an.Effects {
			got = word.Or(got, an.Effects[i].Reaches([]string{".env", ".bashrc", "id_rsa"}, []string{".git"}))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// What a command touches is known as a set, however it is written.
func TestTargets(t *testing.T) {
	fs := dirsFS{dirs: []string{"/p", "/p/.git", "/p/.git/hooks", "/p/src", "/p/out"}, links: map[string]string{"/p/link": "/etc"}}
	for _, tc := range [][2]string{
		{"rm a", "delete /p/a"},
		{"rm -r src", "delete /p/src/…"},
		{"mv src x", "delete /p/src/…; read /p/src/…; write /p/x"},
		{"rm .en?", "delete /p/.en?"},
		{"cat ~/.ss?/id_rsa", "read /home/u/.ss?/id_rsa"},
		{"rm ope${x}ncode.json", "delete /p/ope…ncode.json"},
		{"rm $x", "delete …"},
		{"rm src/$x/../y", "delete …/y"},
		{"cd $d; rm y", "read …; delete …/y; delete /p/y"},
		{"echo x > src/$x", "write /p/src/…"},
		{"cp a b out", "read /p/a; read /p/b; write /p/out; write /p/out/a; write /p/out/b"},
		{"cp /tmp/x/*.json .", "read /tmp/x/*.json; write /p; write /p/*.json"},
		{"cp -r /tmp/x/. .", "read /tmp/x/…; write /p; write /p/…"},
		{"cp -rT /tmp/x .", "read /tmp/x/…; write /p/…"},
		{"cp -r /tmp/x .", "read /tmp/x/…; write /p; write /p/x/…"},
		{"git restore -- :/", "write /p/…; delete /p/…"},
		{"git checkout -- '*.json'", "write /p/….json/…; delete /p/….json/…"},
		{"git clean -fd src", "delete /p/src/…; delete /p/src/…"},
		{"rsync -a /tmp/x/ ./", "read /tmp/x/…; write /p; write /p/…"},
		{"cp -t out a", "write /p/out; read /p/a; write /p/out/a"},
		{"mv /tmp/.claude .", "delete /tmp/.claude; read /tmp/.claude; write /p; write /p/.claude/…"},
		{"cp x .git/hooks", "read /p/x; write /p/.git/hooks; write /p/.git/hooks/x"},
		{"cp a link", "read /p/a; write /p/link"},
		{"find . -name '*.o' -delete", "delete /p…/*.o; read /p"},
		{"find . -delete -name '*.o'", "delete /p/…; read /p"},
		{"find src -name '*.o' -exec rm {} +", "read /p/src; delete /p/src…/*.o"},
		{"find src . -exec rm {} +", "read /p/src; read /p; delete /p/src/…; delete /p/…"},
		{"find src -name '*.o' | xargs rm", "read /p/src; delete /p/src…/*.o"},
		{"grep -rl old src | xargs rm", "read /p/src/…; delete /p/src/…"},
		{"find src -not -name '*.o' | xargs rm", "read /p/src; delete /p/src/…"},
		{"git ls-files '*.go' | xargs sed -i s/a/b/", "write /p…/*.go"},
		{"tar -xf x.tar", "write /p/…; read /p/x.tar"},
		{"tar -xf x.tar -C src", "read /p/src; write /p/src/…; read /p/x.tar"},
		{"unzip x.zip -d out", "write /p/out; write /p/out/…; read /p/x.zip"},
		{"cd src && git checkout main", "read /p/src; write /p/…"},
		{"git checkout main -- src/a", "write /p/main/…; delete /p/main/…; write /p/src/a/…; delete /p/src/a/…"},
		{"git checkout -b x", ""},
		{"git commit -m x", ""},
		{"git stash", "write /p/…"},
		{"git clean -fdx", "delete /p/…; delete /p/…"},
		{"git restore --staged src/a", "read /p/src/a"},
		{"git restore -S -W src/a", "write /p/src/a/…; delete /p/src/a/…"},
		{"git checkout src", "write /p/src/…; delete /p/src/…"},
		{"git stash push src/a", "write /p/…; write /p/src/a/…"},
		{"go build ./...", ""},
		{"npm ci", ""},
	} {
		an := AnalyzeCommand(tc[0], &Options{Dir: "/p", FS: fs})
		var got []string
		for i := range an.Effects {
			if e := &an.Effects[i]; !e.Target().IsZero() {
				got = append(got, fmt.Sprint(e.Kind, " ", show(e.Target())))
			}
		}
		if s := strings.Join(got, "; "); s != tc[1] {
			t.Errorf("%s\n got %s\nwant %s", tc[0], s, tc[1])
		}
	}
}
