package codex_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/codex"
)

func load(t testing.TB, options map[string]string, files ...string) (*dialect.Loaded, error) {
	t.Helper()
	in := &dialect.Input{Options: options}
	for _, text := range files {
		name, layer := "default.rules", dialect.LayerProject
		if !strings.Contains(text, "_rule(") && !strings.Contains(text, "_executable(") {
			name, layer = "requirements.toml", dialect.LayerManaged
		}
		in.Files = append(in.Files, dialect.File{Name: name, Layer: layer, Data: []byte(text)})
	}
	return dialect.Load(codex.Dialect{}, in)
}

func must(t testing.TB, files ...string) *dialect.Loaded {
	t.Helper()
	l, err := load(t, nil, files...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func bash(command string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &obstat.Call{Tool: "Bash", Input: input, Dir: "/p", Roots: []string{"/p"}}
}

const rules = `prefix_rule(pattern=["git", ["log", "show"]])
prefix_rule(pattern=["git", "push"], decision="forbidden", justification="ask a colleague")
prefix_rule(pattern=["npm", "run"], decision="allow")
prefix_rule(pattern=["npm", "run", "deploy"], decision="prompt")
network_rule(host="good.example", protocol="https", decision="allow")
network_rule(host="bad.example", protocol="https", decision="deny")
`

func TestRules(t *testing.T) {
	l := must(t, rules)
	for _, tt := range []struct {
		call *obstat.Call
		want obstat.Verdict
	}{
		{bash("git log -1"), obstat.Allow},
		{bash("git log -1 && npm run x | git show"), obstat.Allow},
		{bash("git push"), obstat.Deny},
		{bash("git log; git push origin"), obstat.Deny},
		{bash("git push > log"), obstat.Deny},
		{bash("env X=1 git push"), obstat.Deny},
		{bash("bash -c 'git push'"), obstat.Deny},
		{bash("npm run deploy"), obstat.Ask},
		{bash("npm run x > log"), obstat.Ask}, // it is not plain
		{bash("npm run $X"), obstat.Ask},
		{bash("npm run x && touch y"), obstat.Ask},
		{bash("git logs"), obstat.Ask},
		{bash("ls -la"), obstat.Allow}, // changes nothing
		{bash("cat ~/.ssh/id_rsa"), obstat.Ask},
		{bash("curl https://bad.example/x"), obstat.Deny},
		{bash("git log ("), obstat.Ask},
		{&obstat.Call{Tool: "WebFetch", Input: []byte(`{"url":"https://GOOD.example:443/x"}`)}, obstat.Allow},
		{&obstat.Call{Tool: "WebFetch", Input: []byte(`{"url":"https://other.example/x"}`)}, obstat.Ask},
		{&obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"/p/x"}`), Dir: "/p"}, obstat.Ask},
		{&obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"/p/x"}`), Dir: "/p", Agent: "codex"}, obstat.Allow},
		{&obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"/p/.git/hooks/x"}`), Dir: "/p", Agent: "codex"}, obstat.Ask},
		{&obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"/etc/x"}`), Dir: "/p", Agent: "codex"}, obstat.Ask},
		{&obstat.Call{Tool: "update_plan", Input: []byte(`{}`), Dir: "/p"}, obstat.Allow},
		{&obstat.Call{Tool: "Bash", Input: []byte(`{"command":1}`)}, obstat.Ask},
	} {
		if d := l.Policy.Decide(tt.call, nil); d.Verdict != tt.want {
			t.Errorf("%s %s: %v, want %v: %s", tt.call.Tool, tt.call.Input, d.Verdict, tt.want, d.Reason())
		}
	}
	if d := l.Policy.Decide(bash("git push"), nil); !strings.Contains(d.Reason(), "ask a colleague") || d.Rule.Pos.Line != 2 {
		t.Errorf("%s", d.Reason())
	}
}

