package code

import (
	"strings"
	"testing"
)

func TestSedReader(t *testing.T) {
	for script, want := range map[string]string{ // files as op+name; "?" if it is not understood
		"p": "", "1,10p": "", "/a/,/b/d": "", "s/a/b/": "", "s|a|b|gI2": "", "$!N;s/\\n/ /": "", "/x/{s/a/b/;p}": "", "y/abc/xyz/": "", "1~2p": "", "0,/x/p": "",
		"a text; w x": "", "i\\\ntext\\\nmore\np": "", "/[/]/p": "?", "s/[^]/]/x/": "?", `s/\//x/`: "", `\,x,p`: "", "# w x\np": "", ":a;N;$!ba;s/\\n/,/g": "", "10q": "", "q;w x": "wx", "=": "", "l 5": "",
		"w out": "wout", "1,3w out": "wout", "s/a/b/w out": "wout", "s/a/b/gw out\np": "wout", "r in": "rin", "R in": "rin", "W out": "wout", "{w out\n}": "wout", "b;w out": "wout", "w /dev/stdout": "",
		"e": "?", "e rm x": "erm x", "1e rm x": "erm x", "s/a/b/e": "?", "s/a/b/ge": "?", "s/a/b": "?", "k": "?", "{p": "?", "}": "?", "s/a\nb/c/": "?", "a foo\\\\\nw out": "wout", "a foo\\\nw out": "",
	} {
		got := "?"
		if uses, ok := Sed(script); ok {
			got = ""
			for _, u := range uses {
				got += string(u.Op) + u.Name
			}
		}
		if got != want {
			t.Errorf("sed %q: %q, want %q", script, got, want)
		}
	}
}

func TestAwkReader(t *testing.T) {
	for prog, want := range map[string]bool{
		"{print $1}": true, "NR>=1 && NR<=2": true, "$3 > 100": true, "/a|b/ {c++} END {print c}": true, "{print ($1 > 2)}": true, "{s+=$1} END{print s/NR}": true, "BEGIN{FS=\":\"} {print $1, $2}": true,
		"{ if ($1 > 2) print }": true, "!seen[$0]++": true, "{gsub(/x|y/, \"z\"); print}": true, "# x > y\n1": true, "{printf \"%s\\n\", $1}": true, "$1 ~ /^[a-z|]+$/": true, "{print a / b / c}": true,
		"BEGIN{system(\"x\")}": false, "{print | \"sh\"}": false, "{\"date\" | getline}": false, "{getline < \"f\"}": false, "{print > $1}": false, "{print > \"a\" \"b\"}": false, "{print \"x\" > \"f\" $1}": false,
		"@include \"x\"": false, "{x = (a) /b/ c}": false, "{\"": false, "/x": false, "{print \"a\" >= \"b\"}": false, "BEGIN{ARGV[1]=\"x\"}": false, "{close(\"x\")}": false, "/[/]/": false,
	} {
		if _, got := Awk(prog); got != want {
			t.Errorf("awk %q: %v, want %v", prog, got, want)
		}
	}
	writes, ok := Awk(`{print $1 > "a"; printf "x" >> "b"}`)
	if !ok || len(writes) != 2 || writes[0] != "a" || writes[1] != "b" {
		t.Errorf("writes %q", writes)
	}
}

func TestSQLReader(t *testing.T) {
	for text, want := range map[string]string{
		"select * from t": "", "SELECT count(*) FROM t WHERE a IN (1,2)": "", "select 'drop table x'": "", "explain select 1": "", "show tables": "", "with x as (select 1) select * from x": "", "select a; select b;": "",
		"select \"update\" from t": "", "drop table x": "DROP", "select 1; delete from x": "DELETE", "insert into t values (1)": "INSERT", "update t set a = 1": "UPDATE", "with x as (delete from t returning *) select * from x": "DELETE",
		"select 1 into outfile 'x'": "?", "select load_extension('x')": "?", "select pg_read_file('x')": "?", "copy t to program 'x'": "?", "explain analyze delete from x": "?", "call p()": "?", "select 1 -- x": "?", "select '\\'; drop table x": "?",
		"select $$x$$": "?", "\\! rm": "?", "pragma writable_schema=1": "?", "attach 'x' as y": "?", "set role x": "?", "": "",
	} {
		if got := SQL(text); got != want {
			t.Errorf("SQL %q: %q, want %q", text, got, want)
		}
	}
}

func TestPatchNames(t *testing.T) {
	const hunk = "@@ -1,2 +1,3 @@ func f()\n a\n-b\n+c\n+d\n"
	for text, want := range map[string]string{ // names, "?" if it is not understood
		"--- a/x.go\n+++ b/x.go\n" + hunk:                                                "x.go x.go",
		"diff --git a/x b/x\nindex 12..34 100644\n--- a/x\n+++ b/x\n" + hunk:             "x x x x",
		"diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n": "old new old new",
		"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n":      "n",
		"diff --git a/x b/x\nnew file mode 100755\n":                                     "x x",
		"diff --git a/x b/x\nnew file mode 120000\n":                                     "?", // a link
		"--- a/x\n+++ b/x\n" + hunk + "1d\n":                                             "?", // a command of ed
		"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n":                                        "?",
		"--- /etc/passwd\n+++ /etc/passwd\n" + hunk:                                      "?",
		"--- x\n+++ x\n" + hunk:                                                          "?", // nothing is left behind -p1
		hunk:                                                                             "?",
		"":                                                                               "?",
	} {
		got := "?"
		if names, ok := PatchNames(text, 1); ok {
			got = strings.Join(names, " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := AddedLines("--- a\n+++ b\n a\n+c\n"); got != "++ b\nc\n" {
		t.Errorf("added %q", got)
	}
}
