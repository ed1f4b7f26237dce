package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// commandField returns the field of the call that holds its command, "" if the
// tool runs none.
func (x *explainer) commandField() string {
	t, known := effect.Lookup(x.r.Call.Tool)
	if !known || len(t.Command) == 0 || t.Canonical == "patch" {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(x.r.Call.Input, &fields) == nil {
		for _, name := range t.Command {
			if _, ok := fields[name]; ok {
				return name
			}
		}
	}
	return t.Command[0]
}

// addExact tries rules that are about this very call.
func (x *explainer) addExact() []Change {
	if !x.handWritten() || len(x.d.Faults) > 0 || !x.small() {
		return nil
	}
	rules := x.exactRules()
	if len(rules) == 0 {
		return nil
	}
	for _, list := range x.listsFor(rules[0].Verdict) {
		if c := x.tryAdd(list, rules); c != nil {
			c[0].Words = fmt.Sprintf("%s exactly this, in %s", rules[0].Verdict, list) + c[0].Words
			for i := range rules {
				if b, err := json.Marshal(&rules[i]); err == nil {
					c[0].Add = append(c[0].Add, b)
				}
			}
			return c
		}
	}
	return nil
}

// listsFor returns the lists where people would look for a rule of verdict v:
// those that have some, then those that are empty.
func (x *explainer) listsFor(v obstat.Verdict) []string {
	var filled, empty []string
	for _, s := range x.r.Program.Pipelines[x.d.Mode].Stages {
		m, ok := s.(obstat.Match)
		if !ok || !m.Settle.Has(v) || slices.Contains(filled, m.Rules) || slices.Contains(empty, m.Rules) {
			continue
		}
		rules := x.r.Program.Rules[m.Rules]
		switch {
		case slices.ContainsFunc(rules, func(r obstat.Rule) bool { return r.Verdict == v }):
			filled = append(filled, m.Rules)
		case len(rules) == 0 && !namesOther(m.Rules, v):
			empty = append(empty, m.Rules)
		}
	}
	return append(filled, empty...)
}

// namesOther tells whether a list is named for another verdict than v.
func namesOther(list string, v obstat.Verdict) bool {
	for o := obstat.Deny; o <= obstat.Allow; o++ {
		if o != v && strings.Contains(list, o.String()) {
			return true
		}
	}
	return false
}

// tryAdd adds rules to a list, at its end and at its start, and decides again.
func (x *explainer) tryAdd(list string, rules []obstat.Rule) []Change {
	for _, at := range []int{len(x.r.Program.Rules[list]), 0} {
		p := copyRules(x.r.Program)
		p.Rules[list] = slices.Insert(p.Rules[list], at, rules...)
		pol, err := obstat.Compile(p, &obstat.Options{Library: x.r.Library})
		if c := x.added(pol, err, list, rules); c != nil {
			return c
		}
	}
	return nil
}

// added returns the change of adding rules to a list, nil if pol, which has them, does not
// turn the verdict or frees too much.
func (x *explainer) added(pol *obstat.Policy, err error, list string, rules []obstat.Rule) []Change {
	if err != nil || x.frees(pol, x.r.Call.Mode) {
		return nil
	}
	o := x.decide(pol, x.r.Call)
	if !x.turns(o.Verdict) {
		return nil
	}
	c := Change{Kind: ChangeAdd, List: list, Verdict: o.Verdict, Words: o.words("")}
	for i := range rules {
		c.Rules = append(c.Rules, newRule(&rules[i]))
	}
	return []Change{c}
}

// exactRules returns one rule for each question about the whole call: allow, or
// deny where the call is allowed.
func (x *explainer) exactRules() []obstat.Rule {
	verdict := obstat.Allow
	if x.d.Verdict == obstat.Allow {
		verdict = obstat.Deny
	}
	var out []obstat.Rule
	for i := range x.tr.Questions {
		q := &x.tr.Questions[i]
		if q.Part != nil {
			continue
		}
		r := obstat.Rule{Tool: obstat.Is(q.Question.Tool), Verdict: verdict}
		if s := mainSubject(&q.Question); s.Field != "" {
			r.Field, r.Pattern = s.Field, obstat.Is(s.Text)
		} else if x.commandField() != "" {
			return nil // every command: that is not this call
		}
		out = append(out, r)
	}
	return out
}

// handWritten tells whether the policy is a Program written by hand. Only there
// can any rule be added to any list; a dialect's offers show which rules its files
// can hold.
func (x *explainer) handWritten() bool {
	d := x.r.Program.Dialect
	return d == "" || d == "program"
}

// addOffers tries the rules that the dialect proposes: each alone or, where none turns the
// verdict alone, all together, as `ls /etc` needs one for the command and one for the path.
func (x *explainer) addOffers() []Change {
	var out []Change
	for i := range x.d.Offers {
		out = append(out, x.tryOffers(x.d.Offers[i:i+1])...)
	}
	if len(out) == 0 && len(x.d.Offers) > 1 {
		return x.tryOffers(x.d.Offers)
	}
	return out
}

func (x *explainer) tryOffers(offers []obstat.Offer) []Change {
	if !x.small() {
		return nil
	}
	with := x.r.With
	if with == nil {
		with = x.r.Policy.With
	}
	var rules []obstat.Rule
	var texts []string
	for i := range offers {
		rules, texts = append(rules, offers[i].Rule), append(texts, offerText(&offers[i]))
	}
	pol, err := with(offers...)
	out := x.added(pol, err, offers[0].List, rules)
	for i := range out {
		out[i].Words = "add allow rule " + strings.Join(texts, " and ") + out[i].Words
		if x.r.Also != nil {
			out[i].Also = x.r.Also(offers)
		}
	}
	return out
}

// changeCall tries the command without the part that decided.
func (x *explainer) changeCall() []Change {
	field := x.commandField()
	if field == "" || x.d.Verdict == obstat.Allow || x.a.Source == "" {
		return nil
	}
	m := x.mark(x.a.Source)
	if m == (Span{}) {
		return nil
	}
	cut, joined := x.enclosing(m)
	text := takeOut(x.a.Source, cut, joined)
	if text == "" || !x.keepsRest(text) {
		return nil
	}
	call, ok := withField(x.r.Call, field, text)
	if !ok {
		return nil
	}
	o := x.decide(x.r.Policy, call)
	words := o.words("take out " + strings.TrimSpace(x.a.Source[cut.Start:cut.End]))
	return []Change{{Kind: ChangeCall, Text: text, Verdict: o.Verdict, Words: words}}
}

// enclosing widens m to the text that has to be removed with it: the redirect that it is the
// target of, else the outermost command that it is part of, which an operator
// joins to the others.
func (x *explainer) enclosing(m Span) (cut Span, joined bool) {
	for _, c := range x.a.Constructs {
		if c.Kind == shell.RedirectOut && covers(c.Span, m) {
			return Span{c.Span.Start, c.Span.End}, false
		}
	}
	out := m
	for i := range x.a.Commands {
		if s := x.a.Commands[i].Span; covers(s, out) {
			out = Span{s.Start, s.End}
		}
	}
	return out, true
}

func covers(s shell.Span, m Span) bool { return s.Start <= m.Start && m.End <= s.End }

// operators join commands; the longer stand first.
var operators = [...]string{"&&", "||", "|&", "|", ";", "&", "\n"}

// takeOut removes a span of src, with the operator that joins it to the rest if
// one does; "" where nothing is left.
func takeOut(src string, s Span, joined bool) string {
	left, right := strings.TrimRight(src[:s.Start], " \t"), strings.TrimLeft(src[s.End:], " \t")
	if rest, ok := cutOperator(right, strings.CutPrefix); ok && joined {
		right = rest
	} else if rest, ok := cutOperator(left, strings.CutSuffix); ok && joined && right == "" {
		left = rest
	}
	left, right = strings.TrimSpace(left), strings.TrimSpace(right)
	if left == "" || right == "" {
		return left + right
	}
	return left + " " + right
}

func cutOperator(s string, cut func(s, op string) (string, bool)) (string, bool) {
	for _, op := range operators {
		if rest, ok := cut(s, op); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return s, false
}

// keepsRest tells whether text still parses and runs nothing that the command
// as it was did not run.
func (x *explainer) keepsRest(text string) bool {
	call, ok := withField(x.r.Call, x.commandField(), text)
	if !ok {
		return false
	}
	a := Analyze(call, x.r.World)
	if len(a.Commands) == 0 {
		return false
	}
	for i := range a.Gaps {
		if a.Gaps[i].Kind == effect.Syntax {
			return false
		}
	}
	had := map[string]bool{}
	for i := range x.a.Commands {
		had[x.a.Commands[i].Text] = true
	}
	for i := range a.Commands {
		if !had[a.Commands[i].Text] {
			return false
		}
	}
	return true
}

// withField returns the call with one field of its input replaced.
func withField(c *obstat.Call, field, text string) (*obstat.Call, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Input, &fields) != nil {
		return nil, false
	}
	value, err := json.Marshal(text)
	if err != nil {
		return nil, false
	}
	fields[field] = value
	input, err := json.Marshal(fields)
	if err != nil {
		return nil, false
	}
	out := *c
	out.Input = input
	return &out, true
}
