package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/diff"
)

// An Exported is a policy of obstat.yaml in the language of an agent, so that the agent's own prompt agrees with
// obstat.
type Exported struct {
	V      int      `json:"v"`
	To     string   `json:"to"`
	File   string   `json:"file"`
	Text   string   `json:"text"`
	Said   int      `json:"said"`
	Unsaid []Unsaid `json:"unsaid"`
	// Looser are calls that the agent by itself would decide more freely: where its language, or the agent, has no
	// word for a rule. obstat decides them all the same.
	Looser []diff.Region `json:"looser"`
	Tried  int           `json:"tried"`
}

// A Target is an agent's language.
type Target struct {
	Dialect dialect.Dialect
	// File is where the agent looks for the policy.
	File string
	// Rule writes one target of a sentence as a rule; "" where the language has none.
	Rule func(v obstat.Verdict, verb, target string) string
	// Text writes the file; rules are by verdict.
	Text func(rules map[obstat.Verdict][]string) string
}

// exported is a rule of the export, and the sentence it says.
type exported struct {
	verdict obstat.Verdict
	text    string
	from    *obstat.Rule
}

// Export writes a native policy in another language and proves it: allow rules by which a call that was tried is freer
// than in obstat are taken out again.
func Export(l *dialect.Loaded, t *Target) (*Exported, error) {
	out := &Exported{V: 1, To: t.Dialect.Name(), File: t.File, Unsaid: []Unsaid{}, Looser: []diff.Region{}}
	rules := exports(l, t, out)
	for {
		out.Text = t.Text(byVerdict(rules))
		there, err := dialect.Load(t.Dialect, &dialect.Input{Files: []dialect.File{{Name: t.File, Data: []byte(out.Text)}},
			Home: diff.Home})
		if err != nil {
			return nil, fmt.Errorf("the file that was made does not load: %w", err)
		}
		rep := diff.Compare(l.Policy, there.Policy, &diff.Options{Limit: 3_000, Readable: true})
		out.Tried = rep.Tried
		left := without(rules, rep.Regions, out)
		if len(left) == len(rules) {
			out.Said = len(rules)
			for _, r := range rep.Regions {
				if r.Looser {
					out.Looser = append(out.Looser, r)
				}
			}
			return out, nil
		}
		rules = left
	}
}

// exports returns the rules of all sentences that the language can say. An exception or a condition of a denial
// or an ask is left out, which is stricter; an allow with one is left out itself.
func exports(l *dialect.Loaded, t *Target, out *Exported) (rules []exported) {
	seen := map[string]bool{}
	for _, list := range l.Program.Rules {
		for i := range list {
			r := &list[i]
			key := r.Verdict.String() + r.Source
			if !slices.Contains(l.Input.Names(), r.Pos.File) || seen[key] {
				continue
			}
			seen[key] = true
			rules = append(rules, sentenceRules(r, t, out)...)
		}
	}
	slices.SortStableFunc(rules, func(a, b exported) int {
		return cmp.Or(cmp.Compare(a.from.Pos.Line, b.from.Pos.Line), cmp.Compare(a.from.Pos.Col, b.from.Pos.Col))
	})
	return rules
}

func sentenceRules(r *obstat.Rule, t *Target, out *Exported) (rules []exported) {
	p := Parts(r.Source)
	if r.Verdict == obstat.Allow && (p.Where != "" || len(p.Except) > 0) {
		out.Unsaid = append(out.Unsaid, Unsaid{r.Verdict, r.Source, r.Pos, "the language has no exceptions and conditions"})
		return nil
	}
	for verb := range strings.FieldsFuncSeq(strings.ReplaceAll(p.Verbs, " and ", " "), isSeparator) {
		for _, target := range p.Targets {
			text := t.Rule(r.Verdict, verb, target)
			switch {
			case text == "":
				out.Unsaid = append(out.Unsaid, Unsaid{r.Verdict, verb + " " + target, r.Pos, "the language has no such rule"})
			case !slices.ContainsFunc(rules, func(e exported) bool { return e.text == text }):
				rules = append(rules, exported{r.Verdict, text, r})
			}
		}
	}
	return rules
}

func isSeparator(r rune) bool { return r == ' ' || r == ',' }

// without takes out allow rules that free a call.
func without(rules []exported, regions []diff.Region, out *Exported) []exported {
	lines := strings.Split(out.Text, "\n")
	frees := func(e *exported, r *diff.Region) bool {
		at := r.NowBy.Pos.Line - 1
		_, last, _ := strings.Cut(e.text, "\t")
		here := last != "" && at >= 0 && at < len(lines) && strings.Contains(lines[at], jsonx.Quote(last)+":")
		return r.Looser && r.Now == obstat.Allow && (r.NowBy.Rule == e.text || here)
	}
	return slices.DeleteFunc(slices.Clone(rules), func(e exported) bool {
		at := slices.IndexFunc(regions, func(r diff.Region) bool { return e.verdict == obstat.Allow && frees(&e, &r) })
		if at >= 0 {
			out.Unsaid = append(out.Unsaid, Unsaid{e.verdict, e.from.Source, e.from.Pos,
				fmt.Sprintf("`%s` would also allow %s, which is %s", e.text, witnessText(regions[at].Call), past(regions[at].Was))})
		}
		return at >= 0
	})
}

