package agent

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// settings say where an agent reads hooks from and how an entry of obstat's is
// written there. An agent without places cannot be installed for.
type settings struct {
	// events are the events that obstat answers. Of those in spare, separated by
	// blanks, one may be missing: another event has asked before.
	events []string
	spare  string
	// after are events, separated by blanks, that tell the outcome of a call. The agent does
	// not wait for their hook.
	after string
	// limit is how long the agent waits for obstat's hook as it is installed; zero
	// where that is not known.
	limit  time.Duration
	places []place
	form   form
	format textedit.Format
	first  object // the keys of a new file besides its hooks
	guard  guard

	// own returns the contents of a file that is obstat's alone, of the name
	// ownFile in a directory of hooks.
	own     func(c Invocation) []byte
	ownFile string
	ownMode fs.FileMode // zero is the usual one
	// script returns the words of the command in a line of such a file, nil where
	// it has none; for files that are a program, not settings.
	script func(line string) []string
	// reads tells which files of a directory of hooks the agent reads; nil is those
	// that end in .json.
	reads func(name string) bool
	// strict are the only keys, separated by blanks, that the agent takes at the top
	// of a file of hooks; "" for any.
	strict string
	// note is shown after an installation, unless with Request.Offline.
	note string
	// more returns changes to other files that an installation needs.
	more func(t *target, r *Request, remove bool) []Change

	// honours returns the effect of a reply; see [Hook.Outcome].
	honours func(h *Hook, s *said) Outcome
	// start returns the words that the agent starts for a hook; nil is
	// `/bin/sh -c LINE`.
	start func(h *Hook, getenv func(string) string) []string
	// environ returns the variables that the agent sets for its hooks.
	environ func(event, dir string) []string
	// forge returns the payload of a canary, nil where the event has no such calls.
	forge func(event, dir string, c probe) object
	// check adds findings that only this agent can have; nil has none.
	check func(s *Setup)
	// merges: the agent runs equal entries of several files once.
	merges bool
	// servers are the files in which the agent has servers of the Model Context Protocol.
	servers []serverPlace
	// covers is how far the agent's hooks reach, in its version.
	covers  []Limit
	version string
	// brief is the agent's row in docs/agents/README.md: whether an allow skips its prompt, where an
	// ask goes, whether arguments can be changed, how a missing obstat ends.
	brief string
}

// A form is how an agent writes a hook in its settings.
type form struct {
	under    string        // the key of the object with the events; "" is `hooks`
	nested   bool          // in groups: {"matcher", "hooks": [...]}
	commands []string      // keys of the command line, the first is the one that counts
	fields   object        // further fields of every entry
	matcher  string        // "" for none
	matched  string        // the only event that has the matcher; "" for all
	timeout  string        // key; "" if there is none
	unit     time.Duration // of the time-out
}

// top returns the key of the object that has the events.
func (f *form) top() string { return cmp.Or(f.under, "hooks") }

// matcherOf returns the matcher of an event's entry, "" if it has none.
func (f *form) matcherOf(event string) string {
	if f.matched != "" && f.matched != event {
		return ""
	}
	return f.matcher
}

// patient is long enough for a person to answer.
const patient = 600 * time.Second

// Installable tells whether obstat can be installed for the agent.
func (a *Agent) Installable() bool { return a.places != nil }

// Installable returns the agents that obstat can be installed for.
func (l List) Installable() List {
	return slices.DeleteFunc(slices.Clone(l), func(a *Agent) bool { return !a.Installable() })
}

// Limit returns how long the agent waits for obstat's hook as it is installed;
// zero where that is not known.
func (a *Agent) Limit() time.Duration { return a.limit }

// Note returns a line to show after an installation, unless with [Request.Offline]; "" if there
// is nothing to say.
func (a *Agent) Note() string { return a.note }

// Waits tells whether the agent waits for a network at its start, unless with [Request.Offline].
func (a *Agent) Waits() bool { return a.note != "" }

// A Limit is one thing that an agent's hooks cover, or do not.
type Limit struct {
	About string `json:"about"`
	Held  Held   `json:"held"`
	Says  string `json:"says"`
}

// Held tells whether rules hold: yes, partly or no.
type Held string

// The values of Held.
const (
	Yes    Held = "yes"
	Partly Held = "partly"
	No     Held = "no"
)

// Programs returns the names of the programs that start the agent.
func (a *Agent) Programs() []string { return strings.Fields(a.programs) }

// Covers returns how far the agent's hooks reach, and the version of the agent that
// this is about.
func (a *Agent) Covers() (version string, list []Limit) { return a.version, a.covers }

// A Scope says whom a settings file is for.
type Scope uint8

// The scopes.
const (
	User    Scope = iota + 1 // one user, in every project
	Project                  // all users of a project
	Managed                  // everybody on the machine; only its administrator writes there
)

