package gate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/policy"
)

// A limit is a line of `limit:` in force, and the key that its calls are counted by.
type limit struct {
	native.Limit
	key string
}

// id tells the counts of limits apart that share a key.
func (l *limit) id() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.Rule.Source)) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// A reached limit is one whose number of calls has been made.
type reached struct {
	limit
	why string
}

// limits returns the limits of all policies in force: one that is new, or that a person has not yet agreed to lose,
// holds as well. Of a day, a project's own limit counts the calls there, and the user's those of all projects.
func (j *judged) limits(c *obstat.Call) (out []limit) {
	for _, f := range j.line {
		for _, p := range f.Policies {
			for _, l := range native.LimitsOf(p.Program) {
				out = append(out, limit{l, keyOfLimit(&l, p, c)})
			}
		}
	}
	return out
}

func keyOfLimit(l *native.Limit, p *policy.Policy, c *obstat.Call) string {
	if l.Per == native.PerDay {
		return "day\x00" + c.Agent + "\x00" + p.Place
	}
	return "calls\x00" + sessionOf(c)
}

// count holds a call that is not denied to the limits, and counts it unless look is set: it was counted before, or is
// only tried. Past a limit it asks, which no grant settles, or is denied. Counting and comparing is one step, so that
// of two calls at once only one is the last.
func (p *passage) count(look bool) {
	if p.j.Verdict == obstat.Deny || len(p.j.Faults) > 0 {
		return
	}
	for key, of := range byKey(p.j.limits(p.call)) {
		p.reached = append(p.reached, p.g.counted(key, of, p.use(), look)...)
	}
	p.hold()
}

// recount holds a call that is put again to the limits that it had reached.
func (p *passage) recount(old *putCall) {
	if p.j.Verdict != obstat.Deny && len(p.j.Faults) == 0 {
		p.reached = old.reached
		p.hold()
	}
}

// hold tightens the judgement by the limits that are reached, the strictest first.
func (p *passage) hold() {
	if len(p.reached) == 0 {
		return
	}
	first := slices.MinFunc(p.reached, func(a, b reached) int {
		return cmp.Or(cmp.Compare(a.Rule.Verdict, b.Rule.Verdict), cmp.Compare(a.Rule.Source, b.Rule.Source))
	})
	d := &p.j.Decision
	if first.Rule.Verdict == obstat.Deny {
		*d = d.Refuse(obstat.By{Kind: obstat.ByRule, Note: first.why})
		d.Rule, d.Stage, d.Note = first.Rule, obstat.ListLimit, first.why
		return
	}
	p.j.doubted(first.why)
	d.Rule, d.Stage, d.By, d.Note = first.Rule, obstat.ListLimit, obstat.By{Kind: obstat.ByRule}, first.why
}

func byKey(all []limit) map[string][]limit {
	if len(all) == 0 { // as of most policies
		return nil
	}
	out := map[string][]limit{}
	for _, l := range all {
		out[l.key] = append(out[l.key], l)
	}
	return out
}

// counted returns the limits of one key that are reached, and counts the call unless one of them denies it or look is
// set. Where the count cannot be read or written, every limit is reached.
func (g *Gate) counted(key string, of []limit, u use, look bool) (out []reached) {
	err := g.opts.Sessions.Tally(key, func(text []byte) []byte {
		kept, uses := readUses(text, key, u.at)
		out = nil // where another server counted meanwhile, it is called again
		denied := false
		for _, l := range of {
			if kind := unitKinds[l.Unit]; kind != 0 && !u.is(kind) {
				continue // asks are counted when a person is asked
			}
			if n := l.made(uses, u); n >= l.Most {
				out = append(out, reached{l, l.words(n)})
				denied = denied || l.Rule.Verdict == obstat.Deny
			}
		}
		if look || denied {
			return text
		}
		return append(kept, u.String()...)
	})
	if err == nil {
		return out
	}
	out = nil
	unit := native.Calls
	if u.is(useAsk) {
		unit = native.Asks
	}
	for _, l := range of {
		out = append(out, reached{l, "how many " + unit + " there were cannot be told: " + err.Error()})
	}
	return out
}

