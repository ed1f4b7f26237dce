package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/paths"
)

// An Exported is a policy of obstat.yaml in the language of an agent, so that the agent's own prompt agrees with
// obstat.
type Exported struct {
	V      int      `json:"v"`
	To     string   `json:"to"`
	File   string   `json:"file"`
	Text   string   `json:"text"`
	Said   int      `json:"said"`
	Unsaid []Unsaid `json:"unsaid"`
	// Looser are calls that a rule of the file decides more freely than obstat: none, since such rules are taken out.
	Looser []diff.Region `json:"looser"`
	// Alone are calls that the agent allows by itself, whatever the file says: Codex has no rules about files, and its
	// sandbox lets every command read; opencode puts no cd to its rules. obstat's hook decides them all the same.
	Alone []diff.Region `json:"alone"`
	// Asked counts regions that obstat denies and the agent asks about.
	Asked int `json:"asked"`
	// Added counts the rules that no sentence says: they ask where the agent would allow a call by its own word, or see
	// less of it than obstat.
	Added int `json:"added"`
	Tried int `json:"tried"`
}

// A Target is an agent's language.
type Target struct {
	Name    string // of its dialect
	Dialect dialect.Dialect
	Options map[string]string // of the dialect
	// File is where the agent looks for the policy.
	File string
	// Keys lead to the values of a JSON file that the export is about; none: to all of the file.
	Keys [][]any
	// Beside are further keys of that file that decide something, such as a mode.
	Beside [][]any
	// Tools are the agent's own; calls are made of these and of servers' tools.
	Tools []string
	// Refuses tells whether the agent refuses a call whatever its rules say; nil: none.
	Refuses func(*obstat.Call) bool
	// Rules writes one target of a sentence as rules; none where the language cannot say it.
	Rules func(v obstat.Verdict, verb, target string) []string
	// Paths writes several paths as rules; nil: as Rules writes each.
	Paths func(v obstat.Verdict, verb string, targets []string) []string
	// Close returns rules that ask about a call which the agent allows by itself; nil: the language has none.
	Close func(r *diff.Region) []string
	// Words: what the agent makes of the words of its rules is known from its program. The export is then proved without
	// obstat's floor, which the agent alone does not have.
	Words bool
	// Command writes a pattern of commands as a rule that asks; nil: the language has none.
	Command func(commands string) string
	// Text writes the file.
	Text func(rules []ExportRule, s *Sheet)
}

// An ExportRule is a rule of the export, and the sentence it says; none where it holds back the agent's own word.
type ExportRule struct {
	Verdict obstat.Verdict
	Text    string
	from    *obstat.Rule
	of      string // the part of the sentence, `run git push`
	except  bool   // it is an exception of an allow rule
	form    bool   // it asks about a form of commands
}

// A Sheet is the text of a file, with the line at which each rule begins.
type Sheet struct {
	strings.Builder
	lines int
	at    []int // the line of each rule that was written
	rules []ExportRule
}

func (s *Sheet) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.lines += strings.Count(text, "\n")
	s.WriteString(text)
}

// rule notes that a rule begins here.
func (s *Sheet) rule(r ExportRule) { s.at, s.rules = append(s.at, s.lines+1), append(s.rules, r) }

// on returns the rule that a line of the file belongs to.
func (s *Sheet) on(line int) (ExportRule, bool) {
	for i := len(s.at) - 1; i >= 0; i-- {
		if s.at[i] <= line {
			return s.rules[i], true
		}
	}
	return ExportRule{}, false
}

// An export is one that is under way.
type export struct {
	*Target
	l     *dialect.Loaded
	out   *Exported
	rules []ExportRule
	made  diff.Made
	list  []*obstat.Rule      // of the policy, each once
	named map[string][]string // the paths of its own places
	calls []*obstat.Call      // witnesses of what an agent may not see through
	asks  map[string]string   // by their inputs, the commands to ask about
	// beyond are calls that no pattern of commands can hold: an agent that puts no cd to its rules does not see where
	// the command behind it is. They are told, and cost no rule.
	beyond []*obstat.Call
}

// maxCloses bounds how often rules are taken out or added, and maxSearched how many calls are made up each time.
const (
	maxCloses   = 40
	maxSearched = 3_000
)

