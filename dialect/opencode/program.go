package opencode

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tree"
)

// ModeRules is the mode in which the rules of the files stand alone. Every
// agent is a mode of its name, and PairMode names a subagent's.
const ModeRules obstat.Mode = "rules"

const pairSign = ">"

// PairMode returns the mode of a subagent that an agent started: a call needs the leave of
// both.
func PairMode(parent, child string) obstat.Mode { return obstat.Mode(parent + pairSign + child) }

// The lists of rules.
const (
	listRules   = "rules"     // of the files, merged
	listManaged = "managed"   // of the managed files alone
	listUser    = "user"      // of the user's files alone
	listAgent   = "agent "    // and the name: an agent's rules, the files' among them
	listParent  = "parent "   // and the name: the same, with the default as a rule
	listChild   = "subagent " // and the name: its denials because another agent starts it
)

// Load reads configuration files and agent files.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := read(in)
	if l.Errs.Fatal() != nil {
		return nil, l.Errs
	}
	return l.program(), l.Errs
}

// A loader puts files together.
type loader struct {
	reader
	in       *dialect.Input
	configs  []*fileConfig
	guards   map[string][]obstat.Stage // by agent
	compiled map[Rule]obstat.Rule      // most rules are in several lists
}

// read reads all files; without an order, which may be wrong, no further than
// their text.
func read(in *dialect.Input) *loader {
	l := &loader{in: in, reader: reader{home: strings.TrimSuffix(in.Home, "/")}, guards: map[string][]obstat.Stage{},
		compiled: map[Rule]obstat.Rule{}}
	roots := make([]*tree.Node, len(in.Files)) // of agent files nil
	for i := range in.Files {
		if f := &in.Files[i]; !isMarkdown(f.Name) {
			roots[i] = l.parse(f)
		}
	}
	l.chooseOrder(roots)
	if l.Errs.Fatal() != nil {
		return l
	}
	for i := range in.Files {
		f := &in.Files[i]
		l.strict = merged(f.Layer)
		var c *fileConfig
		if isMarkdown(f.Name) {
			c = l.markdown(f)
		} else {
			c = l.read(f, roots[i])
		}
		if c != nil {
			l.configs = append(l.configs, c)
		}
	}
	return l
}

// compile returns rules as the engine has them.
func (l *loader) compile(rules Ruleset) []obstat.Rule {
	out := make([]obstat.Rule, len(rules))
	for i := range rules {
		r, ok := l.compiled[rules[i]]
		if !ok {
			r = rules[i].compile(l.order)
			l.compiled[rules[i]] = r
		}
		out[i] = r
	}
	return out
}

// chooseOrder takes the order from the option or from the files.
func (l *loader) chooseOrder(roots []*tree.Node) {
	if o := l.in.Options[OrderOption]; o == string(First) || o == string(Last) {
		l.order = Order(o)
		return
	}
	var first, last obstat.Pos
	for i, root := range roots {
		f := &l.in.Files[i]
		if m := root.Member(keyProgram); m != nil && !last.IsValid() {
			last = f.Pos(m.KeyNode.Start)
		} else if m := root.Member(keyDocument); m != nil && !first.IsValid() {
			first = f.Pos(m.KeyNode.Start)
		}
	}
	l.order = Last
	switch {
	case first.IsValid() && last.IsValid():
		l.Errs = append(l.Errs, &obstat.Error{Code: obstat.CodeAmbiguous, Pos: first, Also: []obstat.Pos{last},
			Msg:  `one file has "permissions", where the first match decides, and another "permission", where the last does`,
			Hint: "say which with the option order"})
	case first.IsValid():
		l.order = First
	}
}

// merged tells whether a file is one of those that the program merges key by
// key. Any other layer is a ruleset, put after those before it.
func merged(layer string) bool {
	return slices.Contains([]string{"", "managed", "user", "global", "project"}, layer)
}

// only tells whether a file is of one of the layers, where any are named.
func only(c *fileConfig, layers []string) bool {
	return len(layers) == 0 || slices.Contains(layers, c.file.Layer)
}

// rules returns the rules of the files of the given layers, of all files where none is
// named.
func (l *loader) rules(layers ...string) Ruleset {
	files, session := l.split(layers...)
	return Merge(files, session)
}

// split returns the same in two parts: the rules before an agent's own, and those after them,
// which are rulesets of their own that follow the files.
func (l *loader) split(layers ...string) (files, session Ruleset) {
	var all, tools section
	var before Ruleset
	seen := false
	for _, c := range l.configs {
		if !only(c, layers) {
			continue
		}
		own := c.rules(l.order, l.home)
		switch {
		case c.file.Layer == layerSession:
			session = Merge(session, own)
		case l.order == First || !merged(c.file.Layer) && !seen:
			before = Merge(before, own)
		case !merged(c.file.Layer):
			session = Merge(session, own)
		default:
			seen = true
			all, tools = over(true, all, c.section), over(true, tools, c.tools)
		}
	}
	return Merge(before, over(true, tools, all).flat(l.order, l.home)), session
}

