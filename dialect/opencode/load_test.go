package opencode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// file makes a file; its layer is what stands before a colon in its name.
func file(name, data string) dialect.File {
	layer, base, ok := strings.Cut(name, ":")
	if !ok {
		layer, base = "", name
	}
	return dialect.File{Name: base, Layer: layer, Data: []byte(data)}
}

// load loads files, given by name and text in turn.
func load(t *testing.T, options map[string]string, files ...string) *dialect.Loaded {
	t.Helper()
	l, err := dialect.Load(Dialect{}, input(options, files...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func input(options map[string]string, files ...string) *dialect.Input {
	in := &dialect.Input{Options: options, Home: "/home/u"}
	for i := 0; i+1 < len(files); i += 2 {
		in.Files = append(in.Files, file(files[i], files[i+1]))
	}
	return in
}

// decide answers for a permission and a value.
func decide(l *dialect.Loaded, mode, permission, value string) obstat.Verdict {
	return l.Policy.Decide(&obstat.Call{Tool: permission, Subjects: []string{value}, Mode: obstat.Mode(mode)}, nil).Verdict
}

// TestBadInput has every item of what a file can have wrong, with its place.
func TestBadInput(t *testing.T) {
	for _, tc := range []struct {
		name, file, data string
		want             string // a part of the message, with its place; "" is none
		warning          bool
		options          map[string]string
	}{
		{name: "trailing commas", file: "opencode.json", data: `{"permission": {"bash": {"*": "ask",},},}`},
		{name: "comments", file: "opencode.jsonc", data: "{ // a\n /* b */ \"permission\": \"ask\" }"},
		{name: "a byte order mark", file: "opencode.json", data: "\ufeff{\"permission\": \"ask\"}"},
		{name: "an empty file", file: "opencode.json", data: " \n"},
		{name: "a wrong word", file: "opencode.json", data: `{"permission": {"bash": "alow"}}`, want: `opencode.json:1:25: "alow" is no action [bad-value]; did you mean "allow"?`},
		{name: "a wrong word in a pattern", file: "opencode.json", data: "{\"permission\": {\"bash\": {\n  \"rm *\": \"never\"}}}", want: `opencode.json:2:11: "never" is no action`},
		{name: "a word in capitals", file: "opencode.json", data: `{"permission": {"bash": "Deny"}}`, want: `opencode.json:1:25: "Deny" is no action`},
		{name: "null", file: "opencode.json", data: `{"permission": null}`, want: `opencode.json:1:16: "permission" should be an object, not null`},
		{name: "a number", file: "opencode.json", data: `{"permission": {"bash": 1}}`, want: `opencode.json:1:25: "bash" should be an action`},
		{name: "a list", file: "opencode.json", data: `{"permission": [{"permission": "bash", "pattern": "*", "action": "deny"}]}`, want: `opencode.json:1:16: opencode takes no list for "permission"`},
		{name: "patterns where one word is taken", file: "opencode.json", data: `{"permission": {"webfetch": {"*": "ask"}}}`, want: `opencode.json:1:29: opencode takes one action for "webfetch"`},
		{name: "patterns in patterns", file: "opencode.json", data: `{"permission": {"bash": {"*": {"a": "ask"}}}}`, want: `opencode.json:1:31: an action is one of allow, ask and deny`},
		{name: "a number for a key", file: "opencode.json", data: `{"permission": {"bash": {"*": "ask", "7": "deny"}}}`, want: `opencode.json:1:38: warning: JavaScript moves the key "7" before all others`, warning: true},
		{name: "the document's key in the program's file", file: "opencode.json", data: `{"permissions": {"bash": "deny"}}`, want: `opencode.json:1:2: warning: opencode itself reads "permission" in this file`, warning: true},
		{name: "both keys", file: "opencode.json", data: `{"permission": {}, "permissions": {}}`, want: `opencode.json:1:20: warning: opencode reads "permission" and ignores "permissions"`, warning: true},
		{name: "the document's key, and the program's order", file: "x.json", data: `{"permissions": {"bash": "deny"}}`, options: map[string]string{"order": "last"}, want: `x.json:1:2: warning: opencode reads "permission" and ignores "permissions"`, warning: true},
		{name: "a misspelt key", file: "opencode.json", data: `{"permision": {"bash": "deny"}}`, want: `opencode.json:1:2: warning: nobody reads "permision"`, warning: true},
		{name: "two equal keys", file: "opencode.json", data: `{"permission": {"bash": "deny", "bash": "allow"}}`, want: `opencode.json:1:33:`},
		{name: "no object", file: "opencode.json", data: `[]`, want: `opencode.json:1:1: a configuration should be an object`},
		{name: "no JSON", file: "opencode.json", data: `{"permission": `, want: `opencode.json:1:16:`},
		{name: "a rule of opencode 2", file: "config.json", data: `{"permissions": [{"action": "bash", "resource": "*", "effect": "deny"}]}`, want: `config.json:1:18: this is a rule of opencode 2`},
		{name: "a rule without a pattern", file: "config.json", data: `{"permissions": [{"permission": "bash", "action": "deny"}]}`, want: `config.json:1:18:`},
		{name: "a permission without a name", file: "config.json", data: `{"permissions": [{"permission": "", "pattern": "*", "action": "deny"}]}`, want: `config.json:1:33: a permission without a name`},
		{name: "a word for all in the document", file: "config.json", data: `{"permissions": "deny"}`, want: `config.json:1:17: "permissions" should be an object`},
		{name: "a text that is put in later", file: "opencode.json", data: `{"permission": {"bash": "{env:BASH_RULE}"}}`, want: `opencode.json:1:25: what opencode puts in for {env:`},
		{name: "a pattern that is put in later", file: "opencode.json", data: `{"permission": {"bash": {"{file:./x}": "deny"}}}`, want: `opencode.json:1:26: what opencode puts in for {file:`},
		{name: "a switch that is none", file: "opencode.json", data: `{"tools": {"bash": "no"}}`, want: `opencode.json:1:20: a tool is switched with true or false`},
		{name: "agents in a list", file: "opencode.json", data: `{"agent": []}`, want: `opencode.json:1:11: "agent" should be an object`},
		{name: "an agent's mode", file: "opencode.json", data: `{"agent": {"a": {"mode": "boss"}}}`, want: `opencode.json:1:26: an agent's mode is`},
		{name: "an agent's rules", file: "opencode.json", data: `{"agent": {"a": {"permission": {"bash": "no"}}}}`, want: `opencode.json:1:41: "no" is no action`},
		{name: "an agent's name", file: "opencode.json", data: `{"agent": {"a>b": {}}}`, want: `opencode.json:1:19: an agent cannot be called "a>b"`},
		{name: "an agent file", file: ".opencode/agent/a.md", data: "---\npermission:\n  bash: nope\n---\nbody", want: `.opencode/agent/a.md:3:9: "nope" is no action`},
		{name: "an agent file without an end", file: ".opencode/agent/a.md", data: "---\npermission: ask\n", want: `.opencode/agent/a.md:1:1: the front matter does not end`},
		{name: "an agent file that is an alias of itself", file: ".opencode/agent/a.md", data: "---\npermission: &p\n  bash: *p\n---\n", want: `.opencode/agent/a.md:3:9:`},
		{name: "an order that is none", file: "opencode.json", data: `{}`, options: map[string]string{"order": "middle"}, want: `takes ["auto" "first" "last"], not "middle"`},
		{name: "an agent that is none", file: "opencode.json", data: `{}`, options: map[string]string{"agent": "boss"}, want: `there is no agent boss`},
	} {
		l, err := dialect.Load(Dialect{}, input(tc.options, tc.file, tc.data))
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case len(l.Warnings) > 0:
			got = l.Warnings.Error()
		}
		switch {
		case tc.want == "" && got != "", !strings.Contains(got, tc.want):
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		case tc.warning != (err == nil) && tc.want != "":
			t.Errorf("%s: a warning is wanted: %v; got %v", tc.name, tc.warning, err)
		}
	}
}

// TestOrderFromFile: the key in the file says which order is meant, and the
// Program says which one it is.
func TestOrderFromFile(t *testing.T) {
	const rules = `{"read": {"*": "allow", "*.env": "ask"}}`
	for _, tc := range []struct {
		key  string
		want obstat.Verdict
		name string
	}{{"permission", obstat.Ask, "last match"}, {"permissions", obstat.Allow, "first match"}} {
		l := load(t, nil, "config.json", `{"`+tc.key+`": `+rules+`}`)
		if got := decide(l, "", "read", "prod.env"); got != tc.want {
			t.Errorf("%s: %v", tc.key, got)
		}
		d, _ := l.Policy.Explain(&obstat.Call{Tool: "read", Subjects: []string{"prod.env"}}, nil)
		if d.Stage != tc.name || !strings.Contains(string(l.Program.Params), `"order"`) {
			t.Errorf("%s: decided by %q, %s", tc.key, d.Stage, l.Program.Params)
		}
	}
	if _, err := dialect.Load(Dialect{}, input(nil, "a.json", `{"permission": {}}`, "b.json", `{"permissions": {}}`)); err == nil || !strings.Contains(err.Error(), "b.json:1:2") {
		t.Errorf("both keys in two files: %v", err)
	}
}

// TestMerge: files are merged key by key, places kept, as the program does; with
// the floor on, nothing that the user or a managed file denies is lifted.
func TestMerge(t *testing.T) {
	off := map[string]string{"floor": "off"}
	for _, tc := range []struct {
		files             []string
		permission, value string
		bare, floor       obstat.Verdict
	}{
		{[]string{"user:u.json", `{"permission": {"bash": "allow", "*": "ask"}}`, "project:p.json", `{"permission": {"bash": "deny"}}`}, "bash", "ls", obstat.Ask, obstat.Ask},
		{[]string{"user:u.json", `{"permission": {"bash": "deny"}}`, "project:p.json", `{"permission": {"bash": {"ls *": "allow"}}}`}, "bash", "ls", obstat.Allow, obstat.Deny},
		{[]string{"user:u.json", `{"permission": {"bash": {"*": "deny", "ls *": "allow"}}}`, "project:p.json", `{"permission": {"bash": {"rm *": "allow"}}}`}, "bash", "rm x", obstat.Allow, obstat.Deny},
		{[]string{"user:u.json", `{"permission": {"bash": {"*": "deny", "ls *": "allow"}}}`, "project:p.json", `{"permission": {"bash": {"rm *": "allow"}}}`}, "bash", "ls x", obstat.Allow, obstat.Allow},
		{[]string{"project:p.json", `{"permission": {"bash": "allow", "*": "allow"}}`, "managed:m.json", `{"permission": {"bash": "deny"}}`}, "bash", "ls", obstat.Allow, obstat.Deny},
		{[]string{"project:p.json", `{"permission": {"rm *": "allow", "*": "allow"}}`, "managed:m.json", `{"permission": {"bash": {"rm *": "deny"}}}`}, "bash", "rm x", obstat.Deny, obstat.Deny},
		{[]string{"project:p.json", `{"permission": {"bash": "deny"}}`}, "bash", "ls", obstat.Deny, obstat.Deny},
		{[]string{"user:u.json", `{"permission": "allow"}`, "project:p.json", `{"permission": {"bash": {"rm *": "deny"}}}`}, "bash", "rm x", obstat.Deny, obstat.Deny},
		{[]string{"user:u.json", `{"permission": {"bash": "deny"}}`, "project:p.json", `{"agent": {"build": {"permission": {"bash": "allow"}}}}`}, "bash", "ls", obstat.Deny, obstat.Deny},
		{[]string{"user:u.json", `{"permission": {"bash": "deny"}}`, "session:s.json", `{"permission": [{"permission": "bash", "pattern": "*", "action": "allow"}]}`}, "bash", "ls", obstat.Allow, obstat.Deny},
		{[]string{"user:u.json", `{"tools": {"bash": false}}`, "project:p.json", `{"permission": {"bash": "allow"}}`}, "bash", "ls", obstat.Allow, obstat.Deny},
	} {
		if got := decide(load(t, off, tc.files...), "", tc.permission, tc.value); got != tc.bare {
			t.Errorf("%q, floor off: %v, want %v", tc.files, got, tc.bare)
		}
		if got := decide(load(t, nil, tc.files...), "", tc.permission, tc.value); got != tc.floor {
			t.Errorf("%q, floor on: %v, want %v", tc.files, got, tc.floor)
		}
	}
}

func TestLegacyTools(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"tools": {"write": false, "bash": true, "webfetch": false}, "permission": {"webfetch": "ask"}}`)
	for permission, want := range map[string]obstat.Verdict{"edit": obstat.Deny, "bash": obstat.Allow, "webfetch": obstat.Ask, "read": obstat.Ask} {
		if got := decide(l, "", permission, "x"); got != want {
			t.Errorf("%s: %v", permission, got)
		}
	}
}

// TestAgents: every agent is a mode, with the program's defaults, the files'
// rules and its own; a subagent never has more than the one that started it.
func TestAgents(t *testing.T) {
	l := load(t, nil,
		"user:opencode.json", `{"permission": {"bash": {"rm *": "deny"}}, "agent": {"review": {"permission": {"edit": "deny"}, "tools": {"bash": true}}, "gone": {"disable": true}}}`,
		"project:.opencode/agent/docs/writer.md", "---\ndescription: writes\nmode: subagent\npermission:\n  edit:\n    \"*\": deny\n    docs/*: allow\n---\nWrite.\n",
		"project:.opencode/mode/chat.md", "---\ntools:\n  write: false\n---\n",
		"project:.opencode/agent/plain.md", "no front matter\n")
	for _, tc := range []struct {
		mode, permission, value string
		want                    obstat.Verdict
	}{
		{"rules", "read", "a", obstat.Ask},
		{"build", "read", "a", obstat.Allow},
		{"build", "read", "a/.env", obstat.Ask},
		{"build", "read", ".env.example", obstat.Allow},
		{"build", "question", "*", obstat.Allow},
		{"build", "external_directory", "/etc/*", obstat.Ask},
		{"build", "external_directory", "/home/u/.local/share/opencode/tool-output/*", obstat.Allow},
		{"build", "bash", "rm x", obstat.Deny},
		{"plan", "edit", "a", obstat.Deny},
		{"plan", "edit", ".opencode/plans/a.md", obstat.Allow},
		{"plan", "bash", "ls", obstat.Allow},
		{"explore", "edit", "a", obstat.Deny},
		{"explore", "grep", "x", obstat.Allow},
		{"review", "edit", "a", obstat.Deny},
		{"review", "bash", "ls", obstat.Allow},
		{"review", "bash", "rm x", obstat.Allow}, // the user's own file switches it on for this agent
		{"docs/writer", "edit", "docs/a", obstat.Allow},
		{"docs/writer", "edit", "a", obstat.Deny},
		{"chat", "edit", "a", obstat.Deny},
		{"plain", "edit", "a", obstat.Allow},
		{"plan>general", "edit", "a", obstat.Deny},
		{"plan>docs/writer", "edit", "docs/a", obstat.Deny},
		{"build>docs/writer", "edit", "docs/a", obstat.Allow},
		{"build>general", "todowrite", "*", obstat.Deny},
		{"build>general", "task", "explore", obstat.Deny},
		{"build>explore", "read", ".env", obstat.Ask}, // explore alone would not ask
		{"gone", "read", "a", obstat.Deny},
	} {
		if got := decide(l, tc.mode, tc.permission, tc.value); got != tc.want {
			t.Errorf("%s: %s of %q is %v, want %v", tc.mode, tc.permission, tc.value, got, tc.want)
		}
	}
	if l := load(t, map[string]string{"agent": "plan"}, "opencode.json", `{}`); decide(l, "", "edit", "a") != obstat.Deny {
		t.Error("the option names an agent that is not in force")
	}
}

// TestAgentOfRepository: an agent of the repository does not lift what the user
// denies; one of the user's own files may; a session's rules come last.
func TestAgentOfRepository(t *testing.T) {
	const user, agent = `{"permission": {"bash": {"rm *": "deny"}}, "agent": {"mine": {"permission": {"bash": "allow"}}}}`, "---\npermission:\n  bash: allow\n---\n"
	for _, tc := range []struct {
		floor       string
		mine, other obstat.Verdict
	}{{"on", obstat.Allow, obstat.Deny}, {"off", obstat.Allow, obstat.Allow}} {
		l := load(t, map[string]string{"floor": tc.floor}, "user:opencode.json", user, "project:.opencode/agent/other.md", agent)
		if got := decide(l, "mine", "bash", "rm x"); got != tc.mine {
			t.Errorf("floor %s, the user's agent: %v", tc.floor, got)
		}
		if got := decide(l, "other", "bash", "rm x"); got != tc.other {
			t.Errorf("floor %s, the repository's agent: %v", tc.floor, got)
		}
	}
	for floor, want := range map[string]obstat.Verdict{"on": obstat.Deny, "off": obstat.Allow} {
		l := load(t, map[string]string{"floor": floor}, "project:opencode.json", `{"permission": "allow"}`)
		if got := decide(l, "plan", "edit", "a"); got != want {
			t.Errorf("floor %s: a repository lets plan edit files: %v", floor, got)
		}
		if got := decide(l, "build", "edit", "a"); got != obstat.Allow {
			t.Errorf("floor %s: build: %v", floor, got)
		}
		l = load(t, map[string]string{"floor": floor}, "user:opencode.json", `{"permission": {"edit": "ask"}}`, "project:opencode.json", `{}`)
		if got := decide(l, "plan", "edit", "a"); got != obstat.Ask {
			t.Errorf("floor %s: the user's own rule for plan: %v", floor, got)
		}
	}
	l := load(t, nil, "project:opencode.json", user, "session:session.json", `{"permission": [{"permission": "bash", "pattern": "*", "action": "ask"}]}`)
	if got := decide(l, "mine", "bash", "ls"); got != obstat.Ask {
		t.Errorf("the session: %v", got)
	}
}

// TestDocumentAgents: in the document an agent's rules stand before the user's.
func TestDocumentAgents(t *testing.T) {
	l := load(t, nil, "config.json", `{"permissions": {"bash": "deny"}, "agent": {"a": {"permissions": [{"permission": "bash", "pattern": "ls*", "action": "allow"}]}, "b": {"mode": "subagent"}}}`)
	for mode, want := range map[string]obstat.Verdict{"rules": obstat.Deny, "a": obstat.Allow, "b": obstat.Deny, "a>b": obstat.Deny} {
		if got := decide(l, mode, "bash", "ls"); got != want {
			t.Errorf("%s: %v", mode, got)
		}
	}
	if got := decide(l, "a>b", "read", "x"); got != obstat.Ask {
		t.Errorf("what neither speaks of: %v", got)
	}
}

func TestPatternOfHome(t *testing.T) {
	l := load(t, nil, "opencode.json", `{"permission": {"external_directory": {"~/a/*": "allow", "$HOME/b/*": "deny", "*": "ask", "~": "deny"}}}`)
	for value, want := range map[string]obstat.Verdict{"/home/u/a/*": obstat.Ask, "/home/u": obstat.Deny, "/x": obstat.Ask} {
		if got := decide(l, "", "external_directory", value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       dialect.Confidence
	}{
		{"opencode.json", `{}`, dialect.Sure},
		{"/p/opencode.jsonc", `{/**/}`, dialect.Sure},
		{".opencode/config.json", `{"permissions": {"bash": "ask"}}`, dialect.Sure},
		{"x.json", `{"$schema": "https://opencode.ai/config.json"}`, dialect.Sure},
		{"x.json", `{"permission": {"bash": {"rm *": "deny"}}}`, dialect.Sure},
		{"x.json", `{"permissions": {"bash": "ask"}}`, dialect.Maybe},
		{"x.json", `{"permissions": {"allow": ["Bash(ls)"]}}`, dialect.No},
		{"x.json", `{"permissions": {"tools": {"bash": {"*": 1}}}}`, dialect.No},
		{"x.json", `{"permission": {}}`, dialect.No},
		{"x.json", `permission: ask`, dialect.No},
		{".opencode/agent/a.md", "---\nmode: all\n---\n", dialect.Sure},
		{"a.md", "---\npermission:\n  bash: ask\n---\n", dialect.Maybe},
		{"README.md", "# x\n", dialect.No},
	} {
		if got := (Dialect{}).Detect(&dialect.File{Name: tc.name, Data: []byte(tc.data)}); got != tc.want {
			t.Errorf("%s %s: %v, want %v", tc.name, tc.data, got, tc.want)
		}
	}
}

// FuzzConfig: whatever a file holds, loading it does not panic, every problem
// has a place, and what is loaded decides.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{"permission": {"bash": {"*": "ask", "rm *": "deny"}, "*": "allow"}}`, `{"permission": "ask"}`, `{"permissions": [{"permission": "read", "pattern": "**/.git/**", "action": "deny"}]}`,
		`{"permissions": {"read": {"!(a|b)": "allow", "{a,b": "deny"}}}`, `{"tools": {"write": false}, "agent": {"x": {"permission": {"task": {"y": "allow"}}}}}`,
		"---\npermission:\n  bash: ask\n---\nx {file:a.md}", `{"permission": {"0": "deny", "10": "ask", "02": "allow"}}`, "\ufeff{}", `{"mode": {"a": {"tools": {}}}}`, "---\n---\n",
	} {
		f.Add(s, false, true)
		f.Add(s, true, false)
	}
	f.Fuzz(func(t *testing.T, data string, agent, floor bool) {
		name, options := "opencode.json", map[string]string{}
		if agent {
			name = ".opencode/agent/a.md"
		}
		if !floor {
			options["floor"] = "off"
		}
		in := &dialect.Input{Options: options, Home: "/home/u", Files: []dialect.File{{Name: name, Layer: "user", Data: []byte(data)}}}
		p, errs := (Dialect{}).Load(in)
		for _, e := range errs {
			if e.Pos.Line == 0 || e.Msg == "" {
				t.Errorf("no place: %v", e)
			}
		}
		if errs.Fatal() != nil {
			return
		}
		for _, e := range (Dialect{}).Lint(in, p) {
			if e.Pos.Line == 0 || !e.Warning {
				t.Errorf("lint: %v", e)
			}
		}
		l, err := dialect.Load(Dialect{}, in)
		if err != nil {
			t.Fatalf("loaded, and does not compile: %v", err)
		}
		call := &obstat.Call{Tool: "bash", Input: json.RawMessage(`{"command":"cd x && rm -rf y > z"}`), Dir: "/p"}
		if d := l.Policy.Decide(call, nil); len(d.Faults) > 0 {
			t.Errorf("a fault: %s", d.Reason())
		}
	})
}

