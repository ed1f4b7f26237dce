package claudecode

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/pattern"
)

// params are the settings of the files that the view needs.
type params struct {
	Dirs   []string `json:"dirs,omitempty"`   // additional working directories
	Fields []string `json:"fields,omitempty"` // input fields that rules look at
	// Servers are the MCP servers that rules name, Named the tools besides that
	// are none of Claude Code's; both may have asterisks.
	Servers []string `json:"servers,omitempty"`
	Named   []string `json:"named,omitempty"`
	// Joined: a deny or ask rule has an operator in it, `env | base64*`.
	Joined bool `json:"joined,omitempty"`
	// Reads are the allow rules for reading files.
	Reads []readRule `json:"reads,omitempty"`
}

// A readRule is the pattern of `Read(~/notes/**)`, and where it starts.
type readRule struct {
	Field   string `json:"field,omitempty"`
	Flavour string `json:"flavour"`
	Text    string `json:"text"`
}

// A view turns a call of any agent into questions to Claude Code's rules.
type view struct {
	params
	reads func() []*pattern.Pattern // of Reads
}

func newView(p params) *view {
	return &view{p, sync.OnceValue(func() (out []*pattern.Pattern) {
		for _, r := range p.Reads {
			c, err := pattern.Compile(pattern.Flavour(r.Flavour), r.Text)
			if err != nil {
				c = &pattern.Pattern{} // matches nothing
			}
			out = append(out, c)
		}
		return out
	})}
}

var (
	_ kit.Outliner = (*view)(nil)
	_ kit.PartView = (*view)(nil)
)

// Questions returns the questions that a call poses to the rules.
func (v *view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	t, _ := effect.Lookup(f.Call.Tool)
	name := toolName(f.Call.Tool, &t)
	var out []obstat.Question
	switch {
	case slices.Contains(shellTools, name) && len(t.Command) > 0:
		out = v.shell(f, name)
	case slices.Contains(readTools, name) || slices.Contains(editTools, name):
		out = v.files(f, name)
	case name == "WebFetch":
		out = fetches(f, &t)
	case name == "Agent":
		out = []obstat.Question{named(f, name, fieldAgent, "subagent_type", "agent_type", "agent_name")}
	case name == "Skill" || name == "SlashCommand":
		q := named(f, name, fieldSkill, "skill", "name", "command")
		if args, ok := f.String("args"); ok && len(q.Subjects) > 0 && args != "" {
			q.Subjects[0].Text = normalize(q.Subjects[0].Text + " " + args)
		}
		out = []obstat.Question{q}
	}
	if len(out) == 0 {
		if t.Canonical == "mcp" {
			name = f.Call.Tool
		}
		for _, n := range v.mcpNames(f.Call.Agent, name) {
			out = append(out, obstat.Question{Tool: n})
		}
	}
	v.fields(f, out)
	return out, nil
}

// fields adds the input fields that rules look at.
func (v *view) fields(f *obstat.Facts, qs []obstat.Question) {
	for _, name := range v.Fields {
		text, ok := f.Field(name)
		if !ok || text != "" && (text[0] == '{' || text[0] == '[') {
			if _, isText := f.String(name); !isText {
				continue // not there, or no scalar
			}
		}
		for i := range qs {
			qs[i].Subjects = append(qs[i].Subjects, obstat.Subject{Field: fieldParam + name, Text: text})
		}
	}
}

// named asks about the first of the fields that is there.
func named(f *obstat.Facts, tool, field string, keys ...string) obstat.Question {
	q := obstat.Question{Tool: tool}
	for _, k := range keys {
		if text, ok := f.String(k); ok {
			q.Subjects = []obstat.Subject{{Field: field, Text: text}}
			return q
		}
	}
	return q
}

