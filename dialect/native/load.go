package native

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A rule is one rule of a file.
type rule struct {
	verdict obstat.Verdict
	file    *dialect.File
	node    *tree.Node // of the sentence
	s       *sentence
	targets []target // of the first verb
	except  []target
	name    string
	reason  string
	conds   []obstat.Cond
	after   []*tree.Node
	over    obstat.Over
	// reversible: it is for calls that can be taken back alone.
	reversible bool
	examples   []*tree.Node
	sample     obstat.Call // agent, user and time of the examples
	pos        obstat.Pos
	out        []obstat.Rule
}

// A loader reads files into rules.
type loader struct {
	r      kit.Reader
	places map[string][]phrase
	rules  []*rule
	names  map[string]*rule
	modes  []string // that rules look at
	server string   // that hooks work with
	marked []marked
	deny   bool // `otherwise: deny`: calls that no rule is about are denied, not asked about
	// confine is the word of the user and the machine about confined runs, confineHere the project's.
	confine, confineHere *Confine
	undo                 *Undo
	limits               []obstat.Rule
}

// maxRules bounds the rules of all files.
const maxRules = 100_000

var fileFields = []tree.Field{
	{Name: "version", Kinds: []tree.Kind{tree.Number}, Required: true},
	{Name: "otherwise", Kinds: []tree.Kind{tree.String}},
	{Name: "server", Kinds: []tree.Kind{tree.String}},
	{Name: "confine", Kinds: []tree.Kind{tree.String, tree.Object}},
	{Name: "undo", Kinds: []tree.Kind{tree.String, tree.Object}},
	{Name: obstat.ListLimit, Kinds: []tree.Kind{tree.Array, tree.Null}},
	{Name: "places", Kinds: []tree.Kind{tree.Object}},
	{Name: "allow", Kinds: []tree.Kind{tree.Array, tree.Null}},
	{Name: "ask", Kinds: []tree.Kind{tree.Array, tree.Null}},
	{Name: "deny", Kinds: []tree.Kind{tree.Array, tree.Null}},
}

var ruleFields = []tree.Field{
	{Name: "rule", Kinds: []tree.Kind{tree.String}, Required: true},
	{Name: "name", Kinds: []tree.Kind{tree.String}},
	{Name: "reason", Kinds: []tree.Kind{tree.String}},
	{Name: "when", Kinds: []tree.Kind{tree.Object}},
	{Name: "until", Kinds: []tree.Kind{tree.String}},
	{Name: "after", Kinds: []tree.Kind{tree.String, tree.Array}},
	{Name: "over", Kinds: []tree.Kind{tree.String, tree.Array}},
	{Name: "examples", Kinds: []tree.Kind{tree.Array}},
}

// fields reports keys that are not known, each as an error: a misspelled key would be a rule that
// says something else than meant.
func (l *loader) fields(n *tree.Node, fields []tree.Field) {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	for _, p := range n.Check(fields...) {
		if p.Hint == "" && p.Code == tree.CodeUnknown {
			p.Hint = "the keys are " + strings.Join(names, ", ")
		}
		if p.Hint == "" && (p.Code == tree.CodeType || p.Code == tree.CodeMissing) {
			p.Hint = hintFor(p.Msg)
		}
		p.Warning = false
		l.r.Add(p)
	}
}

// hints say how the value of a key is written.
var hints = [...][2]string{
	{"version", "write `version: 1`"},
	{"otherwise", "write `otherwise: deny`, or leave it out: what no rule is about is asked about"},
	{"server", "write `server: https://obstat.example.com:8470`, the server that this machine has joined"},
	{"confine", confineHint},
	{"undo", undoHint},
	{obstat.ListLimit, limitHint},
	{"places", "write `places:` and below it names with lists: `generated: [dist/**]`"},
	{"allow", "write `allow:` and rules below it, each behind a dash: `- read workspace`"},
	{"ask", "write `ask:` and rules below it, each behind a dash: `- run git push`"},
	{"deny", "write `deny:` and rules below it, each behind a dash: `- read secrets`"},
	{"rule", "write `rule: read workspace`"},
	{"name", "write `name: leak`"},
	{"reason", "write `reason: ` and a few words for the agent"},
	{"when", "write `when: {agent: codex}`"},
	{"until", "write `until: 2026-12-31`"},
	{"after", "write `after: read secrets`"},
	{"over", "write `over: auto-mode` or `over: reviewer`: the agent's own judge that this allow rule outranks"},
	{"tool", "write `tool: Read`"},
	{"input", "write `input: {file_path: .env}`"},
	{"examples", "write `examples: [git push origin main]`"},
}

