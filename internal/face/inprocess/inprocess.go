// Package inprocess is the gate for hosts that call it inside their own process and
// in another language: JSON goes in, JSON comes out. internal/face/inprocess/wasm is its
// WebAssembly module.
//
// It owns the messages. It keeps nothing but the policies it was given: nothing
// is recorded and no person can be asked, so asks are denied; a [Trial]'s are the
// host's to put to its person.
package inprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/explain"
	in "github.com/obstat/obstat/policy"
)

// Unasked ends the reason of a decision where a person would have been asked.
const Unasked = "this asks a person, and inside a process nobody can be asked: put the call to `obstat serve` instead"

// An Engine holds policies. Its zero value is ready; it is for one goroutine.
type Engine struct {
	policies []policy
	trials   Trials
}

type policy struct {
	loaded *dialect.Loaded
	gate   *gate.Gate
	sees   bool // there is a file system
}

// A Policy is a policy as a host sends it.
type Policy struct {
	Dialect string            `json:"dialect,omitempty"` // "" is told by the first file's name and shape
	Files   []File            `json:"files"`             // lowest precedence first
	Options map[string]string `json:"options,omitempty"` // of the dialect
	Home    string            `json:"home,omitempty"`    // for ~ in the files; "" is the user's
}

// A File is the text of one file of a policy.
type File struct {
	Name  string `json:"name,omitempty"` // "" is the dialect's usual name
	Layer string `json:"layer,omitempty"`
	Text  string `json:"text"`
}

// loadReply has the number of a policy, or its errors.
type loadReply struct {
	Policy   int           `json:"policy"` // from 1; 0: it was refused
	Dialect  string        `json:"dialect,omitempty"`
	Digest   string        `json:"digest,omitempty"`
	Warnings obstat.Errors `json:"warnings,omitempty"`
	Errors   obstat.Errors `json:"errors,omitempty"`
}

// decideRequest is a call as a host sends it.
type decideRequest struct {
	Call obstat.Call `json:"call"`
	// World replaces the machine, for replays and cases.
	World *obstat.Snapshot `json:"world,omitempty"`
}

// decideReply is a decision. Its verdict is allow or deny.
type decideReply struct {
	explain.Decision
	Asks bool `json:"asks,omitempty"` // a person would have been asked
}

// Load compiles a policy and keeps it.
func (e *Engine) Load(src []byte) []byte {
	p, err := load(src)
	if err != nil {
		return reply(loadReply{Errors: obstat.ErrorsOf(err)})
	}
	e.policies = append(e.policies, p)
	l := p.loaded
	return reply(loadReply{Policy: len(e.policies), Dialect: l.Dialect.Name(), Digest: l.Policy.Digest(),
		Warnings: l.Warnings})
}

func load(src []byte) (p policy, err error) {
	var req Policy
	if err := decode("policy", src, &req); err != nil {
		return p, err
	}
	d, err := req.dialect()
	if err != nil {
		return p, err
	}
	return req.compile(d, nil)
}

// dialect returns the policy's dialect.
func (req *Policy) dialect() (dialect.Dialect, error) {
	if len(req.Files) == 0 {
		return nil, errors.New("a policy has at least one file")
	}
	if req.Dialect == "" {
		return all.Detect(&dialect.File{Name: req.Files[0].Name, Data: []byte(req.Files[0].Text)})
	}
	return all.Find(req.Dialect)
}

// compile makes a policy that is ready to decide in a world; nil is the machine.
func (req *Policy) compile(d dialect.Dialect, world obstat.World) (p policy, err error) {
	in := &dialect.Input{Options: req.Options, Home: req.Home}
	for _, f := range req.Files {
		in.Files = append(in.Files, dialect.File{Name: f.Name, Layer: f.Layer, Data: []byte(f.Text)})
	}
	if in.Home == "" {
		in.Home, _ = obstat.OS{}.Home("")
	}
	for i := range in.Files {
		if in.Files[i].Name == "" {
			in.Files[i].Name = dialect.DefaultFile(d)
		}
	}
	if p.loaded, err = dialect.Load(d, in); err != nil {
		return p, err
	}
	p.sees = obstat.OS{}.IsDir("/")
	p.gate, err = open(p.loaded, world)
	return p, err
}

func open(l *dialect.Loaded, w obstat.World) (*gate.Gate, error) {
	return gate.Open(context.Background(), gate.Options{Policy: &fixed{gate.Fixed{Loaded: l}, in.Of(l)}, World: w,
		NoRecord: true, NoStart: true})
}

// fixed is gate.Fixed that is made ready once, not for each call.
type fixed struct {
	gate.Fixed
	now *in.InForce
}

// InForce returns the policy.
func (f *fixed) InForce(*obstat.Call) (*in.InForce, error) { return f.now, nil }

// Decide answers a call by the policy of that number. Whatever goes wrong denies.
func (e *Engine) Decide(number int, src []byte) (out []byte) {
	defer func() {
		if r := recover(); r != nil {
			out = denied(fmt.Errorf("the engine failed: %v", r))
		}
	}()
	var req decideRequest
	if number < 1 || number > len(e.policies) {
		return denied(fmt.Errorf("there is no policy %d", number))
	}
	p := e.policies[number-1]
	if err := decode("call", src, &req); err != nil {
		return denied(err)
	}
	if req.Call.Tool == "" && len(req.Call.Subjects) == 0 {
		return denied(errors.New("the call names no tool"))
	}
	g, err := p.gate, error(nil)
	switch {
	case req.World != nil:
		g, err = open(p.loaded, req.World)
	case !p.sees:
		err = errNoFiles
	}
	if err != nil {
		return denied(err)
	}
	d, err := g.Authorize(context.Background(), &req.Call, &gate.Terms{Ask: gate.Leave})
	if err != nil {
		return denied(err)
	}
	return reply(answer(&d.Decision))
}

// answer returns the reply to a call that was decided.
func answer(d *obstat.Decision) decideReply {
	out := decideReply{Decision: explain.NewDecision(d)}
	out.Offers = nil // no person accepts them here
	if d.Verdict == obstat.Ask {
		out.Asks, out.Verdict, out.Reason = true, obstat.Deny, out.Reason+"; "+Unasked
	}
	return out
}

// errNoFiles is the error of a host without a file system: there a link into a denied directory looks
// like a plain name.
var errNoFiles = errors.New("the engine sees no file system; open / for it")

func denied(err error) []byte {
	d := obstat.Decision{Stage: "engine", Faults: []obstat.Fault{{Msg: err.Error()}}}
	return reply(decideReply{Decision: explain.NewDecision(&d)})
}

// decode reads strict JSON.
func decode(name string, src []byte, v any) error {
	n, ps := jsonx.Parse(src, jsonx.Options{NUL: true})
	f := dialect.File{Name: name, Data: src}
	if err := f.Problems(ps).Fatal(); err != nil {
		return err
	}
	return f.Problems(n.Decode(src, v)).Fatal()
}

func reply(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"verdict":"deny","reason":"the engine's answer cannot be written"}`)
	}
	return out
}
