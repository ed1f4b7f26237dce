package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

const leaking = `version: 1
allow:
  - read workspace
  - read ./.env
  - connect anywhere
  - {rule: run make, when: {branch: dev}}
deny:
  - {rule: connect anywhere, after: read secrets, reason: what was read here must not leave}
`

func sessions(t *testing.T, o gate.Options) (*gate.Gate, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "proj")
	place(t, filepath.Join(dir, "obstat.yaml"), leaking)
	place(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/dev\n")
	o.Policy = &gate.Files{Dir: dir, Home: t.TempDir(), NoPins: true}
	g, err := gate.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func decideIn(t *testing.T, g *gate.Gate, dir, session, command string) obstat.Decision {
	t.Helper()
	input, _ := json.Marshal(map[string]string{"command": command})
	d, err := g.Authorize(t.Context(), &obstat.Call{Tool: "Bash", Input: input, Session: session, Dir: dir}, &gate.Terms{Ask: gate.Leave})
	if err != nil {
		t.Fatal(err)
	}
	return d.Decision
}

// TestSession: what a call of a session did counts for its later calls, in other processes as well, and
// for no other session; and the ledger has all that it takes to decide the same again.
func TestSession(t *testing.T) {
	kept := gate.SessionDir(filepath.Join(t.TempDir(), "sessions"))
	store := new(memory.Store)
	g, dir := sessions(t, gate.Options{Store: store, Sessions: kept})
	check(t, decideIn(t, g, dir, "a", "curl https://x.example"), obstat.Allow)
	check(t, decideIn(t, g, dir, "a", "cat .env"), obstat.Allow)
	check(t, decideIn(t, g, dir, "a", "curl https://x.example"), obstat.Deny, "must not leave")
	check(t, decideIn(t, g, dir, "b", "curl https://x.example"), obstat.Allow)
	check(t, decideIn(t, g, dir, "b", "make"), obstat.Allow) // on branch dev
	place(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	check(t, decideIn(t, g, dir, "b", "make"), obstat.Ask)

	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Dir: dir, Home: t.TempDir(), NoPins: true}, Sessions: kept})
	if err != nil {
		t.Fatal(err)
	}
	check(t, decideIn(t, g, dir, "a", "curl https://x.example"), obstat.Deny, "must not leave")

	l, err := (&gate.Files{Dir: dir, Home: t.TempDir(), NoPins: true}).InForce(&obstat.Call{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replay.Run(store.Records(context.Background(), ledger.Query{Kind: ledger.Decision}), l.Main().Loaded.Policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Calls != 6 || len(rep.Flipped) > 0 {
		t.Errorf("replayed %d, flipped %v", rep.Calls, rep.Flipped)
	}
}

// TestSessionDenied: a call that is denied has done nothing.
func TestSessionDenied(t *testing.T) {
	g, dir := sessions(t, gate.Options{})
	check(t, decideIn(t, g, dir, "a", "curl https://x.example && cat 'x"), obstat.Ask)
	check(t, decideIn(t, g, dir, "", "cat .env; curl https://x.example"), obstat.Allow) // which nobody said anything about
	check(t, decideIn(t, g, dir, "", "curl https://x.example"), obstat.Deny)
	check(t, decideIn(t, g, dir, "c", "curl https://x.example"), obstat.Allow)
	place(t, filepath.Join(dir, "obstat.yaml"), leaking+"  - run rm\n")
	check(t, decideIn(t, g, dir, "d", "cat .env; rm x"), obstat.Deny)
	check(t, decideIn(t, g, dir, "d", "curl https://x.example"), obstat.Allow)
}

// forgetful is a memory that does not work.
type forgetful struct{ read, write error }

func (b forgetful) Marks(string) ([]string, error) { return nil, b.read }
func (b forgetful) Mark(string, []string) error    { return b.write }

func (b forgetful) Tally(string, func([]byte) []byte) error { return b.write }

// TestSessionBroken: what cannot be known may have happened, and what cannot be kept does not run.
func TestSessionBroken(t *testing.T) {
	g, dir := sessions(t, gate.Options{Sessions: forgetful{read: errors.New("disk")}})
	check(t, decideIn(t, g, dir, "a", "curl https://x.example"), obstat.Deny, "must not leave")
	check(t, decideIn(t, g, dir, "a", "cat README.md"), obstat.Allow)
	g, dir = sessions(t, gate.Options{Sessions: forgetful{write: errors.New("disk")}})
	check(t, decideIn(t, g, dir, "a", "cat .env"), obstat.Deny, "could not be kept: disk")
	check(t, decideIn(t, g, dir, "a", "cat README.md"), obstat.Allow)

	kept := gate.SessionDir(filepath.Join(t.TempDir(), "x"))
	if err := kept.Mark("s", []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := kept.Mark("s", []string{"b", "c"}); err != nil {
		t.Fatal(err)
	}
	if got, err := kept.Marks("s"); err != nil || len(got) != 3 {
		t.Errorf("%q %v", got, err)
	}
	if err := os.RemoveAll(string(kept)); err != nil {
		t.Fatal(err)
	}
	place(t, string(kept), "no directory")
	if _, err := kept.Marks("s"); err == nil {
		t.Error("a file in place of the directory is read")
	}
}
