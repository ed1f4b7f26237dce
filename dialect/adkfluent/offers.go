package adkfluent

import (
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/textedit"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}
)

// Offers proposes the one rule that there can be here: the tool, on the allow
// list. The floor leaves out tools that run commands.
func (Dialect) Offers(_ *dialect.Loaded, call *obstat.Call, _ obstat.World, _ *obstat.Decision) []obstat.Offer {
	if call.Tool == "" {
		return nil
	}
	return []obstat.Offer{{List: stageAllowNames, Scope: "always", Text: call.Tool,
		Rule: obstat.Rule{Tool: obstat.Is(call.Tool), Verdict: obstat.Allow, Source: call.Tool}}}
}

// AddRule puts the tool on the allow list of the file.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	r := &offer.Rule
	if !r.Whole() || r.Verdict != obstat.Allow || r.Tool != obstat.Is(r.Tool.Text) || r.Tool.Text == "" {
		return nil, fmt.Errorf("%w: only a tool's name can be put on the allow list", textedit.ErrRefused)
	}
	before := parse(f)
	if err := before.Err(); err != nil {
		return nil, err
	}
	out, err := format(f).AppendOnce(f.Data, r.Tool.Text, keyAllow)
	if err != nil {
		return nil, err
	}
	return out, parse(&dialect.File{Name: f.Name, Data: out}).Err()
}
