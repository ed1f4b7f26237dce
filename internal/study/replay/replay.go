// Package replay decides the calls of a ledger again: under another policy, to see the changes
// before they are made, or under the same, to see that there are none. It also counts the records
// of a ledger.
//
// It owns the comparison and the counting. Files and links are taken from the record of a call, as
// they were then, so the answer does not hang on the machine of today. How it looks is the business of the
// face that shows it.
package replay

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/ledger"
)

// A Report compares a policy's answers with those that a ledger recorded.
type Report struct {
	V      int    `json:"v"`
	Policy string `json:"policy"` // digest
	Calls  int    `json:"calls"`
	Same   int    `json:"same"`
	// Flipped counts the calls that are decided otherwise, by how.
	Flipped map[string]int `json:"flipped"`
	Flips   []Flip         `json:"flips"`
	// Inexact counts calls that could be repeated only in part: something was
	// masked or is not in the record.
	Inexact int `json:"inexact"`
	// Drifted counts calls that this very policy decided otherwise before, which
	// means that the engine has changed.
	Drifted int `json:"drifted"`
	// Unreadable counts records of decisions that cannot be read as calls.
	Unreadable int `json:"unreadable,omitempty"`

	was *obstat.Policy // whose answers count as those of then; nil: the recorded ones
}

// A Flip is a call that another policy decides otherwise. Calls that are equal
// in everything that is shown are one Flip.
type Flip struct {
	Seq     uint64         `json:"seq"` // of the newest
	Time    time.Time      `json:"time"`
	Count   int            `json:"count"`
	Call    *obstat.Call   `json:"call"`
	Was     obstat.Verdict `json:"was"`     // the policy's verdict then
	Came    string         `json:"came"`    // the final outcome, with the humans' answer
	WasRule string         `json:"was_by"`  // the rule that decided then
	WasPos  obstat.Pos     `json:"was_pos"` //
	Now     obstat.Verdict `json:"now"`
	Rule    string         `json:"by,omitempty"`
	Pos     obstat.Pos     `json:"pos,omitzero"`
	Part    string         `json:"part,omitempty"`
	Reason  string         `json:"reason"`
	Partial string         `json:"partial,omitempty"` // why it may not be exact
}

// Way names how a call flips: "ask → allow".
func (f *Flip) Way() string { return f.Was.String() + " → " + f.Now.String() }

// maxFlips bounds how many different flips are listed; all are counted.
const maxFlips = 10_000

// Run decides the calls among the records by pol, and compares with the verdicts of then; where
// was is not nil, with those of was. Among the calls are those that asked and were not approved,
// where the records have the asks.
func Run(records iter.Seq2[*ledger.Record, error], pol, was *obstat.Policy) (*Report, error) {
	out := &Report{V: 1, Policy: pol.Digest(), Flipped: map[string]int{}, Flips: []Flip{}, was: was}
	seen := map[string]int{} // index of a flip
	for r, err := range Calls(records) {
		if err != nil {
			return nil, err
		}
		out.add(r, 1, pol, seen)
	}
	return out, nil
}

// A Counted is a record of a call that was made so often.
type Counted struct {
	Record *ledger.Record
	N      int
}

// RunCounted is [Run] for distinct calls, each with the record of one time that it was made.
func RunCounted(calls []Counted, pol, was *obstat.Policy) *Report {
	out := &Report{V: 1, Policy: pol.Digest(), Flipped: map[string]int{}, Flips: []Flip{}, was: was}
	seen := map[string]int{}
	for _, c := range calls {
		r := c.Record
		if r.Kind == ledger.Ask {
			r = decisionOf(r, obstat.Ask)
		}
		out.add(r, c.N, pol, seen)
	}
	return out
}

