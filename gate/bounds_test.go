package gate_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// TestBoundsOfServers: a server that `obstat mcp` starts runs inside the limits of its own lines, besides those of all; one
// without lines, and a call that is denied, have none.
func TestBoundsOfServers(t *testing.T) {
	y := newYard(t)
	place(t, filepath.Join(y.home, "notes", "a"), "")
	place(t, filepath.Join(y.dir, "obstat.yaml"), "version: 1\nconfine: {run: code, servers: {notes: {read: [~/notes], env: [TOKEN]}}}\nallow: [read workspace]\ndeny: [run curl]\n")
	g := y.gate(t, "claude-code", &gate.Confining{})
	c := y.bash("Bash", "command", "make")
	if s, ok := g.Server(t.Context(), c, "notes"); !ok || !slices.Equal(s.Env, []string{"TOKEN"}) || len(s.Read) != 1 {
		t.Errorf("%+v, %t", s, ok)
	}
	if s, ok := g.Server(t.Context(), c, "other"); ok {
		t.Errorf("of another: %+v", s)
	}
	notes := filepath.Join(y.home, "notes")
	sees := func(b *confined.Bounds) bool {
		return slices.ContainsFunc(b.Profile.Read, func(p string) bool { return p == notes })
	}
	_, b, err := g.ServerBounds(t.Context(), c, "notes")
	if err != nil || b == nil || !sees(b) {
		t.Fatalf("%+v, %v", b, err)
	}
	if _, b, err = g.Bounds(t.Context(), c); err != nil || b == nil || sees(b) {
		t.Errorf("of a command: %+v, %v", b, err)
	}
	if d, b, err := g.ServerBounds(t.Context(), c, "other"); err == nil || b != nil || !strings.Contains(err.Error(), "no lines for the server other") || d.Verdict != obstat.Ask {
		t.Errorf("of a server without lines: %s, %+v, %v", d.Verdict, b, err)
	}
	if d, b, err := g.Bounds(t.Context(), y.bash("Bash", "command", "curl x")); err != nil || b != nil || d.Verdict != obstat.Deny {
		t.Errorf("of what is denied: %s, %+v, %v", d.Verdict, b, err)
	}
}

// TestNotConfined: where a call cannot run confined, it asks and says why; where the policy confines every command, so does
// one that is allowed, and a face that judges alone leaves what is allowed and seen.
func TestNotConfined(t *testing.T) {
	y := newYard(t)
	change := func(why error) *gate.Confining {
		return &gate.Confining{Change: func(*confined.Bounds, *confined.Ticket) (json.RawMessage, error) {
			return json.RawMessage(`{"command":"changed"}`), why
		}}
	}
	for name, tt := range map[string]struct {
		policy, command string
		confining       *gate.Confining
		want            obstat.Verdict
		says, not       string
		input           string
	}{
		"code, changed":           {"code", "make", change(nil), obstat.Allow, "", "cannot run confined", `{"command":"changed"}`},
		"code, not changed":       {"code", "make", change(errors.New("no ticket")), obstat.Ask, "it cannot run confined: no ticket", "", ""},
		"always, changed":         {"always", "ls", change(nil), obstat.Allow, "", "cannot run confined", `{"command":"changed"}`},
		"always, not changed":     {"always", "ls", change(errors.New("no ticket")), obstat.Ask, "the policy confines every command, and it cannot run confined: no ticket", "", ""},
		"only judged":             {"code", "make", nil, obstat.Ask, "", "cannot run confined", ""},
		"always, only judged":     {"always", "ls", nil, obstat.Allow, "", "cannot run confined", ""},
		"a program, only judged":  {"code", "./ls -l", nil, obstat.Ask, "", "", ""},
		"packages, only judged":   {"code", "pip download x", nil, obstat.Ask, "it fetches packages, and it cannot run confined: here commands are only judged", "", ""},
		"packages, not changed":   {"code", "pip download x", change(errors.New("no ticket")), obstat.Ask, "it fetches packages, and it cannot run confined: no ticket", "", ""},
		"nothing for the machine": {"off", "ls", change(errors.New("no ticket")), obstat.Allow, "", "no ticket", ""},
	} {
		place(t, filepath.Join(y.dir, "obstat.yaml"), "version: 1\nconfine: "+tt.policy+"\nallow: [read workspace, write workspace, connect registries, run pip download]\n")
		files := &gate.Files{Home: y.home, Agent: "claude-code", NoPins: true}
		if tt.confining != nil {
			tt.confining.Machine = full
			tt.confining.Environ = []string{"PATH=/bin", "HOME=" + y.home}
		}
		g, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: new(memory.Store), NoStart: true, Confine: tt.confining})
		if err != nil {
			t.Fatal(err)
		}
		d, err := g.Authorize(t.Context(), y.bash("Bash", "command", tt.command), &gate.Terms{Ask: gate.Leave})
		if err != nil || d.Verdict != tt.want || !strings.Contains(d.Reason(), tt.says) || tt.not != "" && strings.Contains(d.Reason(), tt.not) || string(d.Input) != tt.input {
			t.Errorf("%s: %s with %s: %s, %v", name, d.Verdict, d.Input, d.Reason(), err)
		}
		if tt.input != "" && (d.Confined == nil || d.Confined.Level != string(confine.LevelFull) || d.Confined.Profile == "" || len(d.Confined.Says) == 0 || strings.Contains(d.Confined.Says[0], "\n")) {
			t.Errorf("%s: %+v", name, d.Confined)
		}
	}
}

// TestManyAlso: an offer names the newest five calls that it would let through as well, each once, and of its own tool.
func TestManyAlso(t *testing.T) {
	b := open(t, policy, nil)
	b.terms.Ask = gate.Leave
	for _, command := range []string{"npm run build --ona", "npm run build --onb", "npm run build --ong", "npm run build --onb", "npm run build --ond", "npm run build --one", "npm run build --onf", "npm run test"} {
		check(t, b.decide(bash(command)), obstat.Ask)
	}
	_, r, err := b.Put(t.Context(), bash("npm run build"))
	if err != nil || r == nil || len(r.Offers) == 0 {
		t.Fatal(r, err)
	}
	want := []string{"npm run build --onf", "npm run build --one", "npm run build --ond", "npm run build --onb", "npm run build --ong"}
	if got := r.Offers[0].Also; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for r := range b.store.Records(t.Context(), ledger.Query{Kind: ledger.Decision}) {
		if time.Since(r.Time) > time.Hour {
			t.Errorf("a record of %s", r.Time)
		}
	}
	l := load(t, b.file)
	if out := gate.Also(t.Context(), b.store, l, bash("npm run build"), nil); len(out) != 0 {
		t.Errorf("with no rule: %q", out)
	}
}
