package jiuwen

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}
	_ dialect.Trier   = Dialect{}
)

// The sources of overrides, and the list that external directories are offered
// to: a member of external_directory, not a rule.
const (
	sourceApproval = "user_approval"
	listExternal   = "external_directory"
)

// Offers returns the rules that "always allow" would store: this very command, or this very
// path, and the paths outside the workspace that it touches. The original
// stores a command as a pattern, and a chain of commands one by one, so that it
// asks about the chain for ever; here the text that the human saw is stored, and
// matches itself alone. A command with hidden parts, `curl x | sh`, is not offered.
func (Dialect) Offers(l *dialect.Loaded, call *obstat.Call, world obstat.World, d *obstat.Decision) []obstat.Offer {
	p, err := paramsOf(l.Program)
	f := &obstat.Facts{Call: call, World: world}
	if err != nil || d.Verdict != obstat.Ask {
		return nil
	}
	args, err := arguments(f)
	if err != nil {
		return nil
	}
	tool := p.tool(call.Tool)
	var out []obstat.Offer
	switch categories[tool] {
	case shellTools:
		cmd := commandText(args)
		if cmd == "" || hidden(f) {
			return nil
		}
		out = p.offer(tool, exactPattern(cmd), cmd)
	case pathTools:
		for _, name := range approvedPaths(args) {
			out = append(out, p.offer(tool, exactPath(tool, name), name)...)
			if clean := path.Clean(slashes(name)); clean != name { // `./dir/a` is matched as `dir/a`
				if strings.HasPrefix(clean, "..") {
					clean = path.Join(call.Dir, clean)
				}
				out = append(out, p.offer(tool, exactPath(tool, clean), clean)...)
			}
		}
	default:
		out = toolOffer(tool)
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, externalOffers(externalCheck{p}, f)...)
}

// toolOffer returns the offer of a level for a tool as a whole. Of tools without commands and
// paths the document's rules cannot say more.
func toolOffer(tool string) []obstat.Offer {
	if t, known := effect.Lookup(tool); tool == "" || known && (len(t.Command) > 0 || len(t.Paths) > 0) {
		return nil // another agent's name for a shell or a file tool
	}
	rule := obstat.Rule{ID: "tools." + tool, Tool: obstat.Is(tool), Verdict: obstat.Allow,
		Source: "tools." + tool + ": allow"}
	return []obstat.Offer{{Rule: rule, List: listTools, Scope: "always", Text: rule.Source}}
}

// hidden tells whether a command runs code, or touches paths, known only at run
// time.
func hidden(f *obstat.Facts) bool {
	a := f.Analysis()
	return slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return g.Hides || g.Kind == effect.DynamicOperand }) ||
		// other code every time
		slices.ContainsFunc(a.Effects, func(e effect.Effect) bool { return e.Tags.Has(effect.Stdin) })
}

// approvedPaths returns the paths that an approval of a path tool is about.
func approvedPaths(args *tree.Node) (out []string) {
	for _, key := range pathKeys {
		if n := args.Get(key); n.Is(tree.String) && pytext.Strip(n.Str) != "" {
			out = append(out, pytext.Strip(n.Str))
		}
	}
	if all := pathArguments(args); len(out) == 0 && len(all) > 0 {
		out = all[:1]
	}
	return out
}

// exactPath writes a path as a pattern. A plain one also matches all below it, which a file
// has nothing of.
func exactPath(tool, name string) string {
	switch tool {
	case "list_dir", "list_files", "glob", "glob_file_search", "grep":
		return `re:\A` + pytext.Escape(slashes(name)) + `\Z`
	}
	return exactPattern(name)
}

// offer returns the offer of an override, or of an entry of the legacy tools.
func (p *params) offer(tool, pattern, plain string) []obstat.Offer {
	if !p.Legacy {
		return []obstat.Offer{Override(tool, pattern)}
	}
	if strings.ContainsAny(plain, "*?") || plain != pytext.Strip(plain) {
		return nil // legacy patterns cannot say it
	}
	return []obstat.Offer{{Rule: patternRule(tool, plain, obstat.Allow, true), List: listTools, Scope: "always",
		Text: tool + "(" + plain + ")"}}
}

// Override returns the offer of an approval override with a pattern that the
// human chose, in the document's notation.
func Override(tool, pattern string) obstat.Offer {
	rule := ruleConfig{tools: []string{tool}, category: categories[tool], pattern: pytext.Strip(pattern),
		verdict: obstat.Allow, source: sourceApproval}
	rule.label = listOverrides + "[" + overrideID(tool, rule.matchType(), rule.pattern) + "]"
	made := obstat.Rule{ID: rule.label, Tool: obstat.Is(tool), Verdict: obstat.Allow,
		Source: rule.label + " " + tool + "(" + rule.pattern + ")"}
	made.Field, made.Pattern = rule.subject()
	return obstat.Offer{Rule: made, List: listOverrides, Scope: "always", Text: tool + "(" + rule.pattern + ")"}
}

