package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// A Draft is a policy that is about to take the place of others, which are in force.
type Draft struct {
	// Was are the policies in force, of any dialects: their deny and ask rules are looked at.
	Was []*obstat.Policy
	// Now is the draft.
	Now *obstat.Policy
	// Before and After decide a call by everything that is in force without the draft and with it; nil: the
	// strictest of Was, and Now alone.
	Before, After func(*obstat.Call) obstat.Decision
	// Dir and Home are where the calls are made; "" are [Dir] and [Home].
	Dir, Home string
	// Limit bounds how many calls of each policy in Was are decided; zero is 6,000.
	Limit int
	// Made keeps the texts that are made of patterns, for the next search of a draft that is being changed; nil keeps
	// none.
	Made *Made
	// Specific leaves out ask rules about everything that a tool does, `"*": ask`: they are a default, which
	// rules that are accepted one by one are there to narrow.
	Specific bool
}

const maxWitnesses = 6_000

// Made are texts that were made of patterns. Its zero value is empty.
type Made struct {
	patterns map[obstat.Text]*pattern.Pattern
	sampled  map[string][]pattern.Sample // see keyOfSampling
	texts    map[pair][]string
	probed   map[probed]probe // of the policy that others are compared with
	strict   map[decided]*obstat.Decision
}

// ready returns m with room for texts.
func (m *Made) ready() *Made {
	if m == nil {
		m = &Made{}
	}
	if m.patterns == nil {
		m.patterns, m.texts = map[obstat.Text]*pattern.Pattern{}, map[pair][]string{}
		m.probed, m.sampled = map[probed]probe{}, map[string][]pattern.Sample{}
		m.strict = map[decided]*obstat.Decision{}
	}
	return m
}

// A pair is two patterns whose texts are looked for together, within those of a third.
type pair struct {
	one, other, within *pattern.Pattern
	before, beside     string
	both               bool // a text of the other alone counts, too
}

// Loosened returns the regions of calls that a deny or ask rule in force decides and that the draft
// decides more freely, each with its smallest call: nil is a draft that loosens no rule. Calls are made up
// from the rules, as in [Compare], and both sides decide each.
func Loosened(d *Draft) []Region {
	world := &obstat.Snapshot{HomeDir: cmp.Or(d.Home, Home)}
	full := *d
	if full.Before == nil {
		full.Before = func(call *obstat.Call) obstat.Decision {
			_, out := strictest(d.Was, call, world)
			return out
		}
	}
	if full.After == nil {
		full.After = func(call *obstat.Call) obstat.Decision { return d.Now.Decide(call, world) }
	}
	regions := map[region]*Region{}
	for _, was := range d.Was {
		if was.Digest() == d.Now.Digest() && d.After == nil {
			continue
		}
		a, b := was.Program(), d.Now.Program()
		c := &comparison{was: was, now: d.Now, world: world, readable: a.Dialect != b.Dialect,
			left: cmp.Or(d.Limit, maxWitnesses), regions: regions,
			report: &Report{}, draft: &full, made: d.Made, modes: commonModes(a, b)}
		newSearch(c).run()
	}
	out := make([]Region, 0, len(regions))
	for _, key := range slices.SortedFunc(maps.Keys(regions), func(x, y region) int {
		if smaller(regions[x].Call, regions[y].Call) {
			return -1
		}
		return 1
	}) {
		out = append(out, *regions[key])
	}
	return out
}

// strictest returns which of several policies in force decides a call, and its decision.
func strictest(of []*obstat.Policy, call *obstat.Call, world obstat.World) (at int, out obstat.Decision) {
	for i, p := range of {
		if one := p.Decide(call, world); i == 0 || one.Verdict < out.Verdict {
			at, out = i, one
		}
	}
	return at, out
}

// at returns a call as it is made in the draft's place.
func (c *comparison) at(call *obstat.Call) *obstat.Call {
	if c.draft == nil || c.draft.Dir == "" {
		return call
	}
	in := *call
	in.Dir, in.Roots = c.draft.Dir, []string{c.draft.Dir}
	in.Input = bytes.ReplaceAll(bytes.ReplaceAll(in.Input, []byte(Dir), []byte(c.draft.Dir)), []byte(Home+"/"),
		[]byte(cmp.Or(c.draft.Home, Home)+"/"))
	return &in
}