// TestModes: what no rule is about, and what a rule asks about, hangs on the approval policy.
func TestModes(t *testing.T) {
	for mode, want := range map[string]string{"untrusted": "ask ask ask", "on-request": "allow ask ask", "never": "allow deny deny", "": "allow ask ask"} {
		l, err := load(t, map[string]string{"approval": mode}, rules)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range []string{"ls", "touch x", "npm run deploy"} {
			got = append(got, l.Policy.Decide(bash(c), nil).Verdict.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", mode, got, want)
		}
	}
}

// TestRequirements: they only tighten, and say which modes there are.
func TestRequirements(t *testing.T) {
	l := must(t, rules, "allowed_approval_policies = [\"untrusted\"]\nallowed_sandbox_modes = [\"read-only\"]\n[rules]\nprefix_rules = [\n  { pattern = [{ token = \"git\" }, { any_of = [\"show\", \"diff\"] }], decision = \"forbidden\", justification = \"no\" },\n]\n")
	for _, mode := range []obstat.Mode{"", "never", "on-request"} {
		for command, want := range map[string]obstat.Verdict{"git log": obstat.Allow, "git show": obstat.Deny, "git diff x": obstat.Deny, "ls": obstat.Ask} {
			c := bash(command)
			c.Mode = mode
			if d := l.Policy.Decide(c, nil); d.Verdict != want {
				t.Errorf("%s in %q: %v, want %v: %s", command, mode, d.Verdict, want, d.Reason())
			}
		}
	}
	write := &obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"/p/x"}`), Dir: "/p", Agent: "codex"}
	if d := must(t, rules, "allowed_sandbox_modes = [\"read-only\"]\n").Policy.Decide(write, nil); d.Verdict != obstat.Ask {
		t.Errorf("%v: %s", d.Verdict, d.Reason())
	}
}

// TestMistakes: each is reported where it is, all at once, and none loads.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`prefix_rule(patern=["git"])`, `1:20 unknown-key did you mean "pattern"?`},
		{"\n" + `prefix_rule(pattern=["git"], decision="alow")`, `2:39 bad-value did you mean "allow"?`},
		{`prefix_rule(pattern="git")`, "1:21 wrong-type"},
		{`prefix_rule(pattern=[])`, "1:21 missing"},
		{`prefix_rule(pattern=["git", 1])`, "1:21 wrong-type"},
		{`prefix_rule(pattern=["git", []])`, "1:21 wrong-type"},
		{`prefix_rule(decision="allow")`, "1:1 missing"},
		{`prefix_rule(pattern=["git"], justification=" ")`, "1:44 bad-value"},
		{`prefix_rule(pattern=["git"], match=["npm x"])`, "1:1 conflict"},
		{`prefix_rule(pattern=["git"], not_match=["git x"])`, "1:1 conflict"},
		{`prefix_rule(pattern=["git"], match=["git 'x"])`, "1:36 bad-value"},
		{`network_rule(host="*.example", protocol="https", decision="allow")`, "1:19 bad-value"},
		{`network_rule(host="x", protocol="htps", decision="allow")`, `1:33 bad-value did you mean "https"?`},
		{`host_executable(name="git", paths=["bin/git"])`, "1:35 bad-value"},
		{`prefix_rul(pattern=["git"])  # prefix_rule(`, "1:1 unknown-name"},
		{"prefix_rule(pattern=[\"git\"]\n", "2:1 syntax"},
		{"load('x.bzl', 'y')  # prefix_rule(", "1:1 syntax"},
		{"while True:\n    pass  # prefix_rule(", "1:1 unknown-name"},
		{`prefix_rule(pattern=[f"{x}"])`, "1:28 syntax obstat reads no f-strings"},
		{"def f():\n    f()\nf()  # prefix_rule(", "2:5 bad-value"},
		{"for i in range(1000000):\n    x = i  # prefix_rule(", "1:1 too-large"},
		{"x = 'a'\nfor i in range(60):\n    x = x + x  # prefix_rule(", "3:11 too-large"},
		{"x = 'a' * 1000000000  # prefix_rule(", "1:5 syntax"},
		{"x = [1]\nfor i in range(60):\n    x = [x, x]\ny = str(x)  # prefix_rule(", "4:5 syntax"},
		{"x = {}  # prefix_rule(", "1:5 syntax"},
		{"prefix_rule(pattern=['git', x])", "1:29 unknown-name"},
		{"# prefix_rule(\n" + strings.Repeat("# long\n", 1_300_000), "1:1 too-large"},
		{"# x\nallowed_approval_polices = ['never']", `2:1 unknown-key did you mean "allowed_approval_policies"?`},
		{"allowed_approval_policies = ['always']", "1:30 bad-value"},
		{"allowed_approval_policies = []", "1:29 missing"},
		{"allowed_sandbox_modes = ['readonly']", `1:26 bad-value did you mean "read-only"?`},
		{"[rules]\nprefix_rules = [{ pattern = [{ token = 'rm' }], decision = 'allow' }]", "2:60 bad-value"},
		{"[rules]\nprefix_rules = [{ pattern = [{ token = 'rm', any_of = ['x'] }], decision = 'prompt' }]", "2:30 conflict"},
		{"[rules]\nprefix_rules = [{ pattern = [], decision = 'prompt' }]", "2:29 missing"},
		{"rules = 1\n", "1:9 wrong-type"},
		{"a = \n", "1:5 syntax"},
	} {
		_, err := load(t, nil, tt.text)
		errs, _ := err.(obstat.Errors)
		var got []string
		for _, e := range errs {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%d %s %s", e.Pos.Line, e.Pos.Col, e.Code, e.Hint)))
		}
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, tt.want) }) {
			t.Errorf("%.80q\n got %v (%v)\nwant %s", tt.text, got, err, tt.want)
		}
	}
	_, err := load(t, nil, "prefix_rule(pattern=[])\nprefix_rule(pattern=['x'], decision='no')\nprefix_rule(pattern=['y'], wrong=1)\n")
	if errs, _ := err.(obstat.Errors); len(errs) != 3 {
		t.Errorf("%v", err)
	}
}

