package doctor

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// maxRuleCanaries bounds how many of a policy's rules are tried in each agent for a kind of tools.
const maxRuleCanaries = 4

// A ruleCanary is a call that a deny rule of the policy is about.
type ruleCanary struct {
	rule       *obstat.Rule
	kind, text string
}

// rules sends calls that deny rules of the policy in force are about, one of each kind of tools, in the
// agent's own form: a rule that is shown and not held is an error.
func (x *exam) rules(ctx context.Context) {
	if x.Find == nil {
		return
	}
	loaded, err := x.Find(x.Agent.Name)
	if err != nil {
		return // that is told elsewhere
	}
	for _, c := range ruleCanaries(loaded, x.Dir) {
		for _, h := range x.Hooks {
			stdin := h.Forge(x.Dir, c.kind, c.text)
			if h.Idle || !x.safe(h) || stdin == nil {
				continue
			}
			argv, env := h.Command(x.Dir, x.Env)
			reply := x.Run(ctx, &Command{Argv: argv, Dir: x.Dir, Env: env, Stdin: stdin})
			outcome := h.Outcome(reply)
			x.out.Proofs = append(x.out.Proofs, Proof{File: h.File.Name, Event: h.Event, Canary: c.rule.String(),
				Outcome: outcome.String(), Held: outcome == agent.Blocked, Exit: reply.Exit})
			if outcome != agent.Blocked {
				x.Add(Error, "rule-not-held", h, "obstat explain --agent "+x.Agent.Name+" shows why",
					"at %s, the deny rule %s (%s) does not stop %q", h.Event, c.rule, c.rule.Pos, c.text)
			}
			break
		}
	}
}

// ruleCanaries returns calls of the kinds that agents have, each denied by a rule: of every kind of tools
// the first rules from whose pattern such a call can be made.
func ruleCanaries(loaded []*dialect.Loaded, dir string) (out []ruleCanary) {
	tried := map[string]int{}
	for _, l := range loaded {
		for _, name := range slices.Sorted(maps.Keys(l.Program.Rules)) {
			for i := range l.Program.Rules[name] {
				r := &l.Program.Rules[name][i]
				if c, ok := ruleCanaryOf(l, r, dir); ok && tried[c.kind] < maxRuleCanaries {
					tried[c.kind]++
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// plainText replaces the marks of patterns by text: `rm *` is about `rm obstat-canary`.
var plainText = strings.NewReplacer(":*", " obstat-canary", "**", "obstat-canary", "*", "obstat-canary", "?", "x")

// ruleCanaryOf returns the call that a rule denies, if one can be told from it.
func ruleCanaryOf(l *dialect.Loaded, r *obstat.Rule, dir string) (c ruleCanary, ok bool) {
	name, _, _ := strings.Cut(r.Tool.Text, "|") // Claude Code's rules are for several names: Bash|Monitor
	tool, known := effect.Lookup(name)
	if r.Verdict != obstat.Deny || !known || r.Tool.Flavour != pattern.Exact && r.Tool.Flavour != pattern.Full {
		return c, false
	}
	c = ruleCanary{r, tool.Canonical, "obstat-canary"}
	if !r.Pattern.IsZero() {
		c.text = plainText.Replace(r.Pattern.Text)
	}
	fields := c.fields(l, name, &tool, dir)
	if fields == nil || strings.ContainsAny(c.text, "[]{}()|\\$`<>&;") { // no plain text
		return c, false
	}
	input := map[string]string{}
	for _, f := range fields {
		input[f] = c.text
	}
	b, err := json.Marshal(input)
	if err != nil {
		return c, false
	}
	d := l.Policy.Decide(&obstat.Call{Tool: name, Input: b, Dir: dir, Roots: []string{dir}, Project: dir}, nil)
	return c, d.Verdict == obstat.Deny && d.Rule != nil && d.Rule.String() == r.String()
}

// fields returns the fields of the tool's input that get the canary's text, which it makes fit for the
// kind of tool; nil where no such call can be told from the rule.
func (c *ruleCanary) fields(l *dialect.Loaded, name string, tool *effect.Tool, dir string) []string {
	all := c.rule.Pattern.IsZero()
	switch tool.Canonical {
	case "shell":
		c.text = strings.TrimPrefix(c.text, "//")
		return []string{"command"}
	case "write", "edit", "delete":
		whole := strings.HasPrefix(c.rule.Pattern.Text, "//") // from the root, as Claude Code writes it
		if c.text = strings.TrimPrefix(strings.TrimPrefix(c.text, "//"), "/"); !whole {
			c.text = filepath.Join(dir, c.text)
		}
		if own := l.Program.Faces[obstat.FaceWrite].Field; slices.Contains(pathFields, own) {
			return []string{own}
		}
		return slices.DeleteFunc(slices.Clone(tool.Paths), func(f string) bool { return !slices.Contains(pathFields, f) })
	case "read":
		if !all && filepath.IsAbs(c.rule.Pattern.Text) {
			return nil // only the notation knows which root that is
		}
		c.text = filepath.Join(dir, c.text)
		return tool.Paths
	case "fetch", "search", "task", "skill", "mcp":
		if !all {
			return nil
		}
		switch tool.Canonical {
		case "fetch":
			c.text = "https://obstat-canary.example/"
		case "mcp":
			c.text = name
		}
		return slices.Concat([]string{"prompt", "query", "skill", "name"}, tool.URL, tool.Names)
	}
	return nil
}

// pathFields are the usual names of the field with a file's path.
var pathFields = []string{"file_path", "filePath", "path"}
