package obstat

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/obstat/obstat/pattern"
)

// none is the rank of no rule at all.
const none = uint32(math.MaxUint32)

// A list is a rule list made ready for one pick: every rule has a rank, and the
// lowest rank that matches decides. So each part of the index may stop as soon
// as nothing it holds can rank lower than what is found.
//
// The index is built when the first question comes: a pipeline has lists that
// most calls never reach.
type list struct {
	once   sync.Once
	build  func()
	rules  []*Rule               // by rank
	byTool map[string]*toolIndex // rules for tools by exact name
	names  *pattern.Set          // whole-tool rules whose tool is a pattern, on the tool's name
	wild   []wildIndex           // other rules whose tool is a pattern, by lowest rank
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
}

type fieldIndex struct {
	name string
	min  uint32
	set  *pattern.Set
}

// order returns the rules in the order of their ranks.
func order(rules []Rule, pick Pick) []*Rule {
	out := make([]*Rule, len(rules))
	for i := range rules {
		out[i] = &rules[i]
	}
	switch pick {
	case Last:
		slices.Reverse(out)
	case Strictest:
		slices.SortStableFunc(out, func(a, b *Rule) int { return cmp.Compare(a.Verdict, b.Verdict) })
	}
	return out
}

// inputField is the name under which the input as a whole is a subject.
const inputField = WholeInput

// WholeInput is the field of a subject that is the input as a whole: what a rule
// with a pattern and no field looks at.
const WholeInput = "$input"

// anyField marks a subject that rules about any field look at.
const anyField = "*"

func (r *Rule) field() string {
	if r.Field == "" {
		return inputField
	}
	return r.Field
}

// builder gathers the rules of a list by tool and field before the sets are made.
type builder struct {
	tools map[Text]*toolBuilder
	order []Text
	names []pattern.Entry
}

type toolBuilder struct {
	min, whole uint32
	fields     []string
	entries    map[string][]pattern.Entry
}

func (b *builder) tool(t Text) *toolBuilder {
	tb := b.tools[t]
	if tb == nil {
		tb = &toolBuilder{min: none, whole: none, entries: map[string][]pattern.Entry{}}
		b.tools[t] = tb
		b.order = append(b.order, t)
	}
	return tb
}

// newList returns the list of rules; compiled returns the compiled form of a
// Text, or nil if it has none (a problem already reported).
func newList(rules []Rule, pick Pick, compiled func(Text) *pattern.Pattern) *list {
	l := &list{}
	l.build = func() { l.fill(rules, pick, compiled) }
	return l
}

// ready builds the list if nobody has.
func (l *list) ready() { l.once.Do(l.build) }

func (l *list) fill(rules []Rule, pick Pick, compiled func(Text) *pattern.Pattern) {
	l.rules, l.byTool = order(rules, pick), map[string]*toolIndex{}
	b := builder{tools: map[Text]*toolBuilder{}}
	for i, r := range l.rules {
		b.add(r, uint32(i), compiled)
	}
	for _, t := range b.order {
		idx := b.tools[t].index()
		switch {
		case t.Flavour == pattern.Exact:
			l.byTool[t.Text] = idx
		case t.IsZero():
			l.wild = append(l.wild, wildIndex{nil, idx})
		default:
			l.wild = append(l.wild, wildIndex{compiled(t), idx})
		}
	}
	slices.SortStableFunc(l.wild, func(a, b wildIndex) int { return cmp.Compare(a.min, b.min) })
	if len(b.names) > 0 {
		l.names = pattern.NewSet(b.names)
	}
}

func (b *builder) add(r *Rule, rank uint32, compiled func(Text) *pattern.Pattern) {
	if r.Whole() && r.Tool.Flavour != pattern.Exact && !r.Tool.IsZero() {
		b.names = append(b.names, pattern.Entry{Pattern: compiled(r.Tool), Rank: rank})
		return
	}
	tb := b.tool(r.Tool)
	tb.min = min(tb.min, rank)
	if r.Whole() {
		tb.whole = min(tb.whole, rank)
		return
	}
	f := r.field()
	if _, ok := tb.entries[f]; !ok {
		tb.fields = append(tb.fields, f)
	}
	tb.entries[f] = append(tb.entries[f], pattern.Entry{Pattern: compiled(r.Pattern), Rank: rank})
}

