package obstat

import (
	"encoding/json"
	"fmt"

	"github.com/obstat/obstat/pattern"
)

// The JSON form of a Program. Field order is the order of the structs here and
// map keys are sorted, so equal Programs print equally. docs/program.md is the
// contract.

type programJSON struct {
	Version   int                   `json:"obstat"`
	Dialect   string                `json:"dialect,omitempty"`
	Mode      Mode                  `json:"mode"`
	View      string                `json:"view,omitempty"`
	Floor     string                `json:"floor,omitempty"` // "off", or nothing
	Pipelines map[Mode]pipelineJSON `json:"pipelines"`
	Rules     map[string][]ruleJSON `json:"rules,omitempty"`
	Faces     map[string]Face       `json:"faces,omitempty"`
	Params    json.RawMessage       `json:"params,omitempty"`
}

type pipelineJSON struct {
	Stages  []stageJSON `json:"stages"`
	Default Verdict     `json:"default"`
	Amend   []stageJSON `json:"amend,omitempty"`
}

type stageJSON struct {
	Match     *string   `json:"match,omitempty"`
	Check     *string   `json:"check,omitempty"`
	When      *string   `json:"when,omitempty"`
	Floor     *string   `json:"floor,omitempty"`
	Rules     string    `json:"rules,omitempty"`
	Pick      string    `json:"pick,omitempty"`
	Except    string    `json:"except,omitempty"`
	Settle    []Verdict `json:"settle,omitempty"`
	Run       string    `json:"run,omitempty"`
	Pass      []string  `json:"pass,omitempty"`
	AskDenies bool      `json:"ask_denies,omitempty"`
	Unless    []string  `json:"unless,omitempty"`
	Is        string    `json:"is,omitempty"`
	Tools     []string  `json:"tools,omitempty"`
	Then      *Verdict  `json:"then,omitempty"`
	Else      *Verdict  `json:"else,omitempty"`
}

type ruleJSON struct {
	ID      string  `json:"id,omitempty"`
	Tool    Text    `json:"tool"`
	Field   string  `json:"field,omitempty"`
	Match   *Text   `json:"match,omitempty"`
	Verdict Verdict `json:"verdict"`
	Source  string  `json:"source,omitempty"`
	Layer   string  `json:"layer,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Pos     *Pos    `json:"pos,omitempty"`
}

// textAny is the key under which the Text that matches everything is written.
const textAny = "any"

// MarshalJSON writes an exact text as a string and any other as an object of
// one member, its flavour.
func (t Text) MarshalJSON() ([]byte, error) {
	switch t.Flavour {
	case "":
		return json.Marshal(map[string]bool{textAny: true})
	case pattern.Exact:
		return json.Marshal(t.Text)
	}
	return json.Marshal(map[string]string{string(t.Flavour): t.Text})
}

// MarshalJSON writes the Program in its stable form.
func (p *Program) MarshalJSON() ([]byte, error) { return p.marshal(true) }

// marshal leaves the positions out for the digest: moving a rule to another
// line does not change its meaning.
func (p *Program) marshal(positions bool) ([]byte, error) {
	out := programJSON{Version: 1, Dialect: p.Dialect, Mode: p.Mode, View: p.View, Faces: p.Faces, Params: p.Params,
		Pipelines: map[Mode]pipelineJSON{}, Rules: map[string][]ruleJSON{}}
	if p.NoFloor {
		out.Floor = "off"
	}
	for m, pl := range p.Pipelines {
		out.Pipelines[m] = pipelineJSON{stagesJSON(pl.Stages), pl.Default, stagesJSON(pl.Amend)}
	}
	for name, rules := range p.Rules {
		list := make([]ruleJSON, len(rules))
		for i := range rules {
			list[i] = toRuleJSON(&rules[i], positions)
		}
		out.Rules[name] = list
	}
	return json.Marshal(out)
}

func toRuleJSON(r *Rule, positions bool) ruleJSON {
	j := ruleJSON{ID: r.ID, Tool: r.Tool, Field: r.Field, Verdict: r.Verdict, Source: r.Source, Layer: r.Layer, Reason: r.Reason}
	if !r.Whole() {
		j.Match = &r.Pattern
	}
	if positions && r.Pos.IsValid() {
		j.Pos = &r.Pos
	}
	return j
}

func stagesJSON(stages []Stage) []stageJSON {
	out := make([]stageJSON, 0, len(stages))
	for _, s := range stages {
		out = append(out, toStageJSON(s))
	}
	return out
}

func toStageJSON(s Stage) stageJSON {
	switch s := s.(type) {
	case Match:
		j := stageJSON{Match: &s.Name, Rules: s.Rules, Except: s.Except, AskDenies: s.AskDenies}
		if s.Pick != First {
			j.Pick = s.Pick.String()
		}
		if s.Settle != 0 {
			j.Settle = s.Settle.List()
		}
		return j
	case Check:
		return stageJSON{Check: &s.Name, Run: s.Check, Pass: s.Pass.names(), AskDenies: s.AskDenies, Unless: s.Unless}
	case When:
		return stageJSON{When: &s.Name, Is: s.Is, Tools: s.Tools, Then: &s.Then, Else: s.Else}
	case Floor:
		return stageJSON{Floor: &s.Name}
	}
	return stageJSON{}
}

var outcomeNames = [...]string{"plain_ask", "safety_ask", "deny", "allow"}

func (o Outcomes) names() []string {
	var out []string
	for i, n := range outcomeNames {
		if o&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// UnmarshalJSON reads a Program and refuses keys that it does not know. Use
// [ParseProgram] to get rules with their positions.
func (p *Program) UnmarshalJSON(b []byte) error {
	q, err := parseProgram("", b, false)
	if err != nil {
		return err
	}
	*p = *q
	return nil
}

// ParseProgram reads a hand-written Program from the text of a file. All
// problems are reported at once, each with its position; rules without one get
// the place they stand at.
func ParseProgram(file string, text []byte) (*Program, error) { return parseProgram(file, text, true) }

// maxProgram bounds the size of a Program's text.
const maxProgram = 256 << 20

func parseProgram(file string, text []byte, positions bool) (*Program, error) {
	if len(text) > maxProgram {
		return nil, Errors{{Code: CodeTooLarge, Pos: Pos{file, 1, 1}, Msg: fmt.Sprintf("program of %d bytes; at most %d are read", len(text), maxProgram)}}
	}
	d := newDecoder(file, text)
	d.positions = positions
	p := &Program{Pipelines: map[Mode]Pipeline{}, Rules: map[string][]Rule{}}
	d.program(p, d.s.Next())
	if err := d.done(); err != nil {
		return nil, err
	}
	return p, nil
}

// MarshalJSON writes the rule as it stands in a Program's JSON.
func (r Rule) MarshalJSON() ([]byte, error) { return json.Marshal(toRuleJSON(&r, true)) }

// UnmarshalJSON reads a rule as [ParseRule] does.
func (r *Rule) UnmarshalJSON(b []byte) error {
	got, err := ParseRule(b)
	if err == nil {
		*r = got
	}
	return err
}

// ParseRule reads a rule from its JSON.
func ParseRule(text []byte) (Rule, error) {
	d := newDecoder("", text)
	r := d.rule(d.s.Next())
	return r, d.done()
}
