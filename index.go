package obstat

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// none is the rank of no rule at all.
const none = uint32(math.MaxUint32)

// A list is a rule list made ready for one pick: every rule has a rank, and the
// lowest rank that matches decides. So each part of the index may stop as soon
// as nothing it holds can rank lower than the best match found.
//
// The index is built when the first question comes: a pipeline has lists that
// most calls never reach.
type list struct {
	ready  func()                  // builds the list when it is first asked, and panics each time if that does
	tools  map[string]*toolIndex   // rules for tools by exact name
	kinds  map[string][]*toolIndex // the same by kind, where rules are about kinds
	names  *pattern.Set            // whole-tool rules whose tool is a pattern, on the tool's name
	wild   []wildIndex             // other rules whose tool is a pattern, by lowest rank
	ranked []rankedRule            // by rank
	// conds: a rule has conditions, so that one that matches need not be about a question.
	conds    bool
	compiled func(Text) *pattern.Pattern
}

// sortByShare puts rules first that speak for more of a call.
func sortByShare(list []rankedRule, compiled func(Text) *pattern.Pattern) {
	share := make(map[*Rule]int, len(list))
	for i := range list {
		r := list[i].Rule
		switch p := compiled(r.Pattern); {
		case len(r.If)+len(r.Except) > 0 || p == nil && !r.Whole():
		case r.Whole() || p.MustMatch(""):
			share[r] = math.MaxInt
		case literalOf(p) != "": // also `tool:bash:sudo`, a regular expression
			share[r] = math.MaxInt - 1
		default:
			share[r] = len(p.Shape().Prefix)
		}
	}
	slices.SortStableFunc(list, func(a, b rankedRule) int { return cmp.Compare(share[b.Rule], share[a.Rule]) })
}

// A rankedRule is a rule and its verdict, so that a rule that is found need not
// be fetched.
type rankedRule struct {
	*Rule
	verdict Verdict
}

type wildIndex struct {
	tool *pattern.Pattern // nil: every tool
	*toolIndex
}

// A toolIndex holds the rules of one tool, by the field they look at.
type toolIndex struct {
	min    uint32 // lowest rank of them all
	whole  uint32 // lowest rank of the rules without a pattern
	fields []fieldIndex
	// guarded are the ranks of the rules without a pattern that have conditions.
	guarded []uint32
}

type fieldIndex struct {
	name string
	min  uint32
	set  *pattern.Set
}

// order returns the rules in the order of their ranks. Among rules that all allow, the order of the file decides
// nothing, so those that speak for most of a call come first: `Bash`, then the very command, then `npx tsc *` before
// `npx *`. Else an exact rule that a person adds below a wider one would not count.
func order(rules []Rule, pick Pick, compiled func(Text) *pattern.Pattern) []rankedRule {
	out := make([]rankedRule, 0, len(rules))
	add := func(r *Rule) { out = append(out, rankedRule{r, r.Verdict}) }
	defer func() {
		from := slices.IndexFunc(out, func(r rankedRule) bool { return r.verdict == Allow })
		alike := from >= 0 && !slices.ContainsFunc(out[from:], func(r rankedRule) bool { return r.verdict != Allow })
		if alike && pick != Last {
			sortByShare(out[from:], compiled)
		}
	}()
	switch pick {
	case Last:
		for i := range slices.Backward(rules) {
			add(&rules[i])
		}
	case Strictest:
		for v := Deny; v <= Allow; v++ {
			for i := range rules {
				if rules[i].Verdict == v {
					add(&rules[i])
				}
			}
		}
	default:
		for i := range rules {
			add(&rules[i])
		}
	}
	return out
}

// WholeInput is the field of a subject that is the input as a whole. A rule with
// a pattern and no field looks at it.
const WholeInput = "$input"

// anyField marks a subject that rules about any field look at.
const anyField = "*"

func (r *Rule) field() string {
	if r.Field == "" {
		return WholeInput
	}
	return r.Field
}

// builder gathers the rules of a list by tool and field before the sets are made.
type builder struct {
	tools map[Text]*toolBuilder
	order []*toolBuilder
	names []pattern.Entry
	last  *toolBuilder // rules of a tool mostly stand together
}

type toolBuilder struct {
	tool       Text
	min, whole uint32
	fields     []fieldBuilder
	guarded    []uint32
}

type fieldBuilder struct {
	name    string
	entries []pattern.Entry
}

