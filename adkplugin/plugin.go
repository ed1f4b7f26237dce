package adkplugin

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/tool"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	obstatgate "github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/adkfluent"
)

// A Guard answers calls. An error denies.
type Guard interface {
	Authorize(ctx context.Context, call *obstat.Call) (obstat.Decision, error)
}

// Gate returns the Guard that answers with a gate, and waits for its people.
func Gate(g *obstatgate.Gate) Guard { return gateGuard{g} }

type gateGuard struct{ gate *obstatgate.Gate }

// Authorize puts the call to the gate.
func (g gateGuard) Authorize(ctx context.Context, call *obstat.Call) (obstat.Decision, error) {
	d, err := g.gate.Authorize(ctx, call, nil)
	return d.Decision, err
}

// Policy returns the Guard that answers with a policy alone; a nil policy denies
// everything.
func Policy(pol *obstat.Policy, world obstat.World) Guard { return policyGuard{pol, world} }

type policyGuard struct {
	pol   *obstat.Policy
	world obstat.World
}

// Authorize decides and never errs but for a missing policy.
func (g policyGuard) Authorize(_ context.Context, call *obstat.Call) (obstat.Decision, error) {
	if g.pol == nil {
		return obstat.Decision{}, errors.New("there is no policy")
	}
	return g.pol.Decide(call, g.world), nil
}

// Options are facts for the Guard that ADK does not know. The zero
// value tells nothing more.
type Options struct {
	// Name is the plugin's name; "" is "obstat".
	Name string
	// Dir and Roots are where tools work.
	Dir   string
	Roots []string
	// Roles returns the roles of the user whose session it is; nil: none. They
	// come from the host: nothing the model writes reaches it.
	Roles func(ctx tool.Context) []string
}

// New returns the plugin with default options. Give it to the runner: it covers
// every agent of the app, however deep in the tree.
func New(guard Guard) (*plugin.Plugin, error) { return Options{}.New(guard) }

// New returns the plugin.
func (o Options) New(guard Guard) (*plugin.Plugin, error) {
	if guard == nil {
		return nil, errors.New("adkplugin: no guard")
	}
	if o.Name == "" {
		o.Name = "obstat"
	}
	g := &gate{guard: guard, opts: o}
	return plugin.New(plugin.Config{Name: o.Name, BeforeToolCallback: g.beforeTool, BeforeModelCallback: g.beforeModel})
}

// A gate puts calls to a guard.
type gate struct {
	guard Guard
	// document answers in the guard's place, with a handler and a memory.
	document *adkfluent.Plugin
	opts     Options
	// silent: there is no person to ask here.
	silent bool
}

// beforeTool is ADK's callback: nil lets the tool run, a map is its result.
func (g *gate) beforeTool(ctx tool.Context, t tool.Tool, args map[string]any) (result map[string]any, _ error) {
	defer func() {
		if r := recover(); r != nil {
			result = refusal("deciding about %s failed: %v", t.Name(), r)
		}
	}()
	if isAgentTool(t) {
		return refusal("%s is an agent that runs as a tool, in a runner of its own that this guard does not see; make it "+
			"with adkplugin.NewAgentTool", t.Name()), nil
	}
	return g.check(ctx, t.Name(), args), nil
}

func refusal(format string, args ...any) map[string]any {
	return map[string]any{"error": fmt.Sprintf(format, args...)}
}

// check answers one call; args is rewritten in place where the guard says so.
func (g *gate) check(ctx tool.Context, name string, args map[string]any) map[string]any {
	if args == nil {
		args = map[string]any{}
	}
	call := &obstat.Call{Tool: name, Agent: ctx.AgentName(), Session: ctx.SessionID(), User: ctx.UserID(),
		Channel: ctx.AppName(),
		Dir:     g.opts.Dir, Roots: g.opts.Roots}
	if g.opts.Roles != nil {
		call.Roles = g.opts.Roles(ctx)
	}
	if g.document != nil {
		return g.document.BeforeCall(ctx, call, args)
	}
	input, err := json.Marshal(args)
	if err != nil {
		return refusal("the arguments of %s cannot be written as JSON: %v", name, err)
	}
	call.Input = input
	d, err := g.authorize(ctx, call)
	if err != nil {
		return refusal("Tool '%s' was denied: %v", name, err)
	}
	switch d.Verdict {
	case obstat.Ask:
		if r := g.ask(ctx, call, &d); r != nil {
			return r
		}
	case obstat.Allow:
	default:
		return refusal("Tool '%s' was denied: %s", name, d.Reason())
	}
	return rewrite(name, args, d.Input)
}

// rewrite changes args to the guard's.
func rewrite(name string, args map[string]any, input json.RawMessage) map[string]any {
	if input == nil {
		return nil
	}
	var updated map[string]any
	dec := json.NewDecoder(bytes.NewReader(input))
	if err := dec.Decode(&updated); err != nil || updated == nil {
		return refusal("the rewritten arguments of %s are no object", name)
	}
	clear(args)
	maps.Copy(args, updated)
	return nil
}

