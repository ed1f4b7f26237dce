package main

import (
	"fmt"
	"iter"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
)

// cedarEngine encodes ask and deny as forbid and reads the policy ids back;
// Cedar has no regular expressions, so those are like alternatives.
type cedarEngine struct {
	all     *cedar.PolicySet
	byTool  map[string]slice
	verdict map[cedar.PolicyID]string
}

// slice is the policies about one tool.
type slice []struct {
	id cedar.PolicyID
	p  *cedar.Policy
}

func (s slice) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, e := range s {
			if !yield(e.id, e.p) {
				return
			}
		}
	}
}

func newCedar(w *workload, sliced bool) (engine, error) {
	e := &cedarEngine{all: cedar.NewPolicySet(), verdict: map[cedar.PolicyID]string{}}
	if sliced {
		e.byTool = map[string]slice{}
	}
	for i := range w.rules {
		u := &w.rules[i]
		var p cedar.Policy
		if err := p.UnmarshalCedar([]byte(cedarText(u))); err != nil {
			return nil, err
		}
		id := cedar.PolicyID(fmt.Sprint(i))
		e.verdict[id] = u.verdict
		if sliced {
			e.byTool[u.tool] = append(e.byTool[u.tool], struct {
				id cedar.PolicyID
				p  *cedar.Policy
			}{id, &p})
			continue
		}
		e.all.Add(id, &p)
	}
	return e, nil
}

func cedarText(u *rule) string {
	effect := "forbid"
	if u.verdict == "allow" {
		effect = "permit"
	}
	head := fmt.Sprintf("%s (principal, action == Action::%q, resource)", effect, u.tool)
	if u.kind == wholeTool {
		return head + ";"
	}
	var alts []string
	for _, l := range u.likes {
		alts = append(alts, fmt.Sprintf("context.%s like %q", u.field, l))
	}
	return fmt.Sprintf("%s when { context has %s && (%s) };", head, u.field, strings.Join(alts, " || "))
}

func (e *cedarEngine) name() string {
	if e.byTool != nil {
		return "cedar-go by tool"
	}
	return "cedar-go"
}

func (e *cedarEngine) decide(c *call) string {
	req := cedar.Request{
		Principal: cedar.NewEntityUID("Agent", "a"), Action: cedar.NewEntityUID("Action", types.String(c.tool)), Resource: cedar.NewEntityUID("Res", "r"),
		Context: cedar.NewRecord(cedar.RecordMap{types.String(c.field): types.String(c.text)}),
	}
	var policies cedar.PolicyIterator = e.all
	if e.byTool != nil {
		policies = e.byTool[c.tool]
	}
	_, diag := cedar.Authorize(policies, types.EntityMap{}, req)
	best := ""
	for _, r := range diag.Reasons {
		if v := e.verdict[r.PolicyID]; stricter(v, best) {
			best = v
		}
	}
	return best
}
