// Package native is obstat's own language: obstat.yaml allows or denies effects in one
// sentence per rule, whichever tool has them.
//
//	version: 1
//	allow:
//	  - read workspace
//	  - write workspace except .git/**, .env*
//	  - run git status, npm test
//	deny:
//	  - read secrets
//
// It owns the words of the language, their meaning as a Program, offers in it and
// writing an accepted one back. The effects of commands and tools are package effect's
// knowledge, and precedence is the engine's: deny before ask before allow, and ask where no
// rule speaks.
package native

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Name is the dialect's name.
const Name = "native"

// File is the name of a project's policy.
const File = "obstat.yaml"

// ByEffects is the rule that frees a tool because all that it does is judged by itself.
const ByEffects = "known effects"

// Dialect reads obstat.yaml. The zero value is ready for use.
type Dialect struct{}

var (
	_ dialect.Layered = Dialect{}
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}

	_ dialect.Generalizer = Dialect{}
)

// Name returns "native".
func (Dialect) Name() string { return Name }

// Info says where a project keeps its policy. Where there is one, it decides for every
// agent, and a denial of any layer stands.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{File, ".obstat/" + File}, Default: File, Agents: []string{"*"}, DenyWins: true,
		Sees: map[string][]string{fieldSeen: {fieldCommand, fieldExact}}}
}

// managedDirs are the directories of the machine's policy by system, those of other systems left out.
var managedDirs = map[string]string{"darwin": "/Library/Application Support/obstat", "windows": `C:\ProgramData\obstat`}

// ManagedDir returns the directory of the machine's policy on this system.
func ManagedDir() string { return or(managedDirs[runtime.GOOS], "/etc/obstat") }

// Places returns the user's policy, the project's and the machine's.
func (d Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var out []dialect.Place
	config := w.Getenv("XDG_CONFIG_HOME")
	if config == "" && w.Home != "" {
		config = filepath.Join(w.Home, ".config")
	}
	if config != "" {
		out = append(out, dialect.Place{Name: filepath.Join(config, "obstat", File), Layer: dialect.LayerUser})
	}
	out = append(out, dialect.InProject(w, d.Info().Files...)...)
	return append(out, dialect.Place{Name: filepath.Join(w.Machine, ManagedDir(), File), Layer: dialect.LayerManaged}), nil
}

// Detect is sure of a file of that name, and of a document with a version and rules.
func (d Dialect) Detect(f *dialect.File) dialect.Confidence {
	if dialect.Named(d, f.Name) {
		return dialect.Sure
	}
	root, problems := textedit.YAML.Parse(f.Data)
	if tree.Fatal(problems) || !root.Get("version").Is(tree.Number) {
		return dialect.No
	}
	for _, list := range lists {
		if l := root.Get(list); l.Is(tree.Array) && len(l.Elems) > 0 {
			return dialect.Sure
		}
	}
	return dialect.No
}

// Implied are the lists of a Program that say no sentence: circumstances, and what allow rules leave out.
var Implied = []string{listMarks, listLeft, listLeftCommands}

const (
	viewName    = "native"
	modeDefault = "default"
	listMarks   = "marks"
	// The lists of a Program that are none of a file.
	listMaybe = "maybe"    // places of deny and ask rules that an effect may be in
	listLeft  = "left out" // of an allow rule, which no program may do unasked either

	listLeftCommands = "left commands" // of an allow rule for commands, which no other allows
	listCommands     = "commands"      // allow rules for programs and tools
	listSeen         = "known"
	// listReversible has allow rules for calls that can be taken back.
	listReversible = "reversible"
	listAllow      = "allow"
	listUnknown    = "unknown" // asks about code that runs confined, where all else is denied
)

// lists are the rule lists of a file, in the order in which they count.
var lists = [...]string{"deny", "ask", "allow"}

// Load reads the files, which all count: a denial in any of them stands.
func (d Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := &loader{names: map[string]*rule{}}
	for i := range in.Files {
		l.file(&in.Files[i])
	}
	if len(in.Files) == 0 {
		l.r.Errs = append(l.r.Errs, &obstat.Error{Code: obstat.CodeMissing, Msg: "no file to read a policy from"})
	}
	if len(in.Tools) > 0 {
		l.r.Errs = append(l.r.Errs, &obstat.Error{Code: obstat.CodeConflict, Msg: "obstat.yaml takes no tool declarations"})
	}
	l.link()
	l.neverApplies()
	if l.r.Errs.Fatal() != nil {
		return nil, l.r.Errs
	}
	p := l.program()
	if c := l.confined(); l.server != "" || c != nil || l.undo != nil || l.limits != nil {
		only := !slices.ContainsFunc(in.Files, func(f dialect.File) bool { return !OnlyConfines(&f) })
		p.Params, _ = json.Marshal(params{l.server, c, l.undo, only}) // plain texts and numbers
	}
	l.checkExamples(p, d.Library())
	if l.r.Errs.Fatal() != nil {
		return nil, l.r.Errs
	}
	return p, l.r.Errs
}

