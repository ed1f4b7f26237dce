package obstat

import (
	"encoding/json"
	"strings"
	"testing"
)

// checkFunc is a check made of a function.
type checkFunc func(f *Facts) Finding

func (c checkFunc) Check(f *Facts) Finding { return c(f) }

// clamp rewrites a path that leaves the directory, as an amendment.
func clamp(f *Facts) Finding {
	path, _ := f.Field("path")
	if !strings.Contains(path, "..") {
		return Finding{Pass: true}
	}
	input, _ := json.Marshal(map[string]string{"path": strings.ReplaceAll(path, "..", "safe")})
	return Finding{Verdict: f.Settled.Verdict, Input: input}
}

func rewriting(t *testing.T, deny string) *Policy {
	t.Helper()
	p := &Program{Mode: "m", Rules: map[string][]Rule{"deny": {{Tool: Is("read"), Field: "path", Pattern: Is(deny)}}},
		Pipelines: map[Mode]Pipeline{"m": {Stages: []Stage{Match{Name: "deny", Rules: "deny"}}, Default: Allow,
			Amend: []Stage{Check{Name: "clamp"}, Check{Name: "seen"}}}}}
	seen := checkFunc(func(f *Facts) Finding {
		if path, _ := f.Field("path"); path == "safe/ask" {
			return Finding{Verdict: Ask, Note: path}
		}
		return Finding{Pass: true}
	})
	made := func(c Checker) func(json.RawMessage) (Checker, error) {
		return func(json.RawMessage) (Checker, error) { return c, nil }
	}
	pol, err := Compile(p, &Options{NoFloor: true, Library: &Library{Checks: map[string]func(json.RawMessage) (Checker, error){
		"clamp": made(checkFunc(clamp)), "seen": made(seen)}}})
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// An amendment may rewrite the input; what it makes of the call is judged like
// any other call, by the stages and by the amendments after it.
func TestAmendmentRewrites(t *testing.T) {
	pol := rewriting(t, "safe/secret")
	for _, tc := range []struct {
		path, input string
		verdict     Verdict
	}{
		{"a/b", "", Allow},
		{"../b", `{"path":"safe/b"}`, Allow},
		{"../secret", "", Deny},                // the rewritten call is denied by a rule
		{"../ask", `{"path":"safe/ask"}`, Ask}, // a later amendment sees the new input, and so does who approves
		{"safe/secret", "", Deny},
	} {
		input, _ := json.Marshal(map[string]string{"path": tc.path})
		call := &Call{Tool: "read", Input: input}
		d := pol.Decide(call, nil)
		if d.Verdict != tc.verdict || string(d.Input) != tc.input {
			t.Errorf("%s: %s with input %q, want %s with %q (%s)", tc.path, d.Verdict, d.Input, tc.verdict, tc.input, d.Reason())
		}
		if string(call.Input) != string(input) {
			t.Errorf("%s: the caller's call was changed to %s", tc.path, call.Input)
		}
	}
}

func TestEmptyCallIsDenied(t *testing.T) {
	if d := rewriting(t, "x").Decide(&Call{}, nil); d.Verdict != Deny || len(d.Faults) != 1 {
		t.Errorf("the zero call: %s, %v", d.Verdict, d.Faults)
	}
}
