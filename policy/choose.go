package policy

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// Which files count is decided place by place, in these steps:
//
//  1. decisive: of the configurations in one directory, obstat's own file decides, else
//     the agent's own, else all. With `obstat.json` and `.claude/settings.json` in /p,
//     the first one does; without it, Claude Code hears the second and Codex both. An
//     `obstat.json` that says only how commands are confined counts beside the others.
//  2. load: each project's files are put in force. Where a person has accepted an older
//     version, that stays in force beside them, and the strictest answer counts.
//  3. loadUsers: `~/.claude/settings.json` decides where no project has a policy, and
//     beside one it still denies. The administrator's files always deny.
//  4. Where nothing was found, the built-in policy decides.
//  5. enforceUntilAccepted: in a project that no person has accepted, the user's own
//     policy binds as well, so that a cloned repository cannot allow anything.

// decisive returns the configurations that count, of those at one place: obstat's own
// where there is one, else the agent's own, else all of them; and, beside these, files
// that say only how commands are confined.
func (s *search) decisive(all []*config) []*config {
	rules := slices.DeleteFunc(slices.Clone(all), (*config).onlyConfines)
	confining := slices.DeleteFunc(slices.Clone(all), func(c *config) bool { return !c.onlyConfines() })
	return append(slices.Clip(s.byOwner(rules)), confining...)
}

// byOwner returns obstat's own configurations, else the agent's own, else all of them.
func (s *search) byOwner(all []*config) []*config {
	for _, owner := range []string{"*", s.w.Agent} {
		var owned []*config
		for _, c := range all {
			if owner != "" && !s.w.Every && dialect.OwnedBy(c.d, owner) {
				owned = append(owned, c)
			}
		}
		if owned != nil {
			return owned
		}
	}
	return all
}

