package opencode

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

// Dialect reads opencode's configuration. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Layered = Dialect{}
	_ dialect.Speaker = Dialect{}
)

// Name returns "opencode".
func (Dialect) Name() string { return "opencode" }

// documentFile is where the document keeps its rules.
const documentFile = ".opencode/config.json"

// Info says where a project keeps its configuration, in the order in which the
// program merges it, and the file of the document first.
func (Dialect) Info() dialect.Info {
	return dialect.Info{
		Files: []string{documentFile, "opencode.json", "opencode.jsonc", ".opencode/opencode.json",
			".opencode/opencode.jsonc"},
		Default: "opencode.json",
		Options: []dialect.Option{
			{Name: OrderOption, Values: []string{orderAuto, string(First), string(Last)},
				Doc: `first: the document, its "permissions", minimatch, first match; last: the program, its "permission", its wildcard, last match; auto: by the key in the file`},
			{Name: AgentOption, Doc: "the agent whose rules are in force: build, plan, ... or one of the files; none named: the rules of the files alone"},
		},
		Agents:   []string{"opencode"},
		DenyWins: true, // the Program has a stage for denials of the user's own files
	}
}

// The options of the dialect.
const (
	// OrderOption says which of the matching rules decides; see [Order].
	OrderOption = "order"
	// AgentOption names the agent whose rules are in force when a call names
	// none as its mode.
	AgentOption = "agent"
)

// orderAuto takes the order from the file.
const orderAuto = "auto"

// Detect knows a file by its name and its rules.
func (d Dialect) Detect(f *dialect.File) dialect.Confidence {
	if isMarkdown(f.Name) {
		return detectAgent(f)
	}
	root, problems := jsonx.Parse(f.Data, jsonx.JSONC())
	named := programFile(f.Name) || dialect.Named(d, f.Name)
	switch broken := tree.Fatal(problems) || !root.Is(tree.Object); {
	case broken && named:
		return dialect.Maybe
	case broken:
		return dialect.No
	}
	schema := root.Get("$schema")
	switch shape := max(shapeOf(root.Get(keyProgram), dialect.Sure), shapeOf(root.Get(keyDocument), dialect.Maybe)); {
	case named || schema.Is(tree.String) && strings.Contains(schema.Str, "opencode.ai/"):
		return dialect.Sure
	default:
		return shape
	}
}

// shapeOf tells how much a value looks like rules of opencode; object is how
// sure an object of actions makes us.
func shapeOf(n *tree.Node, object dialect.Confidence) dialect.Confidence {
	switch {
	case n.Is(tree.Array):
		for _, e := range n.Elems {
			if e.Get("permission") == nil || e.Get("pattern") == nil || e.Get("action") == nil {
				return dialect.No
			}
		}
		return min(dialect.Confidence(len(n.Elems)), dialect.Sure)
	case n.Is(tree.Object):
		for _, m := range n.Members {
			if !actions(m.Value) {
				return dialect.No
			}
		}
		if len(n.Members) > 0 {
			return object
		}
	}
	return dialect.No
}

// actions tells whether a value is an action, or an object of them.
func actions(n *tree.Node) bool {
	if n.Is(tree.String) {
		_, err := obstat.ParseVerdict(n.Str)
		return err == nil
	}
	return n.Is(tree.Object) && !slices.ContainsFunc(n.Members,
		func(m tree.Member) bool { return !m.Value.Is(tree.String) || !actions(m.Value) })
}

// detectAgent knows an agent file by where it lies and by its permissions.
func detectAgent(f *dialect.File) dialect.Confidence {
	masked, ok := frontMatter(f.Data)
	if !ok {
		return dialect.No
	}
	root, problems := yamlx.Parse(masked, yamlx.Options{})
	if tree.Fatal(problems) {
		return dialect.No
	}
	dir := path.Dir(f.Slashed())
	if strings.Contains(dir, ".opencode/") || strings.Contains(dir, "opencode/agent") {
		return dialect.Sure
	}
	return shapeOf(root.Get(keyProgram), dialect.Maybe)
}

const viewName = "opencode"

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){viewName: newView}}
}
