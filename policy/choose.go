package policy

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// choose returns which of the sets of one place count: obstat's own file where
// there is one, else the agent's own, else all of them; and, beside these, files that
// say only how commands are confined.
func (s *search) choose(sets []*set) []*set {
	deciding := slices.DeleteFunc(slices.Clone(sets), (*set).aside)
	chosen := s.deciding(deciding)
	aside := slices.DeleteFunc(slices.Clone(sets), func(st *set) bool { return !st.aside() })
	return append(slices.Clip(chosen), aside...)
}

// deciding returns which of the sets of one place decide calls.
func (s *search) deciding(sets []*set) []*set {
	for _, who := range []string{"*", s.w.Agent} {
		var own []*set
		for _, st := range sets {
			if who != "" && !s.w.Every && dialect.OwnedBy(st.d, who) {
				own = append(own, st)
			}
		}
		if own != nil {
			return own
		}
	}
	return sets
}

// load puts a site's policies in force: those on disk and, where they differ, the
// accepted ones.
func (s *search) load(st *site) {
	same := st.pin != nil && !st.pinAt.Doubt && st.pin.holds(st)
	chosen := s.choose(st.sets)
	disk, errs := make([]*dialect.Loaded, len(chosen)), make([]error, len(chosen))
	for i, set := range chosen {
		disk[i], errs[i] = s.compile(set.d, set.files, s.w.Named.Options)
	}
	var old []*dialect.Loaded
	if st.pin != nil && !same && !st.trusted {
		old = s.pinned(st)
		same = !st.pinAt.Doubt && alike(old, disk) // another part of a file has changed
	}
	accepted := same || st.trusted || st.role != Own || !st.base
	role, why := st.role, "found in the project"
	if same {
		role = min(role, st.pinRole)
	}
	if role == Inner {
		why = "found below the project, or where the call leads; it only tightens"
	}
	for _, set := range st.sets {
		switch i := slices.Index(chosen, set); {
		case i < 0:
			s.looked(set, st, false, accepted, chosen[0].d.Name()+" decides here")
		case errs[i] != nil:
			s.looked(set, st, true, accepted, "cannot be loaded: "+firstLine(errs[i]))
			s.broken(st.dir, errs[i], st.pin != nil && !st.trusted)
		default:
			s.looked(set, st, true, accepted, why)
			s.out.Policies = append(s.out.Policies, &Policy{Loaded: disk[i], Role: role, Place: st.dir, Why: why, OnDisk: true, Accepted: accepted})
		}
	}
	if !same && !st.trusted && (st.pin != nil || !accepted) {
		s.bound(st, old, slices.DeleteFunc(disk, func(l *dialect.Loaded) bool { return l == nil }))
	}
}

// alike tells whether two lists of policies have the same Programs.
func alike(a, b []*dialect.Loaded) bool {
	return slices.EqualFunc(a, b, func(x, y *dialect.Loaded) bool {
		return x != nil && y != nil && x.Policy.Digest() == y.Policy.Digest()
	})
}

// bound puts the accepted policies of a site in force beside the files, which have
// changed since, and lists the changes. Without a pin, or where the Programs of one
// cannot be read any more, the place is seen as if for the first time.
func (s *search) bound(st *site, old, disk []*dialect.Loaded) {
	for _, l := range old {
		if l != nil {
			s.out.Policies = append(s.out.Policies, &Policy{Loaded: l, Role: st.pinRole, Place: st.dir, Why: "accepted before the files changed", Accepted: true})
		}
		s.first = s.first || l == nil
	}
	own := func(o *site) bool { return o.pin != nil && !o.pinAt.Doubt && o.pinRole == Own }
	s.first = s.first || st.base && !slices.ContainsFunc(s.out.sites, own)
	old = slices.DeleteFunc(old, func(l *dialect.Loaded) bool { return l == nil || st.pinAt.Doubt }) // what is in doubt is accepted again
	nw := New{Place: st.dir, First: st.pin == nil || st.pinAt.Doubt, Changes: changes(old, disk, st)}
	if nw.First && s.w.Every {
		nw.Twin = s.twin(st) // for who accepts it
	}
	s.out.New = append(s.out.New, nw)
}

// users puts the user's and the machine's own policies in force: beside a
// project's for their denials, and in full where there is no project's. At first
// sight of a project they are the accepted policies.
func (s *search) users(covered bool) {
	sets, err := s.sets("")
	if err != nil {
		s.broken("", err, false)
		return
	}
	var speak, own []*set
	for _, st := range sets {
		if st.speaks() {
			speak = append(speak, st)
		}
		if mine := st.own(); mine.speaks() {
			own = append(own, mine)
		}
	}
	chosen := s.choose(speak)
	for _, st := range speak {
		accepted := len(st.own().files) == len(st.files)
		switch counts := slices.Contains(chosen, st); {
		case !covered && counts:
			s.user(st, &Policy{Why: "the user's own; no project has a policy here", OnDisk: true, Accepted: accepted})
			s.first = s.first || !accepted
		case covered && (s.beside(st) || counts && !s.inForce(st)):
			s.user(st, &Policy{Role: User, Why: "the user's own; what it denies no project lifts", OnDisk: true, Accepted: accepted})
		case covered && s.inForce(st): // it was read together with the project's
		case st.managed().speaks():
			s.user(st.managed(), &Policy{Role: User, Why: "the administrator's; what it denies nothing lifts", OnDisk: true, Accepted: true})
		default:
			s.looked(st, nil, false, accepted, "another policy decides here")
		}
	}
	hasOwn := func(p *Policy) bool { return p.Role == Own && p.OnDisk && !p.aside() }
	if !slices.ContainsFunc(s.out.Policies, hasOwn) && len(s.out.Broken) == 0 {
		s.builtin(&Policy{Why: "no policy is found", OnDisk: true, Accepted: true})
	}
	if s.first {
		s.firstSight(s.choose(own))
	}
}

