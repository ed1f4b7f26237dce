package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// A Change would turn the verdict. Each was tried: the changed policy was
// compiled, or the changed call decided.
type Change struct {
	Kind  string  `json:"kind"`  // call, narrow-rule, remove-rule, change-rule, add-rule, mode, accept, kept
	Words string  `json:"words"` // the advice, e.g. "take the rm out"
	Rules []*Rule `json:"rules,omitempty"`
	List  string  `json:"list,omitempty"` // where a rule would be added
	// Add are the rules to add as a Program writes them, where the file is one.
	Add     []json.RawMessage `json:"add,omitempty"`
	Mode    obstat.Mode       `json:"mode,omitempty"`
	Text    string            `json:"text,omitempty"`  // the call's text, or the rule's, changed
	Allow   []string          `json:"allow,omitempty"` // sentences to allow beside a changed rule
	Verdict obstat.Verdict    `json:"verdict"`         // the call's verdict after the change
	Also    []string          `json:"also,omitempty"`  // other recent calls that it would allow
}

// The kinds of change.
const (
	ChangeCall   = "call"
	ChangeNarrow = "narrow-rule" // the deciding rule leaves this call's targets out
	ChangeRemove = "remove-rule"
	ChangeLevel  = "change-rule" // an ask rule to allow
	ChangeAdd    = "add-rule"
	ChangeMode   = "mode"
	ChangeAccept = "accept" // the new rules of a project's files
	ChangeKept   = "kept"   // nothing: a hook keeps the call's changes, and allows it
)

// The bounds of the search.
const (
	maxTriedRules = 100_000 // a larger policy is not compiled again to try a change
	maxRemoved    = 4       // rules that are taken out together
	maxChanges    = 4       // changes that are returned
)

// changes returns the smallest changes that turn the verdict, those that turn
// it all the way first. None of them frees an interpreter, a shell or a wrapper:
// to allow those is to allow everything.
func (x *explainer) changes() []Change {
	var found []Change
	narrow := slices.Concat(x.changeCall(), x.addExact(), x.addOffers(), x.narrowRule())
	narrow = slices.DeleteFunc(narrow, func(c Change) bool { return !x.turns(c.Verdict) })
	for _, list := range [][]Change{narrow, x.removeRules(), x.changeMode()} {
		found = append(found, list...)
	}
	if len(found) == 0 {
		found = x.changeLevel()
	}
	found = slices.DeleteFunc(found, func(c Change) bool { return !x.turns(c.Verdict) || narrower(narrow, &c) })
	best := obstat.Allow
	if x.d.Verdict == obstat.Allow {
		best = obstat.Ask
	}
	slices.SortStableFunc(found, func(a, b Change) int { return rank(a, best) - rank(b, best) })
	return slices.Clip(found[:min(len(found), maxChanges)])
}

// narrower tells whether a change of the policy does as much as taking a whole rule out would, and less besides.
func narrower(narrow []Change, c *Change) bool {
	return c.Kind == ChangeRemove && slices.ContainsFunc(narrow, func(n Change) bool {
		return n.Kind != ChangeCall && n.Verdict >= c.Verdict
	})
}

func rank(c Change, best obstat.Verdict) int {
	if c.Verdict == best {
		return 0
	}
	return 1
}

// turns tells whether v would be news: looser than a deny or an ask, stricter
// than an allow.
func (x *explainer) turns(v obstat.Verdict) bool {
	if x.d.Verdict == obstat.Allow {
		return v < obstat.Allow
	}
	return v > x.d.Verdict
}

// outcome is the verdict of a changed policy or call, as the gate gives it.
type outcome struct {
	obstat.Verdict
	confined bool
}

// decide puts a call to a policy that was changed, or a changed call to the policy. Where the call asks by a rule,
// and after the change only since part of it cannot be known, the gate has the last word.
func (x *explainer) decide(pol *obstat.Policy, call *obstat.Call) outcome {
	d := pol.Decide(call, x.r.World)
	if d.Verdict == obstat.Ask && d.OnlyUnknown && !x.d.OnlyUnknown && x.r.Settle != nil {
		v := x.r.Settle(pol, call)
		return outcome{v, v == obstat.Allow}
	}
	return outcome{d.Verdict, false}
}

// words are the words of a change with this outcome.
func (o outcome) words(words string) string {
	if o.confined {
		return words + "; the rest runs confined"
	}
	return words
}

