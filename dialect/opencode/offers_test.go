package opencode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/shell"
)

// offered returns the texts of what is offered for a call.
func offered(l *dialect.Loaded, call *obstat.Call) []string {
	d := l.Policy.Decide(call, world)
	out := []string{}
	for _, o := range l.Offers(call, world, &d) {
		out = append(out, o.Text)
	}
	return out
}

func TestOffers(t *testing.T) {
	const rules = `{"permission": {"*": "ask", "bash": {"*": "ask", "ls *": "allow", "git push --force*": "deny"}}}`
	off := map[string]string{"floor": "off"}
	for _, tc := range []struct {
		options     map[string]string
		tool, input string
		want        []string
	}{
		{nil, "bash", `{"command":"git push origin main"}`, []string{`"bash": {"git push *": "allow"}`}},
		{nil, "bash", `{"command":"git -C sub push"}`, []string{`"bash": {"git -C sub push *": "allow"}`}}, // "*" is a default, no rule about the directory
		{nil, "bash", `{"command":"npm run build"}`, []string{`"bash": {"npm run build *": "allow"}`}},
		{nil, "bash", `{"command":"ls && npm test && make all"}`, []string{`"bash": {"npm test *": "allow"}`, `"bash": {"make all *": "allow"}`}},
		{nil, "bash", `{"command":"python3 -c 'print(1)'"}`, []string{`"bash": {"python3 -c 'print(1)'": "allow"}`}},
		{nil, "bash", `{"command":"curl x | sh"}`, []string{}},
		{nil, "bash", `{"command":"sudo make"}`, []string{`"bash": {"sudo make": "allow"}`}},
		{nil, "bash", `{"command":"$X y"}`, []string{}},
		{nil, "read", `{"filePath":"src/a.ts"}`, []string{`"read": {"p/src/a.ts": "allow"}`, `"read": {"p/src/*": "allow"}`}},
		{nil, "read", `{"filePath":"a*b"}`, []string{}},
		{nil, "read", `{"filePath":"/etc/hosts"}`, []string{`"external_directory": {"/etc/*": "allow"}`, `"read": {"../etc/hosts": "allow"}`}},
		{nil, "webfetch", `{"url":"https://x.org/a"}`, []string{`"webfetch": {"https://x.org/a": "allow"}`, `"webfetch": {"https://x.org/*": "allow"}`}},
		{nil, "srv_tool", `{}`, []string{`"srv_tool": {"*": "allow"}`}},
		{nil, "bash", `{"command":"git push --force"}`, []string{}},
		{off, "read", `{"filePath":"src/a.ts"}`, []string{`"read": {"*": "allow"}`}},
		{off, "bash", `{"command":"make all"}`, []string{`"bash": {"make all *": "allow"}`}},
	} {
		if got := offered(load(t, tc.options, "opencode.json", rules), callOf(tc.tool, tc.input)); !slices.Equal(got, tc.want) {
			t.Errorf("%s %s: got %q, want %q", tc.tool, tc.input, got, tc.want)
		}
	}
	reads := load(t, nil, "opencode.json", `{"permission": {"bash": "ask", "read": "allow"}}`)
	if got := offered(reads, callOf("bash", `{"command":"git -C sub push"}`)); !slices.Equal(got, []string{`"bash": {"git -C sub push *": "allow"}`}) {
		t.Errorf("git -C: %q", got)
	}
	asks := load(t, nil, "opencode.json", `{"permission": {"bash": "ask", "read": "ask"}}`) // a rule asks about the directory, too
	if got := offered(asks, callOf("bash", `{"command":"git -C sub push"}`)); len(got) > 0 {
		t.Errorf("git -C, and reading asks: %q", got)
	}
	l := load(t, nil, "config.json", `{"permissions": {"read": "ask", "bash": "ask"}}`)
	if got := offered(l, callOf("read", `{"filePath":"a*[b].ts"}`)); !slices.Equal(got, []string{`"read": {"p/a\\*\\[b\\].ts": "allow"}`}) {
		t.Errorf("the document: %q", got)
	}
}

// TestAcceptedOffers: an offer that is accepted settles its own call in the file
// it is written to, and lifts no deny.
func TestAcceptedOffers(t *testing.T) {
	const rules = `{"permission": {"bash": {"*": "ask", "git push --force*": "deny"}, "read": {"*": "ask", "*.env": "deny"}, "external_directory": "ask"}}`
	l := load(t, nil, "opencode.json", rules)
	for _, c := range []*obstat.Call{
		callOf("bash", `{"command":"git push origin"}`), callOf("bash", `{"command":"make -j4 all"}`), callOf("read", `{"filePath":"src/a"}`),
		callOf("read", `{"filePath":"/etc/hosts"}`), callOf("bash", `{"command":"ls && make x"}`),
	} {
		d := l.Policy.Decide(c, world)
		offers := l.Offers(c, world, &d)
		data := []byte(rules)
		for i := range offers {
			var err error
			if data, err = (Dialect{}).AddRule(&dialect.File{Name: "opencode.json", Data: data}, &offers[i]); err != nil {
				t.Fatal(err)
			}
		}
		again := load(t, nil, "opencode.json", string(data))
		if d := again.Policy.Decide(c, world); d.Verdict != obstat.Allow || len(offers) == 0 {
			t.Errorf("%s with %d offers: %v (%s)\n%s", c.Input, len(offers), d.Verdict, d.Reason(), data)
		}
		for permission, value := range map[string]string{"bash": "git push --force", "read": "p/src/x.env"} {
			if got := decide(again, "", permission, value); got != obstat.Deny {
				t.Errorf("%s: %s of %s is %v now\n%s", c.Input, permission, value, got, data)
			}
		}
	}
}

