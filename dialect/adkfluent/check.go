package adkfluent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// Check answers one call in the document's words. The chain looks at the name
// only; the floor, unless the policy is Bare, and refiners look at the
// arguments.
func (p *Policy) Check(tool string, args map[string]any) Decision {
	if args == nil {
		args = map[string]any{}
	}
	input, err := json.Marshal(args)
	if err != nil {
		return NewDeny("the arguments cannot be written as JSON: " + err.Error())
	}
	pol, err := p.Compile()
	if err != nil {
		return NewDeny(err.Error())
	}
	d := pol.Decide(&obstat.Call{Tool: tool, Input: input}, nil)
	return DecisionOf(&d)
}

// Loaded returns the policy as one that was loaded from files, for a gate.
func (p *Policy) Loaded() (*dialect.Loaded, error) {
	pol, err := p.Compile()
	if err != nil {
		return nil, err
	}
	return &dialect.Loaded{Dialect: Dialect{}, Program: pol.Program(), Policy: pol, Input: &dialect.Input{}}, nil
}

// Compile returns the policy compiled, or everything that is wrong with it.
// It is compiled once.
func (p *Policy) Compile() (*obstat.Policy, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	p.once.Do(func() {
		p.compiled, p.fault = obstat.Compile(p.Program(), &obstat.Options{Library: p.Library()})
	})
	return p.compiled, p.fault
}

// Bare returns the policy without the floor: the document and nothing else.
func (p *Policy) Bare() *Policy {
	q := p.copy()
	q.bare = true
	return q
}

// A Refiner is the host's own code that sees the arguments of a call which the
// chain does not deny: it returns base, or a stricter answer, or, where base
// allows, NewAllow with other arguments. Its answer never loosens base. It
// must be safe for concurrent use and must not change args.
type Refiner func(tool string, args map[string]any, base Decision) Decision

// Refine returns the policy with r asked after the chain and after the refiners
// it already has; each sees the arguments as the one before left them. The
// rewritten call is put to the chain and the floor again.
func (p *Policy) Refine(r Refiner) *Policy {
	q := p.copy()
	q.refiners = append(q.refiners, r)
	return q
}

// Library returns the policy's refiners, under the names that its Program uses.
func (p *Policy) Library() *obstat.Library {
	lib := &obstat.Library{Own: ownTools(), Checks: map[string]func(json.RawMessage) (obstat.Checker, error){}}
	for i, r := range p.refiners {
		lib.Checks[refinerName(i)] = func(json.RawMessage) (obstat.Checker, error) {
			if r == nil {
				return nil, errors.New("a refiner is nil")
			}
			return refinement{r}, nil
		}
	}
	return lib
}

// A refinement runs a Refiner as an amendment.
type refinement struct{ refine Refiner }

// Check asks the refiner; a panic in it is the engine's to catch, and denies.
func (r refinement) Check(f *obstat.Facts) obstat.Finding {
	if f.Settled == nil || f.Settled.Verdict == obstat.Deny {
		return obstat.Finding{Pass: true}
	}
	args, err := DecodeArgs(f.Call.Input)
	if err != nil {
		return obstat.Finding{Note: "the arguments cannot be read: " + err.Error()}
	}
	base := *f.Settled
	base.Tool = f.Call.Tool
	d := r.refine(f.Call.Tool, args, DecisionOf(&base))
	switch {
	case d.IsDeny():
		return obstat.Finding{Verdict: obstat.Deny, Note: d.Reason()}
	case d.IsAsk():
		return obstat.Finding{Verdict: obstat.Ask, Note: d.Prompt(), Pass: f.Settled.Verdict == obstat.Ask}
	case d.updated == nil:
		return obstat.Finding{Pass: true}
	}
	input, err := json.Marshal(d.updated)
	if err != nil {
		return obstat.Finding{Note: "the rewritten arguments cannot be written as JSON: " + err.Error()}
	}
	return obstat.Finding{Verdict: obstat.Allow, Input: input}
}

// DecodeArgs reads an object without losing digits. The engine has already
// refused input that two readers could read differently.
func DecodeArgs(raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return args, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&args); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("text after the arguments")
	}
	if args == nil {
		args = map[string]any{} // null
	}
	for k, v := range args {
		args[k] = plain(v)
	}
	return args, nil
}

// maxExact bounds the integers that a float64 holds without loss.
const maxExact = 1 << 53

// plain turns numbers into the float64 that tools expect, wherever no digit is
// lost; any other number stays a json.Number.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case json.Number:
		f, err := v.Float64()
		_, noInt := strconv.ParseInt(v.String(), 10, 64)
		exact := noInt == nil && math.Abs(f) < maxExact || strconv.FormatFloat(f, 'g', -1, 64) == v.String()
		if err == nil && exact {
			return f
		}
	}
	return v
}
