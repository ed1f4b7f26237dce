package demo

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// TestSteps: the policy answers each step the way the demo says it does.
func TestSteps(t *testing.T) {
	ctx := t.Context()
	asked := make(chan *approval.Request, 1)
	r, err := Start(ctx, t.TempDir(), func(q *approval.Request) { asked <- q })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := "allow allow ask:allow allow deny deny deny deny ask:allow allow deny ask:deny"
	var got []string
	steps, err := Steps()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		got = append(got, try(ctx, t, r, &s, asked))
	}
	if g := strings.Join(got, " "); g != want {
		t.Errorf("%s\nwant %s", g, want)
	}
	policy, _ := os.ReadFile(r.Dir + "/obstat.yaml")
	code, _ := os.ReadFile(r.Dir + "/src/cart.js")
	if !strings.Contains(string(policy), "  - run npm run build\n") || !strings.Contains(string(policy), "# they stay") || !strings.Contains(string(code), "item.quantity") {
		t.Errorf("%s\n%s", policy, code)
	}
	if v, err := r.Store.Verify(ctx, ledger.Hash{}); err != nil || v.Records < 15 {
		t.Errorf("%+v %v", v, err)
	}
}

func try(ctx context.Context, t *testing.T, r *Run, s *Step, asked <-chan *approval.Request) string {
	t.Helper()
	c, err := r.Call(s)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan obstat.Decision, 1)
	go func() {
		d, err := r.Guard.Authorize(ctx, c, nil)
		if err != nil {
			t.Error(err)
		}
		end <- d.Decision
	}()
	prefix := ""
	select {
	case d := <-end:
		end <- d
	case q := <-asked:
		prefix = "ask:"
		a := approval.Answer{By: "you", Allow: !strings.HasPrefix(s.Answer, "n "), Words: strings.TrimPrefix(s.Answer, "n ")}
		if strings.HasPrefix(s.Answer, "a ") {
			a.Scope, a.Offer = approval.Always, 1
		}
		if _, err := r.Guard.Broker().Answer(ctx, q.ID, a); err != nil {
			t.Fatalf("%v: %v", s.Input, err)
		}
	}
	d := <-end
	if d.Verdict == obstat.Allow {
		if err := r.Do(s, c.Input); err != nil {
			t.Error(err)
		}
	}
	return prefix + d.Verdict.String()
}