// hintFor returns the hint of the key that a message names.
func hintFor(msg string) string {
	for _, h := range hints {
		if strings.Contains(msg, `"`+h[0]+`"`) {
			return h[1]
		}
	}
	for at := range obstat.Circumstances() {
		if at.When != "" && strings.Contains(msg, `"`+at.When+`"`) {
			return "write `" + at.Example + "`"
		}
	}
	return ""
}

// file reads one file.
func (l *loader) file(f *dialect.File) {
	root := l.r.Parse(f, textedit.YAML)
	if root == nil {
		return
	}
	if !root.Is(tree.Object) {
		l.r.Fail(root, obstat.CodeWrongType,
			"begin with `version: 1`, then `allow:`, `ask:` and `deny:`, each with a list of rules",
			"a policy is an object, not %s", root.Kind)
		return
	}
	l.fields(root, fileFields)
	if v := root.Get("version"); v.Is(tree.Number) && string(v.Source(f.Data)) != "1" {
		l.r.Fail(v, obstat.CodeBadValue, "write `version: 1`", "version %s of the language is not known", v.Source(f.Data))
	}
	switch o := root.Get("otherwise"); {
	case !o.Is(tree.String) || o.Str == "ask":
	case o.Str == "deny":
		l.deny = true
	default:
		l.r.Fail(o, obstat.CodeBadValue, hintFor(`"otherwise"`),
			"what no rule is about can be asked about or denied, not %q", o.Str)
	}
	l.readServer(root.Get("server"))
	l.readConfine(root.Get("confine"), f.Layer)
	l.readUndo(root.Get("undo"), f.Layer)
	l.readLimit(root.Get(obstat.ListLimit), f.Layer)
	l.readPlaces(root.Get("places"))
	for _, m := range root.Members {
		v := slices.Index(lists[:], m.Key)
		if v < 0 || !m.Value.Is(tree.Array) {
			continue
		}
		for _, n := range m.Value.Elems {
			if len(l.rules) == maxRules {
				l.r.Fail(n, obstat.CodeTooLarge, "a rule for a place or a pattern takes the place of many", "more than %d rules",
					maxRules)
				return
			}
			l.rule(obstat.Verdict(v), f, n)
		}
	}
}

// params are a Program's parameters that are none of its rules.
type params struct {
	Server  string   `json:"server,omitempty"`
	Confine *Confine `json:"confine,omitempty"`
	Undo    *Undo    `json:"undo,omitempty"`
	Only    bool     `json:"only,omitempty"` // the files hold nothing but `confine:`, `undo:` and `limit:`
}

// readServer reads which server hooks work with. Of several files the first, the machine's or
// the user's, says it.
func (l *loader) readServer(n *tree.Node) {
	if !n.Is(tree.String) {
		return
	}
	switch u, err := url.Parse(n.Str); {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "":
		l.r.Fail(n, obstat.CodeBadValue, hintFor(`"server"`), "%q is not the address of a server", n.Str)
	case l.server != "" && l.server != n.Str:
		l.r.Warn(n, obstat.CodeNoEffect, "", "the server is %s, as a file before this one says", l.server)
	default:
		l.server = n.Str
	}
}

// readPlaces reads the named places.
func (l *loader) readPlaces(n *tree.Node) {
	if !n.Is(tree.Object) {
		return
	}
	if l.places == nil {
		l.places = map[string][]phrase{}
	}
	for _, m := range n.Members {
		at := m.KeyNode
		switch {
		case !isName(m.Key):
			l.r.Fail(at, obstat.CodeBadValue, "a place's name is small letters, digits and -", "%q cannot name a place", m.Key)
			continue
		case m.Key != placeSecrets && isWord(m.Key):
			l.r.Fail(at, obstat.CodeConflict, "give it another name; only `secrets` can be extended",
				"%s means something already", m.Key)
			continue
		}
		noText := func(e *tree.Node) bool { return !e.Is(tree.String) }
		if !m.Value.Is(tree.Array) || slices.ContainsFunc(m.Value.Elems, noText) {
			l.r.Fail(m.Value, obstat.CodeWrongType, "write `"+m.Key+": [dist/**, \"*.gen.go\"]`",
				"the place %q is a list of texts", m.Key)
			continue
		}
		for _, e := range m.Value.Elems {
			l.places[m.Key] = append(l.places[m.Key], phrase{text: e.Str, quoted: !slices.Contains(builtinPlaces, e.Str)})
			if bad := l.member(m.Key, e); bad != nil {
				l.r.Fail(e, obstat.CodeBadValue, bad.hint, "%s", bad.msg)
			}
		}
	}
}

