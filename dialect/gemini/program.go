package gemini

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// The fields of rules. Behind "args" and "seen", a name is a top-level argument: its text as
// JSON writes it. Rules that allow look at the call as it is, others at every spelling of
// its paths as well.
const (
	fieldArgs = "args" // all arguments as JSON
	fieldSeen = "seen"
	// The arguments of a command, where an allowing rule does not allow it: one that is
	// dangerous, has a redirect or cannot be parsed; and of these, without one of them.
	fieldDoubt    = "doubt"
	fieldRough    = "rough"    // dangerous, or not parsed
	fieldRedirect = "redirect" // redirected, or not parsed
	fieldUnparsed = "unparsed"
	fieldShown    = "text"    // for explanations; no rule looks at it
	fieldSafe     = "safe"    // a command that is known to do nothing but read
	fieldAgent    = "agent"   // the name of the subagent that is called
	fieldCall     = "call"    // that it is a call, not a file that a command touches
	fieldChecked  = "checked" // tool and arguments, for safety checkers
	fieldBuild    = "build"   // the name of a file that says how a project is built
	fieldOutside  = "outside" // the same, where a path leads out of the workspace
)

// toolChecker is the tool of the question that safety checkers answer.
const toolChecker = "safety_checker"

// params are the settings that the view needs.
type params struct {
	Floor bool `json:"floor,omitempty"`
	// Checkers are the modes that have safety checkers.
	Checkers []string `json:"checkers,omitempty"`
	// Servers are the tool servers that rules name. Other agents write their tools without the prefix:
	// canary_poke, canary-poke.
	Servers []string `json:"servers,omitempty"`
}

// some is the pattern of a subject that only has to be there.
var some = obstat.Text{Flavour: pattern.Full, Text: "(?s).+"}

// program returns the rules in order, for each mode.
func (l *loader) program(name string, mode obstat.Mode, floor bool) *obstat.Program {
	slices.SortStableFunc(l.rules, func(a, b rule) int { return cmp.Or(int(b.tier-a.tier), b.priority-a.priority) })
	p := &obstat.Program{Dialect: name, Mode: mode, View: viewName, Rules: map[string][]obstat.Rule{},
		Pipelines: map[obstat.Mode]obstat.Pipeline{}}
	p.Faces = map[string]obstat.Face{
		obstat.FaceRead:  {Tool: "read_file", Field: "file_path"},
		obstat.FaceWrite: {Tool: "write_file", Field: "file_path"},
	}
	def := obstat.Ask
	if l.alone {
		def = obstat.Deny
	}
	ps := params{Floor: floor, Servers: l.servers}
	for _, m := range modeNames {
		out, checks := []obstat.Rule{}, []obstat.Rule{}
		for i := range l.rules {
			r := &l.rules[i]
			switch {
			case !r.in(m):
			case r.checker != "":
				checks = append(checks, r.checks())
			default:
				out = r.compile(out, m, def)
			}
		}
		stop := def
		if m == modeYolo {
			stop = obstat.Allow
		} else if !l.alone {
			out = append(out, safe)
		}
		if len(checks) > 0 {
			ps.Checkers = append(ps.Checkers, m)
		}
		p.Rules[m], p.Rules[m+" checkers"] = out, append(checks, buildFiles, unchecked)
		p.Pipelines[obstat.Mode(m)] = obstat.Pipeline{Default: stop, Stages: []obstat.Stage{
			obstat.Match{Name: "safety checkers", Rules: m + " checkers", Pick: obstat.Strictest, AskDenies: l.alone},
			obstat.Match{Name: "rules", Rules: m, AskDenies: l.alone},
		}}
	}
	p.Params = kit.Params(ps)
	return p
}

// safe allows commands that are known to do nothing but read, where a rule for all commands would ask.
var safe = obstat.Rule{Tool: obstat.Is(shellTool), Field: fieldSafe, Pattern: some, Verdict: obstat.Allow,
	Source: "known safe command", Layer: layerBuiltIn}

// buildFiles asks about edits of files that say how a project is built.
var buildFiles = obstat.Rule{Tool: obstat.Is(toolChecker), Field: fieldBuild, Pattern: some, Verdict: obstat.Ask,
	Source: "build file", Layer: layerBuiltIn,
	Reason: "the file says how the project is built; editing it is confirmed each time"}

// unchecked lets a call pass that no checker speaks against; the rules decide then.
var unchecked = obstat.Rule{Tool: obstat.Is(toolChecker), Verdict: obstat.Allow, Source: "no safety checker",
	Layer: layerBuiltIn}

// made returns the rule of the engine, but for its field and pattern.
func (r *rule) made() obstat.Rule {
	return obstat.Rule{ID: fmt.Sprintf("%d.%03d", r.tier, r.priority), Tool: r.tool, Verdict: r.verdict,
		Source: r.source, Layer: r.layer, Reason: r.message, Pos: r.pos}
}

