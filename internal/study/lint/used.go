package lint

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// Uses count the decisions of a policy's rules, by a ledger.
type Uses struct {
	Calls int       // decisions that were counted
	From  time.Time // of the oldest
	by    map[string]*use
}

// A use counts the decisions of a rule, told by its text.
type use struct {
	n     int
	start string // how the text of every call starts that it decided
}

// CountUses counts the decisions among the records by their rules; text returns a call in short,
// as `git status`.
func CountUses(records iter.Seq2[*ledger.Record, error], text func(*obstat.Call) string) (*Uses, error) {
	u := &Uses{by: map[string]*use{}}
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if r.Kind != ledger.Decision {
			continue
		}
		if u.Calls++; u.From.IsZero() || r.Time.Before(u.From) {
			u.From = r.Time
		}
		if r.Rule == "" {
			continue
		}
		words := ""
		if call, _, err := r.Replayable(); err == nil {
			words = text(call)
		}
		if at := u.by[r.Rule]; at == nil {
			u.by[r.Rule] = &use{1, words}
		} else {
			at.n++
			at.start = commonStart(at.start, words)
		}
	}
	return u, nil
}

// commonStart returns the words that both texts start with.
func commonStart(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n < len(a) && a[n] != ' ' || n < len(b) && b[n] != ' ' {
		n = strings.LastIndexByte(a[:n], ' ') + 1
	}
	return strings.TrimRight(a[:n], " ")
}

// minUses is how often a rule has to have decided before it is held to be wider than its uses.
const minUses = 8

// Used warns of rules that decided nothing in all the calls of u, and of allow rules that are wider
// than whatever they allowed. A deny rule that nothing ran into is no waste: it is left alone.
func Used(p *obstat.Program, u *Uses, opts *Options) obstat.Errors {
	l := newLinter(p, opts)
	since := u.From.Local().Format(time.DateOnly)
	busy := map[obstat.Pos]bool{}
	for _, rules := range p.Rules {
		for i := range rules {
			if u.by[rules[i].String()] != nil {
				busy[rules[i].Pos] = true
			}
		}
	}
	for r := range l.rules() {
		if r.Verdict == obstat.Deny || !r.Pos.IsValid() {
			continue
		}
		hint := "obstat policy gc takes it out"
		switch used := u.by[r.String()]; {
		case used != nil && r.Verdict == obstat.Allow && used.n >= minUses:
			l.wider(r, used)
		case used != nil || busy[r.Pos] && l.opts.Whole:
		default:
			if busy[r.Pos] {
				hint = "take it out of its rule, the rest of which is used"
			}
			l.warn(r, obstat.CodeUnused, hint, "%s rule %s decided none of the %d calls since %s", r.Verdict, r, u.Calls, since)
		}
	}
	l.errs.Sort()
	return l.errs
}

// wider warns of an allow rule all of whose uses start alike, with more than the rule says.
func (l *linter) wider(r *obstat.Rule, u *use) {
	p := l.compiled(r.Pattern)
	if r.Whole() || p == nil || p.Shape().Exact || u.start == "" {
		return
	}
	known := strings.TrimSpace(p.Shape().Prefix)
	if len(strings.Fields(u.start)) <= len(strings.Fields(known)) || !strings.HasPrefix(u.start, known) {
		return
	}
	l.warn(r, obstat.CodeRisky, fmt.Sprintf("a rule for %s and what follows would do", u.start),
		"allow rule %s is wider than its uses: all %d start with %s", r, u.n, u.start)
}
