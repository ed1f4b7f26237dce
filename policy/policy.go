// Package policy finds the policy that is in force for an agent at a place: which
// files of which layers and dialects count, from the directory of the call up to
// the home directory, and the user's and the machine's own.
//
// It owns discovery, for every face: library, `check`, hook and gate ask here and
// nowhere else. It does not know any file format, which the dialects do, and it
// asks and records nothing, which the gate does.
package policy

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/guard/person"
)

// Where is the agent and the place of a call.
type Where struct {
	// Agent is the agent's name, "claude-code"; "" is not known.
	Agent string
	// Dir is the working directory of the call and Roots are its workspace, if the
	// agent says so; the first root is the agent's own project.
	Dir   string
	Roots []string
	// Start is the directory that the face itself runs in, such as the hook's; ""
	// is none. Its policy counts as well: a call can choose where it is made.
	Start string
	// Chosen: the model has chosen Dir for this call, as it does in Codex. Then the
	// agent's own project is at Start, and a policy at Dir only tightens.
	Chosen bool
	// Server is the directory that a server runs in. A policy there decides for the calls of all projects, whose own
	// only tighten; without one it counts for nothing: `obstat serve` in / is no reason to take / for the workspace.
	Server string
	// Also are other directories that the call works in, such as B in
	// `cd ../B && make`. Policies there only tighten.
	Also []string
	// Home is the user's home directory; "" is not known.
	Home string
	// Getenv reads the environment; nil reads the process's.
	Getenv func(string) string
	// Every: the files of all dialects count, not only those that decide for the
	// agent. `obstat trust` looks so.
	Every bool
	// Mine: no agent has started this process, so that its environment is its
	// user's own; see [TrustVariable].
	Mine bool
	// Named is the policy that a person has named; nil finds one.
	Named *Named
}

// Named is a policy as flags name it. It is taken as named: neither layers nor
// acceptance are looked at.
type Named struct {
	Files   []string // FILE or LAYER=FILE, lowest precedence first; none: files are found
	Dialect string   // "" is told by name and shape
	Options map[string]string
}

// IsZero tells whether nothing is named, so that files are found and read as their systems do.
func (n *Named) IsZero() bool { return len(n.Files) == 0 && n.Dialect == "" && len(n.Options) == 0 }

// A Finder finds policies. The zero value is ready for use.
type Finder struct {
	// Dialects are the formats that are looked for; nil is all of them.
	Dialects []dialect.Dialect
	// Read reads a named file; nil reads it from the file system.
	Read func(name string) ([]byte, error)
	// With are files as if they were written, by their full names: the policy that is in force once a draft is there.
	With map[string][]byte
	// State is the state directory that pins are kept in; "" is the user's.
	State string
	// NoPins leaves pins out: files are in force as they are.
	NoPins bool
	// Machine stands before the machine's own directories; "" outside of tests.
	Machine string
	// Watcher remembers how everything looked, for [InForce.Changed]; nil: nothing does.
	Watcher *Watcher
	// Who accepts, for the records of pins: terminal, process and parents; nil where a
	// face without a terminal has asked.
	Who *person.Who
}

// A Role says how much a policy's answer counts.
type Role uint8

// The roles.
const (
	// Own: the answer counts as it is.
	Own Role = iota
	// Inner: its rules count where they tighten, and its default does not. Policies
	// below a project's own are: an agent that may write there could write one.
	Inner
	// User: only its denials count. So is the user's own policy beside a project's.
	User
)

var roleNames = [...]string{"own", "inner", "user"}

// String returns the role's name.
func (r Role) String() string { return roleNames[min(int(r), len(roleNames)-1)] }

// A Policy is one configuration in force.
type Policy struct {
	*dialect.Loaded
	Role  Role
	Place string // the project's directory; "" is no project
	Why   string // why it is in force, in words
	// OnDisk: the files say so now. Accepted: a person has accepted it, or it is the
	// user's own. A policy that is only one of the two tightens and never loosens.
	OnDisk, Accepted bool

	from string // where a policy without a Place was written; "" is not known
}

// Server returns the server that hooks work with by these policies: the first that
// names one in `server:`; "" where none does.
func (f *InForce) Server() string {
	if f != nil {
		for _, p := range f.Policies {
			if s := native.Server(p.Program); s != "" {
				return s
			}
		}
	}
	return ""
}

// Broken is a configuration that cannot be loaded. Bound: its accepted version still
// decides, and nothing is allowed unasked.
type Broken struct {
	Place string
	Err   error
	Bound bool
}

// A Looked is a file that exists and was looked at.
type Looked struct {
	Name     string `json:"name"`
	Layer    string `json:"layer"`
	Dialect  string `json:"dialect"`
	Place    string `json:"place,omitempty"`
	InForce  bool   `json:"in_force"`
	Why      string `json:"why"` // why it is in force, or why not
	Accepted bool   `json:"accepted"`
}

// InForce holds the policies that decide at a place. It is immutable.
type InForce struct {
	// Policies are the policies in force; the strictest answer counts. There is
	// always one of role Own, the built-in one at least, unless something is Broken.
	Policies []*Policy
	Broken   []Broken
	Looked   []Looked
	// New lists the rules on disk that wait for a person to accept them.
	New []Unaccepted
	// Pins says in words whether pins count here, and why not.
	Pins string
	// Pinned: changing a file cannot loosen the answers here.
	Pinned bool

	agent string
	home  string  // the project that policies without a place of their own are asked about
	sites []*site // of the agent's own project
	// looked is everything that was looked at, see Changed; nil: nothing remembers it.
	looked  *watched
	watcher *Watcher
}

