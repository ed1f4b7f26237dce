package adkfluent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/pattern"
)

// The modes of a policy.
const (
	ModeDefault     obstat.Mode = "default"      // ask for everything that is not allowed
	ModeAcceptEdits obstat.Mode = "accept_edits" // allow mutating tools, ask for the rest
	ModePlan        obstat.Mode = "plan"         // deny every mutating tool
	ModeBypass      obstat.Mode = "bypass"       // allow everything that is not denied
	ModeDontAsk     obstat.Mode = "dont_ask"     // deny everything that is not allowed
)

// Modes returns the five modes in the document's order.
func Modes() []obstat.Mode {
	return []obstat.Mode{ModeDefault, ModeAcceptEdits, ModePlan, ModeBypass, ModeDontAsk}
}

// A PatternMode says how a pattern is read. The zero PatternMode is Glob.
type PatternMode string

// The ways to read a pattern.
const (
	Glob  PatternMode = "glob"  // fnmatch.fnmatchcase
	Regex PatternMode = "regex" // re.fullmatch
)

func (m PatternMode) flavour() pattern.Flavour {
	if m == Regex {
		return pattern.Full
	}
	return pattern.Fnmatch
}

// DefaultMutatingTools returns the tools that change something, as the original
// lists them. A policy that names none of its own has these.
func DefaultMutatingTools() []string {
	return []string{"apply_edit", "bash", "create_file", "delete_file", "edit_file", "move_file", "run_command", "shell",
		"streaming_bash", "write_file"}
}

// A Config is a policy as its user writes it. The zero Config asks for
// everything.
type Config struct {
	Mode obstat.Mode // "" is ModeDefault

	Allow, Deny, Ask []string // exact tool names

	AllowPatterns, DenyPatterns, AskPatterns []string
	PatternMode                              PatternMode // how all three lists are read; "" is Glob

	// MutatingTools replaces the default list; nil leaves it, an empty list
	// makes no tool mutating.
	MutatingTools []string
}

// A Policy is immutable: Merge, WithMode and Refine return new ones. Make one
// with New, a constructor such as AskBefore, or Parse. A policy with a problem
// (see Err) denies everything, and so does a nil one.
type Policy struct {
	mode  obstat.Mode
	rules [len(lists)][]obstat.Rule // names as sorted sets; the text of each is its Source
	// patternMode is the given mode; merging with a regex policy makes it Regex.
	patternMode PatternMode
	mutating    []string // sorted
	refiners    []Refiner
	bare        bool
	errs        obstat.Errors

	once     sync.Once
	compiled *obstat.Policy
	fault    error
}

