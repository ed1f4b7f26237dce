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
	if !strings.HasPrefix(s.Prefix, prefix) && !strings.HasPrefix(prefix, s.Prefix) {
		return false
	}
	return p.lang == nil || p.lang.may(prefix)
}

// MustMatch reports whether p surely matches every string that starts with
// prefix; false where that cannot be told.
func (p *Pattern) MustMatch(prefix string) bool { return p.mustMatch(prefix, false) }

// MustMatchLine reports whether p surely matches every string that starts with
// prefix and has no newline after it: what `.*` means to whoever writes it.
func (p *Pattern) MustMatchLine(prefix string) bool { return p.mustMatch(prefix, true) }

func (p *Pattern) mustMatch(prefix string, line bool) bool {
	if p == nil || p.m == nil || p.shape.Exact {
		return false
	}
	s := p.shape
	if s.Ordered && len(s.Fragments) == 0 && s.Suffix == "" {
		return strings.HasPrefix(prefix, s.Prefix)
	}
	return p.lang != nil && p.lang.must(prefix, line)
}
