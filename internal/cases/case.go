// Package cases reads and runs cases: a configuration, a call, and the answer
// that is wanted, one JSON object a line. docs/json.md describes the form.
//
// It owns the form, the running and the comparing. Which dialects there are and
// how a failure is shown is for whoever runs the cases.
package cases

import (
	"encoding/json"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A Case is a configuration and a call with the answer that is wanted.
type Case struct {
	ID      string `json:"id"`
	Dialect string `json:"dialect"`
	Group   string `json:"group,omitempty"` // where it comes from
	Note    string `json:"note,omitempty"`  // what it is about

	Config Config          `json:"-"`
	Call   obstat.Call     `json:"call"`
	World  obstat.Snapshot `json:"world,omitzero"`

	Want  Want            `json:"-"`
	Never *obstat.Verdict `json:"never,omitempty"` // instead of Want: any verdict but this one
}

// Config is what a case gives a dialect to load. Two cases with equal keys
// decide alike.
type Config struct {
	Options map[string]string
	Files   []dialect.File
	Tools   map[string]dialect.Tool
	// unnamed files get the dialect's usual name when it is known.
	unnamed bool
}

// Want is the answer that a case wants. What is not given is not compared.
type Want struct {
	Verdict *obstat.Verdict `json:"verdict,omitempty"`
	Safety  *bool           `json:"safety,omitempty"`
	Offers  *[]Offer        `json:"-"`
	Matched *string         `json:"-"`
	// Error: the configuration has to be refused, with a position.
	Error bool `json:"error,omitempty"`
}

// An Offer is a rule that a case wants to be proposed: a tool and a content, or
// the rule in the dialect's own notation.
type Offer struct {
	Tool    string  `json:"tool"`
	Content *string `json:"content,omitempty"` // nil is the whole tool
	Text    string  `json:"-"`                 // instead of the two
}

// String returns the offer as the case wrote it.
func (o Offer) String() string {
	switch {
	case o.Text != "":
		return o.Text
	case o.Content == nil:
		return o.Tool
	}
	return o.Tool + "(" + *o.Content + ")"
}

// matches tells whether got is the offer that o describes.
func (o Offer) matches(got *obstat.Offer) bool {
	if o.Text != "" {
		return o.Text == got.Text
	}
	if o.String() == got.Text {
		return true
	}
	if o.Tool != got.Rule.Tool.Text || (o.Content == nil) != got.Rule.Whole() {
		return false
	}
	return o.Content == nil || *o.Content == got.Rule.Pattern.Text
}

// input returns what d loads for the case.
func (c *Case) input(d dialect.Dialect) *dialect.Input {
	in := &dialect.Input{Options: c.Config.Options, Tools: c.Config.Tools, Home: c.World.HomeDir, Files: slices.Clone(c.Config.Files)}
	if c.Config.unnamed {
		for i := range in.Files {
			in.Files[i].Name += dialect.DefaultFile(d)
		}
	}
	return in
}

// key returns what tells the case's configuration from every other.
func (c *Case) key() string {
	b, err := json.Marshal([]any{c.Dialect, c.Config.Options, c.Config.Files, c.Config.Tools, c.World.HomeDir})
	if err != nil {
		return ""
	}
	return string(b)
}
