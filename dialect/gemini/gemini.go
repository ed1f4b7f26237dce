package gemini

import (
	"cmp"
	"path"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Dialect reads the policies of Gemini CLI. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Layered = Dialect{}
	_ dialect.Speaker = Dialect{}
)

// Name returns "gemini".
func (Dialect) Name() string { return "gemini" }

// The options.
const (
	ModeOption        = "mode"        // the approval mode in force
	InteractiveOption = "interactive" // whether a person can be asked
	DefaultsOption    = "defaults"    // whether the rules that Gemini CLI brings along count
)

const (
	policyDir   = ".gemini/policies"
	defaultFile = policyDir + "/policy.toml"
)

// Info says where a project keeps its policy.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{defaultFile}, Default: defaultFile, Agents: []string{"gemini"},
		Options: []dialect.Option{
			{Name: ModeOption, Values: modeNames, Doc: "the approval mode, as --approval-mode"},
			{Name: InteractiveOption, Values: []string{"yes", "no"}, Doc: "no: as without a terminal, where an ask is a denial"},
			{Name: DefaultsOption, Values: []string{"on", "off"}, Doc: "off: without the rules that Gemini CLI brings along"},
		}}
}

// managedDir returns the directory of the administrator's settings, which has his policies in it.
func managedDir(w *dialect.Where) string {
	return w.Managed("/etc/gemini-cli", "/Library/Application Support/GeminiCli", `C:\ProgramData\gemini-cli`)
}

// Places returns where Gemini CLI reads policies, lowest tier first: those of extensions,
// of the project, of the user, of the administrator; and the settings that it merges.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var p dialect.Places
	p.Add(dialect.LayerUser, w.Home, ".gemini/extensions/*/policies/*.toml")
	p.Add(dialect.LayerProject, w.Dir, policyDir+"/*.toml")
	p.Add(dialect.LayerUser, w.Home, policyDir+"/*.toml")
	p.Add(dialect.LayerManaged, managedDir(w), "policies/*.toml")
	p.Add(dialect.LayerUser, w.Home, settingsFile)
	p.Add(dialect.LayerProject, w.Dir, settingsFile)
	p.Add(dialect.LayerManaged, managedDir(w), "settings.json")
	return p, nil
}

// Detect knows a policy by where it lies, or by the keys of its rules.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	name := f.Slashed()
	dir, low := path.Dir(name), strings.ToLower(name)
	switch {
	case strings.HasSuffix("/"+name, "/"+settingsFile), strings.HasSuffix(low, "/gemini-cli/settings.json"),
		strings.HasSuffix(name, "/GeminiCli/settings.json"):
		return dialect.Sure
	case path.Ext(name) != ".toml":
		return dialect.No
	case path.Base(dir) == "policies" && (strings.Contains(dir, ".gemini") || strings.Contains(low, "gemini-cli") ||
		strings.Contains(dir, "GeminiCli")):
		return dialect.Sure
	}
	root, problems := tomlx.Parse(f.Data)
	shape := root.At(keyRule, 0, "toolName") != nil || root.At(keyChecker, 0, "toolName") != nil
	if shape && !tree.Fatal(problems) {
		return dialect.Maybe
	}
	return dialect.No
}

// A tier ranks the rules of a file above all of a lower one.
type tier int

// The tiers.
const (
	tierDefault tier = iota + 1
	tierExtension
	tierWorkspace
	tierUser
	tierAdmin
)

// tierOf returns the tier of a file, by its layer or by its name.
func tierOf(f *dialect.File, home string) tier {
	name := f.Slashed()
	ofUser := home != "" && path.Dir(name) == path.Join(strings.ReplaceAll(home, `\`, "/"), policyDir)
	switch {
	case strings.Contains(name, ".gemini/extensions/"):
		return tierExtension
	case f.Layer == dialect.LayerManaged, strings.Contains(strings.ToLower(name), "/gemini-cli/policies/"):
		return tierAdmin
	case ofUser, f.Layer == dialect.LayerUser, f.Layer == dialect.LayerSession: // the last is --policy
		return tierUser
	}
	return tierWorkspace
}

// The approval modes.
const (
	modeDefault  = "default"
	modeAutoEdit = "autoEdit"
	modePlan     = "plan"
	modeYolo     = "yolo"
)

var modeNames = []string{modeDefault, modeAutoEdit, modePlan, modeYolo}

// Load reads the files and puts their rules in order, once for each mode.
func (d Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := &loader{alone: in.Options[InteractiveOption] == "no"}
	if in.Options[DefaultsOption] != "off" {
		l.defaults()
	}
	for i := range in.Files {
		if !isSettings(in.Files[i].Name) {
			l.tables(&in.Files[i], tierOf(&in.Files[i], in.Home))
		}
	}
	l.settingsOf(in.Files)
	if l.Errs.Fatal() != nil {
		return nil, l.Errs
	}
	mode := obstat.Mode(cmp.Or(in.Options[ModeOption], modeDefault))
	return l.program(d.Name(), mode, in.Options[dialect.FloorOption] != "off"), l.Errs
}

const viewName = "gemini"

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return kit.ViewLibrary(viewName, func(p *params) obstat.View { return &view{p} })
}

// ToolNames returns the tool of a rule.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	return kit.OneTool(r.Tool), false
}
