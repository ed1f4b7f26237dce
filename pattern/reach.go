package pattern

import "strings"

// MayMatch reports whether p could match some string that starts with prefix.
// What cannot be told counts as possible.
func (p *Pattern) MayMatch(prefix string) bool {
	if p == nil || p.m == nil {
		return false
	}
	s := p.shape
	if s.Exact {
		return strings.HasPrefix(s.Prefix, prefix)
	}
	return strings.HasPrefix(s.Prefix, prefix) || strings.HasPrefix(prefix, s.Prefix)
}

// MustMatch reports whether p surely matches every string that starts with
// prefix; false where that cannot be told.
func (p *Pattern) MustMatch(prefix string) bool {
	if p == nil || p.m == nil {
		return false
	}
	s := p.shape
	return s.Ordered && !s.Exact && len(s.Fragments) == 0 && s.Suffix == "" && strings.HasPrefix(prefix, s.Prefix)
}
