package adkfluent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
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
	return []string{"apply_edit", "bash", "create_file", "delete_file", "edit_file", "move_file", "run_command", "shell", "streaming_bash", "write_file"}
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

// An entry is a name or a pattern and where it was written. how is empty for a
// name.
type entry struct {
	text  string
	how   PatternMode
	pos   obstat.Pos
	layer string
}

// The three lists of each kind, in the order in which a problem is reported.
type lists struct{ allow, deny, ask []entry }

// A Policy is immutable: Merge, WithMode and Refine return new ones. Make one
// with New, a constructor such as AskBefore, or Parse. A policy with a problem
// (see Err) denies everything, and so does a nil one.
type Policy struct {
	mode     obstat.Mode
	names    lists // sorted sets
	patterns lists
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
	p := &Policy{mode: cmp.Or(c.Mode, ModeDefault), patternMode: cmp.Or(c.PatternMode, Glob)}
	p.checkWords(obstat.Pos{}, obstat.Pos{})
	p.names = lists{nameSet(c.Allow), nameSet(c.Deny), nameSet(c.Ask)}
	p.patterns = lists{p.patternList(c.AllowPatterns), p.patternList(c.DenyPatterns), p.patternList(c.AskPatterns)}
	p.mutating = sortedSet(c.MutatingTools)
	if c.MutatingTools == nil {
		p.mutating = DefaultMutatingTools()
	}
	p.checkPatterns(nil)
	return p
}

// checkWords reports a mode or pattern mode that does not exist, in the
// original's words.
func (p *Policy) checkWords(mode, patternMode obstat.Pos) {
	if !slices.Contains(Modes(), p.mode) {
		p.errs = append(p.errs, &obstat.Error{Code: obstat.CodeBadValue, Pos: mode,
			Msg: fmt.Sprintf("Unknown permission mode '%s'. Valid: %s", p.mode, modeList()), Hint: nearMode(string(p.mode))})
	}
	if p.patternMode != Glob && p.patternMode != Regex {
		p.errs = append(p.errs, &obstat.Error{Code: obstat.CodeBadValue, Pos: patternMode,
			Msg: fmt.Sprintf("pattern_mode must be 'glob' or 'regex', got '%s'", p.patternMode)})
	}
}

func modeList() string {
	words := make([]string, 0, 5)
	for _, m := range Modes() {
		words = append(words, string(m))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// checkPatterns compiles every pattern; place, if not nil, finds the position
// of a byte within an entry's text.
func (p *Policy) checkPatterns(place func(e *entry, offset int) obstat.Pos) {
	for _, list := range [][]entry{p.patterns.deny, p.patterns.allow, p.patterns.ask} {
		for i := range list {
			e := &list[i]
			_, err := pattern.Compile(e.how.flavour(), e.text)
			if err == nil {
				continue
			}
			pos := e.pos
			if se := (*pattern.SyntaxError)(nil); place != nil && asSyntax(err, &se) {
				pos = place(e, se.Offset)
			}
			p.errs = append(p.errs, &obstat.Error{Code: obstat.CodeBadPattern, Pos: pos, Msg: fmt.Sprintf("%s pattern %q: %v", e.how, e.text, err)})
		}
	}
}

func asSyntax(err error, target **pattern.SyntaxError) bool {
	se, ok := err.(*pattern.SyntaxError)
	*target = se
	return ok
}

func nameSet(names []string) []entry {
	var out []entry
	for _, n := range sortedSet(names) {
		out = append(out, entry{text: n})
	}
	return out
}

func sortedSet(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func (p *Policy) patternList(texts []string) []entry {
	var out []entry
	for _, t := range texts {
		out = append(out, entry{text: t, how: p.patternMode})
	}
	return out
}

// Err returns everything that is wrong with the policy, or nil.
func (p *Policy) Err() error {
	if p == nil {
		return obstat.Errors{{Code: obstat.CodeMissing, Msg: "there is no policy"}}
	}
	return p.errs.Fatal()
}

// Mode returns the policy's mode.
func (p *Policy) Mode() obstat.Mode { return p.mode }

// IsMutating reports whether tool is one of the policy's mutating tools.
func (p *Policy) IsMutating(tool string) bool {
	_, ok := slices.BinarySearch(p.mutating, tool)
	return ok
}

// Config returns the policy as data, sets sorted. Of a policy merged from glob
// and regex patterns it tells the texts but not which is which: use MarshalJSON,
// which does.
func (p *Policy) Config() Config {
	return Config{
		Mode: p.mode, PatternMode: p.patternMode, MutatingTools: append([]string{}, p.mutating...),
		Allow: texts(p.names.allow), Deny: texts(p.names.deny), Ask: texts(p.names.ask),
		AllowPatterns: texts(p.patterns.allow), DenyPatterns: texts(p.patterns.deny), AskPatterns: texts(p.patterns.ask),
	}
}

func texts(list []entry) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].text
	}
	return out
}

// copy returns p without its compiled form.
func (p *Policy) copy() *Policy {
	if p == nil {
		return &Policy{mode: ModeDefault, patternMode: Glob, errs: obstat.Errors{{Code: obstat.CodeMissing, Msg: "there is no policy"}}}
	}
	return &Policy{mode: p.mode, names: p.names, patterns: p.patterns, patternMode: p.patternMode, mutating: p.mutating,
		refiners: slices.Clip(p.refiners), bare: p.bare, errs: slices.Clip(p.errs)}
}
