// Package dialect defines a front end: it reads a system's own files into an
// [obstat.Program], and writes an accepted rule back with every other byte
// unchanged.
//
// It owns the contract and the way from files to a compiled policy. It does not
// know any system: those are the packages below it, and dialect/all is the only
// list of them.
package dialect

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
)

// A File is one configuration file as it was read.
type File struct {
	Name  string // path as the user knows it; positions show it
	Layer string // "managed", "user", "project", "session", ... ; "" is the only one
	Data  []byte
}

// A Tool declares a tool that the dialect does not know of itself.
type Tool struct {
	Kind     string // "function" or "mcp"
	ReadOnly bool   // the tool, or its server, says so of itself
	Trusted  bool   // the user trusts that word
	Check    *Answer
}

// An Answer is the constant answer of a declared tool's own check.
type Answer struct {
	Pass    bool
	Verdict obstat.Verdict
	Safety  bool
}

// Input is the configuration that a dialect reads into a Program.
type Input struct {
	Files   []File            // lowest precedence first
	Options map[string]string // the dialect's options; see Options
	Tools   map[string]Tool
	Home    string // the user's home directory, for ~ in configurations; "" unknown
}

// Names returns the names of the files; none is an empty list.
func (in *Input) Names() []string {
	out := []string{}
	for i := range in.Files {
		out = append(out, in.Files[i].Name)
	}
	return out
}

// A Confidence says how sure a dialect is that a file is one of its own.
type Confidence uint8

// How sure a dialect can be.
const (
	No    Confidence = iota
	Maybe            // the shape fits
	Sure             // name and shape fit, or no other dialect has the shape
)

// An Option is a switch of a dialect.
type Option struct {
	Name   string
	Values []string // first is the default; nil takes any text
	Doc    string
}

// Info is what is fixed about a dialect.
type Info struct {
	// Files are where a project keeps its configuration: paths relative to its
	// directory, lowest precedence first.
	Files []string
	// Default is what a configuration that comes without a name is called; "" is
	// "policy.json".
	Default string
	Options []Option
	// Agents are those whose own configuration the files are, named as package
	// agent names them; "*" stands for every agent.
	Agents []string
	// DenyWins: no later layer lifts a denial.
	DenyWins bool
	// Sees are fields of rules that show every text that other fields show, for lint: a deny rule
	// on Claude Code's `seen` covers an allow rule on its `command`.
	Sees map[string][]string
}

// A Dialect is one system's front end. Problems come back all at once, warnings
// among them; the Program is nil if any of them is fatal.
type Dialect interface {
	Name() string
	Info() Info
	Detect(f *File) Confidence
	Load(in *Input) (*obstat.Program, obstat.Errors)
	// Library holds the views, checks and predicates that the dialect's Programs
	// name.
	Library() *obstat.Library
}

// An Offerer is a Dialect that proposes rules with an ask. The offers are as
// its document describes them; [Loaded.Offers] tries each before it is shown.
type Offerer interface {
	Offers(l *Loaded, call *obstat.Call, world obstat.World, d *obstat.Decision) []obstat.Offer
}

// An Editor is a Dialect that can write an accepted rule back: it returns the
// file's new bytes, every byte that is not the rule's unchanged.
type Editor interface {
	AddRule(f *File, offer *obstat.Offer) ([]byte, error)
}

// A Describer is a Dialect that has words of its own for the deciding rule or
// stage.
type Describer interface {
	Matched(d *obstat.Decision, t *obstat.Trace) string
}

// An Attendant is a Dialect with modes in which no person may be asked, such as AgentScope's DONT_ASK. Where
// Unattended is true, an ask of the floor, of self-protection or of a doubt denies.
type Attendant interface {
	Unattended(d *obstat.Decision) bool
}

// A Narrower is a Dialect whose rules can leave a part out. Narrow returns the file with rule r leaving out the
// targets of those offers that are about its verb, the rule's new text, and these offers: `delete anything` and
// `delete ./build` give `delete anything except ./build`. It returns no offers where the rule cannot be changed so.
type Narrower interface {
	// Targets returns an offer for each thing that a call does, just about that.
	Targets(call *obstat.Call, world obstat.World) []obstat.Offer
	Narrow(f *File, r *obstat.Rule, offers []obstat.Offer) (data []byte, text string, used []obstat.Offer)
}

// A Linter is a Dialect that finds more in a configuration than loading does.
type Linter interface {
	Lint(in *Input, p *obstat.Program) obstat.Errors
}

// A Prompter is a Dialect whose system puts asks to a person by itself: Prompts tells whether its own rules, without
// the floor, ask about a call. Approved are the patterns, by permission, that a person has approved there for good.
type Prompter interface {
	Prompts(l *Loaded, call *obstat.Call, world obstat.World, approved map[string][]string) bool
}

// Prompts tells whether the system that reads these files asks a person about a call by itself.
func (l *Loaded) Prompts(call *obstat.Call, world obstat.World, approved map[string][]string) bool {
	p, ok := l.Dialect.(Prompter)
	return ok && p.Prompts(l, call, world, approved)
}

// A Careful is a Dialect whose system asks about some things whatever its rules allow, `rm -r ~` or a change of
// `.git`: Asks returns them as sentences of obstat.yaml.
type Careful interface {
	Asks() []string
}

// Loaded is a configuration, compiled.
type Loaded struct {
	Dialect  Dialect
	Program  *obstat.Program
	Policy   *obstat.Policy
	Warnings obstat.Errors
	Input    *Input
}

// FloorOption is the option that every dialect has: "on" or "off".
const FloorOption = "floor"

// Load reads in as d's configuration and compiles it. The floor is on unless
// in's options turn it off, or the Program itself says so where they say nothing.
func Load(d Dialect, in *Input) (*Loaded, error) {
	errs := checkOptions(d, in.Options)
	if err := errs.Fatal(); err != nil {
		return nil, err
	}
	p, problems := d.Load(in)
	errs = append(errs, problems...)
	if err := errs.Fatal(); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, obstat.Errors{{Code: obstat.CodeMissing, Msg: d.Name() + ": the configuration means nothing"}}
	}
	switch in.Options[FloorOption] {
	case "":
		p = p.WithFloor(p.HasFloor())
	default:
		p = p.WithFloor(in.Options[FloorOption] == "on")
	}
	pol, err := obstat.Compile(p, &obstat.Options{Library: LibraryFor(d, p)})
	if err != nil {
		return nil, err
	}
	errs.Sort()
	return &Loaded{Dialect: d, Program: p, Policy: pol, Warnings: errs, Input: in}, nil
}

// OptionsOf returns the options that d takes, the floor first.
func OptionsOf(d Dialect) []Option {
	opts := []Option{{FloorOption, []string{"on", "off"}, "whether every command of a shell call is put to the rules"}}
	return append(opts, d.Info().Options...)
}

func checkOptions(d Dialect, given map[string]string) (errs obstat.Errors) {
	fail := func(code obstat.Code, format string, args ...any) {
		errs = append(errs, &obstat.Error{Code: code, Msg: fmt.Sprintf(format, args...)})
	}
	known := OptionsOf(d)
	for name, value := range given {
		switch i := slices.IndexFunc(known, func(o Option) bool { return o.Name == name }); {
		case i < 0:
			fail(obstat.CodeUnknownName, "%s has no option %q", d.Name(), name)
		case known[i].Values != nil && !slices.Contains(known[i].Values, value):
			fail(obstat.CodeBadValue, "option %s of %s takes %q, not %q", name, d.Name(), known[i].Values, value)
		}
	}
	return errs
}