// Files returns the names of all files that are in force.
func (f *InForce) Files() (out []string) {
	for i := range f.Looked {
		if f.Looked[i].InForce && !slices.Contains(out, f.Looked[i].Name) {
			out = append(out, f.Looked[i].Name)
		}
	}
	return out
}

// Main returns the policy to show where one stands for all: the first of the
// agent's own project, else the first; nil where there is none.
func (f *InForce) Main() *Policy {
	for _, p := range f.Policies {
		if p.Role == Own && p.OnDisk && !p.aside() {
			return p
		}
	}
	if len(f.Policies) > 0 {
		return f.Policies[0]
	}
	return nil
}

// Err returns the problems of all files that cannot be loaded, or nil.
func (f *InForce) Err() error {
	var all obstat.Errors
	for _, b := range f.Broken {
		var es obstat.Errors
		if !errors.As(b.Err, &es) {
			es = obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: b.Place}, Msg: b.Err.Error()}}
		}
		all = append(all, es...)
	}
	return all.Fatal()
}

// Bound tells whether the policies can decide although a file cannot be loaded.
func (f *InForce) Bound() bool { return f.unusable() == "" }

// Find returns the policies in force. Files that are found and cannot be loaded are
// in the result, and count. An error is about the named policy or dialect; the files
// that were looked at are there nevertheless.
func (f *Finder) Find(w *Where) (*InForce, error) {
	s, err := f.search(w)
	if err != nil {
		return nil, err
	}
	if len(s.w.Named.Files) > 0 {
		return s.out, s.named()
	}
	s.foreign = s.setByProject()
	s.openPins()
	defer s.closePins()
	s.find()
	return s.out, nil
}

// search returns a search at its beginning.
func (f *Finder) search(w *Where) (*search, error) {
	s := &search{Finder: f, w: *w, memo: map[string]*content{}, have: map[string]bool{}, glob: map[string][]string{}, out: &InForce{agent: w.Agent, Pins: "on", Pinned: true, watcher: f.Watcher, looked: new(watched)}}
	if s.w.Getenv == nil {
		s.w.Getenv = os.Getenv
	}
	if s.w.Named == nil {
		s.w.Named = &Named{}
	}
	if home := s.w.Home; home != "" {
		s.homes = []string{filepath.Clean(home)}
		if real, err := resolve(s.homes[0]); err == nil && real != s.homes[0] {
			s.homes = append(s.homes, real)
		}
	}
	if s.list = f.Dialects; s.list == nil {
		s.list = all.All()
	}
	if name := s.w.Named.Dialect; name != "" {
		d, err := named(s.list, name)
		if err != nil {
			return nil, err
		}
		s.list = []dialect.Dialect{d}
	}
	return s, nil
}

// named returns the dialect of that name.
func named(list []dialect.Dialect, name string) (dialect.Dialect, error) {
	for _, d := range list {
		if d.Name() == name {
			return d, nil
		}
	}
	return all.Find(name) // says which there are
}

// named loads the files that a person has named.
func (s *search) named() error {
	files, err := dialect.ReadFiles(s.w.Named.Files, s.readNamed)
	if err != nil {
		return err
	}
	d, err := all.Of(s.w.Named.Dialect, files)
	if err != nil {
		return err
	}
	if c, ok := d.(dialect.Companion); ok {
		files = append(s.companions(c, files), files...)
	}
	for i := range files {
		s.out.Looked = append(s.out.Looked, Looked{Name: files[i].Name, Layer: files[i].Layer, Dialect: d.Name(), InForce: true, Why: "named", Accepted: true})
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Options: s.w.Named.Options, Home: s.w.Home})
	if err != nil {
		return err
	}
	s.out.Pinned = false
	starts, _ := s.starts()
	s.out.home = s.repository(cmp.Or(starts...))
	s.out.Policies = []*Policy{{Loaded: l, from: s.written(d, files), Why: "named", OnDisk: true, Accepted: true}}
	return nil
}

// companions returns the files that the system reads with those that a person has named, as
// far as they are there.
func (s *search) companions(c dialect.Companion, files []dialect.File) (out []dialect.File) {
	for i := range files {
		for _, name := range c.Beside(files[i].Name) {
			data, err := s.readNamed(name)
			if err == nil && !slices.ContainsFunc(files, func(f dialect.File) bool { return filepath.Base(f.Name) == filepath.Base(name) }) {
				out = append(out, dialect.File{Name: name, Data: data})
			}
		}
	}
	return out
}

// readNamed reads a file as a command line names it, from the directory that the
// face runs in.
func (s *search) readNamed(name string) ([]byte, error) {
	if s.w.Start != "" && !filepath.IsAbs(name) && s.Read == nil {
		name = filepath.Join(s.w.Start, name)
	}
	return s.content(name).data, s.content(name).err
}

// Builtin returns the policy that is in force where there is no other.
func Builtin(floor string) (*dialect.Loaded, error) {
	in := &dialect.Input{Options: map[string]string{}}
	if floor != "" {
		in.Options[dialect.FloorOption] = floor
	}
	return dialect.Load(native.Builtin{}, in)
}

// Here returns the policies in force in a directory for calls of this process, with
// the user's home and environment. It is the one call for programs that embed
// obstat.
func Here(dir string) (*InForce, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	home, _ := obstat.OS{}.Home("")
	return new(Finder).Find(&Where{Dir: dir, Home: home, Mine: true})
}