// TestAddRule: an accepted offer is a line at the end, settles its call, and is not written
// twice.
func TestAddRule(t *testing.T) {
	l := must(t, rules)
	call := bash("cargo test --all 'a b' && make")
	d := l.Policy.Decide(call, nil)
	offers := l.Offers(call, nil, &d)
	var texts []string
	for _, o := range offers {
		texts = append(texts, o.Text)
	}
	if !slices.Contains(texts, `prefix_rule(pattern=["cargo", "test"], decision="allow")`) || !slices.Contains(texts, `prefix_rule(pattern=["make"], decision="allow")`) {
		t.Fatalf("%q", texts)
	}
	f := &l.Input.Files[0]
	f.Data = []byte(strings.TrimSuffix(rules, "\n"))
	for range 2 {
		for i := range offers {
			text, err := (codex.Dialect{}).AddRule(f, &offers[i])
			if err != nil || !strings.HasPrefix(string(text), rules) || strings.Count(string(text), offers[i].Text+"\n") != 1 {
				t.Fatalf("%q, %v", text, err)
			}
			f.Data = text
		}
	}
	if d := must(t, string(f.Data)).Policy.Decide(call, nil); d.Verdict != obstat.Allow {
		t.Errorf("%v: %s", d.Verdict, d.Reason())
	}
	for _, command := range []string{"npm run deploy", "bash -c x", "python3 x.py"} {
		d := l.Policy.Decide(bash(command), nil)
		if offers := l.Offers(bash(command), nil, &d); len(offers) > 0 && command != "python3 x.py" {
			t.Errorf("%s: %v", command, offers[0].Text)
		}
	}
	if _, err := (codex.Dialect{}).AddRule(&dialect.File{Name: "/etc/codex/requirements.toml"}, &offers[0]); err == nil {
		t.Error("requirements were written")
	}
}

