package inprocess

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/study/explain"
)

// A Trial is one call and the policy that it is decided by, for hosts whose policy is an object of
// their own, which may change between two calls: AgentScope's PermissionContext.
type Trial struct {
	Policy Policy      `json:"policy"`
	Call   obstat.Call `json:"call"`
	// Said holds the answers of the host's own tool, for dialects whose tools take part in decisions.
	Said json.RawMessage `json:"said,omitempty"`
}

// A Verdict is the answer to a [Trial]. An ask is an ask: the host asks its person.
type Verdict struct {
	explain.Decision
	// Words are the decision in the system's own form and words, where the dialect has them.
	Words any `json:"words,omitempty"`
	// Matched names the rules that decided as the system does: `tiered_policy:rules:deny:no-push`.
	Matched string `json:"matched,omitempty"`
}

// A listener is a dialect whose tools answer in the host's process.
type listener interface {
	// Hear returns the dialect of one call, and a text that is equal for equal decisions.
	Hear(tool string, said json.RawMessage) (d dialect.Dialect, key string, err error)
}

// A speaker is a dialect with a form and words of its own for decisions.
type speaker interface {
	Words(l *dialect.Loaded, d *obstat.Decision) any
}

// Trials decides calls by policies that come with them, and keeps the last of these compiled. Its zero
// value is ready; it is safe for concurrent use.
type Trials struct {
	mu   sync.Mutex
	kept map[[32]byte]policy
}

// maxKept bounds the compiled policies; all are dropped when one more comes.
const maxKept = 128

// policy returns the compiled policy of a trial.
func (t *Trials) policy(of *Trial, world obstat.World) (p policy, err error) {
	d, said, err := of.dialect()
	if err != nil {
		return p, err
	}
	text, err := json.Marshal([]any{of.Policy, of.Call.Tool, said})
	if err != nil {
		return p, err
	}
	key := sha256.Sum256(text)
	t.mu.Lock()
	p, ok := t.kept[key]
	t.mu.Unlock()
	if !ok {
		if p, err = of.Policy.compile(d, world); err != nil {
			return p, err
		}
		t.keep(key, p)
	}
	now := *p.loaded
	now.Dialect, p.loaded = d, &now // suggestions and texts are this call's
	return p, nil
}

func (t *Trials) keep(key [32]byte, p policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil || len(t.kept) >= maxKept {
		t.kept = map[[32]byte]policy{}
	}
	t.kept[key] = p
}

// Try decides a call by the policy that comes with it. Nothing is recorded, and no person is asked.
// An error is a policy or a call that cannot be read. world is the same at each call; nil is the machine.
func (t *Trials) Try(ctx context.Context, of *Trial, world obstat.World) (*Verdict, error) {
	if of.Call.Tool == "" {
		return nil, errors.New("the call names no tool")
	}
	p, err := t.policy(of, world)
	if err != nil {
		return nil, err
	}
	a, err := p.gate.Authorize(ctx, &of.Call, &gate.Terms{Ask: gate.Leave, Offers: []obstat.Offer{}})
	if err != nil {
		return nil, err
	}
	d := a.Decision
	if world == nil {
		world = obstat.OS{}
	}
	d.Offers = p.loaded.Offers(&of.Call, world, &d)
	out := &Verdict{Decision: explain.NewDecision(&d)}
	if s, ok := p.loaded.Dialect.(speaker); ok {
		out.Words = s.Words(p.loaded, &d)
	}
	if s, ok := p.loaded.Dialect.(dialect.Describer); ok {
		_, trace := p.loaded.Policy.Explain(&of.Call, world)
		out.Matched = s.Matched(&d, trace)
	}
	return out, nil
}

// dialect returns the dialect of a trial, with the answer that the host's tool has given about the call, and a
// key under which the compiled policy is kept: equal keys decide equally.
func (t *Trial) dialect() (d dialect.Dialect, key string, err error) {
	if d, err = t.Policy.dialect(); err != nil || len(t.Said) == 0 {
		return d, "", err
	}
	l, ok := d.(listener)
	if !ok {
		return nil, "", fmt.Errorf("tools take no part in decisions of %s", d.Name())
	}
	return l.Hear(t.Call.Tool, t.Said)
}

// Try decides the call of a [Trial] as JSON. Whatever goes wrong denies.
func (e *Engine) Try(src []byte) (out []byte) {
	defer func() {
		if r := recover(); r != nil {
			out = denied(fmt.Errorf("the engine failed: %v", r))
		}
	}()
	var req Trial
	if err := decode("trial", src, &req); err != nil {
		return denied(err)
	}
	if !(obstat.OS{}).IsDir("/") {
		return denied(errNoFiles)
	}
	v, err := e.trials.Try(context.Background(), &req, nil)
	if err != nil {
		return denied(err)
	}
	return reply(v)
}
