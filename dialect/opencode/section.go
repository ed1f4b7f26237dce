package opencode

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat"
)

// A section is a permission object as it was written: permissions in order,
// each with one action for everything or with actions by pattern.
type section []permission

type permission struct {
	name     string
	short    bool // one action, no patterns
	action   obstat.Verdict
	patterns []patternAction
	layer    string
	pos      obstat.Pos // of the key
}

type patternAction struct {
	pattern string
	action  obstat.Verdict
	layer   string
	pos     obstat.Pos
}

// mergeDeep lays b over a as the program merges files: a key that is there keeps
// its place and gets the new value, patterns are merged in the same way, and an
// action in place of patterns, or the other way round, replaces them all.
func mergeDeep(a, b section) section {
	out := slices.Clone(a)
	at := make(map[string]int, len(a)+len(b))
	for i := range out {
		at[out[i].name] = i
	}
	for _, p := range b {
		i, ok := at[p.name]
		switch {
		case !ok:
			at[p.name] = len(out)
			out = append(out, p)
		case p.short || out[i].short:
			out[i] = p
		default:
			out[i].patterns = mergePatterns(out[i].patterns, p.patterns)
		}
	}
	return out
}

func mergePatterns(a, b []patternAction) []patternAction {
	out := slices.Clone(a)
	at := make(map[string]int, len(a)+len(b))
	for i := range out {
		at[out[i].pattern] = i
	}
	for _, p := range b {
		if i, ok := at[p.pattern]; ok {
			out[i] = p
			continue
		}
		at[p.pattern] = len(out)
		out = append(out, p)
	}
	return out
}

// assign lays b over a key by key, without looking into the values.
func assign(a, b section) section {
	out := slices.Clone(a)
	for _, p := range b {
		if i := slices.IndexFunc(out, func(q permission) bool { return q.name == p.name }); i >= 0 {
			out[i] = p
			continue
		}
		out = append(out, p)
	}
	return out
}

// rules turns the section into rules: its keys in the order JavaScript has them,
// the home directory put in for ~ and $HOME where the order is the program's.
func (s section) rules(o Order, home string) Ruleset {
	var out Ruleset
	sorted := slices.Clone(s)
	slices.SortStableFunc(sorted, func(a, b permission) int { return cmp.Compare(keyRank(a.name), keyRank(b.name)) })
	for i := range sorted {
		p := &sorted[i]
		if p.short {
			out = append(out, Rule{Permission: p.name, Pattern: "*", Action: p.action, Short: true, Layer: p.layer, Pos: p.pos})
			continue
		}
		patterns := slices.Clone(p.patterns)
		slices.SortStableFunc(patterns, func(a, b patternAction) int { return cmp.Compare(keyRank(a.pattern), keyRank(b.pattern)) })
		for _, q := range patterns {
			text := q.pattern
			if o == Last {
				text = expand(text, home)
			}
			out = append(out, Rule{Permission: p.name, Pattern: text, Action: q.action, Layer: q.layer, Pos: q.pos})
		}
	}
	return out
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
