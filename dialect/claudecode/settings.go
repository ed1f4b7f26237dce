package claudecode

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/textedit"
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

// The keys of settings; ignorePatterns was there before permissions were.
const (
	keyPermissions = "permissions"
	keyIgnored     = "ignorePatterns"
)

// Load reads the files: rules of all layers together, scalars of the highest.
func (d Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	return (&Family{Name: d.Name(), Format: textedit.JSON}).Load(in)
}

// Load reads a family's files as those of Claude Code are read.
func (fam *Family) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	l := &loader{fam: fam, in: in, prog: &obstat.Program{Dialect: fam.Name, Mode: modeDefault, Pipelines: pipelines(),
		Rules: builtin(), View: viewName}}
	l.prog.Faces = map[string]obstat.Face{
		obstat.FaceRead:    {Tool: "Read", Field: "file_path"},
		obstat.FaceWrite:   {Tool: "Edit", Field: "file_path"},
		obstat.FaceConnect: {Tool: "WebFetch", Field: "url"},
	}
	for _, list := range verdictLists {
		l.prog.Rules[list.key] = []obstat.Rule{}
	}
	all := l.parse()
	l.onlyManaged = managedOnly(all)
	for i := range all {
		l.add(&all[i])
	}
	if fam.Entries != nil {
		list := fam.Entries(nil)
		for i := range list {
			l.entry(&settings{layer: "built in"}, &list[i])
		}
	}
	l.finish()
	if l.Errs.Fatal() != nil {
		return nil, l.Errs
	}
	return l.prog, l.Errs
}

// A loader puts the files together.
type loader struct {
	kit.Reader
	fam         *Family
	in          *dialect.Input
	prog        *obstat.Program
	params      params
	onlyManaged bool
	noBypass    bool
	noAuto      bool
}

// parse reads all files and puts them in the order of their layers, lowest
// first.
func (l *loader) parse() (out []settings) {
	for i := range l.in.Files {
		f := &l.in.Files[i]
		root := l.Parse(f, l.fam.Format)
		if root == nil {
			continue
		}
		if !root.Is(tree.Object) {
			l.Fail(root, obstat.CodeWrongType, "", "settings must be an object, not %s", root.Kind)
			continue
		}
		for _, m := range root.Members {
			if m.Key != keyPermissions && strings.EqualFold(m.Key, keyPermissions) {
				l.Fail(m.KeyNode, obstat.CodeUnknownKey, "", "%q is not read; the key is %q", m.Key, keyPermissions)
			}
		}
		out = append(out, settings{f, layerOf(f, l.in.Home), root, root.Get(keyPermissions)})
	}
	slices.SortStableFunc(out, func(a, b settings) int {
		return slices.Index(layers, a.layer) - slices.Index(layers,
			b.layer)
	})
	return out
}

