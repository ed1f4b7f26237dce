package native

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/tree"
)

// Undo is the word `undo:` of a policy: how much of the files that calls change is kept, and for how long. A zero
// field leaves the usual limit.
type Undo struct {
	Off    bool          `json:"off,omitempty"`    // nothing is kept, so that nothing is reversible
	Keep   time.Duration `json:"keep,omitempty"`   // after which a change is forgotten
	Budget int64         `json:"budget,omitempty"` // bytes in all, of every project
	File   int64         `json:"file,omitempty"`   // bytes of one file
	Call   int64         `json:"call,omitempty"`   // bytes of one call
	Files  int           `json:"files,omitempty"`  // paths of one call
}

// String is the word as a file has it: `keep 14d, budget 4G`.
func (u Undo) String() string {
	if u.Off {
		return "off"
	}
	var parts []string
	if u.Keep > 0 {
		parts = append(parts, "keep "+u.Keep.String())
	}
	for _, size := range []struct {
		word  string
		bytes int64
	}{{"budget", u.Budget}, {"file", u.File}, {"call", u.Call}} {
		if size.bytes > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", size.word, size.bytes))
		}
	}
	if u.Files > 0 {
		parts = append(parts, fmt.Sprintf("files %d", u.Files))
	}
	return strings.Join(parts, ", ")
}

// Or returns u with the limits of b where it has none itself.
func (u Undo) Or(b Undo) Undo {
	u.Off = u.Off || b.Off
	for at, v := range map[*int64]int64{&u.Budget: b.Budget, &u.File: b.File, &u.Call: b.Call} {
		if *at == 0 {
			*at = v
		}
	}
	if u.Keep == 0 {
		u.Keep = b.Keep
	}
	if u.Files == 0 {
		u.Files = b.Files
	}
	return u
}

// UndoOf returns the word `undo:` of a Program of this dialect; said is false where it says nothing about it.
func UndoOf(p *obstat.Program) (u Undo, said bool) {
	if word := paramsOf(p, "undo").Undo; word != nil {
		return *word, true
	}
	return Undo{}, false
}

// KeptBy returns how long a rule wants changes to be kept that it allows, zero where it does not say:
// `delete workspace, keep 30d`.
func KeptBy(r *obstat.Rule) time.Duration {
	if r == nil || !strings.Contains(r.Source, keepWord) {
		return 0
	}
	if s, bad := parseSentence(r.Source); len(bad) == 0 {
		return s.keep
	}
	return 0
}

const keepWord = "keep"

var undoFields = []tree.Field{
	{Name: keepWord, Kinds: []tree.Kind{tree.String}},
	{Name: "budget", Kinds: []tree.Kind{tree.String}},
	{Name: "file", Kinds: []tree.Kind{tree.String}},
	{Name: "call", Kinds: []tree.Kind{tree.String}},
	{Name: "files", Kinds: []tree.Kind{tree.Number}},
}

const undoHint = "write `undo: {keep: 14d, budget: 4G, file: 128M}`, or `undo: off`"

// readUndo reads `undo:` of one file. The files of the user and the machine go before a project's.
func (l *loader) readUndo(n *tree.Node, layer string) {
	if n == nil {
		return
	}
	var u Undo
	switch {
	case n.Is(tree.String) && n.Str == "off":
		u.Off = true
	case n.Is(tree.Object):
		l.fields(n, undoFields)
		l.undoLimits(n, &u)
	case n.Is(tree.String):
		l.r.Fail(n, obstat.CodeBadValue, undoHint, "undo has limits or is off, not %q", n.Str)
	default:
		l.r.Fail(n, obstat.CodeWrongType, undoHint, "undo is a word or an object, not %s", n.Kind)
	}
	here := layer == dialect.LayerProject || layer == dialect.LayerLocal
	if b := n.Get("budget"); here && n.Is(tree.Object) && b != nil {
		l.r.Warn(b, obstat.CodeNoEffect, "say it in your own obstat.yaml, ~/.config/obstat/obstat.yaml",
			"the budget is one for all projects: here it has no effect")
		u.Budget = 0
	}
	switch {
	case l.undo == nil:
	case here:
		u = l.undo.Or(u)
	default:
		u = u.Or(*l.undo)
	}
	l.undo = &u
}

// undoLimits reads the limits.
func (l *loader) undoLimits(n *tree.Node, u *Undo) {
	if v := n.Get(keepWord); v.Is(tree.String) {
		age, err := ageOf(v.Str)
		if err != nil {
			l.r.Fail(v, obstat.CodeBadValue, keepHint, "%v", err)
		}
		u.Keep = age
	}
	for key, to := range map[string]*int64{"budget": &u.Budget, "file": &u.File, "call": &u.Call} {
		v := n.Get(key)
		if !v.Is(tree.String) {
			continue
		}
		size, err := sizeOf(v.Str)
		if err != nil {
			l.r.Fail(v, obstat.CodeBadValue, "write `"+key+": 500M` or `"+key+": 2G`", "%v", err)
		}
		*to = size
	}
	if v := n.Get("files"); v.Is(tree.Number) {
		const most = 1_000_000
		count, err := strconv.Atoi(v.Num)
		if err != nil || count < 1 || count > most {
			l.r.Fail(v, obstat.CodeBadValue, "write `files: 20000`", "the files of one call are a number from 1 to %d", most)
		}
		u.Files = count
	}
}

const keepHint = "write `keep 7d`, `keep 12h` or `keep 4w`: a number of minutes, hours, days or weeks, at most a year"

// ageOf reads `7d`.
func ageOf(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	const most = 366 * 24 * time.Hour
	if n := len(text) - 1; n > 0 && units[text[n]] != 0 {
		count, err := strconv.ParseUint(text[:n], 10, 20)
		if age := time.Duration(count) * units[text[n]]; err == nil && age > 0 && age <= most {
			return age, nil
		}
	}
	return 0, fmt.Errorf("%q is no length of time that changes are kept", text)
}

// keeps reads `keep 7d` behind a comma. The word alone is a target like any other.
func (p *parser) keeps() bool {
	if !p.is(keepWord) || p.pos+1 >= len(p.tokens) || p.tokens[p.pos+1].punct {
		return false
	}
	p.keepAt = p.peek().at
	p.pos++
	t := p.peek()
	p.pos++
	var err error
	if p.keep, err = ageOf(t.text); err != nil {
		p.fail(t.at, keepHint+"; a command that is called keep goes in quotes", "%v", err)
	}
	return true
}

// keepFits returns the mistake of a rule that wants changes to be kept and makes none.
func (r *rule) keepFits() []mistake {
	switch {
	case r.s.keep == 0:
	case r.verdict != obstat.Allow:
		return []mistake{{r.s.keepAt, "changes are kept of calls that are allowed",
			"take `keep` out, or move the rule to `allow:`"}}
	case r.s.verbs[0] == "read" || r.s.verbs[0] == "connect":
		return []mistake{{r.s.keepAt, "to " + r.s.verbs[0] + " changes no file that could be kept", "take `keep` out"}}
	}
	return nil
}
