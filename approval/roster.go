package approval

import (
	"slices"

	"github.com/obstat/obstat"
)

// A Roster names the people that may answer, by call, and those that may put a policy in force.
// All lines that are about a call count: its answerer needs a role of each, and as many must agree
// as the line that wants most says.
type Roster []Duty

// A Duty is one line of a Roster; its zero fields are about every call.
type Duty struct {
	Tool   string `json:"tool,omitempty"`   // with * and ?
	Rule   string `json:"rule,omitempty"`   // the deciding rule as its user wrote it, with * and ?
	Safety bool   `json:"safety,omitempty"` // only asks that no rule can silence
	Policy bool   `json:"policy,omitempty"` // putting a version of the policy in force, and no call
	Who    Who    `json:"who"`
}

// For returns the people that may answer for a call.
func (r Roster) For(c *obstat.Call, d *obstat.Decision) Who {
	rule := ""
	if d.Rule != nil {
		rule = d.Rule.String()
	}
	return r.all(func(l *Duty) bool {
		return !l.Policy && fits(l.Tool, c.Tool) && fits(l.Rule, rule) && (!l.Safety || d.Safety)
	})
}

// ForPolicy returns the people that may put a version of the policy in force, of those that
// administrate it.
func (r Roster) ForPolicy() Who { return r.all(func(l *Duty) bool { return l.Policy }) }

// all returns the people that all lines want which count.
func (r Roster) all(counts func(*Duty) bool) (out Who) {
	some := false
	for i := range r {
		l := &r[i]
		if !counts(l) {
			continue
		}
		out.NotCaller = out.NotCaller || l.Who.NotCaller
		out.Needed = max(out.Needed, l.Who.Needed)
		for _, role := range l.Who.Each {
			if !slices.Contains(out.Each, role) {
				out.Each = append(out.Each, role)
			}
		}
		if len(l.Who.Roles)+len(l.Who.Users) == 0 {
			continue
		}
		if !some {
			out.Roles, out.Users, some = slices.Clone(l.Who.Roles), slices.Clone(l.Who.Users), true
			continue
		}
		out.Roles = common(out.Roles, l.Who.Roles)
		out.Users = common(out.Users, l.Who.Users)
	}
	if some && len(out.Roles)+len(out.Users) == 0 {
		out.Roles = []string{Nobody} // lines that cannot both be met: no person may answer
	}
	return out
}

// common returns the names of a that b has as well.
func common(a, b []string) []string {
	return slices.DeleteFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// Nobody is a role that no human has.
const Nobody = "nobody: the roster contradicts itself"

func fits(pattern, text string) bool { return pattern == "" || glob(pattern, text) }

// glob matches with * for any text and ? for one byte. It goes back to the last
// star only, so that no pattern makes it slow.
func glob(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
