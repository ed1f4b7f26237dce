package codex

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Dialect reads Codex's rules. The zero value is ready for use.
type Dialect struct{}

var _ dialect.Layered = Dialect{}

// Name returns "codex".
func (Dialect) Name() string { return "codex" }

const (
	defaultFile      = ".codex/rules/default.rules"
	requirementsFile = "requirements.toml"
	configFile       = "config.toml"
	systemDir        = "/etc/codex"
)

// ApprovalOption names the approval policy, which is the mode in force.
const ApprovalOption = "approval"

// Info says where a project keeps its rules. The strictest rule of all layers decides.
func (Dialect) Info() dialect.Info {
	approval := dialect.Option{Name: ApprovalOption, Values: append([]string{""}, modeNames...),
		Doc: "the approval policy, as `codex --ask-for-approval`; none named: on-request, or the first that requirements.toml allows"}
	return dialect.Info{Files: []string{defaultFile}, Default: defaultFile, Agents: []string{"codex"}, DenyWins: true,
		Options: []dialect.Option{approval}}
}

// Places returns where Codex reads rules, lowest layer first: the machine's, the user's,
// the project's; and the administrator's requirements. Requirements that come from a
// server or a device manager are no files, and are not read.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	const rules = "rules/*.rules"
	var p dialect.Places
	system := filepath.Join(w.Machine, systemDir)
	p.Add(dialect.LayerManaged, system, rules)
	if home := w.Getenv("CODEX_HOME"); home != "" {
		p.Add(dialect.LayerUser, home, rules)
		p[len(p)-1].Env = "CODEX_HOME"
	} else {
		p.Add(dialect.LayerUser, w.Home, ".codex/"+rules)
	}
	p.Add(dialect.LayerProject, w.Dir, ".codex/"+rules)
	p.Add(dialect.LayerManaged, system, requirementsFile)
	return p, nil
}

// Detect knows rules by their name and the functions they call, requirements by their
// keys, the configuration by its place.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	name := f.Slashed()
	if isConfig(f) {
		return dialect.Sure
	}
	if isRequirements(f) {
		root, problems := tomlx.Parse(f.Data)
		placed := strings.HasSuffix(name, systemDir+"/"+requirementsFile)
		known := root.Get(keyPolicies) != nil || root.Get(keySandboxes) != nil || root.At("rules", "prefix_rules") != nil
		if known || placed && tree.Fatal(problems) {
			return dialect.Sure
		}
		return dialect.No // other programs have files of that name
	}
	calls := slices.ContainsFunc([]string{fnPrefix, fnNetwork, fnHost}, func(fn string) bool {
		return bytes.Contains(f.Data, []byte(fn+"("))
	})
	switch named := strings.HasSuffix(name, ".rules"); {
	case named && (calls || strings.HasSuffix(path.Dir(name), ".codex/rules")):
		return dialect.Sure
	case calls && !json.Valid(f.Data):
		return dialect.Maybe
	}
	return dialect.No
}

// isRequirements tells whether a file is read as requirements.
func isRequirements(f *dialect.File) bool { return path.Base(f.Slashed()) == requirementsFile }

// Load reads all files: the rules of every layer count together.
func (d Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := &loader{prog: newProgram()}
	for i := range in.Files {
		switch f := &in.Files[i]; {
		case isRequirements(f):
			l.requirements(f)
		case isConfig(f):
			l.config(f)
		default:
			l.file(f)
		}
	}
	l.finish(obstat.Mode(in.Options[ApprovalOption]))
	if l.Errs.Fatal() != nil {
		return nil, l.Errs
	}
	return l.prog, l.Errs
}

const viewName = "codex"

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return kit.ViewLibrary(viewName, func(p *params) obstat.View { return view{p} })
}
