// Package explain shows how a decision came about: the deciding rule, the reason, the effects of
// the call, the way through the stages, and the smallest change that would
// turn the verdict.
//
// It owns the view, which is plain data with a stable JSON form (docs/json.md),
// and the trying of changes. The face that prints a view lays it out.
package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// Version is the version of the JSON forms in this package.
const Version = 1

// A Request is a call to be explained. Policy was compiled from Program
// with the views and checks of Library.
type Request struct {
	Program *obstat.Program
	Policy  *obstat.Policy
	Library *obstat.Library
	Call    *obstat.Call
	World   obstat.World
	// Files are the files that the user can change; nil: all that rules name.
	Files []string
	// Offers returns the rules that the dialect would propose with the
	// decision; nil: it proposes none.
	Offers func(*obstat.Decision) []obstat.Offer
	// With returns the policy with offers accepted; nil is Policy's own.
	With func(...obstat.Offer) (*obstat.Policy, error)
	// Narrow rewrites the rules that decide so that they leave this call's targets out; nil: rules leave nothing out.
	Narrow func(*obstat.Decision) *Narrowing
	// Settle returns the gate's verdict of a call that pol asks about only because part of it cannot be known: it may
	// run confined. nil: it is asked about.
	Settle func(pol *obstat.Policy, call *obstat.Call) obstat.Verdict
	// Also returns other recent calls that offers would allow; nil: not known.
	Also func([]obstat.Offer) []string
	// Matched returns the dialect's own words for the deciding rule; nil: it has none.
	Matched func(*obstat.Decision, *obstat.Trace) string
}

// A Narrowing is a policy whose rules leave one call's targets out: the rules as they are and their new texts, the
// offers that allow those targets, those that allow the rest of the call, and the policy with the new rules and some
// of the offers.
type Narrowing struct {
	Rules  []*obstat.Rule
	Texts  []string
	Offers []obstat.Offer
	Rest   []obstat.Offer
	With   func(...obstat.Offer) (*obstat.Policy, error)
}

// A View is a decision with everything that led to it.
type View struct {
	V int `json:"v"`
	Decision
	// Text is the call in short: its command, path or URL, else its
	// input.
	Text string `json:"text"`
	// Mark is the part of Text that decided; zero is the whole.
	Mark   Span     `json:"mark,omitzero"`
	By     By       `json:"by"`
	Why    string   `json:"why"`
	Would  []Effect `json:"would"`
	Hidden []Hidden `json:"hidden,omitempty"`
	// Forever says of an ask which effects can never be taken back, and Try is a command that runs it to see.
	Forever []string `json:"forever,omitempty"`
	Try     string   `json:"try,omitempty"`
	// Limits are the policy's limits and how much of each is used: `200 calls per session: 37`.
	Limits  []string `json:"limits,omitempty"`
	Walk    []Walk   `json:"walk"`
	Amend   []Step   `json:"amend,omitempty"`
	Floor   string   `json:"floor"` // one line on the floor's part in it
	Changes []Change `json:"changes"`
}

// A Span is a range of bytes of a text.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// By is the stage or rule that decided, with its place.
type By struct {
	Kind string     `json:"kind"` // rule, check, when, floor, default, fault
	Text string     `json:"text"` // in words
	Pos  obstat.Pos `json:"pos,omitzero"`
}

// Explain decides r's call and says how that came about.
func Explain(r *Request) *View {
	d, tr := r.Policy.Explain(r.Call, r.World)
	x := &explainer{r: r, d: &d, tr: tr, a: tr.Analysis}
	if x.a == nil {
		x.a = Analyze(r.Call, r.World)
	}
	if d.Rule == nil && d.Part == "" {
		d.About = r.Call.Text()
	}
	if d.Verdict < obstat.Allow && len(x.a.Commands) > 1 && d.Part == "" {
		d.Part = r.Policy.PartOf(r.Call, r.World, &d)
	}
	if r.Offers != nil && d.Verdict == obstat.Ask {
		d.Offers = r.Offers(&d)
	}
	v := &View{V: Version, Decision: NewDecision(&d), Text: TextOf(r.Call)}
	if r.Matched != nil {
		v.Matched = r.Matched(&d, tr)
	}
	v.Mark = x.mark(v.Text)
	v.By = x.by()
	v.Why = x.why()
	if d.Over != 0 {
		v.Why += "; over " + d.Over.String() + ": that judge of the agent's own is not asked"
	}
	v.Would, v.Hidden = Effects(x.a, r.Call, r.World), HiddenOf(x.a)
	if d.Verdict == obstat.Ask {
		v.Forever = Forever(x.a)
	}
	if d.OnlyUnknown {
		v.Try = ToTry(r.Call, x.a)
	}
	v.Walk, v.Amend, v.Floor = x.walk(), steps(tr.Amend, nil), x.floor()
	v.Changes = x.changes()
	return v
}

