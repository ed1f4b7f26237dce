package pattern

import (
	"time"

	"github.com/dlclark/regexp2/v2"
)

// foreign is a stand-in for the reader of Python expressions.
type foreign struct{ re *regexp2.Regexp }

func compileRE(text string, full bool) (matcher, Shape, error) {
	if full {
		text = `\A(?:` + text + `)\z`
	}
	re, err := regexp2.Compile(text)
	if err != nil {
		return nil, Shape{}, &SyntaxError{0, err.Error()}
	}
	re.MatchTimeout = 10 * time.Millisecond
	return foreign{re}, Shape{}, nil
}

func (f foreign) match(s string) (bool, error) {
	ok, err := f.re.MatchString(s)
	if err != nil {
		return false, ErrTime
	}
	return ok, nil
}