// loosens files a call that a strict rule of the policy decides and that is freer with the draft.
func (c *comparison) loosens(call *obstat.Call) {
	call = c.at(call)
	own := c.strict(call)
	if own == nil {
		return
	}
	if c.draft.Specific && own.Verdict == obstat.Ask && general(own.Rule) {
		return
	}
	a := c.draft.Before(call)
	if !written(a.Rule) || a.Verdict == obstat.Allow {
		a = *own // another policy's default is stricter, and no rule
	}
	b := c.draft.After(call)
	if b.Verdict <= a.Verdict || unreadable(call) || EveryTool(a.Rule) && c.draft.foreign(call, b.Verdict) {
		return
	}
	c.file(call, &a, &b)
}

// foreign tells whether a call is only asked about or denied because its tool is another agent's, which no rule names
// but one for whatever tool there is, opencode's `"*": "ask"`: under the name that the rules in force know, they decide
// the very call as freely as the draft does.
func (d *Draft) foreign(call *obstat.Call, now obstat.Verdict) bool {
	of, _ := effect.Lookup(call.Tool)
	return of.Canonical != "" && slices.ContainsFunc(effect.Tools(), func(t effect.Tool) bool {
		if t.Canonical != of.Canonical || t.Name == call.Tool {
			return false
		}
		own := Renamed(call, t.Name)
		return own != nil && d.Before(own).Verdict >= now
	})
}

// EveryTool tells whether a rule is for whatever tool there is.
func EveryTool(r *obstat.Rule) bool {
	return strings.Trim(r.Tool.Text, "*") == "" && !strings.HasPrefix(r.Pattern.Text, "tool:") // Chorus's names one there
}

// Renamed returns a call as another tool of the same kind has it, `bash` for `Bash`; nil where its input cannot be
// read.
func Renamed(call *obstat.Call, tool string) *obstat.Call {
	was, _ := effect.Lookup(call.Tool)
	now, _ := effect.Lookup(tool)
	var input map[string]json.RawMessage
	if json.Unmarshal(call.Input, &input) != nil {
		return nil
	}
	for _, f := range [][2][]string{{was.Command, now.Command}, {was.Paths, now.Paths}, {was.URL, now.URL},
		{was.Dir, now.Dir}, {was.Names, now.Names}} {
		for _, name := range f[0] {
			if v, ok := input[name]; ok && len(f[1]) > 0 && !slices.Contains(f[1], name) {
				delete(input, name)
				input[f[1][0]] = v
			}
		}
	}
	own := *call
	own.Tool = tool
	own.Input, _ = json.Marshal(input) // what was read can be written
	return &own
}

// decided names a policy's decision on a call.
type decided struct {
	by   *obstat.Policy
	call string
}

// strict returns the policy's decision on a call where a person's rule denies it or asks; nil elsewhere. It is kept:
// a draft that is being changed is held against the same policy again and again.
func (c *comparison) strict(call *obstat.Call) *obstat.Decision {
	text, err := json.Marshal(call)
	key := decided{c.was, string(text)}
	if own, known := c.made.strict[key]; known && err == nil {
		return own
	}
	own := c.was.Decide(call, c.seen)
	kept := &own
	if !written(own.Rule) || own.Verdict == obstat.Allow || len(own.Faults) > 0 {
		kept = nil
	}
	if err == nil {
		c.made.strict[key] = kept
	}
	return kept
}

// written tells whether a rule denies or asks and stands in a file: those that a dialect brings along are no
// person's.
func written(r *obstat.Rule) bool { return r != nil && r.Verdict != obstat.Allow && r.Pos.IsValid() }

// unreadable tells whether a call holds a text that no shell runs, such as one with an open quote.
func unreadable(call *obstat.Call) bool {
	a := effect.Analyze(&effect.Request{Tool: call.Tool, Input: call.Input,
		Options: effect.Options{Dir: call.Dir, Roots: call.Roots}})
	return slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return g.Kind == effect.Syntax })
}

// ownTools are the tools that calls of a draft are made of besides those that rules name: one of each kind. What
// a rule says of one it says of its kin of other agents.
var ownTools = []string{"Bash", "Read", "Write", "Edit", "Grep", "WebFetch", "Task", "WebSearch", "apply_patch"}