// Analyze returns the effects of a call. A call without an input has an empty one.
// An input that cannot be analysed shows as a gap.
func Analyze(c *obstat.Call, w obstat.World) (a *effect.Analysis) {
	defer func() {
		if r := recover(); r != nil {
			a = &effect.Analysis{Why: failed, Gaps: []effect.Gap{{Kind: effect.BadInput, Why: failed, Command: -1, Hides: true}}}
		}
	}()
	input := c.Input
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	return effect.Analyze(&effect.Request{Tool: c.Tool, Input: input, Options: effect.Options{Dir: c.Dir, FS: w}})
}

const failed = "looking into the call failed"

type explainer struct {
	r  *Request
	d  *obstat.Decision
	tr *obstat.Trace
	a  *effect.Analysis
}

// TextOf returns the call in short ([obstat.Call.Text]), else its input, else its tool.
func TextOf(c *obstat.Call) string {
	in := string(c.Input)
	if in == "null" || in == "{}" {
		in = ""
	}
	return cmp.Or(c.Text(), in, c.Tool)
}

// AsChecked writes a call as obstat check takes it, with what came before it: `Bash git push --after 'read secrets'`.
func AsChecked(c *obstat.Call) string {
	if len(c.Subjects) > 0 {
		return "the action " + c.Subjects[0]
	}
	out := c.Tool + " " + string(c.Input)
	if text := TextOf(c); text != c.Tool && text != string(c.Input) {
		out = c.Tool + " " + text
	}
	for at := range obstat.Circumstances() {
		if values := at.Values(c); at.Flag != "" && at.Name != "mode" && len(values) > 0 { // the mode has been told
			out += " --" + at.Name + " " + shell.Quote(strings.Join(values, ","))
		}
	}
	return out
}

// WithText returns the call's input with another text in the place of [TextOf]: of the
// command, where the call runs one.
func WithText(c *obstat.Call, text string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c.Input, &fields); err != nil {
		return nil, errors.New("the call's arguments cannot be read")
	}
	was := TextOf(c)
	for name, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) != nil || s != was {
			continue
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			return nil, err
		}
		fields[name] = bytes.TrimSpace(b.Bytes())
		return json.Marshal(fields)
	}
	return nil, errors.New("it is not clear which argument that is")
}

// A Decision is the JSON form of an answer.
type Decision struct {
	Tool    string         `json:"tool"`
	Verdict obstat.Verdict `json:"verdict"`
	Safety  bool           `json:"safety,omitempty"`
	// OnlyUnknown: it asks because part of the call cannot be known, and for no other reason.
	OnlyUnknown bool            `json:"only_unknown,omitempty"`
	Mode        obstat.Mode     `json:"mode"`
	Stage       string          `json:"stage"`
	Rule        *Rule           `json:"rule,omitempty"`
	Part        string          `json:"part,omitempty"`
	Note        string          `json:"note,omitempty"`
	Reason      string          `json:"reason"`
	Matched     string          `json:"matched,omitempty"` // in the dialect's own words
	Input       json.RawMessage `json:"input,omitempty"`
	// Confined says inside which limits the call is allowed.
	Confined *obstat.Confined `json:"confined,omitempty"`
	// Over are the agent's own judges that the call is allowed over.
	Over   []string       `json:"over,omitempty"`
	Offers []Offer        `json:"offers,omitempty"`
	Faults []obstat.Fault `json:"faults,omitempty"`
}

// A Rule is the JSON form of a rule: as its user wrote it, and where.
type Rule struct {
	ID      string         `json:"id,omitempty"`
	Text    string         `json:"text"`
	Verdict obstat.Verdict `json:"verdict"`
	Layer   string         `json:"layer,omitempty"`
	Pos     obstat.Pos     `json:"pos,omitzero"`
}

// An Offer is the JSON form of an offer.
type Offer struct {
	Text  string `json:"text"`
	List  string `json:"list,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Also are other recent calls that it would allow.
	Also []string `json:"also,omitempty"`
}

// NewDecision returns d's JSON form.
func NewDecision(d *obstat.Decision) Decision {
	out := Decision{Tool: d.Tool, Verdict: d.Verdict, Safety: d.Safety, OnlyUnknown: d.OnlyUnknown, Mode: d.Mode,
		Stage: d.Stage, Rule: newRule(d.Rule), Part: d.Part, Note: d.Note, Reason: d.Reason(), Input: d.Input,
		Confined: d.Confined, Over: d.Over.Words(), Faults: d.Faults}
	for i := range d.Offers {
		o := &d.Offers[i]
		out.Offers = append(out.Offers, Offer{Text: offerText(o), List: o.List, Scope: o.Scope})
	}
	return out
}

// newRule returns r's JSON form, nil for no rule.
func newRule(r *obstat.Rule) *Rule {
	if r == nil {
		return nil
	}
	return &Rule{r.ID, r.String(), r.Verdict, r.Layer, r.Pos}
}

func offerText(o *obstat.Offer) string {
	if o.Text != "" {
		return o.Text
	}
	return o.Rule.String()
}