func (tb *toolBuilder) index() *toolIndex {
	idx := &toolIndex{min: tb.min, whole: tb.whole}
	for _, f := range tb.fields {
		entries := tb.entries[f]
		lowest := none
		for _, e := range entries {
			lowest = min(lowest, e.Rank)
		}
		idx.fields = append(idx.fields, fieldIndex{f, lowest, pattern.NewSet(entries)})
	}
	return idx
}

// index builds the sets' own indexes.
func (l *list) index() {
	l.ready()
	if l.names != nil {
		l.names.Index()
	}
	sets := func(idx *toolIndex) {
		for i := range idx.fields {
			idx.fields[i].set.Index()
		}
	}
	for _, idx := range l.byTool {
		sets(idx)
	}
	for i := range l.wild {
		sets(l.wild[i].toolIndex)
	}
}

// best returns the rule that decides q, or nil. A fault names a rule whose
// answer could have been better and did not come in time.
func (l *list) best(q *Question) (r *Rule, fault error) {
	l.ready()
	best := none
	if idx := l.byTool[q.Tool]; idx != nil {
		if best, fault = idx.best(q, best); fault != nil {
			return l.rules[best], fault
		}
	}
	if l.names != nil {
		rank, ok, err := l.names.Best(q.Tool, best)
		if err != nil {
			return l.rules[rank], err
		}
		if ok {
			best = rank
		}
	}
	for i := range l.wild {
		w := &l.wild[i]
		if w.min >= best {
			break
		}
		if ok, err := w.covers(q.Tool); err != nil {
			return l.rules[w.min], err
		} else if !ok {
			continue
		}
		if best, fault = w.best(q, best); fault != nil {
			return l.rules[best], fault
		}
	}
	if best == none {
		return nil, nil
	}
	return l.rules[best], nil
}

func (w *wildIndex) covers(tool string) (bool, error) {
	if w.tool == nil {
		return true, nil
	}
	return w.tool.Match(tool)
}

// best returns the lowest rank below limit that matches q, or limit; with a
// fault, the rank of the rule that faulted.
func (idx *toolIndex) best(q *Question, limit uint32) (uint32, error) {
	limit = min(limit, idx.whole)
	for i := range idx.fields {
		f := &idx.fields[i]
		if f.min >= limit {
			continue
		}
		for j := range q.Subjects {
			s := &q.Subjects[j]
			if s.Field != f.name && s.Field != anyField {
				continue
			}
			rank, ok, err := f.set.Best(s.Text, limit)
			if err != nil {
				return rank, err
			}
			if ok {
				limit = rank
			}
		}
	}
	return limit, nil
}

// all returns every rule that matches q, by rank: the slow twin of best, for
// explanations.
func (l *list) all(q *Question, match func(Text) *pattern.Pattern) []*Rule {
	l.ready()
	var out []*Rule
	for _, r := range l.rules {
		if ruleMatches(r, q, match) {
			out = append(out, r)
		}
	}
	return out
}

// ruleMatches tests one rule; a fault counts as no match here, since best has
// already reported it.
func ruleMatches(r *Rule, q *Question, compiled func(Text) *pattern.Pattern) bool {
	if !r.Tool.IsZero() {
		if ok, err := compiled(r.Tool).Match(q.Tool); !ok || err != nil {
			return false
		}
	}
	if r.Whole() {
		return true
	}
	for _, s := range q.Subjects {
		if s.Field == r.field() || s.Field == anyField {
			if ok, err := compiled(r.Pattern).Match(s.Text); ok && err == nil {
				return true
			}
		}
	}
	return false
}
