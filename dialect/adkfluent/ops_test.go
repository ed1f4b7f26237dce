package adkfluent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/internal/jsonl/jsonltest"
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

	"adk-memory-key-0011": "NaN and Infinity are no JSON; the arguments are refused instead of hashed",
	"adk-memory-key-0018": "JSON has no integer keys: there is nothing to mistake for a text key",
	"adk-memory-key-0019": "JSON has no objects with a str(): there is nothing to mistake for a text",
	"adk-memory-key-0020": "JSON has no keys of mixed types, so nothing raises",

	"adk-updated-input-0002": "the document's sanitiser drops every other argument; ours keeps limit",
	"adk-updated-input-0005": "the document's sanitiser lets /./etc/passwd through; ours cleans the path before it looks",
}

const (
	refusalStands  = "a refusal of the very call stands, also where the tool as a whole was approved"
	asksOnce       = "with a memory a call is asked about once; the original's callback recalls but never remembers"
	handlerCounts  = "an asynchronous handler is run and obeyed; the original's callback takes the coroutine for a yes"
	pluginsWording = "one text for plugin and callback"
)

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

func TestMemoryKeyVectors(t *testing.T) {
	for _, v := range vectors(t, "memory-key", 13) {
		c := decode[struct {
			Tool string  `json:"tool_name"`
			Args *string `json:"args_json"`
		}](t, v.Call)
		if c.Args == nil {
			if departures[v.ID] == "" {
				t.Errorf("%s has no JSON and is not listed as a departure", v.ID)
			}
			continue
		}
		key, err := adkfluent.LegacyKey(c.Tool, []byte(*c.Args))
		want := decode[struct{ Key string }](t, v.Expect).Key
		if departures[v.ID] != "" {
			if err == nil {
				t.Errorf("%s: listed as a departure, but has the key %s", v.ID, key)
			}
			continue
		}
		if err != nil || key != want {
			t.Errorf("%s: key %s, %v, want %s", v.ID, key, err, want)
		}
	}
}

// A step of a memory vector: its name and the rest.
type step []json.RawMessage

// do runs one step on m and, for a recall, returns what the original would.
func (s step) do(t *testing.T, m *adkfluent.Memory) any {
	t.Helper()
	arg := func(i int, v any) {
		if i < len(s) {
			if err := json.Unmarshal(s[i], v); err != nil {
				t.Fatal(err)
			}
		}
	}
	var op, tool string
	var args map[string]any
	var granted bool
	arg(0, &op)
	arg(1, &tool)
	switch op {
	case "clear":
		m.Clear()
	case "tool":
		arg(2, &granted)
		m.RememberTool(tool, granted)
	case "specific":
		arg(2, &args)
		arg(3, &granted)
		if err := m.RememberSpecific(tool, args, granted); err != nil {
			t.Fatal(err)
		}
	case "recall":
		arg(2, &args)
		if granted, known := m.Recall(tool, args); known {
			return granted
		}
	default:
		t.Fatalf("no step %s", op)
	}
	return nil
}

func TestMemoryVectors(t *testing.T) {
	departed := 0
	for _, v := range vectors(t, "memory", 30) {
		m := &adkfluent.Memory{}
		want := decode[[]any](t, v.Expect)
		for i, s := range decode[struct{ Steps []step }](t, v.Call).Steps {
			got := s.do(t, m)
			if got == want[i] {
				continue
			}
			if got == false && want[i] == true {
				departed++ // refusalStands
				continue
			}
			t.Errorf("%s: step %d is %v, want %v", v.ID, i, got, want[i])
		}
	}
	if departed != 1 {
		t.Errorf("%d answers depart, want 1: %s", departed, refusalStands)
	}
}

// A gateVector is a sequence of calls through the original's plugin or callback.
type gateVector struct {
	Policy  json.RawMessage
	Handler *string
	Async   bool `json:"async_handler"`
	Memory  *[]step
}

type handlerCall struct {
	Tool   string         `json:"tool"`
	Args   map[string]any `json:"args"`
	Prompt string         `json:"prompt,omitempty"`
}

type gateResult struct {
	Result map[string]any `json:"result"`
	After  map[string]any `json:"args_after"`
}

type gateExpect struct {
	Results []gateResult  `json:"results"`
	Calls   []handlerCall `json:"handler_calls"`
}

