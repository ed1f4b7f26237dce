package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/guard/person"
)

// trusts tells whether a place lies in a directory that [person.TrustVariable] names. The
// variable counts only as the agent was started with it: an agent also hands variables of
// a project's settings to its hook.
func (s *search) trusts(place string) bool {
	value := s.w.Getenv(person.TrustVariable)
	return value != "" && s.usersOwn(person.TrustVariable) && person.Trusts(value, place) != ""
}

// usersOwn tells whether the value that a variable has was given by the user who started the
// agent.
func (s *search) usersOwn(name string) bool {
	if s.w.Mine {
		return true
	}
	if own, known := person.Started(name, s.w.Getenv(name)); known {
		return own
	}
	return !s.mentioned(name)
}

// ownPlaces are the variables that say where the user's own policy and obstat's state
// are.
var ownPlaces = []string{"HOME", "USERPROFILE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"}

// setByProject returns which of the variables that lead to the user's own files a
// project's settings have set, "" for none. A cloned repository could bring a home
// with a policy of its own, and lead there.
func (s *search) setByProject() string {
	if s.w.Mine {
		return ""
	}
	for _, name := range ownPlaces {
		if value := s.w.Getenv(name); value != "" && s.mentioned(name) {
			if own, _ := person.Started(name, value); !own {
				return name
			}
		}
	}
	return ""
}

// settings are the files of a project that set variables for an agent and the
// programs it starts.
var settings = sync.OnceValue(func() []string {
	out := []string{".env", ".vscode/settings.json"}
	for _, t := range agent.All().Traits(agent.SettingTrait) {
		out = append(out, t.Text)
	}
	return out
})

// A spoken is the text of a settings file. above: it lies in the home directory or
// above it, so that it is a project's only if that is not the home.
type spoken struct {
	text  string
	above bool
}

// mentioned tells whether a project's settings speak of a variable. For the one that
// says where the home is, that home is no bound of the search.
func (s *search) mentioned(name string) bool {
	if s.spoken == nil {
		s.spoken = []spoken{}
		starts, _ := s.starts()
		for _, at := range starts {
			below := ancestors(filepath.Clean(at), s.homes)
			for _, dir := range ancestors(filepath.Clean(at), nil) {
				s.readSettings(dir, !slices.Contains(below, dir))
			}
		}
	}
	home := slices.Contains(ownPlaces[:2], name)
	return slices.ContainsFunc(s.spoken, func(sp spoken) bool { return (home || !sp.above) && sets(sp.text, name) })
}

// readSettings reads the settings of a directory, if it has any.
func (s *search) readSettings(dir string, above bool) {
	for _, file := range settings() {
		if first, _, _ := strings.Cut(file, "/"); s.exists(filepath.Join(dir, first)) {
			if c := s.content(filepath.Join(dir, file)); c.err == nil {
				s.spoken = append(s.spoken, spoken{string(c.data), above})
			}
		}
	}
}

// sets tells whether a settings file may give a value to a variable: `HOME=/x`,
// `"HOME": "/x"`, or a name with escapes in it. `$HOME` does not.
func sets(text, name string) bool {
	if strings.Contains(text, `\u00`) {
		return true
	}
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		rest := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(after, `"`), `'`), " \t\r\n")
		if (before == "" || !strings.ContainsAny(before[len(before)-1:], "$_{ABCDEFGHIJKLMNOPQRSTUVWXYZ")) && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":")) {
			return true
		}
		text = after
	}
}
