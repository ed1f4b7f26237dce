package agentscope

import (
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
)

// AddRule returns the context file with the offered rule at the end of its
// tool's rules, every other byte as it was. A rule that is there already is not
// written twice.
func (*Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	r := &offer.Rule
	var content any
	if !r.Whole() {
		content = r.Pattern.Text
	}
	source := r.Layer
	if source == "" {
		source = "suggested"
	}
	behavior := r.Verdict.String()
	value := jsonx.Object{
		{Key: "tool_name", Value: r.Tool.Text}, {Key: "rule_content", Value: content},
		{Key: "behavior", Value: behavior}, {Key: "source", Value: source},
	}
	return textedit.JSON.AppendOnce(f.Data, value, behavior+"_rules", r.Tool.Text)
}