func (x *explainer) small() bool {
	n := 0
	for _, rules := range x.r.Program.Rules {
		n += len(rules)
	}
	return n <= maxTriedRules
}

// probes are commands that run their arguments, such as `sh -c %s`. %s is a text that no
// rule has been written for.
var probes = [...]string{"sh -c %s", "bash -c %s", "zsh -c %s", "python3 -c %s", "python -c %s", "node -e %s",
	"perl -e %s", "ruby -e %s", "php -r %s",
	"deno eval %s", "sudo %s", "env %s", "xargs %s", "eval %s", "ssh h %s", "docker run i %s", "npx %s", "find . -exec %s ;", "awk %s", "osascript -e %s"}

// frees tells whether pol allows an interpreter, shell or wrapper to run
// anything where the policy as it is does not.
func (x *explainer) frees(pol *obstat.Policy, mode obstat.Mode) bool {
	tools := map[string]string{}
	if field := x.commandField(); field != "" {
		tools[x.r.Call.Tool] = field
	} else if mode != x.r.Call.Mode { // another mode is another mode for every tool
		tools["Bash"], tools["bash"] = "command", "command"
	}
	for tool, field := range tools {
		for _, probe := range probes {
			c := *x.r.Call
			c.Tool, c.Subjects = tool, nil
			c.Input, _ = json.Marshal(map[string]string{field: fmt.Sprintf(probe, "obstat-probe")})
			was := x.r.Policy.Decide(&c, x.r.World).Verdict
			c.Mode = mode
			if was != obstat.Allow && pol.Decide(&c, x.r.World).Verdict == obstat.Allow {
				return true
			}
		}
	}
	return false
}

// removeRules takes the deciding rule out, and the next deciding one, until the
// verdict turns.
func (x *explainer) removeRules() []Change {
	if x.d.Rule == nil || len(x.d.Faults) > 0 || !x.small() {
		return nil
	}
	p, d := copyRules(x.r.Program), *x.d
	c := Change{Kind: ChangeRemove}
	for range maxRemoved {
		if d.Rule == nil || !x.writable(d.Rule) || !remove(p, d.Rule) {
			return nil
		}
		c.Rules = append(c.Rules, newRule(d.Rule))
		pol, err := obstat.Compile(p, &obstat.Options{Library: x.r.Library})
		if err != nil || x.frees(pol, x.r.Call.Mode) {
			return nil
		}
		if o := x.decide(pol, x.r.Call); x.turns(o.Verdict) {
			c.Verdict, c.Words = o.Verdict, o.words(removeWords(c.Rules))
			return []Change{c}
		}
		d = pol.Decide(x.r.Call, x.r.World)
	}
	return nil
}

// narrowRule lets the rules that decide leave this call's targets out, `delete anything except ./build`, and allows
// those besides where that alone does not turn it all the way.
func (x *explainer) narrowRule() (out []Change) {
	if x.r.Narrow == nil || x.d.Rule == nil || x.d.Verdict == obstat.Allow || len(x.d.Faults) > 0 || !x.small() {
		return nil
	}
	n := x.r.Narrow(x.d)
	if n == nil || !x.allWritable(n.Rules) {
		return nil
	}
	c := Change{Kind: ChangeNarrow, Text: strings.Join(n.Texts, "\n")}
	var words []string
	for i, r := range n.Rules {
		c.Rules = append(c.Rules, newRule(r))
		words = append(words, fmt.Sprintf("%s (%s) to: %s", r, r.Pos, n.Texts[i]))
	}
	changed := "change " + strings.Join(words, ", and ")
	tried := [][]obstat.Offer{nil, x.needed(n, n.Offers), x.needed(n, slices.Concat(n.Offers, n.Rest))}
	for _, some := range tried {
		pol, err := n.With(some...)
		if err != nil || x.frees(pol, x.r.Call.Mode) {
			return out
		}
		c.Words, c.Allow = changed, nil
		for i := range some {
			c.Allow = append(c.Allow, offerText(&some[i]))
		}
		if len(some) > 0 {
			c.Words += ", and allow " + strings.Join(c.Allow, ", ")
		}
		o := x.decide(pol, x.r.Call)
		c.Verdict, c.Words = o.Verdict, o.words(c.Words)
		if x.turns(c.Verdict) && (len(out) == 0 || c.Verdict > out[0].Verdict) {
			out = append(out, c)
		}
		if c.Verdict == obstat.Allow {
			break
		}
	}
	return out
}

