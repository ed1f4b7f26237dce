package policy

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/paths"
)

// A search is one Find at work.
type search struct {
	*Finder
	w    Where
	list []dialect.Dialect
	memo map[string]*content
	have map[string]bool     // files and directories that exist
	glob map[string][]string // the files that patterns have found
	pins *pinStore           // nil: none count
	off  bool                // nothing has to be accepted anywhere
	// homes are the home directory by its name and by where its links lead.
	homes []string
	// foreign is the variable by which a project's settings say where the user's own
	// files or state are, such as HOME; then nothing there is the user's.
	foreign string
	spoken  []spoken // the texts of the project's settings; nil: not read yet
	// first: the agent's own project has no pin.
	first bool
	out   *InForce
	// stamped are the stamps of out by name, with a Finder.Watcher.
	stamped map[string]*stamp
}

// A content is a file as it was read.
type content struct {
	data []byte
	err  error
}

// A site is a directory that holds a project's configuration, or one that a person
// has accepted.
type site struct {
	dir  string // as the call names it
	key  string // links resolved
	base bool   // of the agent's own project
	// configs are the files on disk, and role is theirs.
	configs []*config
	role    Role

	pin      *Pin // nil: nothing was accepted
	pinAt    pinEntry
	pinRole  Role
	trusted  bool // nothing has to be accepted here
	replaced bool // a link leads away from the directory that was accepted, and its files are gone
}

// A config is the files that one dialect reads together, such as
// `.claude/settings.json` and `~/.claude/settings.json`.
type config struct {
	d     dialect.Dialect
	files []file
}

// A file is a configuration file that exists.
type file struct {
	dialect.File
	users     bool // the user's or the machine's own
	inProject bool // it lies in the site's directory
	hasRules  bool // it says something about permissions
	err       error
}

// find collects the policies in force where no file is named.
func (s *search) find() {
	hasProject := false // on disk
	var sites []*site
	calls := slices.Concat(s.w.Roots, []string{s.w.Dir})
	if s.serves() {
		s.w.Roots, s.w.Also = []string{s.w.Server}, slices.Concat(s.w.Also, s.w.Roots)
	}
	starts, own := s.starts()
	for i, at := range starts {
		if at == "" {
			continue
		}
		found, err := s.discover(at)
		if err != nil {
			s.broken(at, err, false)
			continue
		}
		for _, chain := range found {
			sites = merge(sites, chain, i == 0, i >= own)
		}
	}
	for _, st := range sites {
		if hasProject = hasProject || st.base && st.configs != nil; st.base {
			s.out.sites = append(s.out.sites, st)
		}
	}
	switch {
	case s.w.Server != "":
		s.out.home = s.callsHome(sites, cmp.Or(calls...))
	case len(s.out.sites) > 0:
		s.out.home = s.out.sites[0].dir
	default:
		s.out.home = s.repository(cmp.Or(starts...))
	}
	for _, st := range sites {
		if !hasProject {
			st.role = Inner // of a place that the call has chosen
		}
		s.load(st)
	}
	s.loadUsers(hasProject)
}

// starts returns the directories to look from, the agent's own project first, and
// how many of them are not only there to tighten.
func (s *search) starts() (out []string, own int) {
	w := &s.w
	first := []string{w.Dir}
	if len(w.Roots) > 0 {
		first = w.Roots[:1]
	} else if w.Chosen {
		first = []string{w.Start}
	}
	add := func(dirs ...string) {
		for _, at := range dirs {
			if len(out) == 0 || at != "" && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	add(slices.Concat(first, w.Roots, []string{w.Dir, w.Start})...)
	own = len(out)
	add(w.Also...)
	return out, own
}

// repository returns the repository that a directory is in, or the directory: there
// start the path rules of policies that are no project's.
func (s *search) repository(at string) string {
	if !filepath.IsAbs(at) {
		return ""
	}
	for _, dir := range slices.Backward(ancestors(filepath.Clean(at), s.homes)) {
		if s.exists(filepath.Join(dir, ".git")) {
			return dir
		}
	}
	return filepath.Clean(at)
}

// written returns the directory that named files were written for: that of the last, or
// the project that such a file lies in, as /p of /p/.claude/settings.json.
func (s *search) written(d dialect.Dialect, files []dialect.File) string {
	name := files[len(files)-1].Name
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.w.Start, name)
	}
	for _, rel := range dialect.WellKnown(d) {
		if dir, is := strings.CutSuffix(name, string(filepath.Separator)+filepath.FromSlash(rel)); is {
			return dir
		}
	}
	return filepath.Dir(name)
}

