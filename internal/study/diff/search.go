package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// A search makes calls up from the rules of both policies. What a tool's input looks like to the
// rules is found out by asking: a call with a word that stands nowhere else is explained, and the
// subjects that hold the word are those that the tool's field leads to. So no dialect has to be
// known here.
type search struct {
	*comparison
	rules    []rule          // of both, each once
	all      bool            // more than rules differ
	seen     map[string]bool // templates that would be decided like others
	alike    map[string]bool // those of tools that are looked at like others, see likeness
	tools    []string        // named by When stages
	toolName map[string]bool // fields of rules that show the tool's name
	groups   map[string]*group
	same     map[string]*group
	names    map[string]*name
}

// A rule is one of either policy.
type rule struct {
	*obstat.Rule
	changed bool // it is in one of the two, or elsewhere in the other
	verb    bool // it is of a draft, and its tool is a verb such as `run`
}

func newSearch(c *comparison) *search {
	a, b := c.was.Program(), c.now.Program()
	c.made = c.made.ready()
	s := &search{comparison: c, seen: map[string]bool{}, alike: map[string]bool{},
		all:    bare(a) != bare(b),
		groups: map[string]*group{}, same: map[string]*group{}, names: map[string]*name{}}
	s.rules = merge(a, b)
	if c.draft != nil {
		s.rules, s.all = strictRules(a, b), false
	}
	s.conditions()
	s.toolName = map[string]bool{}
	const some = serverPrefix + mark + "__x"
	for _, pol := range []*obstat.Policy{c.was, c.now} {
		_, tr := pol.Explain(c.at(callOf(some, nil)), c.world)
		for _, q := range tr.Questions {
			for _, sub := range q.Question.Subjects {
				s.toolName[sub.Field] = s.toolName[sub.Field] || sub.Text == some
			}
		}
	}
	for _, p := range []*obstat.Program{a, b} {
		for _, pl := range p.Pipelines {
			for _, st := range slices.Concat(pl.Stages, pl.Amend) {
				if w, ok := st.(obstat.When); ok {
					s.tools = append(s.tools, w.Tools...)
				}
			}
		}
	}
	return s
}

// bare returns the digest of a Program without its rules.
func bare(p *obstat.Program) string {
	q := *p
	q.Rules = make(map[string][]obstat.Rule, len(p.Rules))
	for name := range p.Rules {
		q.Rules[name] = nil
	}
	return q.Digest()
}

// A key tells what a rule says and to which list it belongs.
type key struct {
	list, field, id, when string
	tool, match           obstat.Text
	verdict               obstat.Verdict
	over                  obstat.Over
}

func keyOf(list string, r *obstat.Rule) key {
	when := ""
	if len(r.If)+len(r.Except) > 0 {
		when = fmt.Sprint(r.If, r.Except)
	}
	return key{list, r.Field, r.ID, when, r.Tool, r.Pattern, r.Verdict, r.Over}
}

// merge returns the rules of both Programs, those that are equal and in the same order once.
func merge(a, b *obstat.Program) (out []rule) {
	names := slices.Sorted(maps.Keys(a.Rules))
	for name := range b.Rules {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		was, now := a.Rules[name], b.Rules[name]
		same := inBoth(name, was, now)
		for i := range was {
			out = append(out, rule{Rule: &was[i], changed: !same[keyOf(name, &was[i])]})
		}
		for i := range now {
			if !same[keyOf(name, &now[i])] {
				out = append(out, rule{Rule: &now[i], changed: true})
			}
		}
	}
	return out
}

// inBoth returns the rules that stand in both lists, in the same order among themselves.
func inBoth(list string, a, b []obstat.Rule) map[key]bool {
	count := func(rules []obstat.Rule) map[key]int {
		n := map[key]int{}
		for i := range rules {
			n[keyOf(list, &rules[i])]++
		}
		return n
	}
	na, nb := count(a), count(b)
	shared := func(rules []obstat.Rule) (out []key) {
		for i := range rules {
			if k := keyOf(list, &rules[i]); na[k] == nb[k] {
				out = append(out, k)
			}
		}
		return out
	}
	same := map[key]bool{}
	was, now := shared(a), shared(b)
	for _, k := range was {
		same[k] = true
	}
	for i := range was {
		if was[i] != now[i] { // one of them has moved
			same[was[i]], same[now[i]] = false, false
		}
	}
	return same
}

