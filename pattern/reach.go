package pattern

import (
	"strings"
	"unicode/utf8"
)

// MayMatch reports whether p could match some string that starts with prefix.
// Where that cannot be told it returns true.
func (p *Pattern) MayMatch(prefix string) bool {
	if p.empty() {
		return false
	}
	s := p.shape()
	if s.Exact {
		return strings.HasPrefix(s.Prefix, prefix)
	}
	if !strings.HasPrefix(s.Prefix, prefix) && !strings.HasPrefix(prefix, s.Prefix) {
		return false
	}
	return p.reached().may(wholeChars(prefix))
}

// MustMatch reports whether p surely matches every string that starts with
// prefix; false where that cannot be told.
func (p *Pattern) MustMatch(prefix string) bool { return p.mustMatch(prefix, false) }

// MustMatchLine reports whether p surely matches every string that starts with
// prefix and has no newline after it, as a rule `.*` is meant.
func (p *Pattern) MustMatchLine(prefix string) bool { return p.mustMatch(prefix, true) }

func (p *Pattern) mustMatch(prefix string, line bool) bool {
	if p.empty() {
		return false
	}
	s := p.shape()
	if s.Exact {
		return false
	}
	if s.Ordered && len(s.Fragments) == 0 && s.Suffix == "" {
		return strings.HasPrefix(prefix, s.Prefix)
	}
	return p.reached().must(wholeChars(prefix), line)
}

// wholeChars cuts off the start of a character that is not all there: an answer
// for the shorter prefix holds for the longer one.
func wholeChars(prefix string) string {
	for i := 1; i < utf8.UTFMax && i <= len(prefix); i++ {
		if c := prefix[len(prefix)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(prefix[len(prefix)-i:]) {
				return prefix[:len(prefix)-i]
			}
			break
		}
	}
	return prefix
}
