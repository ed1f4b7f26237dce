package claudecode

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// settings are the permissions of one file.
type settings struct {
	file  *dialect.File
	layer string
	root  *tree.Node
	perms *tree.Node
}

// verdictLists are the keys that hold rules.
var verdictLists = []struct {
	key     string
	verdict obstat.Verdict
}{{listDeny, obstat.Deny}, {listAsk, obstat.Ask}, {listAllow, obstat.Allow}}

// keyIgnored is a deprecated key at the top of settings.
const keyIgnored = "ignorePatterns"

// Load reads the files: rules of all layers together, scalars of the highest.
func (d Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := &loader{in: in, prog: &obstat.Program{Dialect: d.Name(), Mode: modeDefault, Pipelines: pipelines(), Rules: builtin(), View: viewName}}
	l.prog.Faces = map[string]obstat.Face{
		obstat.FaceRead: {Tool: "Read", Field: "file_path"}, obstat.FaceWrite: {Tool: "Edit", Field: "file_path"}, obstat.FaceConnect: {Tool: "WebFetch", Field: "url"},
	}
	for _, list := range verdictLists {
		l.prog.Rules[list.key] = []obstat.Rule{}
	}
	all := l.parse()
	if managedOnly(all) {
		l.onlyManaged = true
	}
	for i := range all {
		l.add(&all[i])
	}
	l.finish()
	if l.errs.Fatal() != nil {
		return nil, l.errs
	}
	return l.prog, l.errs
}

type loader struct {
	in          *dialect.Input
	prog        *obstat.Program
	errs        obstat.Errors
	params      params
	onlyManaged bool
	noBypass    bool
	noAuto      bool
}

// parse reads all files and puts them in the order of their layers, lowest
// first.
func (l *loader) parse() []settings {
	var out []settings
	for i := range l.in.Files {
		f := &l.in.Files[i]
		root, problems := jsonx.Parse(f.Data, jsonx.Options{})
		l.errs = append(l.errs, f.Problems(problems)...)
		switch {
		case tree.Fatal(problems):
			continue
		case !root.Is(tree.Object):
			l.errs = append(l.errs, f.Problem(root.Start, obstat.CodeWrongType, "settings must be an object, not %s", root.Kind))
			continue
		}
		for _, m := range root.Members {
			if m.Key != "permissions" && strings.EqualFold(m.Key, "permissions") {
				l.errs = append(l.errs, f.Problem(m.KeyNode.Start, obstat.CodeUnknownKey, "%q is not read; the key is %q", m.Key, "permissions"))
			}
		}
		out = append(out, settings{f, layerOf(f, l.in.Home), root, root.Get("permissions")})
	}
	slices.SortStableFunc(out, func(a, b settings) int { return slices.Index(layers, a.layer) - slices.Index(layers, b.layer) })
	return out
}

