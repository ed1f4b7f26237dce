// Package cases reads and runs cases: a configuration, a call, and the answer
// that is wanted, one JSON object a line. docs/json.md describes the form.
//
// It owns the form, the running and the comparing. Which dialects there are and
// how a failure is shown is up to the command that runs them.
package cases

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A Runner runs cases. It keeps the policies it has compiled, since a file of
// thousands of cases has few configurations; it is for one goroutine.
type Runner struct {
	// Find returns the dialect of a name.
	Find func(name string) (dialect.Dialect, error)

	cache map[[32]byte]loaded
}

type loaded struct {
	*dialect.Loaded
	err error
}

// maxCache bounds how many policies are kept at a time.
const maxCache = 512

// A Result is how a case went.
type Result struct {
	Pass   bool
	Wanted string
	Got    string
	// Reason is why obstat answered so.
	Reason string
	// Refused: the configuration was refused and no call was decided.
	Refused bool
}

// Run runs one case. It fails, rather than errs, whatever is wrong with it.
func (r *Runner) Run(c *Case) Result {
	l, err := r.Load(c)
	if err != nil {
		l = nil
	}
	res := c.judge(l)
	var unknown unknownDialect
	switch {
	case err == nil && c.Want.Error:
		return Result{Wanted: res.Wanted, Got: "the configuration was taken"}
	case err == nil:
		return res
	case errors.As(err, &unknown):
	case c.Never != nil: // a configuration that is refused allows nothing
		res.Pass = true
	case c.Want.Error:
		res.Pass = positioned(err)
	}
	res.Refused, res.Reason, res.Got = true, err.Error(), "refused"
	if c.Want.Error && !res.Pass && !errors.As(err, &unknown) {
		res.Got = "refused without a position"
	}
	return res
}

// Load returns the configuration of a case, loaded once for all cases that share it.
func (r *Runner) Load(c *Case) (*dialect.Loaded, error) {
	d, err := r.Find(c.Dialect)
	if err != nil {
		return nil, unknownDialect{err}
	}
	key := sha256.Sum256([]byte(c.key()))
	if l, ok := r.cache[key]; ok {
		return l.Loaded, l.err
	}
	if r.cache == nil || len(r.cache) >= maxCache {
		r.cache = make(map[[32]byte]loaded, maxCache)
	}
	l, err := dialect.Load(d, c.input(d))
	r.cache[key] = loaded{l, err}
	return l, err
}

// unknownDialect is the error of a case whose dialect does not exist. It does not satisfy a
// case that wants an error.
type unknownDialect struct{ error }

func positioned(err error) bool {
	var es obstat.Errors
	errors.As(err, &es)
	for _, e := range es {
		if e.Pos.Line > 0 {
			return true
		}
	}
	return false
}

// judge decides the call by l, nil for a configuration that was refused, and compares.
func (c *Case) judge(l *dialect.Loaded) (res Result) {
	var d obstat.Decision
	var tr *obstat.Trace
	switch {
	case l == nil:
	case c.Want.Matched != nil:
		d, tr = l.Policy.Explain(&c.Call, &c.World)
	default:
		d = l.Policy.Decide(&c.Call, &c.World)
	}
	var want, got []string
	res.Pass = l != nil
	compare := func(w, g string, same bool) {
		want, got = append(want, w), append(got, g)
		res.Pass = res.Pass && same
	}
	switch {
	case c.Want.Error:
		compare("an error", "", true)
	case c.Never != nil:
		compare("anything but "+c.Never.String(), d.Verdict.String(), d.Verdict != *c.Never)
	default:
		compare(c.Want.Verdict.String(), d.Verdict.String(), d.Verdict == *c.Want.Verdict)
	}
	if s := c.Want.Safety; s != nil {
		compare(safety(*s), safety(d.Safety), d.Safety == *s)
	}
	if m := c.Want.Matched; m != nil {
		matched := ""
		if l != nil {
			if describer, ok := l.Dialect.(dialect.Describer); ok {
				matched = describer.Matched(&d, tr)
			}
		}
		compare(fmt.Sprintf("matched %q", *m), fmt.Sprintf("matched %q", matched), matched == *m)
	}
	if c.Want.Offers != nil {
		var offers []obstat.Offer
		if l != nil {
			offers = l.Offers(&c.Call, &c.World, &d)
		}
		compare(c.compareOffers(offers))
	}
	res.Wanted, res.Got, res.Reason = strings.Join(want, ", "), strings.Join(got, ", "), d.Reason()
	return res
}

// compareOffers compares offers with those wanted, in order.
func (c *Case) compareOffers(offers []obstat.Offer) (wanted, got string, same bool) {
	want := *c.Want.Offers
	same = len(want) == len(offers)
	wants, gots := make([]string, len(want)), make([]string, len(offers))
	for i, o := range want {
		wants[i] = o.String()
	}
	for i := range offers {
		same = same && want[i].matches(&offers[i])
		gots[i] = cmp.Or(offers[i].Text, offers[i].Rule.String())
	}
	return "offers " + listed(wants), "offers " + listed(gots), same
}

func listed(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, " and ")
}

func safety(on bool) string {
	if on {
		return "safety"
	}
	return "no safety"
}

// A Case is a configuration and a call with the answer that is wanted.
type Case struct {
	ID      string `json:"id"`
	Dialect string `json:"dialect"`
	Group   string `json:"group,omitempty"` // where it comes from
	Note    string `json:"note,omitempty"`  // in a sentence

	Config Config          `json:"-"`
	Call   obstat.Call     `json:"call"`
	World  obstat.Snapshot `json:"world,omitzero"`

	Want  Want            `json:"-"`
	Never *obstat.Verdict `json:"never,omitempty"` // instead of Want: any verdict but this one
}

// Config is the configuration of a case. Two cases with equal keys
// decide alike.
type Config struct {
	Options map[string]string
	Files   []dialect.File
	Tools   map[string]dialect.Tool
	// unnamed files get the dialect's usual name when it is known.
	unnamed bool
}

// Want is the answer that a case wants. A field that is not given is not compared.
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

// input returns the files and options for d to load.
func (c *Case) input(d dialect.Dialect) *dialect.Input {
	in := &dialect.Input{Options: c.Config.Options, Tools: c.Config.Tools, Home: c.World.HomeDir,
		Files: slices.Clone(c.Config.Files)}
	if c.Config.unnamed {
		for i := range in.Files {
			in.Files[i].Name += dialect.DefaultFile(d)
		}
	}
	return in
}

// key returns a text that is equal for equal configurations.
func (c *Case) key() string {
	b, err := json.Marshal([]any{c.Dialect, c.Config.Options, c.Config.Files, c.Config.Tools, c.World.HomeDir})
	if err != nil {
		return ""
	}
	return string(b)
}