// Limits returns the limits that hold for a call, each with how much of it is used: `200 calls per session: 37`.
func (g *Gate) Limits(ctx context.Context, call *obstat.Call) (out []string) {
	c := *call
	p := &passage{call: &c, began: time.Now(), j: g.judge(ctx, &c, g.world(), "")}
	digest := c.Digest()
	p.digest = hex.EncodeToString(digest[:])
	for _, l := range p.j.limits(&c) {
		used := "not known"
		_ = g.opts.Sessions.Tally(l.key, func(text []byte) []byte {
			_, uses := readUses(text, l.key, p.began)
			used = strconv.Itoa(l.made(uses, p.use()))
			return text
		})
		if text := l.Rule.Source + ": " + used; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// spentAsks returns the limit of asks that is reached, nil where a person may be asked; the ask is counted then.
func (p *passage) spentAsks() *reached {
	asks := slices.DeleteFunc(p.j.limits(p.call), func(l limit) bool { return l.Unit != native.Asks })
	u := use{at: time.Now(), kinds: string(useAsk), digest: short(p.digest)}
	for key, of := range byKey(asks) {
		if out := p.g.counted(key, of, u, false); len(out) > 0 {
			return &out[0]
		}
	}
	return nil
}

// renew begins the counts anew of the limits that a person has let a call pass.
func (p *passage) renew(d *obstat.Decision) {
	for i := range p.reached {
		r := &p.reached[i]
		switch d.Verdict {
		case obstat.Allow:
			_ = p.g.begun(r.key, r.id()) // else it asks again
		case obstat.Ask: // the agent asks by itself, and tells the outcome
			to := base64.RawURLEncoding.EncodeToString([]byte(r.key))
			p.g.note("calls\x00"+sessionOf(p.call), use{at: time.Now(), kinds: string(useWaits), digest: short(p.digest),
				more: r.id() + " " + to})
		}
	}
}

// ran begins counts anew for a call that ran after its agent had asked a person because of a limit.
func (g *Gate) ran(c *obstat.Call) {
	key, digest := "calls\x00"+sessionOf(c), short(c.DigestText())
	var waits []string
	_ = g.opts.Sessions.Tally(key, func(text []byte) []byte {
		_, uses := readUses(text, key, time.Now())
		waits = nil
		for _, u := range uses {
			switch {
			case u.is(useWaits) && u.digest == digest:
				waits = append(waits, u.more)
			case u.is(useRan) && u.digest == digest:
				waits = nil
			}
		}
		if waits == nil {
			return text
		}
		return append(text, use{at: time.Now(), kinds: string(useRan), digest: digest}.String()...)
	})
	for _, w := range waits {
		id, to, _ := strings.Cut(w, " ")
		if of, err := base64.RawURLEncoding.DecodeString(to); err == nil {
			_ = g.begun(string(of), id)
		}
	}
}

func (g *Gate) begun(key, id string) error {
	return g.note(key, use{at: time.Now(), kinds: string(useAnew), digest: "-", more: id})
}

func (g *Gate) note(key string, u use) error {
	return g.opts.Sessions.Tally(key, func(text []byte) []byte { return append(text, u.String()...) })
}

// The letters of uses.
const (
	useCall    = 'c'
	useWrite   = 'w'
	useConnect = 'n'
	useAsk     = 'a'
	useAnew    = 'r' // a count begins anew; more is the limit's id
	useWaits   = 'p' // the agent asks a person; more is the limit's id and key
	useRan     = 'd' // and the call ran
)

var unitKinds = map[string]rune{native.Calls: useCall, native.Writes: useWrite, native.Connections: useConnect,
	native.Asks: useAsk}

// A use is one line of a tally: `1763460000 cw 1f2e3d4c`.
type use struct {
	at     time.Time
	kinds  string
	digest string
	more   string
}

func (u use) is(kind rune) bool { return strings.ContainsRune(u.kinds, kind) }

func (u use) String() string {
	return strings.TrimRight(fmt.Sprintf("%d %s %s %s", u.at.Unix(), u.kinds, u.digest, u.more), " ") + "\n"
}

// use returns the line of the passage's call. Code that cannot be looked into counts as a call alone.
func (p *passage) use() use {
	u := use{at: p.began, kinds: string(useCall), digest: short(p.digest)}
	a := p.j.world.Analysis(p.call)
	has := func(kinds ...effect.Kind) bool {
		return slices.ContainsFunc(a.Effects, func(e effect.Effect) bool {
			return !e.Harmless && slices.Contains(kinds, e.Kind)
		})
	}
	if has(effect.Write, effect.Delete) {
		u.kinds += string(useWrite)
	}
	if has(effect.Connect) {
		u.kinds += string(useConnect)
	}
	return u
}

func short(digest string) string { return digest[:min(16, len(digest))] }

// readUses reads a tally. kept is the part of it that still counts: of a day's, the lines since the latest day began
// that any line or now is of, so that a clock that goes back stays in the later day.
func readUses(text []byte, key string, now time.Time) (kept []byte, uses []use) {
	daily := strings.HasPrefix(key, "day\x00")
	day, start := "", 0
	for at := 0; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		u, ok := readUse(string(line))
		if of := u.at.Format(time.DateOnly); ok && daily && of > day {
			day, start, uses = of, at, nil
		}
		if ok {
			uses = append(uses, u)
		}
		at += len(line) + 1
	}
	if daily && now.Format(time.DateOnly) > day {
		return nil, nil
	}
	return text[start:], uses
}

func readUse(line string) (u use, ok bool) {
	words := strings.SplitN(line, " ", 4)
	if len(words) < 3 {
		return u, false
	}
	sec, err := strconv.ParseInt(words[0], 10, 64)
	u = use{at: time.Unix(sec, 0), kinds: words[1], digest: words[2]}
	if len(words) == 4 {
		u.more = words[3]
	}
	return u, err == nil
}

// made returns how much of the limit's unit there was since its count began.
func (l *limit) made(uses []use, next use) (n int) {
	for i, u := range slices.Backward(uses) {
		if u.is(useAnew) && u.more == l.id() {
			uses = uses[i+1:]
			break
		}
	}
	switch l.Unit {
	case native.Minutes:
		return int(spent(uses, next.at).Minutes())
	case native.Equal:
		for _, u := range slices.Backward(uses) {
			if u.is(useCall) && u.digest != next.digest {
				break
			}
			if u.is(useCall) {
				n++
			}
		}
		return n
	}
	for _, u := range uses {
		if u.is(unitKinds[l.Unit]) {
			n++
		}
	}
	return n
}

// spent adds up the time from call to call. A clock that goes back adds nothing, and takes nothing away.
func spent(uses []use, now time.Time) (sum time.Duration) {
	for i, u := range uses {
		next := now
		if i+1 < len(uses) {
			next = uses[i+1].at
		}
		sum += max(0, next.Sub(u.at))
	}
	return sum
}

// words tell the model why, and what to do instead.
func (l *limit) words(n int) string {
	done := fmt.Sprintf("%d %s were made", n, l.Unit)
	instead := "the count begins anew once a person approves"
	switch {
	case l.Unit == native.Equal:
		done = fmt.Sprintf("this very call was made %d times in a row", n)
		instead = "do something else, or tell the user where you are stuck"
	case l.Unit == native.Minutes:
		done = fmt.Sprintf("%d minutes are over", n)
	case l.Unit == native.Asks:
		done = fmt.Sprintf("a person was asked %d times", n)
	}
	if l.Unit != native.Equal && l.Rule.Verdict == obstat.Deny {
		instead = "end your work here, and tell the user how far you got"
	}
	if l.Per != "" {
		done += " this " + l.Per
	}
	return "the limit is reached: " + strings.Replace(done, "this day", "today", 1) + "; " + instead
}
