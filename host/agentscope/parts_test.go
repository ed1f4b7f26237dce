package agentscope_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	agentscopefile "github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/host/agentscope"
)

// floored opens a session with the floor on, as every user has it.
func floored(t *testing.T, text string, save func([]byte) error) *agentscope.Session {
	t.Helper()
	opts := &agentscope.Options{Save: save}
	opts.Gate.World = &obstat.Snapshot{HomeDir: "/home/user"}
	s, err := agentscope.Open(t.Context(), &agentscopefile.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "context.json", Data: []byte(text)}}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestAcceptedIsWritten: of two suggestions that settle a call only together, exactly those that the human
// accepts are written, with the floor on, and the confirmed call runs.
func TestAcceptedIsWritten(t *testing.T) {
	const text = "npm install a && docker run alpine"
	npm, docker := bash("npm install b"), bash("docker run --privileged alpine")
	for name, tc := range map[string]struct {
		accept             []int
		npm, docker, after agentscope.State
	}{
		"none":   {nil, agentscope.Asking, agentscope.Asking, agentscope.Asking},
		"first":  {[]int{0}, agentscope.Allowed, agentscope.Asking, agentscope.Asking},
		"second": {[]int{1}, agentscope.Asking, agentscope.Allowed, agentscope.Asking},
		"both":   {[]int{0, 1}, agentscope.Allowed, agentscope.Allowed, agentscope.Allowed},
		"twice":  {[]int{1, 1}, agentscope.Asking, agentscope.Allowed, agentscope.Asking},
		"turned": {[]int{1, 0}, agentscope.Allowed, agentscope.Allowed, agentscope.Allowed},
	} {
		t.Run(name, func(t *testing.T) {
			var saved []byte
			s := floored(t, `{"mode":"default"}`, func(b []byte) error { saved = b; return nil })
			call := bash(text)
			r := s.Check(t.Context(), "1", call)
			if r.State != agentscope.Asking || len(r.Suggested) != 2 {
				t.Fatalf("%+v", r)
			}
			c := &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, Confirmed: true}
			for _, i := range tc.accept {
				c.Rules = append(c.Rules, r.Suggested[i].Rule)
			}
			if st, err := s.Confirm(t.Context(), c); st != agentscope.Allowed || err != nil {
				t.Fatal(st, err)
			}
			for i, want := range []agentscope.State{tc.npm, tc.docker, tc.after} {
				if got := s.Check(t.Context(), "2", []*obstat.Call{npm, docker, call}[i]); got.State != want {
					t.Errorf("call %d: %s, want %s: %s", i, got.State, want, got.Decision.Reason())
				}
			}
			if tc.accept != nil && !bytes.Equal(saved, s.Context()) {
				t.Errorf("saved\n%s\nin force\n%s", saved, s.Context())
			}
		})
	}
}

// TestChangedSuggestion: a rule that goes by a suggestion's name and says something else is not the suggestion.
func TestChangedSuggestion(t *testing.T) {
	s := floored(t, `{"mode":"default"}`, nil)
	call := bash("npm install a && docker run alpine")
	r := s.Check(t.Context(), "1", call)
	wide := agentscopefile.Rule("Bash", "rm:*", obstat.Allow)
	wide.Source = r.Suggested[0].Rule.Source
	st, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, Confirmed: true, Rules: []obstat.Rule{wide}})
	if st != agentscope.Asking || err == nil {
		t.Errorf("%s, %v", st, err)
	}
}

// TestFailedSave: a rule that cannot be saved is an error, its call does not run, and nothing of it is in
// force: of two rules neither.
func TestFailedSave(t *testing.T) {
	full := errors.New("disk full")
	for _, text := range []string{"npm install a", "npm install a && docker run alpine"} {
		s := floored(t, `{"mode":"default"}`, func([]byte) error { return full })
		before, call := s.Context(), bash(text)
		r := s.Check(t.Context(), "1", call)
		c := &agentscope.Confirmation{ID: "1", Tool: "Bash", Input: call.Input, Confirmed: true}
		for _, o := range r.Suggested {
			c.Rules = append(c.Rules, o.Rule)
		}
		if st, err := s.Confirm(t.Context(), c); st != agentscope.Denied || err == nil || !bytes.Contains([]byte(err.Error()), []byte("disk full")) {
			t.Errorf("%s: %s, %v", text, st, err)
		}
		if !bytes.Equal(before, s.Context()) {
			t.Errorf("%s: the context changed:\n%s", text, s.Context())
		}
		if got := s.Check(t.Context(), "2", bash("npm install b")); got.State != agentscope.Asking {
			t.Errorf("%s: the rule that was not saved is in force: %s", text, got.State)
		}
	}
}

// TestSpacedConfirmation: a confirmation whose JSON is spaced and ordered otherwise answers the same call; another value,
// another key and another tool do not, and the call goes on waiting. A second confirmation of one call is refused.
func TestSpacedConfirmation(t *testing.T) {
	s := floored(t, `{"mode":"default"}`, nil)
	call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"make","timeout":5}`)}
	if r := s.Check(t.Context(), "1", call); r.State != agentscope.Asking {
		t.Fatalf("%+v", r)
	}
	for _, tt := range []struct {
		tool, input string
		want        agentscope.State
		err         bool
	}{
		{"Bash", `{"command":"make -k","timeout":5}`, agentscope.Denied, true},
		{"Bash", `{"command":"make","timeout":5,"x":1}`, agentscope.Denied, true},
		{"Bash", `{"command":"make","timeout":5.0}`, agentscope.Denied, true},
		{"Bash", `{"command":"make","timeout":5`, agentscope.Denied, true},
		{"Shell", `{"command":"make","timeout":5}`, agentscope.Denied, true},
		{"Bash", "{ \"timeout\" : 5,\n \"command\" : \"m\\u0061ke\" }", agentscope.Allowed, false},
		{"Bash", `{"command":"make","timeout":5}`, agentscope.Denied, true},
	} {
		st, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1", Tool: tt.tool, Input: []byte(tt.input), Confirmed: true})
		if st != tt.want || (err != nil) != tt.err {
			t.Errorf("%s %s: %s, %v", tt.tool, tt.input, st, err)
		}
	}
}

// TestNobodyAsked: in dont_ask nothing asks, and in explore only an ask rule does, though the call would change a policy.
func TestNobodyAsked(t *testing.T) {
	const rule = `{"Write":[{"tool_name":"Write","rule_content":null,"behavior":"%s","source":"s"}]}`
	write := &obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"/home/user/.config/obstat/obstat.yaml"}`)}
	for context, want := range map[string]agentscope.State{
		`{"mode":"dont_ask","allow_rules":` + fmt.Sprintf(rule, "allow") + `}`: agentscope.Denied,
		`{"mode":"bypass"}`:  agentscope.Asking,
		`{"mode":"explore"}`: agentscope.Denied,
		`{"mode":"explore","ask_rules":` + fmt.Sprintf(rule, "ask") + `}`: agentscope.Asking,
	} {
		if r := floored(t, context, nil).Check(t.Context(), "1", write); r.State != want {
			t.Errorf("%s: %s, %s", context, r.State, r.Decision.Reason())
		}
	}
}
