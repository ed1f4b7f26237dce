package convert

import (
	"iter"
	"slices"
	"strings"
)

// A Phrase is a sentence by its parts: `run a, b except c where d`.
type Phrase struct {
	Verbs           string
	Targets, Except []string
	Where           string // with its leading ` where `
}

// Parts takes a sentence of obstat.yaml apart.
func Parts(sentence string) (p Phrase) {
	rest := sentence
	if i := outside(rest, " where "); i >= 0 {
		rest, p.Where = rest[:i], rest[i:]
	}
	if i := outside(rest, " except "); i >= 0 {
		p.Except = targets(rest[i+len(" except "):])
		rest = rest[:i]
	}
	verbs := []string{"read", "write", "delete"}
	p.Verbs, rest, _ = strings.Cut(rest, " ")
	for { // `read, write and delete x`
		next, more, ok := strings.Cut(rest, " ")
		if next != "and" && !slices.Contains(verbs, strings.TrimSuffix(next, ",")) || !ok {
			break
		}
		p.Verbs, rest = p.Verbs+" "+next, more
	}
	if rest != "" {
		p.Targets = targets(rest)
	}
	return p
}

// eachVerb returns the verbs one by one: read, write and delete of `read, write and delete`.
func (p *Phrase) eachVerb() iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ReplaceAll(p.Verbs, " and ", " "), isSeparator)
}

// String returns the sentence.
func (p Phrase) String() string {
	out := p.Verbs
	if len(p.Targets) > 0 {
		out += " " + strings.Join(p.Targets, ", ")
	}
	if len(p.Except) > 0 {
		out += " except " + strings.Join(p.Except, ", ")
	}
	return out + p.Where
}

// outside returns where a word stands that is not in quotes; -1 is nowhere.
func outside(s, word string) int {
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote == 0 && strings.HasPrefix(s[i:], word):
			return i
		case quote == c:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
	}
	return -1
}

// targets splits a list at its commas.
func targets(s string) (out []string) {
	for s != "" {
		i := outside(s, ", ")
		if i < 0 {
			return append(out, s)
		}
		out, s = append(out, s[:i]), s[i+2:]
	}
	return out
}
