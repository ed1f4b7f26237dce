package adkfluent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/gate"
	host "github.com/obstat/obstat/host/adkfluent"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// plugin opens a plugin whose bare policy, the document's own, knows nothing of
// this machine.
func plugin(t *testing.T, p *adkfluent.Policy, opts *host.Options) *host.Plugin {
	t.Helper()
	if opts == nil {
		opts = &host.Options{}
	}
	opts.Gate.World, opts.Gate.NoStart = &obstat.Snapshot{HomeDir: "/home/u"}, true
	out, err := host.Open(t.Context(), p, opts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A hundred calls at once, the same but for blanks and the order of their keys,
// are one question; two different ones are two.
func TestHandlerRunsOncePerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		gate := plugin(t, adkfluent.AskBefore("bash"), &host.Options{Memory: &host.Memory{},
			Handler: func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) {
				asked.Add(1)
				time.Sleep(time.Minute) // in the bubble: until everybody waits
				return true, nil
			}})
		var wg sync.WaitGroup
		var refused atomic.Int32
		for i := range 100 {
			wg.Go(func() {
				if gate.Before(t.Context(), "bash", map[string]any{"cmd": fmt.Sprint("ls ", i%2), "n": 1.0}) != nil {
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 2 || refused.Load() != 0 {
			t.Errorf("asked %d times, want 2; refused %d, want 0", asked.Load(), refused.Load())
		}
	})
}

// Whoever asked first and gives up does not take the question from the others.
func TestFirstCallerMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := plugin(t, adkfluent.AskBefore("bash"), &host.Options{Memory: &host.Memory{},
			Handler: func(ctx context.Context, _ string, _ map[string]any, _ adkfluent.Decision) (bool, error) {
				select {
				case <-time.After(time.Hour):
					return true, nil
				case <-ctx.Done():
					return false, ctx.Err()
				}
			}})
		first, cancel := context.WithCancel(t.Context())
		results := make(chan host.Result, 2)
		go func() { results <- gate.Before(first, "bash", nil) }()
		synctest.Wait()
		go func() { results <- gate.Before(t.Context(), "bash", nil) }()
		synctest.Wait()
		cancel()
		if r := <-results; r == nil {
			t.Error("the caller who left was let through")
		}
		if r := <-results; r != nil {
			t.Errorf("the caller who waited was refused: %v", r)
		}
	})
}

// When everybody has left, the question ends, and what it still brings counts
// for nobody.
func TestAbandonedQuestionIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := &host.Memory{}
		late := make(chan struct{})
		gate := plugin(t, adkfluent.AskBefore("bash"), &host.Options{Memory: mem,
			Handler: func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) {
				<-late // deaf to its context
				return true, nil
			}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if gate.Before(ctx, "bash", nil) == nil {
			t.Error("let through without an answer")
		}
		close(late)
		synctest.Wait()
		if granted, known := mem.Recall("bash", nil); known {
			t.Errorf("remembered %v", granted)
		}
	})
}

// A handler that errs, panics or does not answer denies, and is asked again.
func TestBrokenHandlers(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		handler    host.Handler
	}{
		{"errs", "Permission handler raised: boom", func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) {
			return true, errors.New("boom")
		}},
		{"panics", "Permission handler raised: panic: boom", func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) {
			panic("boom")
		}},
		{"panics with nil", "Permission handler raised: panic: ", func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) {
			panic(any(nil))
		}},
		{"is slow", "Tool 'bash' was denied: the permission handler gave no answer in time: 30s.", func(ctx context.Context, _ string, _ map[string]any, _ adkfluent.Decision) (bool, error) {
			<-ctx.Done()
			return true, nil
		}},
		{"ignores its context", "Tool 'bash' was denied: the permission handler gave no answer in time: 30s.", func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) {
			time.Sleep(time.Hour)
			return true, nil
		}},
	} {
		for _, mem := range []*host.Memory{nil, {}} {
			synctest.Test(t, func(t *testing.T) {
				gate := plugin(t, adkfluent.AskBefore("bash"), &host.Options{Memory: mem, Handler: tc.handler, Timeout: 30 * time.Second})
				for range 2 {
					r := gate.Before(t.Context(), "bash", map[string]any{"cmd": "ls"})
					if text, _ := r["error"].(string); !strings.HasPrefix(text, tc.want) {
						t.Errorf("a handler that %s: %v, want %q", tc.name, r, tc.want)
					}
				}
				time.Sleep(2 * time.Hour) // in the bubble: until the deaf one is back
				if mem == nil {
					return
				}
				if _, known := mem.Recall("bash", map[string]any{"cmd": "ls"}); known {
					t.Errorf("a handler that %s was remembered", tc.name)
				}
			})
		}
	}
}