func witnessText(c *obstat.Call) string { return fmt.Sprintf("%s %s", c.Tool, c.Input) }

func byVerdict(rules []exported) map[obstat.Verdict][]string {
	out := map[obstat.Verdict][]string{}
	for _, e := range rules {
		if !slices.Contains(out[e.verdict], e.text) {
			out[e.verdict] = append(out[e.verdict], e.text)
		}
	}
	return out
}

// ClaudeRule writes a target in Claude Code's notation, `Bash(git push *)`.
func ClaudeRule(_ obstat.Verdict, verb, target string) string {
	exact, isExact := strings.CutPrefix(target, "exactly ")
	exact = strings.Trim(exact, `"`)
	switch verb {
	case "run":
		switch {
		case target == "anything":
			return "Bash"
		case strings.ContainsAny(exact, "()"):
			return ""
		case isExact:
			return "Bash(" + exact + ")"
		}
		return "Bash(" + exact + " *)"
	case "read", "write", "delete":
		tool := map[bool]string{true: "Read", false: "Edit"}[verb == "read"]
		if target == "anything" {
			return tool
		}
		if p := claudePath(target); p != "" {
			return tool + "(" + p + ")"
		}
	case "connect":
		if target == "anywhere" {
			return "WebFetch"
		}
		return "WebFetch(domain:" + target + ")"
	case "tool":
		if !strings.Contains(target, " ") {
			return target
		}
	}
	return ""
}

// claudePath writes a place of obstat.yaml as a path of Claude Code's; "" for a place with a name of its own.
func claudePath(target string) string {
	switch {
	case target == "workspace":
		return "/**"
	case strings.HasPrefix(target, "~/"), strings.HasPrefix(target, "**/"):
		return target
	case strings.HasPrefix(target, "/"):
		return "/" + target
	case strings.HasPrefix(target, "./"):
		return target[1:]
	case strings.ContainsAny(target, "./*"):
		return target
	}
	return ""
}

// CodexRule writes a command as a rule of Codex's.
func CodexRule(v obstat.Verdict, verb, target string) string {
	words := strings.Fields(strings.Trim(target, `"`))
	decision := map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Ask: "prompt", obstat.Deny: "forbidden"}[v]
	if verb == "connect" && target != "anywhere" && !strings.Contains(target, "*") {
		return fmt.Sprintf("network_rule(host=%s, protocol=\"https\", decision=%s)", jsonx.Quote(target),
			jsonx.Quote(strings.Replace(decision, "forbidden", "deny", 1)))
	}
	plain := len(words) > 0 && words[0] != "exactly" && !strings.ContainsAny(target, `*'"`+"`$")
	if verb != "run" || target == "anything" || !plain {
		return ""
	}
	for i, w := range words {
		words[i] = jsonx.Quote(w)
	}
	return "prefix_rule(pattern=[" + strings.Join(words, ", ") + "], decision=" + jsonx.Quote(decision) + ")"
}

// CursorRule writes a target as a permission of Cursor's, which has none to ask.
func CursorRule(v obstat.Verdict, verb, target string) string {
	text := ClaudeRule(v, verb, target)
	tool, content, called := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	switch {
	case v == obstat.Ask || text == "":
		return ""
	case tool == "Bash" && !called:
		return "Shell(*)"
	case tool == "Bash":
		base, args, _ := strings.Cut(content, " ")
		return "Shell(" + base + ":" + args + ")"
	case tool == "Edit" || tool == "Read":
		content = strings.Replace(cmp.Or(content, "**"), "//", "/", 1)
		if strings.HasPrefix(content, "/") && !strings.HasPrefix(target, "/") {
			content = content[1:]
		}
		return map[string]string{"Edit": "Write", "Read": "Read"}[tool] + "(" + content + ")"
	case tool == "WebFetch":
		return "WebFetch(" + strings.TrimPrefix(cmp.Or(content, "*"), "domain:") + ")"
	}
	if server, name, ok := strings.Cut(strings.TrimPrefix(text, "mcp__"), "__"); ok && strings.HasPrefix(text, "mcp__") {
		return "Mcp(" + server + ":" + name + ")"
	}
	return ""
}