func (s *search) compiled(t obstat.Text) *pattern.Pattern {
	p, ok := s.made.patterns[t]
	if !ok {
		p, _ = pattern.Compile(t.Flavour, t.Text)
		s.made.patterns[t] = p
	}
	return p
}

func (s *search) run() {
	fields := s.fields()
	for _, tool := range s.toolNames() {
		like := s.likeness(tool)
		for _, t := range templatesOf(tool, fields) {
			if s.left < 0 {
				return
			}
			if s.draft != nil && t.wrap == byPath {
				continue // a rule made for `x/npm` would lead to `x/x/npm`
			}
			if !s.known(like, &t) {
				like.first(t.form(), s.template(&t))
			}
		}
	}
	s.wholeInputs()
	if !s.readable {
		s.subjects()
	}
}

// subjects tries texts in place of inputs, for rules that are about any tool and that no call has
// shown: what Chorus calls an action may be made of several fields.
func (s *search) subjects() {
	shown := map[obstat.Pos]bool{}
	for _, r := range s.regions {
		shown[r.WasBy.Pos], shown[r.NowBy.Pos] = true, true
	}
	sampling := &pattern.Sampling{}
	for i := range s.rules {
		if r := &s.rules[i]; r.Tool.IsZero() && !r.Whole() {
			sampling.Patterns = append(sampling.Patterns, s.compiled(r.Pattern))
			sampling.Of = append(sampling.Of, r.changed && !shown[r.Pos])
		}
	}
	if !slices.Contains(sampling.Of, true) {
		return
	}
	samples, _ := sampling.Samples()
	for _, x := range samples {
		call := callOf("tool", nil)
		call.Input, call.Subjects = nil, []string{x.Text}
		s.try(call, false)
	}
}

// fields returns the fields that rules look at, which may be those of an input.
func (s *search) fields() (out []string) {
	for i := range s.rules {
		f := s.rules[i].Field
		if f = f[strings.LastIndexByte(f, '.')+1:]; f != "" && f[0] != '$' && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// noTools are permissions of opencode's that no tool has by that name: they are asked for beside a tool's own.
var noTools = []string{"doom_loop", Outside}

// Outside is the one about the directory that a call leads to; where it is denied, nothing else is asked.
const Outside = "external_directory"

// toolNames returns the tools to make calls of: those that rules name, samples of the patterns of
// names, and those of the catalogue.
func (s *search) toolNames() (out []string) {
	add := func(name string) {
		other := len(s.only) > 0 && !slices.Contains(s.only, name) && !strings.HasPrefix(name, serverPrefix)
		if name != "" && !other && !slices.Contains(out, name) && !slices.Contains(noTools, name) {
			out = append(out, name)
		}
	}
	likely := obstat.Text{Flavour: pattern.Full, Text: `[A-Za-z][A-Za-z0-9_]*`}
	sampling := &pattern.Sampling{Within: []*pattern.Pattern{s.compiled(likely)}}
	asked := map[obstat.Text]bool{}
	for i := range s.rules {
		t := s.rules[i].Tool
		if p := s.rules[i].Pattern; s.toolName[s.rules[i].Field] && strings.Contains(p.Text, serverPrefix) { // else any word
			t = p
		}
		if t.Flavour == pattern.Exact && !s.rules[i].verb {
			add(t.Text)
		}
		if p := s.compiled(t); !t.IsZero() && p != nil && !asked[t] && !s.rules[i].verb {
			asked[t] = true
			sampling.Patterns = append(sampling.Patterns, p)
		}
	}
	samples, _ := sampling.Samples()
	for _, x := range samples {
		add(x.Text)
	}
	for _, name := range s.tools {
		add(name)
	}
	if s.draft != nil {
		for _, name := range ownTools {
			add(name)
		}
	} else {
		for _, t := range effect.Tools() {
			add(t.Name)
		}
	}
	add("mcp__server__tool")
	return out
}

// A group is the rules for a tool. Tools with the same rules share one group, so that each is searched once.
type group struct {
	id    int
	rules []int
}

// about returns the rules for a tool, or for the permission that a dialect's rules name.
func (s *search) about(tool string) *group {
	if g := s.groups[tool]; g != nil {
		return g
	}
	name := nameOf(tool)
	var rules, exact []int
	for i := range s.rules {
		t := s.rules[i].Tool
		if t == obstat.Is(tool) {
			exact = append(exact, i)
		}
		switch {
		case t.IsZero(), t.Flavour == pattern.Exact && s.named(t.Text).alike(&name):
			rules = append(rules, i)
		case t.Flavour == pattern.Exact:
		default:
			if p := s.compiled(t); p != nil {
				if ok, _ := p.Match(tool); ok {
					rules = append(rules, i)
				}
			}
		}
	}
	key := fmt.Sprint(rules, exact)
	g := s.same[key]
	if g == nil {
		g = &group{len(s.same), rules}
		s.same[key] = g
	}
	s.groups[tool] = g
	return g
}

// A name is a tool's, made ready for comparing.
type name struct {
	effect.Tool
	plain string // in small letters, with one kind of dash
}

func nameOf(tool string) name {
	t, _ := effect.Lookup(tool)
	return name{t, strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(tool), "-", "_"), "__", "_")}
}