// needed returns those offers without which the call is not allowed by a narrowing, nil where all of them do not do it.
func (x *explainer) needed(n *Narrowing, out []obstat.Offer) []obstat.Offer {
	allows := func(offers []obstat.Offer) bool {
		pol, err := n.With(offers...)
		return err == nil && x.decide(pol, x.r.Call).Verdict == obstat.Allow
	}
	if len(out) == 0 || !allows(out) {
		return nil
	}
	for i := len(out) - 1; i >= 0; i-- {
		if without := slices.Delete(slices.Clone(out), i, i+1); allows(without) {
			out = without
		}
	}
	return out
}

// changeLevel lets the rule that asks allow, where nothing smaller helps: opencode's
// "webfetch": "ask" takes no patterns beside it.
func (x *explainer) changeLevel() []Change {
	gone := x.d.Rule
	asks := x.d.Verdict == obstat.Ask && gone != nil && gone.Verdict == obstat.Ask
	if !asks || !gone.Pos.IsValid() || len(x.d.Faults) > 0 || !x.small() || !x.writable(gone) {
		return nil
	}
	p := copyRules(x.r.Program)
	for _, rules := range p.Rules {
		for i := range rules {
			if rules[i].Pos == gone.Pos { // one line may stand in several lists
				rules[i].Verdict = obstat.Allow
			}
		}
	}
	pol, err := obstat.Compile(p, &obstat.Options{Library: x.r.Library})
	if err != nil || x.frees(pol, x.r.Call.Mode) {
		return nil
	}
	d := pol.Decide(x.r.Call, x.r.World)
	return []Change{{Kind: ChangeLevel, Rules: []*Rule{newRule(x.d.Rule)}, Verdict: d.Verdict,
		Words: fmt.Sprintf("change ask rule %s (%s) to allow", x.d.Rule, x.d.Rule.Pos)}}
}

func (x *explainer) allWritable(rules []*obstat.Rule) bool {
	return !slices.ContainsFunc(rules, func(r *obstat.Rule) bool { return !x.writable(r) })
}

// writable tells whether a rule stands in a file of the user's.
func (x *explainer) writable(r *obstat.Rule) bool {
	return x.r.Files == nil || slices.Contains(x.r.Files, r.Pos.File)
}

func removeWords(rules []*Rule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = fmt.Sprintf("%s rule %s", r.Verdict, r.Text)
		if r.Pos.IsValid() {
			texts[i] += " (" + r.Pos.String() + ")"
		}
	}
	return "take out " + strings.Join(texts, " and ")
}

// copyRules returns p with rule lists that can be changed.
func copyRules(p *obstat.Program) *obstat.Program {
	q := *p
	q.Rules = make(map[string][]obstat.Rule, len(p.Rules))
	for name, rules := range p.Rules {
		q.Rules[name] = slices.Clone(rules)
	}
	return &q
}

// remove takes every rule that is written where r is out of p: one line of a file may be
// several rules, and stand in several lists.
func remove(p *obstat.Program, r *obstat.Rule) (found bool) {
	gone := *r
	for name, rules := range p.Rules {
		rest := slices.DeleteFunc(rules, func(o obstat.Rule) bool {
			return o.Pos == gone.Pos &&
				(gone.Pos.Line > 0 || o.Same(&gone))
		})
		found = found || len(rest) < len(rules)
		p.Rules[name] = rest
	}
	return found
}

// changeMode tries the Program's other modes.
func (x *explainer) changeMode() []Change {
	if x.d.Verdict == obstat.Allow {
		return nil // another mode is too much for stopping one call
	}
	var out []Change
	for _, mode := range slices.Sorted(maps.Keys(x.r.Program.Pipelines)) {
		if mode == x.d.Mode {
			continue
		}
		c := *x.r.Call
		c.Mode = mode
		d := x.r.Policy.Decide(&c, x.r.World)
		if x.turns(d.Verdict) && !x.frees(x.r.Policy, mode) {
			out = append(out, Change{Kind: ChangeMode, Mode: mode, Verdict: d.Verdict, Words: "use mode " + string(mode)})
		}
	}
	return out
}
