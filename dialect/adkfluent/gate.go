package adkfluent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/obstat/obstat"
)

// A Handler asks a human about a call. args is a copy: changing it changes
// neither the call nor what is remembered.
type Handler func(ctx context.Context, tool string, args map[string]any, d Decision) (granted bool, err error)

// A Gate is what the original's plugin and callback do before a tool runs.
type Gate struct {
	// Policy decides; nil denies everything.
	Policy *Policy
	// Handler is asked where the policy says ask; nil denies.
	Handler Handler
	// Memory keeps the answers, so that each call is asked about once; nil asks
	// every time.
	Memory *Memory
	// Timeout bounds how long an answer may take; zero leaves that to ctx.
	Timeout time.Duration
}

// Result is what the tool's caller gets in place of a result, or nil: go on.
type Result map[string]any

func refuse(format string, args ...any) Result { return Result{"error": fmt.Sprintf(format, args...)} }

// Before answers a call before it runs: nil lets it run, with args rewritten in
// place if the policy says so; anything else is the tool's result.
func (g *Gate) Before(ctx context.Context, tool string, args map[string]any) Result {
	input, err := encodeArgs(args)
	if err != nil {
		return refuse("the arguments cannot be written as JSON: %v", err)
	}
	od := g.Policy.decide(&obstat.Call{Tool: tool, Input: input}, obstat.OS{})
	d := decisionOf(&od)
	switch {
	case d.IsDeny():
		return refuse("%s", d.Reason())
	case d.IsAsk():
		return g.ask(ctx, tool, input, d)
	}
	if d.updated != nil {
		if args == nil {
			return refuse("the call has no arguments that could be rewritten")
		}
		clear(args)
		maps.Copy(args, d.updated)
	}
	return nil
}

func (g *Gate) ask(ctx context.Context, tool string, input []byte, d Decision) Result {
	if g.Memory != nil {
		if granted, known := g.Memory.recall(tool, input); known {
			return remembered(tool, granted)
		}
	}
	if g.Handler == nil {
		return refuse("Tool '%s' requires approval but no permission handler is installed.", tool)
	}
	handler := func(ctx context.Context) (bool, error) {
		args, err := decodeArgs(input)
		if err != nil {
			return false, err
		}
		return g.Handler(ctx, tool, args, d)
	}
	if g.Memory == nil {
		granted, err := ask(ctx, g.Timeout, handler)
		return answered(tool, granted, err)
	}
	granted, asked, err := g.Memory.once(ctx, tool, input, g.Timeout, handler)
	if err == nil && !asked {
		return remembered(tool, granted)
	}
	return answered(tool, granted, err)
}

func remembered(tool string, granted bool) Result {
	if granted {
		return nil
	}
	return refuse("Tool '%s' was previously denied.", tool)
}

func answered(tool string, granted bool, err error) Result {
	switch {
	case errors.Is(err, errNoAnswer), errors.Is(err, context.DeadlineExceeded):
		return refuse("Tool '%s' was denied: the permission handler gave %v.", tool, err)
	case err != nil:
		return refuse("Permission handler raised: %v", err)
	case !granted:
		return refuse("Tool '%s' was denied by the user.", tool)
	}
	return nil
}
