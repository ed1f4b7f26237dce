package jiuwen

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
)

// params are the settings that the view and the checks need.
type params struct {
	Bare     bool           `json:"bare,omitempty"`     // the document to the letter
	Legacy   bool           `json:"legacy,omitempty"`   // the legacy matcher is in force
	Channels []string       `json:"channels,omitempty"` // that are checked; none: all
	Names    []string       `json:"names,omitempty"`    // tools with an alias that the configuration names itself
	Effects  bool           `json:"effects,omitempty"`  // some rule looks at effects
	Trusted  []string       `json:"trusted,omitempty"`  // directories of add-dir
	External externalConfig `json:"external"`
	Owners   ownerConfig    `json:"owners,omitempty"`
}

// paramsOf returns the settings that a Program holds.
func paramsOf(p *obstat.Program) (*params, error) {
	return kit.Code(func(p *params) *params { return p })(p.Params)
}

// tool returns the name that the rules know a tool by.
func (p *params) tool(name string) string {
	if alias, ok := aliases[name]; ok && !slices.Contains(p.Names, name) {
		return alias
	}
	return name
}

// A view makes of a call the one question of section 2.2: may this tool run
// with this command, or with these paths?
type view struct{ *params }

// Questions returns the question that a call asks.
func (v view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	args, err := arguments(f)
	if err != nil {
		return nil, err
	}
	q := obstat.Question{Tool: v.tool(f.Call.Tool)}
	switch {
	case v.Legacy:
		q.Subjects = legacySubjects(args)
	case categories[q.Tool] == shellTools:
		q.Subjects = v.shellSubjects(f, commandText(args))
	case categories[q.Tool] == pathTools:
		q.Subjects = pathSubjects(args)
	}
	return []obstat.Question{q}, nil
}

// arguments reads a call's input. A value that is no object is an empty one, as
// in the original; input that does not parse, or names a key twice, is a fault.
func arguments(f *obstat.Facts) (*tree.Node, error) {
	args, err := kit.Arguments(f)
	if errors.Is(err, kit.ErrNoObject) {
		return &tree.Node{Kind: tree.Object}, nil
	}
	return args, err
}

// commandText is str(args["command"] or args["cmd"] or "").strip().
func commandText(args *tree.Node) string {
	for _, key := range []string{"command", "cmd"} {
		if n := args.Get(key); pytext.Truthy(n) {
			return pytext.Strip(pytext.Str(n))
		}
	}
	return ""
}

func (v view) shellSubjects(f *obstat.Facts, cmd string) []obstat.Subject {
	out := []obstat.Subject{{Field: fieldCommandRE, Text: cmd}}
	if cmd != "" { // a wildcard matches no empty text
		out = append(out, obstat.Subject{Field: fieldCommand, Text: cmd})
	}
	if strings.Contains(cmd, `\`) {
		out = append(out, obstat.Subject{Field: fieldCommandRE, Text: slashes(cmd)})
	}
	if v.Bare && !v.Effects {
		return out
	}
	all := readings(f, cmd)
	if v.Effects && f.Part() == nil { // the whole call's effects are those of its parts
		for _, g := range all {
			out = append(out, effectSubjects(g)...)
		}
	}
	if len(all) == 1 { // a command with two readings is not trusted
		out = append(out, v.trustedSubjects(f)...)
	}
	return out
}

// readings returns the facts to look for effects in: the call's, and, where its
// command is no text, or an empty one with a cmd beside it, those of the text
// that the rules see.
func readings(f *obstat.Facts, cmd string) []*obstat.Facts {
	for _, field := range []string{"command", "cmd"} {
		if text, ok := f.Field(field); ok {
			if pytext.Strip(text) == cmd {
				return []*obstat.Facts{f}
			}
			break
		}
	}
	input, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil || cmd == "" {
		return []*obstat.Facts{f}
	}
	call := *f.Call
	call.Input = input
	return []*obstat.Facts{f, {Call: &call, World: f.World, Mode: f.Mode}}
}

// pathSubjects returns the path-like arguments of a call, section 2.2.
func pathSubjects(args *tree.Node) (out []obstat.Subject) {
	for _, p := range pathArguments(args) {
		out = append(out, obstat.Subject{Field: fieldPath, Text: slashes(p)},
			obstat.Subject{Field: fieldPathRE, Text: slashes(p)})
		for _, above := range pathTexts(p) {
			out = append(out, obstat.Subject{Field: fieldPath, Text: slashes(above)})
		}
	}
	return out
}

// pathArguments returns the path-like texts among the arguments, stripped.
func pathArguments(args *tree.Node) (out []string) {
	for _, m := range args.Members {
		if !m.Value.Is(tree.String) {
			continue
		}
		if s := pytext.Strip(m.Value.Str); s != "" && pathLike(m.Key, s) {
			out = append(out, s)
		}
	}
	return out
}

func legacySubjects(args *tree.Node) (out []obstat.Subject) {
	for _, s := range append(argTexts(args), pytext.Str(args)) {
		out = append(out, obstat.Subject{Field: fieldArgs, Text: s})
	}
	return out
}

// Outline returns the questions of any call to a tool: with all
// subjects there can be, and with no more than there must be.
func (v view) Outline(tool string) []obstat.Question {
	name := v.tool(tool)
	every := obstat.Question{Tool: name, Subjects: []obstat.Subject{{Field: "*"}}}
	switch {
	case v.Legacy:
		return []obstat.Question{every}
	case categories[name] == shellTools:
		return []obstat.Question{every, {Tool: name, Subjects: []obstat.Subject{{Field: fieldCommandRE}}}}
	case categories[name] == pathTools:
		return []obstat.Question{every, {Tool: name}}
	}
	return []obstat.Question{{Tool: name}}
}
