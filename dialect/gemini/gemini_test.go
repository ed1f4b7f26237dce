package gemini_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/gemini"
)

func load(t testing.TB, options map[string]string, text string) (*dialect.Loaded, error) {
	t.Helper()
	return dialect.Load(gemini.Dialect{}, &dialect.Input{Options: options, Home: "/home/u", Files: []dialect.File{{Name: "/home/u/.gemini/policies/u.toml", Layer: dialect.LayerUser, Data: []byte(text)}}})
}

func must(t testing.TB, text string) *dialect.Loaded {
	t.Helper()
	l, err := load(t, nil, text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func call(tool string, kv ...string) *obstat.Call {
	args := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		args[kv[i]] = kv[i+1]
	}
	input, _ := json.Marshal(args)
	return &obstat.Call{Tool: tool, Input: input, Dir: "/p", Roots: []string{"/p"}}
}

func sh(command string) *obstat.Call { return call("run_shell_command", "command", command) }

const policy = `# mine
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git", "npm test", "touch"]
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 200
denyMessage = "ask a colleague"

[[rule]]
toolName = ["read_file", "write_file", "replace"]
argsPattern = '"file_path":"[^"]*\.env"'
decision = "deny"
priority = 900

[[rule]]
toolName = "write_file"
argsPattern = '"file_path":"src/'
decision = "allow"
priority = 100

[[rule]]
mcpName = "github"
toolName = "*"
decision = "allow"
priority = 100

[[rule]]
mcpName = "github"
toolName = "delete_repo"
decision = "deny"
priority = 200
`

func TestRules(t *testing.T) {
	l := must(t, policy)
	for _, tt := range []struct {
		call *obstat.Call
		want obstat.Verdict
	}{
		{sh("git log"), obstat.Allow},
		{sh("git push origin"), obstat.Deny},
		{sh("gitx"), obstat.Ask},
		{sh("git log && npm test"), obstat.Allow},
		{sh("git log; git push"), obstat.Deny},
		{sh("env X=1 git push"), obstat.Deny}, // the floor
		{sh("touch x"), obstat.Allow},
		{sh("touch x > y"), obstat.Ask},
		{sh("touch .env"), obstat.Deny},
		{sh("git log $(cat .env)"), obstat.Deny},
		{sh("ls -la"), obstat.Allow}, // known safe
		{sh("rm x"), obstat.Ask},
		{sh("git log ("), obstat.Ask},
		{call("Bash", "command", "git push"), obstat.Deny}, // other agents' names
		{call("Bash", "command", "git log"), obstat.Allow},
		{call("mcp_exec_command", "command", "git push"), obstat.Deny}, // JiuwenSwarm's shell
		{call("Read", "file_path", "/p/.env"), obstat.Deny},
		{call("edit", "filePath", "a/.env"), obstat.Deny},
		{call("read_file", "path", ".env"), obstat.Deny}, // Cline's
		{call("apply_patch", "command", "*** Begin Patch\n*** Update File: src/x\n*** Delete File: .env\n*** End Patch"), obstat.Deny},
		{call("read_file", "file_path", "x"), obstat.Allow},
		{call("write_file", "file_path", "src/x"), obstat.Allow},
		{call("write_file", "file_path", "src/../../etc/x"), obstat.Ask},
		{call("write_file", "file_path", "src/package.json"), obstat.Ask},
		{call("write_file", "file_path", "lib/x"), obstat.Ask},
		{call("mcp__github__list"), obstat.Allow},
		{call("mcp_github_list"), obstat.Allow},
		{call("mcp__github__delete_repo"), obstat.Deny},
		{call("mcp__other__list"), obstat.Ask},
		{call("Task", "subagent_type", "x"), obstat.Allow},
		{&obstat.Call{Tool: "run_shell_command", Input: []byte(`{"command":1}`)}, obstat.Ask},
		{&obstat.Call{Tool: "run_shell_command", Input: []byte(`[]`)}, obstat.Deny},
	} {
		if d := l.Policy.Decide(tt.call, nil); d.Verdict != tt.want {
			t.Errorf("%s %s: %v, want %v: %s", tt.call.Tool, tt.call.Input, d.Verdict, tt.want, d.Reason())
		}
	}
	if d := l.Policy.Decide(sh("git push"), nil); !strings.Contains(d.Reason(), "ask a colleague") || d.Rule.Pos.Line != 8 {
		t.Errorf("%s", d.Reason())
	}
}

// TestModes: what Gemini CLI brings along, in each mode, with a person to ask and without.
func TestModes(t *testing.T) {
	for mode, want := range map[string]string{
		"default yes": "ask ask allow", "default no": "deny deny allow", "autoEdit yes": "ask allow allow", "plan yes": "deny deny allow", "yolo yes": "allow allow allow",
	} {
		m, inter, _ := strings.Cut(mode, " ")
		l, err := load(t, map[string]string{"mode": m, "interactive": inter}, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range []*obstat.Call{sh("make"), call("write_file", "file_path", "x"), call("read_file", "file_path", "x")} {
			got = append(got, l.Policy.Decide(c, nil).Verdict.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", mode, got, want)
		}
	}
	l, _ := load(t, map[string]string{"mode": "autoEdit"}, "")
	if d := l.Policy.Decide(call("write_file", "file_path", "/etc/x"), nil); d.Verdict != obstat.Deny {
		t.Errorf("outside of the workspace: %v: %s", d.Verdict, d.Reason())
	}
}

// TestStrict: what obstat cannot look at makes a rule strict, with a warning at its place.
func TestStrict(t *testing.T) {
	for _, tt := range []struct {
		keys, decision string
		want           obstat.Verdict
		warning        string
	}{
		{`argsPattern = '(a)\1'`, "deny", obstat.Deny, "3:15"},
		{`argsPattern = '(a)\1'`, "allow", obstat.Ask, "3:15"},
		{`subagent = "x"`, "deny", obstat.Deny, "3:12"},
		{`subagent = "x"`, "allow", obstat.Ask, "3:12"},
		{`toolAnnotations = { readOnlyHint = true }`, "ask_user", obstat.Ask, "3:19"},
	} {
		l := must(t, fmt.Sprintf("[[rule]]\ntoolName = \"run_shell_command\"\n%s\ndecision = %q\npriority = 100\n", tt.keys, tt.decision))
		if d := l.Policy.Decide(sh("make"), nil); d.Verdict != tt.want {
			t.Errorf("%s %s: %v: %s", tt.keys, tt.decision, d.Verdict, d.Reason())
		}
		if !slices.ContainsFunc(l.Warnings, func(e *obstat.Error) bool { return fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col) == tt.warning }) {
			t.Errorf("%s: %v", tt.keys, l.Warnings)
		}
	}
	l := must(t, "[[safety_checker]]\ntoolName = \"read_file\"\nchecker = { type = \"external\", name = \"scan\" }\n")
	if d := l.Policy.Decide(call("read_file", "file_path", "x"), nil); d.Verdict != obstat.Ask {
		t.Errorf("an external checker: %v: %s", d.Verdict, d.Reason())
	}
}

// TestMistakes: each is reported where it is, and none loads.
func TestMistakes(t *testing.T) {
	head := "[[rule]]\ntoolName = \"run_shell_command\"\n"
	for _, tt := range []struct{ text, want string }{
		{head + "decision = \"alow\"\npriority = 1\n", `3:12 bad-value did you mean "allow"?`},
		{head + "decision = \"allow\"\n", "1:1 missing"},
		{head + "decison = \"allow\"\npriority = 1\n", `3:1 unknown-key did you mean "decision"?`},
		{head + "decision = \"allow\"\npriority = \"1\"\n", "4:12 wrong-type"},
		{head + "decision = \"allow\"\npriority = 1.5\n", "4:12 bad-value"},
		{head + "decision = \"allow\"\npriority = 1000\n", "4:12 bad-value"},
		{head + "decision = \"allow\"\npriority = 1\nmodes = [\"auto_edit\"]\n", `5:10 bad-value did you mean "autoEdit"?`},
		{head + "commandRegex = 'git ('\ndecision = \"ask_user\"\npriority = 1\n", "3:22 bad-pattern"},
		{head + "commandRegex = 'a**'\ndecision = \"deny\"\npriority = 1\n", "3:19 bad-pattern"},
		{head + "argsPattern = '(a+)+'\ndecision = \"deny\"\npriority = 1\n", "3:15 bad-pattern"},
		{head + "argsPattern = '[b-a]'\ndecision = \"deny\"\npriority = 1\n", "3:19 bad-pattern"},
		{head + "argsPattern = 'x'\ncommandPrefix = 'x'\ndecision = \"deny\"\npriority = 1\n", "3:15 conflict"},
		{"[[rule]]\ntoolName = \"glob\"\ncommandPrefix = 'x'\ndecision = \"deny\"\npriority = 1\n", "2:12 conflict"},
		{"[[rule]]\ntoolName = \"\"\ndecision = \"deny\"\npriority = 1\n", "2:12 bad-value"},
		{"[[rules]]\ntoolName = \"glob\"\n", `1:3 unknown-key did you mean "rule"?`},
		{"[[rule]]\ntoolName = 1\ndecision = \"deny\"\npriority = 1\n", "2:12 wrong-type"},
		{"[[safety_checker]]\ntoolName = \"*\"\nchecker = { type = \"in-proces\", name = \"x\" }\n", "3:20 bad-value"},
		{"[[safety_checker]]\ntoolName = \"*\"\nchecker = { type = \"in-process\", name = \"allowed-paths\" }\n", `3:41 bad-value did you mean "allowed-path"?`},
		{"rule = 1\n", "1:8 wrong-type"},
		{"[[rule]\n", "1:7 syntax"},
	} {
		_, err := load(t, nil, tt.text)
		errs, _ := err.(obstat.Errors)
		var got []string
		for _, e := range errs {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%d %s %s", e.Pos.Line, e.Pos.Col, e.Code, e.Hint)))
		}
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, tt.want) }) {
			t.Errorf("%q\n got %v (%v)\nwant %s", tt.text, got, err, tt.want)
		}
	}
}