// Export writes a native policy in another language and proves it: calls are looked for that the agent would decide
// more freely. An allow rule that does so is taken out again, and calls that the agent allows by itself get a rule
// that asks.
func Export(l *dialect.Loaded, t *Target) (*Exported, error) {
	e := &export{Target: t, l: l, out: &Exported{V: 1, To: t.Dialect.Name(), File: t.File, Unsaid: []Unsaid{},
		Looser: []diff.Region{}, Alone: []diff.Region{}}}
	e.list, e.named = e.ruleList(), native.NamedPlaces(l.Input.Files)
	for _, r := range e.list {
		e.sentence(r)
	}
	options := maps.Clone(t.Options)
	if t.Words {
		s := e.subjects()
		e.unseen(&s)
		e.witnesses(&s)
		if options == nil {
			options = map[string]string{}
		}
		options[dialect.FloorOption] = "off"
	}
	for round := 0; ; round++ {
		sheet := &Sheet{}
		t.Text(e.rules, sheet)
		e.out.Text = sheet.String()
		there, err := dialect.Load(t.Dialect, &dialect.Input{Files: []dialect.File{{Name: t.File, Data: []byte(e.out.Text)}},
			Home: diff.Home, Options: options})
		if err != nil {
			return nil, fmt.Errorf("the file that was made does not load: %w", err)
		}
		rep := diff.Compare(l.Policy, there.Policy, &diff.Options{Limit: maxSearched + len(e.calls), Readable: true,
			Tools: t.Tools, Skip: t.Refuses, Made: &e.made, Calls: e.calls})
		e.out.Tried = rep.Tried
		if round < maxCloses && (e.shut(there.Policy, rep.Freer) || e.tighten(rep.Regions, sheet)) {
			continue
		}
		e.finish(rep.Regions)
		e.finishBeyond(there.Policy)
		return e.out, nil
	}
}

// finish sorts what is not said by its reason, counts the rules, and tells the regions apart that the file frees from
// those that the agent does.
func (e *export) finish(regions []diff.Region) {
	first := map[string]int{}
	for i, u := range e.out.Unsaid {
		if _, there := first[u.Why]; !there {
			first[u.Why] = i
		}
	}
	slices.SortStableFunc(e.out.Unsaid, func(a, b Unsaid) int { return cmp.Compare(first[a.Why], first[b.Why]) })
	for i := range e.rules {
		switch {
		case e.rules[i].from != nil:
			e.out.Said++
		case e.rules[i].Verdict == obstat.Ask && !e.rules[i].except:
			e.out.Added++
		}
	}
	for _, r := range regions {
		switch {
		case r.Looser && r.Now == obstat.Allow && r.NowBy.Pos.File == e.File:
			e.out.Looser = append(e.out.Looser, r)
		case r.Looser && r.Now == obstat.Allow:
			e.out.Alone = append(e.out.Alone, r)
		case r.Looser:
			e.out.Asked++
		}
	}
}

// finishBeyond notes those calls beyond all patterns that the agent allows.
func (e *export) finishBeyond(there *obstat.Policy) {
	rep := diff.Compare(e.l.Policy, there, &diff.Options{Only: true, Calls: e.beyond, Readable: true, Skip: e.Refuses})
	for _, r := range rep.Regions {
		if r.Looser && r.Now == obstat.Allow {
			e.out.Alone = append(e.out.Alone, r)
		}
	}
}