// PermissionsText writes lists of rules as the permissions of a JSON file.
func PermissionsText(names map[obstat.Verdict]string) func(map[obstat.Verdict][]string) string {
	return func(rules map[obstat.Verdict][]string) string {
		var b strings.Builder
		b.WriteString("{\n  \"permissions\": {")
		first := true
		for _, v := range []obstat.Verdict{obstat.Allow, obstat.Ask, obstat.Deny} {
			if names[v] == "" {
				continue
			}
			if !first {
				b.WriteString(",")
			}
			first = false
			fmt.Fprintf(&b, "\n    %s: [", jsonx.Quote(names[v]))
			for i, r := range rules[v] {
				if i > 0 {
					b.WriteString(",")
				}
				b.WriteString("\n      " + jsonx.Quote(r))
			}
			if len(rules[v]) > 0 {
				b.WriteString("\n    ")
			}
			b.WriteString("]")
		}
		b.WriteString("\n  }\n}\n")
		return b.String()
	}
}

// LinesText writes rules one a line, the denials first.
func LinesText(rules map[obstat.Verdict][]string) string {
	out := "# Exported by obstat policy export.\n"
	for _, v := range []obstat.Verdict{obstat.Deny, obstat.Ask, obstat.Allow} {
		for _, r := range rules[v] {
			out += r + "\n"
		}
	}
	return out
}

// GeminiRule writes a command as a rule of Gemini CLI's: the values of a [[rule]].
func GeminiRule(_ obstat.Verdict, verb, target string) string {
	switch {
	case verb == "run" && target == "anything":
		return `toolName = "run_shell_command"`
	case verb == "run" && !strings.ContainsAny(target, `*"'`) && !strings.HasPrefix(target, "exactly "):
		return "toolName = \"run_shell_command\"\ncommandPrefix = " + jsonx.Quote(target)
	case verb == "tool" && !strings.ContainsAny(target, " *"):
		return "toolName = " + jsonx.Quote(target)
	}
	return ""
}

// GeminiText writes Gemini CLI's rules, a stricter one with a higher priority.
func GeminiText(rules map[obstat.Verdict][]string) string {
	out := "# Exported by obstat policy export.\n"
	words := map[obstat.Verdict]string{obstat.Deny: "deny", obstat.Ask: "ask_user", obstat.Allow: "allow"}
	for v := obstat.Deny; v <= obstat.Allow; v++ {
		for _, r := range rules[v] {
			out += fmt.Sprintf("\n[[rule]]\n%s\ndecision = %s\npriority = %d\n", r, jsonx.Quote(words[v]), 900-100*int(v))
		}
	}
	return out
}

// OpencodeRule writes a target as a tool and a pattern of opencode's, joined by a tab.
func OpencodeRule(_ obstat.Verdict, verb, target string) string {
	exact, isExact := strings.CutPrefix(target, "exactly ")
	exact = strings.Trim(exact, `"`)
	switch {
	case verb == "run" && target == "anything":
		return "bash\t*"
	case verb == "run" && isExact:
		return "bash\t" + exact
	case verb == "run":
		return "bash\t" + exact + " *"
	case verb == "connect":
		return "" // opencode has no rules for hosts
	case verb == "tool" && !strings.Contains(target, " "):
		return target + "\t*"
	}
	p := claudePath(target)
	if target == "anything" || target == "workspace" {
		p = "**"
	}
	tool := map[string]string{"read": "read", "write": "edit", "delete": "edit"}[verb]
	if tool == "" || p == "" || strings.HasPrefix(p, "//") {
		return ""
	}
	if below, ok := strings.CutSuffix(strings.TrimPrefix(p, "/"), "/**"); ok && below != "" {
		p = below + "/*"
	}
	return tool + "\t" + strings.Replace(strings.TrimPrefix(p, "/"), "**", "*", 1)
}

// OpencodeText writes opencode's permissions: the last pattern that matches counts, so the strictest come last.
func OpencodeText(rules map[obstat.Verdict][]string) string {
	var tools []string
	of := map[string][]string{}
	for _, v := range []obstat.Verdict{obstat.Allow, obstat.Ask, obstat.Deny} {
		for _, r := range rules[v] {
			tool, pat, _ := strings.Cut(r, "\t")
			if of[tool] == nil {
				tools = append(tools, tool)
				of[tool] = []string{"\"*\": \"ask\""}
			}
			if entry := jsonx.Quote(pat) + ": " + jsonx.Quote(v.String()); pat == "*" {
				of[tool][0] = entry
			} else {
				of[tool] = append(of[tool], entry)
			}
		}
	}
	slices.Sort(tools)
	var b strings.Builder
	b.WriteString("{\n  \"permission\": {")
	for i, tool := range tools {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n    %s: {\n      %s\n    }", jsonx.Quote(tool), strings.Join(of[tool], ",\n      "))
	}
	b.WriteString("\n  }\n}\n")
	return b.String()
}
