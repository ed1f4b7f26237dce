package obstat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/pattern"
)

// TestRecordedTwins: the other names of a file, also those that lead over a third one.
func TestRecordedTwins(t *testing.T) {
	for file, want := range map[string][]string{"/a": {"/b", "/c", "/d"}, "/d": {"/a", "/b", "/c"}, "/x": {"/y"}, "/none": nil} {
		w := &Snapshot{Hard: map[string]string{"/a": "/b", "/c": "/b", "/d": "/c", "/x": "/y"}}
		if got := w.Twins(file); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	if got := (&Snapshot{Hard: map[string]string{"/a": "/b"}}).Twins("/b"); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("of one pair: %q", got)
	}
	if got := new(Snapshot).Twins("/a"); got != nil {
		t.Errorf("of none: %q", got)
	}
}

// TestOutcomes: an answer of a check passes where its stage says so of answers of that kind, and of no other.
func TestOutcomes(t *testing.T) {
	for outcome, f := range map[Outcomes]Finding{CheckAllow: {Verdict: Allow}, CheckDeny: {Verdict: Deny}, SafetyAsk: {Verdict: Ask, Safety: true}, PlainAsk: {Verdict: Ask}} {
		if got := f.outcome(); got != outcome {
			t.Errorf("%+v: %v, want %v", f, got, outcome)
		}
		for _, pass := range []Outcomes{0, CheckAllow, CheckDeny, SafetyAsk, PlainAsk} {
			p := &Program{Mode: "m", Pipelines: map[Mode]Pipeline{"m": {Stages: []Stage{Check{Name: "c", Check: "c", Pass: pass}}, Default: Ask}}}
			pol, err := Compile(p, &Options{NoFloor: true, Library: &Library{Checks: map[string]func(json.RawMessage) (Checker, error){
				"c": func(json.RawMessage) (Checker, error) { return checkFunc(func(*Facts) Finding { return f }), nil }}}})
			if err != nil {
				t.Fatal(err)
			}
			want := "c"
			if pass == outcome {
				want = stageDefault
			}
			if d := pol.Decide(&Call{Tool: "t", Input: []byte("{}")}, nil); d.Stage != want {
				t.Errorf("%+v, passing %v: %s at %s", f, pass, d.Verdict, d.Stage)
			}
		}
	}
}

// TestMistakesOfPrograms: a Program with a wrong kind of value, or nothing where something is said, is an error at its
// place.
func TestMistakesOfPrograms(t *testing.T) {
	for text, want := range map[string]string{
		`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r","ask_denies":1}],"default":"ask"}},"rules":{"r":[]}}`:  "true or false",
		`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r","settle":[]}],"default":"ask"}},"rules":{"r":[]}}`:     "is empty",
		`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r","settle":["no"]}],"default":"ask"}},"rules":{"r":[]}}`: "no",
	} {
		if p, err := ParseProgram("p.json", []byte(text)); err == nil || p != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "p.json:1:") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for want, text := range map[string]Text{`"ls"`: Is("ls"), `{"wildcard":"l*"}`: {Flavour: pattern.Wildcard, Text: "l*"}, `{"any":true}`: {}} {
		if got, err := json.Marshal(text); err != nil || string(got) != want {
			t.Errorf("%+v: %s, %v", text, got, err)
		}
	}
}

// TestUnreadableInput: an input that cannot be read is a fault, and has no object.
func TestUnreadableInput(t *testing.T) {
	for _, input := range []string{`{"a":`, `[1]`, `{"a":1,"a":2}`, `{"a":1,"A":2}`} {
		f := &Facts{Call: &Call{Tool: "t", Input: []byte(input)}}
		if out, err := f.Object(); err == nil || out != nil || f.Fault() == nil {
			t.Errorf("%s: %v, %v", input, out, err)
		}
	}
}

// TestCrowdedWords: where a command that nothing is known of has more words than are looked at, and a path is denied, it is
// asked about; with as many as that it is not.
func TestCrowdedWords(t *testing.T) {
	p := &Program{Mode: "m", Faces: map[string]Face{FaceRead: {Tool: "Read", Field: "file_path"}, FaceWrite: {Tool: "Edit", Field: "file_path"}},
		Pipelines: map[Mode]Pipeline{"m": {Stages: []Stage{Match{Name: "r", Rules: "r"}}, Amend: []Stage{Floor{Name: "floor"}}, Default: Allow}},
		Rules:     map[string][]Rule{"r": {{Tool: Is("Read"), Field: "file_path", Pattern: Is("/p/.env"), Verdict: Deny}}}}
	pol, err := Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[int]Verdict{10: Allow, 400: Allow, 2 * maxWords: Ask} {
		command := "frob" + strings.Repeat(" w", words)
		d := pol.Decide(&Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/p"}, &Snapshot{})
		if d.Verdict != want || want == Ask && !strings.Contains(d.Note, "very many words") {
			t.Errorf("%d words: %s", words, d.Reason())
		}
	}
	for command, want := range map[string]Verdict{"frob a .env": Ask, "frob --in=.env": Ask, "frob a b": Allow} {
		if d := pol.Decide(&Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/p"}, &Snapshot{}); d.Verdict != want {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}
