package search

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

func words(cmd string) []shell.Word {
	return shell.Parse(cmd, &shell.Options{}).Commands[0].Words
}

func TestListers(t *testing.T) {
	tables := Compile(kb.Find)
	for _, tt := range []struct {
		cmd    string
		prints bool
		name   string
		starts string
		traits string // f: files only, a: all, v: visible only
	}{
		{"find", true, "", "", "a"},
		{"find src lib -name '*.go' -type f", true, "*.go", "src lib", "f"},
		{"find . -iname '*.o'", true, "*.?", ".", ""},
		{"find . -name '*.a' -o -name '*.b'", true, "", ".", ""},
		{"find . ! -name x -name '*.o'", true, "*.o", ".", ""},
		{"find . -name '*.o' -delete -name y", true, "*.o", ".", ""},
		{"find . -name a/b", true, "", ".", ""},
		{"find . -printf %p", false, "", ".", "a"},
		{"find . -exec cat {} +", false, "", ".", "a"},
		{"find -L . -type f", true, "", ".", "a"},
		{"ls -A src", true, "", "src", "a"},
		{"ls src", true, "", "src", ""},
		{"ls --format=x", false, "", "", ""},
		{"fd -e go", true, "*.go", "go", ""},
		{"fd x -xrm", false, "", "x", ""},
		{"grep -rl x src", true, "", "src", "f"},
		{"grep -rlR x src", true, "", "src", ""},
		{"grep -r x src", false, "", "src", "f"},
		{"grep -rle x src", false, "", "src", "f"},
		{"grep -rl x --include='*.go' .", true, "*.go", ".", "f"},
		{"grep -rl x --include '*.go' --include '*.c' .", true, "", "*.go *.c .", "f"},
		{"rg --files", true, "", "", "fv"},
		{"rg -l x -g '*.ts'", true, "*.ts", "*.ts", "fv"},
		{"rg -l x --glob=*.ts", true, "*.ts", "", "fv"},
		{"rg -l x -g '*.ts' --iglob .ENV", true, "", "*.ts .ENV", "f"},
		{"rg -l x -g .env", true, ".env", ".env", "f"},
		{"rg -lu x", true, "", "", "f"},
		{"rg --hidden -l x", true, "", "", "f"},
		{"git ls-files '*.py'", true, "*.py", "", ""},
		{"git diff --name-only -- '*.py'", true, "*.py", "", ""},
		{"git diff", false, "", "", ""},
		{"git log", false, "", "", ""},
		{"cat f", false, "", "", ""},
	} {
		w := words(tt.cmd)
		l := tables.Of(w[0].Text)
		var starts []string
		for _, s := range l.Starts(w) {
			starts = append(starts, s.Text)
		}
		traits := ""
		for i, has := range []bool{l.FilesOnly(w), l.All(w), l.VisibleOnly(w)} {
			if has {
				traits += "fav"[i : i+1]
			}
		}
		if got := l.Prints(w); got != tt.prints || l.Name(w) != tt.name || strings.Join(starts, " ") != tt.starts || traits != tt.traits {
			t.Errorf("%s: prints %v, name %q, starts %q, traits %q, want %+v", tt.cmd, got, l.Name(w), starts, traits, tt)
		}
	}
}

func TestSelections(t *testing.T) {
	tables := Compile(kb.Find)
	for cmd, want := range map[string]bool{
		"head -n 20": true, "head -20": true, "tail -n+2": true, "sort -u": true, "sort -o f": false, "grep -v x": true, "grep -c x": false, "grep x f": false,
		"uniq": true, "uniq f": false, "tac": true, "sed p": false, "sort --output=f": false, "sort 5": false,
	} {
		if got := tables.Selects(words(cmd)); got != want {
			t.Errorf("%s selects: %v", cmd, got)
		}
	}
	for cmd, want := range map[string]string{`grep '\.go$'`: "*.go", `grep '\.go'`: "", `grep -v '\.go$'`: "", `head '\.go$'`: "", `grep '\.$'`: ""} {
		if got := tables.Extension(words(cmd)); got != want {
			t.Errorf("%s leaves %q, want %q", cmd, got, want)
		}
	}
	for cmd, want := range map[string]string{"kubectl get pods": "-oname", "docker ps": "-q", "docker images": "", "docker ps --format x": "", "kubectl get pods -o yaml": "", "ps x": ""} {
		got := tables.Column(words(cmd))
		if want == "" != (got == nil) || want != "" && got[len(got)-1].Text != want {
			t.Errorf("%s: first column by %v, want %q", cmd, got, want)
		}
	}
	for program, want := range map[string]bool{"{print $1}": true, "NR>1 {print $1}": true, "/web/ {print $1}": true, "{ print $1 }": false, "{print $2}": false, "/a/ || /b/ {print $1}": false, "{print $1; system(1)}": false} {
		if got := FirstColumn(program); got != want {
			t.Errorf("awk %q prints the first column: %v", program, got)
		}
	}
}
