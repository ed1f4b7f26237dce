package jiuwen

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/jiuwen"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
)

func (h *request) toolsSet(p *tree.Node) (any, error) {
	tools := p.Get("tools")
	if !tools.Is(tree.Object) {
		return nil, bad("tools must be an object")
	}
	want := jsonx.Object{}
	for _, m := range tools.Members {
		name, level, err := toolLevel(m.Key, m.Value)
		if err != nil {
			return nil, err
		}
		if _, twice := want.Get(name); twice {
			return nil, bad("tools names %s twice", name)
		}
		want = append(want, jsonx.Field{Key: name, Value: level})
	}
	err := h.update(func(_ *tree.Node, src []byte) ([]byte, error) {
		return format.SetMembers(src, want, permissions, "tools")
	})
	return ok, err
}

// toolLevel checks a tool's name and level.
func toolLevel(name string, n *tree.Node) (string, string, error) {
	if name = pytext.Strip(name); name == "" {
		return "", "", bad("tool name must be non-empty")
	}
	if n.Is(tree.Object) && n.Get("*").Is(tree.String) {
		n = n.Get("*")
	}
	if !n.Is(tree.String) {
		return "", "", bad("tools[%s]: value must be allow|ask|deny or object {'*': level}", pytext.Quote(name))
	}
	v, err := obstat.ParseVerdict(strings.ToLower(pytext.Strip(n.Str)))
	if err != nil {
		return "", "", bad("tools[%s]: invalid level %s", pytext.Quote(name), pytext.Quote(n.Str))
	}
	return name, v.String(), nil
}

// toolName returns the tool that a request is about.
func toolName(p *tree.Node) (string, error) {
	for _, key := range []string{"tool", "name"} {
		if n := p.Get(key); pytext.Truthy(n) {
			if name := pytext.Strip(pytext.Str(n)); name != "" {
				return name, nil
			}
		}
	}
	return "", bad("tool is required")
}

func (h *request) toolsUpdate(p *tree.Node) (any, error) {
	name, err := toolName(p)
	if err != nil {
		return nil, err
	}
	if p.Get("level") == nil {
		return nil, bad("level is required")
	}
	name, level, err := toolLevel(name, p.Get("level"))
	if err != nil {
		return nil, err
	}
	return h.changeTools(func(sec *tree.Node, src []byte) ([]byte, error) {
		return format.Set(src, level, permissions, "tools", name)
	})
}

func (h *request) toolsDelete(p *tree.Node) (any, error) {
	name, err := toolName(p)
	if err != nil {
		return nil, err
	}
	return h.changeTools(func(sec *tree.Node, src []byte) ([]byte, error) {
		if sec.At("tools", name) == nil {
			return nil, &RPCError{"tool not found in permissions.tools", NotFound}
		}
		return format.Delete(src, permissions, "tools", name)
	})
}

// changeTools makes a change and returns the tools as they are afterwards.
func (h *request) changeTools(fn func(sec *tree.Node, src []byte) ([]byte, error)) (any, error) {
	var after *tree.Node
	err := h.update(func(sec *tree.Node, src []byte) ([]byte, error) {
		out, err := fn(sec, src)
		if err != nil {
			return nil, err
		}
		now, err := jiuwen.Section(out)
		after = now.Get("tools")
		return out, err
	})
	return jsonx.Object{{Key: "tools", Value: objectOf(after)}}, err
}

// ruleKeys are the keys of a rule, in the order in which they are written.
var ruleKeys = []string{"tools", "pattern", "severity", "action", "description", "match_type"}

