package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// suggestions reads the rules that Claude Code would add; it may suggest other
// things as well, such as a mode, which are nobody's business here.
func (p *payload) suggestions(e *Event) error {
	list := p.root.Get("permission_suggestions")
	if list == nil || list.Is(tree.Null) {
		return nil
	}
	if !list.Is(tree.Array) {
		return fmt.Errorf("permission_suggestions is %s, not a list", list.Kind)
	}
	for _, n := range list.Elems {
		rules := n.Get("rules")
		if stringOf(n, "type") != "addRules" || stringOf(n, "behavior") != "allow" || !rules.Is(tree.Array) {
			continue
		}
		for _, r := range rules.Elems {
			tool, content := stringOf(r, "toolName"), r.Get("ruleContent")
			switch {
			case tool == "":
			case content == nil:
				e.Suggestions = append(e.Suggestions, obstat.Offer{Text: tool})
			case content.Is(tree.String):
				e.Suggestions = append(e.Suggestions, obstat.Offer{Text: tool + "(" + content.Str + ")"})
			}
		}
	}
	return nil
}

// stringOf returns a text of an object, "" if there is none.
func stringOf(n *tree.Node, key string) string {
	if v := n.Get(key); v.Is(tree.String) {
		return v.Str
	}
	return ""
}

// Exact returns what the agent suggests to remember for this very command and no
// other.
func (e *Event) Exact() (obstat.Offer, bool) {
	if e.Call == nil {
		return obstat.Offer{}, false
	}
	root, _ := jsonx.Parse(e.Call.Input, jsonx.Options{})
	command := stringOf(root, "command")
	if command == "" || strings.ContainsAny(command, "*:\\\n") { // these mean something in a rule
		return obstat.Offer{}, false
	}
	i := slices.IndexFunc(e.Suggestions, func(o obstat.Offer) bool { return o.Text == e.Call.Tool+"("+command+")" })
	if i < 0 {
		return obstat.Offer{}, false
	}
	return e.Suggestions[i], true
}

// permissionUpdates writes rules the way "always allow" does: one update for each
// place that they are remembered in.
func permissionUpdates(offers []obstat.Offer) []any {
	var out []any
	for _, place := range []string{"session", "localSettings", "userSettings"} {
		var rules []any
		for i := range offers {
			if claudePlace(offers[i].Scope) == place {
				rules = append(rules, claudeRule(offers[i].Text))
			}
		}
		if rules != nil {
			out = append(out, object{{Key: "type", Value: "addRules"}, {Key: "rules", Value: rules}, {Key: "behavior", Value: "allow"}, {Key: "destination", Value: place}})
		}
	}
	return out
}

// claudePlace returns where Claude Code remembers a rule for a scope: no further
// than the project, unless it is said to be for the user.
func claudePlace(scope string) string {
	switch scope {
	case "session", "agent":
		return "session"
	case "user":
		return "userSettings"
	}
	return "localSettings"
}

func claudeRule(text string) object {
	tool, content, has := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	r := object{{Key: "toolName", Value: tool}}
	if has {
		r = append(r, field("ruleContent", content))
	}
	return r
}