func (rep *Report) add(r *ledger.Record, n int, pol *obstat.Policy, seen map[string]int) {
	call, more, err := r.Replayable()
	if err != nil {
		rep.Unreadable += n
		return
	}
	rep.Calls += n
	partial := more.Partial
	var world obstat.World = r.World
	if r.World == nil {
		world = &obstat.Snapshot{}
		if partial == "" {
			partial = "what was seen of the machine was not written down"
		}
	}
	if partial != "" {
		rep.Inexact += n
	}
	if rep.was != nil {
		world = &obstat.Recorder{Of: world} // one analysis for both
	}
	d := pol.Decide(call, world)
	f := Flip{Seq: r.Seq, Time: r.Time, Count: n, Call: call, Was: more.Said, Came: r.Verdict, WasRule: r.Rule,
		WasPos: r.Pos,
		Now:    d.Verdict, Part: d.Part, Partial: partial}
	if rep.was != nil {
		f.before(rep.was.Decide(call, world))
	}
	if d.Verdict == f.Was {
		rep.Same += n
		return
	}
	if r.Policy == rep.Policy && partial == "" && rep.was == nil {
		rep.Drifted += n
	}
	f.Reason = d.Reason()
	if d.Rule != nil {
		f.Rule, f.Pos = d.Rule.String(), d.Rule.Pos
	}
	rep.Flipped[f.Way()] += n
	key := call.Tool + "\x00" + string(call.Input) + "\x00" + f.Way() + "\x00" + f.Reason
	if i, ok := seen[key]; ok {
		f.Count += rep.Flips[i].Count
		rep.Flips[i] = f
		return
	}
	if len(rep.Flips) < maxFlips {
		seen[key] = len(rep.Flips)
		rep.Flips = append(rep.Flips, f)
	}
}

// before makes d the decision that a flip is compared with.
func (f *Flip) before(d obstat.Decision) {
	f.Was, f.Came, f.WasRule, f.WasPos = d.Verdict, d.Verdict.String(), "", obstat.Pos{}
	if d.Rule != nil {
		f.WasRule, f.WasPos = d.Rule.String(), d.Rule.Pos
	}
}

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
	Kinds    []Kind         `json:"kinds"`    // of tools, the most used first
	// Unpredicted counts the paths that programs changed in confined runs and that were not known before.
	Unpredicted []Count `json:"unpredicted,omitempty"`
	// Unused are the rules of a policy that decided nothing.
	Unused []Unused `json:"unused,omitempty"`
}

// A Bucket is a stretch of time.
type Bucket struct {
	From     time.Time      `json:"from"`
	Verdicts map[string]int `json:"verdicts"`
	// P50 and P95 are how long half and 95 % of the decisions took at most; zero
	// where that was not written down.
	P50 time.Duration `json:"p50,omitempty"`
	P95 time.Duration `json:"p95,omitempty"`
}

// A Kind is how calls of one kind of tools came out: those of Bash, bash and run_shell_command are shell.
type Kind struct {
	Kind     string         `json:"kind"`
	N        int            `json:"n"`
	Verdicts map[string]int `json:"verdicts"`
	Outcomes map[string]int `json:"outcomes,omitempty"` // ran, failed, not run; as far as agents tell
}

// AddTool counts n calls of a tool with a verdict under its kind, or what became of them; see [Kinds].
func (k Kinds) AddTool(tool, verdict string, n int, outcome bool) {
	of := kindOf(k, tool)
	if outcome {
		of.Outcomes[verdict] += n
		return
	}
	of.N += n
	of.Verdicts[verdict] += n
}

// Kinds are counts by the kind of tools.
type Kinds map[string]*Kind

// Top returns the most used kinds.
func (k Kinds) Top(n int) []Kind { return byUse(k, n) }

// Top returns the n largest counts.
func Top(counts map[string]int, n int) []Count { return most(counts, n) }

// FindUnused fills in which rules of a program decided nothing.
func (s *Stats) FindUnused(p *obstat.Program, used map[string]int) { s.unused(p, used) }

// kindOf returns the counts of a tool's kind.
func kindOf(all map[string]*Kind, tool string) *Kind {
	name := effect.ToolKind(tool)
	if all[name] == nil {
		all[name] = &Kind{Kind: name, Verdicts: map[string]int{}, Outcomes: map[string]int{}}
	}
	return all[name]
}

