package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/keep/memory"
)

// loaded loads a permission object as a file of the program, or of the document.
func loaded(t *testing.T, key, permission, floor string) *dialect.Loaded {
	t.Helper()
	l, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "opencode.json", Data: []byte(`{"` + key + `":` + permission + `}`)}},
		Options: map[string]string{"floor": floor}, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// instance opens an instance on a permission object, which knows nothing of this
// machine.
func instance(t *testing.T, permission string, change func(*Options)) *Instance {
	t.Helper()
	opts := Options{Directory: "/p", Gate: gate.Options{Policy: gate.Fixed{Loaded: loaded(t, "permission", permission, "off")}, World: &obstat.Snapshot{HomeDir: "/home/u"}, NoStart: true}}
	if change != nil {
		change(&opts)
	}
	i, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func put(t *testing.T, i *Instance, session string) *Wait {
	t.Helper()
	w, err := i.Put(t.Context(), Request{SessionID: session, Permission: "bash", Patterns: []string{"ls"}, Always: []string{"ls *"}})
	if err != nil || w == nil {
		t.Fatalf("%v, %v", w, err)
	}
	return w
}

// unkept is a store that cannot keep a grant.
type unkept struct{ *memory.Store }

func (u unkept) Update(ctx context.Context, r *approval.Request, g *approval.Grant) error {
	if g != nil {
		return errors.New("disk full")
	}
	return u.Store.Update(ctx, r, g)
}

// TestFailedSave: an "always" that cannot be kept is an error, the call waits on, and nothing is granted.
func TestFailedSave(t *testing.T) {
	store := unkept{new(memory.Store)}
	i := instance(t, `{"bash":"ask"}`, func(o *Options) { o.Gate.Store = store })
	w := put(t, i, "s")
	if err := i.Reply(t.Context(), w.Request.ID, Always, ""); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("the reply: %v", err)
	}
	if all, err := i.Pending(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d wait, %v", len(all), err)
	}
	if grants, err := store.Grants(t.Context(), time.Now()); err != nil || len(grants) > 0 {
		t.Errorf("grants: %v, %v", grants, err)
	}
}

// A flow is a recorded flow of asks and replies.
type flow struct {
	ID, Kind string
	Call     flowSteps
	Expect   any
}

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

// agents returns a policy in which each ask of a flow, with rules of its own, is
// an agent.
func (s *flowSteps) agents(t *testing.T) *dialect.Loaded {
	t.Helper()
	out := loaded(t, "permission", "{}", "off")
	prog := out.Policy.Program()
	for n := range s.Steps {
		if s.Steps[n].Ask == nil {
			continue
		}
		l := loaded(t, "permission", string(s.Steps[n].Ask.Config), "off")
		pl := l.Program.Pipelines[l.Program.Mode]
		pl.Stages = slices.Clone(pl.Stages)
		for i, st := range pl.Stages {
			if m, ok := st.(obstat.Match); ok {
				rules := l.Program.Rules[m.Rules]
				m.Rules = fmt.Sprint(m.Rules, n)
				prog.Rules[m.Rules], pl.Stages[i] = rules, m
			}
		}
		prog.Pipelines[obstat.Mode(fmt.Sprint(n))] = pl
	}
	pol, err := obstat.Compile(prog, &obstat.Options{Library: opencode.Dialect{}.Library()})
	if err != nil {
		t.Fatal(err)
	}
	out.Program, out.Policy = prog, pol
	return out
}

// flowRun replays a recorded flow and writes down what the recording wrote down.
type flowRun struct {
	t      *testing.T
	in     *Instance
	sub    *Subscription
	waits  map[string]*Wait
	names  map[string]string // the recording's ids by ours
	final  map[string]any
	trace  []any
	events []any
}

