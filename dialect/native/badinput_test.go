package native_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

func problems(text string) obstat.Errors {
	_, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
	var es obstat.Errors
	errors.As(err, &es)
	return es
}

// rules returns a policy that allows what the lines say.
func rules(lines ...string) string {
	return "version: 1\nallow:\n  - " + strings.Join(lines, "\n  - ") + "\n"
}

// TestBadInput: every mistake has a place, a reason and a hint.
func TestBadInput(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "1:1: a policy is an object, not null"},
		{"a list", "- read workspace\n", "1:1: a policy is an object, not a list"},
		{"no version", "allow:\n  - read workspace\n", `1:1: `},
		{"another version", "version: 2\n", "1:10: version 2 of the language is not known [bad-value]; write `version: 1`"},
		{"a text for a version", "version: one\n", `1:10: "version" should be a number, not a string [wrong-type]; write ` + "`version: 1`"},
		{"a misspelled key", "version: 1\nalow:\n  - read workspace\n", `2:1: unknown key "alow" [unknown-key]; did you mean "allow"?`},
		{"a key that is not known", "version: 1\nmodes: x\n", `2:1: unknown key "modes" [unknown-key]; the keys are version, otherwise, server, confine, undo, limit, places, allow, ask, deny`},
		{"no address of a server", "version: 1\nserver: obstat.example.com\n", `2:9: "obstat.example.com" is not the address of a server [bad-value]; write ` + "`server: https://"},
		{"a server with a password", "version: 1\nserver: https://u:p@h\n", `2:9: `},
		{"a list of servers", "version: 1\nserver: [https://h]\n", `2:9: "server" should be a string, not a list`},
		{"a key in capitals", "version: 1\nAllow:\n  - read workspace\n", `2:1: the key "Allow" is written in other capitals`},
		{"a key twice", "version: 1\nallow:\n  - read workspace\nallow:\n  - code\n", "4:1: "},
		{"a text for a list", "version: 1\nallow: read workspace\n", `2:8: "allow" should be a list or null, not a string [wrong-type]; write ` + "`allow:` and rules below it, each behind a dash: `- read workspace`"},
		{"a number for a rule", "version: 1\nallow:\n  - 5\n", "3:5: a rule is a sentence, not a number"},
		{"tabs", "version: 1\nallow:\n\t- read workspace\n", "3:1: a tab cannot indent YAML [syntax]; use spaces"},
		{"a colon", "version: 1\nallow:\n  - run git commit -m: x\n", `3:5: unknown key "run git commit -m"`},
		{"a verb", rules("raed workspace"), `3:5: "raed" is not something that a call does [bad-value]; did you mean "read"?`},
		{"no verb", rules("workspace"), `3:5: "workspace" is not something that a call does [bad-value]; a rule begins with read, write`},
		{"no target", rules("read"), "3:9: read what? [bad-value]; name a target: `read workspace`"},
		{"no tool", rules("tool"), "3:9: tool what? [bad-value]; name a target: `tool mcp__github__*`"},
		{"no command", rules("run"), "3:8: run what? [bad-value]; name a target: `run git status`"},
		{"no host", rules("connect"), "3:12: connect what? [bad-value]; name a target: `connect example.com`"},
		{"no exception", rules("read workspace except"), "3:26: nothing stands behind except"},
		{"a comma", rules("read src,, x"), "3:14: a target is missing here"},
		{"the last comma", rules("read src,"), "3:14: a target is missing behind the comma"},
		{"a place", rules("read secrts"), `3:10: there is no place "secrts" [bad-value]; did you mean "secrets"? A file of that name is ./secrts`},
		{"two words", rules("read my file"), `3:10: "my file" is no path and no place [bad-value]; separate targets with commas, or put a path with blanks in quotes`},
		{"an open quote", rules(`read "my file`), `3:10: the quote " is not closed`},
		{"dots", rules("read ../x"), `3:10: "../x": a rule's path has no . or .. in it`},
		{"brackets", rules("read src/[ab]"), "3:10: "},
		{"a URL", rules("connect https://example.com/x"), "3:13: \"https://example.com/x\" is not a host [bad-value]; write the name alone"},
		{"a flag", rules("run -x"), `3:9: "-x" names no program`},
		{"different verbs", rules("read and run x"), "3:5: read and run have different kinds of targets [bad-value]; write a rule for each"},
		{"a tool with content", rules("tool Bash(ls)"), "3:10: \"Bash(ls)\" is not the name of a tool"},
		{"a wider exception", rules("read src except workspace"), "3:21: except workspace leaves nothing of src"},
		{"an exception outside", rules("read src/** except /etc/**"), "3:24: /etc/** is not certainly a part of what the rule is about"},
		{"an exception in the project", rules("read /etc/** except hosts"), "3:25: hosts is not certainly a part of what the rule is about [bad-value]; a path without / or ~/ before it lies in the project"},
		{"an exception of another home", rules("read src/** except ~/x"), "3:24: ~/x is not certainly a part of what the rule is about [bad-value]; leave out a part of it"},
		{"an exception beside", rules("run git except npm"), "3:20: npm is not certainly a part of what the rule is about"},
		{"the same exception", rules("read src except src"), "3:21: except src leaves nothing of src"},
		{"everything", rules("connect example.com except anywhere"), "3:32: except anywhere leaves nothing of example.com"},
		{"where beside a tool", rules("read src where input.x is 1"), "3:20: where input is of a tool"},
		{"a field", rules("tool t where table is 1"), `3:18: "table" is no field of an input`},
		{"a comparison", rules("tool t where input.x equals 1"), `3:26: "equals" is no comparison`},
		{"a list", rules("tool t where input.x in 1"), "3:29: a list is expected behind in"},
		{"no value in a list", rules("tool t where input.x in [, 2]"), "3:30: a value is missing here [bad-value]; texts, numbers"},
		{"an open list", rules("tool t where input.x in [1, 2"), "3:34: the list is not closed"},
		{"no rule", "version: 1\nallow:\n  - reason: x\n", "3:5: "},
		{"a misspelled key of a rule", "version: 1\nallow:\n  - rule: read src\n    resaon: x\n", `4:5: unknown key "resaon" [unknown-key]; did you mean "reason"?`},
		{"a key of when", "version: 1\nallow:\n  - rule: read src\n    when: {agnt: x}\n", `4:12: unknown key "agnt" [unknown-key]; did you mean "agent"?`},
		{"a number for an agent", "version: 1\nallow:\n  - rule: read src\n    when: {agent: 5}\n", `4:19: "agent" should be a string or a list, not a number [wrong-type]; write ` + "`agent: codex` or `agent: [codex, claude-code]`"},
		{"hours", "version: 1\nallow:\n  - rule: read src\n    when: {time: 9-17}\n", `4:18: "9-17" is no part of a day [bad-value]; write ` + "`time: 09:00-17:00`"},
		{"days", "version: 1\nallow:\n  - rule: read src\n    when: {days: montag}\n", `4:18: "montag" is no day`},
		{"no day at all", "version: 1\nallow:\n  - rule: read src\n    when: {days: []}\n", "4:18: days names nothing: the rule could never apply"},
		{"a hint that no server gives", "version: 1\nallow:\n  - rule: tool t\n    when: {hint: readonly}\n", `4:18: there is no hint "readonly" [bad-value]; did you mean "read-only"?`},
		{"no hint of any server", "version: 1\nallow:\n  - rule: tool t\n    when: {hint: harmless}\n", `4:18: there is no hint "harmless" [bad-value]; servers say read-only, additive, destructive`},
		{"a branch and not that branch", "version: 1\nallow:\n  - rule: run make\n    when: {branch: [main, not main]}\n", "4:20: the rule could never apply: no branch is all of this [no-effect]; take one of them out"},
		{"an agent that is left out", "version: 1\nallow:\n  - rule: run make\n    when: {agent: [codex, not co*]}\n", "4:19: the rule could never apply"},
		{"two values at once", rules("tool mcp__a__b where input.x is 1 and input.x is 2"), "3:43: the rule could never apply: no input.x is all that the rule wants of it [bad-value]; write a rule for each"},
		{"more and less", rules("tool mcp__a__b where input.x > 5 and input.x < 3"), "3:42: the rule could never apply"},
		{"a value that is left out", rules(`tool mcp__a__b where input.x is "u1" and input.x not like u*`), "3:46: the rule could never apply"},
		{"after an empty list", "version: 1\ndeny:\n  - rule: connect anywhere\n    after: []\n", "4:12: after names nothing: the rule could never apply [bad-value]; name one"},
		{"after a number", "version: 1\ndeny:\n  - rule: connect anywhere\n    after: [5]\n", "4:13: element 1 of after should be a string, not a number [wrong-type]; write `after: read secrets`"},
		{"a number among agents", "version: 1\nallow:\n  - rule: read src\n    when: {agent: [codex, 5]}\n", "4:27: element 2 of agent should be a string, not a number [wrong-type]; write `agent: codex`"},
		{"until", "version: 1\nallow:\n  - rule: read src\n    until: tomorrow\n", `4:12: "tomorrow" is no day`},
		{"after nothing", "version: 1\ndeny:\n  - rule: connect anywhere\n    after: leak\n", "4:12: no rule is called leak"},
		{"after a mistake", "version: 1\ndeny:\n  - rule: connect anywhere\n    after: raed secrets\n", `4:12: "raed" is not something that a call does`},
		{"a cycle", "version: 1\ndeny:\n  - rule: read src\n    name: a\n    after: b\n  - rule: read lib\n    name: b\n    after: a\n", "8:12: a, after b, after a comes after itself: neither could ever apply [conflict]"},
		{"after itself", "version: 1\ndeny:\n  - rule: read src\n    name: a\n    after: a\n", "5:12: a, after a comes after itself"},
		{"two of a name", "version: 1\ndeny:\n  - rule: read src\n    name: a\n  - rule: read lib\n    name: a\n", "6:11: two rules are called a"},
		{"a failing example", "version: 1\nallow:\n  - rule: run git\n    examples: [git status, make]\n", "4:28: this example should be allowed, and is asked about: "},
		{"an example that is denied", "version: 1\nallow:\n  - rule: read src\n    examples:\n      - {tool: Read, input: {file_path: src/id_rsa}}\ndeny:\n  - read secrets\n", "5:9: this example should be allowed, and is denied: deny rule read secrets"},
		{"no example", "version: 1\nallow:\n  - rule: run git\n    examples: [5]\n", "4:16: an example is a command or a call, not a number"},
		{"never applies", "version: 1\nallow:\n  - read src/gen, lib\ndeny:\n  - read src\n", `3:10: this can never apply to src/gen: the deny rule "read src" comes first [no-effect]; leave it out of that rule`},
		{"an ask that never applies", "version: 1\nask:\n  - run git push\ndeny:\n  - run git\n", `3:9: this can never apply to git push: the deny rule "run git" comes first`},
		{"deleting what cannot be written", "version: 1\nallow:\n  - delete build\ndeny:\n  - write build\n", "3:12: this can never apply to build"},
		{"otherwise", "version: 1\notherwise: allow\n", `2:12: what no rule is about can be asked about or denied, not "allow" [bad-value]; write ` + "`otherwise: deny`"},
		{"a place's name", "version: 1\nplaces: {My Place: [x]}\n", `2:10: "My Place" cannot name a place`},
		{"a built-in place", "version: 1\nplaces: {home: [x]}\n", "2:10: home means something already"},
		{"a place called anywhere", "version: 1\nplaces: {anywhere: [x]}\n", "2:10: anywhere means something already"},
		{"a place called outside", "version: 1\nplaces: {outside: [x]}\n", "2:10: outside means something already"},
		{"a place called exactly", "version: 1\nplaces: {exactly: [x]}\n", "2:10: exactly means something already"},
		{"a name", "version: 1\nallow:\n  - rule: read src\n    name: My Rule\n", `4:11: "My Rule" cannot name a rule [bad-value]; a rule's name is small letters, digits and -`},
		{"no branch", "version: 1\nallow:\n  - rule: read src\n    when: {branch: 'not '}\n", "4:20: branch is empty [bad-value]; name it"},
		{"an empty branch", "version: 1\nallow:\n  - rule: read src\n    when: {branch: ['']}\n", "4:21: branch is empty [bad-value]"},
		{"no mode with a star", "version: 1\nallow:\n  - rule: read src\n    when: {hint: red-only}\n", `4:18: there is no hint "red-only" [bad-value]; did you mean "read-only"?`},
		{"an empty rule", "version: 1\nallow:\n  - ''\n", "3:6: the rule is empty [bad-value]; write what it is about: `read workspace`"},
		{"code of a thing", rules("code main.go"), "3:10: code takes no target [bad-value]; write `code` alone"},
		{"system of a thing", rules("system x"), "3:12: system takes no target [bad-value]; write `system` alone"},
		{"exactly a path", rules("read exactly src"), "3:10: exactly is for commands [bad-value]; take it out"},
		{"blanks alone", rules(`run "  "`), `3:9: "  " names no program`},
		{"outside of another place", rules("read outside home"), `3:10: "outside home" is no path and no place [bad-value]; only ` + "`outside workspace` is a place"},
		{"another's home", rules("read ~ann/x"), `3:10: "~ann/x": only ~/ is a home directory`},
		{"a host and its port", rules("connect example.com:80"), `3:13: "example.com:80" is not a host`},
		{"keep of a question", "version: 1\nask:\n  - write src, keep 7d\n", "3:16: changes are kept of calls that are allowed [bad-value]; take `keep` out, or move the rule to `allow:`"},
		{"keep of what is read", rules("read src, keep 7d"), "3:15: to read changes no file that could be kept"},
		{"keep of a connection", rules("connect a.example, keep 7d"), "3:24: to connect changes no file that could be kept"},
		{"keep without end", rules("write src, keep 367d"), `3:21: "367d" is no length of time that changes are kept`},
		{"keep for nothing", rules("write src, keep 0d"), `3:21: "0d" is no length of time`},
		{"keep for a unit", rules("write src, keep 5y"), `3:21: "5y" is no length of time`},
		{"keep for no number", rules("write src, keep d"), `3:21: "d" is no length of time`},
		{"manner of a path", rules("write src where force"), "3:21: force is how a command runs [bad-value]; write `run git push where force`"},
		{"manner and not", rules("run git push where force and not force"), "3:34: the rule could never apply: no command is force and is not [bad-value]; take one of them out"},
		{"a manner that is none", rules("run git push where forse"), `3:24: there is no way to run a command that is called "forse" [bad-value]; did you mean "force"?`},
		{"no part of a field", rules("tool t where input. is 1"), `3:18: "input." is no field of an input`},
		{"a field twice dotted", rules("tool t where input.a..b is 1"), `3:18: "input.a..b" is no field of an input`},
		{"over nothing", "version: 1\nallow:\n  - rule: read src\n    over: []\n", "4:11: over names nothing: the rule could never apply"},
		{"files of no call", "version: 1\nundo: {files: 0}\n", "2:15: the files of one call are a number from 1 to 1000000"},
		{"more files than any", "version: 1\nundo: {files: 1000001}\n", "2:15: the files of one call are a number"},
		{"undo of words", "version: 1\nundo: yes please\n", `2:7: undo has limits or is off, not "yes please"`},
		{"undo for ever", "version: 1\nundo: {keep: ever}\n", `2:14: "ever" is no length of time that changes are kept [bad-value]; write `},
		{"an undo of no size", "version: 1\nundo: {file: big}\n", "2:14: "},
		{"a place in a place", "version: 1\nplaces: {a: [x], b: [a]}\n", `2:22: the place "b" cannot hold the place "a"`},
		{"a place of a number", "version: 1\nplaces: {a: [5]}\n", `2:13: the place "a" is a list of texts`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			es := problems(tt.text)
			if len(es) == 0 || es[0].Warning || !strings.HasPrefix(es[0].Error(), "obstat.yaml:"+tt.want) {
				t.Fatalf("%v\nwant obstat.yaml:%s", es, tt.want)
			}
			for _, e := range es {
				if e.Pos.Line == 0 || e.Code == "" || e.Msg == "" || e.Hint == "" && e.Code != obstat.CodeSyntax && e.Code != obstat.CodeDuplicateKey {
					t.Errorf("no place, reason or hint: %v", e)
				}
			}
			// The same with other line ends.
			if crlf := problems(strings.ReplaceAll(tt.text, "\n", "\r\n")); len(crlf) == 0 || crlf[0].Pos != es[0].Pos {
				t.Errorf("with CRLF: %v", crlf)
			}
		})
	}
}

