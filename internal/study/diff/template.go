package diff

import (
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// A kind is what a template's text is.
type kind uint8

const (
	command kind = iota
	file
	host
	word
)

// tidy is the pattern of texts of the kind as people write them.
func (k kind) tidy() obstat.Text {
	return obstat.Text{Flavour: pattern.Full, Text: [...]string{
		command: `[!-~]+( [!-~]+)*`,
		file:    `([^/.\\\x00-\x20~-][^/\\\x00-\x20]*|\.[^/.\\\x00-\x20][^/\\\x00-\x20]*)(/([^/.\\\x00-\x20][^/\\\x00-\x20]*|\.[^/.\\\x00-\x20][^/\\\x00-\x20]*))*`,
		host:    `[a-z0-9]([a-z0-9.-]*[a-z0-9])?`,
		word:    `[!-~]([ -~]*[!-~])?`,
	}[k]}
}

// endings are what a sample may go on with: what `x` would do cannot be seen, and `x --help`
// might be.
func (k kind) endings() []string {
	switch k {
	case command:
		return []string{"", " x", " --help", " x.txt", " ./x"}
	case file:
		return []string{"", "/x", ".txt", "/x.txt"}
	}
	return []string{""}
}

// usual are texts that are tried where more than rules for texts have changed.
func (k kind) usual() []string {
	switch k {
	case command:
		return []string{"ls", "true", "x", "git status", "cat x", "touch x", "rm x", "rm -rf /", "cat /etc/passwd",
			"curl https://example.com", "sudo ls", "ls; x", "$x"}
	case file:
		return []string{"x", "src/x", ".env", ".git/config", "x.txt", ".ssh/id_rsa", "tmp/x"}
	case host:
		return []string{"example.com", "x"}
	}
	return []string{"x"}
}

// byPath is a command by the path of its program.
const byPath = "x/%"

// A template is a form of calls: a tool, and a field of its input that holds a text.
type template struct {
	tool, key string
	kind      kind
	wrap      string // around the text, which stands for %
}

func (t *template) call(text string) *obstat.Call {
	if t.key == "" {
		return callOf(t.tool, map[string]any{})
	}
	return callOf(t.tool, map[string]any{t.key: strings.ReplaceAll(t.wrap, "%", text)})
}

// templatesOf returns the forms of calls to a tool; fields are those that rules look at.
func templatesOf(tool string, fields []string) (out []template) {
	t, known := effect.Lookup(tool)
	add := func(k kind, keys []string, wraps ...string) {
		for i, key := range keys {
			if i > 0 && !slices.Contains(fields, key) && i >= maxKeys {
				continue
			}
			for _, w := range wraps {
				out = append(out, template{tool, key, k, w})
			}
		}
	}
	switch {
	case t.Canonical == "patch":
		add(file, t.Command, "*** Begin Patch\n*** Add File: %\n+x\n*** End Patch\n")
	case len(t.Command) > 0:
		add(command, t.Command, "%")
		add(command, t.Command[:1], byPath) // rules may see the last name of a program alone
		add(file, t.Command[:1], "cat %", "touch %", "rm %", "cat /%", "touch /%", "cat ~/%", "touch ~/%")
		add(host, t.Command[:1], "curl https://%/")
	}
	add(file, t.Paths, "%", "/%", Home+"/%")
	add(host, t.URL, "https://%/", "%")
	switch t.Canonical {
	case "task":
		add(word, []string{"subagent_type", "agent_type", "agent_name"}, "%")
	case "skill":
		add(word, []string{"skill", "name", "command"}, "%")
	case "search":
		add(word, []string{"query"}, "%")
	case "glob", "grep":
		add(word, []string{"pattern"}, "%")
	}
	if !known || t.Canonical == "mcp" {
		add(file, []string{"path"}, "%")
		for _, f := range fields {
			if k := word; f != "path" {
				if slices.Contains(pathFields(), f) {
					k = file
				}
				add(k, []string{f}, "%")
			}
		}
	}
	return append(out, template{tool: tool, kind: word})
}

// pathFields are the fields of tools' inputs that hold paths.
var pathFields = sync.OnceValue(func() (out []string) {
	for _, t := range effect.Tools() {
		out = append(out, t.Paths...)
	}
	slices.Sort(out)
	return slices.Compact(out)
})

// maxKeys is how many names of a field are tried that no rule looks at: tools of a kind do not all
// have the same.
const maxKeys = 4

// shows tells whether a policy looks at a text of the call, or at where it lies.
func shows(tr *obstat.Trace, text string) bool {
	for _, q := range tr.Questions {
		if q.Question.Tool == Outside {
			return true
		}
		for _, sub := range q.Question.Subjects {
			if strings.Contains(sub.Text, text) {
				return true
			}
		}
	}
	return false
}
