package suggest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
)

// The place where the commands of a file's rules are decided.
const (
	pileHome = "/home/user"
	pileDir  = pileHome + "/project"
)

// Pile looks through the allow rules of a policy's file for those that are about one command each, as "always" leaves
// them behind by the dozen, and suggests rules that say several of them. To each of these commands a person has said
// yes; what a suggestion must not do is the same as in [Suggest]. Rules that the suggestions cover are in
// [Suggestion.Gone]: without them, and with the suggestions, all commands of the pile are allowed as before. A
// suggestion without a rule is of commands that are allowed all the same, as those that only read.
func Pile(l *dialect.Loaded, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	s := &search{least: max(cmp.Or(o.Min, 2), 2), byKey: map[string]*candidate{}}
	alone := singles(l)
	without, err := l.Policy.Lacking(func(r *obstat.Rule) bool { return alone[r.Pos] != nil })
	if err != nil {
		return nil, err
	}
	bare := *l
	bare.Policy, bare.Program = without, without.Program()
	s.l = &bare
	rep := &Report{V: 1, List: []Suggestion{}}
	for at, d := range alone {
		d.at = at
		s.deeds = append(s.deeds, d)
	}
	slices.SortFunc(s.deeds, func(a, b *deed) int {
		return cmp.Or(cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Col, b.at.Col))
	})
	modes := slices.Collect(maps.Keys(l.Program.Pipelines))
	var idle []*deed
	for _, d := range s.deeds {
		rep.Calls++
		if d.said = without.Decide(d.call, d.world).Verdict; d.said == obstat.Ask {
			rep.Asks++
		} else if d.exact && inAllModes(modes, l.Policy, without, d) {
			idle = append(idle, d)
		}
	}
	for _, d := range harmIn(s.deeds[:min(1, len(s.deeds))]) {
		d.said = l.Policy.Decide(d.call, d.world).Verdict // what the pile allows already is no reason against a rule
		s.harm = append(s.harm, d)
	}
	s.gather()
	rep.List, rep.Left = s.choose(cmp.Or(o.Max, 40)), rep.Asks
	for i := range rep.List {
		rep.Left -= rep.List[i].Asks
	}
	if len(idle) >= s.least {
		rep.List = append([]Suggestion{newSuggestion(&candidate{}, idle)}, rep.List...)
	}
	return rep, nil
}

// inAllModes tells whether two policies decide a call alike in each mode.
func inAllModes(modes []obstat.Mode, a, b *obstat.Policy, d *deed) bool {
	return !slices.ContainsFunc(modes, func(m obstat.Mode) bool {
		call := *d.call
		call.Mode = m
		return a.Decide(&call, d.world).Verdict != b.Decide(&call, d.world).Verdict
	})
}

// singles returns the calls of the rules that are about one command, by their places.
func singles(l *dialect.Loaded) map[obstat.Pos]*deed {
	out, others := map[obstat.Pos]*deed{}, map[obstat.Pos]bool{}
	world := &obstat.Snapshot{HomeDir: pileHome}
	for _, rules := range l.Program.Rules {
		for i := range rules {
			r := &rules[i]
			tool, command, exact := dialect.Single(r)
			if !exact {
				command += anyArgument
			}
			call := callOf(tool, command)
			if r.Pos.File != l.Into() || tool == "" || l.Policy.Decide(call, world).Verdict != obstat.Allow {
				others[r.Pos] = true // it is about more, or does nothing
				continue
			}
			out[r.Pos] = &deed{call: call, world: world, n: 1, exact: exact}
		}
	}
	for at := range others {
		delete(out, at)
	}
	decide := map[obstat.Pos]*deed{}
	for at, d := range out {
		// Beside no other of the pile it decides its call, which a rule of another agent, or another tool's, does not.
		alone, err := l.Policy.Lacking(func(r *obstat.Rule) bool { return out[r.Pos] != nil && r.Pos != at })
		if err != nil {
			continue
		}
		by := alone.Decide(d.call, world)
		if by.Verdict == obstat.Allow && (by.Rule == nil || by.Rule.Pos == at || !by.Rule.Pos.IsValid()) {
			decide[at] = d
		}
	}
	return decide
}

// anyArgument stands for the arguments of a command that a rule allows with any.
const anyArgument = " x"

func callOf(tool, command string) *obstat.Call {
	input := []byte("{}")
	if t, _ := effect.Lookup(tool); len(t.Command) > 0 {
		input, _ = json.Marshal(map[string]string{t.Command[0]: command}) // a text can always be written
	}
	return &obstat.Call{Tool: tool, Input: input, Dir: pileDir, Roots: []string{pileDir}}
}
