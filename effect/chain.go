package effect

import (
	"slices"
	"strings"
)

// A Chain is commands of a line with the operators between them: of `true; "curl" -s x|sudo sh` that is
// `curl -s x | sh` among others.
type Chain struct {
	Text string
	Op   string // the last operator
}

// maxChain bounds how many commands a chain has.
const maxChain = 6

// chainOps are the operators that join commands.
var chainOps = []string{"|", "||", "&&", ";", "&", "|&"}

// Chains returns the chains of two commands and more, at most so many; cut tells that there are others. Wrappers are
// there with and without the command that they run.
func (a *Analysis) Chains(most int) (out []Chain, cut bool) {
	var extend func(text, last string, i, n int)
	extend = func(text, last string, i, n int) {
		if cut = cut || n > 1 && len(out) >= most; cut {
			return
		}
		if n > 1 {
			out = append(out, Chain{text, last})
		}
		if n == maxChain {
			return
		}
		for j := range a.Commands {
			op := a.between(i, j)
			if op == "" {
				continue
			}
			for k := range a.Commands {
				if k == j || a.Under(j, k) {
					extend(text+" "+op+" "+a.Commands[k].Text, op, j, n+1)
				}
			}
		}
	}
	for i := range a.Commands {
		extend(a.Commands[i].Text, "", i, 1)
	}
	return out, cut
}

// between returns the operator that stands between two commands and nothing else, "" where there is none.
func (a *Analysis) between(i, j int) string {
	from, to := a.Commands[i].Span.End, a.Commands[j].Span.Start
	if from <= 0 || from > to || to > len(a.Source) {
		return ""
	}
	gap := strings.Trim(a.Source[from:to], " \t\n\\(){}")
	if slices.Contains(chainOps, gap) {
		return gap
	}
	return ""
}

// Under tells whether command j stands inside command i, which runs it.
func (a *Analysis) Under(i, j int) bool {
	if j >= len(a.Commands) {
		return false
	}
	outer, inner := &a.Commands[i], &a.Commands[j]
	return outer.Wrapper && inner.Span.Start >= outer.Span.Start && inner.Span.End <= outer.Span.End &&
		len(inner.Via) > len(outer.Via)
}