// The handler gets a copy: it can change neither the call nor the record.
func TestHandlerCannotChangeTheCall(t *testing.T) {
	mem := &host.Memory{}
	gate := plugin(t, adkfluent.AskBefore("bash"), &host.Options{Memory: mem,
		Handler: func(_ context.Context, _ string, args map[string]any, _ adkfluent.Decision) (bool, error) {
			args["cmd"] = "rm -rf /"
			return true, nil
		}})
	args := map[string]any{"cmd": "ls"}
	if r := gate.Before(t.Context(), "bash", args); r != nil || args["cmd"] != "ls" {
		t.Errorf("result %v, arguments %v", r, args)
	}
	if _, known := mem.Recall("bash", map[string]any{"cmd": "rm -rf /"}); known {
		t.Error("the changed call was remembered")
	}
	if granted, _ := mem.Recall("bash", map[string]any{"cmd": "ls"}); !granted {
		t.Error("the approved call was not remembered")
	}
}

// What JSON cannot hold is refused before anything else.
func TestArgumentsThatAreNoJSON(t *testing.T) {
	gate := plugin(t, adkfluent.Bypass(), nil)
	for _, args := range []map[string]any{{"f": math.NaN()}, {"c": make(chan int)}} {
		if r := gate.Before(t.Context(), "bash", args); r == nil {
			t.Errorf("%v was let through", args)
		}
		if d := adkfluent.Bypass().Check("bash", args); !d.IsDeny() {
			t.Errorf("%v: %s", args, d.Behavior())
		}
		mem := &host.Memory{}
		if err := mem.RememberSpecific("bash", args, true); err == nil {
			t.Errorf("%v was remembered", args)
		}
	}
}

func TestMemoryReadsTheOriginalsKeys(t *testing.T) {
	args := map[string]any{"b": 1, "a": "\u00fc", "f": 1.5}
	key, err := host.LegacyKey("bash", []byte(`{"f": 1.5, "b": 1, "a": "ü"}`))
	if err != nil {
		t.Fatal(err)
	}
	mem := &host.Memory{}
	if err := mem.ImportLegacy(map[string]bool{key: true}); err != nil {
		t.Fatal(err)
	}
	if granted, known := mem.Recall("bash", args); !granted || !known {
		t.Errorf("recall = %v, %v", granted, known)
	}
	if _, known := mem.Recall("shell", args); known {
		t.Error("recalled for another tool")
	}
	mem.RememberTool("bash", false)
	if granted, _ := mem.Recall("bash", args); granted {
		t.Error("an old approval outlives a new refusal")
	}
	for _, bad := range []string{"", "xyz", strings.Repeat("G", 16), strings.Repeat("a", 17)} {
		if mem.ImportLegacy(map[string]bool{bad: true}) == nil {
			t.Errorf("took over the key %q", bad)
		}
	}
}

// A human who answers the request elsewhere is as good as the handler, and first.
func TestAnsweredElsewhere(t *testing.T) {
	for _, allow := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := new(memory.Store)
			p := plugin(t, adkfluent.AskBefore("deploy"), &host.Options{Gate: gate.Options{Store: store}, Memory: &host.Memory{},
				Handler: func(ctx context.Context, _ string, _ map[string]any, _ adkfluent.Decision) (bool, error) {
					<-ctx.Done()
					return !allow, nil
				}})
			results := make(chan host.Result, 1)
			go func() { results <- p.Before(t.Context(), "deploy", nil) }()
			synctest.Wait()
			broker := approval.New(store, nil) // another process's
			pending, err := broker.Pending(t.Context())
			if err != nil || len(pending) != 1 {
				t.Fatal(pending, err)
			}
			if _, err := broker.Answer(t.Context(), pending[0].ID, approval.Answer{By: "ann", Allow: allow}); err != nil {
				t.Fatal(err)
			}
			if r := <-results; (r == nil) != allow {
				t.Errorf("ann said %v: %v", allow, r)
			}
		})
	}
}

// Every question, and every answer of a human or of the memory, is in the ledger.
func TestLedger(t *testing.T) {
	store := new(memory.Store)
	p := plugin(t, adkfluent.AskBefore("deploy"), &host.Options{Gate: gate.Options{Store: store}, Memory: &host.Memory{},
		Handler: func(context.Context, string, map[string]any, adkfluent.Decision) (bool, error) { return true, nil }})
	for range 2 {
		if r := p.Before(t.Context(), "deploy", nil); r != nil {
			t.Fatal(r)
		}
	}
	var got []string
	for r, err := range store.Records(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(r.Kind)+" "+r.Reason)
	}
	for i, want := range []string{"ask ", "answer approved by the permission handler", "decision ", "ask ", "answer approved by the approval memory", "decision "} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("record %d of %q is not %q", i, got, want)
		}
	}
}
