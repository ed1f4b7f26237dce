//go:build obstat_quick

package hookrun

import (
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/policycache"
)

// The quick half of a pair neither reads configurations nor waits for people, so
// what that takes is not linked: the smaller a program, the faster it starts.

func (*turn) search(*policycache.Cache, []string) ([]*policy, error) { return nil, errElsewhere }

func (t *turn) ask(*Ask, obstat.Decision, *policy, []*policy) (obstat.Decision, bool) {
	return t.failed("this program cannot ask anybody"), false
}
