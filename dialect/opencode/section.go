package opencode

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A section is a permission object as it was written: permissions in order, each
// with one rule for everything, or with a rule for each pattern.
type section struct {
	names []string
	rules map[string][]Rule
}

// set gives a permission its rules; one that is there keeps its place.
func (s *section) set(name string, rules ...Rule) {
	if s.rules == nil {
		s.rules = map[string][]Rule{}
	}
	if _, ok := s.rules[name]; !ok {
		s.names = append(s.names, name)
	}
	s.rules[name] = rules
}

// over lays sections over one another, the last on top: a permission that is there
// keeps its place and gets the new rules. With deep, as the program merges files,
// its patterns are merged in the same way; an action in place of patterns, or the
// other way round, replaces them all.
func over(deep bool, sections ...section) (out section) {
	for _, s := range sections {
		for _, name := range s.names {
			have, rules := out.rules[name], s.rules[name]
			if deep && !short(have) && !short(rules) {
				rules = mergePatterns(have, rules)
			}
			out.set(name, rules...)
		}
	}
	return out
}

// short tells whether rules are one action, without patterns.
func short(rules []Rule) bool { return len(rules) == 1 && rules[0].Short }

func mergePatterns(a, b []Rule) []Rule {
	out := slices.Clone(a)
	at := make(map[string]int, len(a)+len(b))
	for i := range out {
		at[out[i].Pattern] = i
	}
	for _, r := range b {
		if i, ok := at[r.Pattern]; ok {
			out[i] = r
			continue
		}
		at[r.Pattern] = len(out)
		out = append(out, r)
	}
	return out
}

// flat returns the rules of a section: its keys in the order JavaScript has them,
// the home directory put in for ~ and $HOME where the order is the program's.
func (s section) flat(o Order, home string) (out Ruleset) {
	names := slices.Clone(s.names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(keyRank(a), keyRank(b)) })
	for _, name := range names {
		rules := slices.Clone(s.rules[name])
		slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(keyRank(a.Pattern), keyRank(b.Pattern)) })
		for _, r := range rules {
			if o == Last {
				r.Pattern = expand(r.Pattern, home)
			}
			out = append(out, r)
		}
	}
	return out
}

// rules returns the rules of a file, or of an agent, whose permissions stand in
// place of the switches of the same names.
func (s *settings) rules(o Order, home string) Ruleset {
	return Merge(over(false, s.tools, s.section).flat(o, home), s.list)
}

// afterIndexes is the rank of every key that is no array index.
const afterIndexes = 1 << 32

// keyRank orders keys as JavaScript does: array indexes first and by number,
// all others as they were written.
func keyRank(key string) uint64 {
	if n, err := strconv.ParseUint(key, 10, 32); err == nil && n < 1<<32-1 && strconv.FormatUint(n, 10) == key {
		return n
	}
	return afterIndexes
}

// isIndex tells whether JavaScript moves a key to the front.
func isIndex(key string) bool { return keyRank(key) != afterIndexes }

// expand puts the home directory in for ~ and $HOME at the start of a pattern.
// The program takes $HOMER for $HOME and an R; so do we.
func expand(text, home string) string {
	if home == "" {
		return text
	}
	switch {
	case text == "~", strings.HasPrefix(text, "~/"):
		return home + text[1:]
	case strings.HasPrefix(text, "$HOME"):
		return home + text[len("$HOME"):]
	}
	return text
}

// needsHome tells whether a pattern means nothing without a home directory.
func needsHome(text string) bool { return expand(text, "/") != text }