// compile adds the rule to a mode's list, behind those that stand above it: an allowing rule
// asks about commands that are dangerous, redirected or not understood, an asking one for
// all commands lets those pass that are known to be safe.
func (r *rule) compile(out []obstat.Rule, mode string, def obstat.Verdict) []obstat.Rule {
	made := r.made()
	made.Field, made.Pattern = r.regexp.look(r)
	before := obstat.Rule{Tool: obstat.Is(shellTool), Verdict: def, Layer: layerBuiltIn, ID: made.ID}
	whole, allow := r.regexp == nil, r.verdict == obstat.Allow
	if r.tier == tierDefault && whole && slices.Contains(fileTools, r.tool.Text) {
		made.Field, made.Pattern = fieldCall, some
	}
	if before.Pattern = some; !whole && r.regexp.why == "" {
		before.Pattern = r.regexp.search()
	}
	if before.Reason = "a rule allows it otherwise: " + r.source; r.pos.IsValid() {
		before.Reason += " (" + r.pos.String() + ")"
	}
	switch {
	case !r.shell():
	case mode == modeYolo && !whole && r.verdict != obstat.Deny:
		before.Field, before.Verdict, before.Source = fieldUnparsed, obstat.Deny, "command that cannot be parsed"
		out = append(out, before)
	case mode == modeYolo && allow:
	case allow:
		before.Field, before.Source = doubts(whole, !r.redirect && mode != modeAutoEdit)
		out = append(out, before)
	}
	if r.shell() && whole && r.verdict == obstat.Ask {
		out = append(out, safe)
	}
	if r.agent {
		twin := made
		twin.Tool, twin.Field, twin.Pattern = obstat.Is("invoke_agent"), fieldAgent, obstat.Is(r.name)
		if r.regexp == nil || r.verdict != obstat.Allow {
			out = append(out, twin)
		}
	}
	return append(out, made)
}

// doubts returns the field of the commands that an allowing rule does not allow, and words for them.
func doubts(whole, redirects bool) (field, source string) {
	source = "command that has a redirect or cannot be parsed"
	if whole {
		source = "command that is dangerous, has a redirect or cannot be parsed"
	}
	switch {
	case whole && redirects:
		return fieldDoubt, source
	case whole:
		return fieldRough, source
	case redirects:
		return fieldRedirect, source
	}
	return fieldUnparsed, source
}

// checks returns the rule of a safety checker: over the tool and the arguments.
func (r *rule) checks() obstat.Rule {
	made := r.made()
	made.Field, made.Tool = fieldChecked, obstat.Is(toolChecker)
	if r.checker == checkPaths {
		made.Field, made.Reason = fieldOutside, "a path leads out of the workspace"
	}
	tool := "[^\\n]*"
	switch r.tool.Flavour {
	case pattern.Exact:
		tool = kit.Literal(r.tool.Text)
	case pattern.Full:
		tool = "(?:" + r.tool.Text + ")"
	}
	args := "(?s:.*)"
	if r.regexp != nil && r.regexp.why == "" {
		args = "(?s:.*)(?:" + r.regexp.python + ")(?s:.*)"
	}
	made.Pattern = obstat.Text{Flavour: pattern.Full, Text: "(?a)" + tool + "\\n" + args}
	return made
}

// aliases are old names of tools.
var aliases = map[string]string{"search_file_content": "grep_search", "ShellTool": shellTool}

// fileTools are those whose rules hold for the files that commands touch, too. The rules that
// Gemini CLI brings along for them are about the tools alone: it asks before write_file, and `touch x`
// that a rule allows is no reason to ask again.
var fileTools = []string{"read_file", "write_file", "replace"}

// toolText returns which tools a name stands for; exact is false where Gemini CLI takes a name
// with an asterisk by the letter. Tools of servers are written mcp__server__tool here.
func toolText(name string, server *tree.Node) (t obstat.Text, exact bool) {
	full := func(text string) obstat.Text { return obstat.Text{Flavour: pattern.Full, Text: text} }
	glob := func(s string) string { return strings.ReplaceAll(kit.Literal(s), `\*`, ".*") }
	switch {
	case server != nil && server.Str == "*" && name == "*":
		return full("mcp__.+"), true
	case server != nil && server.Str == "*":
		return full("mcp__.+__" + glob(name)), false
	case server != nil && name == "*":
		return full("mcp__" + kit.Literal(server.Str) + "__.+"), true
	case server != nil && strings.Contains(name, "*"):
		return full("mcp__" + kit.Literal(server.Str) + "__" + glob(name)), false
	case server != nil:
		return obstat.Is("mcp__" + server.Str + "__" + name), true
	case name == "*":
		return obstat.Text{}, true
	case name == "mcp_*":
		return full("mcp__.+"), true
	}
	rest, mcp := strings.CutPrefix(name, "mcp_")
	if srv, all := strings.CutSuffix(rest, "_*"); mcp && all && !strings.Contains(srv, "*") {
		return full("mcp__" + kit.Literal(srv) + "__.+"), true
	}
	if strings.Contains(name, "*") {
		return full(glob(name)), false
	}
	if alias := aliases[name]; alias != "" {
		return obstat.Is(alias), true
	}
	if !mcp {
		return obstat.Is(name), true
	}
	// The name of the server may end at any underscore.
	texts := []string{kit.Literal(name)}
	for i := range len(rest) {
		if rest[i] == '_' && i > 0 && i+1 < len(rest) {
			texts = append(texts, "mcp__"+kit.Literal(rest[:i])+"__"+kit.Literal(rest[i+1:]))
		}
	}
	return full(strings.Join(texts, "|")), true
}
