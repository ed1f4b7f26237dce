package opencode

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
)

// A Request is an ask: may a tool have this permission for these patterns?
// Without patterns it is about everything.
type Request struct {
	ID         string          `json:"id"` // made by Put
	SessionID  string          `json:"sessionID"`
	Permission string          `json:"permission"`
	Patterns   []string        `json:"patterns"`
	Always     []string        `json:"always"` // patterns that "always" would remember
	Metadata   json.RawMessage `json:"metadata"`
	Tool       *ToolRef        `json:"tool,omitempty"`

	// Call is the tool call that asks. With it the call itself is judged, by the
	// floor as well, and Permission, Patterns and Always are made from it.
	Call *obstat.Call `json:"-"`
	// Agent is whose rules count; "" is the policy's own mode.
	Agent string `json:"-"`
}

// A ToolRef says which call of which message asks.
type ToolRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

// An asked is the input of a call that was made from patterns alone: an answer
// is bound to it, and self-protection looks at it.
type asked struct {
	Command  string          `json:"command,omitempty"` // of the shell
	Patterns []string        `json:"patterns,omitempty"`
	Metadata json.RawMessage `json:"metadata"`
}

func (r *Request) input() (json.RawMessage, error) {
	in := asked{Patterns: r.Patterns, Metadata: r.Metadata}
	if r.Permission == "bash" {
		in.Command, in.Patterns = strings.Join(r.Patterns, "\n"), nil
	}
	return json.Marshal(in)
}

// call returns a request as the gate's call, and the rules that "always" would
// take; none are the dialect's own.
func (i *Instance) call(req *Request) (*obstat.Call, []obstat.Offer) {
	if req.Call != nil {
		c := *req.Call
		c.Session, c.Dir = req.SessionID, i.opts.Directory
		if req.Agent != "" {
			c.Mode = obstat.Mode(req.Agent)
		}
		return &c, nil
	}
	if len(req.Patterns) == 0 {
		req.Patterns = []string{"*"}
	}
	if req.Metadata == nil {
		req.Metadata = json.RawMessage("{}")
	}
	input, err := req.input()
	if err != nil {
		input = nil // metadata that is no JSON; the gate denies the call
	}
	c := &obstat.Call{Tool: req.Permission, Input: input, Subjects: req.Patterns, Mode: obstat.Mode(req.Agent),
		Session: req.SessionID, Dir: i.opts.Directory, Roots: []string{i.opts.Directory}}
	return c, opencode.AlwaysOffers(i.loaded(c).Program, req.Permission, req.Patterns, req.Always)
}

// show returns a request of the gate as the program shows it.
func (i *Instance) show(r *approval.Request, ref *ToolRef) Request {
	out := Show(i.loaded(&r.Call), r, i.opts.Gate.World)
	out.Tool = ref
	return out
}

// Show returns a request as the program shows it, under a policy of any dialect. `cat /etc/hosts` that asks only
// because it leaves the project is `external_directory` with `/etc/*`, the third equal call in a row `doom_loop`.
func Show(l *dialect.Loaded, r *approval.Request, world obstat.World) Request {
	out := Request{ID: ShownID(r.ID), SessionID: r.Call.Session, Permission: r.Call.Tool, Patterns: r.Call.Subjects,
		Always: []string{}, Metadata: r.Call.Input}
	var a asked
	if len(r.Call.Subjects) == 0 {
		out.Permission, out.Patterns = shownAsk(l, &r.Call, world)
	} else if json.Unmarshal(r.Call.Input, &a) == nil {
		out.Metadata = a.Metadata
	}
	if len(r.Offers) > 0 {
		for _, o := range r.Offers[0].Rules() {
			out.Always = append(out.Always, shownRule(l, &o))
		}
	}
	return out
}

// shownRule returns the pattern of a rule in opencode's notation, and any other rule as its text.
func shownRule(l *dialect.Loaded, o *approval.Offer) string {
	rule, err := obstat.ParseRule(o.Rule)
	if err != nil || !isOpencode(l) {
		return o.Text
	}
	return opencode.RuleOf(&rule).Pattern
}

func isOpencode(l *dialect.Loaded) bool {
	return l.Program != nil && l.Program.Dialect == opencode.Dialect{}.Name()
}

// shownAsk returns the ask that a call is shown as: of several the tool's own where that asks, else the one that
// does.
func shownAsk(l *dialect.Loaded, call *obstat.Call, world obstat.World) (string, []string) {
	asks, err := opencode.Asks(opencode.Last, true, call, world)
	if isOpencode(l) {
		asks, err = opencode.AsksOf(l.Program, call, world)
	}
	if err != nil || len(asks) == 0 {
		return call.Tool, []string{"*"}
	}
	own := slices.IndexFunc(asks, func(a opencode.Ask) bool {
		return a.Permission != externalDirectory && a.Permission != doomLoop
	})
	if own < 0 || !askedBy(l, call, &asks[own], world) {
		at := slices.IndexFunc(asks, func(a opencode.Ask) bool { return askedBy(l, call, &a, world) })
		if own = max(own, 0); at >= 0 {
			own = at
		}
	}
	return asks[own].Permission, asks[own].Patterns
}

// askedBy tells whether the policy asks about one of a call's asks. A policy of another dialect knows no such
// parts, and asks about the call.
func askedBy(l *dialect.Loaded, call *obstat.Call, a *opencode.Ask, world obstat.World) bool {
	if !isOpencode(l) || l.Policy == nil {
		return true
	}
	part := &obstat.Call{Tool: a.Permission, Subjects: a.Patterns, Mode: call.Mode, Dir: call.Dir, Roots: call.Roots}
	return l.Policy.Decide(part, world).Verdict == obstat.Ask
}

// refusedOf returns the refused permission and pattern of a call: the part that decided, or the first pattern.
func refusedOf(l *dialect.Loaded, call *obstat.Call, d *obstat.Decision) Refused {
	permission, patterns := call.Tool, call.Subjects
	if len(patterns) == 0 {
		permission, patterns = shownAsk(l, call, nil)
	}
	pattern := d.Part
	if pattern == "" && len(patterns) > 0 {
		pattern = patterns[0]
	}
	return Refused{permission, pattern, opencode.OrderOf(l.Program)}
}

// External are the options of [Instance.AssertExternalDirectory].
type External struct {
	// Bypass: the tool has its own reason to go there, and does not ask.
	Bypass bool
}

// AssertExternalDirectory asks about a path outside the project before a tool goes there.
// It returns nil for a path inside, and the error of [Instance.Ask] for any other.
func (i *Instance) AssertExternalDirectory(ctx context.Context, session, file string, opts *External) error {
	input, err := json.Marshal(map[string]string{"filePath": file})
	if err != nil || opts != nil && opts.Bypass {
		return err
	}
	call := &obstat.Call{Tool: "read", Input: input, Dir: i.opts.Directory, Roots: []string{i.opts.Directory}}
	asks, err := opencode.AsksOf(i.loaded(call).Program, call, i.opts.Gate.World)
	if err != nil {
		return err
	}
	for _, a := range asks {
		if a.Permission == externalDirectory {
			meta, err := json.Marshal(map[string]string{"filepath": file, "cwd": i.opts.Directory})
			if err != nil {
				return err
			}
			return i.Ask(ctx, Request{SessionID: session, Permission: a.Permission, Patterns: a.Patterns, Always: a.Always,
				Metadata: meta})
		}
	}
	return nil
}

const (
	externalDirectory = "external_directory"
	doomLoop          = "doom_loop"
)