// String returns the scope as a word.
func (s Scope) String() string {
	return [...]string{"none", "user", "project", "managed"}[min(s, Managed)]
}

// A place is a file, or a directory of files, that an agent reads hooks from.
type place struct {
	scope Scope
	// env names the variable that moves the user's directory, and under is the
	// directory that it moves.
	env, under string
	machine    machineDir // for Managed
	path       string     // slashes; relative to the directory, home or project
	dir        bool       // every file in it counts
	install    bool       // where obstat's entry goes
	shared     bool       // the directory is also that of other programs
}

// A machineDir is where an agent's machine-wide settings are, by system.
type machineDir struct{ linux, mac, windows string }

func (d machineDir) here() string {
	switch runtime.GOOS {
	case "darwin":
		return d.mac
	case "windows":
		return d.windows
	}
	return d.linux
}

// A Where says in which surroundings settings are looked for. The zero value has
// only those of the machine.
type Where struct {
	Home     string   // "" leaves out the user's files
	Projects []string // their directories
	// Root is put before the directories of the machine; "" is the root directory.
	Root string
	// Getenv looks up the variables that move an agent's directory; nil has none.
	Getenv func(string) string
}

// A spot is a place on a machine. It need not exist.
type spot struct {
	*place
	name string // absolute where home and project are
}

// spots returns where the agent reads hooks from: the machine's files, then the
// user's, then the projects'.
func (a *Agent) spots(w *Where) []spot {
	var out []spot
	for _, scope := range []Scope{Managed, User, Project} {
		for i := range a.places {
			if p := &a.places[i]; p.scope == scope {
				for _, base := range p.bases(w) {
					out = append(out, spot{p, filepath.Join(base, filepath.FromSlash(p.path))})
				}
			}
		}
	}
	return out
}

// bases returns the directories that the place's path starts from.
func (p *place) bases(w *Where) []string {
	switch p.scope {
	case Managed:
		return []string{w.Root + p.machine.here()}
	case Project:
		return w.Projects
	}
	if p.env != "" && w.Getenv != nil {
		if dir := w.Getenv(p.env); filepath.IsAbs(dir) {
			return []string{dir}
		}
	}
	if w.Home == "" {
		return nil
	}
	return []string{filepath.Join(w.Home, filepath.FromSlash(p.under))}
}

// Target returns the file that obstat's entry goes into, "" if the agent reads
// none in that scope.
func (a *Agent) Target(s Scope, w *Where) string {
	for _, p := range a.spots(w) {
		switch {
		case !p.install || p.scope != s:
		case p.dir:
			return filepath.Join(p.name, a.ownFile)
		default:
			return p.name
		}
	}
	return ""
}

// A File is one settings file and the hooks in it.
type File struct {
	Name    string
	Scope   Scope
	Entries []Entry

	data     []byte
	root     *tree.Node // nil where it is no document
	problems []tree.Problem
}

// Broken returns the first problem with its position, nil if the file can be
// read.
func (f *File) Broken() error {
	if !tree.Fatal(f.problems) {
		return nil
	}
	return &textedit.BrokenError{Src: f.data, Problems: f.problems}
}

// isTOML tells whether the file is Codex's config, not a file of hooks.
func (f *File) isTOML() bool { return filepath.Ext(f.Name) == ".toml" }

// read reads the files of a spot that exist. Files that cannot be opened are
// errors; those that cannot be parsed are told by [File.Broken].
func (a *Agent) read(p spot) ([]*File, error) {
	names := []string{p.name}
	if p.dir {
		list, err := os.ReadDir(p.name)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		names = nil
		for _, e := range list {
			if a.reads == nil && filepath.Ext(e.Name()) == ".json" || a.reads != nil && a.reads(e.Name()) {
				names = append(names, filepath.Join(p.name, e.Name()))
			}
		}
	}
	var out []*File
	for _, name := range names {
		data, err := textedit.ReadFile(name)
		if err != nil {
			return out, err
		}
		if data != nil {
			f := a.parse(name, data, p.dir)
			f.Scope = p.scope
			out = append(out, f)
		}
	}
	return out, nil
}

// parse reads a file; inDir says that it is one of a directory of hooks.
func (a *Agent) parse(name string, data []byte, inDir bool) *File {
	f := &File{Name: name, data: data}
	switch {
	case f.isTOML():
		var d *tomlx.Doc
		d, f.problems = tomlx.ParseDoc(data)
		f.root = d.Root
	case inDir && a.script != nil:
		f.Entries = a.scriptEntry(f)
		return f
	case len(bytes.TrimSpace(data)) == 0:
		return f
	default:
		format := a.format
		if format == 0 || filepath.Ext(name) == ".jsonc" {
			format = textedit.JSONC
		}
		f.root, f.problems = format.Parse(data)
	}
	if !tree.Fatal(f.problems) {
		f.Entries = a.entries(f)
	}
	return f
}
