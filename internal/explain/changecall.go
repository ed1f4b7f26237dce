package explain

import (
	"encoding/json"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

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
	d := x.r.Policy.Decide(call, x.r.World)
	words := "take out " + strings.TrimSpace(x.a.Source[cut.Start:cut.End])
	return []Change{{Kind: ChangeCall, Text: text, Verdict: d.Verdict, Words: words}}
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
