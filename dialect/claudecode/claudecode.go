package claudecode

import (
	"path"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
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
	mode := dialect.Option{Name: ModeOption, Values: append([]string{""}, modeNames...),
		Doc: "the mode in force, as --permission-mode; none named: defaultMode of the files"}
	return dialect.Info{Files: []string{fileProject, fileLocal}, Default: fileProject, Agents: []string{"claude-code"},
		DenyWins: true, Sees: map[string][]string{fieldSeen: {fieldCommand, fieldExact}}, Options: []dialect.Option{mode}}
}

// ModeOption names the mode in force whatever the files say.
const ModeOption = "mode"

// layers are those of files, lowest first.
var layers = []string{dialect.LayerUser, dialect.LayerProject, dialect.LayerLocal, dialect.LayerSession,
	dialect.LayerManaged}

// The files of a project, and those of the machine's policy.
const (
	fileProject  = ".claude/settings.json"
	fileLocal    = ".claude/settings.local.json"
	fileManaged  = "managed-settings.json"
	managedParts = "managed-settings.d"
)

// managedDir returns the directory of the machine's policy.
func managedDir(w *dialect.Where) string {
	return w.Managed("/etc/claude-code", "/Library/Application Support/ClaudeCode", `C:\Program Files\ClaudeCode`)
}

// Places returns where Claude Code reads settings, lowest precedence first: the
// user's, the project's, the project's own of this user, the machine's, and the
// parts of the machine's in alphabetical order.
//
// Policies that come from a server, from macOS's preferences or from the Windows
// registry are no files, and are not read.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var p dialect.Places
	p.Add(dialect.LayerUser, w.Home, fileProject)
	p.Add(dialect.LayerProject, w.Dir, fileProject)
	p.Add(dialect.LayerLocal, w.Dir, fileLocal)
	p.Add(dialect.LayerManaged, managedDir(w), fileManaged)
	parts, err := w.Parts(filepath.Join(managedDir(w), managedParts), ".json")
	for _, name := range parts {
		p = append(p, dialect.Place{Name: name, Layer: dialect.LayerManaged})
	}
	return p, err
}

// Detect knows a file by its place and its permissions. Settings without permissions are settings all the
// same, with no rules; at their place, permissions that cannot be read are a broken policy.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	l := lookAt(f)
	switch {
	case l.shape && l.placed, l.settings && l.object:
		return dialect.Sure
	case l.shape, l.speaks():
		return dialect.Maybe
	}
	return dialect.No
}

var _ dialect.Speaker = Dialect{}

// Speaks tells whether settings have something to say about permissions: those with hooks alone, or a model,
// leave the decision to the policies beside them.
func (Dialect) Speaks(f *dialect.File) bool {
	l := lookAt(f)
	return l.shape || l.speaks()
}

// A look is a file's place and shape, as far as they tell whose it is.
type look struct {
	placed, settings bool // in a directory of Claude Code's; under the name of its settings
	object           bool // it can be read, and is an object
	shape            bool // permissions as only Claude Code's are
	said             bool // permissions of any shape, or a list from before there were any
}

// speaks tells whether a file at its place has permissions, or cannot be read.
func (l *look) speaks() bool { return l.placed && (!l.object || l.said) }

func lookAt(f *dialect.File) (l look) {
	dir, base := path.Base(path.Dir(f.Slashed())), path.Base(f.Slashed())
	l.placed = base == fileManaged || dir == managedParts || dir == ".claude"
	l.settings = l.placed && (dir != ".claude" || base == path.Base(fileProject) || base == path.Base(fileLocal))
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	l.object = !tree.Fatal(problems) && root.Is(tree.Object)
	perms := root.Get(keyPermissions)
	l.shape = l.object && perms.Is(tree.Object) && slices.ContainsFunc(perms.Members, ours)
	l.said = root.Get(keyIgnored) != nil || perms != nil && !(perms.Is(tree.Object) && len(perms.Members) == 0)
	return l
}

// ours tells whether a member of "permissions" has the shape that only Claude
// Code's have.
func ours(m tree.Member) bool {
	switch m.Key {
	case "allow", "ask", "deny":
		return m.Value.Is(tree.Array) && !slices.ContainsFunc(m.Value.Elems,
			func(e *tree.Node) bool { return !e.Is(tree.String) })
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
	lib := kit.ViewLibrary(viewName, func(p *params) obstat.View { return newView(*p) })
	lib.Filters = map[string]func(*obstat.Rule) bool{exceptBroad: tooBroadForAuto}
	return lib
}