// layerOf returns the layer of a file, by its name where none is given.
func layerOf(f *dialect.File, home string) string {
	name := f.Slashed()
	ofUser := home != "" && name == path.Join(strings.ReplaceAll(home, `\`, "/"), fileProject)
	switch {
	case slices.Contains(layers, f.Layer):
		return f.Layer
	case f.Layer != "":
		return dialect.LayerSession // --settings, flags
	case path.Base(name) == fileManaged || path.Base(path.Dir(name)) == managedParts:
		return dialect.LayerManaged
	case path.Base(name) == path.Base(fileLocal):
		return dialect.LayerLocal
	case ofUser || strings.HasPrefix(name, "~/.claude/"):
		return dialect.LayerUser
	}
	return dialect.LayerProject
}

// managedOnly tells whether the machine's policy wants no other rules.
func managedOnly(all []settings) bool {
	return slices.ContainsFunc(all, func(s settings) bool {
		n := s.root.Get("allowManagedPermissionRulesOnly")
		return s.layer == dialect.LayerManaged && n.Is(tree.Bool) && n.Bool
	})
}

func (l *loader) add(s *settings) {
	l.File = s.file
	l.noAuto = l.noAuto || disabled(s.root, "disableAutoMode")
	l.ignored(s)
	l.more(s)
	if s.perms == nil {
		return
	}
	problems := s.perms.Check(kit.Key(listAllow, tree.Array), kit.Key(listAsk, tree.Array),
		kit.Key(listDeny, tree.Array),
		kit.Key("additionalDirectories", tree.Array), kit.Key("defaultMode", tree.String),
		kit.Key("disableBypassPermissionsMode", tree.String), kit.Key("disableAutoMode", tree.String))
	for i := range problems {
		// A key of a newer version is no reason to drop the file; one in other
		// capitals is a list of rules without effect.
		problems[i].Warning = problems[i].Warning || problems[i].Code == tree.CodeUnknown
	}
	l.Add(problems...)
	l.scalars(s)
	for _, list := range verdictLists {
		for _, e := range l.texts(s.perms.Get(list.key), list.verdict) {
			l.rule(s, e, e.Str, list.key, list.verdict)
		}
	}
	for _, e := range l.texts(s.perms.Get("additionalDirectories"), obstat.Deny) {
		l.params.Dirs = append(l.params.Dirs, e.Str)
	}
}

// disabled tells whether a key says "disable".
func disabled(n *tree.Node, key string) bool { return n.Get(key).Text() == "disable" }

func (l *loader) scalars(s *settings) {
	l.noBypass = l.noBypass || disabled(s.perms, "disableBypassPermissionsMode")
	l.noAuto = l.noAuto || disabled(s.perms, "disableAutoMode")
	n := s.perms.Get("defaultMode")
	switch {
	case !n.Is(tree.String):
	case n.Str == "manual":
		l.prog.Mode = modeDefault
	case !slices.Contains(modeNames, n.Str):
		l.Fail(n, obstat.CodeBadValue, "the modes are "+strings.Join(modeNames, ", "), "there is no mode %q", n.Str)
	default:
		l.prog.Mode = obstat.Mode(n.Str)
	}
}

// texts returns the elements of a list that are text, and reports the others.
func (l *loader) texts(n *tree.Node, v obstat.Verdict) (out []*tree.Node) {
	for _, e := range n.Items() {
		if e.Is(tree.String) {
			out = append(out, e)
			continue
		}
		l.bad(e, v, obstat.CodeWrongType, "text is expected here, not %s", e.Kind)
	}
	return out
}

// bad reports an entry that is no rule. Claude Code skips it with a warning, whatever list it stands in. Without
// an allow rule nothing is looser, so that is done here as well: one slip does not switch 900 rules off. A
// denial that cannot be read would be protection lost without a word, and stays an error.
func (l *loader) bad(e *tree.Node, v obstat.Verdict, code obstat.Code, format string, args ...any) {
	if v == obstat.Allow {
		l.Warn(e, code, "mend it or take it out", "skipped: "+format, args...)
		return
	}
	l.Fail(e, code, "", format, args...)
}

// rule adds the rules that text is, which stands at e: one in Claude Code's own files.
func (l *loader) rule(s *settings, e *tree.Node, text, list string, v obstat.Verdict) {
	written := []string{text}
	if l.fam.Rule != nil {
		var why string
		if written, why = l.fam.Rule(text, v); why != "" {
			l.bad(e, v, obstat.CodeBadPattern, "%s", why)
			return
		}
	}
	for _, w := range written {
		sp, err := parseSpec(w)
		if err != nil {
			l.bad(e, v, obstat.CodeBadPattern, "%s", err)
			return
		}
		l.compiled(s, e, sp, text, list, v)
	}
}

// compiled adds one rule, whose text in the file is source.
func (l *loader) compiled(s *settings, e *tree.Node, sp spec, source, list string, v obstat.Verdict) {
	r, trap := sp.compile(v, s.layer)
	if trap != nil {
		l.Warn(e, trap.code, trap.hint, "%s", trap.msg)
		return
	}
	if l.onlyManaged && s.layer != dialect.LayerManaged {
		return
	}
	if r.Source = source; e != nil {
		r.Pos = l.Pos(e)
	}
	if l.fam.Above && v != obstat.Allow && r.Field == fieldCwd && strings.HasPrefix(sp.content+"/", "../") {
		r.Field = fieldAbove
	}
	l.prog.Rules[list] = append(l.prog.Rules[list], *r)
	l.params.note(sp)
	l.params.Joined = l.params.Joined || v != obstat.Allow && sp.hasOperator()
	if v == obstat.Allow && sp.tool == "Read" && !r.Whole() && l.fam.Rule == nil { // its relatives are not known to do so
		l.params.Reads = append(l.params.Reads, readRule{r.Field, string(r.Pattern.Flavour), r.Pattern.Text})
	}
	if name, ok := strings.CutPrefix(r.Field, fieldParam); ok && !slices.Contains(l.params.Fields, name) {
		l.params.Fields = append(l.params.Fields, name)
	}
}

// ignored reads the list that was there before deny rules were: files that are
// not to be read.
func (l *loader) ignored(s *settings) {
	n := s.root.Get(keyIgnored)
	if n != nil && !n.Is(tree.Array) {
		l.Fail(n, obstat.CodeWrongType, "", "%q should be a list, not %s", keyIgnored, n.Kind)
	}
	for _, e := range l.texts(n, obstat.Deny) {
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
	l.prog.Params = kit.Params(l.params)
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
	run := slices.Contains([]string{"npm", "pnpm", "yarn", "bun", "npx", "bunx", "make", "just"}, first) &&
		strings.Contains(rest, "*")
	return run || dialect.Broad(r)
}
