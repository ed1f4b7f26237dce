package policy

import (
	"slices"

	"github.com/obstat/obstat/paths"
)

// serves tells whether the server's own directory has a policy.
func (s *search) serves() bool {
	if s.w.Server == "" {
		return false
	}
	found, err := s.discover(s.w.Server)
	if err != nil {
		return true // and says so where it is looked at again
	}
	return slices.ContainsFunc(found, func(chain []*site) bool { return len(chain) > 0 })
}

// callsHome returns the project of a call that is put to a server: the outermost directory around it with a policy, or
// its repository. It is never the server's own.
func (s *search) callsHome(sites []*site, at string) string {
	for _, st := range sites {
		if at != "" && paths.Inside(st.dir, at) {
			return st.dir
		}
	}
	return s.repository(at)
}