// merge adds the sites that one chain of directories has, outermost first. A site
// that was there before keeps the role that counts for more.
func merge(sites, chain []*site, base, tighten bool) []*site {
	outer, pinned := tighten, tighten
	for _, st := range chain {
		st.base, st.role, st.pinRole = base, Inner, Inner
		if st.configs != nil && !outer {
			outer, st.role = true, Own
		}
		if st.pin != nil && !pinned {
			pinned, st.pinRole = true, Own
		}
		have := slices.IndexFunc(sites, func(o *site) bool { return o.key == st.key })
		if have < 0 {
			sites = append(sites, st)
			continue
		}
		o := sites[have]
		o.role, o.pinRole, o.base = min(o.role, st.role), min(o.pinRole, st.pinRole), o.base || st.base
	}
	return sites
}

// discover finds the projects that a directory is in: by its name, and by where
// its links lead, outermost first. The outermost directory with a policy counts: an
// agent that may write below it could write a policy there.
func (s *search) discover(at string) (chains [][]*site, err error) {
	if !filepath.IsAbs(at) {
		return nil, obstat.Errors{{Code: obstat.CodeBadValue, Pos: obstat.Pos{File: at}, Msg: "this directory is none of this machine's"}}
	}
	at = filepath.Clean(at)
	real, err := resolve(at)
	if err != nil {
		return nil, obstat.Errors{dialect.IOError(at, err)}
	}
	for _, from := range slices.Compact([]string{at, real}) {
		var found []*site
		for _, dir := range ancestors(from, s.homes) {
			st, err := s.at(dir, from != real)
			if err != nil {
				return nil, err
			}
			if from != real {
				found = append(found, s.replaced(dir)...)
			}
			if st != nil {
				found = append(found, st)
			}
		}
		chains = append(chains, found)
	}
	return chains, nil
}

// at returns the site at a directory, nil where it has neither files nor a pin.
func (s *search) at(dir string, linked bool) (*site, error) {
	st := &site{dir: dir, key: dir}
	var err error
	if linked {
		if st.key, err = resolve(dir); err != nil {
			return nil, obstat.Errors{dialect.IOError(dir, err)}
		}
	}
	if st.configs, err = s.projectConfigs(dir); err != nil {
		return nil, err
	}
	if s.accepted(st); st.configs == nil && st.pin == nil {
		return nil, nil
	}
	return st, nil
}

// replaced returns the site of a directory that a person has accepted and that a link leads
// away from by now, as after `mv p q; ln -s evil p`, if it is one. It still binds.
func (s *search) replaced(dir string) []*site {
	if real, err := resolve(dir); err != nil || real == dir {
		return nil
	}
	st := &site{dir: dir, key: dir, replaced: true}
	if s.accepted(st); st.pin == nil {
		return nil
	}
	return []*site{st}
}

// projectConfigs returns the configurations of a directory whose own files have rules.
func (s *search) projectConfigs(dir string) (out []*config, err error) {
	found, err := s.configs(dir)
	for _, c := range found {
		if c.hasProjectRules() {
			out = append(out, c.counting())
		}
	}
	return out, err
}

// configs reads the files that the dialects know for a directory, "" for the user's
// and the machine's alone.
func (s *search) configs(dir string) (out []*config, err error) {
	where := &dialect.Where{Dir: dir, Home: s.w.Home, Machine: s.Machine, Getenv: s.w.Getenv, List: s.names}
	for _, d := range s.list {
		if dir != "" && !s.candidate(d, dir) {
			continue
		}
		places, err := dialect.PlacesOf(d, where)
		if err != nil {
			return nil, err
		}
		byName := map[string]*config{}
		for i := range places {
			for _, f := range s.files(d, dir, &places[i]) {
				if byName[places[i].Set] == nil {
					byName[places[i].Set] = &config{d: d}
					out = append(out, byName[places[i].Set])
				}
				byName[places[i].Set].files = append(byName[places[i].Set].files, f)
			}
		}
	}
	return out, nil
}

// candidate tells whether a directory may hold project's files of a dialect. Most
// directories above a project hold none, and looking for the first parts of their
// names is all that they cost.
func (s *search) candidate(d dialect.Dialect, dir string) bool {
	names := dialect.WellKnown(d)
	return names == nil || slices.ContainsFunc(names, func(name string) bool {
		first, _, _ := strings.Cut(name, "/")
		return s.exists(filepath.Join(dir, first))
	})
}

