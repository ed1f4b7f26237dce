package codex

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
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
	systemDir        = "/etc/codex"
)

// ApprovalOption names the approval policy, which is the mode in force.
const ApprovalOption = "approval"

// Info says where a project keeps its rules. The strictest rule of all layers decides.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{defaultFile}, Default: defaultFile, Agents: []string{"codex"}, DenyWins: true, Options: []dialect.Option{
		{Name: ApprovalOption, Values: append([]string{""}, modeNames...), Doc: "the approval policy, as `codex --ask-for-approval`; none named: on-request, or the first that requirements.toml allows"},
	}}
}

// Places returns where Codex reads rules, lowest layer first: the machine's, the user's,
// the project's; and the administrator's requirements. Requirements that come from a
// server or a device manager are no files, and are not read.
func (Dialect) Places(w *dialect.Where) (out []dialect.Place, err error) {
	rules := func(layer, dir, env string) {
		out = append(out, dialect.Place{Name: filepath.Join(dir, "rules", "*.rules"), Glob: true, Layer: layer, Env: env})
	}
	system := filepath.Join(w.Machine, systemDir)
	rules(dialect.LayerManaged, system, "")
	if home := w.Getenv("CODEX_HOME"); home != "" {
		rules(dialect.LayerUser, home, "CODEX_HOME")
	} else if w.Home != "" {
		rules(dialect.LayerUser, filepath.Join(w.Home, ".codex"), "")
	}
	if w.Dir != "" {
		rules(dialect.LayerProject, filepath.Join(w.Dir, ".codex"), "")
	}
	return append(out, dialect.Place{Name: filepath.Join(system, requirementsFile), Layer: dialect.LayerManaged}), nil
}

// Detect knows rules by their name and the functions they call, requirements by their
// keys.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
	if isRequirements(name) {
		root, problems := tomlx.Parse(f.Data)
		in := strings.HasSuffix(name, systemDir+"/"+requirementsFile)
		switch known := root.Get("allowed_approval_policies") != nil || root.Get("allowed_sandbox_modes") != nil || root.At("rules", "prefix_rules") != nil; {
		case known, in && tree.Fatal(problems):
			return dialect.Sure
		}
		return dialect.No // other programs have files of that name
	}
	calls := false
	for _, fn := range []string{fnPrefix, fnNetwork, fnHost} {
		calls = calls || bytes.Contains(f.Data, []byte(fn+"("))
	}
	switch named := strings.HasSuffix(name, ".rules"); {
	case named && (calls || strings.HasSuffix(path.Dir(name), ".codex/rules")):
		return dialect.Sure
	case calls && !json.Valid(f.Data):
		return dialect.Maybe
	}
	return dialect.No
}

// isRequirements tells whether a file is read as requirements.
func isRequirements(name string) bool { return path.Base(name) == requirementsFile }

// Load reads all files: the rules of every layer count together.
func (d Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := &loader{prog: newProgram()}
	for i := range in.Files {
		if f := &in.Files[i]; isRequirements(strings.ReplaceAll(f.Name, `\`, "/")) {
			l.requirements(f)
		} else {
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
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){
		viewName: dialect.Code(func(p *params) obstat.View { return view{p} }),
	}}
}
