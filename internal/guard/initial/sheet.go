package initial

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/convert"
)

// A sheet is a draft that is being put together: the lines of its lists, in their order.
type sheet struct {
	head    []string // before the first list
	lists   []string
	items   []*item
	skipped []string
	home    string
}

// An item is one rule of a list, or a comment.
type item struct {
	Line
	before []string // comments and blanks above it
	rest   []string // `reason: x` and the like, below a `rule:`
	muted  bool     // written as a comment, to be thought about
	at     int      // its line in the text, see sheet.text
}

// read takes the text of a preset apart. It knows their form, and no other YAML.
func read(text string) *sheet {
	s := &sheet{}
	var before []string
	var last *item
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		entry, isItem := strings.CutPrefix(line, "  - ")
		switch {
		case isItem:
			last = &item{Line: Line{List: s.lists[len(s.lists)-1], Sentence: strings.TrimPrefix(entry, "rule: ")},
				before: before}
			s.items, before = append(s.items, last), nil
		case strings.HasPrefix(line, "    ") && last != nil:
			last.rest = append(last.rest, line)
		case line != "" && line[0] != ' ' && line[0] != '#' && strings.HasSuffix(line, ":"):
			s.lists, last, before = append(s.lists, strings.TrimSuffix(line, ":")), nil, nil
		case len(s.lists) == 0:
			s.head = append(s.head, line)
		case line != "":
			before = append(before, line)
		}
	}
	return s
}

