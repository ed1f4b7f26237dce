package native

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// whenFields returns the keys below `when`: one for each circumstance that has one.
func whenFields() (out []tree.Field) {
	for at := range obstat.Circumstances() {
		if at.When == "" {
			continue
		}
		f := tree.Field{Name: at.When, Kinds: []tree.Kind{tree.String, tree.Array}}
		if slices.Contains(at.Words, "true") {
			f.Kinds = append(f.Kinds, tree.Bool)
		}
		out = append(out, f)
	}
	return out
}

// when reads the conditions on the circumstances of a call.
func (l *loader) when(r *rule, n *tree.Node) {
	if !n.Is(tree.Object) {
		return
	}
	l.fields(n, whenFields())
	for at := range obstat.Circumstances() {
		if at.When == "" {
			continue
		}
		switch value := n.Get(at.When); at.Compare {
		case obstat.CompareClock:
			l.hours(r, &at, value)
		case obstat.CompareDay:
			l.days(r, &at, value)
		default:
			l.whenText(r, &at, value)
		}
	}
}

// details reads the keys of a rule beside its sentence.
func (l *loader) details(r *rule, n *tree.Node) {
	r.reason = n.Get("reason").Text()
	if name := n.Get("name"); name.Is(tree.String) {
		switch old := l.names[name.Str]; {
		case !isName(name.Str):
			l.r.Fail(name, obstat.CodeBadValue, "a rule's name is small letters, digits and -", "%q cannot name a rule",
				name.Str)
		case old != nil:
			e := l.r.Fail(name, obstat.CodeDuplicateKey, "give one of them another name", "two rules are called %s", name.Str)
			e.Also = append(e.Also, old.pos)
		default:
			r.name = name.Str
			l.names[name.Str] = r
		}
	}
	l.when(r, n.Get("when"))
	l.until(r, n.Get("until"))
	switch after := n.Get("after"); {
	case after.Is(tree.String):
		r.after = []*tree.Node{after}
	case after.Is(tree.Array):
		r.after = l.texts(after, "after")
	}
	l.over(r, n.Get("over"))
	r.examples = n.Get("examples").Items()
	l.exampleShapes(r.examples)
}

// over reads `over: auto-mode`. A word that is not known outranks nothing, and is warned about: the
// rule is as strict as without it.
func (l *loader) over(r *rule, n *tree.Node) {
	words := (obstat.OverAutoMode | obstat.OverReviewer).Words()
	for _, e := range l.texts(n, "over") {
		word, ok := obstat.ParseOver(e.Str)
		switch {
		case !ok || !slices.Contains(words, e.Str):
			hint := dialect.Near(e.Str, words...)
			l.r.Warn(e, obstat.CodeUnknownName, or(hint, hintFor(`"over"`)),
				"there is nothing called %q that a rule outranks: it counts as if it were not there", e.Str)
		case r.verdict != obstat.Allow:
			l.r.Warn(e, obstat.CodeNoEffect, "take `over` out",
				"only an allow rule outranks something: a denial or a question stands in every agent anyway")
		default:
			r.over |= word
		}
	}
}

// texts returns a text, or the texts of a list.
func (l *loader) texts(n *tree.Node, what string) []*tree.Node {
	switch {
	case n == nil:
		return nil
	case n.Is(tree.String):
		return []*tree.Node{n}
	case n.Is(tree.Bool):
		word := *n
		word.Kind, word.Str = tree.String, strconv.FormatBool(n.Bool)
		return []*tree.Node{&word}
	case n.Is(tree.Array) && len(n.Elems) == 0:
		l.r.Fail(n, obstat.CodeBadValue, "name one, or take the key out", "%s names nothing: the rule could never apply",
			what)
		return nil
	case n.Is(tree.Array):
		out, problems := n.Strings(what)
		for i := range problems {
			problems[i].Hint = hintFor(`"` + what + `"`)
		}
		l.r.Add(problems...)
		return out
	}
	return nil // which was reported
}

