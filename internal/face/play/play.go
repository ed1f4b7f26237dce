// Package play answers the questions of the playground: how a policy decides a call, and which calls
// two policies decide differently. JSON goes in, JSON comes out; the module of internal/face/play/wasm
// runs it in a browser.
//
// It owns the messages; the page is in static/, which packaging/site puts together with the module.
// It keeps, records and confines nothing and asks no person: an answer is that of the policy alone,
// in a world with a home directory and nothing else.
package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
)

// MaxQuestion bounds a question, in bytes.
const MaxQuestion = 12 << 20

// A Question is put by the page.
type Question struct {
	Policy Policy `json:"policy"`
	// Call is decided by Policy; nil compares Policy with Now.
	Call *obstat.Call `json:"call,omitempty"`
	Now  *Policy      `json:"now,omitempty"`
	// Tools name the tool of a call without one, by dialect: `bash` in opencode.
	Tools map[string]string `json:"tools,omitempty"`
	// World is used in place of a home directory and nothing else.
	World *obstat.Snapshot `json:"world,omitempty"`
	// Limit bounds how many calls a comparison tries; zero is as `obstat policy diff`.
	Limit int `json:"limit,omitempty"`
}

// A Policy is the text of a policy.
type Policy struct {
	Dialect string            `json:"dialect,omitempty"` // "" is told by the shape of the first file
	Files   []File            `json:"files"`
	Options map[string]string `json:"options,omitempty"`
}

// A File is one file of a policy.
type File struct {
	Name  string `json:"name,omitempty"` // "" is the dialect's usual name
	Layer string `json:"layer,omitempty"`
	Text  string `json:"text"`
}

// A Reply answers a [Question]: with a view or a comparison, else with errors.
type Reply struct {
	Dialect  string        `json:"dialect,omitempty"`
	View     *explain.View `json:"view,omitempty"`
	Diff     *diff.Report  `json:"diff,omitempty"`
	Warnings obstat.Errors `json:"warnings,omitempty"`
	Errors   obstat.Errors `json:"errors,omitempty"`
	Side     string        `json:"side,omitempty"` // "now": the errors are the second policy's
}

// Answer answers a question in JSON. An error is a part of the reply.
func Answer(src []byte) (out []byte) {
	defer func() {
		if r := recover(); r != nil {
			out = written(&Reply{Errors: obstat.ErrorsOf(fmt.Errorf("the engine failed: %v", r))})
		}
	}()
	var q Question
	if err := decode(src, &q); err != nil {
		return written(&Reply{Errors: obstat.ErrorsOf(err)})
	}
	return written(q.answer())
}

func (q *Question) answer() *Reply {
	if q.World == nil {
		q.World = &obstat.Snapshot{HomeDir: diff.Home}
	}
	l, err := q.Policy.load(q.World)
	if err != nil {
		return &Reply{Errors: obstat.ErrorsOf(err)}
	}
	out := &Reply{Dialect: l.Dialect.Name(), Warnings: l.Warnings}
	switch {
	case q.Call != nil:
		if q.Call.Tool == "" {
			q.Call.Tool = q.Tools[out.Dialect]
		}
		if q.Call.Tool == "" && len(q.Call.Subjects) == 0 {
			out.Errors = obstat.ErrorsOf(errors.New("the call names no tool"))
			return out
		}
		out.View = explain.Explain(Request(l, q.Call, q.World))
	case q.Now != nil:
		now, err := q.Now.load(q.World)
		if err != nil {
			return &Reply{Dialect: out.Dialect, Side: "now", Errors: obstat.ErrorsOf(err)}
		}
		out.Diff = diff.Compare(l.Policy, now.Policy, &diff.Options{Limit: q.Limit})
	default:
		out.Errors = obstat.ErrorsOf(errors.New("there is neither a call nor a second policy"))
	}
	return out
}

// load reads and compiles a policy.
func (p *Policy) load(world obstat.World) (*dialect.Loaded, error) {
	in := &dialect.Input{Options: p.Options}
	in.Home, _ = world.Home("")
	for _, f := range p.Files {
		in.Files = append(in.Files, dialect.File{Name: f.Name, Layer: f.Layer, Data: []byte(f.Text)})
	}
	d, err := all.Of(p.Dialect, in.Files)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, errors.New("a policy has at least one file")
	}
	for i := range in.Files {
		if in.Files[i].Name == "" {
			in.Files[i].Name = named(d, p.Files[i].Text)
		}
	}
	return dialect.Load(d, in)
}

// named returns the name that a dialect's file usually has: adk-fluent's `permissions.json`, and
// `permissions.yaml` where the text is not JSON.
func named(d dialect.Dialect, text string) string {
	name := dialect.DefaultFile(d)
	if base, ok := strings.CutSuffix(name, ".json"); ok && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return base + ".yaml"
	}
	return name
}

// Request returns the request that explains a call by a policy.
func Request(l *dialect.Loaded, call *obstat.Call, world obstat.World) *explain.Request {
	r := &explain.Request{Program: l.Program, Policy: l.Policy, Library: dialect.LibraryFor(l.Dialect, l.Program),
		Call: call, World: world, Files: l.Input.Names(),
		Offers: func(d *obstat.Decision) []obstat.Offer { return l.Offers(call, world, d) },
		With:   func(o ...obstat.Offer) (*obstat.Policy, error) { return l.Written(l.Into(), o...) }}
	r.Narrow = func(d *obstat.Decision) *explain.Narrowing {
		n := l.Narrowed(call, world, d)
		if n == nil {
			return nil
		}
		return &explain.Narrowing{Rules: n.Rules, Texts: n.Texts, Offers: n.Offers, Rest: n.Rest, With: n.With}
	}
	if d, ok := l.Dialect.(dialect.Describer); ok {
		r.Matched = d.Matched
	}
	return r
}

// decode reads strict JSON.
func decode(src []byte, v any) error {
	n, ps := jsonx.Parse(src, jsonx.Options{NUL: true})
	f := dialect.File{Name: "question", Data: src}
	if err := f.Problems(ps).Fatal(); err != nil {
		return err
	}
	return f.Problems(n.Decode(src, v)).Fatal()
}

func written(r *Reply) []byte {
	out, err := json.Marshal(r)
	if err != nil {
		return []byte(`{"errors":[{"msg":"the answer cannot be written"}]}`)
	}
	return out
}
