package opencode

import (
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// accepted returns the offer of an allow rule.
func accepted(o Order, permission, pattern string) *obstat.Offer {
	out := offer(&Rule{Permission: permission, Pattern: pattern, Action: obstat.Allow}, o)
	return &out
}

func TestAddRule(t *testing.T) {
	for _, tc := range []struct {
		name, src           string
		order               Order
		permission, pattern string
		want                string // "" is refused
	}{
		{"an empty file", "", Last, "bash", "ls *", "{\n  \"permission\": {\n    \"bash\": {\n      \"ls *\": \"allow\"\n    }\n  }\n}\n"},
		{"no rules yet", "{\n  // mine\n  \"model\": \"m\"\n}\n", Last, "bash", "ls *",
			"{\n  // mine\n  \"model\": \"m\",\n  \"permission\": {\n    \"bash\": {\n      \"ls *\": \"allow\"\n    }\n  }\n}\n"},
		{"one word for all", `{"permission": "ask"}`, Last, "bash", "ls *", `{"permission": {"*": "ask", "bash": {"ls *": "allow"}}}`},
		{"one word for the permission", `{"permission": {"bash": "ask", "read": "deny"}}`, Last, "bash", "ls *", `{"permission": {"bash": {"*": "ask", "ls *": "allow"}, "read": "deny"}}`},
		{"at the end", "{\"permission\": {\"bash\": {\n\t\"*\": \"ask\" // all\n}}}", Last, "bash", "ls *", "{\"permission\": {\"bash\": {\n\t\"*\": \"ask\", // all\n\t\"ls *\": \"allow\"\n}}}"},
		{"before a deny that is narrower", `{"permission": {"bash": {"*": "ask", "git push --force*": "deny"}}}`, Last, "bash", "git push *",
			`{"permission": {"bash": {"*": "ask", "git push *": "allow", "git push --force*": "deny"}}}`},
		{"after a deny of something else", `{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}`, Last, "bash", "git push *",
			`{"permission": {"bash": {"*": "ask", "rm *": "deny", "git push *": "allow"}}}`},
		{"after a deny that another rule has taken back", `{"permission": {"bash": {"*": "deny", "git *": "ask"}}}`, Last, "bash", "git push *",
			`{"permission": {"bash": {"*": "deny", "git *": "ask", "git push *": "allow"}}}`},
		{"in place of an ask", `{"permission": {"bash": {"ls *": "ask", "x": "deny"}}}`, Last, "bash", "ls *", `{"permission": {"bash": {"ls *": "allow", "x": "deny"}}}`},
		{"there already", `{"permission": {"bash": {"ls *": "allow"}}}`, Last, "bash", "ls *", `{"permission": {"bash": {"ls *": "allow"}}}`},
		{"a tool", `{"permission": {"srv_tool": "ask"}}`, Last, "srv_tool", "*", `{"permission": {"srv_tool": "allow"}}`},
		{"a tool that is not there", `{"permission": {"a": "ask"}}`, Last, "srv_tool", "*", `{"permission": {"a": "ask", "srv_tool": {"*": "allow"}}}`},
		{"no lifting", `{"permission": {"bash": {"ls *": "deny"}}}`, Last, "bash", "ls *", ""},
		{"no lifting of all", `{"permission": {"bash": "deny"}}`, Last, "bash", "ls *", ""},
		{"no effect", `{"permission": {"bash": {"a": "ask"}, "*": "ask"}}`, Last, "bash", "ls *", ""},
		{"a pattern where one word is taken", `{"permission": {"webfetch": "ask"}}`, Last, "webfetch", "https://x/*", ""},
		{"the home directory", `{}`, Last, "bash", "~/bin/t *", ""},
		{"a number", `{}`, Last, "bash", "7", ""},
		{"a broken file", `{"permission": {"bash": "no"}}`, Last, "bash", "ls *", ""},

		{"the document, empty", "{}", First, "bash", "ls", "{\n  \"permissions\": {\n    \"bash\": {\n      \"ls\": \"allow\"\n    }\n  }\n}"},
		{"the document, a list", `{"permissions": [{"permission": "bash", "pattern": "*", "action": "ask"}]}`, First, "bash", "ls",
			`{"permissions": [{"permission": "bash", "pattern": "ls", "action": "allow"}, {"permission": "bash", "pattern": "*", "action": "ask"}]}`},
		{"the document, behind a deny", `{"permissions": [{"permission": "bash", "pattern": "ls*", "action": "deny"}, {"permission": "bash", "pattern": "*", "action": "ask"}]}`, First, "bash", "git", `{"permissions": [{"permission": "bash", "pattern": "git", "action": "allow"}, {"permission": "bash", "pattern": "ls*", "action": "deny"}, {"permission": "bash", "pattern": "*", "action": "ask"}]}`},
		{"the document, patterns", `{"permissions": {"bash": {"*": "ask"}}}`, First, "bash", "ls", `{"permissions": {"bash": {"ls": "allow", "*": "ask"}}}`},
		{"the document, one word", `{"permissions": {"bash": "ask"}}`, First, "bash", "ls", `{"permissions": {"bash": {"ls": "allow", "*": "ask"}}}`},
		{"the document, a key", `{"permissions": {"*": "ask"}}`, First, "bash", "ls", `{"permissions": {"bash": {"ls": "allow"}, "*": "ask"}}`},
		{"the document, denied", `{"permissions": {"bash": {"ls": "deny"}}}`, First, "bash", "ls", ""},
	} {
		f := &dialect.File{Name: "opencode.json", Data: []byte(tc.src)}
		got, err := (Dialect{}).AddRule(f, accepted(tc.order, tc.permission, tc.pattern))
		if tc.want == "" {
			if err == nil {
				t.Errorf("%s: want an error, got %s", tc.name, got)
			}
			continue
		}
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tc.name, err, got, tc.want)
			continue
		}
		again, err := (Dialect{}).AddRule(&dialect.File{Name: "opencode.json", Data: got}, accepted(tc.order, tc.permission, tc.pattern))
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: written twice: %v\n%s", tc.name, err, again)
		}
	}
	if _, err := (Dialect{}).AddRule(&dialect.File{Name: "agent/a.md"}, accepted(Last, "bash", "ls *")); err == nil {
		t.Error("a rule was written into an agent file")
	}
}

