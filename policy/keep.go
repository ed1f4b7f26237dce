package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// Keep makes rules that a person has just accepted stick: written into a file by
// the gate, or by the agent whose prompt offered them. Where they are all that is
// new, the files are accepted as they are; else the rules are added to the pin. It
// returns whether they count from now on.
func (f *Finder) Keep(ctx context.Context, w *Where, offers []obstat.Offer, by string) (bool, error) {
	whole := *w
	whole.Named = nil
	w = &whole
	in, err := f.Find(w)
	if err != nil || len(in.New) == 0 {
		return err == nil, err
	}
	var texts []string
	for i := range offers {
		texts = append(texts, offers[i].Text, offers[i].Rule.String())
	}
	if Accepts(in.New, texts) {
		return true, f.Pin(ctx, in, w, by)
	}
	s, err := f.writer(w)
	if err != nil {
		return false, err
	}
	kept := false
	for _, st := range in.sites {
		pin := st.pin.with(s, offers)
		if pin == nil || st.pinAt.Doubt {
			continue
		}
		if err := s.pins.put(ctx, pin, by, fmt.Sprintf("accepted %s for %s", strings.Join(texts, ", "), st.key), st.pinAt, func() error { return nil }); err != nil {
			return kept, err
		}
		kept = true
	}
	return kept, nil
}

// with returns the pin with rules added to its Programs, nil where none takes
// them.
func (p *Pin) with(s *search, offers []obstat.Offer) *Pin {
	if p == nil {
		return nil
	}
	out := *p
	out.Who = s.Who
	out.Policies = slices.Clone(p.Policies)
	added := false
	for i := range out.Policies {
		pp := &out.Policies[i]
		d, err := named(s.list, pp.Dialect)
		if err != nil {
			continue
		}
		l, err := s.fromPin(pp, d)
		if err != nil {
			continue
		}
		pol, err := l.With(offers...)
		if err != nil {
			continue
		}
		if text, err := pack(pol.Program()); err == nil {
			pp.Program, added = text, true
		}
	}
	if !added {
		return nil
	}
	return &out
}

// How far the ledger is read back for rules that an agent has just shown.
const (
	shownFor   = 10 * time.Minute
	shownAmong = 300
)

// Chosen accepts the changes of the agent's own project if all of them are rules
// that the agent's own prompt has just shown, such as `Bash(npm test:*)`: a person
// has chosen them there, and the agent has written them. It returns whether it has.
func (f *Finder) Chosen(ctx context.Context, in *InForce, w *Where) (bool, error) {
	if len(in.New) == 0 || w.Named != nil && w.Named.Dialect != "" {
		return false, nil
	}
	s, err := f.writer(w)
	if err != nil {
		return false, err
	}
	var texts []string
	for r, err := range s.pins.file.Recent(shownAmong, `"suggested":`) {
		if err != nil || time.Since(r.Time) > shownFor {
			break
		}
		if slices.ContainsFunc(in.sites, func(st *site) bool { return paths.Inside(st.dir, r.Dir) || paths.Inside(st.key, r.Dir) }) {
			texts = append(texts, suggested(r)...)
		}
	}
	if !Accepts(in.New, texts) {
		return false, nil
	}
	err = f.Pin(ctx, in, w, "the agent's prompt")
	return err == nil, err
}

// suggested returns the rules that an agent has shown with the call of a record.
func suggested(r *ledger.Record) []string {
	var c ledger.Circumstances
	if r.Kind != ledger.Decision && r.Kind != ledger.Ask || json.Unmarshal(r.Detail, &c) != nil {
		return nil
	}
	return c.Suggested
}
