package pattern

import (
	"regexp"
	"testing"
)

type testRegexp struct{ re *regexp.Regexp }

func (m testRegexp) match(s string) (bool, error) { return m.re.MatchString(s), nil }

type testFault struct{ prefix string }

func (m testFault) match(s string) (bool, error) { return false, ErrTime }

func TestSetFirst(t *testing.T) {
	pre := &Pattern{m: testRegexp{regexp.MustCompile(`\Agit push(?s:.*)\z`)}, shape: Shape{Prefix: "git push", Ordered: true}}
	slow := &Pattern{flavour: Search, m: testFault{}}
	s := NewSet([]Entry{{slow, 9}, {pre, 7}, {nil, 1}})
	if r, ok, err := s.Best("git push origin", 10); r != 7 || !ok || err != nil {
		t.Fatal(r, ok, err)
	}
	if r, ok, err := s.Best("git pull", 10); r != 9 || ok || err != ErrTime {
		t.Fatal(r, ok, err)
	}
	if _, ok, err := s.Best("git pull", 9); ok || err != nil {
		t.Fatal(ok, err)
	}
}
