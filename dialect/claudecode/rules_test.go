package claudecode

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/study/lint"
)

var world = &obstat.Snapshot{HomeDir: "/home/u", Links: map[string]string{"/w/link": "/etc"}}

func load(t testing.TB, options map[string]string, files ...dialect.File) *dialect.Loaded {
	t.Helper()
	l, err := dialect.Load(Dialect{}, &dialect.Input{Files: files, Options: options, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// rules writes a settings file of rules such as "allow Bash(ls *)".
func rules(layer, mode string, lines ...string) dialect.File {
	perms := map[string]any{}
	for _, line := range lines {
		list, rule, _ := strings.Cut(line, " ")
		have, _ := perms[list].([]string)
		perms[list] = append(have, rule)
	}
	if mode != "" {
		perms["defaultMode"] = mode
	}
	data, _ := json.Marshal(map[string]any{"permissions": perms})
	return dialect.File{Name: ".claude/settings.json", Layer: layer, Data: data}
}

// call reads "Bash: ls" or "Read: /x" as a call.
func call(text string) *obstat.Call {
	tool, arg, _ := strings.Cut(text, ": ")
	field := map[string]string{"Bash": "command", "Monitor": "command", "PowerShell": "command", "Read": "file_path", "Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path",
		"Grep": "path", "Glob": "path", "WebFetch": "url", "Agent": "subagent_type", "Skill": "skill", "run_shell_command": "command", "read": "filePath", "apply_patch": "command"}[tool]
	input := json.RawMessage(arg)
	if field != "" && !strings.HasPrefix(arg, "{") {
		input, _ = json.Marshal(map[string]string{field: arg})
	}
	return &obstat.Call{Tool: tool, Input: input, Dir: "/w"}
}

// Each case cites the part of the documentation that it comes from.
var documented = []struct {
	section string
	mode    string
	rules   string // separated by ;
	want    string // verdict: call, separated by newlines
}{
	{"permissions: Bash, exact", "", "allow Bash(npm run build)", "allow Bash: npm run build\nask Bash: npm run build --x\nask Bash: npm run"},
	{"permissions: Bash, trailing blank and star", "", "allow Bash(ls *)", "allow Bash: ls\nallow Bash: ls -la\nask Bash: lsofx -i"},
	{"permissions: Bash, no word boundary", "", "allow Bash(foo*)", "allow Bash: foobar x\nallow Bash: foo"},
	{"permissions: Bash, :* at the end", "", "allow Bash(npm run test:*)", "allow Bash: npm run test\nallow Bash: npm run test --watch\nask Bash: npm run testing"},
	{"permissions: Bash, star in the middle", "", "allow Bash(git * main)", "allow Bash: git checkout main\nask Bash: git checkout dev"},
	{"permissions: Bash, star before", "", "allow Bash(* --version)", "allow Bash: node --version\nask Bash: node x"},
	{"permissions: Bash, blanks normalised", "", "allow Bash(npm run build)", "allow Bash: npm  run\tbuild"},
	{"permissions: Bash, blanks in quotes", "", "allow Bash(node -e 'a  b')", "allow Bash: node  -e 'a  b'\nask Bash: node -e 'a b'"},
	{"permissions: Bash, a program's path", "", "allow Bash(/usr/bin/make:*)", "allow Bash: /usr/bin/make x\nask Bash: make x"},
	{"permissions: Bash, variables", "", "allow Bash(CI=1 npx x:*);allow Bash(A=1 make);allow Bash(*/bin/foo *)", "allow Bash: CI=1 npx x y\nask Bash: npx x y\nask Bash: CI=2 npx x\nallow Bash: ls && A=1 make\nask Bash: A=1 make x\nask Bash: B=/bin/foo rm -rf x\nask Bash: CI=1 npx x && make\nask Bash: CI=1 LD_PRELOAD=./x npx x"},
	{"permissions: Bash, variables and stars", "", "allow Bash(FOO=* make);allow Bash(A=1 find:*);allow Bash(CI=* FOO=* x:*)", "allow Bash: FOO=1 make\nask Bash: FOO=1 rm -rf y make\nask Bash: FOO=1 PYTHONPATH=./e make\nallow Bash: A=1 find . -name x\nask Bash: A=1 find . -delete\nallow Bash: CI=1 FOO=2 x y\nallow Bash: FOO=\"a b\" make\nask Bash: FOO=\"a\" rm \"b\" make"},
	{"permissions: Bash, a way around", "", "allow Bash(/opt/x/*);allow Bash(./bin/*)", "allow Bash: /opt/x/y z\nask Bash: /opt/x/../../usr/bin/rm z\nask Bash: /opt/x/../../tmp/y\nask Bash: ./bin/../y\nallow Bash: ./bin/y"},
	{"permissions: Bash, the way around of a rule", "", "allow Bash(./a/../b:*);deny Bash(/bin/rm:*);deny Bash(./c/../d:*)", "allow Bash: ./a/../b x\nask Bash: ./a/../../b x\ndeny Bash: =/bin/rm x\ndeny Bash: env './c'/../d x"},
	{"permissions: blanks in quotes, deny", "bypassPermissions", "deny Bash(*DROP TABLE*);ask Bash(gh api *-X DELETE*);deny Bash(git commit -m \"a  b\":*)", "deny Bash: psql -c 'DROP  TABLE x'\ndeny Bash: psql -c 'DROP \t TABLE x'\nask Bash: sh -c 'gh api x  -X  DELETE'\ndeny Bash: git commit -m \"a b\"\nallow Bash: psql -c 'SELECT'\nallow Bash: echo DROP"},
	{"permissions: variables, deny", "bypassPermissions", "deny Bash(FOO=1 make:*)", "deny Bash: FOO=1 make x\ndeny Bash: cd x; FOO=1 make\ndeny Bash: A=2 FOO=\"1\" make\nallow Bash: FOO=2 make"},
	{"permissions: Bash, an exact line", "", "allow Bash(cd x && make)", "allow Bash: cd x && make\nask Bash: cd x && make y\nask Bash: cd y && make"},
	{"permissions: compound, every part", "", "allow Bash(npm test);allow Bash(npm run *)", "allow Bash: npm test && npm run x\nask Bash: npm test && rm x\nask Bash: npm test; curl x"},
	{"permissions: compound, any part", "", "allow Bash;deny Bash(rm *)", "deny Bash: npm test && rm x\ndeny Bash: echo $(rm x)\ndeny Bash: ls | xargs rm\nallow Bash: npm test"},
	{"permissions: wrappers are stripped", "", "allow Bash(npm test *)", "allow Bash: timeout 5 npm test\nallow Bash: nice npm test\nask Bash: npx npm test\nask Bash: docker exec x npm test"},
	{"permissions: environment", "", "allow Bash(npm test *)", "allow Bash: NODE_ENV=x npm test\nask Bash: LD_PRELOAD=x npm test\nask Bash: LD_PRELOAD=x timeout 5 npm test"},
	{"permissions: environment, deny", "", "allow Bash;deny Bash(curl *)", "deny Bash: X=1 curl a\ndeny Bash: env X=1 curl a\ndeny Bash: sudo curl a"},
	{"permissions: find -exec needs an exact rule", "", "allow Bash(find *);allow Bash(rm *)", "ask Bash: find . -delete"},
	{"permissions: global options", "", "allow Bash(git log:*)", "allow Bash: git -C /w log"},
	{"permissions: read-only commands", "", "allow Bash(npm test)", "allow Bash: ls -la\nallow Bash: cat a.txt\nallow Bash: git status\nallow Bash: ls && npm test\nask Bash: cat /etc/shadow\nask Bash: cd sub && git status"},
	{"permissions: redirects are edits", "", "allow Bash(npm test);allow Edit(out/**)", "allow Bash: npm test > out/log\nask Bash: npm test > log\nallow Bash: npm test 2>/dev/null"},
	{"permissions: any command that provably only reads", "", "deny Bash(zz)", "allow Bash: tree -L 2\nallow Bash: sort a.txt | uniq -c\nallow Bash: go version\nallow Bash: readlink -f a\nask Bash: tail -f /var/log/syslog\nask Bash: sort -o a.txt a.txt\nask Bash: tree -o a.txt\nask Bash: frobnicate a"},
	{"permissions: read-only commands, exceptions", "", "deny Bash(zz)", "allow Bash: file a\nask Bash: file -m x a\nask Bash: file -Lf x\nask Bash: file --files-from=x\nallow Bash: docker ps\nask Bash: docker --context x ps\nask Bash: docker --context=x ps\nask Bash: docker -Htcp://x ps"},
	{"permissions: what a tool fetches into a file is an edit", "", "allow WebFetch(domain:a.b);allow Edit(out/**);deny Edit(secret/**)", `allow download: {"url":"https://a.b/x","file_path":"/w/out/y"}
deny download: {"url":"https://a.b/x","file_path":"/w/secret/y"}
ask download: {"url":"https://a.b/x","file_path":"/etc/y"}
ask download: {"url":"https://c.d/x","file_path":"/w/out/y"}
allow WebFetch: {"url":"https://a.b/x","prompt":"y"}`},
	{"permissions: a patch in a command may be of a file that is denied", "", "allow Bash;deny Edit(secret/**)", "ask Bash: apply_patch '*** Begin Patch'\nask Bash: cd secret && apply_patch <<E\nallow Bash: make"},
	{"permissions: redirects that connect", "", "deny Bash(zz)", "ask Bash: cat a > /dev/tcp/h/80\nask Bash: cat a >| /dev/udp/h/53\nask Bash: true; { cat a; } > /dev/tcp/h/80\nask Bash: (cat a; ls) 2>&1 >/dev/tcp/h/80\nask Bash: cat < /dev/tcp/h/80\nask Bash: while read x; do echo $x; done < /dev/tcp/h/80\nask Bash: > /dev/tcp/h/80"},
	{"acceptEdits: redirects to a pattern", "acceptEdits", "", "ask Bash: ls > .gi?/config\nask Bash: ls >> .g*/hooks/x\nallow Bash: ls > ou?.txt"},
	{"permissions: input of a function", "", "", "ask Bash: f() { cat; }; f < .env\nallow Bash: f() { cat; }; f < README.md"},
	{"permissions: redirects that connect, under a rule", "", "allow Bash(cat *)", "ask Bash: cat a > /dev/tcp/h/80\nallow Bash: cat a > /dev/null"},
	{"permissions: unparsable", "", "allow Bash(echo *)", "ask Bash: echo 'x"},
	{"permissions: Monitor uses Bash rules", "", "deny Bash(tail *)", "deny Monitor: tail -f x"},
	{"permissions: PowerShell ignores case", "", "allow PowerShell(Get-ChildItem *)", "ask PowerShell: Remove-Item x"},
	{"permissions: file commands and Read deny", "", "allow Bash;deny Read(./.env)", "deny Bash: cat .env\ndeny Read: /w/.env\ndeny Read: /w/sub/.env\nallow Read: /w/env\ndeny Edit: /w/.env\ndeny Write: /w/.env"},
	{"permissions: //abs", "", "allow Read(//etc/hosts);deny Read(//etc/shadow)", "allow Read: /etc/hosts\ndeny Read: /etc/shadow\nask Read: /etc/passwd"},
	{"permissions: ~/", "", "deny Read(~/.ssh/**)", "deny Read: /home/u/.ssh/id\nask Read: /home/v/.ssh/id\ndeny Bash: cat ~/.ssh/id"},
	{"permissions: /path from the project", "", "deny Edit(/src/**/*.ts)", "deny Edit: /w/src/a.ts\ndeny Edit: /w/src/x/y/a.ts\nask Edit: /src/a.ts"},
	{"permissions: Edit governs Write and NotebookEdit", "", "allow Edit(docs/**)", "allow Write: /w/docs/a\nallow NotebookEdit: /w/docs/a.ipynb\nask Write: /w/x/docs/a\nask Write: /w/a"},
	{"permissions: dir/** denies at any depth", "", "deny Edit(docs/**)", "deny Write: /w/x/docs/a"},
	{"permissions: Write(path) is never consulted", "", "deny Write(secret/**)", "ask Write: /w/secret/x"},
	{"permissions: bare Write", "", "deny Write", "deny Write: /w/a\nask Edit: /w/a"},
	{"permissions: symlinks", "", "allow Read(link/**);deny Read(//etc/shadow)", "ask Read: /w/link/passwd\ndeny Read: /w/link/shadow"},
	{"permissions: WebFetch", "", "allow WebFetch(domain:example.com);deny WebFetch(domain:*.evil.com)", "allow WebFetch: https://example.com/x\nallow WebFetch: https://EXAMPLE.com./x\nask WebFetch: https://sub.example.com\ndeny WebFetch: https://a.b.evil.com\nask WebFetch: https://evil.com"},
	{"permissions: WebFetch and commands", "", "allow Bash;deny WebFetch(domain:evil.com)", "deny Bash: curl https://evil.com/x"},
	{"permissions: MCP", "", "allow mcp__github__get_*;deny mcp__slack;ask mcp__puppeteer__*", "allow mcp__github__get_issue: {}\nask mcp__github__create: {}\ndeny mcp__slack__post: {}\nask mcp__slacker__post: {}\nask mcp__puppeteer__x: {}"},
	{"permissions: allow cannot glob servers", "", "allow mcp__*;allow *", "ask mcp__x__y: {}\nask Bash: make"},
	{"permissions: deny can", "bypassPermissions", "deny mcp__*", "deny mcp__x__y: {}\nallow Bash: make"},
	{"permissions: Tool(param:value)", "", "deny Agent(model:opus);deny Bash(run_in_background:true)", `deny Agent: {"subagent_type":"x","model":"opus"}` + "\n" + `ask Agent: {"subagent_type":"x"}` + "\n" + `deny Bash: {"command":"ls","run_in_background":true}` + "\nallow Bash: ls"},
	{"permissions: Agent and Skill", "", "allow Agent(Explore);deny Skill(deploy *)", "allow Agent: Explore\nask Agent: Plan\ndeny Skill: deploy\nask Skill: other"},
	{"permissions: deny, ask, allow", "", "allow Bash(git *);ask Bash(git push *);deny Bash(git push --force *)", "allow Bash: git fetch\nask Bash: git push\ndeny Bash: git push --force x"},
	{"permission-modes: acceptEdits", "acceptEdits", "deny Edit(secret/**)", "allow Edit: /w/a\nask Edit: /x/a\ndeny Edit: /w/secret/a\nallow Bash: mkdir a\nallow Bash: rm a\nallow Bash: cp a b\nask Bash: cp /etc/hosts a\nask Bash: cp ../x a\nask Bash: rm /etc/hosts\nask Bash: make\nask Edit: /w/.git/config"},
	{"permission-modes: plan", "plan", "allow Edit", "deny Edit: /w/a\nallow Read: /w/a\nask Bash: make"},
	{"permission-modes: dontAsk", "dontAsk", "allow Bash(make);ask Bash(git push)", "allow Bash: make\ndeny Bash: git push\ndeny Edit: /w/a\nallow Bash: ls\nallow Read: /w/a\ndeny WebFetch: https://x.y"},
	{"permission-modes: bypassPermissions", "bypassPermissions", "deny Bash(curl *);ask Bash(git push *)", "allow Bash: make\ndeny Bash: curl x\nask Bash: git push\nask Bash: rm -rf /\nask Bash: rm -rf ~\nask Bash: rm -rf /etc\nask Bash: rm -rf \"$D\"/*\nask Bash: rm -rf $D/\nask Bash: rm -rf \"${D}/\"\nask Bash: echo $(rm -r $D/*)\nallow Bash: rm -rf $D\nallow Bash: rm -rf build\nallow Edit: /w/.git/config"},
	{"permission-modes: auto drops broad allows", "auto", "allow Bash;allow Bash(go test *);allow Bash(python *);allow Agent", "allow Bash: go test ./x\nask Bash: make\nask Bash: python x.py\nallow Edit: /w/a\nask Agent: Explore"},
	{"permission-modes: protected paths", "", "allow Edit", "ask Edit: /w/.bashrc\nask Edit: /w/.claude/settings.json\nallow Edit: /w/a\nask Edit: /w/.git/hooks/pre-commit"},
	{"agents: other agents' tools", "", "allow Bash(npm test);deny Read(.env);allow mcp__github__get", "allow run_shell_command: npm test\ndeny read: /w/.env\n" + `allow mcp_github_get: {}` + "\nask apply_patch: *** Begin Patch\\n*** Update File: a.txt\\n*** End Patch"},
}

func TestDocumented(t *testing.T) {
	for _, tc := range documented {
		l := load(t, nil, rules("project", tc.mode, strings.Split(tc.rules, ";")...))
		for _, line := range strings.Split(tc.want, "\n") {
			want, text, _ := strings.Cut(line, " ")
			c := call(text)
			d := l.Policy.Decide(c, world)
			if d.Verdict.String() != want || len(d.Faults) > 0 {
				t.Errorf("%s: [%s] %s: %s, want %s: %s", tc.section, tc.rules, text, d.Verdict, want, d.Reason())
			}
		}
	}
}

func TestLayers(t *testing.T) {
	user, project := rules("user", "acceptEdits", "allow Bash(make)", "deny Read(/x)"), rules("project", "", "deny Bash(make)", "allow Bash(go *)")
	managed := dialect.File{Name: "managed-settings.json", Data: []byte(`{"permissions":{"deny":["WebFetch"],"defaultMode":"default","disableBypassPermissionsMode":"disable"}}`)}
	// The order in which files are given does not matter: managed is on top.
	l := load(t, nil, managed, user, project)
	if l.Policy.Mode() != "default" {
		t.Errorf("mode %s", l.Policy.Mode())
	}
	for text, want := range map[string]obstat.Verdict{"Bash: make": obstat.Deny, "Bash: go vet": obstat.Allow, "WebFetch: https://x.y": obstat.Deny, "Read: /home/u/.claude/x": obstat.Deny, "Read: /w/x": obstat.Allow} {
		if d := l.Policy.Decide(call(text), world); d.Verdict != want {
			t.Errorf("%s: %s: %s", text, d.Verdict, d.Reason())
		}
	}
	c := call("Bash: npm i")
	c.Mode = modeBypass
	if d := l.Policy.Decide(c, world); d.Verdict != obstat.Ask {
		t.Errorf("bypass is switched off, and says %s", d.Verdict)
	}
	managed.Data = []byte(`{"allowManagedPermissionRulesOnly":true,"permissions":{"allow":["Bash(make)"]}}`)
	l = load(t, nil, user, project, managed)
	if d := l.Policy.Decide(call("Bash: make"), world); d.Verdict != obstat.Allow {
		t.Errorf("only managed rules count: %s", d.Reason())
	}
}

func TestAdditionalDirectories(t *testing.T) {
	f := dialect.File{Name: ".claude/settings.json", Data: []byte(`{"permissions":{"additionalDirectories":["../docs/","~/notes"],"defaultMode":"acceptEdits"}}`)}
	l := load(t, nil, f)
	for text, want := range map[string]obstat.Verdict{"Read: /docs/x": obstat.Allow, "Edit: /home/u/notes/x": obstat.Allow, "Read: /home/u/x": obstat.Ask} {
		if d := l.Policy.Decide(call(text), world); d.Verdict != want {
			t.Errorf("%s: %s", text, d.Verdict)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for data, want := range map[string]obstat.Code{
		`{"permissions":{"allow":"Bash"}}`:               obstat.CodeWrongType,
		`{"permissions":{"ask":[1]}}`:                    obstat.CodeWrongType,
		`{"permissions":{"deny":["Bash(ls"]}}`:           obstat.CodeBadPattern,
		`{"permissions":{"deny":["Bash()"]}}`:            obstat.CodeBadPattern,
		`{"permissions":{"deny":[""]}}`:                  obstat.CodeBadPattern,
		`{"permissions":{"Deny":["Bash"]}}`:              obstat.CodeUnknownKey,
		`{"Permissions":{"deny":["Bash"]}}`:              obstat.CodeUnknownKey,
		`{"permissions":{"deny":["Bash"],"deny":[]}}`:    obstat.CodeDuplicateKey,
		`{"permissions":{"defaultMode":"yolo"}}`:         obstat.CodeBadValue,
		`{"permissions":{"deny":["Bash"],}}`:             obstat.CodeSyntax,
		`{"permissions":[]}`:                             obstat.CodeWrongType,
		`[]`:                                             obstat.CodeWrongType,
		"{\n // c\n \"permissions\":{\"deny\":[\"x\"]}}": obstat.CodeSyntax,
	} {
		p, errs := Dialect{}.Load(&dialect.Input{Files: []dialect.File{{Name: "s.json", Data: []byte(data)}}})
		if p != nil || errs.Fatal() == nil {
			t.Errorf("%s is taken", data)
			continue
		}
		found := false
		for _, e := range errs {
			found = found || e.Code == want && e.Pos.Line > 0
		}
		if !found {
			t.Errorf("%s: %v, want %s", data, errs, want)
		}
	}
}

func TestTraps(t *testing.T) {
	for rule, want := range map[string]string{
		"allow Read(/etc/hosts)":         "begin it with //",
		"deny Write(secret/**)":          "write Edit instead",
		"deny Glob(x)":                   "write Read instead",
		"allow mcp__*":                   "skipped",
		"allow *":                        "skipped",
		"deny Bash(git:* main)":          "only at the very end",
		"deny Bash(command:rm)":          "not matched this way",
		"allow Bash(npx *)":              "whatever npx runs",
		"allow Bash(bash:*)":             "whatever bash runs",
		"allow Bash(curl https://a.b/*)": "does not hold a command to this address",
		"deny Bsh":                       "is Bash meant?",
		"allow Edit(src/**)":             "**/src/**",
		"allow mcp__x__y(a:b)":           "cannot look at arguments",
		"deny Read(!x)":                  "never matches",
		"deny WebFetch(https://x.y)":     "domain:host",
		"deny Read(../x/**)":             "never matches",
		"deny Bash(rm*)":                 "Bash(rm *)",
		"allow Bash(docker exec web *)":  "whatever docker runs",
		"allow Bash(sh -c *)":            "whatever sh runs",
		"deny WebFetch(domain:x.y:80)":   "without scheme and path",
		"allow Bash(git push origin);deny Bash(git push *)":    "covers it and comes first",
		"allow Bash(git push:*);ask Bash(git:*)":               "ask rule Bash(git:*) covers it",
		"allow Bash(git push);deny Bash(git push *)":           "covers it and comes first",
		"allow Bash(git push origin);deny Bash(git push ori*)": "covers it and comes first",
	} {
		in := &dialect.Input{Files: []dialect.File{rules("project", "", strings.Split(rule, ";")...)}, Home: "/home/u"}
		l, err := dialect.Load(Dialect{}, in)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		all := append(append(l.Warnings, Dialect{}.Lint(in, l.Program)...), lint.Program(l.Program, &lint.Options{Files: []string{in.Files[0].Name}, Sees: Dialect{}.Info().Sees})...)
		if text := fmt.Sprint(all); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q", rule, text, want)
		}
	}
	for _, rule := range []string{"allow Bash(npm run *)", "deny Read(./.env)", "allow Edit(/src/**)", "deny mcp__x", "allow WebFetch(domain:x.y)",
		"allow Bash(docker ps *)", "allow Bash(git pushy);deny Bash(git push *)", "allow Bash(git *);deny Bash(git push *)", "allow Bash(git push x);deny Bash(git * y)",
		"allow Read(./**)", `allow Bash(grep -i "a\|b & c" *.sql)`, "allow Bash(curl -s http://localhost:9090/x)", "allow Bash(npm test 2>&1*)",
		"allow Read(src/x);allow Edit(src/x)", "allow Write;allow Edit", "allow Bash(node -c *)",
		"allow Bash(node --check:*)"} {
		in := &dialect.Input{Files: []dialect.File{rules("project", "", strings.Split(rule, ";")...)}}
		l := load(t, nil, in.Files...)
		all := append(append(l.Warnings, Dialect{}.Lint(in, l.Program)...), lint.Program(l.Program, &lint.Options{Files: []string{in.Files[0].Name}, Sees: Dialect{}.Info().Sees})...)
		if len(all) > 0 {
			t.Errorf("%s: %v", rule, all)
		}
	}
}

func TestOffers(t *testing.T) {
	l := load(t, nil, rules("project", "", "allow Bash(npm test)"))
	for text, want := range map[string]string{
		"Bash: npm run build":            "Bash(npm run build) Bash(npm run *)",
		"Bash: npm test && go vet ./...": "Bash(go vet ./...) Bash(go vet *)",
		"Bash: python x.py":              "Bash(python x.py)",
		"WebFetch: https://x.y/z":        "WebFetch(domain:x.y)",
		"mcp__a__b: {}":                  "mcp__a__b",
		"Edit: /w/a.txt":                 "Edit(//w/a.txt)",
		"Bash: rm -rf /":                 "",
	} {
		c := call(text)
		d := l.Policy.Decide(c, world)
		var got []string
		for _, o := range l.Offers(c, world, &d) {
			got = append(got, o.Text)
			f := dialect.File{Name: "s.json", Data: []byte("{\n  \"model\": \"x\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(npm test)\"\n    ]\n  }\n}\n")}
			data, err := Dialect{}.AddRule(&f, &o)
			if err != nil || !strings.Contains(string(data), o.Text) || !strings.HasPrefix(string(data), "{\n  \"model\": \"x\",\n") {
				t.Errorf("%s: %s, %v", o.Text, data, err)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: offered %q, want %q", text, got, want)
		}
	}
	out, err := Dialect{}.AddRule(&dialect.File{}, &obstat.Offer{Text: "Bash(ls)"})
	if err != nil || !strings.Contains(string(out), `"Bash(ls)"`) {
		t.Errorf("into an empty file: %s, %v", out, err)
	}
}

// TestIgnorePatterns: the deprecated list denies reading.
func TestIgnorePatterns(t *testing.T) {
	file := dialect.File{Name: ".claude/settings.json", Data: []byte(`{"ignorePatterns":["secret/**",".env"]}`)}
	if (Dialect{}).Detect(&file) == dialect.No {
		t.Error("not detected")
	}
	l := load(t, nil, file)
	for text, want := range map[string]obstat.Verdict{"Read: /w/secret/x": obstat.Deny, "Read: /w/a/.env": obstat.Deny, "Bash: cat .env": obstat.Deny, "Read: /w/x": obstat.Allow} {
		if d := l.Policy.Decide(call(text), world); d.Verdict != want {
			t.Errorf("%s: %s, want %s", text, d.Reason(), want)
		}
	}
	file.Data = []byte(`{"ignorePatterns":".env"}`)
	if _, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{file}}); err == nil {
		t.Error("a list that is none was taken")
	}
}

func TestDetect(t *testing.T) {
	for name, want := range map[string]dialect.Confidence{".claude/settings.json": dialect.Sure, "x.json": dialect.Maybe} {
		if c := (Dialect{}).Detect(&dialect.File{Name: name, Data: []byte(`{"permissions":{"allow":[]}}`)}); c != want {
			t.Errorf("%s: %v", name, c)
		}
	}
	for data, want := range map[string]dialect.Confidence{`{}`: dialect.Sure, `{"hooks":{}}`: dialect.Sure, `{"permissions":{}}`: dialect.Sure,
		`{"permissions":{"bash":"ask"}}`: dialect.Sure, `{"permissions":{"deny":"Bash"}}`: dialect.Sure, `{"permissions":null}`: dialect.Sure, `x`: dialect.Maybe} {
		if c := (Dialect{}).Detect(&dialect.File{Name: ".claude/settings.json", Data: []byte(data)}); c != want {
			t.Errorf("%s: %v", data, c)
		}
		if c := (Dialect{}).Detect(&dialect.File{Name: "other.json", Data: []byte(data)}); c != dialect.No {
			t.Errorf("%s elsewhere: %v", data, c)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, tc := range documented {
		for _, r := range strings.Split(tc.rules, ";") {
			list, rule, _ := strings.Cut(r, " ")
			f.Add(list, rule, "npm test && cat .env > out")
		}
	}
	f.Fuzz(func(t *testing.T, list, rule, command string) {
		data, _ := json.Marshal(map[string]any{"permissions": map[string]any{list: []string{rule}}})
		l, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "s.json", Data: data}}})
		if err != nil {
			return
		}
		for _, tool := range []string{"Bash", "Read", "WebFetch", "mcp__a__b"} {
			c := call(tool + ": " + command)
			if d := l.Policy.Decide(c, world); list == listDeny && d.Verdict == obstat.Allow && rule == tool {
				t.Errorf("%s is denied, and allowed", tool)
			}
		}
	})
}

// TestManagedParts: parts of the machine's policy come after its main file, in
// alphabetical order, and count as the machine's.
func TestManagedParts(t *testing.T) {
	list := func(dir string) ([]string, error) {
		if dir != filepath.Join(managedDir(&dialect.Where{Machine: "/m"}), managedParts) {
			return nil, fs.ErrNotExist
		}
		return []string{"20-b.json", ".hidden.json", "10-a.json", "README"}, nil
	}
	where := &dialect.Where{Dir: "/p", Home: "/h", Machine: "/m", List: list}
	places, err := Dialect{}.Places(where)
	if err != nil || len(places) != 6 || filepath.Base(places[3].Name) != "managed-settings.json" || filepath.Base(places[4].Name) != "10-a.json" || filepath.Base(places[5].Name) != "20-b.json" {
		t.Fatalf("%v, %v", places, err)
	}
	main := places[3].Name
	where.List = func(string) ([]string, error) { return nil, fs.ErrPermission }
	if _, err := (Dialect{}).Places(where); err == nil {
		t.Error("parts that cannot be listed are taken for none")
	}
	if places, err := (Dialect{}).Places(&dialect.Where{Dir: "/p", Machine: "/none", List: list}); err != nil || len(places) != 3 {
		t.Errorf("%v, %v", places, err)
	}
	files := []dialect.File{
		{Name: "/h/.claude/settings.json", Layer: dialect.LayerUser, Data: []byte(`{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash(npm *)"]}}`)},
		{Name: main, Layer: dialect.LayerManaged, Data: []byte(`{"permissions":{"defaultMode":"plan"}}`)},
		{Name: "/m/managed-settings.d/10-a.json", Data: []byte(`{"permissions":{"defaultMode":"dontAsk","deny":["Bash(npm publish *)"]}}`)},
		{Name: "/m/managed-settings.d/20-b.json", Data: []byte(`{"allowManagedPermissionRulesOnly":true,"permissions":{"defaultMode":"acceptEdits","allow":["Bash(ls)"]}}`)},
	}
	prog, errs := Dialect{}.Load(&dialect.Input{Files: files, Home: "/h"})
	if errs.Fatal() != nil {
		t.Fatal(errs)
	}
	if prog.Mode != "acceptEdits" || len(prog.Rules["deny"]) != 1 || len(prog.Rules["allow"]) != 1 || prog.Rules["allow"][0].Source != "Bash(ls)" {
		t.Errorf("mode %s, deny %v, allow %v", prog.Mode, prog.Rules["deny"], prog.Rules["allow"])
	}
}

// TestPartOf: the part that a rule matched is named where one question is about several.
func TestPartOf(t *testing.T) {
	l, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "settings.json", Data: []byte(`{"permissions":{"deny":["Bash(rm *)"],"ask":["Bash(git push *)"]}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{"env CI=1 timeout 5 rm -rf build && make": "rm -rf build", "rm x": "", "make && git push origin": "git push origin"} {
		input, _ := json.Marshal(map[string]string{"command": command})
		call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/src"}
		d := l.Policy.Decide(call, &obstat.Snapshot{})
		if got := d.Part + l.Policy.PartOf(call, &obstat.Snapshot{}, &d); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestQuotedPart: a rule whose quotes close inside of a word, as Claude Code saves `cp "my files"/*.csv data/`, counts
// for the command as it is written, alone and in a line.
func TestQuotedPart(t *testing.T) {
	l := load(t, nil, dialect.File{Name: ".claude/settings.json", Data: []byte(`{"permissions": {"allow": ["Bash(cp -v \"my files\"/*.csv data/)", "Bash(mkdir *)"]}}`)})
	for command, want := range map[string]obstat.Verdict{
		`cp -v \"my files\"/x.csv data/`:               obstat.Allow,
		`cp -v \"my files\"/*.csv data/`:               obstat.Allow,
		`mkdir data && cp -v \"my files\"/x.csv data/`: obstat.Allow,
		`cp -v \"my files\"/$(git push).csv data/`:     obstat.Ask,
		`cp -v \"my files\"/$X.csv data/`:              obstat.Ask,
		`cp -v \"my files\"/x.csv data/ && git push`:   obstat.Ask,
		`cp -v \"other files\"/x.csv data/`:            obstat.Ask,
		`cp -v \"my files\"/a.csv ~/.ssh/b.csv data/`:  obstat.Allow, // the rule's * is anything, blanks as well
	} {
		c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/p", Roots: []string{"/p"}}
		if d := l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p"}}); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
		}
	}
}