func (f *flowRun) ids() []any {
	pending, err := f.in.Pending(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	out := []any{}
	for _, r := range pending {
		out = append(out, f.names[r.ID])
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
		if err := json.Unmarshal([]byte(denied.Rules.JSON()), &rules); err != nil {
			f.t.Fatal(err)
		}
		return map[string]any{"result": "denied", "rules": rules, "message": denied.Error()}
	case errors.As(err, &corrected):
		return map[string]any{"result": "corrected", "feedback": corrected.Feedback, "message": corrected.Error()}
	}
	return map[string]any{"result": "rejected", "message": err.Error()}
}

func (f *flowRun) run(steps flowSteps) {
	for n, s := range steps.Steps {
		if a := s.Ask; a != nil {
			w, err := f.in.Put(f.t.Context(), Request{SessionID: a.Session, Permission: a.Permission, Patterns: a.Patterns, Always: a.Always, Agent: fmt.Sprint(n)})
			var now any = "pending"
			if w == nil {
				now = f.result(err)
				f.final[a.ID] = now
			} else {
				f.waits[a.ID], f.names[w.Request.ID] = w, a.ID
			}
			f.trace = append(f.trace, map[string]any{"ask": a.ID, "immediate": now, "pending": f.ids()})
		}
		if r := s.Reply; r != nil {
			id := "per_none"
			if w := f.waits[r.ID]; w != nil {
				id = w.Request.ID
			}
			err := f.in.Reply(f.t.Context(), id, r.Reply, r.Message)
			step := map[string]any{"reply": r.ID, "ok": err == nil}
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
	pending := f.ids()
	for id, w := range f.waits {
		if slices.Contains(pending, any(id)) {
			f.final[id] = map[string]any{"result": "pending"}
			continue
		}
		f.final[id] = f.result(w.Result(f.t.Context()))
	}
	f.sub.Cancel()
	for e := range f.sub.Events() {
		switch p := e.Properties.(type) {
		case Request:
			f.events = append(f.events, map[string]any{"asked": f.names[p.ID]})
		case Replied:
			f.events = append(f.events, map[string]any{"replied": f.names[p.RequestID], "reply": string(p.Reply)})
		}
	}
}

// departures are the recorded flows that end otherwise, and why.
var departures = map[string]string{
	"oc-flow-0018": denyStays,
	"oc-flow-0019": denyStays,
	"oc-flow-0025": "an ask without patterns is about everything, and is not let through",
	"oc-flow-0084": denyStays,
	"oc-flow-0094": "always for the whole shell is not remembered: the request runs once",
}

const denyStays = "what a rule denies is denied, whatever was answered always before"

// TestFlows replays the recorded flows: what is asked and what waits after each
// step, how every ask ends, and what is told of it.
func TestFlows(t *testing.T) {
	n := 0
	for _, rec := range jsonltest.All[flow](t, "../../dialect/opencode/testdata/opencode-ops.jsonl.gz") {
		if rec.Kind != "flow" {
			continue
		}
		n++
		i := instance(t, "{}", func(o *Options) { o.Gate.Policy = gate.Fixed{Loaded: rec.Call.agents(t)} })
		f := &flowRun{t: t, in: i, sub: i.Subscribe(), waits: map[string]*Wait{}, names: map[string]string{}, final: map[string]any{}, events: []any{}}
		f.run(rec.Call)
		got, _ := json.Marshal(map[string]any{"trace": f.trace, "final": f.final, "events": f.events})
		var back any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		switch same := reflect.DeepEqual(back, rec.Expect); {
		case same && departures[rec.ID] != "":
			t.Errorf("%s is listed as a departure and is none", rec.ID)
		case !same && departures[rec.ID] == "":
			want, _ := json.Marshal(rec.Expect)
			t.Errorf("%s: got\n%.3000s\nwant\n%.3000s", rec.ID, got, want)
		}
	}
	if n != 65 {
		t.Errorf("%d flows, want 65", n)
	}
}

// TestFirstReplyWins: of many replies at once exactly one is taken, and an
// "always" that loses leaves nothing behind.
func TestFirstReplyWins(t *testing.T) {
	for range 20 {
		i := instance(t, `{}`, nil)
		w := put(t, i, "ses_1")
		var wins [3]bool
		var all sync.WaitGroup
		for n, r := range []Reply{Once, Always, Reject} {
			all.Go(func() { wins[n] = i.Reply(t.Context(), w.Request.ID, r, "") == nil })
		}
		all.Wait()
		n := 0
		for _, won := range wins {
			if won {
				n++
			}
		}
		err := w.Result(t.Context())
		again, _ := i.Put(t.Context(), Request{SessionID: "ses_2", Permission: "bash", Patterns: []string{"ls"}})
		if n != 1 || (again == nil) != wins[1] || (err == nil) == wins[2] {
			t.Fatalf("once, always, reject won: %v; asks again: %v; %v", wins, again != nil, err)
		}
	}
}

func TestAskEnds(t *testing.T) {
	i := instance(t, `{}`, func(o *Options) { o.MaxPending = 1 })
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the host stopped")
	w, err := i.Put(ctx, Request{Permission: "bash", Patterns: []string{"ls"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	if err := w.Result(ctx); !errors.Is(err, ErrRejected) || !errors.Is(err, cause) {
		t.Errorf("a cancelled ask: %v", err)
	}
	if pending, err := i.Pending(t.Context()); len(pending) != 0 || err != nil {
		t.Errorf("%d wait, %v", len(pending), err)
	}
	waits := put(t, i, "ses_1")
	if _, err := i.Put(t.Context(), Request{Permission: "bash", Patterns: []string{"ls"}}); !errors.Is(err, ErrRejected) {
		t.Errorf("one too many: %v", err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := waits.Result(t.Context()); !errors.Is(err, ErrRejected) {
		t.Errorf("what waited at the end: %v", err)
	}
	if _, err := i.Put(t.Context(), Request{Permission: "bash", Patterns: []string{"ls"}}); !errors.Is(err, ErrRejected) {
		t.Errorf("after the end: %v", err)
	}
	if _, open := <-i.Subscribe().Events(); open {
		t.Error("a closed instance has events")
	}
}

// TestSlowReader: who does not read is cut off rather than left with a gap.
func TestSlowReader(t *testing.T) {
	i := instance(t, `{}`, nil)
	sub := i.Subscribe()
	for range maxBehind + 1 {
		put(t, i, "ses_1")
	}
	n := 0
	for range sub.Events() {
		n++
	}
	if n != maxBehind {
		t.Errorf("%d events", n)
	}
}

// TestDenyStays: no answer lifts what a rule denies, and none hands out the
// shell.
func TestDenyStays(t *testing.T) {
	i := instance(t, `{"bash": {"*": "ask", "git push --force*": "deny"}}`, nil)
	w, _ := i.Put(t.Context(), Request{SessionID: "s", Permission: "bash", Patterns: []string{"git push"}, Always: []string{"git push *", "*"}})
	if err := i.Reply(t.Context(), w.Request.ID, Always, ""); err != nil || w.Result(t.Context()) != nil {
		t.Fatal(err, w.Result(t.Context()))
	}
	if w, err := i.Put(t.Context(), Request{Permission: "bash", Patterns: []string{"rm x"}}); w == nil {
		t.Errorf("the shell was handed out: %v", err)
	}
	var denied *DeniedError
	if _, err := i.Put(t.Context(), Request{Permission: "bash", Patterns: []string{"git push origin", "git push --force"}}); !errors.As(err, &denied) {
		t.Errorf("what is denied: %v", err)
	}
}

// TestAlwaysMeansWhatWasShown: with the document's patterns a value that is
// answered "always" allows itself alone, whatever minimatch would make of it.
func TestAlwaysMeansWhatWasShown(t *testing.T) {
	for _, value := range []string{"! grep -q x f", "#x", "a[bc]", "{ls,rm} x", "ls *", "cp a?b"} {
		for _, call := range []bool{false, true} {
			i := instance(t, "{}", func(o *Options) {
				o.Gate.Policy = gate.Fixed{Loaded: loaded(t, "permissions", `{"bash": "ask"}`, "on")}
			})
			ask := func(value string) Request {
				if !call {
					return Request{SessionID: "s", Permission: "bash", Patterns: []string{value}, Always: []string{value}}
				}
				input, _ := json.Marshal(map[string]string{"command": value})
				return Request{SessionID: "s", Call: &obstat.Call{Tool: "bash", Input: input}}
			}
			w, err := i.Put(t.Context(), ask(value))
			if err != nil || w == nil {
				t.Fatalf("%q: %v, %v", value, w, err)
			}
			if err := i.Reply(t.Context(), w.Request.ID, Always, ""); err != nil || w.Result(t.Context()) != nil {
				t.Fatal(err)
			}
			for _, other := range []string{"curl evil", "rm -rf x", "ab", "ls x", "rm x", "cp axb", ""} {
				if w, err := i.Put(t.Context(), ask(other)); w == nil && err == nil {
					t.Errorf("always %q (a call: %v) allows %q", value, call, other)
				}
			}
		}
	}
}

// TestCall: a whole call is judged by the floor as well, shown as what its tool
// asks, and bound to its bytes.
func TestCall(t *testing.T) {
	i := instance(t, "{}", func(o *Options) {
		o.Gate.Policy = gate.Fixed{Loaded: loaded(t, "permission", `{"bash": {"*": "ask", "git *": "allow", "rm *": "deny"}}`, "on")}
	})
	bash := func(cmd string) Request {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		return Request{SessionID: "s", Tool: &ToolRef{"msg_1", "call_1"}, Call: &obstat.Call{Tool: "bash", Input: input}}
	}
	if w, err := i.Put(t.Context(), bash("git status")); w != nil || err != nil {
		t.Errorf("allowed: %v, %v", w, err)
	}
	var denied *DeniedError
	if _, err := i.Put(t.Context(), bash("git status && env rm x")); !errors.As(err, &denied) || !strings.Contains(err.Error(), `"rm *"`) {
		t.Errorf("denied inside env: %v", err)
	}
	w, err := i.Put(t.Context(), bash("npm run build"))
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := json.Marshal(w.Request)
	want := `{"id":"` + w.Request.ID + `","sessionID":"s","permission":"bash","patterns":["npm run build"],"always":["npm run build *"],"metadata":{"command":"npm run build"},"tool":{"messageID":"msg_1","callID":"call_1"}}`
	if string(shown) != want {
		t.Errorf("%s, want %s", shown, want)
	}
	other, _ := i.Put(t.Context(), bash("npm run build -- -w"))
	if err := i.Reply(t.Context(), w.Request.ID, Always, ""); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Result(t.Context()), other.Result(t.Context())); err != nil {
		t.Error(err)
	}
}