func (s *search) named(tool string) *name {
	n := s.names[tool]
	if n == nil {
		of := nameOf(tool)
		n, s.names[tool] = &of, &of
	}
	return n
}

// alike tells whether a rule for one tool may be for the other.
func (n *name) alike(o *name) bool {
	if n.plain == o.plain {
		return true
	}
	return n.Canonical != "" && n.Canonical != "mcp" && (n.Canonical == o.Canonical || n.Write && o.Write)
}

// A reader is a subject that a template leads to.
type reader struct{ tool, field, before string }

// A likeness tells which tools are looked at alike: by their fields, by the rules about them, and by what the first
// call of a form has led to. Agents have many names for one tool: of `Bash`, `shell` and `exec_command`, a call of each
// form is explained, and all others of one of the three.
type likeness struct {
	tool  string
	signs map[form]string // of the first template of each form; "" where its call was none for the tool
}

// A form is what a template's call is about, and whether that lies outside of the project.
type form struct {
	kind
	outside bool
}

func (t *template) form() form { return form{t.kind, strings.Contains(t.wrap, "/%")} }

func (s *search) likeness(tool string) *likeness {
	t, known := effect.Lookup(tool)
	fields := fmt.Sprint(known, t.Canonical, t.Command, t.Paths, t.Dir, t.URL, t.Names, t.Server, t.Write)
	return &likeness{fmt.Sprint(fields, s.about(tool).id), map[form]string{}}
}

// first keeps what the first template of a form has led to.
func (l *likeness) first(of form, sign string) {
	if _, there := l.signs[of]; !there {
		l.signs[of] = sign
	}
}

// known tells whether the template of a tool that is alike was looked at, and remembers this one.
func (s *search) known(l *likeness, t *template) bool {
	sign := l.signs[t.form()]
	if sign == "" {
		return false
	}
	key := fmt.Sprint(l.tool, sign, t.key, t.wrap)
	was := s.alike[key]
	s.alike[key] = true
	return was
}

// template makes calls of one form up. It returns what tells the form from others; "" for a call that is none.
func (s *search) template(t *template) (sign string) {
	readers, ok := s.probe(t)
	if !ok {
		return ""
	}
	sampling := &pattern.Sampling{Of: []bool{}, Before: []string{}}
	type looked struct {
		t      obstat.Text
		before string
	}
	have := map[looked]int{}
	relevant, whole, usual := s.all, s.all, s.all
	shown := map[string]bool{}
	for _, r := range readers {
		shown[r.tool+" "+r.field] = true
	}
	sign = fmt.Sprint(t.kind, t.wrap, slices.Contains(s.tools, t.tool), s.naming(t.tool))
	for _, r := range readers {
		about := s.about(r.tool)
		sign += fmt.Sprint(r.field, r.before, about.id)
		for _, i := range about.rules {
			at := &s.rules[i]
			switch {
			case at.Whole():
				relevant, whole = relevant || at.changed, whole || at.changed
			case at.changed && !shown[r.tool+" "+at.Field]: // such as the place that a path is in
				relevant, usual = true, true
			}
			for _, t := range at.texts(r.field) {
				relevant = relevant || at.changed
				k := looked{t, r.before}
				n, there := have[k]
				if !there {
					n, have[k] = len(sampling.Patterns), len(sampling.Patterns)
					sampling.Patterns, sampling.Before, sampling.Of = append(sampling.Patterns,
						s.compiled(t)), append(sampling.Before, r.before), append(sampling.Of, false)
				}
				sampling.Of[n] = sampling.Of[n] || at.changed
			}
		}
	}
	if !relevant || s.seen[sign] {
		return sign
	}
	s.seen[sign] = true
	if whole {
		sampling.Of = nil
	}
	if whole || usual {
		for _, x := range t.kind.usual() {
			s.try(t.call(x), false)
		}
	}
	s.sample(t, sampling)
	return sign
}

