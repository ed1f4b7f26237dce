package adkfluent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/dialect/adkfluent"
	host "github.com/obstat/obstat/host/adkfluent"
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
	for _, v := range jsonltest.All[vector](t, "../../dialect/adkfluent/testdata/ops.jsonl.gz") {
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
		key, err := host.LegacyKey(c.Tool, []byte(*c.Args))
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
func (s step) do(t *testing.T, m *host.Memory) any {
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
		m := &host.Memory{}
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

// gate builds the plugin that the vector describes; calls records its handler.
func (g *gateVector) gate(t *testing.T, calls *[]handlerCall) *host.Plugin {
	t.Helper()
	var out host.Options
	if g.Memory != nil {
		out.Memory = &host.Memory{}
		for _, s := range *g.Memory {
			s.do(t, out.Memory)
		}
	}
	if g.Handler == nil {
		return plugin(t, parse(t, g.Policy), &out)
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
	return plugin(t, parse(t, g.Policy), &out)
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
	gate := plugin(t, adkfluent.AutoAllow("read_file").Refine(clampPaths), nil)
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
