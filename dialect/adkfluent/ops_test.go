package adkfluent_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
)

// A vector is one operation of the original, recorded.
type vector struct {
	ID, Kind string
	Config   json.RawMessage
	Call     json.RawMessage
	Expect   json.RawMessage
}

// departures are the vectors that this package answers otherwise, and why. The
// tests hold these to be different: a departure that is none is an error too.
var departures = map[string]string{
	"adk-merge-0144": "a glob merged with a regex stays a glob; the original reads *secret* as a regex from then on, and every check raises",
}

// vectors returns the recorded operations of one kind.
func vectors(t *testing.T, kind string, want int) []vector {
	t.Helper()
	var out []vector
	for _, v := range jsonltest.All[vector](t, "testdata/ops.jsonl.gz") {
		if v.Kind == kind {
			out = append(out, v)
		}
	}
	if len(out) != want {
		t.Fatalf("%d vectors of kind %s, want %d", len(out), kind, want)
	}
	return out
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func parse(t *testing.T, raw json.RawMessage) *adkfluent.Policy {
	t.Helper()
	p, err := adkfluent.Parse("policy.json", raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// same compares a policy with the original's fields.
func same(t *testing.T, id string, p *adkfluent.Policy, want json.RawMessage) {
	t.Helper()
	got, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	if diff := cmp.Diff(decode[map[string]any](t, want), decode[map[string]any](t, got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", id, diff)
	}
}

func TestMergeVectors(t *testing.T) {
	for _, v := range vectors(t, "merge", 82) {
		c := decode[struct{ Self, Other json.RawMessage }](t, v.Config)
		p := parse(t, c.Self).Merge(parse(t, c.Other))
		if departures[v.ID] != "" {
			want := bytes.Replace(v.Expect, []byte(`"*secret*"`), []byte(`{"glob":"*secret*"}`), 1)
			if bytes.Equal(want, v.Expect) {
				t.Errorf("%s is no departure", v.ID)
			}
			v.Expect = want
		}
		same(t, v.ID, p, v.Expect)
	}
}

func TestWithModeVectors(t *testing.T) {
	for _, v := range vectors(t, "with_mode", 17) {
		c := decode[struct{ Mode obstat.Mode }](t, v.Call)
		p := parse(t, v.Config).WithMode(c.Mode)
		if e := decode[map[string]any](t, v.Expect); e["error"] != nil {
			if p.Err() == nil {
				t.Errorf("%s: no error for mode %q", v.ID, c.Mode)
			}
			continue
		}
		same(t, v.ID, p, v.Expect)
	}
}

func TestFactoryVectors(t *testing.T) {
	for _, v := range vectors(t, "H", 8) {
		c := decode[struct {
			Factory string
			Args    []string
			Kwargs  struct {
				Ask  []string
				Mode adkfluent.PatternMode
			}
		}](t, v.Call)
		var p *adkfluent.Policy
		switch c.Factory {
		case "permissions_plan":
			p = adkfluent.Plan(c.Args...)
		case "permissions_accept_edits":
			p = adkfluent.AcceptEdits(c.Kwargs.Ask...)
		case "ask_before":
			p = adkfluent.AskBefore(c.Args...)
		case "auto_allow":
			p = adkfluent.AutoAllow(c.Args...)
		case "deny":
			p = adkfluent.Deny(c.Args...)
		case "allow_patterns":
			p = adkfluent.AllowPatterns(c.Kwargs.Mode, c.Args...)
		case "deny_patterns":
			p = adkfluent.DenyPatterns(c.Kwargs.Mode, c.Args...)
		default:
			t.Fatalf("%s: no factory %s", v.ID, c.Factory)
		}
		same(t, v.ID, p, v.Expect)
	}
}