// TestDroppedAllow: a rule that allows by an expression which Gemini CLI drops, or cannot read, is skipped with a
// warning at its place, and the other rules count; one that asks or denies is an error (TestMistakes).
func TestDroppedAllow(t *testing.T) {
	const others = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git push\"\ndecision = \"deny\"\npriority = 5\n" +
		"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\ndecision = \"allow\"\npriority = 5\n"
	for expression, want := range map[string]string{`(a+)+`: "13:16", `git (`: "13:22", strings.Repeat("a", 2049): "13:16"} {
		l := must(t, others+"[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = '"+expression+"'\ndecision = \"allow\"\npriority = 9\n")
		var at []string
		for _, w := range l.Warnings {
			at = append(at, fmt.Sprintf("%d:%d", w.Pos.Line, w.Pos.Col))
		}
		if !slices.Contains(at, want) {
			t.Errorf("%.20s: warnings at %v, want %s", expression, at, want)
		}
		for command, want := range map[string]obstat.Verdict{"aa": obstat.Ask, "make": obstat.Allow, "git push": obstat.Deny} {
			if d := l.Policy.Decide(sh(command), nil); d.Verdict != want {
				t.Errorf("%.20s: %s: %v, want %v: %s", expression, command, d.Verdict, want, d.Reason())
			}
		}
	}
}