// whenText reads `agent: codex`, `branch: [main, release/*]` and `branch: not main`.
func (l *loader) whenText(r *rule, at *obstat.Circumstance, n *tree.Node) {
	yes, no := obstat.Cond{Field: at.Field()}, obstat.Cond{Field: at.Field(), Not: true}
	for _, e := range l.texts(n, at.When) {
		name, not := strings.CutPrefix(e.Str, "not ")
		if name = strings.TrimSpace(name); name == "" {
			l.r.Fail(e, obstat.CodeBadValue, "name it, or take the key out", "%s is empty", at.When)
			continue
		}
		if at.Words != nil && !strings.Contains(name, "*") && !slices.Contains(at.Words, name) {
			hint := or(dialect.Near(name, at.Words...), at.Says+" "+strings.Join(at.Words, ", "))
			l.r.Fail(e, obstat.CodeBadValue, hint, "there is no %s %q", at.Name, name)
			continue
		}
		t := glued(name)
		if name == "*" {
			t = obstat.Text{Flavour: pattern.Fnmatch, Text: "?*"}
		}
		if not {
			no.Any = append(no.Any, t)
		} else {
			yes.Any = append(yes.Any, t)
			r.reversible = r.reversible || at.Name == "reversible" && name == "true"
			r.suppose(at, strings.ReplaceAll(name, "*", "x"))
		}
		if at.Name == "mode" && !strings.Contains(name, "*") && !slices.Contains(l.modes, name) {
			l.modes = append(l.modes, name)
		}
	}
	if len(yes.Any) > 0 && !possible([]obstat.Cond{yes, no}) {
		l.r.Fail(n, obstat.CodeNoEffect, "take one of them out", "the rule could never apply: no %s is all of this", at.When)
	}
	for _, c := range []obstat.Cond{yes, no} {
		if len(c.Any) > 0 {
			r.conds = append(r.conds, c)
		}
	}
}

// suppose lets the examples of a rule be calls under one of its conditions.
func (r *rule) suppose(at *obstat.Circumstance, text string) {
	if at.Values(&r.sample) == nil {
		at.Set(&r.sample, text)
	}
}

func order(text string) obstat.Text { return obstat.Text{Flavour: pattern.Order, Text: text} }

// hours reads `time: 09:00-17:00`, which may go past midnight.
func (l *loader) hours(r *rule, at *obstat.Circumstance, n *tree.Node) {
	c := obstat.Cond{Field: at.Field()}
	for _, e := range l.texts(n, at.When) {
		from, to, ok := strings.Cut(e.Str, "-")
		a, err1 := time.Parse("15:04", strings.TrimSpace(from))
		b, err2 := time.Parse("15:04", strings.TrimSpace(to))
		if !ok || err1 != nil || err2 != nil || a.Equal(b) {
			l.r.Fail(e, obstat.CodeBadValue, "write `time: 09:00-17:00`", "%q is no part of a day", e.Str)
			continue
		}
		from, to = a.Format("15:04"), b.Format("15:04")
		if len(c.Any) == 0 {
			r.sample.Time = exampleTime(0, a.Hour(), a.Minute())
		}
		if a.Before(b) {
			c.Any = append(c.Any, between(from, to))
		} else {
			c.Any = append(c.Any, order(">="+from), order("<"+to))
		}
	}
	if len(c.Any) > 0 {
		r.conds = append(r.conds, c)
	}
}

// between is the times of a day from one to another.
func between(from, to string) obstat.Text { return order(">=" + from + "<" + to) }

var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// days reads `days: mon-fri` and `days: [sat, sun]`.
func (l *loader) days(r *rule, at *obstat.Circumstance, n *tree.Node) {
	c := obstat.Cond{Field: at.Field()}
	for _, e := range l.texts(n, at.When) {
		from, to, span := strings.Cut(strings.ToLower(e.Str), "-")
		if !span {
			to = from
		}
		i, j := slices.Index(weekdays, strings.TrimSpace(from)), slices.Index(weekdays, strings.TrimSpace(to))
		if i < 0 || j < 0 {
			l.r.Fail(e, obstat.CodeBadValue, "the days are "+strings.Join(weekdays, ", ")+", or `mon-fri`", "%q is no day",
				e.Str)
			continue
		}
		if len(c.Any) == 0 {
			hour, minute := 12, 0
			if at := r.sample.Time; !at.IsZero() {
				hour, minute = at.Hour(), at.Minute()
			}
			r.sample.Time = exampleTime(i, hour, minute)
		}
		for ; ; i = (i + 1) % len(weekdays) {
			if c.Any = append(c.Any, obstat.Is(weekdays[i])); i == j {
				break
			}
		}
	}
	if len(c.Any) > 0 {
		r.conds = append(r.conds, c)
	}
}