// kept tells whether new is old with one place changed, where nothing but an
// action stood before.
func kept(old, new string) bool {
	n := min(len(old), len(new))
	head, tail := 0, 0
	for head < n && old[head] == new[head] {
		head++
	}
	for tail < n-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	gone := old[head : len(old)-tail]
	return gone == "" || strings.TrimSpace(gone) == "" || slices.ContainsFunc([]string{`"allow"`, `"deny"`, `"ask"`, "{}", "[]", ","}, func(s string) bool { return strings.Contains(s, strings.TrimSpace(gone)) })
}

// FuzzAddRule: a rule that is written is there, decides, is not written twice,
// and nothing else has changed.
func FuzzAddRule(f *testing.F) {
	for _, s := range []string{
		`{"permission": {"bash": {"*": "ask", "rm *": "deny"}, "*": "allow"}}`, `{"permission": "ask"}`, "{ // c\n}\n", "", `{"permission": {"bash": {}, },}`,
		`{"permissions": [{"permission": "read", "pattern": "*", "action": "deny"},]}`, `{"permissions": {"bash": {"*": "ask"}}}`, `{"permission": {"b*": {"ls ?": "deny"}}}`,
	} {
		f.Add(s, "bash", "ls *", true)
		f.Add(s, "read", "src/a.ts", false)
	}
	f.Fuzz(func(t *testing.T, src, permission, text string, last bool) {
		o := First
		if last {
			o = Last
		}
		file := &dialect.File{Name: "opencode.json", Data: []byte(src)}
		off := accepted(o, permission, text)
		out, err := (Dialect{}).AddRule(file, off)
		if err != nil {
			return
		}
		if !kept(src, string(out)) {
			t.Fatalf("more than the rule has changed\n%q\n%q", src, out)
		}
		e := &editor{file: file, order: o, rule: RuleOf(&off.Rule)}
		if off.Rule.Pattern.IsZero() {
			e.order = Last
		}
		rules, err := e.read(out)
		if err != nil || !slices.ContainsFunc(rules, e.same) {
			t.Fatalf("the rule is not there: %v\n%q", err, out)
		}
		again, err := (Dialect{}).AddRule(&dialect.File{Name: "opencode.json", Data: out}, off)
		if err != nil || string(again) != string(out) {
			t.Fatalf("written twice: %v\n%q\n%q", err, out, again)
		}
	})
}
