package dialect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/pattern"
)

// Toy is a dialect that nobody has, and all that one takes: a line is a verdict
// and a shell command with `*` for anything; the last line that matches decides.
//
//	ask  *
//	allow git *
//	deny git push *
type Toy struct{}

var (
	_ dialect.Offerer = Toy{}
	_ dialect.Editor  = Toy{}
)

// Name returns "toy".
func (Toy) Name() string { return "toy" }

// Info says where a project keeps its file.
func (Toy) Info() dialect.Info { return dialect.Info{Files: []string{"toy.rules"}} }

// Detect knows the file by its name.
func (t Toy) Detect(f *dialect.File) dialect.Confidence {
	if dialect.Named(t, f.Name) {
		return dialect.Sure
	}
	return dialect.No
}

// Load reads the lines; all problems come at once, each with its place.
func (t Toy) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	var rules []obstat.Rule
	var errs obstat.Errors
	for i := range in.Files {
		f, at := &in.Files[i], 0
		for line := range strings.Lines(string(f.Data)) {
			if r, err := t.rule(line); err != nil {
				errs = append(errs, f.Problem(at, obstat.CodeBadValue, "%v", err))
			} else {
				r.Layer, r.Pos = f.Layer, f.Pos(at)
				rules = append(rules, r)
			}
			at += len(line)
		}
	}
	return &obstat.Program{
		Dialect: "toy", Mode: "default",
		Pipelines: map[obstat.Mode]obstat.Pipeline{"default": {
			Stages:  []obstat.Stage{obstat.Match{Name: "last line", Rules: "lines", Pick: obstat.Last}},
			Default: obstat.Ask,
		}},
		Rules: map[string][]obstat.Rule{"lines": rules},
	}, errs
}

func (Toy) rule(line string) (obstat.Rule, error) {
	word, command, _ := strings.Cut(strings.TrimSpace(line), " ")
	v, err := obstat.ParseVerdict(word)
	text := obstat.Text{Flavour: pattern.Wildcard, Text: strings.TrimSpace(command)}
	return obstat.Rule{Tool: obstat.Is("bash"), Field: "command", Pattern: text, Verdict: v, Source: strings.TrimSpace(line)}, err
}

// Library is empty: the Program names no code.
func (Toy) Library() *obstat.Library { return &obstat.Library{} }

// Offers proposes the very command; the floor leaves out what must not be one.
func (t Toy) Offers(_ *dialect.Loaded, call *obstat.Call, _ obstat.World, _ *obstat.Decision) []obstat.Offer {
	var in struct{ Command string }
	if json.Unmarshal(call.Input, &in) != nil || strings.ContainsAny(in.Command, "*?\n") {
		return nil
	}
	r, _ := t.rule("allow " + in.Command)
	return []obstat.Offer{{Rule: r, List: "lines", Text: r.Source}}
}

// AddRule writes the line at the end, where it decides, every other byte as it
// was.
func (Toy) AddRule(f *dialect.File, o *obstat.Offer) ([]byte, error) {
	if n := len(f.Data); n > 0 && f.Data[n-1] != '\n' {
		return nil, textedit.ErrRefused // somebody is writing it
	}
	return append(append([]byte{}, f.Data...), o.Rule.Source+"\n"...), nil
}

func toyCall(command string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &obstat.Call{Tool: "bash", Input: input, Dir: "/p", Roots: []string{"/p"}}
}

// TestToy: the value above reads files with positions, decides with the floor on,
// prints as a Program that decides equally, proposes rules that work, and writes
// an accepted one back.
func TestToy(t *testing.T) {
	name := filepath.Join(t.TempDir(), "toy.rules")
	text := "ask *\nallow git *\ndeny git push *\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	in := &dialect.Input{Files: []dialect.File{{Name: name, Data: []byte(text)}}}
	l, err := dialect.Load(Toy{}, in)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := json.Marshal(l.Program)
	if err != nil {
		t.Fatal(err)
	}
	back, err := obstat.ParseProgram("toy.json", printed)
	if err != nil {
		t.Fatal(err)
	}
	again, err := obstat.Compile(back, nil)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{"git log": obstat.Allow, "git push": obstat.Deny, "make": obstat.Ask,
		"git log; make": obstat.Ask, "env git push": obstat.Deny, "git log | sh": obstat.Ask} {
		for _, pol := range []*obstat.Policy{l.Policy, again} {
			if d := pol.Decide(toyCall(command), nil); d.Verdict != want {
				t.Errorf("%s: %v, want %v (%s)", command, d.Verdict, want, d.Reason())
			}
		}
	}
	d := l.Policy.Decide(toyCall("make all"), nil)
	offers := l.Offers(toyCall("make all"), nil, &d)
	if len(offers) != 1 || offers[0].Text != "allow make all" {
		t.Fatalf("%v", offers)
	}
	if err := l.Accept(name, offers...); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != text+"allow make all\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestToyMistakes: every mistake is reported, with its line.
func TestToyMistakes(t *testing.T) {
	_, err := dialect.Load(Toy{}, &dialect.Input{Files: []dialect.File{{Name: "toy.rules", Data: []byte("alow ls\nask *\nperhaps x\n")}}})
	errs, ok := err.(obstat.Errors)
	if !ok || len(errs) != 2 || errs[0].Pos.Line != 1 || errs[1].Pos.Line != 3 {
		t.Errorf("%v", err)
	}
}