// TestUntil: a day is written as it is in the documents, without a warning that YAML has two words for it.
func TestUntil(t *testing.T) {
	if l := load(t, "version: 1\nallow:\n  - rule: read src\n    until: 2030-12-31\n"); len(l.Warnings) > 0 {
		t.Error(l.Warnings)
	}
}

// TestPossible: conditions that a value can fit are no mistake.
func TestPossible(t *testing.T) {
	for _, where := range []string{"input.x > 5 and input.x < 7", "input.x > 5 and input.x < 6", "input.x >= 5 and input.x <= 5", "input.x > 5 and input.x > 7", "input.x in [1, 2] and input.x is not 1", "input.x is 5 and input.x > 4",
		"input.x is true and input.y is false", "input.x[].n is 1 and input.x[].n is 2", "input.x like a* and input.x like *b", "input.x not in [1] and input.x not in [2]", `input.x is "5" and input.x like 5`} {
		if es := problems(rules("tool mcp__a__b where " + where)); len(es) > 0 {
			t.Errorf("%s: %v", where, es)
		}
	}
	for _, when := range []string{"branch: [main, not dev]", "branch: [not main, not dev]", "branch: [release/*, not release/1]", "branch: ['*', not main]", "hint: '*'", "hint: [read-only, not destructive]"} {
		if es := problems("version: 1\nallow:\n  - rule: run make\n    when: {" + when + "}\n"); len(es) > 0 {
			t.Errorf("%s: %v", when, es)
		}
	}
}

