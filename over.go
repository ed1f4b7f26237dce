package obstat

import "strings"

// Over is a set of judges of an agent's own that an allow rule outranks. Without it an allow stands
// only where the agent itself would have let the call run or asked a person: `over: auto-mode` on
// `run npm test` runs the tests in Claude Code's auto mode without its classifier.
type Over uint8

// The judges that a rule may outrank.
const (
	OverAutoMode Over = 1 << iota // the classifier of Claude Code's auto mode
	OverReviewer                  // Codex's reviewer of approvals, and with it the sandbox that it guards

	// OverParts marks a rule that outranks as much as the rules for the parts of the call do: one
	// that allows a tool because all its effects are judged by themselves. Alone it outranks nothing.
	OverParts
)

// overWords are the words of the judges, in the order of their bits.
var overWords = [...]string{"auto-mode", "reviewer", "parts"}

// ParseOver returns the judge of a word; ok is false where there is none.
func ParseOver(word string) (o Over, ok bool) {
	for i, w := range overWords {
		if w == word {
			return 1 << i, true
		}
	}
	return 0, false
}

// Words returns the judges' words.
func (o Over) Words() (out []string) {
	for i, w := range overWords {
		if o&(1<<i) != 0 {
			out = append(out, w)
		}
	}
	return out
}

// String returns the words, separated by commas; "" for none.
func (o Over) String() string { return strings.Join(o.Words(), ", ") }

// Has reports whether all judges of p are among those of o. None is never had.
func (o Over) Has(p Over) bool { return p != 0 && o&p == p }

// overUnset stands for a call that no rule has answered yet.
const overUnset = ^Over(0)

// allowed keeps those judges that this answer outranks, too: of `npm test && git push`
// both rules have to say `over: auto-mode`.
func (w *walk) allowed(o *outcome) {
	switch {
	case o.verdict != Allow || w.probing:
	case o.rule == nil:
		w.over = 0
	case o.rule.Over != OverParts:
		w.over &= o.rule.Over
	}
}

// outranks returns the judges that a settled call outranks.
func (w *walk) outranks(d *Decision) Over {
	if d.Verdict != Allow || w.over == overUnset {
		return 0
	}
	return w.over
}
