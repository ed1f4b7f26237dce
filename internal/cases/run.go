package cases

import (
	"crypto/sha256"
	"errors"
	"fmt"
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
