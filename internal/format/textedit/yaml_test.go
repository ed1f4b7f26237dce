package textedit_test

import (
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

func TestYAML(t *testing.T) {
	rule := jsonx.Object{{Key: "id", Value: "r1"}, {Key: "tools", Value: []string{"bash"}}, {Key: "pattern", Value: "git: *"}}
	run(t, textedit.YAML, []editCase{
		{"append to a block list", "allow:\n  - a # first\n  - b\n# end\nx: 1\n", "allow:\n  - a # first\n  - b\n  - c\n# end\nx: 1\n", add("c", "allow")},
		{"append to a list in its key's column", "allow:\n- a\n\nx: 1\n", "allow:\n- a\n- c\n\nx: 1\n", add("c", "allow")},
		{"append after a comment", "allow:\n  - a # why", "allow:\n  - a # why\n  - c", add("c", "allow")},
		{"append a mapping", "p:\n  rules:\n    - id: r0\n      tools: [x]\n", "p:\n  rules:\n    - id: r0\n      tools: [x]\n    - id: r1\n      tools: [bash]\n      pattern: \"git: *\"\n", add(rule, "p", "rules")},
		{"append a mapping, block lists inside", "rules:\n- id: r0\n  tools:\n  - x\n", "rules:\n- id: r0\n  tools:\n  - x\n- id: r1\n  tools:\n  - bash\n  pattern: \"git: *\"\n", add(rule, "rules")},
		{"append to a flow list", "allow: [a, b] # x\n", "allow: [a, b, c] # x\n", add("c", "allow")},
		{"append to a flow list over lines", "allow: [\n  a, # x\n  b # y\n]\n", "allow: [\n  a, # x\n  b, # y\n  c\n]\n", add("c", "allow")},
		{"append a mapping to a flow list", "rules: [{id: a}]\n", "rules: [{id: a}, {id: r1, tools: [bash], pattern: \"git: *\"}]\n", add(rule, "rules")},
		{"append a word to an empty flow list", "allow: []\n", "allow: [c]\n", add("c", "allow")},
		{"an empty flow list grows into lines", "p:\n  rules: [] # none\n  x: 1\n", "p:\n  rules: # none\n    - id: r1\n      tools: [bash]\n      pattern: \"git: *\"\n  x: 1\n", add(rule, "p", "rules")},
		{"append to an empty key", "p:\n  allow: # none\n  x: 1\n", "p:\n  allow: # none\n    - c\n  x: 1\n", add("c", "p", "allow")},
		{"append to null", "p:\n  allow: null # none\n", "p:\n  allow: # none\n    - c\n", add("c", "p", "allow")},
		{"create the section", "a: 1\n", "a: 1\np:\n  allow:\n    - c\n", add("c", "p", "allow")},
		{"create in the file's indentation", "a:\n    b: 1\n    l:\n    - x\n", "a:\n    b: 1\n    l:\n    - x\np:\n    allow:\n    - c\n", add("c", "p", "allow")},
		{"create in nothing", "", "p:\n  allow:\n    - c\n", add("c", "p", "allow")},
		{"create under comments", "# mine\n\n# yours", "# mine\n\n# yours\np: 1\n", set(1, "p")},
		{"create after ---", "---\n# x\n", "---\n# x\np: 1\n", set(1, "p")},
		{"create a key without a final newline", "a: 1", "a: 1\nb: 2", set(2, "b")},
		{"set a scalar", "a: 1 # one\nb: 'x' # two\n", "a: 1 # one\nb: z # two\n", set("z", "b")},
		{"set a quoted scalar", "a: \"1\"\nb: 'x'\nc: 'y'\n", "a: \"1\"\nb: '2'\nc: 'y'\n", set("2", "b")},
		{"set an empty key", "a:\nb: # c\n", "a:\nb: z # c\n", set("z", "b")},
		{"set a block scalar", "a: |\n  x\n\n  y\nb: 1\n", "a: z\nb: 1\n", set("z", "a")},
		{"set a block scalar that keeps its end", "a: |+\n  x\n\nb: 1\n", "a: z\nb: 1\n", set("z", "a")},
		{"set a block list to a word", "a: # c\n  - x\n  - y\nb: 1\n", "a: z # c\nb: 1\n", set("z", "a")},
		{"set a word to a mapping", "a: x # c\nb: 1\n", "a: # c\n  k: v\nb: 1\n", set(jsonx.Object{{Key: "k", Value: "v"}}, "a")},
		{"set a block mapping to another", "a:\n  x: 1\n  y: 2\nb: 1\n", "a:\n  k: v\nb: 1\n", set(jsonx.Object{{Key: "k", Value: "v"}}, "a")},
		{"set an element", "- a\n- b: 1\n  c: 2\n- d\n", "- a\n- z\n- d\n", set("z", 1)},
		{"set an empty element", "-\n- b\n", "- z\n- b\n", set("z", 0)},
		{"set deep in a list", "r:\n- id: a\n  act: ask # c\n- id: b\n", "r:\n- id: a\n  act: allow # c\n- id: b\n", set("allow", "r", 0, "act")},
		{"add a key to an item", "r:\n- id: a\n- id: b\n", "r:\n- id: a\n  act: ask\n- id: b\n", set("ask", "r", 0, "act")},
		{"add a key after a nested one", "p:\n  a:\n    - x\n    - y # c\n\nq: 1\n", "p:\n  a:\n    - x\n    - y # c\n  b: 2\n\nq: 1\n", set(2, "p", "b")},
		{"add a key before another", "p:\n  a: 1\n  # all else\n  \"*\": ask\n", "p:\n  a: 1\n  b: 2\n  # all else\n  \"*\": ask\n", setBefore("*", 2, "p", "b")},
		{"add a key before the first", "p:\n  \"*\": ask\n", "p:\n  b: 2\n  \"*\": ask\n", setBefore("*", 2, "p", "b")},
		{"add a key to a flow mapping", "p: {a: 1}\n", "p: {a: 1, b: \"c, d\"}\n", set("c, d", "p", "b")},
		{"fill a flow mapping", "p: {}\n", "p: {b: 1}\n", set(1, "p", "b")},
		{"insert in front", "l:\n  # x\n  - a\n", "l:\n  # x\n  - z\n  - a\n", insert(0, "z", "l")},
		{"append after a literal", "l:\n  - |\n    x\n\n# c\n", "l:\n  - |\n    x\n  - z\n\n# c\n", add("z", "l")},
		{"append after a kept literal", "l:\n  - |+\n    x\n\nb: 1\n", "l:\n  - |+\n    x\n\n  - z\nb: 1\n", add("z", "l")},
		{"append to a list in a list", "- - a\n  - b\n- c\n", "- - a\n  - b\n  - z\n- c\n", add("z", 0)},
		{"delete a key", "a: 1\nb: # x\n  - 2 # y\n# z\nc: 3\n", "a: 1\n# z\nc: 3\n", del("b")},
		{"delete the last key", "a: 1\nb: 2", "a: 1", del("b")},
		{"delete an element", "l:\n  - a # x\n  - b\n  - c\n", "l:\n  - a # x\n  - c\n", del("l", 1)},
		{"delete the only element", "l: # x\n  - a\nm: 1\n", "l: [] # x\nm: 1\n", del("l", 0)},
		{"delete the only key of the file", "a: 1\n", "{}\n", del("a")},
		{"delete the first key of an item", "- a: 1\n  b: 2\n", "- b: 2\n", del(0, "a")},
		{"delete from a flow list", "l: [a, b, c]\n", "l: [a, c]\n", del("l", 1)},
		{"byte order mark", "\ufeffa: 1\n", "\ufeffa: 2\n", set(2, "a")},
		{"JSON in YAML", "{\n  \"a\": [1]\n}\n", "{\n  \"a\": [1, 2]\n}\n", add(2, "a")},
		{"a pair without braces", "l: [a: 1, b]\n", "l: [a: 2, b]\n", set(2, "l", 0, "a")},
		{"another key beside a pair", "l: [a: 1, b]\n", "", set(2, "l", 0, "c")},
		{"no key in place of a pair", "l: [a: 1, b]\n", "", del("l", 0, "a")},
		{"after a pair", "l: [a: 1]\n", "l: [a: 1, z]\n", add("z", "l")},
		{"through an alias", "a: &x\n  l: [1]\nb: *x\n", "", add(2, "b", "l")},
		{"what an alias shares", "a: &x\n  l: [1]\nb: *x\n", "", add(2, "a", "l")},
		{"an alias itself", "a: &x [1]\nb: *x\n", "a: &x [1]\nb: z\n", set("z", "b")},
		{"override what is merged", "a: &x {k: 1}\nb:\n  <<: *x\n", "a: &x {k: 1}\nb:\n  k: 2\n  <<: *x\n", set(2, "b", "k")},
		{"through what is merged", "a: &x {k: {l: 1}}\nb:\n  <<: *x\n", "", set(2, "b", "k", "l")},
		{"beside what is merged", "a: &x {k: 1}\nb:\n  <<: *x\n  m: 1\n", "a: &x {k: 1}\nb:\n  <<: *x\n  m: 1\n  n: 2\n", set(2, "b", "n")},
		{"a literal that the edit would lengthen", "a: |\n  x", "", set(1, "b")},
		{"a tab", "a:\n\t- x\n", "", add(1, "a")},
		{"two documents", "a: 1\n---\nb: 1\n", "", set(1, "a")},
		{"equal keys", "a: 1\na: 2\n", "", set(1, "b")},
	})
}

// Every text must come back as it was, whatever it looks like.
func TestYAMLQuoting(t *testing.T) {
	words := []string{"", " ", "a", "a b", "yes", "No", "on", "null", "~", "true", "12", "-1", "1.5", "0x1f", "1e3", "010", "1:30", "2020-01-01", ".inf", "=", "<<",
		"a: b", "a:", ":a", "a #b", "#a", "a#b", "- a", "-", "-a", "? a", "?", "[a]", "{a}", "a, b", "a]", "*", "*a", "&a", "!a", "|", ">", "'", "\"", "it's", `"q"`, "%a", "@a", "`a`",
		`a\b`, `\d+'`, "a\nb", "a\tb", "a\rb", "\u2028", "\u0085", "\ufeff", "\u200b", "é", "日本", "😀", "---", "...", "--- a", " a", "a ", "git *", "rm -rf /*", "re:^(a|b)$", "Bash(git:*)", "~/.ssh/**", "C:\\x", "\x01", "\x7f", "\x1b[0m", "y", "n", "a\n", "\n"}
	for _, w := range words {
		for _, src := range []string{"l:\n  - x\n", "l: ['x']\n", "m: {k: 'v'}\nl: [x]\n"} {
			out, err := textedit.YAML.Append([]byte(src), w, "l")
			if err != nil {
				t.Errorf("%q into %q: %v", w, src, err)
				continue
			}
			out, err = textedit.YAML.Set(out, w, "m", w)
			if err != nil {
				t.Errorf("%q as key into %q: %v", w, out, err)
				continue
			}
			for _, opt := range []yamlx.Options{{}, {V11: true}} {
				n, problems := yamlx.Parse(out, opt)
				if len(problems) > 0 {
					t.Errorf("%q: %q: %v", w, out, problems)
				}
				if v := n.At("l", -1); !v.Is(tree.String) || v.Str != w {
					t.Errorf("%q came back as %v in %q", w, v, out)
				}
				if v := n.At("m", w); !v.Is(tree.String) || v.Str != w {
					t.Errorf("key %q came back as %v in %q", w, v, out)
				}
			}
		}
	}
	if out, err := textedit.YAML.Append(nil, "a\x00b", "l"); err == nil {
		t.Errorf("NUL written: %q", out)
	}
}