// TestExpressions: JavaScript's meaning where Python's differs, over the arguments of a call.
func TestExpressions(t *testing.T) {
	for _, tt := range []struct {
		re, text string
		want     bool
	}{
		{`^a$`, "a", true}, {`^a$`, "a\n", false}, {`a.b`, "a\nb", false}, {`a.b`, "a\u2028b", false}, {`a[^]b`, "a\nb", true}, {`a[\s\S]b`, "a\nb", true}, {`[]`, "a", false},
		{`^\d$`, "٣", false}, {`^\w$`, "é", false}, {`^\s$`, "\u00a0", true}, {`^\S$`, "\ufeff", false}, {`a{,2}`, "a{,2}", true}, {`a{,2}b`, "aab", false}, {`x{`, "x{", true}, {`]`, "]", true},
		{`\/`, "/", true}, {`\-`, "-", true}, {`\e`, "e", true}, {`\x41\u0042\t`, "AB\t", true}, {`\x4`, "x4", true}, {`\0`, "\x00", true}, {`[\w-]+$`, "a-b", true}, {`[a\-z]`, "b", false}, {`[^a-c]`, "b", false},
		{`(?<n>a)b`, "ab", true}, {`a(?=b)`, "ac", false}, {`(?<!x)a`, "xa", false}, {`a{2}`, "aa", true}, {`a+?b`, "aab", true}, {`[&&]`, "&", true}, {`\bfoo\b`, "a foo b", true}, {`#a b`, "#a b", true},
	} {
		got, err := gemini.MatchJS(tt.re, tt.text)
		if err != nil || got != tt.want {
			t.Errorf("/%s/ on %q: %v, %v", tt.re, tt.text, got, err)
		}
	}
	for _, re := range []string{`(`, `)`, `[`, `a**`, `*a`, `a++`, `(?i:a)`, `\`, `[b-a]`, `a{2,1}`, `^*`, `(?<>a)`} {
		if got, err := gemini.MatchJS(re, "a"); err == nil {
			t.Errorf("/%s/ is taken: %v", re, got)
		}
	}
}

// TestAddRule: an accepted offer is a table at the end, settles its call, and is not written
// twice.
func TestAddRule(t *testing.T) {
	for _, c := range []*obstat.Call{sh("cargo test --all 'a b' && make"), call("mcp__other__list"), call("write_file", "file_path", `lib/a"b.txt`)} {
		l := must(t, policy)
		d := l.Policy.Decide(c, nil)
		offers := l.Offers(c, nil, &d)
		if len(offers) == 0 {
			t.Errorf("%s %s: no offer", c.Tool, c.Input)
			continue
		}
		f := &l.Input.Files[0]
		for range 2 {
			for i := range offers {
				text, err := (gemini.Dialect{}).AddRule(f, &offers[i])
				if err != nil || !strings.HasPrefix(string(text), policy) {
					t.Fatalf("%q, %v", text, err)
				}
				f.Data = text
			}
		}
		if n := strings.Count(string(f.Data), "[[rule]]") - strings.Count(policy, "[[rule]]"); n != len(offers) {
			t.Errorf("%d tables for %d offers:\n%s", n, len(offers), f.Data)
		}
		if d := must(t, string(f.Data)).Policy.Decide(c, nil); d.Verdict != obstat.Allow {
			t.Errorf("%s: %v: %s\n%s", c.Input, d.Verdict, d.Reason(), f.Data)
		}
	}
}