// authorize asks the guard. A gate does not wait: ADK asks the human, and its confirmation
// answers the gate's request, so that it is in the gate's ledger.
func (g *gate) authorize(ctx tool.Context, call *obstat.Call) (obstat.Decision, error) {
	asker, ok := g.guard.(gateGuard)
	if !ok || g.silent {
		return g.guard.Authorize(ctx, call)
	}
	if ctx.ToolConfirmation() != nil {
		if id, err := ctx.State().Get(requestKey + ctx.FunctionCallID()); err == nil && id != "" {
			return obstat.Decision{Verdict: obstat.Ask}, nil // the request is answered by ask
		}
	}
	d, err := asker.gate.Authorize(ctx, call, &obstatgate.Terms{Ask: obstatgate.Put})
	if d.Request != nil {
		err = ctx.State().Set(requestKey+ctx.FunctionCallID(), d.Request.ID)
	}
	return d.Decision, err
}

// pendingKey and requestKey are where the session keeps which call a confirmation
// is about, and which request of the gate it answers.
const (
	pendingKey = "obstat:ask:"
	requestKey = pendingKey + "request:"
)

// ask goes the way of ADK's tool confirmation: the first time it requests one,
// and when ADK comes back with an answer it takes that, if it is about this very
// call. nil lets the tool run.
func (g *gate) ask(ctx tool.Context, call *obstat.Call, d *obstat.Decision) map[string]any {
	if g.silent {
		return refusal("Tool '%s' requires approval, and nobody can be asked here: %s", call.Tool, d.Reason())
	}
	sum := call.Digest()
	digest, key := hex.EncodeToString(sum[:]), pendingKey+ctx.FunctionCallID()
	answer := ctx.ToolConfirmation()
	if answer == nil {
		if err := ctx.State().Set(key, digest); err != nil {
			return refusal("Tool '%s' requires approval, and the request could not be kept: %v", call.Tool, err)
		}
		hint := fmt.Sprintf("Allow tool '%s'? %s", call.Tool, d.Reason())
		about := map[string]any{"tool": call.Tool, "input": string(call.Input), "digest": digest, "reason": d.Reason()}
		if err := ctx.RequestConfirmation(hint, about); err != nil {
			return refusal("Tool '%s' requires approval, and nobody could be asked: %v", call.Tool, err)
		}
		return refusal("Tool '%s' %v", call.Tool, tool.ErrConfirmationRequired)
	}
	asked, err := ctx.State().Get(key)
	if err != nil || asked != digest {
		return refusal("Tool '%s' was denied: the confirmation is not about this call", call.Tool)
	}
	// An answer is for one call: the next one asks again.
	if err := ctx.State().Set(key, ""); err != nil {
		return refusal("Tool '%s' was approved, and the approval could not be spent: %v", call.Tool, err)
	}
	if id, err := ctx.State().Get(requestKey + ctx.FunctionCallID()); err == nil && id != "" {
		return g.answer(ctx, id, answer.Confirmed, call, d)
	}
	if !answer.Confirmed {
		return refusal("Tool '%s' was denied by the user.", call.Tool)
	}
	return nil
}

// answer gives ADK's confirmation to the request of the gate that it is for, and
// takes the gate's decision; nil lets the tool run.
func (g *gate) answer(ctx tool.Context, id any, confirmed bool, call *obstat.Call, d *obstat.Decision) map[string]any {
	request, ok := id.(string)
	a, isAsker := g.guard.(gateGuard)
	if err := ctx.State().Set(requestKey+ctx.FunctionCallID(), ""); err != nil || !ok || !isAsker {
		return refusal("Tool '%s' was denied: the request it was confirmed for is lost", call.Tool)
	}
	who := ctx.UserID()
	if who == "" {
		who = "user"
	}
	// The request may have been answered before: that counts.
	answer := approval.Answer{By: who, Roles: call.Roles, Allow: confirmed}
	if _, err := a.gate.Broker().Answer(ctx, request, answer); err != nil && !errors.Is(err, approval.ErrSettled) {
		return refusal("Tool '%s' was denied: %v", call.Tool, err)
	}
	var err error
	switch *d, err = a.gate.Resume(ctx, request, nil); {
	case err != nil:
		return refusal("Tool '%s' was denied: %v", call.Tool, err)
	case d.Verdict == obstat.Allow:
		return nil
	case !confirmed:
		return refusal("Tool '%s' was denied by the user.", call.Tool)
	}
	return refusal("Tool '%s' was denied: %s", call.Tool, d.Reason())
}

// isAgentTool tells ADK's own agent tool, whose runner has no plugins.
func isAgentTool(t tool.Tool) bool {
	typ := reflect.TypeOf(t)
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ != nil && typ.PkgPath() == "google.golang.org/adk/tool/agenttool"
}

// beforeModel puts a guard before streaming tools, which ADK runs without
// asking plugins.
func (g *gate) beforeModel(_ agent.CallbackContext, req *model.LLMRequest) (*model.LLMResponse, error) {
	for name, t := range req.Tools {
		if s, ok := t.(streamer); ok {
			if _, guarded := t.(*stream); !guarded {
				req.Tools[name] = &stream{s, g}
			}
		}
	}
	return nil, nil
}
