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
			x.out.Proofs = append(x.out.Proofs, Proof{File: h.File.Name, Event: h.Event, Canary: c.rule.String(), Outcome: outcome.String(), Held: outcome == agent.Blocked, Exit: reply.Exit})
			if outcome != agent.Blocked {
				x.Add(Error, "rule-not-held", h, "obstat explain --agent "+x.Agent.Name+" shows why", "at %s, the deny rule %s (%s) does not stop %q", h.Event, c.rule, c.rule.Pos, c.text)
			}
			break
		}
	}
}

// ruleCanaries returns calls of the kinds that agents have, each denied by a rule: of every kind of tools
// the first rules whose pattern says what such a call looks like.
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

// ruleCanaryOf returns the call that a rule denies, if one can be told from it.
func ruleCanaryOf(l *dialect.Loaded, r *obstat.Rule, dir string) (c ruleCanary, ok bool) {
	name, _, _ := strings.Cut(r.Tool.Text, "|") // Claude Code's rules are for several names: Bash|Monitor
	tool, known := effect.Lookup(name)
	if r.Verdict != obstat.Deny || !known || r.Tool.Flavour != pattern.Exact && r.Tool.Flavour != pattern.Full {
		return c, false
	}
	text := strings.NewReplacer(":*", " obstat-canary", "**", "obstat-canary", "*", "obstat-canary", "?", "x").Replace(r.Pattern.Text)
	if r.Pattern.IsZero() {
		text = "obstat-canary"
	}
	c = ruleCanary{r, tool.Canonical, strings.TrimPrefix(text, "//")}
	fields := map[string]string{}
	switch tool.Canonical {
	case "shell":
		fields["command"] = c.text
	case "write", "edit", "delete":
		if c.text = strings.TrimPrefix(c.text, "/"); !filepath.IsAbs(text) || !strings.HasPrefix(r.Pattern.Text, "//") {
			c.text = filepath.Join(dir, c.text)
		}
		for _, f := range tool.Paths {
			if slices.Contains([]string{"file_path", "filePath", "path"}, f) {
				fields[f] = c.text
			}
		}
		if l.Dialect.Name() == "opencode" {
			fields = map[string]string{"filePath": c.text}
		}
	case "read":
		if !r.Pattern.IsZero() && filepath.IsAbs(r.Pattern.Text) {
			return c, false // whose root that is, the notation knows
		}
		c.text = filepath.Join(dir, c.text)
		for _, f := range tool.Paths {
			fields[f] = c.text
		}
	case "fetch", "search", "task", "skill", "mcp":
		if !r.Pattern.IsZero() {
			return c, false
		}
		switch tool.Canonical {
		case "fetch":
			c.text = "https://obstat-canary.example/"
		case "mcp":
			c.text = name
		}
		for _, f := range append(append([]string{"prompt", "query", "skill", "name"}, tool.URL...), tool.Names...) {
			fields[f] = c.text
		}
	default:
		return c, false
	}
	if strings.ContainsAny(c.text, "[]{}()|\\$`<>&;") {
		return c, false // no plain text
	}
	input, err := json.Marshal(fields)
	if err != nil {
		return c, false
	}
	d := l.Policy.Decide(&obstat.Call{Tool: name, Input: input, Dir: dir, Roots: []string{dir}, Project: dir}, nil)
	return c, d.Verdict == obstat.Deny && d.Rule != nil && d.Rule.String() == r.String()
}
