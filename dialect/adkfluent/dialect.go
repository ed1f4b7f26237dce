package adkfluent

import (
	"path"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/tree"
)

// Name is the dialect's name.
const Name = "adkfluent"

// Dialect reads adk-fluent's policies. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Dialect = Dialect{}
	_ dialect.Namer   = Dialect{}
	_ dialect.Locator = Dialect{}
	_ dialect.Linter  = Dialect{}
)

// Name returns "adkfluent".
func (Dialect) Name() string { return Name }

// DefaultFile returns "permissions.json".
func (Dialect) DefaultFile() string { return "permissions.json" }

// WellKnown returns where a project may keep a policy: the original has no
// files, so these are ours.
func (Dialect) WellKnown() []string {
	return []string{"adk-permissions.json", "adk-permissions.yaml"}
}

// Detect looks for keys that only this dialect has; a bare set of lists could
// be another's.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	root, problems := document(f)
	switch broken := tree.Fatal(problems) || !root.Is(tree.Object) || len(root.Check(fields()...)) > 0; {
	case broken && ourFile(path.Base(f.Name)):
		return dialect.Maybe
	case broken:
		return dialect.No
	}
	for _, key := range []string{keyAllowPatterns, keyDenyPatterns, keyAskPatterns, keyPatternMode, keyMutating} {
		if root.Get(key) != nil {
			return dialect.Sure
		}
	}
	switch {
	case ourFile(path.Base(f.Name)):
		return dialect.Sure
	case len(root.Members) > 0:
		return dialect.Maybe
	}
	return dialect.No
}

func ourFile(base string) bool {
	for _, name := range (Dialect{}).WellKnown() {
		if base == name {
			return true
		}
	}
	return false
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
func (Dialect) Library() *obstat.Library { return &obstat.Library{} }