// floor tells whether the floor is on.
func (l *loader) floor() bool { return l.in.Options[dialect.FloorOption] != "off" }

// program returns the configuration as a Program.
func (l *loader) program() *obstat.Program {
	p := &obstat.Program{Dialect: "opencode", Mode: ModeRules, View: viewName, Rules: map[string][]obstat.Rule{},
		Pipelines: map[obstat.Mode]obstat.Pipeline{}}
	user, session := l.split()
	pr := params{Order: l.order, Floor: l.floor()}
	if pr.Floor {
		pr.Named = named(Merge(user, session))
		pr.Absolute = absolute(Merge(user, session))
	}
	agents := l.agentsOf(user, session)
	pr.Prefixed = pr.Floor && (prefixed(Merge(user, session)) ||
		slices.ContainsFunc(agents, func(a agent) bool { return prefixed(a.rules) }))
	p.Params = kit.Params(pr)
	p.Rules[listRules] = l.compile(Merge(user, session))
	p.Pipelines[ModeRules] = l.pipeline(l.guard(p, ""), l.stage(listRules))
	p.Faces = map[string]obstat.Face{
		obstat.FaceRead:    {Tool: "read", Field: "filePath"},
		obstat.FaceWrite:   {Tool: "write", Field: "filePath"},
		obstat.FaceDelete:  {Tool: "write", Field: "filePath"},
		obstat.FaceConnect: {Tool: "webfetch", Field: "url"},
	}
	for i := range agents {
		a := &agents[i]
		p.Rules[listAgent+a.name] = l.compile(a.rules)
		p.Pipelines[obstat.Mode(a.name)] = l.pipeline(l.guard(p, a.name), l.stage(listAgent+a.name))
	}
	l.pairs(p, agents)
	l.chooseMode(p)
	return p
}

// prefixed tells whether a rule has a variable in front of a command: `CI=1 npm *`.
func prefixed(rules Ruleset) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		first, _, _ := strings.Cut(r.Pattern, " ")
		return strings.Contains(first, "=")
	})
}

// named returns the permissions of rules that are none of opencode's own.
func named(rules Ruleset) (out []string) {
	for i := range rules {
		p := rules[i].Permission
		_, own := tools()[p]
		if own || p == permExternal || p == permDoomLoop || strings.Trim(p, "*") == "" {
			continue
		}
		if strings.ContainsAny(p, "_-") || otherName(p) {
			out = appendNew(out, p)
		}
	}
	return out
}

// absolute returns the beginnings of absolute patterns of rules that deny or ask about files.
func absolute(rules Ruleset) (out []string) {
	for i := range rules {
		r := &rules[i]
		known, _, _ := strings.Cut(r.Pattern, "*")
		files := wildcard(r.Permission, "read") || wildcard(r.Permission, "edit")
		if r.Action != obstat.Allow && files && len(known) > 1 && known[0] == '/' {
			known, _, _ = strings.Cut(known, "?")
			out = appendNew(out, known)
		}
	}
	return out
}

// agentConfigs returns the agents of the files of the given layers.
func (l *loader) agentConfigs(layers ...string) []agentConfig {
	var out []agentConfig
	for _, c := range l.configs {
		if only(c, layers) {
			out = append(out, c.agents...)
		}
	}
	return mergeAgents(out)
}

func (l *loader) agentsOf(user, session Ruleset) []agent {
	configs := l.agentConfigs()
	if l.order == First {
		return documented(configs, Merge(user, session))
	}
	s := &shared{home: l.home, user: user}
	out := s.agents(configs)
	for i := range out {
		out[i].rules = Merge(out[i].rules, session)
	}
	return out
}

// stageNames are the names of the stages in explanations.
var stageNames = map[Order]string{First: "first match", Last: "last match"}

func (l *loader) stage(list string) obstat.Match {
	return obstat.Match{Name: stageNames[l.order], Rules: list, Pick: l.order.pick()}
}

func (l *loader) pipeline(guard []obstat.Stage, stages ...obstat.Stage) obstat.Pipeline {
	return obstat.Pipeline{Stages: slices.Concat(guard, stages), Default: obstat.Ask}
}

// authority are the layers that others must not lift denies of, the highest
// first.
var authority = []struct {
	list, name string
	layers     []string
}{
	{listManaged, "denied by a managed file", []string{"managed"}},
	{listUser, "denied by the user's files", []string{"user", "global"}},
}

