package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/obstat/obstat"
)

// flowSteps are the asks and replies of a recorded flow.
type flowSteps struct {
	Steps []struct {
		Ask *struct {
			ID, Session, Permission string
			Patterns, Always        []string
			Config                  json.RawMessage
		}
		Reply *struct {
			ID      string
			Reply   Reply
			Message string
		}
	}
}

// flowRun replays a recorded flow and writes down what the recording wrote down.
type flowRun struct {
	t      *testing.T
	o      *op
	b      *Broker
	sub    *Subscription
	waits  map[string]*Wait
	final  map[string]any
	trace  []any
	events []any
}

func (f *flowRun) ids() []any {
	out := []any{}
	for _, r := range f.b.Pending() {
		out = append(out, r.ID)
	}
	return out
}

// result writes an outcome as the recording does.
func (f *flowRun) result(err error) any {
	var denied *DeniedError
	var corrected *CorrectedError
	switch {
	case err == nil:
		return map[string]any{"result": "allow"}
	case errors.As(err, &denied):
		var rules any
		f.o.decode(f.t, rulesJSON(denied.Rules), &rules)
		return map[string]any{"result": "denied", "rules": rules, "message": denied.Error()}
	case errors.As(err, &corrected):
		return map[string]any{"result": "corrected", "feedback": corrected.Feedback, "message": corrected.Error()}
	}
	return map[string]any{"result": "rejected", "message": err.Error()}
}

func (f *flowRun) run(steps flowSteps) {
	for _, s := range steps.Steps {
		if a := s.Ask; a != nil {
			rules := configRules(f.t, f.o, Last, a.Config, "/home/u")
			w, err := f.b.Put(Request{ID: a.ID, SessionID: a.Session, Permission: a.Permission, Patterns: a.Patterns, Always: a.Always}, rules)
			var now any = "pending"
			if w == nil {
				now = f.result(err)
				f.final[a.ID] = now
			} else {
				f.waits[a.ID] = w
			}
			f.trace = append(f.trace, map[string]any{"ask": a.ID, "immediate": now, "pending": f.ids()})
		}
		if r := s.Reply; r != nil {
			err := f.b.Reply(r.ID, r.Reply, r.Message)
			step := map[string]any{"reply": r.ID, "ok": err == nil, "pending": nil}
			var missing *NotFoundError
			if errors.As(err, &missing) {
				step["error"] = "Permission.NotFoundError"
			}
			step["pending"] = f.ids()
			f.trace = append(f.trace, step)
		}
	}
	f.finish()
}

func (f *flowRun) finish() {
	for id, w := range f.waits {
		select {
		case <-w.Done():
			f.final[id] = f.result(w.Err())
		default:
			f.final[id] = map[string]any{"result": "pending"}
		}
	}
	f.sub.Cancel()
	for e := range f.sub.Events() {
		switch p := e.Properties.(type) {
		case Request:
			f.events = append(f.events, map[string]any{"asked": p.ID})
		case Replied:
			f.events = append(f.events, map[string]any{"replied": p.RequestID, "reply": string(p.Reply)})
		}
	}
}

func TestOpsFlow(t *testing.T) {
	l := departuresOf(t, "flow")
	defer l.done()
	for _, o := range ops(t, "flow", 65) {
		var steps flowSteps
		var want any
		o.decode(t, o.Call, &steps)
		o.decode(t, o.Expect, &want)
		b := NewBroker(nil)
		f := &flowRun{t: t, o: o, b: b, sub: b.Subscribe(), waits: map[string]*Wait{}, final: map[string]any{}, events: []any{}}
		f.run(steps)
		l.compare(o, map[string]any{"trace": f.trace, "final": f.final, "events": f.events}, want)
	}
}

// TestFirstReplyWins: of many replies at once exactly one is taken, and an
// "always" that loses leaves nothing behind.
func TestFirstReplyWins(t *testing.T) {
	for range 50 {
		b := NewBroker(nil)
		w := put(t, b, "per_1", "ses_1")
		var wins [3]bool
		var all sync.WaitGroup
		for i, r := range []Reply{Once, Always, Reject} {
			all.Go(func() { wins[i] = b.Reply("per_1", r, "") == nil })
		}
		all.Wait()
		n := 0
		for _, won := range wins {
			if won {
				n++
			}
		}
		if n != 1 || len(b.Approved()) > 0 != wins[1] || (w.Err() == nil) == wins[2] {
			t.Fatalf("once, always, reject won: %v; remembered: %v; %v", wins, b.Approved(), w.Err())
		}
	}
}

func TestAskEnds(t *testing.T) {
	b := NewBroker(&BrokerOptions{MaxPending: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the host stopped")
	cancel(cause)
	if err := b.Ask(ctx, Request{Permission: "bash", Patterns: []string{"ls"}}, nil); !errors.Is(err, ErrRejected) || !errors.Is(err, cause) {
		t.Errorf("a cancelled ask: %v", err)
	}
	if n := len(b.Pending()); n != 0 {
		t.Errorf("%d wait", n)
	}
	put(t, b, "per_1", "ses_1")
	if _, err := b.Put(Request{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}}, nil); !errors.Is(err, ErrRejected) {
		t.Errorf("one too many: %v", err)
	}
	b.Close()
	if _, err := b.Put(Request{Permission: "bash", Patterns: []string{"ls"}}, nil); !errors.Is(err, ErrRejected) {
		t.Errorf("after the end: %v", err)
	}
	if _, open := <-b.Subscribe().Events(); open {
		t.Error("a closed broker has events")
	}
}

// TestSlowReader: who does not read is cut off rather than left with a gap.
func TestSlowReader(t *testing.T) {
	b := NewBroker(nil)
	sub := b.Subscribe()
	for i := range maxBehind + 1 {
		put(t, b, fmt.Sprintf("per_%d", i), "ses_1")
	}
	n := 0
	for range sub.Events() {
		n++
	}
	if n != maxBehind {
		t.Errorf("%d events", n)
	}
}

// TestDenyStays: no answer lifts what a rule denies, whatever it was about.
func TestDenyStays(t *testing.T) {
	b := NewBroker(nil)
	w, _ := b.Put(Request{ID: "per_1", SessionID: "s", Permission: "bash", Patterns: []string{"git push"}, Always: []string{"git push *", "*"}}, nil)
	if err := b.Reply("per_1", Always, ""); err != nil || w.Err() != nil {
		t.Fatal(err, w.Err())
	}
	rules := Ruleset{{Permission: "bash", Pattern: "*", Action: obstat.Ask}, {Permission: "bash", Pattern: "git push --force*", Action: obstat.Deny}}
	if w, err := b.Put(Request{Permission: "bash", Patterns: []string{"git push origin"}}, rules); w != nil || err != nil {
		t.Errorf("what was approved: %v", err)
	}
	var denied *DeniedError
	if _, err := b.Put(Request{Permission: "bash", Patterns: []string{"git push origin", "git push --force"}}, rules); !errors.As(err, &denied) {
		t.Errorf("what is denied: %v", err)
	}
}

func put(t *testing.T, b *Broker, id, session string) *Wait {
	t.Helper()
	w, err := b.Put(Request{ID: id, SessionID: session, Permission: "bash", Patterns: []string{"ls"}, Always: []string{"ls *"}}, nil)
	if err != nil || w == nil {
		t.Fatalf("%v, %v", w, err)
	}
	return w
}
