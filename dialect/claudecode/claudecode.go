package claudecode

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// Dialect reads Claude Code's settings. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Dialect  = Dialect{}
	_ dialect.Namer    = Dialect{}
	_ dialect.Locator  = Dialect{}
	_ dialect.Optioner = Dialect{}
)

// Name returns "claudecode".
func (Dialect) Name() string { return "claudecode" }

// DefaultFile returns where a project keeps its settings.
func (Dialect) DefaultFile() string { return ".claude/settings.json" }

// WellKnown returns where a project keeps its settings, shared ones first.
func (Dialect) WellKnown() []string {
	return []string{".claude/settings.json", ".claude/settings.local.json"}
}

// ModeOption names the mode in force whatever the files say.
const ModeOption = "mode"

// Options returns the dialect's options.
func (Dialect) Options() []dialect.Option {
	return []dialect.Option{{Name: ModeOption, Values: append([]string{""}, modeNames...), Doc: "the mode in force, as --permission-mode; none named: defaultMode of the files"}}
}

// A Place is a file that may hold settings, and its layer.
type Place struct {
	Name, Layer string
}

// The layers, lowest first.
const (
	LayerUser    = "user"
	LayerProject = "project"
	LayerLocal   = "local"
	LayerSession = "session"
	LayerManaged = "managed"
)

var layers = []string{LayerUser, LayerProject, LayerLocal, LayerSession, LayerManaged}

// ManagedDir returns the directory of the machine's policy on this system.
func ManagedDir() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	}
	return "/etc/claude-code"
}

// Places returns where settings for a project are looked for, lowest precedence
// first: the user's, the project's, the project's own of this user, the
// machine's, and the parts of the machine's in alphabetical order. managed is the
// directory of the machine's policy, "" the usual one; list returns the names in a
// directory, nil leaves the parts out. A directory of parts that cannot be read is
// an error: it may hold denials.
//
// Policies that come from a server, from macOS's preferences or from the Windows
// registry are no files, and are not read.
func Places(dir, home, managed string, list func(dir string) ([]string, error)) ([]Place, error) {
	if managed == "" {
		managed = ManagedDir()
	}
	var out []Place
	if home != "" {
		out = append(out, Place{filepath.Join(home, ".claude", "settings.json"), LayerUser})
	}
	out = append(out,
		Place{filepath.Join(dir, ".claude", "settings.json"), LayerProject},
		Place{filepath.Join(dir, ".claude", "settings.local.json"), LayerLocal},
		Place{filepath.Join(managed, "managed-settings.json"), LayerManaged})
	if list == nil {
		return out, nil
	}
	parts := filepath.Join(managed, managedParts)
	names, err := list(parts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			out = append(out, Place{filepath.Join(parts, name), LayerManaged})
		}
	}
	return out, nil
}

// managedParts is the directory of the machine's policy that has parts of it.
const managedParts = "managed-settings.d"

// Detect knows a file by its place and its permissions. Settings without
// permissions are no policy; at their place, permissions that cannot be read are
// one, and a broken one.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
	dir := path.Base(path.Dir(name))
	placed := path.Base(name) == "managed-settings.json" || dir == managedParts || dir == ".claude"
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	broken := tree.Fatal(problems) || !root.Is(tree.Object)
	perms := root.Get("permissions")
	switch shape := !broken && perms.Is(tree.Object) && slices.ContainsFunc(perms.Members, ours); {
	case shape && placed:
		return dialect.Sure
	case shape, placed && (broken || root.Get(keyIgnored) != nil || perms != nil && !(perms.Is(tree.Object) && len(perms.Members) == 0)):
		return dialect.Maybe
	}
	return dialect.No
}

// ours tells whether a member of "permissions" has the shape that only Claude
// Code's have.
func ours(m tree.Member) bool {
	switch m.Key {
	case "allow", "ask", "deny":
		return m.Value.Is(tree.Array) && !slices.ContainsFunc(m.Value.Elems, func(e *tree.Node) bool { return !e.Is(tree.String) })
	case "defaultMode", "disableBypassPermissionsMode":
		return m.Value.Is(tree.String)
	case "additionalDirectories":
		return m.Value.Is(tree.Array)
	}
	return false
}

const viewName = "claudecode"

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){viewName: newView}}
}