// guard returns the stages that keep a file of less authority from lifting a denial of one with
// more: a repository does not let plan edit files. Managed files come first, then the user's, each
// with the agent's own rules in these files and in the program. The bare program has none of this.
func (l *loader) guard(p *obstat.Program, agent string) (out []obstat.Stage) {
	if !l.floor() {
		return nil
	}
	if out, ok := l.guards[agent]; ok {
		return out
	}
	defer func() { l.guards[agent] = out }()
	var above []string
	for _, g := range authority {
		above = append(above, g.layers...)
		if !slices.ContainsFunc(l.configs, func(c *fileConfig) bool { return !slices.Contains(above, c.file.Layer) }) {
			break // no file has less authority
		}
		rules, list := l.rules(g.layers...), g.list
		if base := l.builtin(agent); g.list == listUser && len(base) > 0 {
			rules, list = Merge(base, rules), list+" as "+agent
		}
		for _, c := range l.agentConfigs(g.layers...) {
			own := c.rules(l.order, l.home)
			if c.name != agent || len(own) == 0 {
				continue
			}
			list = g.list + " for " + agent
			if l.order == First {
				own, rules = rules, own
			}
			rules = Merge(rules, own)
		}
		if slices.ContainsFunc(rules, func(r Rule) bool { return r.Action == obstat.Deny }) {
			p.Rules[list] = l.compile(rules)
			out = append(out, obstat.Match{Name: g.name, Rules: list, Pick: l.order.pick(), Settle: obstat.SetOf(obstat.Deny)})
		}
	}
	return out
}

// builtin returns the rules that an agent of the program has of itself, nil for
// any other.
func (l *loader) builtin(agent string) Ruleset {
	if l.order == First {
		return nil
	}
	for _, a := range (&shared{home: l.home}).builtin() {
		if a.name == agent {
			return a.rules
		}
	}
	return nil
}

// maxPairs bounds how many pairs of agents get a mode.
const maxPairs = 1000

// pairs adds the modes of subagents: of two rulesets the stricter answer counts,
// so that a child never has more than its parent.
func (l *loader) pairs(p *obstat.Program, agents []agent) {
	var parents, children []*agent
	for i := range agents {
		a := &agents[i]
		if a.mode == modePrimary || a.mode == modeAll {
			parents = append(parents, a)
		}
		if a.mode == modeSubagent || a.mode == modeAll {
			children = append(children, a)
		}
	}
	if len(parents)*len(children) > maxPairs {
		l.Errs = append(l.Errs, &obstat.Error{Code: obstat.CodeTooLarge, Warning: true, Pos: children[len(children)-1].pos,
			Msg: "there are too many agents for a mode of every pair of agent and subagent"})
		return
	}
	for _, child := range children {
		denies := listChild + child.name
		if p.Rules[denies] = l.compile(childDenies(child.rules)); l.order == First {
			p.Rules[denies] = nil // the document knows no such denies
		}
		for _, parent := range parents {
			if parent != child {
				p.Pipelines[PairMode(parent.name, child.name)] = l.pipeline(l.guard(p, child.name),
					l.stricter(l.parentList(p, parent), listAgent+child.name, denies)...)
			}
		}
	}
}

// parentList returns the list of an agent's rules with its default as a rule,
// which two lists need where the stricter counts. The program's agents have one
// for everything to begin with.
func (l *loader) parentList(p *obstat.Program, a *agent) string {
	if l.order == Last {
		return listAgent + a.name
	}
	p.Rules[listParent+a.name] = append(l.compile(a.rules),
		obstat.Rule{Verdict: obstat.Ask, Source: "what no rule matches"})
	return listParent + a.name
}

// stricter returns stages that give the stricter answer of two lists.
func (l *loader) stricter(parent, child, denies string) []obstat.Stage {
	match := func(name, list string, vs ...obstat.Verdict) obstat.Match {
		return obstat.Match{Name: name, Rules: list, Pick: l.order.pick(), Settle: obstat.SetOf(vs...)}
	}
	return []obstat.Stage{
		match("denied to subagents", denies, obstat.Deny),
		match("denied by the parent's rules", parent, obstat.Deny),
		match("denied by the subagent's rules", child, obstat.Deny),
		match("asked by the parent's rules", parent, obstat.Ask),
		match("asked by the subagent's rules", child, obstat.Ask),
		obstat.Match{Name: "allowed by the subagent's rules", Rules: child, Pick: l.order.pick()},
	}
}

func (l *loader) chooseMode(p *obstat.Program) {
	name := l.in.Options[AgentOption]
	if name == "" {
		return
	}
	p.Mode = obstat.Mode(name)
	if _, ok := p.Pipelines[p.Mode]; !ok {
		l.Errs = append(l.Errs, &obstat.Error{Code: obstat.CodeUnknownName, Msg: "there is no agent " + name,
			Hint: "the option agent names an agent of opencode or of the files"})
	}
}
