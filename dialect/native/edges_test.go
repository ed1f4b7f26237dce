package native_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// layers loads files of several layers, each as LAYER and the text behind `version: 1`.
func layers(files ...[2]string) (*dialect.Loaded, error) {
	in := &dialect.Input{}
	for i, f := range files {
		in.Files = append(in.Files, dialect.File{Name: fmt.Sprintf("%d/obstat.yaml", i), Layer: f[0], Data: []byte("version: 1\n" + f[1] + "\n")})
	}
	return dialect.Load(native.Dialect{}, in)
}

// TestUndoLayers: limits of the user's file go before those of a project's, in whichever order they are
// read, and each fills in where the other says nothing.
func TestUndoLayers(t *testing.T) {
	user := [2]string{dialect.LayerUser, "undo: {keep: 3d, file: '1'}"}
	project := [2]string{dialect.LayerProject, "undo: {keep: 2d, file: '2', call: '1', files: 1}"}
	want := native.Undo{Keep: 72 * time.Hour, File: 1, Call: 1, Files: 1}
	for _, files := range [][][2]string{{user, project}, {project, user}} {
		l, err := layers(files...)
		if err != nil {
			t.Fatal(err)
		}
		got, said := native.UndoOf(l.Program)
		if got != want || !said || got.String() != "keep 72h0m0s, file 1, call 1, files 1" {
			t.Errorf("%v: %s, %t", files, got, said)
		}
	}
	filled, err := layers([2]string{dialect.LayerUser, "undo: {file: '1'}"}, [2]string{dialect.LayerProject, "undo: {keep: 2d, files: 7}"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := native.UndoOf(filled.Program); got != (native.Undo{Keep: 48 * time.Hour, File: 1, Files: 7}) {
		t.Errorf("filled in: %s", got)
	}
	off, err := layers([2]string{dialect.LayerUser, "undo: {keep: 3d}"}, [2]string{dialect.LayerProject, "undo: off"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := native.UndoOf(off.Program); !got.Off || got.Keep == 0 {
		t.Errorf("%+v", got)
	}
	none, err := layers([2]string{dialect.LayerUser, "allow: [run make]"})
	if err != nil {
		t.Fatal(err)
	}
	if _, said := native.UndoOf(none.Program); said {
		t.Error("undo is said where it is not")
	}
	if _, said := native.ConfineOf(none.Program); said || native.Aside(none.Program) {
		t.Error("confine is said where it is not, or a rule is aside")
	}
	if native.KeptBy(nil) != 0 || native.KeptBy(&obstat.Rule{Source: "keep what?"}) != 0 {
		t.Error("kept by no rule")
	}
}

// TestConfineEdges: the limits of `confine:` at their bounds, and how two words tighten each other.
func TestConfineEdges(t *testing.T) {
	for text, want := range map[string]string{
		"{run: code, ports: [1, 65535]}":               "code, ports 1 65535",
		"{run: code, ports: [65536]}":                  "error: a port is a number",
		"{run: code, ports: [0]}":                      "error: a port is a number",
		"{run: code, ports: ['22']}":                   "error: a port is a number",
		"{run: code, size: '1'}":                       "code, size 1",
		"{run: code, level: full, over: auto-mode}":    "code, over auto-mode",
		"{run: code, over: [auto-mode, reviewer]}":     "code, over auto-mode, reviewer",
		"{run: code, over: nobody}":                    `error: "nobody" is no judge`,
		"{run: code, over: parts}":                     `error: "parts" is no judge`,
		"{run: always, servers: {b: {}, a: {}}}":       "always, servers a b",
		"{run: code, read: [~/a, /b], write: [~/c/d]}": "code, read ~/a /b, write ~/c/d",
	} {
		l, err := layers([2]string{dialect.LayerUser, "confine: " + text})
		if rest, bad := strings.CutPrefix(want, "error: "); bad {
			if err == nil || !strings.Contains(err.Error(), rest) {
				t.Errorf("%s: %v, want %s", text, err, rest)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c, _ := native.ConfineOf(l.Program); c.String() != want {
			t.Errorf("%s: %s, want %s", text, c, want)
		}
	}
	code, always := native.Confine{Code: true}, native.Confine{Code: true, Always: true}
	for _, tt := range []struct {
		a, b native.Confine
		want string
	}{
		{code, code, "code"}, {code, native.Confine{}, "off"}, {native.Confine{}, code, "off"}, {code, always, "always"},
		{always, native.Confine{}, "always, and code asks"},
		{native.Confine{Code: true, Level: "files"}, native.Confine{Code: true, Level: "files"}, "code, level files"},
		{native.Confine{Code: true, Level: "files"}, code, "code"}, {code, native.Confine{Code: true, Level: "files"}, "code"},
		{native.Confine{Code: true, Time: 2, Size: 0}, native.Confine{Code: true, Time: 3, Size: 4}, "code, time 2ns, size 4"},
		{native.Confine{Code: true, Time: 3, Size: 4}, native.Confine{Code: true, Time: 2}, "code, time 2ns, size 4"},
		{native.Confine{Code: true, Read: []string{"/a", "/b"}, Ports: []int{1, 2}}, native.Confine{Code: true, Read: []string{"/b"}, Ports: []int{2, 3}}, "code, read /b, ports 2"},
		{native.Confine{Code: true, During: true, Over: obstat.OverAutoMode}, code, "code"},
		{native.Confine{Code: true, During: true, Over: obstat.OverAutoMode}, native.Confine{Code: true, During: true, Over: obstat.OverAutoMode | obstat.OverReviewer}, "code, ask during, over auto-mode"},
		{code, native.Confine{Code: true, Servers: map[string]native.ConfinedServer{"a": {}}}, "code, servers a"},
	} {
		if got := tt.a.Tighten(tt.b); got.String() != tt.want || got.Wanted() != (tt.want != "off") {
			t.Errorf("%s with %s: %s, want %s; wanted %t", tt.a, tt.b, got, tt.want, got.Wanted())
		}
	}
}

// TestLintEdges: rules with several targets, without commands, or of one command say no more than they mean.
func TestLintEdges(t *testing.T) {
	for _, text := range []string{
		"rule: run npm, make\n    examples: [npm test, npm test x]",
		"rule: run exactly npm test\n    examples: [npm test, npm test]",
		"rule: read src\n    examples: [{tool: Read, input: {file_path: src/a}}, {tool: Read, input: {file_path: src/b}}]",
	} {
		in := &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\nallow:\n  - " + text + "\n")}}}
		if got := (native.Dialect{}).Lint(in, nil); len(got) > 0 {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]string{"tool mcp__a__b": "[mcp__a__b] false", "read src": "[] false"} {
		r, _, ok := native.Sentence(text)
		names, open := native.Dialect{}.ToolNames(&r)
		if got := fmt.Sprint(names, open); !ok || got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestPlaces: the user's file is in the configuration directory, the machine's below its root, and a file
// is known by its name or by its version and rules.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ home, xdg, want string }{
		{"/h", "", "/h/.config/obstat/obstat.yaml"}, {"/h", "/x", "/x/obstat/obstat.yaml"}, {"", "", ""}, {"", "/x", "/x/obstat/obstat.yaml"},
	} {
		w := &dialect.Where{Home: tt.home, Dir: "/p", Machine: "/m", Getenv: func(name string) string {
			return map[string]string{"XDG_CONFIG_HOME": tt.xdg}[name]
		}}
		places, err := native.Dialect{}.Places(w)
		if err != nil {
			t.Fatal(err)
		}
		var users, project []string
		for _, p := range places {
			switch p.Layer {
			case dialect.LayerUser:
				users = append(users, p.Name)
			case dialect.LayerProject:
				project = append(project, p.Name)
			}
		}
		if strings.Join(users, " ") != filepath.FromSlash(tt.want) || !slices.Contains(project, filepath.FromSlash("/p/obstat.yaml")) {
			t.Errorf("%+v: %q, in the project %q", tt, users, project)
		}
		if last := places[len(places)-1]; last.Layer != dialect.LayerManaged || last.Name != filepath.Join("/m", native.ManagedDir(), native.File) {
			t.Errorf("%+v", last)
		}
	}
	for _, tt := range []struct {
		name, text string
		want       dialect.Confidence
	}{
		{"obstat.yaml", "", dialect.Sure}, {"/x/obstat.yaml", "", dialect.Sure}, {"a.yaml", "version: 1\nallow: [run make]\n", dialect.Sure},
		{"a.yaml", "version: 1\ndeny: [run make]\n", dialect.Sure}, {"a.yaml", "version: 1\nallow: []\n", dialect.No},
		{"a.yaml", "version: '1'\nallow: [run make]\n", dialect.No}, {"a.yaml", "version: 1\nservices: [a]\n", dialect.No},
		{"a.yaml", "version: 1\nallow: run make\n", dialect.No}, {"a.yaml", "version: 1\nallow: [", dialect.No},
	} {
		if got := (native.Dialect{}).Detect(&dialect.File{Name: tt.name, Data: []byte(tt.text)}); got != tt.want {
			t.Errorf("%s %q: %v", tt.name, tt.text, got)
		}
		if got := (native.Builtin{}).Detect(&dialect.File{Name: tt.name, Data: []byte(tt.text)}); got != dialect.No {
			t.Errorf("built in: %s %q: %v", tt.name, tt.text, got)
		}
	}
}

// TestWholeFiles: a policy needs a file and takes no declarations of tools; the server that the first
// file names stays.
func TestWholeFiles(t *testing.T) {
	if _, err := dialect.Load(native.Dialect{}, &dialect.Input{}); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("%v", err)
	}
	in := &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte(example)}}, Tools: map[string]dialect.Tool{"x": {}}}
	if _, err := dialect.Load(native.Dialect{}, in); err == nil || !strings.Contains(err.Error(), "no tool declarations") {
		t.Errorf("%v", err)
	}
	l, err := layers([2]string{dialect.LayerUser, "server: https://one.example"}, [2]string{dialect.LayerProject, "server: https://two.example"})
	if err != nil {
		t.Fatal(err)
	}
	if native.Server(l.Program) != "https://one.example" || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Msg, "the server is https://one.example") {
		t.Errorf("%s: %v", native.Server(l.Program), l.Warnings)
	}
	if same, err := layers([2]string{"", "server: https://one.example"}, [2]string{"", "server: https://one.example"}); err != nil || len(same.Warnings) > 0 {
		t.Errorf("the same server twice: %v %v", same, err)
	}
	if got := native.Server(&obstat.Program{Dialect: "opencode", Params: l.Program.Params}); got != "" {
		t.Errorf("of another dialect: %s", got)
	}
	for text, want := range map[string]bool{"otherwise: deny": true, "otherwise: deny\nallow: [run make]": true, "otherwise: deny\nask: [run make]": false, "allow: [run make]": false} {
		l, err := layers([2]string{"", text})
		if err != nil {
			t.Fatal(err)
		}
		if native.Unwatched(l.Program) != want {
			t.Errorf("%s: unwatched is %t", text, !want)
		}
	}
}

// TestNarrow: `except` and the targets are written into a sentence that stands alone on its line.
func TestNarrow(t *testing.T) {
	for _, tt := range []struct {
		text   string
		line   int
		rule   string
		offers []string
		want   string // the rule then; "" where it is left alone
		used   int
	}{
		{"  - write workspace\n", 1, "write workspace", []string{"write ./a"}, "write workspace except ./a", 1},
		{"  - write workspace except ./b\n", 1, "write workspace except ./b", []string{"write ./a", "write ./c"}, "write workspace except ./b, ./a, ./c", 2},
		{"  - write workspace\n", 1, "write workspace", []string{"run make", "write ./a"}, "write workspace except ./a", 1},
		{"  - write workspace\n", 1, "write workspace", []string{"write ./a", "write ./a/b"}, "write workspace except ./a/b", 1},
		{"  - run git\n", 1, "run git", []string{"run git log", "run git log -p"}, "run git except git log -p", 1},
		{"  - run git except git push\n", 1, "run git except git push", []string{"run git push x"}, "", 0},
		{"  - write outside workspace\n", 1, "write outside workspace", []string{"write ./a", "delete /x"}, "write outside workspace except /x", 1},
		{"  - read secrets\n", 1, "read secrets", []string{"read ./.env", "write ./a"}, "read secrets except ./.env", 1},
		{"  - write workspace\n", 2, "write workspace", []string{"write ./a"}, "", 0},
		{"  - write workspace\n", 3, "write workspace", []string{"write ./a"}, "", 0},
		{"  - write workspace\n", 0, "write workspace", []string{"write ./a"}, "", 0},
		{"  - write workspace # write workspace\n", 1, "write workspace", []string{"write ./a"}, "", 0},
		{"  - tool t where input.x is 1\n", 1, "tool t where input.x is 1", []string{"tool u"}, "", 0},
		{"  - wirte x\n", 1, "wirte x", []string{"write ./a"}, "", 0},
	} {
		var offers []obstat.Offer
		for _, text := range tt.offers {
			offers = append(offers, obstat.Offer{Text: text})
		}
		r := &obstat.Rule{Source: tt.rule, Pos: obstat.Pos{Line: tt.line}}
		data, text, used := native.Dialect{}.Narrow(&dialect.File{Data: []byte(tt.text)}, r, offers)
		if text != tt.want || len(used) != tt.used {
			t.Errorf("%q with %q: %q, %d used", tt.text, tt.offers, text, len(used))
		}
		if want := strings.Replace(tt.text, tt.rule, tt.want, 1); tt.want != "" && string(data) != want {
			t.Errorf("%q with %q: %q", tt.text, tt.offers, data)
		}
	}
}

// TestParts: an exception has to be a part of its rule's target, of places as well as of paths.
func TestParts(t *testing.T) {
	for rule, ok := range map[string]bool{
		"read home except ~/x": true, "read home except /x": false, "read temp except /tmp/x": true, "read temp except /x": false,
		"read secrets except .env.test": true, "read secrets except ~/.ssh/id_rsa.pub": true, "read secrets except secrets": false,
		"read src/** except secrets": true, "read workspace except src": true, "read anywhere except home": true,
		"run git except git log": true, "run exactly git except git log": false, "read src except workspace": false,
		"connect *.example.com except a.example.com": true, "connect a.example.com except *.example.com": false,
	} {
		if es := problems(rules(rule)); (len(es) == 0) != ok {
			t.Errorf("%s: %v", rule, es)
		}
	}
	l := load(t, "version: 1\nallow: [read anything]\ndeny: [read secrets except ./.env]\n")
	for command, want := range map[string]obstat.Verdict{"cat .env": obstat.Allow, "cat src/../.env": obstat.Allow, "cat .env.local": obstat.Deny,
		"cat src/.env": obstat.Deny, "cat .env*": obstat.Deny, "cat ~/.ssh/id_rsa": obstat.Deny} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
	l = load(t, rules("read src/** except secrets"))
	for command, want := range map[string]obstat.Verdict{"cat src/a": obstat.Allow, "cat src/.env": obstat.Ask, "cat src/id_rsa": obstat.Ask} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}

// TestLeftOut: what an allow rule for commands leaves out is left out of all that these do, however it is written.
func TestLeftOut(t *testing.T) {
	l := load(t, `version: 1
allow:
  - run docker except docker push
  - run /usr/bin/git except /usr/bin/git push
  - run CI=1 npm except CI=1 npm publish
  - run rm except rm -rf
  - run make except make clean
  - run psql except psql *DROP TABLE*
  - run npx except npx eslint
  - run helm install except helm install --force
  - run frob except frob del
`)
	for command, want := range map[string]obstat.Verdict{
		`docker ps`: obstat.Allow, `docker push x`: obstat.Ask, `/usr/bin/docker push x`: obstat.Ask, `timeout 4 docker push x`: obstat.Ask,
		`docker $X`: obstat.Ask, `/usr/bin/git fetch`: obstat.Allow, `/usr/bin/git push`: obstat.Ask, `CI=1 npm ci`: obstat.Allow,
		`CI=1 npm publish`: obstat.Ask, `rm x`: obstat.Allow, `rm -rf x`: obstat.Ask, `make x`: obstat.Allow, `make clean`: obstat.Ask,
		`psql -c 'SELECT 1'`: obstat.Allow, `psql -c 'DROP  TABLE x'`: obstat.Ask, `npx tsc`: obstat.Allow, `npx eslint x`: obstat.Ask,
		`helm install x`: obstat.Allow, `helm install x --force`: obstat.Ask, `helm install $X`: obstat.Ask,
		`frob x`: obstat.Allow, `frob $X`: obstat.Ask, `rm $X`: obstat.Ask, `A=1 CI="1" npm publish`: obstat.Ask,
	} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
	l = load(t, "version: 1\nallow: [\"run anything except git push, rm\", run exactly rm x]\ndeny: [\"run anything except ls, ./make, git, rm, echo, eval\"]\n")
	for command, want := range map[string]obstat.Verdict{
		`git pull`: obstat.Allow, `echo rm`: obstat.Allow, `rm y`: obstat.Ask, `rm x`: obstat.Allow, `eval $X push`: obstat.Deny,
		`./a/../make`: obstat.Deny, `./ls`: obstat.Deny,
	} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}

// TestWaysAround: a program by a way around is the one that a rule says so, and any that it may be for a denial.
func TestWaysAround(t *testing.T) {
	l := load(t, "version: 1\nallow: [run ./tool, run ./bin/*, run ~/x, run ./a/../b, run /usr/bin/git]\ndeny: [run ./c/../d, run ./e, run /opt/f]\n")
	for command, want := range map[string]obstat.Verdict{
		`./tool`: obstat.Allow, `./lnk/../tool`: obstat.Ask, `env lnk/../tool`: obstat.Ask, `./bin/y`: obstat.Allow, `./bin/../y`: obstat.Ask,
		`~/bin/../x`: obstat.Ask, `./a/../b x`: obstat.Allow, `/x/../usr/bin/git x`: obstat.Ask, `./c/../d`: obstat.Deny,
		`./q/../e`: obstat.Deny, `/q/../opt/f x`: obstat.Deny, `=/opt/f x`: obstat.Deny, `=./e`: obstat.Deny, `=/usr/bin/git x`: obstat.Ask,
	} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}

// TestVariables: a rule that begins with a variable is about its program alone; one that denies is held in other orders and
// quotes.
func TestVariables(t *testing.T) {
	l := load(t, `version: 1
allow: [run FOO=* make, run FOO=bar x, run D=1 * y, run E=* F=* g, run watch, run ssh, run eval, run sh, run bash -c, run git]
deny: [run X=1 git, "run \"Y='a b' git\""]
`)
	for command, want := range map[string]obstat.Verdict{
		`FOO="a b" make`: obstat.Allow, `FOO="a" rm "b" make`: obstat.Ask, `D=1 rm y`: obstat.Ask, `ls; E=1  F=2 g`: obstat.Allow,
		`FOO=1 make all`: obstat.Allow, `FOO=1 rm y make`: obstat.Ask, `FOO=1 ./evil make`: obstat.Ask, `FOO=1 PYTHONPATH=./e make`: obstat.Ask,
		`make`: obstat.Ask, `FOO=bar x y`: obstat.Allow,
		`watch FOO=bar x \; A=1 rm z`: obstat.Ask, `ssh h FOO=bar x \; A=1 rm z`: obstat.Ask, `eval FOO=bar x \; A=1 rm z`: obstat.Ask,
		`bash -c FOO=1" make x; A=1 ./evil"`: obstat.Ask, `echo FOO=1" make x; A=1 rm z" | sh`: obstat.Ask,
		`git x`: obstat.Allow, `X=1 git x`: obstat.Deny, `X="1" git`: obstat.Deny, `git x; A=1 X=1 git x`: obstat.Deny, `git; X=1 A=1 git`: obstat.Deny,
		`git; Y="a b" git`: obstat.Deny, `cd a; Y='a b' git x`: obstat.Deny, "git; " + strings.Repeat("A=1 ", 40) + "git": obstat.Ask, `X=2 git x`: obstat.Allow,
	} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}

// TestSpellings: blanks in quotes are a part of a command; a program is known by its path and by its name; and PowerShell
// knows no capital letters.
func TestSpellings(t *testing.T) {
	l := load(t, `version: 1
allow:
  - run exactly "node -e 'a  b'"
  - "run exactly \"node -e 'c\n  d'\""
  - run /usr/bin/python3
  - run exactly /bin/make all
  - run CI=1 npx x
  - run exactly A=1 make
  - run */bin/foo
ask: [run Stop-Process]
deny:
  - run exactly "echo 'a  b'"
  - run /usr/bin/curl
  - run exactly /bin/rm x
  - run Remove-Item, git branch -D
  - run mysql *DROP TABLE*
`)
	for command, want := range map[string]obstat.Verdict{
		`node -e 'a  b'`: obstat.Allow, `node  -e  "a  b"`: obstat.Allow, `node -e 'a b'`: obstat.Ask, "node -e 'c\n  d'": obstat.Allow,
		"node -e 'c\n d'": obstat.Ask, `echo 'a  b'`: obstat.Deny, `echo 'a b'`: obstat.Allow,
		`/usr/bin/python3 -m x`: obstat.Allow, `python3 -m x`: obstat.Ask, `/bin/make all`: obstat.Allow, `/bin/make clean`: obstat.Ask,
		`/usr/bin/curl x`: obstat.Deny, `curl x`: obstat.Deny, `env /bin/curl x`: obstat.Deny, `/bin/rm x`: obstat.Deny, `rm x`: obstat.Deny,
		`git branch -D x`: obstat.Deny, `git branch -d x`: obstat.Ask, `CI=1 npx x y`: obstat.Allow, `npx x y`: obstat.Ask,
		"mysql -e 'DROP \t TABLE x'": obstat.Deny, `/usr/bin/curl 'x`: obstat.Deny, `/opt/../usr/bin/python3 x`: obstat.Ask,
		`CI=1 npx x && make`: obstat.Ask, `A=1 make`: obstat.Allow, `A=1 make x`: obstat.Ask, `B=/bin/foo make x`: obstat.Ask,
	} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
	for command, want := range map[string]obstat.Verdict{
		`Remove-Item x`: obstat.Deny, `ls; remove-item x`: obstat.Deny, `CURL x`: obstat.Deny, `stop-process 1`: obstat.Ask, `Get-Item x`: obstat.Ask,
		`git branch -d x`: obstat.Deny, `/usr/bin/curl x`: obstat.Deny,
	} {
		c := call(command)
		c.Tool = "PowerShell"
		d := l.Policy.Decide(c, world)
		if ruled := d.Rule != nil && d.Rule.Pos.IsValid(); d.Verdict != want || ruled != (command != "Get-Item x") {
			t.Errorf("PowerShell %s: %s", command, d.Reason())
		}
	}
	l = load(t, "version: 1\nallow: [connect *.example.com]\ndeny: [connect *.example.org]\n")
	for command, want := range map[string]obstat.Verdict{"curl https://a.example.com": obstat.Allow, "curl https://a.b.example.com": obstat.Allow,
		"curl https://a..example.com": obstat.Ask, "curl https://a.example.org": obstat.Deny, "curl https://a..example.org": obstat.Deny} {
		if d := l.Policy.Decide(call(command), world); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}

// TestExampleDay: the calls of examples are made on a Monday at noon, where a rule says nothing else.
func TestExampleDay(t *testing.T) {
	for when, ok := range map[string]bool{
		"days: mon": false, "days: tue": true, "days: sun": true, "time: '11:59-12:01'": false, "time: '13:00-14:00'": true, "time: '10:00-11:00'": true,
	} {
		text := "version: 1\nallow:\n  - rule: run make\n    examples: [make]\ndeny:\n  - rule: run make\n    when: {" + when + "}\n"
		if es := problems(text); (len(es) == 0) != ok {
			t.Errorf("%s: %v", when, es)
		}
	}
}