func (h *request) rulesCreate(p *tree.Node) (any, error) {
	given := p.Get("rule")
	if !given.Is(tree.Object) {
		return nil, bad("rule must be object")
	}
	if !present(given, "tools") || !present(given, "pattern") {
		return nil, bad("tools and pattern are required")
	}
	fields, err := ruleFields(given)
	if err != nil {
		return nil, err
	}
	id := pytext.Strip(given.Get("id").Text())
	if id == "" {
		id = "ui_rule_" + h.newID()
	}
	rule := append(jsonx.Object{{Key: "id", Value: id}}, fields...)
	if err := checkRule(rule); err != nil {
		return nil, err
	}
	err = h.update(func(sec *tree.Node, src []byte) ([]byte, error) {
		if jiuwen.EntryIndex(sec.Get("rules"), id) >= 0 {
			return nil, bad("%s%s", existsMsg, id)
		}
		return format.Append(src, rule, permissions, "rules")
	})
	return jsonx.Object{{Key: "rule", Value: rule}}, err
}

func present(n *tree.Node, key string) bool { v := n.Get(key); return v != nil && !v.Is(tree.Null) }

// ruleFields checks the keys of a rule that are given and returns them in their
// normal form; null stays null, for an update to delete the key.
func ruleFields(given *tree.Node) (out jsonx.Object, err error) {
	for _, key := range ruleKeys {
		n := given.Get(key)
		if n == nil {
			continue
		}
		var v any
		if !n.Is(tree.Null) {
			if v, err = ruleField(key, n); err != nil {
				return nil, err
			}
		}
		out = append(out, jsonx.Field{Key: key, Value: v})
	}
	return out, nil
}

func ruleField(key string, n *tree.Node) (any, error) {
	value := pytext.Strip(pytext.Str(n))
	switch key {
	case "tools":
		return ruleToolNames(n)
	case "pattern":
		if value == "" {
			return nil, bad("pattern must be non-empty")
		}
	case "action":
		v, err := obstat.ParseVerdict(strings.ToLower(value))
		if err != nil {
			return nil, bad("invalid action %s", pytext.Quote(value))
		}
		return v.String(), nil
	case "severity":
		if !jiuwen.IsSeverity(strings.ToUpper(value)) {
			return nil, bad("invalid severity %s", pytext.Quote(value))
		}
		return strings.ToUpper(value), nil
	}
	return value, nil
}

func ruleToolNames(n *tree.Node) ([]string, error) {
	list := []*tree.Node{n}
	if n.Is(tree.Array) {
		list = n.Elems
	}
	out := []string{}
	for _, e := range list {
		if !e.Is(tree.String) {
			return nil, bad("tools must be a string or array of strings")
		}
		if name := pytext.Strip(e.Str); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, bad("tools must be a non-empty list")
	}
	return out, nil
}

func (h *request) rulesUpdate(p *tree.Node) (any, error) {
	id := pytext.Strip(p.Get("id").Text())
	patch := p.Get("patch")
	switch {
	case id == "":
		return nil, bad("id is required")
	case !patch.Is(tree.Object):
		return nil, bad("patch must be object")
	}
	fields, err := ruleFields(patch)
	if err != nil {
		return nil, err
	}
	var rule jsonx.Object
	err = h.update(func(sec *tree.Node, src []byte) ([]byte, error) {
		i := jiuwen.EntryIndex(sec.Get("rules"), id)
		if i < 0 {
			return nil, bad("rule not found: %s", id)
		}
		rule = patched(jsonx.Value(sec.Get("rules").Elems[i]).(jsonx.Object), fields)
		if err := checkRule(rule); err != nil {
			return nil, err
		}
		return format.SetMembers(src, rule, permissions, "rules", i)
	})
	return jsonx.Object{{Key: "rule", Value: rule}}, err
}

// patched returns a rule with some keys set and those that are null taken out.
func patched(rule, patch jsonx.Object) jsonx.Object {
	for _, f := range patch {
		rule = slices.DeleteFunc(rule, func(have jsonx.Field) bool { return have.Key == f.Key && f.Value == nil })
		i := slices.IndexFunc(rule, func(have jsonx.Field) bool { return have.Key == f.Key })
		switch {
		case f.Value == nil:
		case i >= 0:
			rule[i].Value = f.Value
		default:
			rule = append(rule, f)
		}
	}
	return rule
}