// until reads `until: 2026-12-31`, the last day on which the rule counts, or a time.
func (l *loader) until(r *rule, n *tree.Node) {
	if !n.Is(tree.String) {
		return
	}
	end, err := time.Parse(time.RFC3339, n.Str)
	if err != nil {
		if end, err = time.Parse("2006-01-02", n.Str); err == nil {
			end = end.AddDate(0, 0, 1)
		}
	}
	at := l.r.Pos(n)
	l.r.Errs = slices.DeleteFunc(l.r.Errs, func(e *obstat.Error) bool { // YAML has two words for a day
		return e.Warning && e.Code == obstat.CodeRisky && e.Pos == at
	})
	if err != nil {
		l.r.Fail(n, obstat.CodeBadValue, "write `until: 2026-12-31`, the last day, or a time such as 2026-12-31T18:00:00Z",
			"%q is no day", n.Str)
		return
	}
	r.conds = append(r.conds,
		obstat.Cond{Field: "call.time", Any: []obstat.Text{order("<" + end.UTC().Format("2006-01-02T15:04:05Z"))}})
}

// predicates reads the conditions on a tool's input.
func (l *loader) predicates(r *rule) {
	for _, p := range r.s.where {
		switch {
		case p.manner != "":
			l.manner(r, &p)
			continue
		case r.s.verbs[0] != "tool":
			l.at(r, mistake{p.at, "where input is of a tool",
				"write `tool NAME where input.field is value`; of a command, `run git push where force`"})
			continue
		case !isInputField(p.field):
			l.at(r, mistake{p.at, fmt.Sprintf("%q is no field of an input", p.field),
				"write `input.table`, `input.options.limit` or, of each element of a list, `input.rows[].name`"})
			continue
		}
		c := obstat.Cond{Field: p.field, Not: p.not}
		for _, v := range p.values {
			t := value(&p, v)
			if _, err := pattern.Compile(t.Flavour, t.Text); err != nil {
				l.at(r, mistake{v.at, fmt.Sprintf("%q: %v", v.text, err), "compare with a number or a text"})
				continue
			}
			c.Any = append(c.Any, t)
		}
		same := []obstat.Cond{c}
		for _, o := range r.conds {
			if o.Field == c.Field {
				same = append(same, o)
			}
		}
		if len(same) > 1 && !strings.Contains(c.Field, "[]") && !possible(same) {
			l.at(r, mistake{p.at, fmt.Sprintf("the rule could never apply: no %s is all that the rule wants of it", c.Field),
				"write a rule for each, or `in [...]`"})
		}
		r.conds = append(r.conds, c)
	}
}

// manner reads `where force` and `where not dry-run` of a rule for commands. In doubt an allow rule does not count, a
// deny or ask rule asks, see maybes.
func (l *loader) manner(r *rule, p *predicate) {
	if r.s.verbs[0] != "run" || len(r.s.verbs) > 1 {
		l.at(r, mistake{p.at, p.manner + " is how a command runs", "write `run git push where " + p.manner + "`"})
		return
	}
	c := obstat.Cond{Field: fieldManner, Any: []obstat.Text{obstat.Is(p.manner)}, Not: p.not}
	if p.not && r.verdict == obstat.Allow {
		c.Any = append(c.Any, obstat.Is(mannerMaybe+p.manner))
	}
	if slices.ContainsFunc(r.conds, func(o obstat.Cond) bool {
		return o.Field == c.Field && o.Any[0] == c.Any[0] && o.Not != c.Not
	}) {
		l.at(r, mistake{p.at, "the rule could never apply: no command is " + p.manner + " and is not",
			"take one of them out"})
	}
	r.conds = append(r.conds, c)
}

