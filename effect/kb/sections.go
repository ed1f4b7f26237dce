package kb

import (
	"errors"
	"slices"
	"strings"
)

// Sections is the body of a table whose words stand behind keywords: `links -L letters R`.
type Sections struct {
	words map[string][]string // by section: `links`, `links letters`
	lists map[string]*List
}

// ReadSections reads a body. The grammar has the keywords, each with those that may follow inside of it.
func ReadSections(body string, grammar map[string]string) (*Sections, error) {
	s := &Sections{words: map[string][]string{}, lists: map[string]*List{}}
	lex := Lexer{Text: body}
	var errs []error
	section, at := "", ""
	for w := lex.Next(); w != ""; w = lex.Next() {
		_, keyword := grammar[w]
		switch {
		case section != "" && HasWord(grammar[section], w, ' '):
			at = section + " " + w
		case keyword:
			section, at = w, w
		case at == "":
			errs = append(errs, lex.Fail("%q where a keyword should be", w))
			continue
		default:
			s.words[at] = append(s.words[at], w)
			continue
		}
		if s.words[at] == nil {
			s.words[at] = []string{}
		}
	}
	for name, list := range s.words {
		s.lists[name] = NewList(slices.Clone(list))
	}
	return s, errors.Join(errs...)
}

// Given reports whether a section is there.
func (s *Sections) Given(section string) bool { return s != nil && s.words[section] != nil }

// Has reports whether a section has a word.
func (s *Sections) Has(section, word string) bool { return s != nil && s.lists[section].Has(word) }

// Words returns the words of a section.
func (s *Sections) Words(section string) []string {
	if s == nil {
		return nil
	}
	return s.words[section]
}

// Text returns the words of a section as one.
func (s *Sections) Text(section string) string { return strings.Join(s.Words(section), "") }

// Pair reports whether a section has `name=value` for a name, and for one of some values.
func (s *Sections) Pair(section, name string, fits func(value string) bool) bool {
	return slices.ContainsFunc(s.Words(section), func(p string) bool {
		have, value, _ := strings.Cut(p, "=")
		return have == name && fits(value)
	})
}
