package confined

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// A Place is a call in its surroundings, and the policy that is asked about them.
type Place struct {
	Call     *obstat.Call
	Analysis *effect.Analysis
	// Ask puts one thing to the policy in force: `Ask(obstat.FaceRead, "/p/.env")`.
	Ask func(face, target string) obstat.Decision
	// Runs puts a command to the policy: `Runs("curl x")`.
	Runs func(command string) obstat.Decision
	// Guards tells what guards the agent at a path, "" where nothing does.
	Guards func(path string) string
	// Rules are the rules about commands that deny or ask, to be shown as not enforced for code.
	Rules []obstat.Rule
	Wish  native.Confine
	Home  string
	// State is obstat's state directory, and Key tells policies and circumstances apart for the
	// answers that are remembered there; without a Key nothing is remembered.
	State, Key string
	Getenv     func(string) string
	Environ    []string
	// Hosts are those that rules name; each is put to the policy.
	Hosts []string
	// Server: the command is a server with lines of its own in the policy. Its changes of the workspace count at once.
	Server *native.ConfinedServer
	// Asked: a rule asks about the call, so that not all that it is known to do is allowed.
	Asked bool
	// Machine is the level that the machine gives.
	Machine confine.Report
}

// Bounds are a Profile, and the things about a run that are no part of one.
type Bounds struct {
	Profile confine.Profile `json:"profile"`
	// Stays: the command leaves something in the background, so that its workspace is written through.
	Stays bool `json:"stays,omitempty"`
	// Root is the workspace, and AtOnce says that changes of it count at once, so that new names are looked at afterwards.
	Root   string `json:"root,omitempty"`
	AtOnce bool   `json:"at_once,omitempty"`
	// Moves: the command changes the shell's directory, which is handed back.
	Moves bool `json:"moves,omitempty"`
	// Known are the paths that the call is known to change, and may: `.git` of `git commit`.
	Known []string `json:"known,omitempty"`
	// Whole: nothing runs but commands of which all is known, so that Known holds with everything below.
	Whole bool `json:"whole,omitempty"`
	// Make are files and directories that are made before the run where they are missing: the target of
	// `make > /tmp/log`, the cache of a compiler.
	Make []string `json:"make,omitempty"`
	// Scratch are directories whose changes are dropped without a word: see toolchains.txt.
	Scratch []string `json:"scratch,omitempty"`
	// Unasked are directories in a temporary one with too many names to ask about: they are hidden, and a run that makes
	// such a directory has it to itself.
	Unasked []string `json:"unasked,omitempty"`
	// Env are variables that the command gets although they look like secrets: a server's token.
	Env []string `json:"env,omitempty"`
	// During: a person is asked about files that the command opens and that are kept from it, while it waits.
	During bool `json:"during,omitempty"`
	// Work is the workspace of the call, where the Profile's is the repository around it, and Git the directory of
	// a repository that lies outside Work and belongs to it.
	Work string `json:"work,omitempty"`
	Git  string `json:"git,omitempty"`
	// Tracked are files that a rule keeps from code, and that it sees all the same since git has them.
	Tracked []string `json:"tracked,omitempty"`
	// Meets are hidden names that the call is known to go through, and does not get: of `cp -r . x` the `.env`.
	Meets []string `json:"meets,omitempty"`
	// Registries tells where the hosts of registries were found.
	Registries []Found `json:"registries,omitempty"`
}

// An Unfit says why a call cannot be confined as the policy wants it, so that it asks.
type Unfit struct {
	Why  string
	Rule *obstat.Rule // that cannot be held, if one cannot
}

// Error tells why.
func (u *Unfit) Error() string { return u.Why }

func unfit(format string, args ...any) error { return &Unfit{Why: fmt.Sprintf(format, args...)} }

// neutral is a name that no rule has. A rule that speaks of it speaks of the place that it is in.
const neutral = "obstat-neutral-name"

// refuses tells whether a decision keeps a thing from code: a rule, a mode or a check says so. That no
// rule is about it does not; trees that belong to every confined run are given then.
func refuses(d *obstat.Decision) bool {
	if d.Verdict == obstat.Allow {
		return false
	}
	return d.Verdict == obstat.Deny || len(d.Faults) > 0 || d.Safety || ruled(d)
}