// Server returns the server that hooks under a Program of this dialect work with; "": none.
func Server(p *obstat.Program) string {
	if p.Dialect != (Dialect{}).Name() {
		return ""
	}
	return paramsOf(p, "server").Server
}

// paramsOf returns what the files of a Program say besides rules, where they have a word: without it nothing is read,
// since hooks ask for every call.
func paramsOf(p *obstat.Program, word string) (out params) {
	if p.View != viewName || !bytes.Contains(p.Params, []byte(`"`+word+`"`)) || json.Unmarshal(p.Params, &out) != nil {
		return params{}
	}
	return out
}

// unknownCode are the rules for code under `otherwise: deny` and `confine: code`: `./build.sh` and `go test` ask by the
// policy alone, so that they can run confined. Registries are out of reach inside unless a rule names them.
func unknownCode() []obstat.Rule {
	out := []obstat.Rule{{Tool: obstat.Is("run")}, {Tool: obstat.Is("code")},
		{Field: fieldUnnamed, Pattern: obstat.Is("yes")},
		{Tool: obstat.Is("connect"), Field: fieldHost, Pattern: obstat.Is(registries)}}
	for i := range out {
		out[i].Verdict, out[i].Source, out[i].Layer = obstat.Ask, "unknown code", "built in"
		out[i].Reason = "nothing tells what it does: it runs confined, or not at all"
	}
	return out
}

// Unwatched tells whether a Program leaves nothing to ask a person about: it denies what no rule is about, and none of
// its rules asks.
func Unwatched(p *obstat.Program) bool {
	return p.View == viewName && p.Pipelines[p.Mode].Default == obstat.Deny && len(p.Rules["ask"]) == 0
}

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){
		viewName: func(json.RawMessage) (obstat.View, error) { return view{}, nil },
	}}
}

// program puts the rules into their lists.
func (l *loader) program() *obstat.Program {
	stages := []obstat.Stage{
		obstat.Match{Name: "deny rules", Rules: "deny"},
		obstat.Match{Name: "what can be taken back", Rules: listReversible},
		obstat.Match{Name: "ask rules", Rules: "ask"},
		obstat.Match{Name: obstat.StageMaybe, Rules: listMaybe},
		obstat.Match{Name: "allow rules", Rules: listAllow},
		obstat.Match{Name: "exceptions", Rules: listLeft},
		obstat.Match{Name: "programs", Rules: listCommands},
		obstat.Match{Name: "their exceptions", Rules: listLeftCommands},
		obstat.Match{Name: "known effects", Rules: listSeen},
	}
	known := obstat.Rule{Field: fieldKnown, Pattern: obstat.Is("yes"), Verdict: obstat.Allow, Over: obstat.OverParts,
		Source: ByEffects, Layer: "built in", Reason: "all that it does is known and is judged by itself"}
	p := &obstat.Program{Dialect: Name, Mode: modeDefault, View: viewName, Pipelines: map[obstat.Mode]obstat.Pipeline{},
		Rules: map[string][]obstat.Rule{"deny": {}, "ask": {}, listAllow: {}, listReversible: {}, listMaybe: {},
			listLeft: {settings()}, listCommands: {}, listLeftCommands: {}, listSeen: {known}},
		Faces: map[string]obstat.Face{obstat.FaceRead: {Tool: "read", Field: fieldAbs},
			obstat.FaceWrite:  {Tool: "write", Field: fieldAbs},
			obstat.FaceDelete: {Tool: "delete", Field: fieldAbs}}}
	if l.limits != nil {
		p.Rules[obstat.ListLimit] = l.limits
	}
	for _, r := range l.rules {
		p.Rules[r.list()] = append(p.Rules[r.list()], r.out...)
		p.Rules[listMaybe] = append(p.Rules[listMaybe], r.maybes()...)
		p.Rules[listLeft] = append(p.Rules[listLeft], r.leftOut()...)
		p.Rules[listLeftCommands] = append(p.Rules[listLeftCommands], r.leftCommands()...)
	}
	if marks := l.marks(); len(marks) > 0 {
		p.Rules[listMarks] = marks
		stages = append([]obstat.Stage{obstat.Mark{Name: "marks", Rules: listMarks}}, stages...)
	}
	pl := obstat.Pipeline{Stages: stages, Default: obstat.Ask}
	if l.deny {
		pl.Default = obstat.Deny
		if c := l.confined(); c != nil && c.Code {
			p.Rules[listUnknown] = unknownCode()
			pl.Stages = append(pl.Stages, obstat.Match{Name: obstat.StageUnknown, Rules: listUnknown})
		}
	}
	p.Pipelines[modeDefault] = pl
	for _, m := range l.modes {
		p.Pipelines[obstat.Mode(m)] = pl
	}
	return p
}

// settings asks about changes of the settings of agents and of obstat, which only a rule that names
// them allows: `write settings`, `write .claude/commands`, `write anything`.
func settings() obstat.Rule {
	return obstat.Rule{Field: fieldGuarded, Pattern: obstat.Is("yes"), Verdict: obstat.Ask, Source: "settings",
		Layer:  "built in",
		Reason: "what an agent may do is written there; a rule has to name it to allow this"}
}