// general tells whether a rule is about everything that its tools do.
func general(r *obstat.Rule) bool {
	if r.Whole() {
		return true
	}
	p, err := pattern.Compile(r.Pattern.Flavour, r.Pattern.Text)
	if err != nil {
		return false
	}
	shape := p.Shape()
	ok, _ := p.Match("obstat-any thing/of.it")
	return ok && shape.Prefix == ""
}

// strictRules returns the rules of both Programs. Those of the first that deny or ask count as changed: calls are
// made up that one of them is about, and together with every combination of others.
func strictRules(a, b *obstat.Program) (out []rule) {
	for _, p := range []*obstat.Program{a, b} {
		for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
			for i := range p.Rules[name] {
				r := &p.Rules[name][i]
				out = append(out, rule{Rule: r, changed: p == a && r.Verdict != obstat.Allow,
					verb: p == b && p.Dialect != a.Dialect})
			}
		}
	}
	return out
}

// samples returns samples of a template's patterns, also of pairs of those that are too many to be followed at once.
// It remembers them: many templates lead to the same patterns.
func (m *Made) samples(s *pattern.Sampling, most int) []pattern.Sample {
	key := keyOfSampling(s)
	out, known := m.sampled[key]
	if !known {
		all := false
		if out, all = s.Samples(); !all && len(s.Within) > 0 {
			out = append(out, m.pairs(s, most)...)
		}
		m.sampled[key] = out
	}
	return out
}

// keyOfSampling returns a text that is the same for samplings of the same patterns.
func keyOfSampling(s *pattern.Sampling) string {
	var key strings.Builder
	for _, p := range s.Within {
		fmt.Fprintf(&key, "%p ", p)
	}
	for i, p := range s.Patterns {
		fmt.Fprintf(&key, "%p %q %t ", p, s.Before[i], s.Of == nil || s.Of[i])
	}
	fmt.Fprint(&key, s.Of == nil)
	return key.String()
}

// pairs returns samples of each pattern that counts together with each other one, for patterns that are
// too many to be followed at once.
func (m *Made) pairs(s *pattern.Sampling, most int) (out []pattern.Sample) {
	n := 0
	known := map[string]bool{}
	for i := range s.Patterns {
		if s.Of != nil && !s.Of[i] {
			continue
		}
		for j := range s.Patterns {
			both := s.Of == nil || s.Of[j]
			if both && j < i || !meet(s, i, j) {
				continue
			}
			if n++; n > most {
				return out
			}
			for _, text := range m.pair(s, i, j) {
				if !known[text] {
					known[text] = true
					out = append(out, pattern.Sample{Text: text, Hits: hitsOf(s, text)})
				}
			}
		}
	}
	return out
}

// meet tells whether two patterns may match one text, by how both begin: `git *` and `npm *` do not.
func meet(s *pattern.Sampling, i, j int) bool {
	rest := func(at int) (string, bool) {
		prefix := s.Patterns[at].Shape().Prefix
		n := min(len(prefix), len(s.Before[at]))
		return prefix[n:], prefix[:n] == s.Before[at][:n]
	}
	a, ok := rest(i)
	b, also := rest(j)
	return i == j || ok && also && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// pair returns sample texts for patterns i and j, among them texts that only one of the two matches:
// `git log` and `git push` for `git *` and `git log`. It remembers them for the next search.
func (m *Made) pair(s *pattern.Sampling, i, j int) []string {
	const limit = 256
	both := s.Of == nil || s.Of[j]
	key := pair{s.Patterns[i], s.Patterns[j], s.Within[0], s.Before[i], s.Before[j], both}
	texts, known := m.texts[key]
	if known {
		return texts
	}
	two := &pattern.Sampling{Patterns: []*pattern.Pattern{s.Patterns[i], s.Patterns[j]}, Of: []bool{true, both},
		Before: []string{s.Before[i], s.Before[j]}, Within: s.Within, Limit: limit}
	samples, _ := two.Samples()
	for _, x := range samples {
		texts = append(texts, x.Text)
	}
	m.texts[key] = texts
	return texts
}

// hitsOf tells which of the patterns match a text.
func hitsOf(s *pattern.Sampling, text string) []bool {
	hits := make([]bool, len(s.Patterns))
	for i, p := range s.Patterns {
		ok, err := p.Match(s.Before[i] + text)
		hits[i] = ok && err == nil
	}
	return hits
}
