// Package jiuwen is the dialect of JiuwenSwarm: the permissions section of its
// config.yaml and the builtin_rules.yaml beside it.
//
// It owns how these files are read (config.go, ruleconfig.go), the tiered
// policy of the document as a pipeline (tiered.go), the matcher that was there
// before it (legacy.go), the subjects of a call (view.go, wildcard.go), the
// two checks that follow (operators.go, external.go), our own list of built-in
// rules, and writing back: always-allow and add-dir. The requests and commands
// that change the file are package host/jiuwen's. It decides nothing itself: the
// engine runs the Program that Load returns.
package jiuwen

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

// Dialect reads JiuwenSwarm's configuration. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Describer = Dialect{}
	_ dialect.Layered   = Dialect{}
)

// Name returns "jiuwen".
func (Dialect) Name() string { return "jiuwen" }

// Info says where a project keeps a configuration of its own; the user's is in the
// directory that ConfigDir names.
func (Dialect) Info() dialect.Info {
	return dialect.Info{
		Files:   []string{".jiuwenswarm/config/builtin_rules.yaml", ".jiuwenswarm/config/config.yaml"},
		Default: "config.yaml",
		Options: []dialect.Option{{Name: ChannelsOption,
			Doc: "the channels that are checked, separated by commas; none named: all"}},
	}
}

// configDir is the variable that names the directory of the user's config.yaml.
const configDir = "JIUWENSWARM_CONFIG_DIR"

// ConfigDir returns the directory of the user's config.yaml, given how to read
// the environment and the home directory.
func ConfigDir(getenv func(string) string, home string) string {
	if dir := getenv(configDir); dir != "" {
		return dir
	}
	return strings.TrimSuffix(home, "/") + "/.jiuwenswarm/config"
}

// Places returns the user's configuration and the project's. JiuwenSwarm has no
// layers: each directory is a set of its own.
func (d Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var p dialect.Places
	if w.Home != "" || w.Getenv(configDir) != "" {
		p.Add(dialect.LayerUser, ConfigDir(w.Getenv, w.Home), "builtin_rules.yaml", "config.yaml")
	}
	for i := range p {
		p[i].Set = dialect.LayerUser
		if w.Getenv(configDir) != "" {
			p[i].Env = configDir
		}
	}
	return append(p, dialect.InProject(w, d.Info().Files...)...), nil
}

// Beside returns the list of built-in rules that a config.yaml may have beside it, section 3.
func (Dialect) Beside(name string) []string {
	if filepath.Base(name) != "config.yaml" {
		return nil
	}
	return []string{filepath.Join(filepath.Dir(name), "builtin_rules.yaml")}
}

// ChannelsOption names the channels whose calls are checked, separated by
// commas; calls of other channels are allowed. Without it all are checked.
const ChannelsOption = "channels"

// signs are keys that only this dialect's permissions section has. opencode has
// external_directory, too, as one permission among others.
var signs = []string{"schema", "permission_mode", "approval_overrides", "owner_scopes", "file_guard"}

// besides are keys that stand beside external_directory in this dialect alone.
var besides = []string{"enabled", "tools", "defaults", "rules"}

// Detect knows a configuration by the keys of its permissions section, and the
// list of built-in rules by its name.
func (d Dialect) Detect(f *dialect.File) dialect.Confidence {
	broken := dialect.No
	if dialect.Named(d, f.Name) {
		broken = dialect.Maybe
	}
	if len(f.Data) > yamlx.MaxBytes {
		return broken
	}
	root, problems := yamlx.Parse(f.Data, yamlx.Options{})
	if tree.Fatal(problems) {
		return broken
	}
	if isBuiltin(f) {
		return dialect.Sure
	}
	sec := root.Get(permissions)
	for _, key := range signs {
		if sec.Get(key) != nil {
			return dialect.Sure
		}
	}
	beside := slices.ContainsFunc(besides, func(key string) bool { return sec.Get(key) != nil })
	switch external := sec.Get("external_directory"); {
	case external != nil && beside:
		return dialect.Sure
	case external.Is(tree.Object) && len(sec.Members) == 1, sec.Get("tools").Is(tree.Object), sec.Get("defaults").Is(tree.Object):
		return dialect.Maybe
	}
	if sec != nil {
		return broken
	}
	return dialect.No
}

