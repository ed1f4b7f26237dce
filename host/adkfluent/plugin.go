// Package adkfluent is adk-fluent's permission plugin on a gate: the check
// before a tool runs, the handler that asks a human, and the memory of answers.
//
// It owns the document's texts for a refused tool and the memory's keys.
// Deciding, self-protection, asking and the ledger are the gate's; the
// meaning of a policy is package dialect/adkfluent's. The module adkplugin installs it in an
// app of the Go Agent Development Kit.
package adkfluent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/gate"
)

// A Handler asks a human about a call. args is a copy: changing it changes
// neither the call nor the recorded answer.
type Handler func(ctx context.Context, tool string, args map[string]any, d adkfluent.Decision) (granted bool, err error)

// Options configure a Plugin; nil means the zero value.
type Options struct {
	// Handler is asked where the policy says ask; nil denies.
	Handler Handler
	// Memory keeps the answers, so that each call is asked about once; nil asks
	// every time.
	Memory *Memory
	// Timeout bounds how long an answer may take; zero is a day.
	Timeout time.Duration
	// Gate configures the gate; its Policy is the plugin's own.
	Gate gate.Options
}

// A Plugin checks a tool call before it runs, as the original's plugin and its
// callback do.
type Plugin struct {
	opts Options
	gate *gate.Gate
}

// Open returns the plugin that enforces a policy.
func Open(ctx context.Context, p *adkfluent.Policy, opts *Options) (*Plugin, error) {
	out := &Plugin{}
	if opts != nil {
		out.opts = *opts
	}
	l, err := p.Loaded()
	if err != nil {
		return nil, err
	}
	g := out.opts.Gate
	g.Policy = gate.Fixed{Loaded: l}
	if g.Approval.Timeout = out.opts.Timeout; g.Approval.Timeout == 0 {
		g.Approval.Timeout = 24 * time.Hour
	}
	out.gate, err = gate.Open(ctx, g)
	return out, err
}

// Close ends the plugin's gate.
func (p *Plugin) Close() { p.gate.Close() }

// Result is the tool's result where the call may not run; nil lets it run.
type Result map[string]any

func refuse(format string, args ...any) Result { return Result{"error": fmt.Sprintf(format, args...)} }

// Before answers a call before it runs: nil lets it run, with args rewritten in
// place if the policy says so; anything else is the tool's result.
func (p *Plugin) Before(ctx context.Context, tool string, args map[string]any) Result {
	return p.BeforeCall(ctx, &obstat.Call{Tool: tool}, args)
}

// BeforeCall is Before for a call whose agent, session and user are known; its
// input is args.
func (p *Plugin) BeforeCall(ctx context.Context, call *obstat.Call, args map[string]any) Result {
	input, err := encodeArgs(args)
	if err != nil {
		return refuse("the arguments cannot be written as JSON: %v", err)
	}
	c := *call
	c.Input = input
	a, _ := p.gate.Authorize(ctx, &c, &gate.Terms{Ask: gate.Put}) // an error comes with a decision that denies
	d := a.Decision
	if a.Request != nil {
		var refused Result
		if d, refused = p.ask(ctx, a.Request, d); refused != nil {
			return refused
		}
	}
	said := adkfluent.DecisionOf(&d)
	updated := said.UpdatedInput()
	switch {
	case !said.IsAllow():
		return refuse("%s", said.Reason())
	case updated != nil && args == nil:
		return refuse("the call has no arguments that could be rewritten")
	case updated != nil:
		clear(args)
		maps.Copy(args, updated)
	}
	return nil
}

// encodeArgs writes arguments as the bytes that are judged; none are an empty
// object.
func encodeArgs(args map[string]any) (json.RawMessage, error) {
	if args == nil {
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(args)
}

// ask answers a request from the memory or by the handler, and decides the call
// by the answer. A human who answers the request elsewhere (`obstat ask`) may be
// first: then the handler is called off.
func (p *Plugin) ask(ctx context.Context, r *approval.Request, d obstat.Decision) (obstat.Decision, Result) {
	broker := p.gate.Broker()
	during, end := broker.Follow(ctx, r.ID)
	granted, how, err := p.answer(during, &r.Call, d)
	a := approval.Answer{By: "the permission handler", Allow: granted && err == nil}
	if how == fromMemory {
		a.By = "the approval memory"
	}
	if err != nil {
		a.Words = err.Error()
	}
	said := answered(r.Call.Tool, a.Allow, how, err)
	if _, err := broker.Answer(context.WithoutCancel(ctx), r.ID, a); err != nil {
		if !errors.Is(err, approval.ErrSettled) {
			return d, refuse("%v", err)
		}
		switch now := end(); { // answered elsewhere, timed out or canceled
		case now == nil:
		case now.State == approval.Expired:
			said = refuse("Tool '%s' was denied: the permission handler gave no answer in time: %s.", r.Call.Tool,
				p.opts.Timeout)
		case now.State == approval.Approved:
			said = nil
		}
	}
	d, _ = p.gate.Resume(context.WithoutCancel(ctx), r.ID, nil)
	return d, said
}

// How a call that asks was answered.
type source int

const (
	fromHandler source = iota
	fromMemory
	noHandler
)

// answer asks the handler, once for all the calls that are the same if there is
// a memory, or looks into the memory.
func (p *Plugin) answer(ctx context.Context, call *obstat.Call, d obstat.Decision) (bool, source, error) {
	if p.opts.Memory == nil {
		if p.opts.Handler == nil {
			return false, noHandler, nil
		}
		granted, err := p.handle(ctx, call, d)
		return granted, fromHandler, err
	}
	if granted, known := p.opts.Memory.recall(call.Tool, call.Input); known {
		return granted, fromMemory, nil
	}
	if p.opts.Handler == nil {
		return false, noHandler, nil
	}
	granted, err := p.opts.Memory.once(ctx, call.Tool, call.Input, func() (bool, error) { return p.handle(ctx, call, d) })
	return granted, fromHandler, err
}

// handle runs the handler. One that does not come back in time is left behind;
// its answer is dropped.
func (p *Plugin) handle(ctx context.Context, call *obstat.Call, d obstat.Decision) (bool, error) {
	args, err := adkfluent.DecodeArgs(call.Input)
	if err != nil {
		return false, err
	}
	type answer struct {
		granted bool
		err     error
	}
	got := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the handler ended without an answer")}
		defer func() {
			if v := recover(); v != nil {
				a = answer{err: fmt.Errorf("panic: %v", v)}
			}
			got <- a
		}()
		a.granted, a.err = p.opts.Handler(ctx, call.Tool, args, adkfluent.DecisionOf(&d))
	}()
	select {
	case a := <-got:
		if ctx.Err() == nil { // an answer that comes together with the end of time is too late
			return a.granted && a.err == nil, a.err
		}
	case <-ctx.Done():
	}
	return false, context.Cause(ctx)
}

// answered returns the document's text for a call that asked; nil lets it run.
func answered(tool string, granted bool, how source, err error) Result {
	switch {
	case granted:
		return nil
	case how == noHandler:
		return refuse("Tool '%s' requires approval but no permission handler is installed.", tool)
	case how == fromMemory:
		return refuse("Tool '%s' was previously denied.", tool)
	case err != nil:
		return refuse("Permission handler raised: %v", err)
	}
	return refuse("Tool '%s' was denied by the user.", tool)
}