// ruled tells whether a rule that a person wrote has spoken, or one of the built-in ones that is
// about some things alone.
func ruled(d *obstat.Decision) bool {
	return d.Rule != nil && (d.Rule.Pos.IsValid() || !d.Rule.Whole())
}

// isDefault tells whether only a built-in rule asks, which no person wrote: Gemini CLI's own asks about
// every file that is written.
func isDefault(d *obstat.Decision) bool {
	return d.Verdict == obstat.Ask && !d.Safety && len(d.Faults) == 0 && (d.Rule == nil || !d.Rule.Pos.IsValid())
}

// refusesName tells whether a decision keeps a name from code, where base is the decision about any
// other name in the same place.
func refusesName(d, base *obstat.Decision) bool {
	return refuses(d) && !(isDefault(base) && sameRule(d, base))
}

// sameRule tells whether two decisions were made by one rule: then it is about the place that both
// names are in.
func sameRule(a, b *obstat.Decision) bool {
	if a.Verdict != b.Verdict || a.Stage != b.Stage || (a.Rule == nil) != (b.Rule == nil) {
		return false
	}
	return a.Rule == nil || a.Rule.Pos == b.Rule.Pos && a.Rule.Source == b.Rule.Source && a.Rule.Reason == b.Rule.Reason
}

// Make returns the bounds of a call. An error of type [*Unfit] says that it has to ask.
func Make(p *Place) (*Bounds, error) {
	m := &maker{Place: p, out: new(Bounds)}
	for _, step := range []func() error{m.level, m.workspace, m.system, m.toolchains, m.extra, m.names, m.known,
		m.programs, m.network, m.sockets} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	m.environment()
	if err := m.holdable(); err != nil {
		return nil, err
	}
	m.out.Profile = tidy(m.out.Profile)
	if err := m.out.Profile.Check(); err != nil {
		return nil, unfit("%v", err)
	}
	return m.out, nil
}

// holdable takes, at level files, the right to write from trees with a protected name inside: Landlock cannot take one
// name out of a tree, and the run would not start. Without a workspace to write the call asks.
func (m *maker) holdable() error {
	p := m.profile()
	if m.Machine.Level != confine.LevelFiles {
		return nil
	}
	for _, name := range slices.Concat(p.Hidden, p.ReadOnly) {
		around := func(tree string) bool { return paths.Inside(tree, name) }
		if around(m.root) && (p.Workspace.Mode != "" || slices.Contains(p.Write, m.root)) {
			return unfit("%s is protected in a workspace that is written, and this machine cannot hold one name: %s", name,
				m.Machine.Why)
		}
		p.Write, p.Delete = slices.DeleteFunc(p.Write, around), slices.DeleteFunc(p.Delete, around)
	}
	return nil
}

// A maker makes the Bounds of one call.
type maker struct {
	*Place
	out    *Bounds
	work   string // the workspace that the call works in
	root   string // that, or the repository around it
	memo   *memory
	base   obstat.Decision // about writing some file in the workspace
	books  bool            // git changes its own files
	stores map[string]bool // see skip
}

// outside finds programs that obstat itself runs.
func (m *maker) outside() *Outside {
	return &Outside{Path: m.Getenv("PATH"), Roots: append([]string{m.root}, m.Call.Roots...)}
}

func (m *maker) profile() *confine.Profile { return &m.out.Profile }

// level takes the level that the policy wants.
func (m *maker) level() error {
	p := m.profile()
	if p.Level = confine.LevelFull; m.Wish.Level != "" {
		p.Level = confine.Level(m.Wish.Level)
	}
	if !m.Machine.Level.Covers(p.Level) {
		return unfit("the policy wants confinement at level %s, and this machine gives %s: %s", p.Level, m.Machine.Level,
			m.Machine.Why)
	}
	p.Limits = confine.Limits{Time: m.Wish.Time, FileSize: m.Wish.Size}
	m.out.During = m.Wish.During
	m.memo = newMemory(m.State, m.Key)
	return nil
}

