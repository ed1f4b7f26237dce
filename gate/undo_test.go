package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
)

// An undoer says what it is told to say, and counts.
type undoer struct {
	reversible, all bool
	err             error
	kept            int
	limits          native.Undo
}

func (u *undoer) Reversible(*effect.Analysis) bool { return u.reversible }

func (u *undoer) Keep(_ *obstat.Call, _ *obstat.Decision, _ *effect.Analysis, limits native.Undo) (bool, error) {
	u.kept++
	u.limits = limits
	return u.all, u.err
}

// TestUndo: an allow rule for calls that can be taken back counts before the rule that asks, only where the
// call can be, and only once its files are kept; else the call asks.
func TestUndo(t *testing.T) {
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(`
version: 1
allow:
  - write workspace
  - rule: delete workspace except .git/**
    when: {reversible: true}
ask:
  - delete anything
deny:
  - delete keys/**
`)}}})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	for _, c := range []struct {
		command string
		u       *undoer
		want    obstat.Verdict
		says    string
		kept    int
	}{
		{"rm a", &undoer{reversible: true, all: true}, obstat.Allow, "delete workspace", 1},
		{"rm a", &undoer{}, obstat.Ask, "delete anything", 1},
		{"rm a", &undoer{reversible: true}, obstat.Ask, "could not be kept", 1},
		{"rm a", &undoer{reversible: true, all: true, err: full}, obstat.Ask, "no space left", 1},
		{"rm a", nil, obstat.Ask, "delete anything", 0},
		{"rm keys/a", &undoer{reversible: true, all: true}, obstat.Deny, "delete keys", 0},
		{"rm .git/index", &undoer{reversible: true, all: true}, obstat.Ask, "", 1},
		{"rm /etc/x", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"echo x > a", &undoer{}, obstat.Allow, "write workspace", 1},
		{"echo x > a", &undoer{err: full}, obstat.Ask, "no space left", 1},
		{"git push", &undoer{}, obstat.Ask, "", 1},
		// Sets of paths: all of them are in the workspace, and none is left out.
		{"rm -rf d", &undoer{reversible: true, all: true}, obstat.Allow, "delete workspace", 1},
		{"rm -rf d/*", &undoer{reversible: true, all: true}, obstat.Allow, "delete workspace", 1},
		{"rm *.o", &undoer{reversible: true, all: true}, obstat.Allow, "delete workspace", 1},
		{"rm -rf d", &undoer{}, obstat.Ask, "delete anything", 1},
		{"rm -rf .git", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf .g*", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf d .git", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf d/$X", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf a$X", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf $X", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf d/../../q", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf ../*", &undoer{reversible: true, all: true}, obstat.Ask, "delete anything", 1},
		{"rm -rf k*", &undoer{reversible: true, all: true}, obstat.Ask, "delete keys", 1},
		{"rm -rf keys", &undoer{reversible: true, all: true}, obstat.Deny, "delete keys", 0},
	} {
		opts := gate.Options{Policy: gate.Fixed{Loaded: l}, Store: new(memory.Store), NoStart: true,
			World: &obstat.Snapshot{Dirs: []string{"/", "/p", "/p/d", "/p/keys", "/p/.git"}}}
		if c.u != nil {
			opts.Undo = c.u
		}
		g, err := gate.Open(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		input, _ := json.Marshal(map[string]string{"command": c.command})
		res, err := g.Authorize(context.Background(), &obstat.Call{Tool: "Bash", Input: input, Dir: "/p"},
			&gate.Terms{Ask: gate.Leave})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != c.want || !strings.Contains(res.Reason(), c.says) {
			t.Errorf("%s %+v: %s %s", c.command, c.u, res.Verdict, res.Reason())
		}
		if c.u != nil && c.u.kept != c.kept {
			t.Errorf("%s %+v: kept %d times, want %d", c.command, c.u, c.u.kept, c.kept)
		}
	}
}

// TestUndoLimits: the words of the policy come to where files are kept; with `undo: off` nothing is, and nothing is
// reversible.
func TestUndoLimits(t *testing.T) {
	for text, want := range map[string]native.Undo{
		"allow: [delete workspace]":                                                                      {},
		"allow: ['delete workspace, keep 30d']":                                                          {Keep: 30 * 24 * time.Hour},
		"undo: {keep: 1d, file: 1M}\nallow: [delete workspace]":                                          {Keep: 24 * time.Hour, File: 1 << 20},
		"undo: {keep: 1d, file: 1M}\nallow: ['delete workspace, keep 2d']":                               {Keep: 48 * time.Hour, File: 1 << 20},
		"undo: off\nallow: [delete workspace]":                                                           {Off: true},
		"undo: off\nask: [delete anything]\nallow: [{rule: delete workspace, when: {reversible: true}}]": {Files: 1},
	} {
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte("version: 1\n" + text)}}})
		if err != nil {
			t.Fatal(err)
		}
		u := &undoer{reversible: true, all: true}
		g, err := gate.Open(context.Background(), gate.Options{Policy: gate.Fixed{Loaded: l}, Store: new(memory.Store), NoStart: true,
			Undo: u, World: &obstat.Snapshot{Dirs: []string{"/", "/p"}}})
		if err != nil {
			t.Fatal(err)
		}
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"rm a"}`), Dir: "/p"}
		res, err := g.Authorize(context.Background(), call, &gate.Terms{Ask: gate.Leave})
		switch {
		case err != nil:
			t.Fatal(err)
		case want.Files == 1: // asks
			if res.Verdict != obstat.Ask || u.kept != 0 {
				t.Errorf("%s: %s, kept %d times", text, res.Verdict, u.kept)
			}
		case res.Verdict != obstat.Allow || want.Off != (u.kept == 0) || !want.Off && u.limits != want:
			t.Errorf("%s: %s, kept %d times in %+v", text, res.Verdict, u.kept, u.limits)
		}
	}
}
