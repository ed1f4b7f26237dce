package jiuwen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
)

// A Caller carries out requests; a *Handler is one, and so is a connection to
// another process's.
type Caller interface {
	Call(method string, params json.RawMessage) (json.RawMessage, error)
}

var _ Caller = (*Handler)(nil)

// A Command is /permissions: it shows the settings, sets a tool's level, or creates a
// rule (section 6).
type Command struct {
	Caller Caller
	// Locale is the language of the answers: "zh" and its kin Chinese, anything
	// else English.
	Locale string
}

// An Item is one answer of a Command.
type Item struct {
	Kind string `json:"kind"` // "info" or "error"
	Text string `json:"text"`
	// Rule is the id of the rule that was created or updated.
	Rule string `json:"-"`
}

// OK reports whether nothing went wrong.
func (it Item) OK() bool { return it.Kind == "info" }

// withPattern reads TOOL(PATTERN).
func withPattern(target string) (tool, pattern string, ok bool) {
	tool, rest, open := strings.Cut(target, "(")
	pattern, closed := strings.CutSuffix(rest, ")")
	ok = open && closed && tool != "" && pattern != "" && !strings.ContainsAny(tool, "() \t\n\r\f")
	return tool, pattern, ok
}

// Run carries out the command; args is the text after its name, `allow bash(ls *)`.
func (c *Command) Run(args string) Item {
	parts := strings.FieldsFunc(args, func(r rune) bool { return pytext.Strip(string(r)) == "" })
	if len(parts) == 0 {
		return c.show()
	}
	v, err := obstat.ParseVerdict(strings.ToLower(parts[0]))
	if err != nil {
		return c.fail(msgBadLevel, parts[0])
	}
	target := strings.Join(parts[1:], " ")
	switch tool, pattern, ok := withPattern(target); {
	case target == "":
		return c.fail(msgNoTool)
	case ok:
		return c.setRule(v.String(), strings.ToLower(tool), pattern)
	case strings.ContainsAny(target, "() "):
		return c.fail(msgBadTool, target)
	}
	return c.setTool(v.String(), strings.ToLower(target))
}

func (c *Command) call(method string, params jsonx.Object) (*tree.Node, error) {
	raw, err := jsonx.Marshal(params)
	if err != nil {
		return nil, err
	}
	payload, err := c.Caller.Call(method, raw)
	if err != nil {
		return nil, err
	}
	n, problems := jsonx.Parse(payload, jsonx.Options{NUL: true})
	if tree.Fatal(problems) {
		return nil, fmt.Errorf("%s: the answer cannot be read", method)
	}
	return n, nil
}

func (c *Command) setTool(level, tool string) Item {
	if _, err := c.call("permissions.tools.update", jsonx.Object{{Key: "tool", Value: tool},
		{Key: "level", Value: level}}); err != nil {
		return c.failed(msgSetFailed, err)
	}
	return c.say(msgSet, tool, level)
}

// setRule creates a rule, or updates the one that has the id already, which is
// the same rule with another action.
func (c *Command) setRule(level, tool, pattern string) Item {
	id := ruleID(tool, pattern)
	fields := jsonx.Object{{Key: "tools", Value: []string{tool}}, {Key: "pattern", Value: pattern},
		{Key: "action", Value: level}}
	rule := append(jsonx.Object{{Key: "id", Value: id}}, fields...)
	_, err := c.call("permissions.rules.create", jsonx.Object{{Key: "rule", Value: rule}})
	if err == nil {
		return c.wrote(id, msgCreated, tool, pattern, level)
	}
	if !taken(err) {
		return c.failed(msgCreateFailed, err)
	}
	if _, err = c.call("permissions.rules.update", jsonx.Object{{Key: "id", Value: id},
		{Key: "patch", Value: fields}}); err != nil {
		return c.failed(msgUpdateFailed, err)
	}
	return c.wrote(id, msgUpdated, tool, pattern, level)
}

func (c *Command) wrote(id string, m message, tool, pattern, level string) Item {
	it := c.say(m, id, tool, pattern, level)
	it.Rule = id
	return it
}

// ruleID is the id of a rule that the command makes: cli_rule_<tool>_<pattern>,
// written so that no two rules have the same. A blank of the pattern is an
// underscore, an underscore of the tool a point; characters that could be
// mistaken for these are written as %xx.
func ruleID(tool, pattern string) string {
	id := "cli_rule_" + escapeID(tool, '_', '.') + "_" + escapeID(pattern, ' ', '_')
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return id[:maxID-17] + "~" + hex.EncodeToString(sum[:8])
}

const maxID = 120

// escapeID keeps plain characters, writes one character as another, and the rest
// as %xx, so that the text can be told from the result.
func escapeID(s string, from, to byte) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == from:
			b.WriteByte(to)
		case c == to || c == '_' || c == '~' || c == '%' || c <= ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "%%%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// show lists the levels and rules, section 6.1.
func (c *Command) show() Item {
	tools, err := c.call("permissions.tools.get", jsonx.Object{})
	if err != nil {
		return c.failed(msgGetFailed, err)
	}
	rules, err := c.call("permissions.rules.get", jsonx.Object{})
	if err != nil {
		return c.failed(msgGetFailed, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "── %s ──\n", c.text(msgTools))
	levels := tools.Get("tools")
	if !levels.Is(tree.Object) {
		levels = &tree.Node{}
	}
	for _, m := range levels.Members {
		level := m.Value
		if level.Is(tree.Object) {
			level = level.Get("*")
		}
		fmt.Fprintf(&b, "%s → %s\n", m.Key, plain(level))
	}
	fmt.Fprintf(&b, "── %s ──\n", c.text(msgRules))
	for _, r := range rules.Get("rules").Items() {
		b.WriteString(showRule(r))
	}
	return Item{Kind: "info", Text: strings.TrimSuffix(b.String(), "\n")}
}

func showRule(r *tree.Node) string {
	says := "action: " + plain(r.Get("action"))
	if r.Get("action") == nil {
		says = "severity: " + plain(r.Get("severity"))
	}
	names := []string{}
	if list := r.Get("tools"); list.Is(tree.Array) {
		for _, e := range list.Elems {
			names = append(names, plain(e))
		}
	} else {
		names = append(names, plain(list))
	}
	return fmt.Sprintf("[%s] %s pattern: %s %s\n", plain(r.Get("id")), strings.Join(names, ", "),
		plain(r.Get("pattern")), says)
}

func plain(n *tree.Node) string {
	if n == nil {
		return "-"
	}
	return pytext.Str(n)
}

func (c *Command) say(m message, args ...any) Item {
	return Item{Kind: "info", Text: fmt.Sprintf(c.text(m), args...)}
}

func (c *Command) fail(m message, args ...any) Item {
	return Item{Kind: "error", Text: fmt.Sprintf(c.text(m), args...)}
}

func (c *Command) failed(m message, err error) Item {
	var e *RPCError
	if errors.As(err, &e) {
		return c.fail(m, e.Msg)
	}
	return c.fail(m, err)
}