// text writes the sheet, and notes which line each item is at.
func (s *sheet) text() string {
	out := slices.Clone(s.head)
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	for _, list := range s.lists {
		first, why := true, ""
		for _, it := range s.items {
			if it.List != list {
				continue
			}
			if first {
				out, first = append(out, "", list+":"), false
			}
			out = append(out, it.before...)
			if it.Why != "" && it.Why != why {
				out = append(out, "  # "+it.Why)
			}
			why = it.Why
			out = append(out, it.yaml()...)
			it.at = len(out) - len(it.rest)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

func (it *item) yaml() []string {
	switch {
	case it.muted:
		return []string{"  # - " + scalar(it.Sentence)}
	case len(it.rest) > 0:
		return append([]string{"  - rule: " + scalar(it.Sentence)}, it.rest...)
	}
	return []string{"  - " + scalar(it.Sentence)}
}

// scalar writes a sentence so that YAML reads it as one text.
func scalar(s string) string {
	if strings.ContainsAny(s, "\n\t") {
		return jsonx.Quote(s)
	}
	inside := strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":")
	if inside || strings.ContainsAny(s[:1], "*&!|>%@`'\"{[") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

// add puts a line at the end of its list, unless it is there.
func (s *sheet) add(l Line, muted bool) *item {
	if !slices.Contains(s.lists, l.List) {
		s.lists = append(s.lists, l.List)
	}
	for _, it := range s.items {
		if it.List != l.List {
			continue
		}
		same := it.Sentence == l.Sentence
		program, runs := strings.CutPrefix(l.Sentence, "run ")
		said := runs && !it.conditional() && strings.HasPrefix(it.Sentence, "run ") && slices.Contains(convert.Parts(it.Sentence).Targets, program)
		if same || said {
			it.Own = it.Own || same && l.Own
			return it
		}
	}
	it := &item{Line: l, muted: muted}
	s.items = append(s.items, it)
	return it
}

// giveWay takes out the preset's questions about deleting where a person allows a command that is there to delete, `rm`
// or `git clean`: what no rule is about is asked about all the same.
func (s *sheet) giveWay() {
	deletes := slices.ContainsFunc(s.items, func(it *item) bool {
		return it.Own && it.List == obstat.Allow.String() && slices.ContainsFunc(convert.Parts(it.Sentence).Targets,
			func(t string) bool { return strings.HasPrefix(it.Sentence, "run ") && removes(t) })
	})
	s.items = slices.DeleteFunc(s.items, func(it *item) bool {
		return deletes && !it.Own && it.List == obstat.Ask.String() && strings.HasPrefix(it.Sentence, "delete ")
	})
}

// removes tells whether a command deletes what it is given.
func removes(command string) bool {
	a := effect.AnalyzeCommand(command+" x", nil)
	return slices.ContainsFunc(a.Effects, func(e effect.Effect) bool { return e.Kind == effect.Delete && e.Raw == "x" })
}

// conditional tells whether a line holds under some circumstances alone.
func (it *item) conditional() bool {
	return slices.ContainsFunc(it.rest, func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.HasPrefix(line, "when:") || strings.HasPrefix(line, "after:")
	})
}

func (s *sheet) drop(it *item) {
	s.items = slices.DeleteFunc(s.items, func(o *item) bool { return o == it })
}

func (s *sheet) find(line int) *item {
	for _, it := range s.items {
		if it.at == line && !it.muted {
			return it
		}
	}
	return nil
}

// maxProblems bounds how many lines give way.
const maxProblems = 2_000

// load compiles the draft. As long as it does not load, the line that a problem is about gives way.
func (s *sheet) load() (*dialect.Loaded, error) {
	for range maxProblems {
		l, err := parse(s.text())
		var problems obstat.Errors
		if err == nil || !errors.As(err, &problems) {
			return l, err
		}
		at := slices.IndexFunc(problems, func(e *obstat.Error) bool { return !e.Warning })
		if at < 0 || !s.mend(problems[at]) {
			return nil, err
		}
	}
	return nil, errors.New("the draft has too many rules that contradict one another")
}

// mend takes out the cause of a problem of the draft; false: there is nothing to take out.
func (s *sheet) mend(e *obstat.Error) bool {
	it := s.find(e.Pos.Line)
	if it == nil {
		return false
	}
	if e.Code != obstat.CodeNoEffect || len(e.Also) == 0 {
		s.leave(it, e.Msg)
		return true
	}
	target := it.target(e.Pos.Col)
	over := s.find(e.Also[0].Line)
	if it.Own && over != nil && !over.Own && over != it && s.except(over, it, target) {
		return true
	}
	if it.Own {
		s.skipped = append(s.skipped, fmt.Sprintf("%s %s: %s", it.List, it.Sentence, e.Msg))
	}
	s.without(it, target)
	return true
}

// leave drops a line, and says so of a person's.
func (s *sheet) leave(it *item, why string) {
	if it.Own {
		s.skipped = append(s.skipped, fmt.Sprintf("%s %s: %s", it.List, it.Sentence, why))
	}
	s.drop(it)
}

// without takes a target out of a line, and the line where that is all it has.
func (s *sheet) without(it *item, target string) {
	p := convert.Parts(it.Sentence)
	p.Targets = slices.DeleteFunc(p.Targets, func(t string) bool { return t == target })
	if len(p.Targets) == 0 || target == "" {
		s.drop(it)
		return
	}
	it.Sentence = p.String()
}

// except leaves a target of a person's line out of a line of the preset that always comes before it. Of several
// targets only the one that does so is narrowed, and it goes where the language cannot say that.
func (s *sheet) except(over *item, own *item, target string) bool {
	p := convert.Parts(over.Sentence)
	i := slices.IndexFunc(p.Targets, func(t string) bool { return s.covers(over, own, p, t) })
	if i < 0 {
		s.drop(over)
		return true
	}
	narrow := &item{Line: over.Line, rest: over.rest}
	narrow.Sentence = convert.Phrase{Verbs: p.Verbs, Targets: p.Targets[i : i+1], Where: p.Where,
		Except: append(slices.Clone(p.Except), target)}.String()
	s.without(over, p.Targets[i])
	if p.Targets[i] == target {
		return true
	}
	s.items = append(s.items, narrow)
	if problem := s.problemOf(narrow); problem != nil && problem.Code != obstat.CodeNoEffect {
		s.drop(narrow)
	}
	return true
}

// covers tells whether the line own can never apply because of one target of the line over: `allow: run git log`
// never does below `deny: run git *, make`, and the target is `git *`.
func (s *sheet) covers(over, own *item, p convert.Phrase, target string) bool {
	was := over.Sentence
	defer func() { over.Sentence = was; s.text() }()
	p.Targets = []string{target}
	over.Sentence = p.String()
	problem := s.problemOf(own)
	return problem != nil && len(problem.Also) > 0 && problem.Also[0].Line == over.at
}

// problemOf returns the first problem of a line.
func (s *sheet) problemOf(it *item) *obstat.Error {
	_, err := parse(s.text())
	var problems obstat.Errors
	if !errors.As(err, &problems) {
		return nil
	}
	for _, e := range problems {
		if !e.Warning && e.Pos.Line == it.at {
			return e
		}
	}
	return nil
}

// target returns the target of a line that stands at a column of the text.
func (it *item) target(col int) string {
	start := len("  - ") + 1
	if len(it.rest) > 0 {
		start += len("rule: ")
	}
	if scalar(it.Sentence) != it.Sentence {
		start++
	}
	for _, t := range convert.Parts(it.Sentence).Targets {
		for from := 0; ; {
			i := strings.Index(it.Sentence[from:], t)
			if i < 0 {
				break
			}
			if at := from + i; start+at == col || start+at+1 == col {
				return t
			}
			from += i + 1
		}
	}
	return ""
}