// ruleList returns the rules of the files in their order, each once.
func (e *export) ruleList() []*obstat.Rule {
	seen := map[string]bool{}
	var list []*obstat.Rule
	for name, rules := range e.l.Program.Rules {
		if slices.Contains(native.Implied, name) {
			continue
		}
		for i := range rules {
			r := &rules[i]
			key := r.Verdict.String() + r.Source
			if slices.Contains(e.l.Input.Names(), r.Pos.File) && !seen[key] {
				seen[key] = true
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b *obstat.Rule) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return list
}

// sentence makes the rules of one sentence. A condition, or an exception of a denial or an ask, is left out, which
// is stricter; an allow with a condition is left out itself, and its exceptions are asked about.
func (e *export) sentence(r *obstat.Rule) {
	p := Parts(r.Source)
	if r.Verdict == obstat.Allow && (p.Where != "" || conditional(r)) {
		e.unsaid(r, r.Source, "the language has no conditions")
		return
	}
	var except []ExportRule
	for verb := range p.eachVerb() {
		for _, target := range exceptionsOf(r, verb, &p) {
			asks := e.texts(obstat.Ask, verb, target)
			if r.Verdict == obstat.Allow && len(asks) == 0 {
				e.unsaid(r, r.Source, "the language has no word for its exception "+target)
				return
			}
			for _, text := range asks {
				except = append(except, ExportRule{Verdict: obstat.Ask, Text: text, except: true})
			}
		}
	}
	if r.Verdict == obstat.Allow {
		e.add(except...)
	}
	for verb := range p.eachVerb() {
		for _, target := range p.Targets {
			texts := e.texts(r.Verdict, verb, target)
			if len(texts) == 0 {
				e.unsaid(r, verb+" "+target, "the language has no such rule")
			}
			for _, text := range texts {
				e.add(ExportRule{Verdict: r.Verdict, Text: text, from: r, of: verb + " " + target})
			}
		}
	}
}

// texts writes one target of a sentence as rules, and all paths of a place of the policy's own.
func (e *export) texts(v obstat.Verdict, verb, target string) []string {
	switch {
	case target != "anything" && target != "anywhere":
	case verb == "connect":
		target = "anywhere"
	default:
		target = "anything"
	}
	own := e.named[target]
	if own == nil {
		return e.Rules(v, verb, target)
	}
	var out []string
	if e.Paths != nil {
		out, own = e.Paths(v, verb, own), nil
	}
	for _, t := range own {
		texts := e.Rules(v, verb, t)
		if len(texts) == 0 {
			return nil
		}
		out = append(out, texts...)
	}
	if target == "secrets" { // which has further paths by itself
		out = append(out, e.Rules(v, verb, target)...)
	}
	return out
}

// conditional tells whether a rule holds under some circumstances alone, by its `when:`.
func conditional(r *obstat.Rule) bool {
	return slices.ContainsFunc(r.If, func(c obstat.Cond) bool {
		return strings.HasPrefix(c.Field, "call.") || strings.HasPrefix(c.Field, "input.")
	})
}

// exceptionsOf returns the targets that a sentence leaves out; one that allows writing leaves agents' settings out
// unless it names them.
func exceptionsOf(r *obstat.Rule, verb string, p *Phrase) []string {
	guarded := slices.ContainsFunc(r.Except, func(c obstat.Cond) bool { return c.Field == "guarded" })
	if !guarded || r.Verdict != obstat.Allow || verb != "write" {
		return p.Except
	}
	return append(slices.Clone(p.Except), "settings")
}

func (e *export) unsaid(r *obstat.Rule, text, why string) {
	e.out.Unsaid = append(e.out.Unsaid, Unsaid{r.Verdict, text, r.Pos, why})
}

// add adds rules that are not there.
func (e *export) add(rules ...ExportRule) (added bool) {
	for _, r := range rules {
		same := func(o ExportRule) bool { return o.Verdict == r.Verdict && o.Text == r.Text }
		if !slices.ContainsFunc(e.rules, same) {
			e.rules, added = append(e.rules, r), true
		}
	}
	return added
}

func isSeparator(r rune) bool { return r == ' ' || r == ',' }

// tighten takes out allow rules that free a call, and adds rules for calls that the agent allows by itself; it
// returns false where there is nothing to do.
func (e *export) tighten(regions []diff.Region, sheet *Sheet) (changed bool) {
	for i := range regions {
		r := &regions[i]
		if !r.Looser || r.Now != obstat.Allow {
			continue
		}
		by, ours := sheet.on(r.NowBy.Pos.Line)
		switch {
		case r.NowBy.Pos.File == e.File && ours && by.Verdict == obstat.Allow:
			at := slices.Index(e.rules, by)
			if at < 0 {
				continue // by another of these regions
			}
			if e.narrow(by, r.Call) {
				changed = true
				continue
			}
			e.rules, changed = slices.Delete(e.rules, at, at+1), true
			e.unsaid(by.from, by.of, fmt.Sprintf("`%s` would also allow `%s`, which is %s",
				strings.NewReplacer("\n", ", ", "\t", " ").Replace(by.Text), explain.AsChecked(r.Call), past(r.Was)))
		case e.Close != nil:
			for _, text := range e.Close(r) {
				changed = e.add(ExportRule{Verdict: obstat.Ask, Text: text}) || changed
			}
		}
	}
	return changed
}

// placeTargets returns the paths of a place with a name, as obstat.yaml writes them; other targets are themselves.
func placeTargets(target string) []string {
	var list []string
	switch target {
	case "secrets":
		list = paths.Listed(func(e *paths.Entry) bool { return e.Secret })
	case "settings":
		list = paths.Listed(func(e *paths.Entry) bool { return e.Class == "agent-settings" || e.Class == "obstat" })
	case "temp":
		return []string{"/tmp/**", "/var/tmp/**"}
	case "home":
		return []string{"~/**"}
	default:
		return []string{target}
	}
	for i, p := range list {
		if below, ok := strings.CutSuffix(p, "/"); ok {
			p = below + "/**"
		}
		if !strings.HasPrefix(p, "/") {
			p = "**/" + p
		}
		list[i] = p
	}
	return list
}

// commandText returns the command of a target, `git push` or `exactly "a, b"`, without quotes around it.
func commandText(target string) (text string, exact bool) {
	text, exact = strings.CutPrefix(target, "exactly ")
	for _, q := range []string{`"`, "'"} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) && strings.Count(text, q) == 2 {
			return text[1 : len(text)-1], exact
		}
	}
	return text, exact
}