// TestPlaces: the machine's rules, the user's, the project's, and the requirements.
func TestPlaces(t *testing.T) {
	env := map[string]string{}
	w := &dialect.Where{Dir: "/p", Home: "/home/u", Getenv: func(n string) string { return env[n] }}
	names := func() (out []string) {
		places, err := codex.Dialect{}.Places(w)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range places {
			out = append(out, p.Layer+" "+filepath.ToSlash(p.Name))
		}
		return out
	}
	want := []string{"managed /etc/codex/rules/*.rules", "user /home/u/.codex/rules/*.rules", "project /p/.codex/rules/*.rules", "managed /etc/codex/requirements.toml"}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	env["CODEX_HOME"] = "/cx"
	if got := names(); got[1] != "user /cx/rules/*.rules" {
		t.Errorf("%q", got)
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       dialect.Confidence
	}{
		{"/p/.codex/rules/x.rules", "", dialect.Sure},
		{"x.rules", "prefix_rule(pattern=['x'])", dialect.Sure},
		{"x.rules", "-a always,exit", dialect.No}, // auditd's
		{"x.star", "prefix_rule(pattern=['x'])", dialect.Maybe},
		{"requirements.toml", "allowed_sandbox_modes = []", dialect.Sure},
		{"requirements.toml", "[project]", dialect.No},
		{"/etc/codex/requirements.toml", "[", dialect.Sure},
	} {
		if got := (codex.Dialect{}).Detect(&dialect.File{Name: tt.name, Data: []byte(tt.text)}); got != tt.want {
			t.Errorf("%s %q: %v", tt.name, tt.text, got)
		}
	}
}

// FuzzLoad: no file of rules panics, and every problem has a place.
func FuzzLoad(f *testing.F) {
	f.Add(rules)
	f.Add("for x in ['a']:\n  prefix_rule(pattern=[x, ['b', 'c']], decision='prompt', match=['a b'])\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := dialect.Load(codex.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "x.rules", Data: []byte(text)}}})
		errs, _ := err.(obstat.Errors)
		for _, e := range errs {
			if !e.Pos.IsValid() || e.Pos.Line < 1 {
				t.Errorf("%q: no place: %v", text, e)
			}
		}
	})
}

// FuzzAddRule: where a file loads, it loads with the rule in it, and nothing else has changed.
func FuzzAddRule(f *testing.F) {
	f.Add(rules)
	f.Add("# no end of line")
	f.Add("prefix_rule(\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := &dialect.File{Name: "x.rules", Data: []byte(text)}
		offer := &obstat.Offer{Text: `prefix_rule(pattern=["added", "a b"], decision="allow")`}
		out, err := (codex.Dialect{}).AddRule(file, offer)
		if err != nil || !strings.HasPrefix(string(out), text) {
			t.Fatalf("%q: %q, %v", text, out, err)
		}
		if again, err := (codex.Dialect{}).AddRule(&dialect.File{Name: "x.rules", Data: out}, offer); err != nil || string(again) != string(out) {
			t.Errorf("%q: twice: %q, %v", text, again, err)
		}
		if _, err := load(t, nil, text+"\n# prefix_rule("); err != nil {
			return
		}
		l, err := load(t, nil, string(out))
		if err != nil && !strings.Contains(text, "added") && !strings.Contains(text, "\\") && !strings.ContainsAny(text, "\"'(") {
			t.Errorf("%q does not load with the rule: %v", text, err)
		}
		if err == nil && l.Policy.Decide(bash("added 'a b' c"), nil).Verdict != obstat.Allow && !strings.Contains(text, "added") {
			t.Errorf("%q: the rule does not hold", out)
		}
	})
}