func (b *builder) tool(t Text) *toolBuilder {
	if b.last != nil && b.last.tool == t {
		return b.last
	}
	tb := b.tools[t]
	if tb == nil {
		tb = &toolBuilder{tool: t, min: none, whole: none}
		b.tools[t] = tb
		b.order = append(b.order, tb)
	}
	b.last = tb
	return tb
}

// newList returns the list of rules without those that except, if not nil, picks
// out; compiled returns the compiled form of a Text, or nil if it has none (a
// problem already reported).
func newList(rules []Rule, pick Pick, except func(*Rule) bool, compiled func(Text) *pattern.Pattern) *list {
	l := &list{compiled: compiled}
	l.ready = sync.OnceFunc(func() {
		l.ranked = order(rules, pick, compiled)
		if except != nil {
			l.ranked = slices.DeleteFunc(l.ranked, func(r rankedRule) bool { return except(r.Rule) })
		}
		l.fill(compiled)
	})
	return l
}

func (l *list) fill(compiled func(Text) *pattern.Pattern) {
	b := builder{tools: map[Text]*toolBuilder{}}
	for i := range l.ranked {
		l.conds = l.conds || l.ranked[i].guarded()
		b.add(l.ranked[i:], uint32(i), compiled)
	}
	l.tools = make(map[string]*toolIndex, len(b.order))
	for _, tb := range b.order {
		idx := tb.index()
		switch {
		case tb.tool.Flavour == pattern.Exact:
			if l.tools[tb.tool.Text] = idx; l.kinds != nil {
				l.byKind(tb.tool.Text, idx)
			}
		case tb.tool.IsZero():
			l.wild = append(l.wild, wildIndex{nil, idx})
		default:
			l.wild = append(l.wild, wildIndex{compiled(tb.tool), idx})
		}
	}
	if len(b.names) > 0 {
		l.names = pattern.NewSet(b.names)
	}
}

// add adds the first of the rules that are left.
func (b *builder) add(left []rankedRule, rank uint32, compiled func(Text) *pattern.Pattern) {
	r := left[0].Rule
	if r.Whole() && !r.guarded() && r.Tool.Flavour != pattern.Exact && !r.Tool.IsZero() {
		b.names = append(b.names, pattern.Entry{Pattern: compiled(r.Tool), Rank: rank})
		return
	}
	tb := b.tool(r.Tool)
	tb.min = min(tb.min, rank)
	if r.Whole() && r.guarded() {
		tb.guarded = append(tb.guarded, rank)
		return
	}
	if r.Whole() {
		tb.whole = min(tb.whole, rank)
		return
	}
	f := tb.field(r.field())
	if len(f.entries) == cap(f.entries) {
		f.entries = slices.Grow(f.entries, run(left))
	}
	f.entries = append(f.entries, pattern.Entry{Pattern: compiled(r.Pattern), Rank: rank})
}

// run returns how many rules, from the first, are for the same tool and field.
func run(rules []rankedRule) int {
	n := 1
	for n < len(rules) && rules[n].Tool == rules[0].Tool && rules[n].Field == rules[0].Field {
		n++
	}
	return n
}

// field returns the builder of a field; a tool has few.
func (tb *toolBuilder) field(name string) *fieldBuilder {
	for i := range tb.fields {
		if tb.fields[i].name == name {
			return &tb.fields[i]
		}
	}
	tb.fields = append(tb.fields, fieldBuilder{name: name})
	return &tb.fields[len(tb.fields)-1]
}

func (tb *toolBuilder) index() *toolIndex {
	idx := &toolIndex{min: tb.min, whole: tb.whole, guarded: tb.guarded}
	for _, f := range tb.fields {
		idx.fields = append(idx.fields, fieldIndex{f.name, f.entries[0].Rank, pattern.NewSet(f.entries)}) // they are by rank
	}
	return idx
}

// A toolRules holds the rules of a list that are about one tool, so that a question
// about `Bash` need not try the patterns of tools.
type toolRules struct {
	fields []fieldIndex // by lowest rank; a copy, since fetching memory is what a decision costs
	whole  uint32       // lowest rank of the rules for the whole tool
	// guarded are the ranks of those that have conditions.
	guarded []uint32
	// fault: whether the rule of this rank is about the tool could not be told in
	// time.
	faulted uint32
	fault   error

	list   *list
	scan   sync.Once
	rules  []aboutRule // see all
	strict int         // how many of them, from the first, have all that deny or ask
}