// isInputField tells whether a text names a field of an input: `input.rows[].name`.
func isInputField(text string) bool {
	path, ok := strings.CutPrefix(text, "input.")
	return ok && !slices.Contains(strings.Split(strings.ReplaceAll(path, "[]", ""), "."), "")
}

// value returns the text that a field is compared with. Numbers, true, false and null mean the same as in JSON,
// unless they stand in quotes.
func value(p *predicate, v phrase) obstat.Text {
	if p.op != "is" && p.op != "in" {
		if p.op == "like" {
			return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + star(v.text, ".*")}
		}
		return order(p.op + v.text)
	}
	if _, err := pattern.Compile(pattern.JSON, v.text); err == nil && !v.quoted && v.text[0] != '"' {
		return obstat.Text{Flavour: pattern.JSON, Text: v.text}
	}
	return obstat.Text{Flavour: pattern.JSON, Text: jsonx.Quote(v.text)}
}

// A marked is a sentence that `after` names, and its mark.
type marked struct {
	id string
	r  *rule
}

// link reads the `after` of rules, once all names are known.
func (l *loader) link() {
	for _, r := range l.rules {
		c := obstat.Cond{Field: "call.after"}
		for _, n := range r.after {
			if id := l.mark(r, n); id != "" {
				c.Any = append(c.Any, obstat.Is(id))
				r.sample.After = []string{id}
			}
		}
		if len(c.Any) > 0 {
			r.conds = append(r.conds, c)
		}
	}
	l.cycles()
	for _, r := range l.rules {
		r.out = r.compile()
	}
}

// mark returns the mark of an after, which is a rule's name or a sentence.
func (l *loader) mark(r *rule, n *tree.Node) string {
	l.r.File = r.file
	id := strings.Join(strings.Fields(n.Str), " ")
	if slices.ContainsFunc(l.marked, func(m marked) bool { return m.id == id }) {
		return id
	}
	if of := l.names[id]; of != nil {
		l.marked = append(l.marked, marked{id, of})
		return id
	}
	m := &rule{verdict: obstat.Ask, file: r.file, node: n, pos: l.r.Pos(n)}
	s, bad := parseSentence(n.Str)
	if m.s = s; len(bad) == 0 {
		m.targets, m.except, bad = l.resolve(s)
	}
	for _, b := range bad {
		if isName(id) {
			var names []string
			for name := range l.names {
				names = append(names, name)
			}
			b.msg, b.hint = fmt.Sprintf("no rule is called %s", id), dialect.Near(id, names...)
			if b.hint == "" {
				b.hint = "name a rule, or write what was done: `after: read secrets`"
			}
		}
		l.at(m, b)
	}
	if len(bad) > 0 {
		return ""
	}
	l.predicates(m)
	l.marked = append(l.marked, marked{id, m})
	return id
}

// marks returns the rules that mark calls.
func (l *loader) marks() (out []obstat.Rule) {
	for _, m := range l.marked {
		of := *m.r
		of.verdict = obstat.Ask // an unknown file may have been a secret
		for _, o := range of.compile() {
			o.ID = m.id
			out = append(out, o)
		}
	}
	return out
}

// cycles reports rules that come after one another: none of them could ever apply.
func (l *loader) cycles() {
	state := map[*rule]int{} // 1: being looked at, 2: done
	var walk func(r *rule, chain []string)
	walk = func(r *rule, chain []string) {
		state[r] = 1
		for _, n := range r.after {
			next := l.names[strings.Join(strings.Fields(n.Str), " ")]
			switch {
			case next == nil:
			case state[next] == 1:
				l.r.File = r.file
				l.r.Fail(n, obstat.CodeConflict, "let one of them come after something that a call does: `after: read secrets`",
					"%s comes after itself: neither could ever apply", strings.Join(append(chain, next.name), ", after "))
			case state[next] == 0:
				walk(next, append(chain, next.name))
			}
		}
		state[r] = 2
	}
	for _, r := range l.rules {
		if state[r] == 0 {
			walk(r, []string{r.name})
		}
	}
}
