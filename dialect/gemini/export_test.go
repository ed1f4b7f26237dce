package gemini

import (
	"errors"

	"github.com/obstat/obstat/pattern"
)

// MatchJS runs an expression of JavaScript on a text.
func MatchJS(src, text string) (bool, error) {
	re, bad := parseRegexp(src)
	if bad != nil {
		return false, errors.New(bad.Msg)
	}
	if re.why != "" {
		return false, errors.New(re.why)
	}
	p, err := pattern.Compile(pattern.Search, re.search().Text)
	if err != nil {
		return false, err
	}
	return p.Match(text)
}
