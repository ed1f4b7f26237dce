package obstat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// A Library holds the code that Programs name: the views, checks and predicates
// of a dialect. Each is made once per Policy from the Program's Params.
type Library struct {
	Views      map[string]func(params json.RawMessage) (View, error)
	Checks     map[string]func(params json.RawMessage) (Checker, error)
	Predicates map[string]func(params json.RawMessage) (Predicate, error)
	// Filters tell of a rule whether a [Match] leaves it out. They are asked when
	// the list is first used: most calls are made in a mode that has none.
	Filters map[string]func(r *Rule) bool
	// Own are the dialect's own tools by kind, for calls of agents whose tools have
	// other names; nil puts every call to the rules as it is.
	Own map[string]OwnTool
	// Whole are tools of which the view's questions are all that there is to decide: the floor guesses no file or
	// command in their inputs. `git_merge_request {"target": "dev"}` of Chorus is about a branch and writes no file dev.
	Whole map[string]bool
	// Agents are the names of the agents that have tools of their own; nil: every named agent has.
	Agents []string
}

// A Checker looks at a call's arguments.
type Checker interface {
	Check(f *Facts) Finding
}

// A Finding is the answer of a check. The zero Finding denies.
type Finding struct {
	// Pass: the check has nothing to say.
	Pass    bool
	Verdict Verdict
	// Safety marks an ask that no allow rule silences.
	Safety bool
	Note   string          // why
	Part   string          // the part of the call it is about, if not the whole
	Input  json.RawMessage // replaces the call's input
	Rule   *Rule           // the rule that made it say so, if one did
}

// A Predicate answers a yes-or-no question about a call.
type Predicate interface {
	Holds(f *Facts) (bool, error)
}

// Options are for [Compile]; nil means the zero Options.
type Options struct {
	// Library holds the views, checks and predicates that the Program names. nil:
	// there is only the built-in view.
	Library *Library
	// MaxRules bounds the rules of all lists together; zero is two million.
	MaxRules int
	// NoFloor compiles the Program without the [Floor], like a Program that says
	// so itself: the bare document of a dialect, in which a rule for `git *`
	// allows `git status; rm -rf ~`. Zero: the floor is on.
	NoFloor bool
}

// A Policy is a compiled Program: immutable, indexed and safe for concurrent
// use.
type Policy struct {
	prog      *Program
	digest    func() string // worked out when first wanted
	pipelines map[Mode]*pipeline
	inForce   *pipeline // of the Program's own mode
	lists     map[listKey]*list
	view      View               // nil: the built-in one
	own       map[string]OwnTool // the dialect's own tools, if calls of other agents are put to the rules as theirs
	whole     map[string]bool    // tools of which the view asks everything
	kinds     bool               // rules are about kinds of tools
	patterns  map[Text]*pattern.Pattern
	fields    map[string]bool // that rules look at
	// circumstantial: one of the fields is a circumstance of the call.
	circumstantial bool
	dotted         bool    // a pattern begins with ./
	opts           Options // for With
	walks          sync.Pool
}

type listKey struct {
	name   string
	pick   Pick
	except string
}

type pipeline struct {
	stages, amend []step
	def           Verdict
	nobody        bool // an ask of some stage settles as deny: no human answers in this mode
	lists         bool // all stages ask rule lists
	marks         bool // a stage is a Mark
	// rulesOnly: all stages ask rules, and nothing amends the answer but the floor, which
	// leaves given subjects alone.
	rulesOnly bool
	// plans holds a plan for each tool that was asked about, at most maxPlans. It is
	// replaced, never changed.
	plans    atomic.Pointer[plans]
	planning sync.Mutex
	// forms are found when a command is first judged.
	forms     []form
	scanForms sync.Once
}

// A step is a stage, compiled: the rule list, check or predicate that it names is
// looked up.
type step struct {
	stage Stage
	name  string
	// One of these is set.
	list  *list
	check Checker
	when  *When
	floor bool
	mark  bool // list's rules are noted, and settle nothing

	settles   Verdicts
	pass      Outcomes
	askDenies bool
	pred      Predicate
	tools     map[string]struct{}
	kinds     bool    // tools has kinds of tools as well
	yes, no   *remark // the notes of a When
}

// Compile makes a Policy of p, or reports everything that is wrong with it. p
// is copied; changing it later changes nothing. Unless the options or p itself
// turn it off, every pipeline ends in the floor: a pipeline that has no Floor
// among its amendments gets one.
func Compile(p *Program, opts *Options) (*Policy, error) {
	c := &compiler{opts: Options{Library: &Library{}, MaxRules: 2_000_000}, prog: p.clone()}
	if opts != nil {
		if opts.Library != nil {
			c.opts.Library = opts.Library
		}
		if opts.MaxRules > 0 {
			c.opts.MaxRules = opts.MaxRules
		}
		if opts.NoFloor {
			c.prog = c.prog.WithFloor(false)
		}
	}
	c.prog.addFloor()
	c.policy = &Policy{prog: c.prog, opts: c.opts, digest: sync.OnceValue(c.prog.Digest),
		pipelines: map[Mode]*pipeline{}, lists: map[listKey]*list{}}
	if c.policy.kinds = c.prog.kinds(); c.prog.HasFloor() {
		c.policy.own, c.policy.whole = c.opts.Library.Own, c.opts.Library.Whole
	}
	c.compileView()
	c.compileRules()
	c.compilePipelines()
	if err := c.errs.Fatal(); err != nil {
		return nil, err
	}
	c.policy.inForce = c.policy.pipelines[c.prog.Mode]
	c.policy.walks.New = func() any { return new(walk) }
	return c.policy, nil
}

