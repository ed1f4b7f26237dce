// Package diff compares two policies, of one dialect or of two: for every region of calls that one
// decides otherwise than the other it gives the smallest call that shows it.
//
// It owns the search for such calls. Each is a proof, since both policies decided it; that there
// are no others is as good as the search, which samples every combination of the patterns that
// differ. Which files a policy is made of, and how a comparison looks, is its caller's business.
package diff

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// Options are for [Compare]; nil is the zero Options.
type Options struct {
	// Limit bounds how many calls are decided; zero is 50,000.
	Limit int
	// Calls are tried besides those that are made up.
	Calls []*obstat.Call
	// Only tries these and makes none up.
	Only bool
	// Readable leaves out calls that the first policy cannot read, and those whose text it does not
	// look at, and tells regions apart by kinds of tools: between dialects, each knows tools that the
	// other does not.
	Readable bool
	// Tools are those that calls are made of, besides tools of servers; none: all that are known.
	Tools []string
	// Skip leaves a call out, such as one that an agent refuses by itself; nil leaves none out.
	Skip func(*obstat.Call) bool
	// World is what the calls see of the machine; nil: a home directory and nothing else.
	World obstat.World
	// Made keeps the texts that are made of patterns, for the next comparison; nil keeps none.
	Made *Made
}

// A Report lists the regions in which two policies differ.
type Report struct {
	V       int      `json:"v"`
	Was     string   `json:"was"` // digest
	Now     string   `json:"now"`
	Tried   int      `json:"tried"` // calls that both decided
	Looser  int      `json:"looser"`
	Tighter int      `json:"stricter"`
	Regions []Region `json:"regions"`
	// Cut: the limit was reached, so there may be more.
	Cut bool `json:"cut,omitempty"`
	// Freer are all calls that were tried and are in a looser region.
	Freer []*obstat.Call `json:"-"`
}

// A Region is the calls that go from one rule's verdict to another's.
type Region struct {
	Looser bool           `json:"looser"`
	Was    obstat.Verdict `json:"was"`
	Now    obstat.Verdict `json:"now"`
	WasBy  By             `json:"was_by"`
	NowBy  By             `json:"now_by"`
	// Call is the smallest that was found; Mode is in it where it is not the mode in force.
	Call  *obstat.Call `json:"call"`
	Calls int          `json:"calls"` // that were tried and are in the region
}

// By is what decided a call.
type By struct {
	Rule   string     `json:"rule,omitempty"`
	Pos    obstat.Pos `json:"pos,omitzero"`
	Stage  string     `json:"stage"`
	Reason string     `json:"reason"`
}

// Home and Dir are where the calls that are made up are made.
const (
	Home = "/home/user"
	Dir  = Home + "/project"
)

const maxTried = 50_000

// Compare looks for calls that was and now decide differently.
func Compare(was, now *obstat.Policy, o *Options) *Report {
	if o == nil {
		o = &Options{}
	}
	c := &comparison{was: was, now: now, world: o.World, readable: o.Readable, made: o.Made, only: o.Tools, skip: o.Skip,
		left:    cmp.Or(o.Limit, maxTried),
		regions: map[region]*Region{},
		report:  &Report{V: 1, Was: was.Digest(), Now: now.Digest(), Regions: []Region{}}}
	if c.world == nil {
		c.world = &obstat.Snapshot{HomeDir: Home}
	}
	if c.report.Was == c.report.Now {
		return c.report
	}
	a, b := was.Program(), now.Program()
	c.modes, c.named = commonModes(a, b), toolsOf(a)
	if a.Dialect == b.Dialect {
		c.lacks = map[*obstat.Policy][]obstat.Mode{was: missing(b, a), now: missing(a, b)}
	}
	for _, call := range o.Calls {
		c.try(call, true)
	}
	if !o.Only {
		newSearch(c).run()
	}
	return c.finish()
}