// TestPlaces: extensions, the project, the user, the administrator.
func TestPlaces(t *testing.T) {
	places, err := gemini.Dialect{}.Places(&dialect.Where{Dir: "/p", Home: "/home/u"})
	var got []string
	for _, p := range places {
		got = append(got, p.Layer+" "+filepath.ToSlash(p.Name))
	}
	if want := []string{"user /home/u/.gemini/extensions/*/policies/*.toml", "project /p/.gemini/policies/*.toml", "user /home/u/.gemini/policies/*.toml"}; err != nil || !slices.Equal(got[:3], want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTiers: a higher tier decides whatever the priorities are; an extension only tightens.
func TestTiers(t *testing.T) {
	rule := func(decision string, priority int) []byte {
		return fmt.Appendf(nil, "[[rule]]\ntoolName = \"glob\"\ndecision = %q\npriority = %d\n", decision, priority)
	}
	for _, tt := range []struct {
		files []dialect.File
		want  obstat.Verdict
	}{
		{[]dialect.File{{Name: "/p/.gemini/policies/w.toml", Layer: dialect.LayerProject, Data: rule("deny", 999)}, {Name: "/home/u/.gemini/policies/u.toml", Layer: dialect.LayerUser, Data: rule("ask_user", 0)}}, obstat.Ask},
		{[]dialect.File{{Name: "/etc/gemini-cli/policies/a.toml", Layer: dialect.LayerManaged, Data: rule("deny", 0)}, {Name: "/home/u/.gemini/policies/u.toml", Layer: dialect.LayerUser, Data: rule("allow", 999)}}, obstat.Deny},
		{[]dialect.File{{Name: "/home/u/.gemini/extensions/x/policies/e.toml", Layer: dialect.LayerUser, Data: append(rule("allow", 999), rule("ask_user", 1)...)}}, obstat.Ask},
	} {
		l, err := dialect.Load(gemini.Dialect{}, &dialect.Input{Home: "/home/u", Files: tt.files})
		if err != nil {
			t.Fatal(err)
		}
		if d := l.Policy.Decide(call("glob", "pattern", "x"), nil); d.Verdict != tt.want {
			t.Errorf("%s: %v: %s", tt.files[0].Name, d.Verdict, d.Reason())
		}
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       dialect.Confidence
	}{
		{"/p/.gemini/policies/x.toml", "[", dialect.Sure}, {"/etc/gemini-cli/policies/a.toml", "", dialect.Sure}, {"x.toml", policy, dialect.Maybe}, {"x.toml", "a = 1", dialect.No}, {"x.json", policy, dialect.No},
	} {
		if got := (gemini.Dialect{}).Detect(&dialect.File{Name: tt.name, Data: []byte(tt.text)}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// FuzzLoad: no policy panics, and every problem has a place.
func FuzzLoad(f *testing.F) {
	f.Add(policy)
	f.Add("[[rule]]\ntoolName = ['a', '*']\nargsPattern = '[\\w-]+(?=x){2,}'\ndecision = 'deny'\npriority = 5\nmodes = ['plan']\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := dialect.Load(gemini.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "x.toml", Data: []byte(text)}}})
		errs, _ := err.(obstat.Errors)
		for _, e := range errs {
			if e.Pos.Line < 1 {
				t.Errorf("%q: no place: %v", text, e)
			}
		}
	})
}

// FuzzAddRule: where a file loads, it loads with the rule in it, and nothing else has changed.
func FuzzAddRule(f *testing.F) {
	f.Add(policy)
	f.Add("# no end of line")
	f.Add("rule = []\n")
	f.Add("[x]\na = 1")
	f.Fuzz(func(t *testing.T, text string) {
		offer := &obstat.Offer{Text: `{ toolName = "added", mcpName = "a\"b", decision = "allow", priority = 950 }`}
		add := func(data []byte) ([]byte, error) {
			return (gemini.Dialect{}).AddRule(&dialect.File{Name: "x.toml", Data: data}, offer)
		}
		out, err := add([]byte(text))
		if err != nil {
			return // the file is no TOML, or has its rules in another form
		}
		if !strings.HasPrefix(string(out), text) {
			t.Fatalf("%q: %q", text, out)
		}
		if _, err := load(t, nil, text); err != nil {
			return
		}
		if _, err := load(t, nil, string(out)); err != nil {
			t.Errorf("%q does not load with the rule: %v", text, err)
		}
		if again, err := add(out); err != nil || string(again) != string(out) {
			t.Errorf("%q: twice: %q, %v", text, again, err)
		}
	})
}

// TestOtherShell: a rule for the commands of another agent's shell is kept with a warning, as Gemini CLI 0.61 does.
func TestOtherShell(t *testing.T) {
	l, err := load(t, nil, "[[rule]]\ntoolName = \"run_command\"\ncommandPrefix = 'rm'\ndecision = \"deny\"\npriority = 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Msg, `a tool "run_command"`) {
		t.Errorf("warnings: %v", l.Warnings)
	}
}
