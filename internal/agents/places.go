package agents

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// A Scope says whom a settings file is for.
type Scope uint8

// The scopes.
const (
	User    Scope = iota + 1 // one user, in every project
	Project                  // everybody who works in a project
	Managed                  // everybody on the machine; only its administrator writes there
)

// String returns the scope as a word.
func (s Scope) String() string {
	switch s {
	case User:
		return "user"
	case Project:
		return "project"
	case Managed:
		return "managed"
	}
	return "none"
}

// A place is a file or directory that an agent reads hooks from, in terms of
// home and project.
type place struct {
	scope Scope
	// env names the variable that moves the user's directory, and under is the
	// directory that it moves.
	env, under string
	path       string // slashes; relative to home or project, absolute for Managed
	dir        bool   // every file in it counts
	install    bool   // where obstat's entry goes
}

// A Place is a file, or a directory of files, that an agent reads hooks from. It
// need not exist.
type Place struct {
	Scope Scope
	Name  string // absolute where home and project are
	Dir   bool   // Name is a directory, and every file in it counts
	// Install: obstat's own entry goes here; of a directory, into a file of its
	// own.
	Install bool
}

// A Where says in which surroundings places are looked for. The zero value has
// only the places of the machine.
type Where struct {
	Home     string   // "" leaves out the user's places
	Projects []string // their directories
	// Root is put before the places of the machine; "" is the root directory.
	Root string
	// Getenv looks up the variables that move an agent's directory; nil has none.
	Getenv func(string) string
}

// Places returns where the agent reads hooks from, managed places first, then
// the user's, then the projects'.
func (a *Agent) Places(w *Where) []Place {
	var out []Place
	for _, scope := range []Scope{Managed, User, Project} {
		for i := range a.places {
			if a.places[i].scope == scope {
				out = append(out, a.places[i].in(w)...)
			}
		}
	}
	return out
}

func (p *place) in(w *Where) []Place {
	at := func(base string) Place {
		return Place{Scope: p.scope, Name: filepath.Join(base, filepath.FromSlash(p.path)), Dir: p.dir, Install: p.install}
	}
	switch p.scope {
	case Managed:
		return []Place{at(w.Root + machineDir(p.under))}
	case Project:
		var out []Place
		for _, dir := range w.Projects {
			out = append(out, at(dir))
		}
		return out
	}
	if dir := w.env(p.env); dir != "" {
		return []Place{at(dir)}
	}
	if w.Home == "" {
		return nil
	}
	return []Place{at(filepath.Join(w.Home, filepath.FromSlash(p.under)))}
}

// env returns the directory that a variable moves another to, "" if none.
func (w *Where) env(name string) string {
	if name == "" || w.Getenv == nil {
		return ""
	}
	if dir := w.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// machineDirs are where an agent's machine-wide settings are: elsewhere, on
// macOS and on Windows.
var machineDirs = map[string][3]string{
	"claude-code":    {"/etc/claude-code", "/Library/Application Support/ClaudeCode", `C:\Program Files\ClaudeCode`},
	"codex":          {"/etc/codex", "/etc/codex", `C:\ProgramData\OpenAI\Codex`},
	"gemini-cli":     {"/etc/gemini-cli", "/Library/Application Support/GeminiCli", `C:\ProgramData\gemini-cli`},
	"cursor":         {"/etc/cursor", "/Library/Application Support/Cursor", `C:\ProgramData\Cursor`},
	"github-copilot": {"/etc/github-copilot", "/etc/github-copilot", `C:\ProgramData\github-copilot`},
	"windsurf":       {"/etc/windsurf", "/Library/Application Support/Windsurf", `C:\ProgramData\Windsurf`},
}

func machineDir(name string) string {
	d := machineDirs[name]
	switch runtime.GOOS {
	case "darwin":
		return d[1]
	case "windows":
		return d[2]
	}
	return d[0]
}

// Files returns every file that may hold hook entries of any agent, for the
// user with that home directory and for the projects, whether they exist or not.
// Of a directory of hooks it is the file that obstat writes; see [Dirs]. Where
// the environment moves an agent's directory, both are named.
func Files(home string, projectDirs ...string) []string {
	return list(home, projectDirs, func(a *Agent, p Place) string {
		if p.Dir {
			return filepath.Join(p.Name, a.ownFile)
		}
		return p.Name
	})
}

// Dirs returns every directory whose files may all hold hook entries.
func Dirs(home string, projectDirs ...string) []string {
	return list(home, projectDirs, func(_ *Agent, p Place) string {
		if p.Dir {
			return p.Name
		}
		return ""
	})
}

func list(home string, projectDirs []string, name func(*Agent, Place) string) []string {
	var out []string
	for _, getenv := range []func(string) string{nil, os.Getenv} {
		w := &Where{Home: home, Projects: projectDirs, Getenv: getenv}
		for _, a := range All() {
			for _, p := range a.Places(w) {
				if n := name(a, p); n != "" && !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
	}
	return out
}