// isWord tells whether a name means something in a sentence already.
func isWord(name string) bool {
	return slices.Contains(builtinPlaces, name) || slices.Contains(anything, name) ||
		name == "outside" || name == "exactly"
}

// NamedPlaces returns the paths of the places that files name themselves: `places: {work: [./src, docs/**]}`.
func NamedPlaces(files []dialect.File) map[string][]string {
	out := map[string][]string{}
	for i := range files {
		root, _ := textedit.YAML.Parse(files[i].Data)
		if list := root.Get("places"); list.Is(tree.Object) {
			for _, m := range list.Members {
				for _, e := range m.Value.Items() {
					p := e.Text()
					if !strings.ContainsAny(p, "./*~") {
						p = "./" + p // a word alone is a file of the project
					}
					out[m.Key] = append(out[m.Key], p)
				}
			}
		}
	}
	return out
}

// member returns the mistake in a member of a place, as far as it shows before places are resolved.
func (l *loader) member(name string, e *tree.Node) *mistake {
	if l.places[e.Str] != nil && !slices.Contains(builtinPlaces, e.Str) {
		return &mistake{msg: fmt.Sprintf("the place %q cannot hold the place %q", name, e.Str),
			hint: "list its members, or name both places in the rule"}
	}
	if name == placeSecrets {
		if _, why := newGlob(e.Str); why != "" {
			return &mistake{msg: fmt.Sprintf("%q: %s", e.Str, why), hint: "`*.pem` and `deploy/keys/**` are paths"}
		}
	}
	return nil
}

