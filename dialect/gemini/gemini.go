package gemini

import (
	"encoding/json"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
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
	return dialect.Info{Files: []string{defaultFile}, Default: defaultFile, Agents: []string{"gemini"}, Options: []dialect.Option{
		{Name: ModeOption, Values: modeNames, Doc: "the approval mode, as --approval-mode"},
		{Name: InteractiveOption, Values: []string{"yes", "no"}, Doc: "no: as without a terminal, where an ask is a denial"},
		{Name: DefaultsOption, Values: []string{"on", "off"}, Doc: "off: without the rules that Gemini CLI brings along"},
	}}
}

// ManagedDir returns the directory of the administrator's policies on this system.
func ManagedDir() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/GeminiCli/policies"
	case "windows":
		return `C:\ProgramData\gemini-cli\policies`
	}
	return "/etc/gemini-cli/policies"
}

// Places returns where Gemini CLI reads policies, lowest tier first: those of extensions,
// of the project, of the user, of the administrator.
func (Dialect) Places(w *dialect.Where) (out []dialect.Place, err error) {
	add := func(layer string, path ...string) {
		out = append(out, dialect.Place{Name: filepath.Join(append(path, "*.toml")...), Glob: true, Layer: layer})
	}
	if w.Home != "" {
		add(dialect.LayerUser, w.Home, ".gemini", "extensions", "*", "policies")
	}
	if w.Dir != "" {
		add(dialect.LayerProject, w.Dir, policyDir)
	}
	if w.Home != "" {
		add(dialect.LayerUser, w.Home, policyDir)
	}
	add(dialect.LayerManaged, w.Machine, ManagedDir())
	return append(out, settingsPlaces(w)...), nil
}

// Detect knows a policy by where it lies, or by the keys of its rules.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
	switch {
	case strings.HasSuffix("/"+name, "/"+settingsFile), strings.HasSuffix(strings.ToLower(name), "/gemini-cli/settings.json"), strings.HasSuffix(name, "/GeminiCli/settings.json"):
		return dialect.Sure
	case path.Ext(name) != ".toml":
		return dialect.No
	}
	dir := path.Dir(name)
	placed := path.Base(dir) == "policies" && (strings.Contains(dir, ".gemini") || strings.Contains(strings.ToLower(dir), "gemini-cli") || strings.Contains(dir, "GeminiCli"))
	root, problems := tomlx.Parse(f.Data)
	shape := false
	if !tree.Fatal(problems) {
		for _, key := range []string{keyRule, keyChecker} {
			shape = shape || root.At(key, 0, "toolName") != nil
		}
	}
	switch {
	case placed:
		return dialect.Sure
	case shape:
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
	name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
	switch {
	case strings.Contains(name, ".gemini/extensions/"):
		return tierExtension
	case f.Layer == dialect.LayerManaged, strings.Contains(strings.ToLower(name), "/gemini-cli/policies/"):
		return tierAdmin
	case f.Layer == dialect.LayerUser, home != "" && path.Dir(name) == path.Join(strings.ReplaceAll(home, `\`, "/"), policyDir):
		return tierUser
	case f.Layer == dialect.LayerSession:
		return tierUser // --policy
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
	l := &loader{home: in.Home, alone: in.Options[InteractiveOption] == "no"}
	if in.Options[DefaultsOption] != "off" {
		l.defaults()
	}
	for i := range in.Files {
		if !isSettings(in.Files[i].Name) {
			l.file(&in.Files[i])
		}
	}
	l.settingsOf(in.Files)
	if l.Errs.Fatal() != nil {
		return nil, l.Errs
	}
	mode := in.Options[ModeOption]
	if mode == "" {
		mode = modeDefault
	}
	return l.program(d.Name(), obstat.Mode(mode), in.Options[dialect.FloorOption] != "off"), l.Errs
}

const viewName = "gemini"

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){
		viewName: dialect.Code(func(p *params) obstat.View { return &view{p} }),
	}}
}

// ToolNames returns the tool of a rule.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	return dialect.OneTool(r.Tool), false
}
