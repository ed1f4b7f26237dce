package policy

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// choose returns which of the sets of one place count for an agent: obstat's own
// file where there is one, else the agent's own, else all of them.
func choose(agent string, sets []*set) []*set {
	for _, who := range []string{"*", agent} {
		var own []*set
		for _, st := range sets {
			if who != "" && dialect.OwnedBy(st.d, who) {
				own = append(own, st)
			}
		}
		if own != nil {
			return own
		}
	}
	return sets
}

// load puts what a site has in force.
func (s *search) load(st *site) {
	chosen := choose(s.w.Agent, st.sets)
	for _, set := range st.sets {
		if !slices.Contains(chosen, set) {
			s.looked(set, st.dir, false, chosen[0].d.Name()+" decides here")
			continue
		}
		why := "found in the project"
		if st.role == Inner {
			why = "found below the project, or where the call leads; it only tightens"
		}
		l, err := s.compile(set.d, set.files, s.w.Named.Options)
		if err != nil {
			s.looked(set, st.dir, true, "cannot be loaded: "+firstLine(err))
			s.broken(st.dir, err)
			continue
		}
		s.looked(set, st.dir, true, why)
		s.out.Policies = append(s.out.Policies, &Policy{Loaded: l, Role: st.role, Place: st.dir, Why: why, OnDisk: true, Accepted: true})
	}
}

// users puts the user's and the machine's own policies in force: beside a
// project's for their denials, and in full where there is no project's.
func (s *search) users(covered bool) {
	sets, err := s.sets("")
	if err != nil {
		s.broken("", err)
		return
	}
	var speak []*set
	for _, set := range sets {
		if slices.ContainsFunc(set.files, func(f file) bool { return f.speaks }) {
			speak = append(speak, set)
		}
	}
	chosen := choose(s.w.Agent, speak)
	for _, set := range speak {
		switch counts := slices.Contains(chosen, set); {
		case !covered && counts:
			s.user(set, Own, "the user's own; no project has a policy here")
		case covered && s.beside(set):
			s.user(set, User, "the user's own; what it denies no project lifts")
		case covered && s.merged(set):
		default:
			s.looked(set, "", false, "another policy decides here")
		}
	}
	if !slices.ContainsFunc(s.out.Policies, func(p *Policy) bool { return p.Role == Own }) && len(s.out.Broken) == 0 {
		s.builtin("no policy is found")
	}
}

// beside tells whether the denials of a user's set have to be asked for by
// themselves: those of obstat's own file everywhere, those of another dialect
// where it is in force and does not look after them itself.
func (s *search) beside(set *set) bool {
	if dialect.OwnedBy(set.d, "*") {
		return true
	}
	_, wins := set.d.(dialect.DenyWinner)
	return !wins && s.inForce(set)
}

// merged tells whether a project's policy of the same dialect was read together
// with the user's set.
func (s *search) merged(set *set) bool {
	_, wins := set.d.(dialect.DenyWinner)
	return wins && s.inForce(set)
}

// inForce tells whether a policy of the set's dialect is in force.
func (s *search) inForce(set *set) bool {
	return slices.ContainsFunc(s.out.Policies, func(p *Policy) bool { return p.Dialect.Name() == set.d.Name() })
}

// user puts a set of the user's in force.
func (s *search) user(set *set, role Role, why string) {
	l, err := s.compile(set.d, set.files, s.w.Named.Options)
	if err != nil {
		s.looked(set, "", true, "cannot be loaded: "+firstLine(err))
		s.broken("", err)
		return
	}
	s.looked(set, "", true, why)
	s.out.Policies = append(s.out.Policies, &Policy{Loaded: l, Role: role, Why: why, OnDisk: true, Accepted: true})
}

// builtin puts the built-in policy in force.
func (s *search) builtin(why string) {
	l, err := Builtin(s.w.Named.Options[dialect.FloorOption])
	if err != nil {
		s.broken("", err)
		return
	}
	s.out.Policies = append(s.out.Policies, &Policy{Loaded: l, Why: why, OnDisk: true, Accepted: true})
}

// compile loads files as their dialect's configuration.
func (s *search) compile(d dialect.Dialect, files []file, options map[string]string) (*dialect.Loaded, error) {
	in := &dialect.Input{Options: options, Home: s.w.Home}
	var errs obstat.Errors
	for i := range files {
		if files[i].err != nil {
			errs = append(errs, dialect.IOError(files[i].Name, files[i].err))
		}
		in.Files = append(in.Files, files[i].File)
	}
	if err := errs.Fatal(); err != nil {
		return nil, err
	}
	return dialect.Load(d, in)
}

// looked notes the files of a set, each once for a dialect and place.
func (s *search) looked(set *set, place string, inForce bool, why string) {
	for i := range set.files {
		f := &set.files[i]
		l := Looked{Name: f.Name, Layer: f.Layer, Dialect: set.d.Name(), Place: place, InForce: inForce, Why: why, Accepted: true}
		have := slices.IndexFunc(s.out.Looked, func(o Looked) bool { return o.Name == l.Name && o.Dialect == l.Dialect })
		switch {
		case have < 0:
			s.out.Looked = append(s.out.Looked, l)
		case inForce && !s.out.Looked[have].InForce:
			s.out.Looked[have] = l
		}
	}
}
