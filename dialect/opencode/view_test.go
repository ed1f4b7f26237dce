package opencode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"pgregory.net/rapid"
)

// world has a project with a link that leads out of it.
var world = &obstat.Snapshot{
	HomeDir: "/home/u",
	Links:   map[string]string{"/w/p/link": "/etc", "/w/p/keys": "/w/secret"},
	Dirs:    []string{"/", "/etc", "/w", "/w/p", "/w/p/src", "/w/secret", "/home/u"},
}

func callOf(tool, input string) *obstat.Call {
	return &obstat.Call{Tool: tool, Input: json.RawMessage(input), Dir: "/w/p", Roots: []string{"/w"}}
}

// asked writes asks as text.
func asked(asks []Ask) string {
	var out []string
	for _, a := range asks {
		out = append(out, fmt.Sprintf("%s%q", a.Permission, a.Patterns))
	}
	return strings.Join(out, " ")
}

// TestAsks has what each tool asks, in both orders and with the floor.
func TestAsks(t *testing.T) {
	for _, tc := range []struct{ tool, input, last, first, floor string }{
		{tool: "read", input: `{"filePath":"src/a"}`, last: `read["p/src/a"]`},
		{tool: "read", input: `{"filePath":"/etc/passwd"}`, last: `external_directory["/etc/*"] read["../etc/passwd"]`, first: `external_directory["/etc/passwd"] read["../etc/passwd"]`},
		{tool: "read", input: `{"filePath":"/w/x"}`, last: `read["x"]`, first: `external_directory["/w/x"] read["x"]`},
		{tool: "read", input: `{"filePath":"..x"}`, last: `read["p/..x"]`, first: `external_directory["/w/p/..x"] read["p/..x"]`},
		{tool: "read", input: `{"filePath":"link/passwd"}`, last: `external_directory["/etc/*"] read["p/link/passwd" "../etc/passwd"]`, first: `external_directory["/etc/passwd"] read["p/link/passwd" "../etc/passwd"]`},
		{tool: "write", input: `{"filePath":"keys/id","content":""}`, last: `edit["p/keys/id" "secret/id"]`, first: `external_directory["/w/secret/id"] edit["p/keys/id" "secret/id"]`},
		{tool: "edit", input: `{"filePath":"a"}`, last: `edit["p/a"]`},
		{tool: "multiedit", input: `{"filePath":"a"}`, last: `edit["p/a"]`},
		{tool: "apply_patch", input: `{"patchText":"*** Begin Patch\n*** Delete File: a\n*** Update File: b\r\n*** Move to: /x/c\n*** End Patch"}`,
			last: `external_directory["/x/*"] edit["p/a" "p/b" "../x/c"]`, first: `external_directory["/x/c"] edit["p/a" "p/b" "../x/c"]`},
		{tool: "list", input: `{}`, last: `list["p"]`},
		{tool: "list", input: `{"path":"/etc"}`, last: `external_directory["/etc/*"] list["../etc"]`, first: `external_directory["/etc"] list["../etc"]`},
		{tool: "glob", input: `{"pattern":"**/*.ts","path":"/etc"}`, last: `glob["**/*.ts"] external_directory["/etc/*"]`, first: `external_directory["/etc"] glob["**/*.ts"]`},
		{tool: "glob", input: `{"pattern":"/etc/*.conf"}`, last: `glob["/etc/*.conf"]`, floor: `glob["/etc/*.conf"] external_directory["/etc/*"]`},
		{tool: "grep", input: `{"pattern":"KEY","path":".env"}`, last: `grep["KEY"]`, floor: `grep["KEY"] read["p/.env"]`},
		{tool: "grep", input: `{"pattern":"KEY","path":"src"}`, last: `grep["KEY"]`},
		{tool: "webfetch", input: `{"url":"https://x.org/a"}`, last: `webfetch["https://x.org/a"]`},
		{tool: "webfetch", input: `{"url":"HTTPS://u:p@X.org.:443/a"}`, last: `webfetch["HTTPS://u:p@X.org.:443/a"]`, floor: `webfetch["HTTPS://u:p@X.org.:443/a" "https://x.org/a"]`},
		{tool: "websearch", input: `{"query":"q"}`, last: `websearch["q"]`},
		{tool: "task", input: `{"subagent_type":"general"}`, last: `task["general"]`},
		{tool: "skill", input: `{"name":"s"}`, last: `skill["s"]`},
		{tool: "todowrite", input: `{"todos":[]}`, last: `todowrite["*"]`},
		{tool: "lsp", input: `{}`, last: `lsp["*"]`},
		{tool: "question", input: ``, last: `question["*"]`},
		{tool: "my.server/tool x", input: `{"a":1}`, last: `my_server_tool_x["*"]`},
		{tool: "read_mcp_resource", input: `{"server":"s","uri":"file:///x"}`, last: `read["mcp:s:file:///x"]`},
		{tool: "list_mcp_resources", input: `{"server":"s"}`, last: `read["mcp:s:*"]`},
		{tool: "list_mcp_resource_templates", input: `{}`, last: `read["mcp:*"]`},
		{tool: "bash", input: `{"command":"cd src && ls; git push"}`, last: `bash["ls" "git push"]`, first: `bash["cd src && ls; git push"]`},
		{tool: "bash", input: `{"command":"cat link/passwd"}`, last: `external_directory["/etc/*"] bash["cat link/passwd"]`, first: `external_directory["/etc/passwd"] bash["cat link/passwd"]`},
		{tool: "bash", input: `{"command":"head /etc/passwd"}`, last: `bash["head /etc/passwd"]`, floor: `external_directory["/etc/*"] bash["head /etc/passwd"]`},
		{tool: "bash", input: `{"command":"cat $X"}`, last: `bash["cat $X"]`, floor: `external_directory["*"] bash["cat $X"]`},
		{tool: "bash", input: `{"command":"ls > /dev/null 2>&1 < /dev/null"}`, last: `bash["ls > /dev/null 2>&1 < /dev/null"]`, first: `bash["ls > /dev/null 2>&1 < /dev/null"]`},
		{tool: "bash", input: `{"command":"ls","workdir":"/etc"}`, last: `external_directory["/etc/*"] bash["ls"]`, first: `external_directory["/etc"] bash["ls"]`},
		{tool: "bash", input: `{"command":""}`, last: `bash[""]`},
		{tool: "Bash", input: `{"command":"ls; rm x"}`, last: `Bash["*"]`, floor: `Bash["*"] bash["ls" "rm x"]`},
		{tool: "run_shell", input: `{"command":"cat /etc/x"}`, last: `run_shell["*"]`, floor: `external_directory["/etc/*"] run_shell["*"] bash["cat /etc/x"]`},
		{tool: "Task", input: `{"x":1}`, last: `Task["*"]`},
		{tool: "read", input: `{"file_path":"a"}`, last: `read["p/a"]`},
		{tool: "read", input: `{"filePath":"a","path":"/etc/b"}`, last: `external_directory["/etc/*"] read["p/a" "../etc/b"]`, first: `external_directory["/etc/b"] read["p/a" "../etc/b"]`},
	} {
		for _, run := range []struct {
			order Order
			floor bool
			want  string
		}{{Last, false, tc.last}, {Last, true, or(tc.floor, tc.last)}, {First, false, or(tc.first, tc.last)}} {
			asks, err := Asks(run.order, run.floor, callOf(tc.tool, tc.input), world)
			if got := asked(asks); err != nil || got != run.want {
				t.Errorf("%s %s, order %s, floor %v: %v\ngot  %s\nwant %s", tc.tool, tc.input, run.order, run.floor, err, got, run.want)
			}
		}
	}
}