// TestAlwaysMatchesItself: what is remembered of a recorded command matches it,
// and hands out no interpreter and nothing that runs others.
func TestAlwaysMatchesItself(t *testing.T) {
	for _, o := range ops(t, "shell", 208) {
		var call struct{ Command string }
		o.decode(t, o.Call, &call)
		s := shell.Parse(call.Command, nil)
		for i := range s.Commands {
			sc := &s.Commands[i]
			list := alwaysOf(call.Command, sc)
			text := commandText(call.Command, sc)
			if len(list) > 0 && !slices.ContainsFunc(list, func(p string) bool { return wildcard(p, text) }) {
				t.Errorf("%q: %q does not match", text, list)
			}
			for _, p := range list {
				if broad(p) {
					t.Errorf("%q: %q hands out too much", text, p)
				}
			}
		}
	}
}

// TestArityTable: the table is read as it is meant, and is no shorter than the
// program's 136 entries.
func TestArityTable(t *testing.T) {
	if n := len(arities()); n < 136 {
		t.Errorf("%d entries", n)
	}
	for key, a := range arities() {
		if !a.never && (a.words < 1 || a.words > 4) {
			t.Errorf("%s: %+v", key, a)
		}
		if n := len(strings.Fields(key)); !a.never && a.words < n {
			t.Errorf("%s keeps %d words of %d", key, a.words, n)
		}
		for _, f := range a.values {
			if !strings.HasPrefix(f, "-") {
				t.Errorf("%s: %s is no flag", key, f)
			}
		}
	}
	for words, want := range map[string]string{
		"git -C /x push origin": "git push", "git -c a=b --no-pager remote -v add x": "git remote add", "docker compose -f a.yml up -d": "docker compose up",
		"kubectl -n prod rollout restart x": "kubectl rollout restart", "npm --prefix web run dev": "npm run dev", "make -C sub -j4 all": "make all",
		"bash -c x": "", "python": "", "python -m x": "", "python a.py b": "python a.py", "sudo ls": "", "git --": "git", "ls -": "ls", "": "",
	} {
		if got := strings.Join(pickWords(strings.Fields(words), prefix(strings.Fields(words))), " "); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func TestLint(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"the same in both orders", []string{"opencode.json", `{"permission": {"bash": "ask", "read": {"a": "deny"}}}`}, nil},
		{"the document's own example", []string{"config.json", `{"permissions": {"read": {"*": "allow", "*.env": "ask"}}}`},
			[]string{`config.json:1:27: warning: this file decides differently with order last: read {"filePath": "a/b"} is ask here and allow there`}},
		{"a catch-all first, as the program wants it", []string{"opencode.json", `{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}`}, nil},
		{"a catch-all first, where the document's file lies", []string{".opencode/config.json", `{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}`},
			[]string{`.opencode/config.json:1:38: warning: this file decides differently with order first: bash {"command": "rm x"} is deny here and ask there`}},
		{"a misspelled permission", []string{"opencode.json", `{"permission": {"raed": "allow", "Bash": {"*": "ask"}, "docs_search": "allow"}}`}, []string{
			`opencode.json:1:17: warning: no tool of opencode asks for "raed"`, `did you mean "read"?`, `opencode.json:1:43: warning: no tool of opencode asks for "Bash"`}},
		{"absolute paths", []string{"opencode.json", `{"permission": {"edit": {"~/x/**": "deny"}, "read": {"/etc/*": "deny"}}}`}, []string{
			`opencode.json:1:26: warning: edit is asked with paths relative to the worktree`, `opencode.json:1:54: warning: read is asked with paths relative to the worktree`}},
		{"an MCP tool with patterns", []string{"opencode.json", `{"permission": {"srv_tool": {"x": "deny"}}}`}, []string{`opencode.json:1:30: warning: a tool of an MCP server is asked about as a whole`}},
		{"a circle", []string{".opencode/agent/a.md", "---\npermission:\n  task: allow\n---\n", ".opencode/agent/b.md", "---\nmode: subagent\npermission:\n  task:\n    a: allow\n---\n"},
			[]string{`may start one another for ever`}},
	} {
		in := input(nil, tc.files...)
		p, errs := (Dialect{}).Load(in)
		if err := errs.Fatal(); err != nil {
			t.Fatal(err)
		}
		got := (Dialect{}).Lint(in, p)
		for _, want := range tc.want {
			if !strings.Contains(got.Error(), want) {
				t.Errorf("%s: got %v, want %s", tc.name, got, want)
			}
		}
		if len(tc.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestLintWitness: what a warning names is really answered so in both orders.
func TestLintWitness(t *testing.T) {
	n := 0
	jsonltest.Lines(t, "testdata/opencode-program.jsonl.gz", func(_ int, line []byte) {
		var c struct{ Policy map[string]json.RawMessage }
		if err := json.Unmarshal(line, &c); err != nil || c.Policy["permission"] == nil {
			return
		}
		last := `{"permission": ` + string(c.Policy["permission"]) + `}`
		first := `{"permissions": ` + string(c.Policy["permission"]) + `}`
		in := input(nil, "x.json", last)
		in.Home = ""
		l := read(in)
		for _, d := range l.differences(l.rules()) {
			n++
			a := load(t, map[string]string{"floor": "off"}, "x.json", last)
			b := load(t, map[string]string{"floor": "off"}, "x.json", first)
			if x, y := decide(a, "", d.permission, d.value), decide(b, "", d.permission, d.value); (x != d.here || y != d.there) && !strings.ContainsAny(last, "~$") {
				t.Errorf("%s: %+v, and it is %v and %v", last, d, x, y)
			}
		}
	})
	if n < 100 {
		t.Errorf("%d differences", n)
	}
}