// An aboutRule is a rule that is about a tool; or, if not sure, that may be.
type aboutRule struct {
	*Rule
	sure bool
}

// about returns the rules for a tool.
func (l *list) about(tool string) *toolRules {
	l.ready()
	r := &toolRules{list: l, whole: none}
	if l.kinds != nil {
		for _, idx := range l.kinds[effect.ToolKind(tool)] {
			r.add(idx)
		}
	} else if idx := l.tools[tool]; idx != nil {
		r.add(idx)
	}
	if l.names != nil {
		rank, ok, err := l.names.Best(tool, none)
		if err != nil {
			r.fault, r.faulted = err, rank
		} else if ok {
			r.whole = min(r.whole, rank)
		}
	}
	for i := range l.wild {
		w := &l.wild[i]
		if ok, err := w.covers(tool); err != nil {
			r.fault, r.faulted = err, w.min
		} else if ok {
			r.add(w.toolIndex)
		}
	}
	slices.SortStableFunc(r.fields, func(a, b fieldIndex) int { return cmp.Compare(a.min, b.min) })
	slices.Sort(r.guarded)
	return r
}

func (r *toolRules) add(idx *toolIndex) {
	r.whole = min(r.whole, idx.whole)
	r.fields = append(r.fields, idx.fields...)
	r.guarded = append(r.guarded, idx.guarded...)
}

// all returns the rules that may be about the tool, by rank.
func (r *toolRules) all(tool string, compiled func(Text) *pattern.Pattern) []aboutRule {
	r.scan.Do(func() {
		for _, ranked := range r.list.ranked {
			ok, err := r.list.isFor(ranked.Tool, tool, compiled)
			if ok || err != nil {
				if r.rules = append(r.rules, aboutRule{ranked.Rule, ok}); ranked.verdict != Allow {
					r.strict = len(r.rules)
				}
			}
		}
	})
	return r.rules
}

// best returns the rank of the rule that decides q, or none. A fault comes with
// the rank of a rule whose answer could have been better and did not come in
// time.
func (r *toolRules) best(f *Facts, q *Question) (best uint32, fault error) {
	if !r.list.conds {
		return r.among(q.Subjects, r.whole, nil)
	}
	best = r.whole
	keep := func(rank uint32) bool {
		rule := r.list.ranked[rank]
		return !rule.guarded() || rule.applies(f, q, r.list.compiled)
	}
	for _, rank := range r.guarded {
		if rank < best && keep(rank) {
			best = rank
			break
		}
	}
	return r.among(q.Subjects, best, keep)
}

// among is best of the rules with a pattern, where best is known already, and of those
// whose rank keep, if not nil, takes.
func (r *toolRules) among(subjects []Subject, best uint32, keep func(uint32) bool) (uint32, error) {
	if r.fault != nil {
		return r.faulted, r.fault
	}
	for i := range r.fields {
		set := &r.fields[i]
		if set.min >= best {
			break
		}
		for j := range subjects {
			s := &subjects[j]
			if s.Field != set.name && s.Field != anyField {
				continue
			}
			rank, ok, err := set.set.BestOf(s.Text, best, keep)
			if err != nil {
				return rank, err
			}
			if ok {
				best = rank
			}
		}
	}
	return best, nil
}

func (w *wildIndex) covers(tool string) (bool, error) {
	if w.tool == nil {
		return true, nil
	}
	return w.tool.Match(tool)
}

// hits returns every rule that matches q, by rank: the slow twin of best, for
// explanations. A fault counts as no match here, since best has reported it.
func (r *toolRules) hits(f *Facts, q *Question, compiled func(Text) *pattern.Pattern) (out []*Rule) {
	for _, about := range r.all(q.Tool, compiled) {
		if about.sure && about.matches(f, q, compiled) {
			out = append(out, about.Rule)
		}
	}
	return out
}

// matches tests one rule that is about the question's tool.
func (r *Rule) matches(f *Facts, q *Question, compiled func(Text) *pattern.Pattern) bool {
	if r.guarded() && !r.applies(f, q, compiled) {
		return false
	}
	return r.Whole() || slices.ContainsFunc(q.Subjects, func(s Subject) bool {
		if !r.looksAt(&s) {
			return false
		}
		ok, err := compiled(r.Pattern).Match(s.Text)
		return ok && err == nil
	})
}

// looksAt tells whether the rule's pattern is about a subject.
func (r *Rule) looksAt(s *Subject) bool { return s.Field == r.field() || s.Field == anyField }