func (l *loader) placeNames() (out []string) {
	for name := range l.places {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// rule reads one rule: a sentence, or an object with more to say.
func (l *loader) rule(v obstat.Verdict, f *dialect.File, n *tree.Node) {
	r := &rule{verdict: v, file: f, node: n}
	switch {
	case n.Is(tree.Object):
		l.fields(n, ruleFields)
		if r.node = n.Get("rule"); !r.node.Is(tree.String) {
			return
		}
		l.details(r, n)
	case !n.Is(tree.String):
		l.r.Fail(n, obstat.CodeWrongType,
			"write `- read workspace`, or an object with the key `rule`; a text with `: ` in it needs quotes",
			"a rule is a sentence, not %s", n.Kind)
		return
	}
	r.pos = l.r.Pos(r.node)
	s, bad := parseSentence(r.node.Str)
	if r.s = s; len(bad) == 0 {
		r.targets, r.except, bad = l.resolve(s)
		bad = append(bad, r.keepFits()...)
	}
	for _, b := range bad {
		l.at(r, b)
	}
	if len(bad) > 0 {
		return
	}
	l.predicates(r)
	l.rules = append(l.rules, r)
}

// at reports a mistake in a rule's sentence.
func (l *loader) at(r *rule, b mistake) {
	e := r.file.Problem(0, obstat.CodeBadValue, "%s", b.msg)
	e.Pos, e.Hint = r.file.Within(r.node, b.at), b.hint
	l.r.Errs = append(l.r.Errs, e)
}

// resolve reads the targets of a sentence, and proves that each exception lies inside one of them:
// `write src/** except docs/**` is a mistake.
func (l *loader) resolve(s *sentence) (targets, except []target, bad []mistake) {
	if len(s.verbs) > 1 {
		for _, v := range s.verbs {
			if onPaths(v) != onPaths(s.verbs[0]) || !onPaths(v) {
				return nil, nil, []mistake{{0, fmt.Sprintf("%s and %s have different kinds of targets", s.verbs[0], v),
					"write a rule for each"}}
			}
		}
	}
	read := func(phrases []phrase) (out []target) {
		for _, ph := range phrases {
			ts, b := l.targets(s.verbs[0], ph)
			if b != nil {
				bad = append(bad, *b)
			}
			out = append(out, ts...)
		}
		return out
	}
	if targets = read(s.targets); len(s.targets) == 0 {
		targets = []target{{kind: everything}}
	}
	except = read(s.except)
	for i := range except {
		if b := narrower(targets, &except[i]); b != nil && len(bad) == 0 {
			bad = append(bad, *b)
		}
	}
	return targets, except, bad
}

// narrower returns the mistake of an exception that lies inside none of the targets.
func narrower(targets []target, e *target) *mistake {
	for i := range targets {
		t := &targets[i]
		// `read src/** except secrets` leaves most of src, `read secrets except .env.test` the other secrets.
		some := t.kind == path && byTable(e.place)
		named := byTable(t.place) && e.kind == path
		switch all := e.kind == everything || e.contains(t) && !some && !named; {
		case !all && (named || t.contains(e)):
			return nil
		case all:
			return &mistake{e.at, fmt.Sprintf("except %s leaves nothing of %s", e.text, t.text),
				"take the rule out, or leave out less"}
		}
	}
	hint := "leave out a part of it"
	if e.kind == path && e.glob.base == fieldPath {
		hint = "a path without / or ~/ before it lies in the project"
	}
	return &mistake{e.at, fmt.Sprintf("%s is not certainly a part of what the rule is about", e.text), hint}
}

// tools returns the tools of the questions that a rule's verbs are about. A deny for writing
// denies deleting, too.
func (s *sentence) tools(allow bool) obstat.Text {
	names := slices.Clone(s.verbs)
	if !allow && slices.Contains(names, "write") && !slices.Contains(names, "delete") {
		names = append(names, "delete")
	}
	if len(names) == 1 {
		return obstat.Is(names[0])
	}
	return obstat.Text{Flavour: pattern.Full, Text: strings.Join(names, "|")}
}

// compile makes the engine's rules of a rule: one for each target.
func (r *rule) compile() (out []obstat.Rule) {
	allow := r.verdict == obstat.Allow
	base := obstat.Rule{ID: r.name, Tool: r.s.tools(allow), Verdict: r.verdict, If: r.conds, Except: r.excepts(allow),
		Over:   r.over,
		Source: strings.ReplaceAll(oneBlank(r.node.Str), "\n", " "), Layer: r.file.Layer, Reason: r.reason, Pos: r.pos}
	for i := range r.targets {
		m := r.targets[i].match(allow)
		one := base
		one.Field, one.Pattern = m.field, m.pattern
		t := &r.targets[i]
		if allow && !r.reversible && t.kind == place && t.place != placeSettings { // which a rule has to name
			one.Except = append(slices.Clip(one.Except), obstat.Cond{Field: fieldGuarded, Any: []obstat.Text{obstat.Is("yes")}})
		}
		switch verb := r.s.verbs[0]; {
		case r.reversible && verb == "run": // and not for what it reads, or sends
			one.Tool = obstat.Text{Flavour: pattern.Full, Text: "run|write|delete|code|system"}
		case r.reversible:
		case allow && (verb == "run" || verb == "tool"):
			// It speaks for all that the command, or the tool, does.
			if one.Tool = (obstat.Text{}); m.field == "" {
				one.Field, one.Pattern = map[string]string{"run": fieldCommand,
					"tool": fieldTool}[verb], obstat.Text{Flavour: pattern.Fnmatch, Text: "*"}
			}
		}
		out = append(out, one)
		also := r.targets[i].spellings()
		if !allow {
			also = append(also, r.targets[i].others()...)
		}
		for _, m := range also {
			one.Field, one.Pattern = m.field, m.pattern
			out = append(out, one)
		}
	}
	return out
}

// spellings returns how other agents' calls of a tool are matched: by the tool's kind, so that a rule for
// Agent holds for spawn_agent, or by the name that the spellings of a server's tool have in common.
func (t *target) spellings() []match {
	if t.kind != toolName {
		return nil
	}
	known, ok := effect.Lookup(t.text)
	server, prefixed := serverTool(t.text)
	switch {
	case prefixed:
		return []match{{fieldServer, glued(server)}}
	case strings.ContainsAny(t.text, "*?"):
		return nil
	case ok && known.Canonical != "mcp":
		return []match{{fieldKind, obstat.Text{Flavour: pattern.Full, Text: strings.Join(effect.ToolKinds(t.text), "|")}}}
	}
	server, _ = serverTool("mcp__" + t.text) // as opencode and Copilot write it
	return []match{{fieldServer, glued(server)}}
}

// maybes returns, for each place that a deny or ask rule is about, the rule for paths that may
// lead there: `cat $F` under `deny: read secrets`; and for each way to run a command the rule for those that may
// go that way: `git push $X` under `deny: run git push where force`.
func (r *rule) maybes() (out []obstat.Rule) {
	if r.verdict == obstat.Allow {
		return nil
	}
	for _, o := range r.out {
		if conds, ok := inDoubt(o.If); ok {
			o := o
			o.If, o.Verdict = conds, obstat.Ask
			o.Reason = strings.TrimPrefix(o.Reason+"; ", "; ") + "a word of it is not known"
			out = append(out, o)
		}
		if o.Field == fieldPlace {
			o.Field, o.Verdict = fieldMaybe, obstat.Ask
			o.Reason = strings.TrimPrefix(o.Reason+"; ", "; ") + "where this leads cannot be seen"
			out = append(out, o)
		}
	}
	return out
}

// inDoubt returns the conditions under which a command may run as they say.
func inDoubt(conds []obstat.Cond) (out []obstat.Cond, ok bool) {
	out = slices.Clone(conds)
	for i := range out {
		if c := &out[i]; c.Field == fieldManner && !c.Not {
			c.Any, ok = append(slices.Clip(c.Any), obstat.Is(mannerMaybe+c.Any[0].Text)), true
		}
	}
	return out, ok
}

// list returns the list of the Program that the rule is in. An allow rule for calls that can be taken back counts
// before the ask rules: `delete workspace` is asked about in general, and there it need not be.
func (r *rule) list() string {
	if r.verdict == obstat.Allow && r.reversible {
		return listReversible
	}
	if verb := r.s.verbs[0]; r.verdict == obstat.Allow && (verb == "run" || verb == "tool") {
		return listCommands
	}
	return r.verdict.String()
}

// leftOut returns rules that ask about the exceptions of an allow rule for paths. Under `write workspace
// except .git`, a program that is allowed whole does not write to .git unasked.
func (r *rule) leftOut() (out []obstat.Rule) {
	if r.verdict != obstat.Allow || !onPaths(r.s.verbs[0]) {
		return nil
	}
	for i := range r.except {
		out = append(out, r.leaves(r.except[i].match(false)))
	}
	return out
}

// leftCommands returns rules that ask about the exceptions of an allow rule for commands. Of `run docker except docker
// push`, what docker push does is not known to be harmless because it is known.
func (r *rule) leftCommands() (out []obstat.Rule) {
	if r.verdict != obstat.Allow || r.s.verbs[0] != "run" {
		return nil
	}
	for i := range r.except {
		t := &r.except[i]
		for _, m := range append([]match{t.match(false)}, t.others()...) {
			out = append(out, r.leaves(m))
		}
	}
	return out
}

// leaves returns a rule that asks about a part of what the rule allows.
func (r *rule) leaves(m match) obstat.Rule {
	o := r.out[0]
	o.Verdict, o.Field, o.Pattern, o.Except, o.Over = obstat.Ask, m.field, m.pattern, nil, 0
	o.Tool = r.s.tools(false)
	o.Reason = "it leaves this out"
	return o
}

// excepts returns what a rule leaves out. What a denial leaves out is seen as an allow rule sees it: `deny: run
// anything except ls` is about another program of that name, `./ls`.
func (r *rule) excepts(allow bool) (out []obstat.Cond) {
	for i := range r.except {
		t := &r.except[i]
		list := append([]match{t.match(!allow)}, t.spellings()...)
		if allow {
			list = append(list, t.others()...)
		}
		for _, m := range list {
			out = append(out, obstat.Cond{Field: m.field, Any: []obstat.Text{m.pattern}})
			if allow && m.field == fieldPlace {
				out = append(out, obstat.Cond{Field: fieldMaybe, Any: []obstat.Text{m.pattern}})
			}
		}
	}
	return out
}

// serverTool returns the name that the spellings of an MCP server's tool have in common:
// `github_push` of mcp__github__push, mcp_github_push and github-push.
func serverTool(name string) (string, bool) {
	for _, prefix := range [...]string{"mcp__", "mcp_", "MCP:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return strings.ReplaceAll(strings.ReplaceAll(rest, "-", "_"), "__", "_"), true
		}
	}
	return "", false
}

// textNode is a sentence that is in no file.
func textNode(text string) *tree.Node { return &tree.Node{Kind: tree.String, Str: text} }