// New makes a policy of c, or says everything that is wrong with it: an unknown
// mode, an unknown pattern mode, a pattern that does not compile.
func New(c Config) (*Policy, error) {
	p := build(c)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

func build(c Config) *Policy {
	p := &Policy{mode: cmp.Or(c.Mode, ModeDefault), patternMode: cmp.Or(c.PatternMode, Glob),
		mutating: sortedSet(c.MutatingTools)}
	p.checkWords(obstat.Pos{}, obstat.Pos{})
	if c.MutatingTools == nil {
		p.mutating = DefaultMutatingTools()
	}
	for i, texts := range [len(lists)][]string{c.Deny, c.Allow, c.Ask, c.DenyPatterns, c.AllowPatterns, c.AskPatterns} {
		if !lists[i].patterns {
			texts = sortedSet(texts)
		}
		for _, t := range texts {
			r := lists[i].rule(t, p.patternMode)
			p.rules[i] = append(p.rules[i], r)
			if _, err := pattern.Compile(r.Tool.Flavour, t); err != nil && lists[i].patterns {
				p.errs = append(p.errs, &obstat.Error{Code: obstat.CodeBadPattern,
					Msg: fmt.Sprintf("%s pattern %q: %v", p.patternMode, t, err)})
			}
		}
	}
	return p
}

// checkWords reports a mode or pattern mode that does not exist, in the
// original's words.
func (p *Policy) checkWords(mode, patternMode obstat.Pos) {
	if !slices.Contains(Modes(), p.mode) {
		var words []string
		for _, m := range Modes() {
			words = append(words, string(m))
		}
		slices.Sort(words)
		p.errs = append(p.errs, &obstat.Error{Code: obstat.CodeBadValue, Pos: mode,
			Hint: dialect.Near(string(p.mode), words...),
			Msg:  fmt.Sprintf("Unknown permission mode '%s'. Valid: %s", p.mode, strings.Join(words, ", "))})
	}
	if p.patternMode != Glob && p.patternMode != Regex {
		p.errs = append(p.errs, &obstat.Error{Code: obstat.CodeBadValue, Pos: patternMode,
			Msg: fmt.Sprintf("pattern_mode must be 'glob' or 'regex', got '%s'", p.patternMode)})
	}
}

func sortedSet(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// Err returns everything that is wrong with the policy, or nil.
func (p *Policy) Err() error {
	if p == nil {
		return obstat.Errors{{Code: obstat.CodeMissing, Msg: "there is no policy"}}
	}
	return p.errs.Fatal()
}

// Mode returns the policy's mode.
func (p *Policy) Mode() obstat.Mode { return p.mode }

// Config returns the policy as data, sets sorted. Of a policy merged from glob
// and regex patterns it tells the texts but not which is which: use MarshalJSON,
// which does.
func (p *Policy) Config() Config {
	c := Config{Mode: p.mode, PatternMode: p.patternMode, MutatingTools: append([]string{}, p.mutating...)}
	for i, to := range [len(lists)]*[]string{&c.Deny, &c.Allow, &c.Ask, &c.DenyPatterns, &c.AllowPatterns,
		&c.AskPatterns} {
		*to = make([]string, len(p.rules[i]))
		for k := range *to {
			(*to)[k] = p.rules[i][k].Source
		}
	}
	return c
}

// copy returns p without its compiled form.
func (p *Policy) copy() *Policy {
	if p == nil {
		return &Policy{mode: ModeDefault, patternMode: Glob,
			errs: obstat.Errors{{Code: obstat.CodeMissing, Msg: "there is no policy"}}}
	}
	return &Policy{mode: p.mode, rules: p.rules, patternMode: p.patternMode, mutating: p.mutating,
		refiners: slices.Clip(p.refiners), bare: p.bare, errs: slices.Clip(p.errs)}
}

// WithMode returns the policy in another mode. A mode that does not exist makes
// a policy with an error, which denies.
func (p *Policy) WithMode(mode obstat.Mode) *Policy {
	q := p.copy()
	q.mode = mode
	if !slices.Contains(Modes(), mode) {
		q.checkWords(obstat.Pos{}, obstat.Pos{})
	}
	return q
}

// Merge returns the two policies as one: denials are united, approvals are
// united without denied tools, asks without allowed or denied ones,
// patterns follow one another, mutating tools are united, and other's mode
// counts unless it is the default one. Every pattern keeps the meaning it had,
// so globs and regular expressions can be merged; and the refiners of both
// stay.
func (p *Policy) Merge(other *Policy) *Policy {
	q, o := p.copy(), other.copy()
	for i := range lists {
		q.rules[i] = slices.Concat(q.rules[i], o.rules[i])
		if lists[i].patterns {
			continue
		}
		q.rules[i] = nameSet(q.rules[i])
		for _, before := range q.rules[:i] { // deny, and for asks also allow
			q.rules[i] = slices.DeleteFunc(q.rules[i], func(r obstat.Rule) bool {
				_, found := slices.BinarySearchFunc(before, r, bySource)
				return found
			})
		}
	}
	if o.mode != ModeDefault {
		q.mode = o.mode
	}
	if o.patternMode == Regex {
		q.patternMode = Regex
	}
	q.mutating = sortedSet(slices.Concat(q.mutating, o.mutating))
	q.refiners = slices.Concat(q.refiners, o.refiners)
	q.bare = q.bare && o.bare
	q.errs = slices.Concat(q.errs, o.errs)
	return q
}

// nameSet returns rules for names as a sorted set; of two equal ones the first
// one's place stays.
func nameSet(rules []obstat.Rule) []obstat.Rule {
	slices.SortStableFunc(rules, bySource)
	return slices.CompactFunc(rules, func(a, b obstat.Rule) bool { return a.Source == b.Source })
}

func bySource(a, b obstat.Rule) int { return cmp.Compare(a.Source, b.Source) }

// Plan returns a policy that denies every mutating tool and allows the given
// ones at once.
func Plan(allow ...string) *Policy { return build(Config{Mode: ModePlan, Allow: allow}) }

// Bypass returns a policy that allows everything; merge it with denials.
func Bypass() *Policy { return build(Config{Mode: ModeBypass}) }

// AcceptEdits returns a policy that allows mutating tools and asks for the
// rest. The given tools are put on the ask list; a mutating one among them is
// allowed all the same, since the chain comes to the mode before the ask list:
// take it out of the mutating tools to be asked.
func AcceptEdits(ask ...string) *Policy { return build(Config{Mode: ModeAcceptEdits, Ask: ask}) }

// DontAsk returns a policy that allows the given tools and denies the rest, for
// runs without a human.
func DontAsk(allow ...string) *Policy { return build(Config{Mode: ModeDontAsk, Allow: allow}) }

// Default returns a policy that allows the given tools and asks for the rest.
func Default(allow ...string) *Policy { return build(Config{Allow: allow}) }

// AskBefore returns a policy with the given tools on its ask list.
func AskBefore(tools ...string) *Policy { return build(Config{Ask: tools}) }

// AutoAllow returns a policy with the given tools on its allow list.
func AutoAllow(tools ...string) *Policy { return build(Config{Allow: tools}) }

// Deny returns a policy with the given tools on its deny list.
func Deny(tools ...string) *Policy { return build(Config{Deny: tools}) }

// AllowPatterns returns a policy that allows the tools that one of the patterns
// matches. A pattern that does not compile makes a policy with an error.
func AllowPatterns(mode PatternMode, patterns ...string) *Policy {
	return build(Config{AllowPatterns: patterns, PatternMode: mode})
}

// DenyPatterns returns a policy that denies the tools that one of the patterns
// matches. A pattern that does not compile makes a policy with an error.
func DenyPatterns(mode PatternMode, patterns ...string) *Policy {
	return build(Config{DenyPatterns: patterns, PatternMode: mode})
}
