package agentscope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	agentscopefile "github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/agentscope"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// A flow is a recorded confirmation flow of the original.
type flow struct {
	ID      string          `json:"id"`
	Context json.RawMessage `json:"context"`
	Script  [][]flowCall    `json:"script"`
	Log     []flowStep      `json:"log"`
	Final   json.RawMessage `json:"final_permission_context"`
}

type flowCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type flowStep struct {
	Input struct {
		Type    string         `json:"type"`
		Mode    obstat.Mode    `json:"mode"`
		Results []confirmation `json:"confirm_results"`
	} `json:"input"`
	Executed [][2]json.RawMessage `json:"executed"`
	States   map[string]string    `json:"states"`
}

type confirmation struct {
	flowCall
	Confirmed bool       `json:"confirmed"`
	Rules     []flowRule `json:"rules"`
}

type flowRule struct {
	Tool     string  `json:"tool_name"`
	Content  *string `json:"rule_content"`
	Behavior string  `json:"behavior"`
}

// departures are the flows in which ours does something else, and why.
var departures = map[string]string{
	"confirm-modified-input-not-rechecked":   "a confirmed call is bound to its input: a swapped one is refused",
	"confirm-modified-tool-not-rechecked":    "a confirmed call is bound to its tool: a swapped one is refused",
	"confirm-modified-input-schema-invalid":  "a confirmed call is bound to its input: a swapped one is refused",
	"mode-tightened-while-parked":            "a mode that was tightened meanwhile holds",
	"unknown-tool":                           "which tools exist is the host's business",
	"middleware-passthrough-becomes-ask":     "middleware is the host's business",
	"middleware-allow-updated-input-ignored": "middleware is the host's business",
	"middleware-still-runs-after-confirm":    "middleware is the host's business",
	"concurrent-safety-not-deduped":          "the custom tool's check is given here as a declaration",
	"concurrent-dedup-rule":                  "checked with Session.Waits below",
	"ask-rule-beats-accepted-rule":           "a rule under which the call would ask as before is not taken: the human confirms without it",
}