// TestAllAtOnce: a file with many mistakes is told all of them, in order.
func TestAllAtOnce(t *testing.T) {
	es := problems("version: 1\nallow:\n  - raed src\n  - read secrts\n  - run git except npm\n  - rule: read lib\n    util: x\nplaces: {home: [x]}\nfoo: 1\n")
	var lines []string
	for _, e := range es {
		lines = append(lines, fmt.Sprint(e.Pos.Line))
	}
	if got := strings.Join(lines, " "); got != "3 4 5 7 8 9" {
		t.Errorf("problems in lines %s:\n%v", got, es)
	}
	lines = nil
	for _, e := range problems("version: 1\nallow:\n\t- read src\r\n  \t- read lib\n\n\t# a comment\n\t\n  - read docs\ndeny:\n\t- raed x\n") {
		lines = append(lines, fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col))
	}
	if got := strings.Join(lines, " "); got != "3:1 4:3 10:1" {
		t.Errorf("tabs at %s", got)
	}
}

// TestManyRules: 50,000 rules are read, and the last one decides.
func TestManyRules(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nallow:\n")
	for i := range 50_000 {
		fmt.Fprintf(&b, "  - run tool%d build\n", i)
	}
	l := load(t, b.String())
	if d := l.Policy.Decide(call("tool49999 build x"), world); d.Verdict != obstat.Allow || d.Rule.Pos.Line != 50_002 {
		t.Errorf("%s: %s", d.Verdict, d.Reason())
	}
	if es := problems(b.String() + "  - raed x\n"); len(es) != 1 || es[0].Pos.Line != 50_003 {
		t.Errorf("%v", es)
	}
}

