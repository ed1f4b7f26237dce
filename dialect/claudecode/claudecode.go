package claudecode

import (
	"encoding/json"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Dialect reads Claude Code's settings. The zero value is ready for use.
type Dialect struct{}

var _ dialect.Layered = Dialect{}

// Name returns "claudecode".
func (Dialect) Name() string { return "claudecode" }

// Info says where a project keeps its settings, shared ones first. A deny rule of
// any layer stands.
func (Dialect) Info() dialect.Info {
	files := []string{".claude/settings.json", ".claude/settings.local.json"}
	return dialect.Info{Files: files, Default: files[0], Agents: []string{"claude-code"}, DenyWins: true, Sees: map[string][]string{fieldSeen: {fieldCommand, fieldExact}}, Options: []dialect.Option{
		{Name: ModeOption, Values: append([]string{""}, modeNames...), Doc: "the mode in force, as --permission-mode; none named: defaultMode of the files"},
	}}
}

// ModeOption names the mode in force whatever the files say.
const ModeOption = "mode"

// The layers, lowest first.
const (
	LayerUser    = dialect.LayerUser
	LayerProject = dialect.LayerProject
	LayerLocal   = dialect.LayerLocal
	LayerSession = dialect.LayerSession
	LayerManaged = dialect.LayerManaged
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

// Places returns where Claude Code reads settings, lowest precedence first: the
// user's, the project's, the project's own of this user, the machine's, and the
// parts of the machine's in alphabetical order.
//
// Policies that come from a server, from macOS's preferences or from the Windows
// registry are no files, and are not read.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var out []dialect.Place
	add := func(layer string, path ...string) {
		out = append(out, dialect.Place{Name: filepath.Join(path...), Layer: layer})
	}
	if w.Home != "" {
		add(LayerUser, w.Home, ".claude", "settings.json")
	}
	if w.Dir != "" {
		add(LayerProject, w.Dir, ".claude", "settings.json")
		add(LayerLocal, w.Dir, ".claude", "settings.local.json")
	}
	managed := filepath.Join(w.Machine, ManagedDir())
	add(LayerManaged, managed, "managed-settings.json")
	parts, err := w.Parts(filepath.Join(managed, managedParts), ".json")
	for _, name := range parts {
		add(LayerManaged, name)
	}
	return out, err
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
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){viewName: newView},
		Filters: map[string]func(*obstat.Rule) bool{exceptBroad: tooBroadForAuto}}
}
