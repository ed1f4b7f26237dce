// Package agentscope is the dialect of AgentScope's permission system: a
// PermissionContext in JSON, five modes, rules per tool, and checks that the
// tools themselves make.
//
// It owns the document's semantics (modes.go is its flowcharts, context.go its
// data, bash.go and files.go its built-in checks) and the way an accepted rule
// goes back into the context file. It does not know how shell text is parsed or
// which effects programs have: that is package effect.
package agentscope

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Dialect reads PermissionContexts.
type Dialect struct {
	// Tools are custom tools of the host, by name; see [CustomTool].
	Tools map[string]CustomTool
}

var (
	_ dialect.Offerer = (*Dialect)(nil)
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Trier   = (*Dialect)(nil)
)

// The options of the dialect.
const (
	OptionReadOnly = "read_only" // how a command is found to be read-only
	OptionVersion  = "version"   // which release's read-only fast path
	OptionTrusted  = "trusted"   // MCP servers whose read-only hints count, comma separated
)

// Name returns "agentscope".
func (*Dialect) Name() string { return "agentscope" }

// Info names the options, and the usual name of a context file.
func (*Dialect) Info() dialect.Info {
	return dialect.Info{Default: "permission_context.json", Options: []dialect.Option{
		{Name: OptionReadOnly, Values: []string{"list", "effects"},
			Doc: "a command is read-only by the document's list, or whenever the analysis proves it"},
		{Name: OptionVersion, Values: []string{"document", "head"},
			Doc: "the document's modes, or those of AgentScope 2.0.5 and later: read-only calls are allowed in every mode"},
		{Name: OptionTrusted, Doc: "MCP servers whose read-only hints count while the floor is on, comma separated"},
	}}
}

// Detect recognises a PermissionContext by its rule buckets, an AgentState by the context
// in it. A mode alone is a context, too; only explore is no other dialect's.
func (d *Dialect) Detect(f *dialect.File) dialect.Confidence {
	if path.Ext(f.Name) != ".json" {
		return dialect.No
	}
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	if tree.Fatal(problems) {
		root = nil
	}
	for _, key := range append([]string{stateKey}, contextKeys[1:]...) {
		if root.Get(key).Is(tree.Object) {
			return dialect.Sure
		}
	}
	mode, named := root.Get("mode"), dialect.Named(d, f.Name)
	alone := mode.Is(tree.String) && len(root.Members) == 1
	switch {
	case alone && (named || strings.EqualFold(mode.Str, modeExplore)):
		return dialect.Sure
	case named, alone && slices.Contains(modeNames, strings.ToLower(mode.Str)):
		return dialect.Maybe
	}
	return dialect.No
}

// Load makes a Program of one PermissionContext.
func (d *Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	if len(in.Files) != 1 {
		return nil, obstat.Errors{{Code: obstat.CodeAmbiguous, Msg: "agentscope reads one context file"}}
	}
	r := &reader{custom: d.Tools, bare: in.Options[dialect.FloorOption] == "off"}
	r.read(&in.Files[0])
	r.unreachable(in)
	if r.Errs.Fatal() != nil {
		return nil, r.Errs
	}
	return &obstat.Program{
		Dialect:   "agentscope",
		Mode:      obstat.Mode(r.mode),
		Pipelines: release{in.Options[OptionVersion] == "head"}.pipelines(),
		Rules:     r.rules,
		View:      viewName,
		Faces: map[string]obstat.Face{
			obstat.FaceRead:   {Tool: "Read", Field: "file_path"},
			obstat.FaceWrite:  {Tool: "Write", Field: "file_path"},
			obstat.FaceDelete: {Tool: "Write", Field: "file_path"},
		},
		Params: kit.Params(newParams(r, in)),
	}, r.Errs
}

// Library returns the code that the dialect's Programs name.
func (d *Dialect) Library() *obstat.Library {
	return &obstat.Library{
		Views: map[string]func(json.RawMessage) (obstat.View, error){
			viewName: kit.Code(func(p *params) obstat.View { return &toolset{*p, d.Tools} }),
		},
		Checks: map[string]func(json.RawMessage) (obstat.Checker, error){
			checkName: kit.Code(func(p *params) obstat.Checker { return &toolset{*p, d.Tools} }),
		},
		Predicates: map[string]func(json.RawMessage) (obstat.Predicate, error){
			readOnlyName: kit.Code(func(p *params) obstat.Predicate { return &toolset{*p, d.Tools} }),
		},
		Own: kit.OwnTools("shell Bash command", "powershell PowerShell command", "read Read file_path",
			"write Write file_path",
			"edit,notebook,delete,mkdir Edit file_path", "patch,move Edit,Write file_path", "list,glob Glob path", "grep Grep path", "skill Skill -"),
	}
}

// The names that Programs use for the dialect's code.
const (
	viewName     = "agentscope"
	checkName    = "agentscope.check_permissions"
	readOnlyName = "agentscope.check_read_only"
)

// ToolNames returns the tool of a rule; AgentScope's tools are called as their authors like.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	return kit.OneTool(r.Tool), true
}