// TestCRLF: line ends of another system mean the same.
func TestCRLF(t *testing.T) {
	l, other := load(t, example), load(t, strings.ReplaceAll(example, "\n", "\r\n"))
	if l.Policy.Digest() != other.Policy.Digest() {
		t.Error("another digest")
	}
}

// FuzzLoad: whatever the file holds there is a policy or an error with a place, and no panic.
func FuzzLoad(f *testing.F) {
	f.Add(example)
	f.Add("version: 1\nallow: [{rule: 'tool x where input.a[].b in [1, \"y\"] and input.c >= 5', when: {agent: not codex, days: mon-fri, time: '22:00-06:00'}, until: 2030-01-01, after: [read secrets], examples: [ls]}]\nplaces: {secrets: ['*.key'], gen: [out/**]}\ndeny: [write gen except out/keep]\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
		if (l == nil) == (err == nil) {
			t.Fatalf("%v, %v", l, err)
		}
		if err != nil {
			var es obstat.Errors
			if !errors.As(err, &es) || es[0].Pos.Line == 0 && es[0].Pos.File == "" {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		l.Policy.Decide(call("git status | sh > x"), world)
		var q obstat.Program
		b, err := l.Program.MarshalJSON()
		if err == nil {
			err = q.UnmarshalJSON(b)
		}
		if err != nil || q.Digest() != l.Program.Digest() {
			t.Fatalf("the Program does not come back: %v", err)
		}
	})
}