func (rule *ruleConfig) matchType() string {
	if rule.category == pathTools {
		return "path"
	}
	return "command"
}

// externalOffers returns the entries of external_directory without which the
// call would still ask: the very paths, not the directories they lie in.
func externalOffers(c externalCheck, f *obstat.Facts) (out []obstat.Offer) {
	roots := workspace(f, c.Bare)
	if len(roots) == 0 {
		return nil
	}
	found, err := c.paths(f, roots[0])
	if err != nil {
		return nil
	}
	slices.Sort(found)
	for _, p := range slices.Compact(found) {
		if c.internal(roots, p) || c.External.level(f.World, p) == externalNone || strings.TrimPrefix(p, "/") == "" {
			continue
		}
		rule := obstat.Rule{ID: "external_directory[" + p + "]", Tool: obstat.Is(listExternal), Field: fieldPath,
			Pattern: obstat.Is(p), Verdict: obstat.Allow}
		rule.Source = rule.ID + ": allow"
		out = append(out, obstat.Offer{Rule: rule, List: listExternal, Scope: "always", Text: "external_directory: " + p})
	}
	return out
}

// With returns the policy as it would be with the offers accepted.
func (d Dialect) With(l *dialect.Loaded, offers ...obstat.Offer) (*obstat.Policy, error) {
	p, err := paramsOf(l.Program)
	if err != nil {
		return nil, err
	}
	prog := l.Policy.Program()
	for i := range offers {
		o := &offers[i]
		if o.List == listExternal {
			p.External.Prefixes = append(p.External.Prefixes, prefixLevel{o.Rule.Pattern.Text, externalNone})
			continue
		}
		// A legacy pattern goes first: there the first match decides.
		prog.Rules[o.List] = slices.Insert(slices.Clone(prog.Rules[o.List]), 0, o.Rule)
	}
	if prog.Params, err = json.Marshal(p); err != nil {
		return nil, err
	}
	return obstat.Compile(prog, &obstat.Options{Library: dialect.LibraryFor(d, prog)})
}

// AddRule returns the configuration with an accepted offer in it. One that is
// there already is not written twice.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	sec, err := Section(f.Data)
	if err != nil {
		return nil, err
	}
	tool := offer.Rule.Tool.Text
	inner := strings.TrimSuffix(strings.TrimPrefix(offer.Text, tool+"("), ")")
	switch offer.List {
	case listExternal:
		return allowExternal(f.Data, sec, offer.Rule.Pattern.Text)
	case listOverrides:
		if back := Override(tool, inner); back.Rule.Pattern != offer.Rule.Pattern || categories[tool] == "" {
			return nil, fmt.Errorf("the offer %q cannot be written as an override", offer.Text)
		}
		return addOverride(f.Data, sec, tool, inner)
	case listTools:
		if offer.Text == offer.Rule.Source && offer.Rule.Whole() {
			return format.Set(f.Data, "allow", permissions, "tools", tool)
		}
		return addLegacyPattern(f.Data, sec, tool, inner)
	}
	return nil, fmt.Errorf("nothing can be added to %q", offer.List)
}

// addOverride appends an override unless there is one that says the same.
func addOverride(src []byte, sec *tree.Node, tool, pattern string) ([]byte, error) {
	list := sec.Get(listOverrides)
	rule := ruleConfig{category: categories[tool], pattern: pattern}
	if slices.ContainsFunc(list.Items(), func(e *tree.Node) bool { return sameOverride(e, tool, pattern) }) {
		return src, nil
	}
	id := freeID(list, overrideID(tool, rule.matchType(), pattern))
	return appendOverride(src, id, []string{tool}, rule.matchType(), pattern, sourceApproval)
}

func sameOverride(e *tree.Node, tool, pattern string) bool {
	tools := e.Get("tools")
	if tools.Is(tree.Array) && len(tools.Elems) == 1 {
		tools = tools.Elems[0]
	}
	return tools.Text() == tool && text(e.Get("pattern")) == pattern && strings.EqualFold(text(e.Get("action")), "allow")
}

// addLegacyPattern adds a pattern to a tool of the legacy matcher, whose level
// becomes that of everything else.
func addLegacyPattern(src []byte, sec *tree.Node, tool, pattern string) ([]byte, error) {
	entry := sec.At("tools", tool)
	if entry.Is(tree.Object) {
		return format.Set(src, "allow", permissions, "tools", tool, "patterns", pattern)
	}
	level := "ask"
	if entry.Is(tree.String) {
		level = entry.Str
	}
	value := jsonx.Object{{Key: "*", Value: level}, {Key: "patterns", Value: jsonx.Object{{Key: pattern, Value: "allow"}}}}
	return format.Set(src, value, permissions, "tools", tool)
}