// workspace finds the directory that the call works in, and how it is written.
func (m *maker) workspace() error {
	dir := m.Call.Dir
	if dir == "" || !filepath.IsAbs(dir) {
		return unfit("the call is made in no directory")
	}
	m.root = filepath.Clean(dir)
	for _, root := range m.Call.Roots {
		if paths.Inside(root, dir) {
			m.root = filepath.Clean(root)
			break
		}
	}
	real, err := filepath.EvalSymlinks(m.root)
	if err != nil {
		return unfit("the workspace cannot be looked at: %v", err)
	}
	m.root = real
	for what, inside := range map[string]string{"home directory": m.Home, "state of obstat": m.State} {
		if inside != "" && m.root != "" && paths.Inside(m.root, realOf(inside)) {
			return unfit("the workspace %s holds the %s", m.root, what)
		}
	}
	m.work = m.root
	m.out.Work = m.work
	m.repository()
	p := m.profile()
	probe := filepath.Join(m.work, neutral)
	if d := m.Ask(obstat.FaceRead, probe); refuses(&d) {
		return &Unfit{Why: "the policy keeps code from reading the workspace: " + d.Reason(), Rule: d.Rule}
	}
	p.Read, p.Execute = append(p.Read, m.root), append(p.Execute, m.root)
	m.out.Stays, m.out.Moves = m.stays(), slices.ContainsFunc(m.Analysis.Commands, moves)
	p.Workspace = confine.Workspace{Root: m.root, Mode: confine.Overlay, State: statedir.Layers(m.State)}
	if m.out.Stays || m.Server != nil || !m.Machine.Overlay || m.Machine.Level != confine.LevelFull {
		p.Workspace = confine.Workspace{Root: m.work, Mode: confine.Through}
	} else if err := confine.Layered(m.root); err != nil {
		p.Workspace = confine.Workspace{Root: m.work, Mode: confine.Through}
		m.gap("judge changes of "+m.work+" before they count", err.Error())
	}
	d := m.Ask(obstat.FaceWrite, probe)
	if m.base = d; refuses(&d) && !isDefault(&d) {
		p.Workspace = confine.Workspace{}
		return nil
	}
	if del := m.Ask(obstat.FaceDelete, probe); refuses(&del) && !isDefault(&del) && p.Workspace.Mode == confine.Through {
		p.Workspace = confine.Workspace{}
		p.Write = append(p.Write, m.work)
		for _, name := range madeAgain().Words() {
			if dir := filepath.Join(m.work, name); m.visible(dir) {
				p.Delete = append(p.Delete, dir)
			}
		}
		m.gap("remove files in "+m.work, "refused throughout, also where a command made them itself: "+del.Reason())
	}
	return nil
}

func realOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// gap lists a thing as not enforced.
func (m *maker) gap(what, why string) {
	p := m.profile()
	p.NotEnforced = append(p.NotEnforced, confine.Gap{What: what, Why: why})
}

// known adds the things that the call is known to do, all of which the policy allows: of
// `python3 gen.py > /srv/out/x` the write.
func (m *maker) known() error {
	p := m.profile()
	m.out.Whole = len(m.Analysis.Gaps) == 0
	for i := range m.Analysis.Commands {
		m.out.Whole = m.out.Whole && !m.Analysis.Unknown(i) && m.Analysis.Commands[i].Steered == ""
	}
	if m.Asked || m.Analysis.RunsHooks() && m.outside().HasHooks(m.root) {
		m.out.Whole = false
	}
	for i := range m.Analysis.Effects {
		e := &m.Analysis.Effects[i]
		if e.Where != "" || e.Harmless || m.Asked && !m.allows(e) {
			continue
		}
		switch e.Kind {
		case effect.Read:
			if e.Path != "" && !e.Glob && !e.Tags.Has(effect.List) && m.visible(e.Path) {
				p.Read = append(p.Read, e.Path)
				p.Hidden = slices.DeleteFunc(p.Hidden, func(h string) bool { return h == e.Path || h == e.Real })
			}
		case effect.Write, effect.Delete:
			m.change(e)
		}
	}
	m.meets()
	if m.books {
		return m.free()
	}
	return nil
}

// meets notes the hidden names of the workspace that the call is known to go through.
func (m *maker) meets() {
	for _, name := range m.profile().Hidden {
		through := func(e effect.Effect) bool {
			set := e.Target()
			return e.Kind == effect.Read && !e.Tags.Has(effect.List) && !set.IsZero() && !set.IsAnything() && set.Has(name)
		}
		if paths.Inside(m.work, name) && slices.ContainsFunc(m.Analysis.Effects, through) {
			m.out.Meets = append(m.out.Meets, name)
		}
	}
}

