package native

import (
	_ "embed"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

var (
	//go:embed presets/careful.yaml
	careful string
	//go:embed presets/balanced.yaml
	balanced string
	//go:embed presets/trusting.yaml
	trusting string
	//go:embed presets/unattended.yaml
	unattended string
)

// The presets that `obstat init` begins with.
const (
	Careful    = "careful"    // looking is free, all else is asked about
	Balanced   = "balanced"   // working in the project is free; in force where there is no policy
	Trusting   = "trusting"   // all is free but for acts that cannot be taken back
	Unattended = "unattended" // nothing is asked: every command runs confined, and all else is denied
)

// Presets returns the names of the presets, strictest first; the last is for agents without a person.
func Presets() []string { return []string{Careful, Balanced, Trusting, Unattended} }

// Preset returns the text of a preset, "" if there is none of that name.
func Preset(name string) string {
	switch name {
	case Careful:
		return careful
	case Balanced:
		return balanced
	case Trusting:
		return trusting
	case Unattended:
		return unattended
	}
	return ""
}

// BuiltinName is the name of the dialect of the built-in policy.
const BuiltinName = "builtin"

// Builtin is the policy in force where no other is found: the preset balanced. It has no files; it
// takes the place of a dialect so that its Program is printed, explained and compiled like any other.
type Builtin struct{}

var _ dialect.Dialect = Builtin{}

// Name returns "builtin".
func (Builtin) Name() string { return BuiltinName }

// Info is empty: the policy has no files.
func (Builtin) Info() dialect.Info { return dialect.Info{} }

// Detect knows no file.
func (Builtin) Detect(*dialect.File) dialect.Confidence { return dialect.No }

// Library returns the view of this language.
func (Builtin) Library() *obstat.Library { return Dialect{}.Library() }

// NoPolicy is said where the built-in policy asks since no rule is about a call.
const NoPolicy = "no policy says more than the built-in policy: working in the workspace is allowed, " +
	"the rest is asked about, and `obstat init` writes a policy"

// Load returns the built-in Program and ignores the files.
func (Builtin) Load(*dialect.Input) (*obstat.Program, obstat.Errors) {
	p, errs := Dialect{}.Load(&dialect.Input{Files: []dialect.File{{Name: "built in", Layer: "built in",
		Data: []byte(balanced)}}})
	if p == nil {
		return nil, errs
	}
	p.Dialect = BuiltinName
	for _, rules := range p.Rules {
		for i := range rules {
			rules[i].Pos = obstat.Pos{}
			if rules[i].Reason == "" {
				rules[i].Reason = "of the built-in policy"
			}
		}
	}
	return p, nil
}