func session(t *testing.T, context []byte, opts *agentscope.Options, tools map[string]dialect.Tool) *agentscope.Session {
	t.Helper()
	if opts == nil {
		opts = &agentscope.Options{}
	}
	opts.Gate.World = &obstat.Snapshot{HomeDir: "/home/user"}
	s, err := agentscope.Open(t.Context(), &agentscopefile.Dialect{}, &dialect.Input{
		Files: []dialect.File{{Name: "context.json", Data: context}}, Tools: tools, Options: map[string]string{"floor": "off"}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestFlows plays the recorded flows: which calls run, which wait, and what the
// context holds in the end.
func TestFlows(t *testing.T) {
	for _, f := range jsonltest.All[flow](t, "testdata/flows.jsonl.gz") {
		t.Run(f.ID, func(t *testing.T) {
			if why, ok := departures[f.ID]; ok {
				t.Log("differs: " + why)
				return
			}
			p := &player{s: session(t, f.Context, nil, nil), calls: f.Script, parked: map[string]bool{}}
			for _, step := range f.Log {
				p.ran = 0
				p.play(t, &step)
				if p.ran != len(step.Executed) {
					t.Errorf("%d calls ran, want %d", p.ran, len(step.Executed))
				}
				for id, state := range step.States {
					if p.parked[id] != (state == "asking") {
						t.Errorf("call %s: parked %v, want %s", id, p.parked[id], state)
					}
				}
			}
			var got, want any
			if json.Unmarshal(p.s.Context(), &got) != nil || json.Unmarshal(f.Final, &want) != nil || !equalJSON(got, want) {
				t.Errorf("context\n%s\nwant\n%s", p.s.Context(), f.Final)
			}
		})
	}
}

func equalJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// A player is the agent of a flow: it makes one batch of calls after another
// and stops while one is parked.
type player struct {
	s      *agentscope.Session
	calls  [][]flowCall
	parked map[string]bool
	ran    int
}

func (p *player) play(t *testing.T, step *flowStep) {
	switch step.Input.Type {
	case "set_mode":
		if err := p.s.SetMode(step.Input.Mode); err != nil {
			t.Fatal(err)
		}
		return
	case "user_confirm_result":
		for _, c := range step.Input.Results {
			p.confirm(t, &c)
		}
	}
	for len(p.calls) > 0 && !p.waiting() {
		for _, c := range p.calls[0] {
			p.check(t, &c)
		}
		p.calls = p.calls[1:]
	}
}

func (p *player) waiting() bool {
	for _, on := range p.parked {
		if on {
			return true
		}
	}
	return false
}

func (p *player) check(t *testing.T, c *flowCall) {
	switch r := p.s.Check(t.Context(), c.ID, &obstat.Call{Tool: c.Name, Input: c.Input, Dir: "/home/user/project"}); r.State {
	case agentscope.Asking:
		p.parked[c.ID] = true
	case agentscope.Allowed:
		p.ran++
	}
}

func (p *player) confirm(t *testing.T, c *confirmation) {
	conf := &agentscope.Confirmation{ID: c.ID, Tool: c.Name, Input: c.Input, Confirmed: c.Confirmed}
	for _, r := range c.Rules {
		v, err := obstat.ParseVerdict(r.Behavior)
		if err != nil {
			continue // passthrough is no verdict: dropped, as the original does
		}
		content := ""
		if r.Content != nil {
			content = *r.Content
		}
		rule := agentscopefile.Rule(r.Tool, content, v)
		rule.Layer = "suggested"
		conf.Rules = append(conf.Rules, rule)
	}
	state, err := p.s.Confirm(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	p.parked[c.ID] = false
	if state == agentscope.Allowed {
		p.ran++
	}
}

func bash(cmd string) *obstat.Call {
	in, _ := json.Marshal(map[string]string{"command": cmd})
	return &obstat.Call{Tool: "Bash", Input: in, Dir: "/home/user/project"}
}

// TestConfirmIsBound: what the original lets through, ours refuses.
func TestConfirmIsBound(t *testing.T) {
	s := session(t, []byte(`{"deny_rules":{"Bash":[{"tool_name":"Bash","rule_content":"rm:*","behavior":"deny","source":"u"}]}}`), nil, nil)
	call := bash("npm run build")
	if r := s.Check(t.Context(), "1", call); r.State != agentscope.Asking || len(r.Suggested) != 1 {
		t.Fatalf("%+v", r)
	}
	for _, swapped := range []*agentscope.Confirmation{
		{ID: "1", Tool: "Bash", Input: bash("rm -rf /").Input, Confirmed: true},
		{ID: "1", Tool: "Write", Input: call.Input, Confirmed: true},
	} {
		if st, err := s.Confirm(t.Context(), swapped); err == nil || st == agentscope.Allowed {
			t.Errorf("a swapped call was confirmed: %v %v", st, err)
		}
	}
	if err := s.SetMode("explore"); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, Confirmed: true}); err == nil || st != agentscope.Denied {
		t.Errorf("explore was ignored: %v %v", st, err)
	}
	if _, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1"}); !errors.Is(err, agentscope.ErrNotParked) {
		t.Errorf("confirmed twice: %v", err)
	}
}

// TestAcceptedRuleIsWritten: an accepted rule acts at once and is the only
// change to the file.
func TestAcceptedRuleIsWritten(t *testing.T) {
	before := "{\n  \"mode\": \"default\",\n\n  \"allow_rules\": {},\n  \"deny_rules\": {}, \"ask_rules\": {}\n}\n"
	var saved []byte
	s := session(t, []byte(before), &agentscope.Options{Save: func(b []byte) error { saved = b; return nil }}, nil)
	call := bash("npm run build")
	r := s.Check(t.Context(), "1", call)
	if _, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, Confirmed: true, Rules: []obstat.Rule{r.Suggested[0].Rule}}); err != nil {
		t.Fatal(err)
	}
	if got := s.Check(t.Context(), "2", bash("npm run test")); got.State != agentscope.Allowed {
		t.Errorf("the accepted rule does not act: %v", got.Decision.Reason())
	}
	if !bytes.Equal(saved, s.Context()) || !bytes.Contains(saved, []byte(`"npm run:*"`)) || !bytes.HasPrefix(saved, []byte("{\n  \"mode\": \"default\",\n\n")) || !bytes.HasSuffix(saved, []byte("  \"deny_rules\": {}, \"ask_rules\": {}\n}\n")) {
		t.Errorf("saved\n%s", saved)
	}
	s.Check(t.Context(), "3", bash("make all"))
	wide := agentscopefile.Rule("Bash", "rm:*", obstat.Allow)
	if _, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "3", Tool: "Bash", Input: bash("make all").Input, Confirmed: true, Rules: []obstat.Rule{wide}}); err == nil {
		t.Error("a rule for another call was accepted")
	}
}

