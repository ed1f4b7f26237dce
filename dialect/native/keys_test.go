package native_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// A level is a place where keys stand: how a file with one key there begins and ends, and how the
// schema names it.
type level struct {
	name, before, after string
	line, col           int
	in                  func(schema map[string]any) map[string]any
}

var levels = []level{
	{"a file", "version: 1\n", "\n", 2, 1, func(s map[string]any) map[string]any { return s }},
	{"a rule", "version: 1\ndeny:\n  - rule: read src\n    ", "\n", 4, 5, ruleSchema},
	{"when", "version: 1\ndeny:\n  - rule: read src\n    when:\n      ", "\n", 5, 7, func(s map[string]any) map[string]any { return prop(ruleSchema(s), "when") }},
	{"an example", "version: 1\ndeny:\n  - rule: read src\n    examples:\n      - tool: Read\n        ", "\n", 6, 9, func(s map[string]any) map[string]any {
		return prop(ruleSchema(s), "examples")["items"].(map[string]any)["anyOf"].([]any)[1].(map[string]any)
	}},
}

func prop(s map[string]any, name string) map[string]any {
	return s["properties"].(map[string]any)[name].(map[string]any)
}

func ruleSchema(s map[string]any) map[string]any {
	return prop(s, "allow")["items"].(map[string]any)["anyOf"].([]any)[1].(map[string]any)
}

// TestEveryKey: each key of the language, misspelled or with a value of each other type, is an error at
// its place with a hint. The keys are those of the schema, which is made of the tables of the reader.
func TestEveryKey(t *testing.T) {
	schema := readSchema(t)
	samples := map[string]string{"string": "text", "number": "5", "boolean": "true", "null": "null", "array": "[x]", "object": "{x: y}"}
	n := 0
	for _, lv := range levels {
		for key, s := range lv.in(schema)["properties"].(map[string]any) {
			s := s.(map[string]any)
			n++
			for _, wrong := range []string{key[:len(key)-1], key + key[len(key)-1:], strings.ToUpper(key)} {
				at(t, lv, wrong+": x", lv.col, key)
			}
			types, _ := s["type"].([]any)
			if one, ok := s["type"].(string); ok {
				types = []any{one}
			}
			if key == "version" || key == "rule" || key == "tool" { // which are there already
				continue
			}
			for kind, sample := range samples {
				if len(types) > 0 && !slices.Contains(types, any(kind)) {
					at(t, lv, key+": "+sample, lv.col+len(key)+2, key)
				}
			}
		}
	}
	if n < 22 {
		t.Errorf("only %d keys", n)
	}
	for _, text := range []string{"version: [1]\n", "version: true\n", "version: 1\ndeny:\n  - rule: [x]\n", "version: 1\ndeny:\n  - rule: {x: y}\n", "version: 1\ndeny:\n  - rule: read src\n    examples: [{tool: 5}]\n"} {
		if es := problems(text); len(es) == 0 || es[0].Pos.Line == 0 || es[0].Hint == "" {
			t.Errorf("%q: %v", text, es)
		}
	}
}

// at loads a file with one line in it that is wrong, and looks at the place and the hint.
func at(t *testing.T, lv level, line string, col int, key string) {
	t.Helper()
	es := problems(lv.before + line + lv.after)
	if len(es) == 0 {
		t.Errorf("%s with %q loads", lv.name, line)
		return
	}
	e := es[0]
	if e.Pos.Line != lv.line || e.Pos.Col != col || e.Hint == "" || !strings.Contains(e.Msg+e.Hint, key) {
		t.Errorf("%s with %q: %v, want it at %d:%d with a hint about %s", lv.name, line, e, lv.line, col, key)
	}
}

// TestMangled: files with pieces changed, dropped or doubled give a policy, or errors that all have a
// place; none panics or takes for ever.
func TestMangled(t *testing.T) {
	const full = "version: 1\nplaces:\n  gen: [out/**]\n  secrets: ['*.k']\nallow:\n  - read workspace except secrets, settings\n  - tool mcp__a__* where input.a[].b in [1, \"y\"] and input.c >= 5\n" +
		"  - {rule: run x, name: a, reason: r, when: {agent: 'claude-*', user: [a], role: r, channel: c, mode: m, branch: v1.*, time: '22:00-06:00', days: sat-mon}, until: '2030-01-01', after: [read secrets], examples: [x, {tool: Bash, input: {command: x y}}]}\n" +
		"deny:\n  - rule: connect anywhere except localhost\n    after: a\n  - write gen except out/keep\n"
	load(t, full)
	r := rand.New(rand.NewPCG(18, 6))
	pieces := []string{"", ":", "- ", "\t", "\r\n", "[", "]", "{", "}", "\"", "'", ",", "*", "**", "~/", "..", "<", ">=", "not ", "except ", "where ", "exactly ", "sun", "24:00", "-", "\x00", "é", "input.", "anything", "\n", "5", "null"}
	for i := range 4000 {
		text := []byte(full)
		if i%2 == 0 {
			text = []byte(example)
		}
		for range 1 + r.IntN(4) {
			from := r.IntN(len(text))
			to := min(len(text), from+r.IntN(6))
			text = slices.Concat(text[:from], []byte(pieces[r.IntN(len(pieces))]), text[to:])
		}
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: text}}})
		if err == nil {
			l.Policy.Decide(call("git status | sh > x"), world)
			continue
		}
		var es obstat.Errors
		if !errors.As(err, &es) {
			t.Fatalf("%q: %v", text, err)
		}
		for _, e := range es {
			if e.Pos.Line == 0 || e.Msg == "" {
				t.Fatalf("%q: no place: %v", text, e)
			}
		}
	}
}

