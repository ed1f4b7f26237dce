package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/ledger"
)

// A story writes down what a gate answers and records, step by step.
type story struct {
	*bench
	out   strings.Builder
	lines int // of the ledger, so far
}

// step writes a decision and the records that it left.
func (s *story) step(name string, d obstat.Decision, err error) {
	s.t.Helper()
	fmt.Fprintf(&s.out, "%s\n\t%s by %s of %q: %s\n", name, d.Verdict, d.By.Kind, d.By.Who, d.Reason())
	if err != nil {
		fmt.Fprintf(&s.out, "\terror %v\n", err)
	}
	if d.Input != nil {
		fmt.Fprintf(&s.out, "\tinput %s\n", d.Input)
	}
	n := 0
	for r, err := range s.store.Records(s.t.Context(), ledger.Query{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if n++; n <= s.lines {
			continue
		}
		text, err := json.Marshal(r)
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&s.out, "\t%s\n", text)
	}
	s.lines = n
}

// asks puts a call, waits a second, and does something about it.
func (s *story) asks(name string, c *obstat.Call, then func(id string)) {
	s.t.Helper()
	type end struct {
		d   obstat.Decision
		err error
	}
	done := make(chan end, 1)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	go func() {
		d, err := s.Authorize(ctx, c)
		done <- end{d, err}
	}()
	synctest.Wait()
	time.Sleep(time.Second)
	if then == nil {
		cancel()
	} else {
		then(s.pending().ID)
	}
	e := <-done
	s.step(name, e.d, e.err)
}

// says answers a request.
func (s *story) says(a approval.Answer) func(id string) {
	return func(id string) {
		s.t.Helper()
		a.By, a.Time = "bob", time.Now().UTC()
		if _, err := s.Broker().Answer(s.t.Context(), id, a); err != nil {
			s.t.Errorf("%+v: %v", a, err)
		}
	}
}

var unstable = regexp.MustCompile(`(req|grant|grp)_[A-Za-z0-9]+|sha256:[0-9a-f]+|"(hash|prev|call|policy|digest)":"[0-9a-f]{16,}"`)

// TestStory: how calls are answered, granted, refused, forgotten and recorded, from the first to the last.
func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{bench: open(t, policy, func(o *gate.Options) { o.Mode = "" })}
		s.step("allowed", s.decide(bash("git status")), nil)
		s.step("denied", s.decide(bash("rm x")), nil)
		s.asks("approved", bash("make"), s.says(approval.Answer{Allow: true}))
		s.asks("approved again, since once was once", bash("make"), s.says(approval.Answer{Allow: true, Words: "go on"}))
		s.asks("refused", bash("make all"), s.says(approval.Answer{Words: "not today"}))
		s.asks("with other arguments", bash("make deploy"), s.says(approval.Answer{Allow: true, Input: json.RawMessage(`{"command":"make dry-run"}`)}))
		s.asks("for the session", bash("make x"), s.says(approval.Answer{Allow: true, Scope: approval.Session, ForSeconds: 60}))
		s.step("by the grant", s.decide(bash("make x")), nil)
		other := bash("make x")
		other.Session = "s2"
		s.asks("in another session", other, s.says(approval.Answer{}))
		s.asks("an offer for the agent", bash("npm run build"), s.says(approval.Answer{Allow: true, Scope: approval.Agent, Offer: 1, ForSeconds: 60}))
		s.step("by its rule", s.decide(bash("npm run build")), nil)
		s.step("a denial stays", s.decide(bash("npm run build && rm x")), nil)
		time.Sleep(2 * time.Minute)
		s.asks("the grants are over", bash("make x"), s.says(approval.Answer{}))
		s.asks("for good", bash("npm run build"), s.says(approval.Answer{Allow: true, Scope: approval.Always, Offer: 1}))
		s.step("by the file", s.decide(bash("npm run build")), nil)
		s.asks("given up", bash("make y"), nil)
		s.asks("nobody answers", bash("make z"), func(string) { time.Sleep(time.Hour) })
		d, r, err := s.Put(t.Context(), bash("make later"))
		s.step("put", d, err)
		s.says(approval.Answer{Allow: true})(r.ID)
		d, err = s.Claim(t.Context(), r.ID, approval.Claiming{By: "agent"})
		s.step("claimed", d, err)
		d, err = s.Claim(t.Context(), r.ID, approval.Claiming{By: "agent"})
		s.step("claimed twice", d, err)
		for range 3 {
			s.step("the same call again", s.decide(bash("git status")), nil)
		}
		good, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s.file, "{ oops\n[")
		d, err = s.Authorize(t.Context(), bash("git status"))
		s.step("the file is broken", d, err)
		write(t, s.file, string(good))
		s.step("the file is mended", s.decide(bash("git status")), nil)
		got := unstable.ReplaceAllString(strings.ReplaceAll(s.out.String(), filepath.Dir(s.file), "project"), "$1$2*")
		const name = "testdata/story.golden"
		if *update {
			write(t, name, got)
			return
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("go test ./gate -run TestStory -update writes it; look at each line that changes\n%s", diff)
		}
	})
}