// CompareAll is [Compare] for several policies in force, of which the strictest decides each call:
// the regions are those of the policy that decides, looser ones first.
func CompareAll(was []*obstat.Policy, now *obstat.Policy, limit int) *Report {
	out := &Report{V: 1, Now: now.Digest(), Regions: []Region{}}
	world := &obstat.Snapshot{HomeDir: Home}
	for i, p := range was {
		rep := Compare(p, now, &Options{Limit: limit, World: world})
		out.Tried, out.Cut = out.Tried+rep.Tried, out.Cut || rep.Cut
		for _, r := range rep.Regions {
			if at, _ := strictest(was, r.Call, world); at == i {
				out.Regions = append(out.Regions, r)
			}
		}
	}
	slices.SortStableFunc(out.Regions, func(a, b Region) int {
		if a.Looser == b.Looser {
			return 0
		} else if a.Looser {
			return -1
		}
		return 1
	})
	return out
}

// toolsOf returns the tools that rules of a policy name.
func toolsOf(p *obstat.Program) map[string]bool {
	out := map[string]bool{}
	for _, rules := range p.Rules {
		for i := range rules {
			if rules[i].Tool.Flavour == pattern.Exact {
				out[rules[i].Tool.Text] = true
			}
		}
	}
	return out
}

// commonModes returns the modes that both policies have, the one in force, "", first.
func commonModes(a, b *obstat.Program) []obstat.Mode {
	out := []obstat.Mode{""}
	if a.Dialect != b.Dialect {
		return out // modes of the same name need not be the same
	}
	for _, m := range slices.Sorted(maps.Keys(a.Pipelines)) {
		if _, both := b.Pipelines[m]; both && (m != a.Mode || m != b.Mode) {
			out = append(out, m)
		}
	}
	return out
}

// missing returns the modes of a that b does not have.
func missing(a, b *obstat.Program) (out []obstat.Mode) {
	for m := range a.Pipelines {
		if _, has := b.Pipelines[m]; !has {
			out = append(out, m)
		}
	}
	return out
}

type comparison struct {
	was, now *obstat.Policy
	world    obstat.World
	seen     *obstat.Recorder // has the analysis of the call that is tried, for both policies and all modes
	modes    []obstat.Mode
	lacks    map[*obstat.Policy][]obstat.Mode // modes that only the other has
	named    map[string]bool                  // tools that rules of was name
	readable bool
	only     []string // tools that calls are made of; none: all
	skip     func(*obstat.Call) bool
	left     int       // calls that may still be decided
	under    []setting // circumstances to try each call under, besides none
	made     *Made
	draft    *Draft // only deny and ask rules of was are looked at, see [Loosened]
	regions  map[region]*Region
	report   *Report
}

// A region is told by the verdicts and by what gave them.
type region struct {
	was, now         obstat.Verdict
	wasOver, nowOver obstat.Over
	wasBy, nowBy     obstat.Pos
	wasRule, nowIs   string
	other            bool   // not in the mode in force
	kind             string // of the tool, see [Options.Readable]
	named            bool   // by a rule of the first policy: what another agent calls the tool is told apart
}

// try decides a call in all modes, and under all circumstances that rules want.
func (c *comparison) try(call *obstat.Call, given bool) {
	if c.skip != nil && c.skip(call) {
		return
	}
	c.seen = &obstat.Recorder{Of: c.world}
	for _, u := range c.under {
		if in, ok := u.apply(call); ok && !given {
			c.left--
			c.report.Tried++
			c.decide(in)
		}
	}
	for _, mode := range c.modes {
		if given && mode != "" {
			break
		}
		if c.left--; c.left < 0 {
			c.report.Cut = true
			return
		}
		in := *call
		if !given {
			in.Mode = mode
		}
		c.report.Tried++
		c.decide(&in)
	}
}

// decide decides a call by both policies and files it under its region.
func (c *comparison) decide(call *obstat.Call) {
	if c.draft != nil {
		c.loosens(call)
		return
	}
	a, b := c.answer(c.was, call), c.answer(c.now, call)
	if a.Verdict == b.Verdict && a.Over == b.Over || c.readable && len(a.Faults) > 0 {
		return
	}
	c.file(call, &a, &b)
}

