package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

const (
	// minGrouped is how many sentences a file has before those of a kind are put into one: a pile of `git log`,
	// `git diff`, `git show` that an agent wrote down one by one is `run git log, git diff, git show`.
	minGrouped = 16
	// groupColumns is how long such a sentence becomes.
	groupColumns = 96
)

// kindsOfLines are the verbs in the order of a file, each with the comment above its first sentence.
var kindsOfLines = []struct{ verb, comment string }{{"run", "Commands."}, {"read", "Files."}, {"write", "Files."},
	{"delete", "Files."}, {"connect", "Hosts."}, {"tool", "Tools."}}

// keep puts the sentences of a kind together, as a person would keep them. The result has the very rules of the
// single sentences, or it is not taken.
func (c *conversion) keep() string {
	single := c.text()
	if len(c.lines) < minGrouped {
		return single
	}
	lines := c.lines
	c.lines = grouped(lines)
	together := c.text()
	c.lines = lines
	a, err := load(single)
	b, problem := load(together)
	if err != nil || problem != nil || !slices.Equal(rulesOf(a.Program), rulesOf(b.Program)) {
		return single
	}
	return together
}

// rulesOf returns the rules of a Program as texts, each once.
func rulesOf(p *obstat.Program) (out []string) {
	for name, rules := range p.Rules {
		for i := range rules {
			r := &rules[i]
			out = append(out, fmt.Sprint(name, r.Verdict, r.Tool, r.Field, r.Pattern, r.If, r.Except, r.Over, r.Reason))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// grouped joins plain lines of the same verdict and verb: those of a program with several, and the other programs.
func grouped(lines []line) (out []line) {
	programs := map[string]int{}
	for i := range lines {
		programs[groupOf(&lines[i], true)]++
	}
	at := map[string]int{}
	for i := range lines {
		ln := lines[i]
		key := groupOf(&ln, programs[groupOf(&ln, true)] > 1)
		first, there := at[key]
		_, target, _ := strings.Cut(ln.text, " ")
		if there && len(out[first].text)+len(", ")+len(target) <= groupColumns {
			out[first].text += ", " + target
			continue
		}
		if out = append(out, ln); key != "" {
			at[key] = len(out) - 1
		}
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Compare(a.rank(), b.rank()) })
	said := map[string]bool{}
	for i := range out {
		comment := kindsOfLines[min(out[i].rank(), len(kindsOfLines)-1)].comment
		if key := out[i].verdict.String() + comment; !said[key] {
			out[i].comment, said[key] = comment, true
		}
	}
	return out
}

// groupOf returns the group of a line, "" for one that stands alone: with exceptions, a condition, or a reason.
func groupOf(ln *line, program bool) string {
	p := Parts(ln.text)
	if len(ln.except) > 0 || ln.reason != "" || p.Where != "" || len(p.Except) > 0 || strings.Contains(p.Verbs, " ") {
		return ""
	}
	first, exactly := "", strings.HasPrefix(p.Targets[0], "exactly ")
	if program && p.Verbs == "run" {
		first, _, _ = strings.Cut(strings.TrimPrefix(p.Targets[0], "exactly "), " ")
	}
	return fmt.Sprint(ln.verdict, p.Verbs, exactly, first)
}

// rank orders lines by their verbs.
func (l *line) rank() int {
	for i, k := range kindsOfLines {
		if strings.HasPrefix(l.text, k.verb+" ") {
			return i
		}
	}
	return len(kindsOfLines)
}