// layerOf returns the layer of a file, by its name where none is given.
func layerOf(f *dialect.File, home string) string {
	name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
	switch {
	case slices.Contains(layers, f.Layer):
		return f.Layer
	case f.Layer != "":
		return LayerSession // --settings, flags
	case path.Base(name) == "managed-settings.json" || path.Base(path.Dir(name)) == managedParts:
		return LayerManaged
	case path.Base(name) == "settings.local.json":
		return LayerLocal
	case home != "" && name == path.Join(strings.ReplaceAll(home, `\`, "/"), ".claude/settings.json"), strings.HasPrefix(name, "~/.claude/"):
		return LayerUser
	}
	return LayerProject
}

// managedOnly tells whether the machine's policy wants no other rules.
func managedOnly(all []settings) bool {
	return slices.ContainsFunc(all, func(s settings) bool {
		n := s.root.Get("allowManagedPermissionRulesOnly")
		return s.layer == LayerManaged && n.Is(tree.Bool) && n.Bool
	})
}

func (l *loader) add(s *settings) {
	if n := s.root.Get("disableAutoMode"); n.Is(tree.String) && n.Str == "disable" {
		l.noAuto = true
	}
	l.ignored(s)
	if s.perms == nil {
		return
	}
	kinds := []tree.Field{{Name: listAllow, Kinds: []tree.Kind{tree.Array}}, {Name: listAsk, Kinds: []tree.Kind{tree.Array}}, {Name: listDeny, Kinds: []tree.Kind{tree.Array}},
		{Name: "additionalDirectories", Kinds: []tree.Kind{tree.Array}}, {Name: "defaultMode", Kinds: []tree.Kind{tree.String}},
		{Name: "disableBypassPermissionsMode", Kinds: []tree.Kind{tree.String}}, {Name: "disableAutoMode", Kinds: []tree.Kind{tree.String}}}
	problems := s.perms.Check(kinds...)
	for i := range problems {
		// A key of a newer version is no reason to drop the file; one in other
		// capitals is a list of rules without effect.
		problems[i].Warning = problems[i].Warning || problems[i].Code == tree.CodeUnknown
	}
	l.errs = append(l.errs, s.file.Problems(problems)...)
	l.scalars(s)
	for _, list := range verdictLists {
		if n := s.perms.Get(list.key); n.Is(tree.Array) {
			l.rules(s, n, list.key, list.verdict)
		}
	}
	for _, e := range l.texts(s, s.perms.Get("additionalDirectories")) {
		l.params.Dirs = append(l.params.Dirs, e.Str)
	}
}

func (l *loader) scalars(s *settings) {
	is := func(key string) bool { n := s.perms.Get(key); return n.Is(tree.String) && n.Str == "disable" }
	l.noBypass = l.noBypass || is("disableBypassPermissionsMode")
	l.noAuto = l.noAuto || is("disableAutoMode")
	n := s.perms.Get("defaultMode")
	switch {
	case !n.Is(tree.String):
	case n.Str == "manual":
		l.prog.Mode = modeDefault
	case !slices.Contains(modeNames, n.Str):
		e := s.file.Problem(n.Start, obstat.CodeBadValue, "there is no mode %q", n.Str)
		e.Hint = "the modes are " + strings.Join(modeNames, ", ")
		l.errs = append(l.errs, e)
	default:
		l.prog.Mode = obstat.Mode(n.Str)
	}
}

// texts returns the elements of a list that are text, and reports the others.
func (l *loader) texts(s *settings, n *tree.Node) []*tree.Node {
	if !n.Is(tree.Array) {
		return nil
	}
	var out []*tree.Node
	for _, e := range n.Elems {
		if e.Is(tree.String) {
			out = append(out, e)
			continue
		}
		l.errs = append(l.errs, s.file.Problem(e.Start, obstat.CodeWrongType, "text is expected here, not %s", e.Kind))
	}
	return out
}

func (l *loader) rules(s *settings, n *tree.Node, list string, v obstat.Verdict) {
	l.prog.Rules[list] = slices.Grow(l.prog.Rules[list], len(n.Elems))
	for _, e := range l.texts(s, n) {
		l.rule(s, e, e.Str, list, v)
	}
}

// rule adds the rule that text is, which stands at e.
func (l *loader) rule(s *settings, e *tree.Node, text, list string, v obstat.Verdict) {
	sp, err := parseSpec(text)
	if err != nil {
		l.errs = append(l.errs, s.file.Problem(e.Start, obstat.CodeBadPattern, "%s", err))
		return
	}
	r, trap := sp.compile(v, s.layer)
	if trap != nil {
		l.errs = append(l.errs, &obstat.Error{Code: trap.code, Pos: s.file.Pos(e.Start), Msg: trap.msg, Hint: trap.hint, Warning: true})
		return
	}
	if l.onlyManaged && s.layer != LayerManaged {
		return
	}
	r.Source, r.Pos = text, s.file.Pos(e.Start)
	l.prog.Rules[list] = append(l.prog.Rules[list], *r)
	l.params.note(sp)
	if name, ok := strings.CutPrefix(r.Field, fieldParam); ok && !slices.Contains(l.params.Fields, name) {
		l.params.Fields = append(l.params.Fields, name)
	}
}

// ignored reads the list that was there before deny rules were: files that are
// not to be read.
func (l *loader) ignored(s *settings) {
	n := s.root.Get(keyIgnored)
	if n != nil && !n.Is(tree.Array) {
		l.errs = append(l.errs, s.file.Problem(n.Start, obstat.CodeWrongType, "%q should be a list, not %s", keyIgnored, n.Kind))
	}
	for _, e := range l.texts(s, n) {
		l.rule(s, e, "Read("+e.Str+")", listDeny, obstat.Deny)
	}
}

func (l *loader) finish() {
	if mode := l.in.Options[ModeOption]; mode != "" {
		l.prog.Mode = obstat.Mode(mode)
	}
	// A mode that is switched off is the default one.
	for mode, off := range map[obstat.Mode]bool{modeBypass: l.noBypass, modeAuto: l.noAuto} {
		if off {
			l.prog.Pipelines[mode] = l.prog.Pipelines[modeDefault]
		}
	}
	raw, err := json.Marshal(l.params)
	if err != nil {
		l.errs = append(l.errs, &obstat.Error{Code: obstat.CodeBadValue, Msg: err.Error()})
	}
	l.prog.Params = raw
}

// exceptBroad names the filter of auto mode.
const exceptBroad = "too broad for auto mode"

// tooBroadForAuto tells whether auto mode sets an allow rule aside: shells,
// interpreters and package managers with a wildcard, subagents.
func tooBroadForAuto(r *obstat.Rule) bool {
	sp, err := parseSpec(r.Source)
	switch {
	case err != nil, sp.tool == "Agent", sp.tool == "Task", sp.tool == "Monitor":
		return true
	case !slices.Contains(shellTools, sp.tool):
		return false
	case sp.whole || r.Whole():
		return true
	}
	first, rest, _ := strings.Cut(strings.ReplaceAll(sp.content, ":*", " *"), " ")
	run := slices.Contains([]string{"npm", "pnpm", "yarn", "bun", "npx", "bunx", "make", "just"}, first) && strings.Contains(rest, "*")
	return run || obstat.Broad(r)
}