// TestForeign has what tools of other agents ask: what opencode's own would, so
// that its rules hold for them, too.
func TestForeign(t *testing.T) {
	for _, tc := range []struct{ agent, tool, input, want string }{
		{"claude-code", "Bash", `{"command":"ls; rm x","description":"d"}`, `bash["ls" "rm x"]`},
		{"gemini", "run_shell_command", `{"command":"ls","dir_path":"/etc"}`, `external_directory["/etc/*"] bash["ls"]`},
		{"codex", "shell", `{"command":["bash","-lc","ls"]}`, `bash["bash -lc ls"]`},
		{"claude-code", "Read", `{"file_path":"/w/p/src/a"}`, `read["p/src/a"]`},
		{"claude-code", "Edit", `{"file_path":"src/a","old_string":"a","new_string":"b"}`, `edit["p/src/a"]`},
		{"claude-code", "MultiEdit", `{"file_path":"/etc/a","edits":[]}`, `external_directory["/etc/*"] edit["../etc/a"]`},
		{"claude-code", "NotebookEdit", `{"notebook_path":"src/a.ipynb"}`, `edit["p/src/a.ipynb"]`},
		{"gemini", "write_file", `{"file_path":"a","path":"/etc/b"}`, `external_directory["/etc/*"] edit["p/a" "../etc/b"]`}, // which of the two counts?
		{"gemini", "read_many_files", `{"paths":["a","b"]}`, `read["p/a" "p/b"]`},
		{"copilot", "edit", `{"path":"a"}`, `edit["p/a"]`},
		{"claude-code", "Glob", `{"pattern":"**/*.go","path":"/etc"}`, `glob["**/*.go"] external_directory["/etc/*"]`},
		{"claude-code", "Grep", `{"pattern":"KEY","path":".env","glob":"*.x"}`, `grep["KEY"] read["p/.env"]`},
		{"gemini", "list_directory", `{"dir_path":"/etc"}`, `external_directory["/etc/*"] list["../etc"]`},
		{"gemini", "list_directory", `{"dir_path":"/etc","path":"src"}`, `external_directory["/etc/*"] list["../etc" "p/src"]`},
		{"claude-code", "WebFetch", `{"url":"https://x.org/a","prompt":"p"}`, `webfetch["https://x.org/a"]`},
		{"gemini", "web_fetch", `{"prompt":"read https://x.org"}`, `webfetch["https://x.org"]`},
		{"copilot", "task", `{"agent_type":"explore","prompt":"p"}`, `task["explore"]`},
		{"codex", "spawn_agent", `{"message":"p"}`, `task["*"]`},
		{"gemini", "activate_skill", `{"name":"x"}`, `skill["x"]`},
		{"gemini", "google_web_search", `{"query":"x"}`, `websearch["x"]`},
		{"codex", "apply_patch", `{"input":"*** Update File: a"}`, `edit["p/a"]`},
		{"cursor", "delete_file", `{"path":"a"}`, `edit["p/a"]`},
		{"claude-code", "mcp__docs__search", `{"q":"x"}`, `docs_search["*"]`},
		{"gemini", "mcp_docs_search", `{}`, `docs_search["*"]`},
		{"claude-code", "mcp__docs", `{}`, `mcp__docs["*"]`},
		{"opencode", "Bash", `{"command":"ls"}`, `Bash["*"] bash["ls"]`}, // a plugin's
		{"", "Bash", `{"command":"ls"}`, `Bash["*"] bash["ls"]`},
	} {
		call := callOf(tc.tool, tc.input)
		call.Agent = tc.agent
		asks, err := Asks(Last, true, call, world)
		if got := asked(asks); err != nil || got != tc.want {
			t.Errorf("%s %s %s: %v\ngot  %s\nwant %s", tc.agent, tc.tool, tc.input, err, got, tc.want)
		}
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestBadCalls: a call that cannot be read is denied, whatever the rules say.
func TestBadCalls(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": "allow"}`)
	for tool, inputs := range map[string][]string{
		"read":              {`{}`, `{"filePath":1}`, `{"filePath":null}`, `[]`, `"x"`, `{`, `{"filePath":"a","filePath":"b"}`, `{"filePath":"a","FILEPATH":"b"}`},
		"bash":              {`{}`, `{"command":["rm"]}`, `{"command":"ls","workdir":1}`, `{"cmd":"ls"}`},
		"apply_patch":       {`{"patchText":""}`, `{"patchText":"--- a\n+++ b"}`},
		"glob":              {`{"pattern":"*","path":1}`},
		"read_mcp_resource": {`{"server":"s"}`, `{"server":1,"uri":"x"}`},
		"task":              {`{}`},
	} {
		for _, in := range inputs {
			if d := l.Policy.Decide(callOf(tool, in), world); d.Verdict != obstat.Deny {
				t.Errorf("%s %s: %v", tool, in, d.Verdict)
			}
		}
	}
}

func TestDoomLoop(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": {"*": "allow", "doom_loop": "ask"}}`)
	for repeat, want := range []obstat.Verdict{obstat.Allow, obstat.Allow, obstat.Ask, obstat.Ask} {
		c := callOf("read", `{"filePath":"a"}`)
		c.Repeat = repeat
		if d := l.Policy.Decide(c, world); d.Verdict != want {
			t.Errorf("after %d calls: %v", repeat, d.Verdict)
		}
	}
}

// TestFloor: what the program lets through and does harm, and what is harmless
// and must stay quiet.
func TestFloor(t *testing.T) {
	const rules = `{"permission": {"bash": {"*": "ask", "ls *": "allow", "git *": "allow", "echo *": "allow", "cat *": "allow", "npm test *": "allow", "git push *": "deny", "rm *": "deny"},
		"read": {"*": "allow", "*.env": "deny"}, "edit": {"*": "ask", "src/*": "allow", "p/out.txt": "allow"}, "external_directory": "ask", "webfetch": "ask"}}`
	l := load(t, nil, "opencode.json", rules)
	for cmd, want := range map[string]obstat.Verdict{
		"ls":                             obstat.Allow,
		"cd src && ls -la":               obstat.Allow,
		"cd src; git status":             obstat.Allow,
		"git log | cat":                  obstat.Allow,
		"ls 2>/dev/null":                 obstat.Allow,
		"echo x > out.txt":               obstat.Allow,
		"echo x > other.txt":             obstat.Ask,
		"echo x > /etc/passwd":           obstat.Ask,
		"cat .env":                       obstat.Deny,
		"git -C . push":                  obstat.Deny,
		"env rm x":                       obstat.Deny,
		"echo $(rm x)":                   obstat.Deny,
		"ls && sudo rm x":                obstat.Deny,
		"cat /etc/passwd":                obstat.Ask,
		"cat link/passwd":                obstat.Ask,
		"git status && python -c 'x'":    obstat.Ask,
		"$(echo ls)":                     obstat.Ask,
		"ls 'unterminated":               obstat.Ask,
		"cd src":                         obstat.Ask,
		"x=1":                            obstat.Ask,
		"CI=1 ls":                        obstat.Allow,
		"CI=1 RUST_LOG=info npm test":    obstat.Allow,
		"FOO=1 ls":                       obstat.Ask,
		"CI=1 LD_PRELOAD=./x ls":         obstat.Ask,
		"CI=1 rm x":                      obstat.Deny,
		"CI=$(rm x) ls":                  obstat.Deny,
		"CI=1 python x":                  obstat.Ask,
		"> f":                            obstat.Ask,
		"[[ -v 'a[$(rm x)]' ]]":          obstat.Deny,
		"git log --output=/etc/cron.d/x": obstat.Ask,
	} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		if d := l.Policy.Decide(callOf("bash", string(input)), world); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// A rule that has a variable in front of its command is about the text as it was written.
func TestVariablesInRules(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": {"bash": {"*": "ask", "ls *": "allow", "CI=1 ls *": "deny"}}}`)
	for cmd, want := range map[string]obstat.Verdict{"CI=1 ls": obstat.Deny, "TZ=UTC ls": obstat.Ask, "ls": obstat.Allow} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		if d := l.Policy.Decide(callOf("bash", string(input)), world); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// A star of such a rule stands for a value or for arguments, not for a program, and a path for the program that it leads to.
func TestStarsInRules(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": {"bash": {"*": "ask", "FOO=* make *": "allow", "/opt/x/*": "allow", "watch *": "allow", "A=1 git *": "deny"}}}`)
	for cmd, want := range map[string]obstat.Verdict{
		"FOO=1 make x": obstat.Allow, "FOO=1 git push make x": obstat.Ask, "FOO=1 BAR=2 make x": obstat.Ask, "/opt/x/y z": obstat.Allow,
		"/opt/x/../../usr/bin/git push": obstat.Ask, "/opt/x/../y": obstat.Ask, `watch FOO=1 make x \; B=1 git push`: obstat.Ask,
		`B=2 A="1" git x`: obstat.Deny,
	} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		if d := l.Policy.Decide(callOf("bash", string(input)), world); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// TestReach: a tool that is denied as a whole need not be shown.
func TestReach(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": {"*": "allow", "bash": "deny", "edit": {"*": "deny", "docs/*": "ask"}, "srv_*": "deny"}}`)
	for tool, want := range map[string]obstat.Verdict{"bash": obstat.Deny, "write": obstat.Ask, "read": obstat.Allow, "srv_x": obstat.Deny, "other": obstat.Allow} {
		if r := l.Policy.Reach(tool, ""); r.Loosest != want {
			t.Errorf("%s: at most %v", tool, r.Loosest)
		}
	}
}

// TestNoQuestionLess: whatever is asked of the shell, something is asked.
func TestNoQuestionLess(t *testing.T) {
	words := rapid.SampledFrom([]string{"cd", "pushd", "ls", "x=1", ">", "f", ";", "&&", "|", "(", ")", "{", "}", "[[", "]]", "((", "))", "'a[$(id)]'", "export", "#", "\n", "&", "<<E", "$x", "`", "\"", "if", "then", "fi"})
	rapid.Check(t, func(t *rapid.T) {
		cmd := strings.Join(rapid.SliceOfN(words, 0, 8).Draw(t, "words"), " ")
		input, _ := json.Marshal(map[string]string{"command": cmd})
		for _, o := range []Order{First, Last} {
			asks, err := Asks(o, rapid.Bool().Draw(t, "floor"), callOf("bash", string(input)), world)
			n := 0
			for _, a := range asks {
				n += len(a.Patterns)
			}
			if err != nil || n == 0 {
				t.Fatalf("%q asks nothing: %v", cmd, err)
			}
		}
	})
}

// TestStricterOfTwo: in a pair of agents the stricter counts, for any rules.
func TestStricterOfTwo(t *testing.T) {
	rule := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("{%q: %q}", rapid.SampledFrom([]string{"*", "a*", "*b", "ab"}).Draw(t, "pattern"), rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "action"))
	})
	rapid.Check(t, func(t *rapid.T) {
		data := fmt.Sprintf(`{"agent": {"a": {"mode": "primary", "permission": {"bash": %s}}, "b": {"mode": "subagent", "permission": {"bash": %s}}}}`, rule.Draw(t, "parent"), rule.Draw(t, "child"))
		l, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "opencode.json", Data: []byte(data)}}})
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.SampledFrom([]string{"ab", "a", "b", "x"}).Draw(t, "value")
		if got, want := decide(l, "a>b", "bash", value), min(decide(l, "a", "bash", value), decide(l, "b", "bash", value)); got != want {
			t.Fatalf("%s: %s is %v, want %v", data, value, got, want)
		}
	})
}

// FuzzAsks: no call makes the view fail or ask nothing.
func FuzzAsks(f *testing.F) {
	for _, s := range []string{`{"command":"cd x && ls > f"}`, `{"filePath":"../../x"}`, `{"patchText":"*** Add File: a\n*** Move to: /b"}`, `{"url":"http://[::1"}`, `{"pattern":"../*","path":"/"}`, `null`, ``} {
		for tool := range tools() {
			f.Add(tool, s, "/w/p", "/w", true)
		}
	}
	f.Fuzz(func(t *testing.T, tool, input, dir, root string, floor bool) {
		call := &obstat.Call{Tool: tool, Input: json.RawMessage(input), Dir: dir, Roots: []string{root}, Repeat: 2}
		for _, o := range []Order{First, Last} {
			asks, err := Asks(o, floor, call, world)
			n := 0
			for _, a := range asks {
				n += len(a.Patterns)
			}
			if err == nil && n < 2 {
				t.Errorf("%d questions", n)
			}
		}
	})
}

// TestSpellings: with the floor on, a rule that names a file in a way that the program never
// asks about, from the root, from home or with a star for no directory, is about it as well, and
// only where it denies or asks.
func TestSpellings(t *testing.T) {
	in := func(read string) string {
		return `{"permission": {"*": "allow", "external_directory": "allow", "read": ` + read + `}}`
	}
	const abs = `{"*": "allow", "/w/p/config/*": "deny", "/etc/*": "ask"}`
	const home = `{"*": "allow", "~/.ssh/**": "deny"}`
	const star = `{"*": "allow", "**/.env": "deny"}`
	const narrow = `{"*": "deny", "src/**": "allow", "/home/u/**": "allow"}`
	for _, tc := range []struct {
		read, cmd string
		want      obstat.Verdict
	}{
		{abs, "cat config/prod", obstat.Deny},
		{abs, "cat /w/p/config/prod", obstat.Deny},
		{abs, "cat conf*/prod", obstat.Ask},
		{abs, "cat link/passwd", obstat.Ask},
		{abs, "cat src/a", obstat.Allow},
		{home, "cat ~/.ssh/id_rsa", obstat.Deny},
		{home, "cat ../../home/u/.ssh/id_rsa", obstat.Deny},
		{home, "cat ~/.ss?/id_rsa", obstat.Ask},
		{home, "cat ~/notes", obstat.Allow},
		{star, "cat .env", obstat.Deny},
		{star, "cat src/.env", obstat.Deny},
		{star, "cat src/a", obstat.Allow},
		{narrow, "cat src/a", obstat.Allow},
		{narrow, "cat a", obstat.Deny},
		{narrow, "cat ~/notes", obstat.Deny},
	} {
		l := load(t, map[string]string{}, "opencode.json", in(tc.read))
		input, _ := json.Marshal(map[string]string{"command": tc.cmd})
		call := callOf("bash", string(input))
		call.Roots = []string{"/w/p"}
		if d := l.Policy.Decide(call, world); d.Verdict != tc.want {
			t.Errorf("%s: %s: %v, want %v (%s)", tc.read, tc.cmd, d.Verdict, tc.want, d.Reason())
		}
	}
}