// TestWaits: a second call that a shown suggestion covers need not be shown.
func TestWaits(t *testing.T) {
	s := session(t, []byte(`{"mode":"default"}`), nil, map[string]dialect.Tool{"notify": {Kind: "function"},
		"deploy": {Check: &dialect.Answer{Verdict: obstat.Ask, Safety: true}}})
	for tool, want := range map[string]bool{"notify": true, "deploy": false} {
		first := s.Check(t.Context(), "1", &obstat.Call{Tool: tool, Input: json.RawMessage(`{"to":"a"}`)})
		second := &obstat.Call{Tool: tool, Input: json.RawMessage(`{"to":"b"}`)}
		d := s.Check(t.Context(), "2", second).Decision
		if got := s.Waits(second, first.Suggested, nil, &d); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}

// TestTwoSuggestions: both halves of a command are accepted with one
// confirmation; a rule that would not settle the call is refused and the call
// stays parked.
func TestTwoSuggestions(t *testing.T) {
	s := session(t, []byte(`{"mode":"default","ask_rules":{"Bash":[{"tool_name":"Bash","rule_content":"make:*","behavior":"ask","source":"u"}]}}`), nil, nil)
	call := bash("npm run build && cargo build x")
	r := s.Check(t.Context(), "1", call)
	if r.State != agentscope.Asking || len(r.Suggested) != 2 {
		t.Fatalf("%+v", r)
	}
	c := &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, Confirmed: true, Rules: []obstat.Rule{r.Suggested[0].Rule, r.Suggested[1].Rule}}
	if st, err := s.Confirm(t.Context(), c); st != agentscope.Allowed || err != nil {
		t.Fatal(st, err)
	}
	for _, cmd := range []string{"npm run test", "cargo build y"} {
		if r := s.Check(t.Context(), "2", bash(cmd)); r.State != agentscope.Allowed {
			t.Errorf("%s: %s", cmd, r.Decision.Reason())
		}
	}
	call = bash("make all")
	s.Check(t.Context(), "3", call)
	c = &agentscope.Confirmation{ID: "3", Tool: "Bash", Input: call.Input, Confirmed: true, Rules: []obstat.Rule{agentscopefile.Rule("Bash", "make all:*", obstat.Allow)}}
	if st, err := s.Confirm(t.Context(), c); st != agentscope.Asking || !errors.Is(err, approval.ErrBad) {
		t.Errorf("a rule that changes nothing: %v, %v", st, err)
	}
	c.Rules = []obstat.Rule{agentscopefile.Rule("Bash", "make clean:*", obstat.Deny)}
	if st, err := s.Confirm(t.Context(), c); st != agentscope.Allowed || err != nil {
		t.Errorf("without it: %v, %v", st, err)
	}
	if r := s.Check(t.Context(), "4", bash("make clean x")); r.State != agentscope.Denied {
		t.Errorf("the deny rule that came with the confirmation: %v", r.State)
	}
}

// TestLedger: every check and every confirmation is in the ledger.
func TestLedger(t *testing.T) {
	store := new(memory.Store)
	s := session(t, []byte(`{"mode":"default"}`), &agentscope.Options{Gate: gate.Options{Store: store}}, nil)
	call := bash("npm run build")
	s.Check(t.Context(), "1", call)
	if _, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	var kinds []ledger.Kind
	for r, err := range store.Records(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, r.Kind)
	}
	if want := []ledger.Kind{ledger.Start, ledger.Ask, ledger.Answer}; !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
}