// exists tells whether there is a file or directory of that name.
func (s *search) exists(name string) bool {
	have, known := s.have[name]
	if !known && s.drafted(name) {
		have, known = true, true
	}
	if !known {
		_, err := os.Lstat(name)
		if have = !absent(err); !have {
			s.watch(name)
		}
		s.have[name] = have
	}
	return have
}

// drafted tells whether a file of that name, or one below it, is looked at as if it were written.
func (s *search) drafted(name string) bool {
	for draft := range s.With {
		if paths.Inside(name, draft) {
			return true
		}
	}
	return false
}

// matches returns the files that a pattern names.
func (s *search) matches(pattern string) []string {
	out, known := s.glob[pattern]
	if !known {
		base, _, _ := strings.Cut(pattern, "*")
		if base = filepath.Dir(base + "x"); s.exists(filepath.Dir(base)) && s.exists(base) {
			out, _ = filepath.Glob(pattern) // the pattern is the dialect's: it is well formed
			s.watchBelow(base)
		}
		s.glob[pattern] = out
	}
	return out
}

// files reads the files at a place.
func (s *search) files(d dialect.Dialect, dir string, p *dialect.Place) (out []file) {
	names := []string{p.Name}
	if p.Glob {
		names = s.matches(p.Name)
	}
	for _, name := range names {
		c := &content{data: p.Data}
		if p.Data == nil {
			if c = s.content(name); absent(c.err) {
				continue
			}
		}
		f := file{File: dialect.File{Name: name, Layer: p.Layer, Data: c.data}, err: c.err}
		project := p.Layer == dialect.LayerProject || p.Layer == dialect.LayerLocal
		f.users = !project && s.foreign == "" && (p.Env == "" || s.usersOwn(p.Env)) && !s.inProject(dir, name)
		f.inProject = project
		if f.hasRules = f.err != nil; f.err == nil {
			f.hasRules = dialect.Speaks(d, &f.File)
		}
		out = append(out, f)
	}
	return out
}

// inProject tells whether a file lies in a project: then it is the project's, also
// if the environment calls that directory the home.
func (s *search) inProject(dir, name string) bool {
	real, err := resolve(name) // `/proc/self/cwd/home` is in the project
	if err != nil {
		real = name
	}
	if dir != "" && (paths.Inside(dir, name) || paths.Inside(dir, real)) {
		return true
	}
	return slices.ContainsFunc(s.out.sites, func(st *site) bool { return paths.Inside(st.dir, name) || paths.Inside(st.key, real) })
}

// names returns the names in a directory.
func (s *search) names(dir string) ([]string, error) {
	s.watch(dir)
	return list(dir)
}

// content reads a file once.
func (s *search) content(name string) *content {
	if c := s.memo[name]; c != nil {
		return c
	}
	if data, ok := s.With[name]; ok {
		return &content{data: data}
	}
	c, stamp := new(content), s.watch(name)
	if c.err = fs.ErrNotExist; s.exists(filepath.Dir(name)) {
		c.data, c.err = s.readFile(name)
	}
	if s.memo[name] = c; stamp != nil && !stamp.settled {
		stamp.data = c.data
	}
	return c
}

// maxFile bounds a configuration file.
const maxFile = 256 << 20

// readFile reads a regular file; a pipe of that name would never end.
func (s *search) readFile(name string) ([]byte, error) {
	if s.Read != nil {
		return s.Read(name)
	}
	st, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("this is no regular file")}
	}
	r, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readAtMost(r, maxFile)
}

// absent tells whether an error says that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, os.ErrInvalid)
}

// list returns the names in a directory.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if absent(err) {
		err = fs.ErrNotExist
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out, err
}

// resolve follows the links of a path; of one that is not there yet, those of the
// part that is. Links that lead in circles are an error.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if _, named := err.(*fs.PathError); err != nil && !named {
		err = errCircle // the only error of its own
	}
	if err == nil || !absent(err) || path == filepath.Dir(path) {
		return real, err
	}
	real, err = resolve(filepath.Dir(path))
	return filepath.Join(real, filepath.Base(path)), err
}

var errCircle = errors.New("its links lead in circles")

// ancestors returns the directories that a project may start in, outermost first:
// below a home directory, or below the root.
func ancestors(at string, homes []string) []string {
	var out []string
	for ; at != filepath.Dir(at) && !slices.Contains(homes, at); at = filepath.Dir(at) {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// broken notes a configuration that cannot be loaded.
func (s *search) broken(place string, err error, bound bool) {
	s.out.Broken = append(s.out.Broken, Broken{place, err, bound})
}

// firstLine returns the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