// serverPrefix begins the names of tools of servers.
const serverPrefix = "mcp__"

// naming returns the rules that show by another field than Tool that they are for a server's tool.
func (s *search) naming(tool string) (out []int) {
	if !strings.HasPrefix(tool, serverPrefix) {
		return nil
	}
	for i := range s.rules {
		if r := &s.rules[i]; s.toolName[r.Field] && !r.Whole() {
			if ok, _ := s.compiled(r.Pattern).Match(tool); ok {
				out = append(out, i)
			}
		}
	}
	return out
}

// texts returns the patterns of a rule that look at a field: its own, and those that it leaves out.
func (r *rule) texts(field string) (out []obstat.Text) {
	if field == "" {
		return nil
	}
	if r.Field == field && !r.Whole() {
		out = append(out, r.Pattern)
	}
	for _, c := range r.Except {
		if c.Field == field {
			out = append(out, c.Any...)
		}
	}
	return out
}

// sample tries the samples of a template's patterns: first such as a person would write, then any.
func (s *search) sample(t *template, sampling *pattern.Sampling) {
	tried := map[string]bool{}
	for _, within := range []*pattern.Pattern{s.compiled(t.kind.tidy()), nil} {
		if within == nil && (s.readable || s.draft != nil) {
			return
		}
		sampling.Within, sampling.Limit = nil, 512
		if within != nil {
			sampling.Within, sampling.Limit = []*pattern.Pattern{within}, 0
		}
		for _, x := range s.made.samples(sampling, s.most()) {
			for _, end := range t.kind.endings() {
				if text := x.Text + end; !tried[text] && (end == "" || alikeHits(sampling, text, x.Hits)) {
					tried[text] = true
					s.try(t.call(text), false)
				}
			}
		}
	}
}

// most returns how many pairs of patterns are looked at for a template: a draft is refused by what is found.
func (s *search) most() int {
	if s.draft != nil {
		return 4_000
	}
	return 1_000
}

// alikeHits tells whether a text is matched by the very patterns that another one is.
func alikeHits(s *pattern.Sampling, text string, hits []bool) bool {
	for i, p := range s.Patterns {
		if ok, _ := p.Match(s.Before[i] + text); ok != hits[i] {
			return false
		}
	}
	return true
}

// wholeInputs tries the inputs of rules that compare all of it.
func (s *search) wholeInputs() {
	for i := range s.rules {
		if r := &s.rules[i]; r.changed && r.Pattern.Flavour == pattern.JSON {
			for _, name := range s.toolNames() {
				if t := r.Tool; t.IsZero() || t.Text == name {
					call := callOf(name, nil)
					call.Input = []byte(r.Pattern.Text)
					s.try(call, false)
				}
			}
		}
	}
}

// mark is a word that no rule and no path has by itself.
const mark = "qzxmarkxzq"

// probe explains a call with the mark in it, by both policies, and returns the subjects that show
// it. ok is false where the input is none for the tool.
func (s *search) probe(t *template) (out []reader, ok bool) {
	call, world := s.at(t.call(mark)), &obstat.Recorder{Of: s.world}
	was, there := s.made.probed[probed{s.was, *t}]
	if !there {
		was = probeOf(s.was, call, world)
		s.made.probed[probed{s.was, *t}] = was // a conversion compares one policy with many
	}
	if s.readable && (!was.ok || !was.shown) {
		return nil, false
	}
	now := probeOf(s.now, call, world)
	out = slices.Clone(was.readers)
	for _, r := range now.readers {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out, was.ok || now.ok
}

// A probe is what one policy makes of a call with the mark in it.
type probe struct {
	readers   []reader
	ok, shown bool
}

// probed names a probe.
type probed struct {
	by *obstat.Policy
	template
}

func probeOf(pol *obstat.Policy, call *obstat.Call, world obstat.World) (p probe) {
	d, tr := pol.Explain(call, world)
	p.ok, p.shown = len(d.Faults) == 0, shows(tr, mark)
	add := func(r reader) {
		if !slices.Contains(p.readers, r) {
			p.readers = append(p.readers, r)
		}
	}
	for _, q := range tr.Questions {
		add(reader{tool: q.Question.Tool})
		for _, sub := range q.Question.Subjects {
			if before, after, has := strings.Cut(sub.Text, mark); has && after == "" {
				add(reader{q.Question.Tool, sub.Field, before})
			}
		}
	}
	return p
}