// Program returns a copy of the Program that pol was compiled from.
func (pol *Policy) Program() *Program { return pol.prog.clone() }

// Digest returns the digest of the policy's Program.
func (pol *Policy) Digest() string { return pol.digest() }

// Mode returns the mode in force when a call names none.
func (pol *Policy) Mode() Mode { return pol.prog.Mode }

func (p *Program) clone() *Program {
	q := *p
	q.Pipelines = maps.Clone(p.Pipelines)
	q.Faces = maps.Clone(p.Faces)
	q.Rules = make(map[string][]Rule, len(p.Rules))
	for name, rules := range p.Rules {
		q.Rules[name] = slices.Clone(rules)
	}
	return &q
}

type compiler struct {
	opts   Options
	prog   *Program
	policy *Policy
	errs   Errors
}

func (c *compiler) fail(pos Pos, code Code, format string, args ...any) {
	c.errs = append(c.errs, &Error{Code: code, Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

func (c *compiler) compileView() {
	if c.prog.View == "" {
		return
	}
	mk := c.opts.Library.Views[c.prog.View]
	if mk == nil {
		c.fail(Pos{}, CodeUnknownName, "no view %q", c.prog.View)
		return
	}
	v, err := mk(c.prog.Params)
	if err != nil {
		c.add(err)
	}
	c.policy.view = v
}

// add takes over the problems of err, positions included.
func (c *compiler) add(err error) {
	var es Errors
	var e *Error
	switch {
	case errors.As(err, &es):
		c.errs = append(c.errs, es...)
	case errors.As(err, &e):
		c.errs = append(c.errs, e)
	default:
		c.fail(Pos{}, CodeBadValue, "%v", err)
	}
}

func (c *compiler) compileRules() {
	n := 0
	for _, rules := range c.prog.Rules {
		n += len(rules)
	}
	c.policy.patterns, c.policy.fields = make(map[Text]*pattern.Pattern, min(n, c.opts.MaxRules)), map[string]bool{}
	n = 0
	for _, name := range sortedKeys(c.prog.Rules) {
		rules := c.prog.Rules[name]
		if n += len(rules); n > c.opts.MaxRules {
			c.fail(Pos{}, CodeTooLarge, "%d rules or more; at most %d are taken", n, c.opts.MaxRules)
			return
		}
		for i := range rules {
			c.compileRule(name, &rules[i])
		}
	}
	for field := range c.policy.fields {
		c.policy.circumstantial = c.policy.circumstantial || strings.HasPrefix(field, callField)
	}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (c *compiler) compileRule(list string, r *Rule) {
	if r.Verdict > Allow {
		c.fail(r.Pos, CodeBadValue, "rule %s of %s has no verdict", r, list)
	}
	if r.Tool.Flavour == pattern.Exact && r.Tool.Text == "" {
		c.fail(r.Pos, CodeMissing, "a rule of %s names no tool", list)
	}
	c.compileText(r.Tool, r)
	c.compileText(r.Pattern, r)
	c.compileConds(r)
	c.policy.fields[r.Field] = true
	c.policy.dotted = c.policy.dotted || strings.HasPrefix(r.Pattern.Text, "./")
}

func (c *compiler) compileText(t Text, r *Rule) {
	if t.IsZero() || c.policy.patterns[t] != nil {
		return
	}
	p, err := pattern.Compile(t.Flavour, t.Text)
	if err != nil {
		c.errs = append(c.errs, &Error{Code: CodeBadPattern, Pos: r.Pos, Msg: fmt.Sprintf("rule %.120s: %v", r, err)})
		return
	}
	c.policy.patterns[t] = p
}

func (c *compiler) compilePipelines() {
	if _, ok := c.prog.Pipelines[c.prog.Mode]; !ok {
		c.fail(Pos{}, CodeUnknownName, "mode %q has no pipeline; there are %q", c.prog.Mode, sortedKeys(c.prog.Pipelines))
	}
	for _, mode := range sortedKeys(c.prog.Pipelines) {
		pl := c.prog.Pipelines[mode]
		if pl.Default > Allow {
			c.fail(Pos{}, CodeBadValue, "pipeline %q has no default verdict", mode)
		}
		out := &pipeline{stages: c.steps(mode, pl.Stages, false), amend: c.steps(mode, pl.Amend, true), def: pl.Default}
		out.nobody = slices.ContainsFunc(out.stages, func(s step) bool { return s.askDenies })
		out.lists = !slices.ContainsFunc(out.stages, func(s step) bool { return s.list == nil })
		out.marks = slices.ContainsFunc(out.stages, func(s step) bool { return s.mark })
		out.rulesOnly = out.lists && !out.marks && !slices.ContainsFunc(out.amend, func(s step) bool { return !s.floor })
		c.policy.pipelines[mode] = out
	}
}

func (c *compiler) steps(mode Mode, stages []Stage, amend bool) []step {
	out := make([]step, 0, len(stages))
	for _, s := range stages {
		if s == nil {
			c.fail(Pos{}, CodeMissing, "pipeline %q has an empty stage", mode)
			continue
		}
		st := step{stage: s, name: s.StageName()}
		switch s := s.(type) {
		case Match:
			st.list, st.settles, st.askDenies = c.list(mode, s), s.Settle, s.AskDenies
		case Check:
			st.check, st.pass, st.askDenies = c.checker(mode, s), s.Pass, s.AskDenies
		case When:
			c.when(mode, s, &st)
		case Mark:
			if st.list, st.mark = c.list(mode, Match{Name: s.Name, Rules: s.Rules, Pick: First}), true; amend {
				c.fail(Pos{}, CodeBadValue, "pipeline %q has the mark %q among its amendments; it can only be a stage",
					mode, s.Name)
			}
		case Floor:
			st.floor = true
			if !amend {
				c.fail(Pos{}, CodeBadValue, "pipeline %q has the floor among its stages; it can only amend", mode)
			}
			if c.prog.NoFloor {
				c.fail(Pos{}, CodeConflict, "pipeline %q has a floor, and the Program turns the floor off", mode)
			}
		}
		out = append(out, st)
	}
	return out
}

func (c *compiler) list(mode Mode, m Match) *list {
	rules, ok := c.prog.Rules[m.Rules]
	if !ok {
		c.fail(Pos{}, CodeUnknownName, "stage %q of %q wants a rule list %q that is not there", m.Name, mode, m.Rules)
		return nil
	}
	except := c.opts.Library.Filters[m.Except]
	if m.Except != "" && except == nil {
		c.fail(Pos{}, CodeUnknownName, "stage %q of %q wants a filter %q that does not exist", m.Name, mode, m.Except)
	}
	key := listKey{m.Rules, m.Pick, m.Except}
	if c.policy.lists[key] == nil && c.errs.Fatal() == nil {
		l := newList(rules, m.Pick, except, c.policy.compiled)
		if c.policy.kinds {
			l.kinds = map[string][]*toolIndex{}
		}
		c.policy.lists[key] = l
	}
	return c.policy.lists[key]
}

// compiled returns the compiled form of a Text of the Program.
func (pol *Policy) compiled(t Text) *pattern.Pattern { return pol.patterns[t] }

func (c *compiler) checker(mode Mode, s Check) Checker {
	name := s.Check
	if name == "" {
		name = s.Name
	}
	mk := c.opts.Library.Checks[name]
	if mk == nil {
		c.fail(Pos{}, CodeUnknownName, "stage %q of %q wants a check %q that does not exist", s.Name, mode, name)
		return nil
	}
	ck, err := mk(c.prog.Params)
	if err != nil {
		c.add(err)
	}
	return ck
}

func (c *compiler) when(mode Mode, s When, st *step) {
	st.when, st.yes = &s, &remark{note: s.words(mode, "yes", s.Then), mode: true}
	if s.Else != nil {
		st.no = &remark{note: s.words(mode, "no", *s.Else), mode: true}
	}
	if s.Then > Allow || s.Else != nil && *s.Else > Allow {
		c.fail(Pos{}, CodeBadValue, "stage %q of %q has no verdict", s.Name, mode)
	}
	if s.Is == "" {
		st.tools = make(map[string]struct{}, len(s.Tools))
		for _, t := range s.Tools {
			st.tools[t] = struct{}{}
			if st.kinds = c.prog.kinds(); st.kinds {
				for _, k := range effect.ToolKinds(t) {
					st.tools[kindMark+k] = struct{}{}
				}
			}
		}
		return
	}
	mk := c.opts.Library.Predicates[s.Is]
	if mk == nil {
		c.fail(Pos{}, CodeUnknownName, "stage %q of %q wants a predicate %q that does not exist", s.Name, mode, s.Is)
		return
	}
	var err error
	if st.pred, err = mk(c.prog.Params); err != nil {
		c.add(err)
	}
}

// words says how a stage was answered and what the mode does then: `read-only? no: mode
// explore denies that`.
func (s *When) words(mode Mode, answer string, v Verdict) string {
	verb := [...]string{"denies", "asks about", "allows"}[min(v, Allow)]
	return fmt.Sprintf("%s? %s: mode %s %s that", s.Name, answer, mode, verb)
}