// load puts a project's policies in force: those on disk and, where they differ, the
// accepted ones.
func (s *search) load(st *site) {
	same := st.pin != nil && !st.pinAt.Doubt && st.pin.holds(st)
	deciding := s.decisive(st.configs)
	disk, errs := make([]*dialect.Loaded, len(deciding)), make([]error, len(deciding))
	for i, c := range deciding {
		disk[i], errs[i] = s.compile(c.d, c.files, s.w.Named.Options)
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
	for _, c := range st.configs {
		switch i := slices.Index(deciding, c); {
		case i < 0:
			s.looked(c, st, false, accepted, deciding[0].d.Name()+" decides here")
		case errs[i] != nil:
			s.looked(c, st, true, accepted, "cannot be loaded: "+firstLine(errs[i]))
			s.broken(st.dir, errs[i], st.pin != nil && !st.trusted)
		default:
			s.looked(c, st, true, accepted, why)
			s.out.Policies = append(s.out.Policies, &Policy{Loaded: disk[i], Role: role, Place: st.dir, Why: why,
				OnDisk: true, Accepted: accepted})
		}
	}
	if !same && !st.trusted && (st.pin != nil || !accepted) {
		s.bindAccepted(st, old, slices.DeleteFunc(disk, func(l *dialect.Loaded) bool { return l == nil }))
	}
}

// alike tells whether two lists of policies have the same Programs.
func alike(a, b []*dialect.Loaded) bool {
	return slices.EqualFunc(a, b, func(x, y *dialect.Loaded) bool {
		return x != nil && y != nil && x.Policy.Digest() == y.Policy.Digest()
	})
}

// bindAccepted puts the accepted policies of a project in force beside the files, which
// have changed since, and lists the changes. Without a pin, or where the Programs of one
// cannot be read any more, the project counts as seen for the first time.
func (s *search) bindAccepted(st *site, old, disk []*dialect.Loaded) {
	for _, l := range old {
		if l != nil {
			s.out.Policies = append(s.out.Policies, &Policy{Loaded: l, Role: st.pinRole, Place: st.dir,
				Why: "accepted before the files changed", Accepted: true})
		}
		s.first = s.first || l == nil
	}
	pinned := func(o *site) bool { return o.pin != nil && !o.pinAt.Doubt && o.pinRole == Own }
	s.first = s.first || st.base && !slices.ContainsFunc(s.out.sites, pinned)
	// A doubtful pin is accepted again.
	old = slices.DeleteFunc(old, func(l *dialect.Loaded) bool { return l == nil || st.pinAt.Doubt })
	waits := Unaccepted{Place: st.dir, First: st.pin == nil || st.pinAt.Doubt, Changes: changes(old, disk, st)}
	if waits.First && s.w.Every {
		waits.Twin = s.twin(st) // shown with the question
	}
	s.out.New = append(s.out.New, waits)
}

// loadUsers puts the user's and the machine's own policies in force: in full where no
// project has a policy, and else for their denials. Three examples, with
// `Bash(rm *)` denied in ~/.claude/settings.json:
//
//	no project policy         the file decides
//	/p/obstat.json            obstat's file decides in /p; `rm x` is denied all the same
//	/p/.claude/settings.json  Claude Code's dialect has merged both files already
func (s *search) loadUsers(hasProject bool) {
	found, err := s.configs("")
	if err != nil {
		s.broken("", err, false)
		return
	}
	var all, users []*config
	for _, c := range found {
		if c.hasRules() {
			all = append(all, c)
		}
		if u := c.usersFiles(); u.hasRules() {
			users = append(users, u)
		}
	}
	deciding := s.decisive(all)
	for _, c := range all {
		// A file that a project's settings lead to is not the user's: it was not accepted.
		accepted := len(c.usersFiles().files) == len(c.files)
		decides, merged := slices.Contains(deciding, c), s.dialectInForce(c)
		switch {
		case !hasProject && decides:
			s.enforce(c, &Policy{Why: "the user's own; no project has a policy here", OnDisk: true, Accepted: accepted})
			s.first = s.first || !accepted
		case hasProject && (s.deniesApart(c) || decides && !merged):
			s.enforce(c, &Policy{Role: User, Why: "the user's own; what it denies no project lifts", OnDisk: true, Accepted: accepted})
		case hasProject && merged: // it was read together with the project's
		case c.adminFiles().hasRules():
			s.enforce(c.adminFiles(), &Policy{Role: User, Why: "the administrator's; what it denies nothing lifts", OnDisk: true, Accepted: true})
		default:
			s.looked(c, nil, false, accepted, "another policy decides here")
		}
	}
	onDisk := func(p *Policy) bool { return p.Role == Own && p.OnDisk && !p.aside() }
	if !slices.ContainsFunc(s.out.Policies, onDisk) && len(s.out.Broken) == 0 {
		s.enforceBuiltin(&Policy{Why: "no policy is found", OnDisk: true, Accepted: true})
	}
	if s.first {
		s.enforceUntilAccepted(s.decisive(users))
	}
}

// enforceUntilAccepted binds a project without a pin to the user's own policies, or to
// the built-in one: the project's files cannot allow more than they do.
func (s *search) enforceUntilAccepted(users []*config) {
	const why = "accepted as long as nobody has accepted the project's"
	for _, c := range users {
		s.enforce(c, &Policy{Why: "the user's own; " + why, Accepted: true})
	}
	if !slices.ContainsFunc(users, func(c *config) bool { return !c.onlyConfines() }) {
		s.enforceBuiltin(&Policy{Why: why, Accepted: true})
	}
}

// deniesApart tells whether a user's configuration is asked for its denials beside the
// policies in force, though others decide. `~/.config/obstat/obstat.json` is, everywhere.
// A file of another dialect is where the project has one of that dialect too, as
// `~/.codex/config.toml` beside `.codex/config.toml`: the project's file may override
// the user's. Claude Code's is not: its dialect merges the two, and a deny wins.
func (s *search) deniesApart(c *config) bool {
	merged := s.dialectInForce(c)
	if c.d.Info().DenyWins && merged {
		return false
	}
	return merged || dialect.OwnedBy(c.d, "*")
}

// dialectInForce tells whether a policy of the configuration's dialect is in force.
func (s *search) dialectInForce(c *config) bool {
	return slices.ContainsFunc(s.out.Policies, func(p *Policy) bool { return p.Dialect.Name() == c.d.Name() })
}

// enforce puts a configuration of the user's in force as the policy p.
func (s *search) enforce(c *config, p *Policy) {
	l, err := s.compile(c.d, c.files, s.w.Named.Options)
	if err != nil {
		s.looked(c, nil, true, p.Accepted, "cannot be loaded: "+firstLine(err))
		s.broken("", err, false)
		return
	}
	s.looked(c, nil, true, p.Accepted, p.Why)
	p.Loaded = l
	s.out.Policies = append(s.out.Policies, p)
}

// enforceBuiltin puts the built-in policy in force as the policy p.
func (s *search) enforceBuiltin(p *Policy) {
	l, err := Builtin(s.w.Named.Options[dialect.FloorOption])
	if err != nil {
		s.broken("", err, false)
		return
	}
	p.Loaded = l
	s.out.Policies = append(s.out.Policies, p)
}

// hasRules tells whether a file of the configuration says something about permissions:
// `{"model": "x"}` does not.
func (c *config) hasRules() bool {
	return slices.ContainsFunc(c.files, func(f file) bool { return f.hasRules })
}

// hasProjectRules tells the same of the project's own files.
func (c *config) hasProjectRules() bool {
	return slices.ContainsFunc(c.files, func(f file) bool { return f.inProject && f.hasRules })
}

// onlyConfines tells whether the files say only how commands are confined:
// `confine: {network: off}`.
func (c *config) onlyConfines() bool {
	return c.d.Name() == native.Name && !slices.ContainsFunc(c.files, func(f file) bool {
		return f.err != nil || !native.OnlyConfines(&f.File)
	})
}

// counting returns the configuration without the user's rules where the project's own
// file says only how commands are confined: another policy decides there.
func (c *config) counting() *config {
	project := c.only(func(f *file) bool { return f.inProject })
	if !project.onlyConfines() {
		return c
	}
	return c.only(func(f *file) bool { return f.err == nil && native.OnlyConfines(&f.File) })
}

// usersFiles returns the configuration with the user's and the machine's own files alone.
func (c *config) usersFiles() *config { return c.only(func(f *file) bool { return f.users }) }

// adminFiles returns the configuration with the administrator's files alone.
func (c *config) adminFiles() *config {
	return c.only(func(f *file) bool { return f.users && f.Layer == dialect.LayerManaged })
}

// only returns the configuration with some of its files.
func (c *config) only(keep func(*file) bool) *config {
	out := &config{d: c.d}
	for i := range c.files {
		if keep(&c.files[i]) {
			out.files = append(out.files, c.files[i])
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

// looked notes the files of a configuration, each once for a dialect.
func (s *search) looked(c *config, at *site, inForce, accepted bool, why string) {
	place := ""
	if at != nil {
		place = at.dir
	}
	for i := range c.files {
		f := &c.files[i]
		l := Looked{Name: f.Name, Layer: f.Layer, Dialect: c.d.Name(), Place: place, InForce: inForce, Why: why,
			Accepted: accepted || f.users}
		have := slices.IndexFunc(s.out.Looked, func(o Looked) bool { return o.Name == l.Name && o.Dialect == l.Dialect })
		switch {
		case have < 0:
			s.out.Looked = append(s.out.Looked, l)
		case inForce && !s.out.Looked[have].InForce:
			s.out.Looked[have] = l
		}
	}
}
