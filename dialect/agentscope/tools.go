package agentscope

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// params are the settings that views and checks need beside the rules.
type params struct {
	Dirs     []string                `json:"working_directories,omitempty"`
	Effects  bool                    `json:"read_only_by_effects,omitempty"`
	Head     bool                    `json:"head,omitempty"`
	Bare     bool                    `json:"bare,omitempty"` // the floor is off: the document as it stands
	Trusted  []string                `json:"trusted_servers,omitempty"`
	Tools    map[string]dialect.Tool `json:"tools,omitempty"`
	Contents map[string][]string     `json:"contents,omitempty"` // rule contents of tools that match rules themselves
}

func newParams(r *reader, in *dialect.Input) *params {
	p := &params{
		Dirs:    r.dirs,
		Effects: in.Options[OptionReadOnly] == "effects",
		Head:    in.Options[OptionVersion] == "head",
		Bare:    in.Options[dialect.FloorOption] == "off",
		Tools:   in.Tools,

		Contents: r.contents,
	}
	for _, s := range strings.Split(in.Options[OptionTrusted], ",") {
		if s = strings.TrimSpace(s); s != "" {
			p.Trusted = append(p.Trusted, s)
		}
	}
	return p
}

// toolset is the tools' own checks: check_permissions and check_read_only.
type toolset struct {
	params
	custom map[string]CustomTool
}

// A builtin is a tool of AgentScope's whose answers do not hang on the input.
type builtin struct{ readOnly, allow bool }

// builtins are the tools that answer for themselves: housekeeping is allowed,
// reading tools say nothing and leave it to the rules.
var builtins = sync.OnceValue(func() map[string]builtin {
	return map[string]builtin{
		"Read": {readOnly: true}, "Glob": {readOnly: true}, "Grep": {readOnly: true},
		"reset_tools": {allow: true},
		"TaskCreate":  {allow: true}, "TaskGet": {allow: true}, "TaskUpdate": {allow: true}, "TaskList": {allow: true},
		"Skill": {true, true}, "ScheduleList": {true, true}, "ScheduleView": {true, true},
	}
})

func pass() obstat.Finding { return obstat.Finding{Pass: true} }

func plainAsk(note string) obstat.Finding { return obstat.Finding{Verdict: obstat.Ask, Note: note} }

func safetyAsk(note, part string) obstat.Finding {
	return obstat.Finding{Verdict: obstat.Ask, Safety: true, Note: note, Part: part}
}

func allow(note string) obstat.Finding { return obstat.Finding{Verdict: obstat.Allow, Note: note} }

// Check is check_permissions of the call's tool.
func (t *toolset) Check(f *obstat.Facts) obstat.Finding {
	c := t.custom[f.Call.Tool]
	switch h := hears(c); {
	case h != nil:
		return t.checkHeard(h, f)
	case c != nil:
		return t.checkCustom(c, f)
	}
	return t.checkBuiltin(f)
}

// checkBuiltin is check_permissions of a tool that is not the host's.
func (t *toolset) checkBuiltin(f *obstat.Facts) obstat.Finding {
	switch f.Call.Tool {
	case "Bash":
		return t.checkBash(f)
	case "Write", "Edit":
		return t.checkFile(f)
	case "PowerShell":
		return plainAsk("execute a PowerShell command")
	}
	if d, ok := t.declared(f.Call); ok {
		return t.checkDeclared(f.Call.Tool, d)
	}
	switch b, ok := builtins()[f.Call.Tool]; {
	case b.allow:
		return allow("the tool allows itself")
	case ok:
		return pass()
	}
	return plainAsk("a tool that nobody vouches for")
}

// declared returns the declaration of a tool. For an MCP tool without one, the hint of its server
// in the call counts.
func (t *toolset) declared(c *obstat.Call) (dialect.Tool, bool) {
	d, ok := t.Tools[c.Tool]
	if !ok && c.Hint == "read-only" && strings.HasPrefix(c.Tool, "mcp__") {
		return dialect.Tool{Kind: "mcp", ReadOnly: true}, true
	}
	return d, ok
}

func (t *toolset) checkDeclared(name string, d dialect.Tool) obstat.Finding {
	switch {
	case d.Check != nil:
		return obstat.Finding{Pass: d.Check.Pass, Verdict: d.Check.Verdict, Safety: d.Check.Safety,
			Note: "the tool's own check"}
	case d.Kind == "mcp" && d.ReadOnly && t.believes(name, d):
		return allow("the MCP server says that the tool only reads")
	case d.Kind == "mcp":
		return plainAsk("MCP tools must be explicitly allowed by the user")
	}
	return plainAsk("a function tool")
}

// unreachable warns of allow rules that the DONT_ASK chart never comes to: the own check
// of a function or an MCP tool asks, and there "Any ASK" is a denial.
func (r *reader) unreachable(in *dialect.Input) {
	t := &toolset{params: *newParams(r, in), custom: r.custom}
	for _, rule := range r.rules["allow"] {
		tool := rule.Tool.Text
		if _, own := r.custom[tool].(PermissionChecker); own || tool == "Bash" || r.mode != modeDontAsk {
			continue // the input decides
		}
		fd := t.Check(&obstat.Facts{Call: &obstat.Call{Tool: tool}, Mode: modeDontAsk})
		if fd.Pass || fd.Verdict != obstat.Ask {
			continue
		}
		r.Errs = append(r.Errs, &obstat.Error{Code: obstat.CodeNoEffect, Pos: rule.Pos, Warning: true,
			Msg:  fmt.Sprintf("%s is denied in %s all the same: its own check asks, and there every ask is a denial, before allow rules are looked at", tool, modeDontAsk),
			Hint: "use another mode, or give the tool a check of its own that passes"})
	}
}

// believes tells whether a tool's word on itself counts: a server could
// otherwise talk itself into being allowed.
func (t *toolset) believes(name string, d dialect.Tool) bool {
	if d.Kind != "mcp" || t.Bare || d.Trusted {
		return true
	}
	server, _, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	return slices.Contains(t.Trusted, server)
}

// Holds is check_read_only of the call's tool.
func (t *toolset) Holds(f *obstat.Facts) (bool, error) {
	if h := hears(t.custom[f.Call.Tool]); h != nil {
		return t.readsOnly(h, f), nil
	}
	if c, ok := t.custom[f.Call.Tool].(ReadOnlyChecker); ok {
		input, err := f.Object()
		if err != nil {
			return false, err
		}
		return c.CheckReadOnly(input), nil
	}
	return t.builtinReads(f), nil
}

// builtinReads is check_read_only of a tool that is not the host's.
func (t *toolset) builtinReads(f *obstat.Facts) bool {
	if f.Call.Tool == "Bash" {
		return t.readOnlyBash(f)
	}
	if d, ok := t.declared(f.Call); ok {
		return d.ReadOnly && t.believes(f.Call.Tool, d)
	}
	return builtins()[f.Call.Tool].readOnly
}