// TestExamplesUnderConditions: the examples of a rule are calls that its conditions are true for.
func TestExamplesUnderConditions(t *testing.T) {
	for _, when := range []string{"agent: claude-*", "agent: '*'", "branch: v1.*", "branch: [not main, release/*]", "user: a+b", "role: lead", "channel: ci", "mode: plan", "time: 00:00-00:01", "time: 22:00-06:00", "days: sun", "days: sat-mon", "days: [tue], time: 03:00-04:00"} {
		for _, list := range []string{"allow", "deny"} {
			text := fmt.Sprintf("version: 1\n%s:\n  - rule: run make\n    when: {%s}\n    examples: [make x]\n", list, when)
			if es := problems(text); len(es) > 0 {
				t.Errorf("%s %s: %v", list, when, es)
			}
		}
	}
	if es := problems("version: 1\ndeny:\n  - rule: connect anywhere\n    after: [run make, read secrets]\n    examples: [curl x.example, {tool: WebFetch, input: {url: 'https://x.example', n: [1, null, true]}}]\n"); len(es) > 0 {
		t.Error(es)
	}
}

// TestSettings: a rule for a place does not allow changing what agents and obstat are told by, nor does
// one for a program; a rule that names it does.
func TestSettings(t *testing.T) {
	const base = "version: 1\nallow:\n  - read and write workspace\n  - delete workspace\n  - run git diff\n"
	for text, want := range map[string]string{
		"echo x > obstat.yaml":                     "ask",
		"sed -i s/deny/allow/ obstat.json":         "ask",
		"rm .claude/settings.json":                 "ask",
		"git diff --output=.obstat/obstat.yaml":    "ask",
		"Write file_path=/p/sub/obstat.yaml":       "ask",
		"Edit file_path=/p/.cursor/mcp.json":       "ask",
		"cat obstat.yaml .claude/settings.json":    "allow",
		"cp obstat.yaml copy.yaml":                 "allow",
		"echo x > obstat.yaml.example":             "allow",
		"Write file_path=/p/.claude/commands/x.md": "ask",
	} {
		if d := load(t, base).Policy.Decide(call(text), world); d.Verdict.String() != want {
			t.Errorf("%s: %s: %s", text, d.Verdict, d.Reason())
		}
	}
	for rule, want := range map[string]string{"write settings": "allow", "write .claude/commands": "allow", "write anything": "allow", "write workspace except src": "ask", "run anything": "ask"} {
		if d := load(t, base+"  - "+rule+"\n").Policy.Decide(call("Write file_path=/p/.claude/commands/x.md"), world); d.Verdict.String() != want {
			t.Errorf("with %s: %s: %s", rule, d.Verdict, d.Reason())
		}
	}
	if d := load(t, "version: 1\nallow:\n  - read workspace except settings\n").Policy.Decide(call("cat .claude/settings.json"), world); d.Verdict != obstat.Ask {
		t.Errorf("reading what is left out: %s", d.Verdict)
	}
}

// TestOtherwise: what no rule is about is denied where a file says so, in any layer; what is known to do
// nothing is not.
func TestOtherwise(t *testing.T) {
	files := []dialect.File{{Name: "a.yaml", Data: []byte("version: 1\notherwise: deny\n")}, {Name: "b.yaml", Data: []byte("version: 1\notherwise: ask\nallow:\n  - read workspace\n")}}
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]obstat.Verdict{"make": obstat.Deny, "touch x": obstat.Deny, "mcp__a__b c=d": obstat.Deny, "cat x": obstat.Allow, "echo hi": obstat.Allow} {
		if d := l.Policy.Decide(call(text), world); d.Verdict != want {
			t.Errorf("%s: %s: %s", text, d.Verdict, d.Reason())
		}
	}
}

// TestForeignShell: what is denied to a shell is denied to PowerShell, and in a text that does not parse;
// the rest of them asks.
func TestForeignShell(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - run ls, git, echo\ndeny:\n  - run rm, curl, git push --force\n")
	for text, want := range map[string]string{
		"rm x": "deny", "ls | rm": "deny", `& "rm" x`: "deny", "if (1) { rm x }": "deny", "git push --force origin": "deny", "ls; curl x.example": "deny",
		"ls": "ask", "git push": "ask", "rmdir x": "ask", "Write-Output x": "ask",
	} {
		c := call(text)
		if c.Tool = "PowerShell"; l.Policy.Decide(c, world).Verdict.String() != want {
			t.Errorf("PowerShell %s: want %s", text, want)
		}
	}
	for text, want := range map[string]string{`rm "x`: "deny", `rm"`: "deny", `ls; rm 'x`: "deny", `ls "x`: "ask"} {
		if d := l.Policy.Decide(call(text), world); d.Verdict.String() != want {
			t.Errorf("%s: %s, want %s: %s", text, d.Verdict, want, d.Reason())
		}
	}
}