// faces are the questions that the effects on files put.
var faces = map[effect.Kind]string{effect.Read: obstat.FaceRead, effect.Write: obstat.FaceWrite,
	effect.Delete: obstat.FaceDelete}

// allows tells whether the policy allows an effect by itself, of a call that it asks about: `obstat run -- cat .env`.
func (m *maker) allows(e *effect.Effect) bool {
	face := faces[e.Kind]
	if face == "" || e.Path == "" || e.Glob {
		return false
	}
	for _, path := range []string{e.Path, e.Real} {
		if d := m.Ask(face, path); path != "" && d.Verdict != obstat.Allow {
			return false
		}
	}
	return true
}

// visible tells whether a path exists, so that it can be shown.
func (m *maker) visible(path string) bool {
	_, err := filepath.EvalSymlinks(path)
	return err == nil
}

// change adds a known change of files.
func (m *maker) change(e *effect.Effect) {
	p := m.profile()
	m.books = m.books || e.Program == "git" // with the files that it names, it changes its own
	switch {
	case e.Unnamed && e.Tags.Has(effect.Books):
	case e.Path == "" || e.Glob || paths.Inside("/dev", e.Path):
	case paths.Inside(m.root, e.Path) || paths.Inside(m.root, e.Real):
		m.out.Known = append(m.out.Known, e.Path)
	case m.visible(e.Path):
		p.Write = append(p.Write, e.Path)
		if e.Kind == effect.Delete {
			p.Delete = append(p.Delete, filepath.Dir(e.Path))
		}
		m.out.Known = append(m.out.Known, e.Path)
	case m.layered(e.Path):
		m.out.Known = append(m.out.Known, e.Path) // made in the layer, as a file or as a directory: `cp -r . /tmp/x`
	case e.Kind == effect.Write && m.visible(filepath.Dir(e.Path)):
		// Where the file is made, not its directory: that would give all of `/tmp`.
		p.Write = append(p.Write, e.Path)
		m.out.Make = append(m.out.Make, e.Path)
	}
}

// layered tells whether a path lies in a directory beside the workspace that has a layer of its own.
func (m *maker) layered(path string) bool {
	return slices.ContainsFunc(m.profile().Workspace.More, func(dir string) bool { return paths.Inside(dir, path) })
}

// free lets git change its own files, but for those that name programs which git runs: of these, all but the hooks
// where nothing else runs in the same confinement.
func (m *maker) free() error {
	p := m.profile()
	if m.out.AtOnce {
		return unfit("git changes the repository beside code that stays, which changes the workspace at once")
	}
	git := cmp.Or(m.out.Git, filepath.Join(m.root, ".git"))
	kept, err := m.memo.walk(git, "git", 64, maxNames, func(name string, _ bool) bool {
		if m.out.Whole {
			return name == filepath.Join(git, "hooks")
		}
		return runByGit(name, isDirectory)
	}, isObjects)
	if err != nil {
		return unfit("the repository %s: %v", git, err)
	}
	m.out.Known = append(m.out.Known, git)
	p.ReadOnly = slices.DeleteFunc(p.ReadOnly, func(n string) bool { return paths.Inside(git, n) })
	p.ReadOnly = append(p.ReadOnly, kept...)
	return nil
}

// tidy sorts the lists, each without repetitions and without trees inside others.
func tidy(p confine.Profile) confine.Profile {
	for _, list := range []*[]string{&p.Read, &p.Write, &p.Delete, &p.Execute} {
		*list = tops(*list)
	}
	shown := func(name string) bool {
		return slices.ContainsFunc(slices.Concat(p.Read, p.Write), func(tree string) bool { return paths.Inside(tree, name) })
	}
	p.Hidden = slices.DeleteFunc(p.Hidden, func(name string) bool { return !shown(name) })
	for _, list := range []*[]string{&p.Hidden, &p.ReadOnly, &p.Sockets, &p.Env.Keep} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p
}

// tops leaves out trees that lie in others.
func tops(list []string) (out []string) {
	slices.Sort(list)
	for _, dir := range list {
		if !slices.ContainsFunc(out, func(o string) bool { return paths.Inside(o, dir) }) {
			out = append(out, dir)
		}
	}
	return out
}