// fetches asks about the hosts of a call.
func fetches(f *obstat.Facts, t *effect.Tool) []obstat.Question {
	var out []obstat.Question
	for _, key := range t.URL {
		text, ok := f.String(key)
		if !ok {
			continue
		}
		if key == "prompt" {
			for _, w := range strings.Fields(text) {
				if strings.Contains(w, "://") {
					out = append(out, domain(strings.Trim(w, `"'<>()[],`)))
				}
			}
			continue
		}
		out = append(out, domain(text))
		break
	}
	return out
}

func domain(raw string) obstat.Question {
	q := obstat.Question{Tool: "WebFetch"}
	if host := hostOf(raw); host != "" {
		q.Subjects = []obstat.Subject{{Field: fieldDomain, Text: host}}
	}
	return q
}

// hostOf returns the host of a URL or of an address as commands write it, ""
// where it cannot be told.
func hostOf(raw string) string {
	if !strings.Contains(raw, "://") {
		if _, rest, ok := strings.Cut(raw, "@"); ok {
			raw = rest
		}
		raw = "x://" + raw
		if i := strings.LastIndexByte(raw, ':'); i > 4 && strings.ContainsFunc(raw[i+1:], func(r rune) bool { return r < '0' || r > '9' }) {
			raw = raw[:i] // git@host:path
		}
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || strings.ContainsAny(raw, "\\\t\n\r") {
		return "" // readers differ in its meaning
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// files asks about every path of a file tool.
func (v *view) files(f *obstat.Facts, name string) (out []obstat.Question) {
	a := f.Analysis()
	for i := range a.Effects {
		e := &a.Effects[i]
		tool := name
		switch {
		case e.Kind == effect.Read && !slices.Contains(readTools, name):
			tool = "Read"
		case (e.Kind == effect.Write || e.Kind == effect.Delete) && !slices.Contains(editTools, name):
			tool = "Edit"
		case e.Kind != effect.Read && e.Kind != effect.Write && e.Kind != effect.Delete:
			continue
		}
		out = append(out, v.path(f, tool, e)...)
	}
	return out
}

// path asks about the file that e touches.
func (v *view) path(f *obstat.Facts, tool string, e *effect.Effect) []obstat.Question {
	switch {
	case e.Path == "" && e.Raw == "":
		return []obstat.Question{{Tool: tool}}
	case e.Path == "":
		q := obstat.Question{Tool: tool, Subjects: []obstat.Subject{{Field: "path", Text: e.Raw}}}
		rel := path.Clean(strings.ReplaceAll(e.Raw, `\`, "/"))
		if leaves := path.IsAbs(rel) || rel == ".." || strings.HasPrefix(rel, "../") || rel[0] == '~'; !leaves {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldCwd, Text: rel},
				obstat.Subject{Field: fieldRoot, Text: rel})
		}
		return []obstat.Question{q}
	}
	return v.places(f, tool, e.Path, e.Real)
}

// File asks about a file of one of Claude Code's own tools.
func (v *view) File(f *obstat.Facts, tool, p, real string) ([]obstat.Question, bool) {
	if !slices.Contains(readTools, tool) && !slices.Contains(editTools, tool) {
		return nil, false
	}
	if dir, at := f.Call.Dir, f.Call.Anchor(); dir != at && !(f.Call.InRoots(dir) && f.Call.InRoots(at)) {
		return nil, false // a call that is made where rules start has other working directories
	}
	return v.places(f, tool, p, real), true
}

// places asks about a file, and about where it leads: an allow rule must hold for
// both, a deny rule for either.
func (v *view) places(f *obstat.Facts, tool, p, real string) []obstat.Question {
	out := scratchOf(f).one(v.place(f, tool, slashed(p)))
	if real != "" && real != p {
		out = append(out, v.place(f, tool, slashed(real)))
	}
	return out
}

// place says a path from everywhere that a pattern can be anchored in.
func (v *view) place(f *obstat.Facts, tool, p string) obstat.Question {
	q := obstat.Question{Tool: tool, Subjects: scratchOf(f).room(8)}
	say := func(field, text string) {
		q.Subjects = append(q.Subjects, obstat.Subject{Field: field, Text: text})
	}
	say("path", p)
	say(fieldAbs, strings.TrimPrefix(p, "/"))
	anchors := v.anchors(f)
	for i := range anchors {
		if rel, ok := anchors[i].from(p); ok {
			say(anchors[i].field, rel)
		}
	}
	if rel := above(f, p); rel != "" {
		say(fieldAbove, rel)
	}
	if v.holds(f, p) {
		say(fieldInside, "yes")
	}
	if why := protected(p); why != "" {
		say(fieldProtected, why)
	}
	return q
}

// above returns the way from the project to a path that is not in it, "" where no rule wants it.
func above(f *obstat.Facts, p string) string {
	dir := slashed(f.Call.Anchor())
	if dir == "" || !f.Wants(fieldAbove) || paths.Inside(dir, p) {
		return ""
	}
	up := ""
	for !paths.Inside(dir, p) {
		dir, up = path.Dir(dir), up+"../"
	}
	return strings.TrimSuffix(up+strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"), "/")
}

// A scratch keeps lookups while a call is decided, and memory for questions.
type scratch struct {
	anchors        []anchor // the directories that paths of the call are given from
	work           []string // its working directories
	anchored, sees bool     // these are looked up
	dirs           []ways
	alone          []alone
	questions      []obstat.Question
	subjects       []obstat.Subject
}

// alone is a command that was analysed by itself.
type alone struct {
	text, dir string
	reads     bool
}

// ways is a directory, as it is called and, where that is not the same, where it leads.
type ways struct {
	dir  string
	both [2]string
}

var _ kit.Scratch = (*scratch)(nil)

// maxScratch bounds the memory that is kept from call to call.
const maxScratch = 256

// Reset forgets the call.
func (s *scratch) Reset() {
	if cap(s.subjects) > maxScratch || cap(s.questions) > maxScratch {
		*s = scratch{}
	}
	clear(s.subjects)
	clear(s.questions)
	*s = scratch{anchors: s.anchors[:0], work: s.work[:0], dirs: s.dirs[:0], alone: s.alone[:0],
		questions: s.questions[:0], subjects: s.subjects[:0]}
}

func scratchOf(f *obstat.Facts) *scratch {
	s, ok := f.Scratch.(*scratch)
	if !ok {
		s = &scratch{}
		f.Scratch = s
	}
	return s
}

// room returns memory for the subjects of a question, which may have more.
func (s *scratch) room(n int) []obstat.Subject {
	at := len(s.subjects)
	if at+n > cap(s.subjects) {
		s.subjects, at = make([]obstat.Subject, 0, max(64, 2*cap(s.subjects), n)), 0
	}
	s.subjects = s.subjects[:at+n]
	return s.subjects[at : at : at+n]
}

// one returns a list of one question.
func (s *scratch) one(q obstat.Question) []obstat.Question {
	at := len(s.questions)
	s.questions = append(s.questions, q)
	return s.questions[at : at+1 : at+1]
}

// An anchor is a directory, as it is called and where it leads.
type anchor struct {
	field string
	dirs  [2]string // clean; "" is none
}

// from returns a path as it is called from the anchor.
func (a *anchor) from(p string) (rel string, ok bool) {
	for _, d := range a.dirs {
		if d != "" && paths.Inside(d, p) {
			return strings.TrimPrefix(strings.TrimPrefix(p, d), "/"), true
		}
	}
	return "", false
}

// holds tells whether a path lies in the working directories, which are looked up once for a call.
func (v *view) holds(f *obstat.Facts, p string) bool {
	s := scratchOf(f)
	if !s.sees {
		s.sees = true
		for _, dir := range f.Call.Workspace() {
			both := s.bothWays(f.World, dir)
			s.work = append(s.work, both[:]...)
		}
		for _, dir := range v.Dirs {
			at := paths.Resolver{FS: f.World, Dir: f.Call.Anchor()}.Resolve(dir)
			s.work = append(s.work, at.Abs, at.Real)
		}
	}
	return slices.ContainsFunc(s.work, func(dir string) bool { return paths.Inside(dir, p) })
}

// anchors returns the directories that paths of a call are given from, which are looked up once
// for a call.
func (v *view) anchors(f *obstat.Facts) []anchor {
	s := scratchOf(f)
	if s.anchored {
		return s.anchors
	}
	s.anchored = true
	add := func(field, dir string) {
		if dir != "" && f.Wants(field) {
			s.anchors = append(s.anchors, anchor{field, s.bothWays(f.World, dir)})
		}
	}
	add(fieldCwd, f.Call.Anchor())
	for _, root := range roots(f.Call) {
		add(fieldRoot, root)
	}
	home := kit.Home(f.World)
	add(fieldHome, home)
	if home != "" && f.Wants(fieldUser) {
		add(fieldUser, path.Join(home, ".claude"))
	}
	return s.anchors
}

// bothWays looks a directory up once for a call: most often one is project, root and workspace.
func (s *scratch) bothWays(world obstat.World, dir string) [2]string {
	for i := range s.dirs {
		if s.dirs[i].dir == dir {
			return s.dirs[i].both
		}
	}
	at := slashed(dir)
	both := [2]string{path.Clean(at)}
	if real := (paths.Resolver{FS: world}).Literal(at).Real; real != both[0] {
		both[1] = real
	}
	s.dirs = append(s.dirs, ways{dir, both})
	return both
}

// roots returns the directories that `/path` starts from.
func roots(c *obstat.Call) []string {
	if c.Project != "" || len(c.Roots) == 0 {
		return []string{c.Anchor()}
	}
	return c.Roots
}

// protected returns which protected place p is, "" if it is none.
func protected(p string) string {
	hidden, base := strings.Contains(p, "/."), path.Base(p)
	if !hidden && strings.IndexByte(base, '.') < 0 {
		return "" // each has a dot
	}
	if hidden { // each directory begins with one
		low := strings.ToLower(p) + "/"
		for _, dir := range list("protected dirs") {
			i := strings.Index(low, "/"+dir+"/")
			if i >= 0 && !(dir == ".claude" && strings.HasPrefix(low[i:], "/.claude/worktrees/")) {
				return dir
			}
		}
	}
	if base = strings.ToLower(base); listed("protected files", base) {
		return base
	}
	return ""
}

// Outline returns the questions of any call to a tool.
func (v *view) Outline(tool string) []obstat.Question {
	t, _ := effect.Lookup(tool)
	name := toolName(tool, &t)
	var sets [][]string
	switch {
	case slices.Contains(shellTools, name):
		sets = [][]string{{fieldCommand, fieldExact, fieldSeen}, {fieldCommand, fieldExact, fieldSeen, fieldScoped}}
	case slices.Contains(readTools, name) || slices.Contains(editTools, name):
		sets = [][]string{{fieldAbs}, {fieldAbs, fieldCwd, fieldRoot, fieldHome, fieldUser, fieldInside, fieldAbove}}
	case name == "WebFetch":
		sets = [][]string{{}, {fieldDomain}}
	case name == "Agent":
		sets = [][]string{{}, {fieldAgent}}
	case name == "Skill":
		sets = [][]string{{}, {fieldSkill}}
	default:
		sets = [][]string{{}}
	}
	if len(v.Fields) > 0 {
		all := slices.Clone(sets[len(sets)-1])
		for _, field := range v.Fields {
			all = append(all, fieldParam+field)
		}
		sets = append(sets, all)
	}
	names := []string{name}
	for _, g := range glued {
		for _, n := range v.mcpNames(g.agent, name) {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	var out []obstat.Question
	for _, n := range names {
		for _, set := range sets {
			out = append(out, kit.Outlined(n, set...))
		}
	}
	return out
}
