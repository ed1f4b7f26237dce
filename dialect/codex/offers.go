package codex

import (
	"bytes"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/textedit"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}
	_ dialect.Liner   = Dialect{}
)

// maxOffers is how many commands of one line rules are proposed for.
const maxOffers = 5

// Offers proposes a rule for each command of a line that no rule is about: its program and
// subcommand, and all of its words. Where a rule asks, no other would change that.
func (Dialect) Offers(l *dialect.Loaded, call *obstat.Call, world obstat.World,
	d *obstat.Decision) (out []obstat.Offer) {
	t, _ := effect.Lookup(call.Tool)
	if d.Rule != nil || d.Safety || len(call.Subjects) > 0 || t.Canonical != "shell" {
		return nil
	}
	a := (&obstat.Facts{Call: call, World: world}).Analysis()
	add := func(words []string) {
		p := &prefixRule{verdict: obstat.Allow}
		for _, w := range words {
			p.pattern = append(p.pattern, []string{w})
		}
		list, r := p.compile(words[0])
		out = kit.AddOffer(out, list, r, r.Source)
	}
	for i := range a.Commands {
		c := &a.Commands[i]
		if len(c.Via) > 0 || !c.Known || len(c.Words) == 0 || len(out) >= 2*maxOffers {
			continue
		}
		words := known(c)
		if len(words) > 2 && kit.Subcommand(words[1]) {
			add(words[:2])
		}
		add(words)
	}
	return out
}

// AddRule writes the rule as the last line of a file of rules, as Codex does.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	if isRequirements(f) || strings.ContainsAny(offer.Text, "\n\r") || offer.Text == "" {
		return nil, textedit.ErrRefused
	}
	for line := range bytes.Lines(f.Data) {
		if string(bytes.TrimRight(line, "\r\n")) == offer.Text {
			return f.Data, nil
		}
	}
	out := slices.Clone(f.Data)
	if n := len(out); n > 0 && out[n-1] != '\n' {
		out = append(out, '\n')
	}
	return append(out, offer.Text+"\n"...), nil
}

// RuleLines returns the lines of a call that is a statement by itself; one in a loop or a function
// makes more than one rule.
func (Dialect) RuleLines(f *dialect.File, at obstat.Pos) (first, last int) {
	parsed, err := parse(f)
	if err != nil || isRequirements(f) {
		return 0, 0
	}
	for _, s := range parsed.Stmts {
		if start, end := s.Span(); place(f, start) == at {
			return int(start.Line), int(end.Line)
		}
	}
	return 0, 0
}