// byUse returns the kinds, the most used first.
func byUse(all map[string]*Kind, top int) []Kind {
	out := []Kind{}
	for _, k := range all {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Kind) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Kind, b.Kind)) })
	return out[:min(len(out), top)]
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

// moment is when a decision fell, how, and how long it took.
type moment struct {
	at      time.Time
	verdict string
	took    time.Duration
}

// A tally is the counts under way.
type tally struct {
	*Stats
	text                 func(c *obstat.Call) string
	asked, denied, rules map[string]int
	kinds                map[string]*Kind
	unpredicted          map[string]int
	moments              []moment
}

// CountRecords adds the records up. An ask that no decision came of is counted as [Calls] has it.
func CountRecords(records iter.Seq2[*ledger.Record, error], o *StatsOptions) (*Stats, error) {
	s := &Stats{V: 1, Verdicts: map[string]int{}, Answers: map[string]int{}}
	t := &tally{Stats: s, text: o.Text, asked: map[string]int{}, denied: map[string]int{}, rules: map[string]int{},
		kinds: map[string]*Kind{}, unpredicted: map[string]int{}}
	var open asks
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
		case ledger.Outcome:
			kindOf(t.kinds, r.Tool).Outcomes[r.Verdict]++
			for _, u := range UnpredictedOf(r) {
				t.unpredicted[u.Program]++
			}
		}
		if call := open.call(r); call != nil {
			t.add(call)
		}
	}
	for _, r := range open.rest() {
		t.add(r)
	}
	top := cmp.Or(o.Top, 10)
	s.Asked, s.Denied, s.Rules = most(t.asked, top), most(t.denied, top), most(t.rules, top)
	s.Kinds, s.Unpredicted = byUse(t.kinds, top), most(t.unpredicted, top)
	s.bucket(t.moments, cmp.Or(o.Buckets, 60))
	s.unused(o.Program, t.rules)
	return s, nil
}

// add counts a decision.
func (t *tally) add(r *ledger.Record) {
	if r.Tool != "" {
		k := kindOf(t.kinds, r.Tool)
		k.N++
		k.Verdicts[r.Verdict]++
	}
	t.Verdicts[r.Verdict]++
	t.moments = append(t.moments, moment{r.Time, r.Verdict, time.Duration(r.Nanos)})
	if r.Rule != "" {
		t.rules[r.Rule]++
	}
	call, more, err := r.Replayable()
	if err != nil {
		return
	}
	switch text := t.text(call); {
	case more.Said == obstat.Ask:
		t.asked[text]++
	case more.Said == obstat.Deny:
		t.denied[text]++
	}
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
		s.Buckets = append(s.Buckets, Bucket{From: s.From.Add(time.Duration(i) * length), Verdicts: map[string]int{}})
	}
	took := make([][]time.Duration, n)
	for _, m := range moments {
		i := min(max(int(m.at.Sub(s.From)/length), 0), n-1)
		s.Buckets[i].Verdicts[m.verdict]++
		if m.took > 0 {
			took[i] = append(took[i], m.took)
		}
	}
	for i, all := range took {
		slices.Sort(all)
		if k := len(all); k > 0 {
			s.Buckets[i].P50, s.Buckets[i].P95 = all[k/2], all[min(k*95/100, k-1)]
		}
	}
}

// unused finds the rules that decided nothing.
func (s *Stats) unused(p *obstat.Program, used map[string]int) {
	if p == nil {
		return
	}
	for name, list := range p.Rules {
		for i := range list {
			if r := &list[i]; name != obstat.ListLimit && r.Pos.IsValid() && used[r.String()] == 0 {
				s.Unused = append(s.Unused, Unused{r.String(), r.Verdict, r.Pos})
			}
		}
	}
	slices.SortFunc(s.Unused, func(a, b Unused) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Text, b.Text))
	})
	s.Unused = slices.Compact(s.Unused)
}
