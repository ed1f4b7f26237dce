package obstat

import "fmt"

// A Verdict is the answer to a call. The zero Verdict is Deny, and the stricter
// of two is the smaller.
type Verdict uint8

// The verdicts, strictest first.
const (
	Deny Verdict = iota
	Ask
	Allow
)

var verdictNames = [...]string{"deny", "ask", "allow"}

// String returns "deny", "ask" or "allow".
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "deny"
}

// ParseVerdict returns the verdict of that name; nothing but the three
// lower-case words is one.
func ParseVerdict(s string) (Verdict, error) {
	for i, n := range verdictNames {
		if n == s {
			return Verdict(i), nil
		}
	}
	return Deny, fmt.Errorf("unknown verdict %q: want deny, ask or allow", s)
}

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name and refuses anything else.
func (v *Verdict) UnmarshalText(b []byte) (err error) {
	*v, err = ParseVerdict(string(b))
	return err
}

// A Mode names one of a Program's pipelines.
type Mode string

// Verdicts is a set of verdicts; the zero set stands for all of them.
type Verdicts uint8

// SetOf returns the set of the given verdicts.
func SetOf(vs ...Verdict) Verdicts {
	var s Verdicts
	for _, v := range vs {
		s |= 1 << v
	}
	return s
}

// Has reports whether v is in the set.
func (s Verdicts) Has(v Verdict) bool { return s == 0 || s&(1<<v) != 0 }

// List returns the members, strictest first.
func (s Verdicts) List() []Verdict {
	var out []Verdict
	for v := Deny; v <= Allow; v++ {
		if s.Has(v) {
			out = append(out, v)
		}
	}
	return out
}
