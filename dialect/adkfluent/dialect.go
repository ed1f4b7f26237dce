package adkfluent

import (
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Name is the dialect's name.
const Name = "adkfluent"

// Dialect reads adk-fluent's policies. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Linter  = Dialect{}
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}
)

// Name returns "adkfluent".
func (Dialect) Name() string { return Name }

// Info says where a project may keep a policy: the original has no files, so these
// are ours.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{"adk-permissions.json", "adk-permissions.yaml"}, Default: "permissions.json"}
}

// Detect looks for keys that only this dialect has; a bare set of lists could
// be another's.
func (d Dialect) Detect(f *dialect.File) dialect.Confidence {
	root, problems := format(f).Parse(f.Data)
	named := dialect.Named(d, f.Name)
	switch broken := tree.Fatal(problems) || !root.Is(tree.Object) || len(root.Check(fields()...)) > 0; {
	case broken && named:
		return dialect.Maybe
	case broken:
		return dialect.No
	case named || root.Get(keyPatternMode) != nil || root.Get(keyMutating) != nil:
		return dialect.Sure
	}
	for i := range lists {
		if lists[i].patterns && root.Get(lists[i].key) != nil {
			return dialect.Sure
		}
	}
	return min(dialect.Maybe, dialect.Confidence(len(root.Members)))
}

// Load merges the files in their order: the first one's policy, merged with the
// second's, and so on.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	p, errs := load(in)
	if p == nil || errs.Fatal() != nil {
		return nil, errs
	}
	return p.Program(), errs
}

func load(in *dialect.Input) (*Policy, obstat.Errors) {
	if len(in.Files) == 0 {
		return nil, obstat.Errors{{Code: obstat.CodeMissing, Msg: "no file to read a policy from"}}
	}
	p := parse(&in.Files[0])
	for i := range in.Files[1:] {
		p = p.Merge(parse(&in.Files[i+1]))
	}
	return p, p.errs
}

// Library is empty: a policy from files has no code of its own.
func (Dialect) Library() *obstat.Library { return &obstat.Library{Own: ownTools()} }

// ownTools are the tools that the original knows, by kind.
func ownTools() map[string]obstat.OwnTool {
	return kit.OwnTools("shell bash,shell,run_command,streaming_bash -", "read read_file -",
		"write write_file,create_file -", "edit edit_file,apply_edit -",
		"notebook,patch edit_file,apply_edit,write_file,create_file -", "delete delete_file -", "move move_file -")
}

// Offers proposes the one rule that there can be here: the tool, on the allow
// list. The floor leaves out tools that run commands.
func (Dialect) Offers(_ *dialect.Loaded, call *obstat.Call, _ obstat.World, _ *obstat.Decision) []obstat.Offer {
	if call.Tool == "" {
		return nil
	}
	return []obstat.Offer{{List: stageAllowNames, Scope: "always", Text: call.Tool,
		Rule: lists[allowNames].rule(call.Tool, "")}}
}

// AddRule puts the tool on the allow list of the file.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	r := &offer.Rule
	if !r.Whole() || r.Verdict != obstat.Allow || r.Tool != obstat.Is(r.Tool.Text) || r.Tool.Text == "" {
		return nil, fmt.Errorf("%w: only a tool's name can be put on the allow list", textedit.ErrRefused)
	}
	if err := parse(f).Err(); err != nil {
		return nil, err
	}
	out, err := format(f).AppendOnce(f.Data, r.Tool.Text, lists[allowNames].key)
	if err != nil {
		return nil, err
	}
	return out, parse(&dialect.File{Name: f.Name, Data: out}).Err()
}