// Library returns the view and the checks of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{
		Views: map[string]func(json.RawMessage) (obstat.View, error){
			viewName: kit.Code(func(p *params) obstat.View { return view{p} }),
		},
		Checks: map[string]func(json.RawMessage) (obstat.Checker, error){
			checkOperators: kit.Code(func(p *params) obstat.Checker { return operatorCheck{p} }),
			checkExternal:  kit.Code(func(p *params) obstat.Checker { return externalCheck{p} }),
			checkOwner:     kit.Code(func(p *params) obstat.Checker { return ownerCheck{p, false} }),
			checkAvatar:    kit.Code(func(p *params) obstat.Checker { return ownerCheck{p, true} }),
		},
		Predicates: map[string]func(json.RawMessage) (obstat.Predicate, error){
			unchecked: kit.Code(func(p *params) obstat.Predicate { return channelPredicate{p} }),
		},
		Own: kit.OwnTools("shell bash,mcp_exec_command,create_terminal command",
			"read read_file,read,read_text_file path", "write write_file,write,write_text_file path",
			"edit,notebook edit_file,search_replace path", "patch,delete,move,mkdir edit_file,search_replace,write_file,write,write_text_file path",
			"list list_files,list_dir path", "glob glob,glob_file_search path", "grep grep path", "fetch mcp_fetch_webpage -", "websearch mcp_free_search,mcp_paid_search -"),
	}
}

const (
	viewName  = "jiuwen"
	unchecked = "jiuwen.unchecked"
)

// Load reads config.yaml and, if it is given, builtin_rules.yaml.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	bare := in.Options[dialect.FloorOption] == "off"
	var errs obstat.Errors
	var conf, list *dialect.File
	for i := range in.Files {
		f, slot := &in.Files[i], &conf
		if isBuiltin(f) {
			slot = &list
		}
		if *slot != nil {
			errs = append(errs, &obstat.Error{Code: obstat.CodeConflict, Pos: obstat.Pos{File: f.Name, Line: 1, Col: 1},
				Also: []obstat.Pos{{File: (*slot).Name, Line: 1,
					Col: 1}}, Msg: "there is one file of this kind, not two", Hint: "JiuwenSwarm has no layers: put both into one"})
		}
		*slot = f
	}
	if conf == nil {
		conf = &dialect.File{Name: "config.yaml"}
		errs = append(errs, &obstat.Error{Code: obstat.CodeMissing, Msg: "no config.yaml to read"})
	}
	r := &reader{Reader: kit.Reader{File: conf}, bare: bare}
	c := r.config()
	errs = append(errs, r.Errs...)
	if c == nil {
		return nil, errs
	}
	builtin, problems := builtinRules(list, c.strict, bare)
	errs = append(errs, problems...)
	if errs.Fatal() != nil {
		return nil, errs
	}
	c.builtin = builtin
	return c.program(bare, splitChannels(in.Options[ChannelsOption])), errs
}

// program returns the configuration as a Program.
func (c *config) program(bare bool, channels []string) *obstat.Program {
	p := &obstat.Program{Dialect: "jiuwen", Mode: ModeGlobal, View: viewName, Pipelines: map[obstat.Mode]obstat.Pipeline{}}
	pr := params{Bare: bare, Legacy: !c.tiered, Channels: channels, External: c.external, Owners: c.owners,
		Names: c.names()}
	var pl obstat.Pipeline
	switch {
	case !c.enabled:
		pl, p.Rules = obstat.Pipeline{Default: obstat.Allow}, map[string][]obstat.Rule{}
	case c.tiered:
		pl, p.Rules = tiered(), tieredRules(c, bare)
		p.Faces = c.faces()
		pr.Effects, pr.Trusted = c.any(func(rule ruleConfig) bool { return len(rule.effects) > 0 }), c.trustedDirs(bare)
	default:
		pl, p.Rules = legacy(), map[string][]obstat.Rule{listTools: c.tools, listDefaults: c.fallback}
	}
	pl = withChannels(pl, channels)
	p.Pipelines[ModeGlobal] = pl
	p.Pipelines[ModeOwner] = owner(pl)
	p.Pipelines[ModeAvatar] = avatar(pl)
	p.Params = kit.Params(pr)
	return p
}

// names returns the tools with an alias that the configuration speaks of.
func (c *config) names() (out []string) {
	for _, r := range c.tools {
		if _, ok := aliases[r.Tool.Text]; ok {
			out = append(out, r.Tool.Text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// any tells whether some parameter rule is of a kind.
func (c *config) any(is func(rule ruleConfig) bool) bool {
	return slices.ContainsFunc(slices.Concat(c.rules, c.builtin, c.overrides), is)
}

// faces lets the rules about paths speak of the files of commands. Without
// such rules a command is judged as a command.
func (c *config) faces() map[string]obstat.Face {
	if !c.any(func(rule ruleConfig) bool { return rule.category == pathTools && rule.source != sourceAddDir }) {
		return nil
	}
	return map[string]obstat.Face{obstat.FaceRead: {Tool: "read_file", Field: "path"},
		obstat.FaceWrite: {Tool: "write_file", Field: "path"}}
}

func (c *config) trustedDirs(bare bool) (out []string) {
	for i := range c.overrides {
		if dir, ok := c.overrides[i].trusted(); ok && !bare && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}
