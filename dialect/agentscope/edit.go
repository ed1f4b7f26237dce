package agentscope

import (
	"cmp"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
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
	source, behavior := cmp.Or(r.Layer, "suggested"), r.Verdict.String()
	value := jsonx.Object{
		{Key: "tool_name", Value: r.Tool.Text}, {Key: "rule_content", Value: content},
		{Key: "behavior", Value: behavior}, {Key: "source", Value: source},
	}
	return textedit.JSON.AppendOnce(f.Data, value, append(Path(f.Data), behavior+"_rules", r.Tool.Text)...)
}

// Path returns the keys that lead to the context in a file: none, or the one of an
// AgentState.
func Path(data []byte) []any {
	root, problems := jsonx.Parse(data, jsonx.Options{})
	if !tree.Fatal(problems) && root.Get(stateKey).Is(tree.Object) {
		return []any{stateKey}
	}
	return nil
}

// With returns the policy with the offers in the context: a tool that matches its rules
// itself is asked about theirs, too.
func (*Dialect) With(l *dialect.Loaded, offers ...obstat.Offer) (*obstat.Policy, error) {
	if !slices.ContainsFunc(offers, func(o obstat.Offer) bool { return o.Rule.Field == ownField }) {
		return l.Policy.With(offers...)
	}
	return l.WithIn(0, offers...)
}