// gate builds the Gate that the vector describes; calls records its handler.
func (g *gateVector) gate(t *testing.T, calls *[]handlerCall) *adkfluent.Gate {
	t.Helper()
	out := &adkfluent.Gate{Policy: parse(t, g.Policy)}
	if g.Memory != nil {
		out.Memory = &adkfluent.Memory{}
		for _, s := range *g.Memory {
			s.do(t, out.Memory)
		}
	}
	if g.Handler == nil {
		return out
	}
	out.Handler = func(_ context.Context, tool string, args map[string]any, d adkfluent.Decision) (bool, error) {
		*calls = append(*calls, handlerCall{tool, maps.Clone(args), d.Prompt()})
		switch *g.Handler {
		case "raise":
			return true, errors.New("boom")
		case "yes", "one", "text":
			return true, nil
		}
		return false, nil
	}
	return out
}

func (g *gateVector) run(t *testing.T, calls [][2]json.RawMessage) gateExpect {
	t.Helper()
	got := gateExpect{Results: []gateResult{}, Calls: []handlerCall{}}
	gate := g.gate(t, &got.Calls)
	for _, c := range calls {
		args := decode[map[string]any](t, c[1])
		r := gate.Before(t.Context(), decode[string](t, c[0]), args)
		got.Results = append(got.Results, gateResult{r, args})
	}
	return got
}

func TestPluginVectors(t *testing.T) {
	gateVectors(t, "plugin", 39, map[string]int{refusalStands: 1})
}

func TestCallbackVectors(t *testing.T) {
	gateVectors(t, "callback", 43, map[string]int{refusalStands: 1, handlerCounts: 3, pluginsWording: 3, asksOnce: 4})
}

// gateVectors runs the vectors of a kind; as many as departing says may differ,
// each for its reason.
func gateVectors(t *testing.T, kind string, n int, departing map[string]int) {
	reasons := map[string]int{}
	for _, v := range vectors(t, kind, n) {
		g := decode[gateVector](t, v.Config)
		c := decode[struct{ Calls [][2]json.RawMessage }](t, v.Call)
		want := decode[gateExpect](t, v.Expect)
		got := g.run(t, c.Calls)
		if kind == "callback" {
			for i := range got.Calls {
				got.Calls[i].Prompt = "" // the original's callback does not hand it on
			}
		}
		diff := cmp.Diff(want, got)
		if diff == "" {
			continue
		}
		if why := g.departs(kind, &want, &got); why != "" {
			reasons[why]++
			continue
		}
		t.Errorf("%s (-want +got):\n%s", v.ID, diff)
	}
	if diff := cmp.Diff(departing, reasons); diff != "" {
		t.Errorf("departures (-want +got):\n%s", diff)
	}
}

// departs tells why got may differ from want, "" if it may not.
func (g *gateVector) departs(kind string, want, got *gateExpect) string {
	wantText, gotText := fmt.Sprint(want.Results), fmt.Sprint(got.Results)
	switch {
	case kind == "callback" && g.Async:
		return handlerCounts
	case g.Memory != nil && len(*g.Memory) == 2:
		return refusalStands // a tool approved, one of its calls refused
	case kind == "callback" && strings.ReplaceAll(gotText, "no permission handler", "no handler") == wantText && cmp.Equal(want.Calls, got.Calls):
		return pluginsWording
	case kind == "callback" && g.Memory != nil && strings.ReplaceAll(gotText, "previously denied", "denied by the user") == wantText:
		return asksOnce
	}
	return ""
}

func TestUpdatedInputVectors(t *testing.T) {
	gate := adkfluent.Gate{Policy: adkfluent.AutoAllow("read_file").Refine(clampPaths)}
	for _, v := range vectors(t, "updated-input", 3) {
		c := decode[struct {
			Tool  string          `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		}](t, v.Call)
		args := decode[map[string]any](t, c.Input)
		got := gateResult{gate.Before(t.Context(), c.Tool, args), args}
		equal := cmp.Equal(decode[gateResult](t, v.Expect), got)
		if departs := departures[v.ID] != ""; equal == departs {
			t.Errorf("%s: got %v, want %s (departs: %v)", v.ID, got, v.Expect, departs)
		}
	}
}

func TestLegacyTextIsPythons(t *testing.T) {
	for _, v := range vectors(t, "memory-key", 13) {
		if !bytes.Contains(v.Expect, []byte("canonical")) || departures[v.ID] != "" {
			continue
		}
		c := decode[struct {
			Tool string `json:"tool_name"`
			Args string `json:"args_json"`
		}](t, v.Call)
		got, err := adkfluent.PythonText(c.Tool, []byte(c.Args))
		if want := decode[struct{ Canonical string }](t, v.Expect).Canonical; err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", v.ID, got, err, want)
		}
	}
}