// file puts a call under its region.
func (c *comparison) file(call *obstat.Call, a, b *obstat.Decision) {
	key := region{was: a.Verdict, now: b.Verdict, wasOver: a.Over, nowOver: b.Over, other: call.Mode != "",
		wasRule: a.Stage, nowIs: b.Stage}
	if c.readable {
		t, _ := effect.Lookup(call.Tool)
		key.kind, key.named = t.Canonical, c.named[call.Tool]
	}
	if a.Rule != nil {
		key.wasBy, key.wasRule = a.Rule.Pos, a.Rule.String()
	}
	if b.Rule != nil {
		key.nowBy, key.nowIs = b.Rule.Pos, b.Rule.String()
	}
	f := c.regions[key]
	if f == nil {
		f = &Region{Looser: b.Verdict > a.Verdict || b.Over&^a.Over != 0, Was: a.Verdict, Now: b.Verdict}
		c.regions[key] = f
	}
	if f.Calls++; f.Looser {
		c.report.Freer = append(c.report.Freer, call)
	}
	if f.Call == nil || smaller(call, f.Call) {
		f.Call, f.WasBy, f.NowBy = call, byOf(a), byOf(b)
	}
}

// answer decides a call; an agent's word for its mode that is none of the policy's says nothing to it.
func (c *comparison) answer(pol *obstat.Policy, call *obstat.Call) obstat.Decision {
	if lacking := c.lacks[pol]; slices.Contains(lacking, call.Mode) {
		in := *call
		in.Mode, call = "", &in
	}
	return pol.Decide(call, c.seen)
}

func byOf(d *obstat.Decision) By {
	by := By{Stage: d.Stage, Reason: d.Reason()}
	if d.Rule != nil {
		by.Rule, by.Pos = d.Rule.String(), d.Rule.Pos
	}
	if d.Over != 0 {
		by.Rule += ", over: " + d.Over.String()
	}
	return by
}

// smaller orders calls by how much there is to read of them, those of tools that agents have first.
func smaller(a, b *obstat.Call) bool {
	return cmp.Or(cmp.Compare(extras(a), extras(b)), cmp.Compare(len(a.Input), len(b.Input)),
		cmp.Compare(len(a.Tool), len(b.Tool)),
		cmp.Compare(string(a.Input), string(b.Input)), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Mode, b.Mode)) < 0
}

// extras counts what a call says besides tool and input, and a tool that no agent has.
func extras(c *obstat.Call) (n int) {
	t, known := effect.Lookup(c.Tool)
	for _, there := range []bool{!known || t.Canonical == "mcp", len(c.Subjects) > 0, c.Repeat > 0} {
		if there {
			n++
		}
	}
	for at := range obstat.Circumstances() {
		if at.Of == "" && len(at.Values(c)) > 0 {
			n++
		}
	}
	return n
}

// finish lists the regions: looser ones first, then by their calls. A rule whose change shows in
// the mode in force is not told again for others.
func (c *comparison) finish() *Report {
	rep := c.report
	type change struct {
		looser bool
		by     By
	}
	told := map[change]bool{}
	changes := func(f *Region) []change {
		a, b := f.WasBy, f.NowBy
		a.Reason, b.Reason = "", ""
		return []change{{f.Looser, a}, {f.Looser, b}}
	}
	for key, f := range c.regions {
		for _, ch := range changes(f) {
			told[ch] = told[ch] || !key.other && ch.by.Rule != ""
		}
	}
	for key, f := range c.regions {
		if key.other && slices.ContainsFunc(changes(f), func(ch change) bool { return told[ch] }) {
			continue
		}
		rep.Regions = append(rep.Regions, *f)
		if f.Looser {
			rep.Looser++
		} else {
			rep.Tighter++
		}
	}
	slices.SortFunc(rep.Regions, func(a, b Region) int {
		switch {
		case a.Looser != b.Looser && a.Looser:
			return -1
		case a.Looser != b.Looser:
			return 1
		case smaller(a.Call, b.Call):
			return -1
		}
		return 1
	})
	return rep
}

// callOf makes a call in the made-up project.
func callOf(tool string, input map[string]any) *obstat.Call {
	raw, err := json.Marshal(input)
	if err != nil {
		raw = []byte("{}")
	}
	return &obstat.Call{Tool: tool, Input: raw, Dir: Dir, Roots: []string{Dir}}
}
