package replay

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// Stats are the counts over a ledger.
type Stats struct {
	V        int            `json:"v"`
	Records  int            `json:"records"`
	From     time.Time      `json:"from,omitzero"`
	To       time.Time      `json:"to,omitzero"`
	Verdicts map[string]int `json:"verdicts"` // of decisions, as they came out
	Answers  map[string]int `json:"answers"`  // to requests, by their end
	Buckets  []Bucket       `json:"buckets"`  // of equal length
	Asked    []Count        `json:"asked"`    // most asked commands and paths
	Denied   []Count        `json:"denied"`   // most denied ones
	Rules    []Count        `json:"rules"`    // which rules decided
	// Unused are the rules of a policy that decided nothing.
	Unused []Unused `json:"unused,omitempty"`
}

// A Bucket is a stretch of time.
type Bucket struct {
	From     time.Time      `json:"from"`
	Verdicts map[string]int `json:"verdicts"`
}

// A Count is how often something was.
type Count struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

// Unused is a rule that decided nothing.
type Unused struct {
	Text    string         `json:"text"`
	Verdict obstat.Verdict `json:"verdict"`
	Pos     obstat.Pos     `json:"pos,omitzero"`
}

// StatsOptions say how to count.
type StatsOptions struct {
	Buckets int                         // stretches of time; zero is 60
	Top     int                         // how many of a list; zero is 10
	Program *obstat.Program             // whose rules are looked for; nil: none
	Text    func(c *obstat.Call) string // the call in short, see [explain.TextOf]
}

// moment is when a decision fell, and how.
type moment struct {
	at      time.Time
	verdict string
}

// CountRecords adds the records up.
func CountRecords(records iter.Seq2[*ledger.Record, error], o *StatsOptions) (*Stats, error) {
	s := &Stats{V: 1, Verdicts: map[string]int{}, Answers: map[string]int{}}
	asked, denied, rules := map[string]int{}, map[string]int{}, map[string]int{}
	var moments []moment
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		s.Records++
		if s.From.IsZero() || r.Time.Before(s.From) {
			s.From = r.Time
		}
		if r.Time.After(s.To) {
			s.To = r.Time
		}
		switch r.Kind {
		case ledger.Answer:
			s.Answers[r.Verdict]++
		case ledger.Decision:
			s.Verdicts[r.Verdict]++
			moments = append(moments, moment{r.Time, r.Verdict})
			if r.Rule != "" {
				rules[r.Rule]++
			}
			call, more, err := r.Replayable()
			if err != nil {
				continue
			}
			switch text := o.Text(call); {
			case more.Said == obstat.Ask:
				asked[text]++
			case more.Said == obstat.Deny:
				denied[text]++
			}
		}
	}
	top := cmp.Or(o.Top, 10)
	s.Asked, s.Denied, s.Rules = most(asked, top), most(denied, top), most(rules, top)
	s.bucket(moments, cmp.Or(o.Buckets, 60))
	s.unused(o.Program, rules)
	return s, nil
}

// most returns the n largest counts.
func most(counts map[string]int, n int) []Count {
	out := make([]Count, 0, len(counts))
	for text, c := range counts {
		out = append(out, Count{text, c})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Text, b.Text)) })
	return out[:min(n, len(out))]
}

// bucket deals the decisions out to n stretches of the whole time.
func (s *Stats) bucket(moments []moment, n int) {
	s.Buckets = []Bucket{}
	if len(moments) == 0 {
		return
	}
	length := max(s.To.Sub(s.From)/time.Duration(n)+1, time.Millisecond)
	for i := range n {
		s.Buckets = append(s.Buckets, Bucket{s.From.Add(time.Duration(i) * length), map[string]int{}})
	}
	for _, m := range moments {
		s.Buckets[min(max(int(m.at.Sub(s.From)/length), 0), n-1)].Verdicts[m.verdict]++
	}
}

// unused finds the rules that decided nothing.
func (s *Stats) unused(p *obstat.Program, used map[string]int) {
	if p == nil {
		return
	}
	for _, list := range p.Rules {
		for i := range list {
			if r := &list[i]; r.Pos.IsValid() && used[r.String()] == 0 {
				s.Unused = append(s.Unused, Unused{r.String(), r.Verdict, r.Pos})
			}
		}
	}
	slices.SortFunc(s.Unused, func(a, b Unused) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Text, b.Text))
	})
	s.Unused = slices.Compact(s.Unused)
}
