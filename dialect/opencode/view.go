package opencode

import (
	"encoding/json"
	"fmt"

	"github.com/obstat/obstat"
)

// params are the settings of a configuration that the view needs.
type params struct {
	Order Order `json:"order"`
	// Floor: the floor is on, so places that the program does not look at are asked
	// about as well.
	Floor bool `json:"floor,omitempty"`
	// Named are permissions of the rules that are none of opencode's own: tools of MCP
	// servers, which other agents spell otherwise.
	Named []string `json:"named,omitempty"`
}

func readParams(raw json.RawMessage) (params, error) {
	p := params{Order: Last, Floor: true}
	if len(raw) == 0 {
		return p, nil
	}
	p.Floor = false
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("the parameters of the view cannot be read: %w", err)
	}
	if p.Order != First && p.Order != Last {
		return p, fmt.Errorf("there is no order %q", p.Order)
	}
	return p, nil
}

// A view turns a call into its tool's asks: a permission and a pattern each.
type view struct{ params }

var _ obstat.Outliner = view{}

func newView(raw json.RawMessage) (obstat.View, error) {
	p, err := readParams(raw)
	return view{p}, err
}

// Questions returns the questions that a call poses to the rules.
func (v view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	asks, err := v.asks(f, false)
	if err != nil {
		return nil, err
	}
	var out []obstat.Question
	for i := range asks {
		for _, p := range asks[i].Patterns {
			out = append(out, question(asks[i].Permission, p))
		}
	}
	return out, nil
}

func question(permission, pattern string) obstat.Question {
	return obstat.Question{Tool: permission, Subjects: []obstat.Subject{{Field: fieldPattern, Text: pattern}}}
}

// Outline returns what calls to a tool ask, without one to look at. What is asked
// besides, of directories outside and of repetition, is left out: a tool that
// is denied stays denied whatever those say.
func (v view) Outline(tool string) []obstat.Question {
	t, known := tools()[tool]
	if !known {
		return []obstat.Question{question(sanitize(tool), "")}
	}
	return []obstat.Question{question(t.permission, "")}
}