func TestPlaces(t *testing.T) {
	env := map[string]string{"OPENCODE_CONFIG": "/x/c.json", "OPENCODE_CONFIG_CONTENT": `{"permission": "ask"}`, "OPENCODE_PERMISSION": `{"bash": "deny"}`, "OPENCODE_CONFIG_DIR": "/y"}
	var got []string
	places, err := Dialect{}.Places(&dialect.Where{Dir: "/w/a", Home: "/home/u", Machine: "/m", Getenv: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		if !p.Glob {
			got = append(got, fmt.Sprintf("%s %v %s%s", p.Layer, p.Env != "", p.Name, p.Data))
		}
	}
	want := `user false /home/u/.config/opencode/config.json
user false /home/u/.config/opencode/opencode.json
user false /home/u/.config/opencode/opencode.jsonc
user true /x/c.json
project false /w/a/.opencode/config.json
project false /w/a/opencode.json
project false /w/a/opencode.jsonc
project false /w/a/.opencode/opencode.json
project false /w/a/.opencode/opencode.jsonc
user false /home/u/.opencode/opencode.json
user false /home/u/.opencode/opencode.jsonc
user true /y/opencode.json
user true /y/opencode.jsonc
user true $OPENCODE_CONFIG_CONTENT{"permission": "ask"}
managed false /m/etc/opencode/opencode.json
managed false /m/etc/opencode/opencode.jsonc
user true $OPENCODE_PERMISSION{"permission": {"bash": "deny"}}`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s", s)
	}
	places, _ = Dialect{}.Places(&dialect.Where{Getenv: func(string) string { return "" }})
	for _, p := range places {
		if p.Layer != dialect.LayerManaged {
			t.Errorf("neither a project nor a home: %s", p.Name)
		}
	}
}