// firstSight puts the accepted policies of a project without a pin in force: the
// user's own, or the built-in one.
func (s *search) firstSight(own []*set) {
	const why = "accepted as long as nobody has accepted the project's"
	for _, st := range own {
		s.user(st, &Policy{Why: "the user's own; " + why, Accepted: true})
	}
	if !slices.ContainsFunc(own, func(st *set) bool { return !st.aside() }) {
		s.builtin(&Policy{Why: why, Accepted: true})
	}
}

// beside tells whether the denials of a user's set have to be asked for by
// themselves though others count: those of obstat's own file everywhere, those of another
// dialect where it is in force, unless the dialect looks after them itself.
func (s *search) beside(set *set) bool {
	inForce := s.inForce(set)
	if set.d.Info().DenyWins && inForce {
		return false
	}
	return inForce || dialect.OwnedBy(set.d, "*")
}

// inForce tells whether a policy of the set's dialect is in force.
func (s *search) inForce(set *set) bool {
	return slices.ContainsFunc(s.out.Policies, func(p *Policy) bool { return p.Dialect.Name() == set.d.Name() })
}

// user puts a set of the user's in force.
func (s *search) user(st *set, p *Policy) {
	l, err := s.compile(st.d, st.files, s.w.Named.Options)
	if err != nil {
		s.looked(st, nil, true, p.Accepted, "cannot be loaded: "+firstLine(err))
		s.broken("", err, false)
		return
	}
	s.looked(st, nil, true, p.Accepted, p.Why)
	p.Loaded = l
	s.out.Policies = append(s.out.Policies, p)
}

// builtin puts the built-in policy in force.
func (s *search) builtin(p *Policy) {
	l, err := Builtin(s.w.Named.Options[dialect.FloorOption])
	if err != nil {
		s.broken("", err, false)
		return
	}
	p.Loaded = l
	s.out.Policies = append(s.out.Policies, p)
}

// speaks tells whether a file of the set has something to say.
func (st *set) speaks() bool {
	return slices.ContainsFunc(st.files, func(f file) bool { return f.speaks })
}

// speaksHere tells whether a file of the project itself has something to say.
func (st *set) speaksHere() bool {
	return slices.ContainsFunc(st.files, func(f file) bool { return f.here && f.speaks })
}

// aside tells whether the set's files say only how commands are confined.
func (st *set) aside() bool {
	return st.d.Name() == native.Name && !slices.ContainsFunc(st.files, func(f file) bool {
		return f.err != nil || !native.OnlyConfines(&f.File)
	})
}

// besides returns the set without the user's rules where the project's own file says only how
// commands are confined: another policy decides there.
func (st *set) besides() *set {
	here := st.only(func(f *file) bool { return f.here })
	if !here.aside() {
		return st
	}
	return st.only(func(f *file) bool { return f.err == nil && native.OnlyConfines(&f.File) })
}

// own returns the set's files that are the user's or the machine's own.
func (st *set) own() *set { return st.only(func(f *file) bool { return f.own }) }

// managed returns the set's files that are the administrator's.
func (st *set) managed() *set {
	return st.only(func(f *file) bool { return f.own && f.Layer == dialect.LayerManaged })
}

// only returns the set with some of its files.
func (st *set) only(these func(*file) bool) *set {
	out := &set{d: st.d}
	for i := range st.files {
		if these(&st.files[i]) {
			out.files = append(out.files, st.files[i])
		}
	}
	return out
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

// looked notes the files of a set, each once for a dialect.
func (s *search) looked(st *set, at *site, inForce, accepted bool, why string) {
	place := ""
	if at != nil {
		place = at.dir
	}
	for i := range st.files {
		f := &st.files[i]
		l := Looked{Name: f.Name, Layer: f.Layer, Dialect: st.d.Name(), Place: place, InForce: inForce, Why: why, Accepted: accepted || f.own}
		have := slices.IndexFunc(s.out.Looked, func(o Looked) bool { return o.Name == l.Name && o.Dialect == l.Dialect })
		switch {
		case have < 0:
			s.out.Looked = append(s.out.Looked, l)
		case inForce && !s.out.Looked[have].InForce:
			s.out.Looked[have] = l
		}
	}
}
