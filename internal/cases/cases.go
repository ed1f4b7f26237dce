// Package cases reads and runs cases: a configuration, a call, and the answer
// that is wanted, one JSON object a line. docs/json.md describes the form.
//
// It owns the form, the running and the comparing. Which dialects there are and
// how a failure is shown is up to the command that runs them.
package cases

import (
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
	l, err := r.load(c)
	if err != nil {
		return c.refused(err)
	}
	if c.Want.Error {
		return Result{Wanted: "an error", Got: "the configuration was taken"}
	}
	return c.judge(l)
}

func (r *Runner) load(c *Case) (*dialect.Loaded, error) {
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

// unknownDialect is the error of a case that nobody can run, which is not what
// a case wants that wants an error.
type unknownDialect struct{ error }

func (c *Case) refused(err error) Result {
	res := Result{Wanted: c.wanted(), Got: "refused", Reason: err.Error(), Refused: true}
	var unknown unknownDialect
	switch {
	case errors.As(err, &unknown):
	case c.Never != nil:
		res.Pass = true // what is refused allows nothing
	case c.Want.Error && !positioned(err):
		res.Got = "refused without a position"
	case c.Want.Error:
		res.Pass = true
	}
	return res
}

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

// judge decides the call and compares.
func (c *Case) judge(l *dialect.Loaded) Result {
	var d obstat.Decision
	var tr *obstat.Trace
	if c.Want.Matched != nil {
		d, tr = l.Policy.Explain(&c.Call, &c.World)
	} else {
		d = l.Policy.Decide(&c.Call, &c.World)
	}
	res := Result{Wanted: c.wanted(), Reason: d.Reason(), Pass: true}
	got := []string{d.Verdict.String()}
	if c.Never != nil {
		res.Pass = d.Verdict != *c.Never
	}
	if c.Want.Verdict != nil {
		res.Pass = d.Verdict == *c.Want.Verdict
	}
	if s := c.Want.Safety; s != nil {
		res.Pass = res.Pass && d.Safety == *s
		got = append(got, safety(d.Safety))
	}
	if c.Want.Matched != nil {
		m := matched(l.Dialect, &d, tr)
		res.Pass = res.Pass && m == *c.Want.Matched
		got = append(got, fmt.Sprintf("matched %q", m))
	}
	if c.Want.Offers != nil {
		text, ok := c.compareOffers(l, &d)
		res.Pass = res.Pass && ok
		got = append(got, text)
	}
	res.Got = strings.Join(got, ", ")
	return res
}

func matched(d dialect.Dialect, dec *obstat.Decision, tr *obstat.Trace) string {
	if m, ok := d.(dialect.Describer); ok {
		return m.Matched(dec, tr)
	}
	return ""
}

// compareOffers compares the offers in order. A dialect that makes none offers
// nothing.
func (c *Case) compareOffers(l *dialect.Loaded, d *obstat.Decision) (got string, ok bool) {
	offers := l.Offers(&c.Call, &c.World, d)
	want := *c.Want.Offers
	ok = len(want) == len(offers)
	texts := make([]string, len(offers))
	for i := range offers {
		ok = ok && want[i].matches(&offers[i])
		texts[i] = offers[i].Text
		if texts[i] == "" {
			texts[i] = offers[i].Rule.String()
		}
	}
	return "offers " + listed(texts), ok
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

// wanted says what the case wants.
func (c *Case) wanted() string {
	if c.Never != nil {
		return "anything but " + c.Never.String()
	}
	if c.Want.Error {
		return "an error"
	}
	w := []string{c.Want.Verdict.String()}
	if c.Want.Safety != nil {
		w = append(w, safety(*c.Want.Safety))
	}
	if c.Want.Matched != nil {
		w = append(w, fmt.Sprintf("matched %q", *c.Want.Matched))
	}
	if c.Want.Offers != nil {
		texts := make([]string, len(*c.Want.Offers))
		for i, o := range *c.Want.Offers {
			texts[i] = o.String()
		}
		w = append(w, "offers "+listed(texts))
	}
	return strings.Join(w, ", ")
}

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
