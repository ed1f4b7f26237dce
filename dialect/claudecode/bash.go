package claudecode

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// maxCommand is the longest command that is matched at all.
const maxCommand = 10_000

// shell asks about every command of a line by itself, and about the files that
// its redirects write.
func (v *view) shell(f *obstat.Facts, name string) []obstat.Question {
	a := f.Analysis()
	line := normalize(a.Source)
	if len(a.Source) > maxCommand || !kit.Parsed(a) || name == "PowerShell" {
		q := obstat.Question{Tool: name, Subjects: []obstat.Subject{{Field: fieldSeen, Text: line},
			{Field: fieldExact, Text: line}}}
		if once := folded(line, blanks); once != line {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldSeen, Text: once})
		}
		if name == "PowerShell" && !strings.ContainsAny(line, ";|&\n$({@`") {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldCommand, Text: line})
		}
		if v.Joined {
			spread := aroundJoins.ReplaceAllString(folded(line, blanks), " $1 ")
			q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldSeen, Text: spread})
		}
		return []obstat.Question{q}
	}
	w := &lineWalk{v: v, f: f, a: a, name: name, line: line}
	for i := range a.Commands {
		w.command(i)
	}
	if v.Joined && len(w.out) > 0 {
		w.joined(&w.out[0])
	}
	if len(w.out) == 0 { // nothing runs: an assignment, a comment
		w.out = []obstat.Question{{Tool: name,
			Subjects: []obstat.Subject{{Field: fieldExact, Text: line}, {Field: fieldSeen, Text: line}}}}
		if a.ReadOnly {
			w.say(&w.out[0], fieldReadOnly, "runs nothing")
		}
	}
	for i := range a.Effects {
		switch e := &a.Effects[i]; {
		case connects(e):
			w.out = append(w.out, v.place(f, "Edit", "/dev/tcp/"+e.Host))
		case e.Tags.Has(effect.Redirect) && e.Kind == effect.Write && !e.Harmless && e.Path != "/dev/null":
			w.out = append(w.out, v.path(f, "Edit", e)...)
			if why := e.Reaches(list("protected files"), list("protected dirs")); why != "" { // `ls > .gi?/config`
				w.say(&w.out[len(w.out)-1], fieldProtected, why)
			}
		}
	}
	return w.out
}

// maxJoined bounds the pieces of a line that rules with operators are tried on.
const maxJoined = 128

// joined adds every piece of a line that is several commands with operators between them, for rules such as
// `curl * | sh*`.
func (w *lineWalk) joined(q *obstat.Question) {
	chains, _ := w.a.Chains(maxJoined) // the floor asks where there are more
	for i := range chains {
		w.sees(q, normalize(chains[i].Text), space)
	}
}

// connects tells whether e is a redirect that the shell makes a connection of.
func connects(e *effect.Effect) bool { return e.Tags.Has(effect.Redirect) && e.Kind == effect.Connect }

// Command asks about a command as if it stood alone. Where it is made in another
// directory, paths are given from there, and it is for the floor to make a call of it.
func (v *view) Command(f *obstat.Facts, i int) ([]obstat.Question, bool) {
	a := f.Analysis()
	c := &a.Commands[i]
	t, _ := effect.Lookup(f.Call.Tool)
	name := toolName(f.Call.Tool, &t)
	if len(c.Text) > maxCommand || !slices.Contains(bashTools, name) || c.Dir != f.Call.Dir || !a.Alone(i) {
		return nil, false
	}
	w := &lineWalk{v: v, f: f, a: a, name: name, line: normalize(c.Text), alone: true}
	w.command(i)
	v.fields(f, w.out)
	return w.out, true
}

// A lineWalk makes the questions of one line.
type lineWalk struct {
	v     *view
	f     *obstat.Facts
	a     *effect.Analysis
	name  string
	line  string
	alone bool // of one command of it
	out   []obstat.Question
	// dirty: a variable was set before a wrapper that is stripped.
	dirty bool
}

func (w *lineWalk) say(q *obstat.Question, field, text string) {
	s := obstat.Subject{Field: field, Text: text}
	if text != "" && !slices.Contains(q.Subjects, s) {
		q.Subjects = append(q.Subjects, s)
	}
}

// command asks about one command: of `timeout 5 make` about make, since that wrapper is stripped. The
// command inside another, `sudo make`, is seen by deny and ask rules only.
func (w *lineWalk) command(i int) {
	c := &w.a.Commands[i]
	switch {
	case !all(c.Via, list("wrappers")):
		if len(w.out) > 0 && all(c.Via, append(slices.Clone(list("wrappers")), list("seen through")...)) {
			w.seen(&w.out[len(w.out)-1], c)
		}
		return
	case w.stripped(i):
		w.dirty = w.dirty || !all(c.Env, list("safe variables"))
		return
	}
	dirty := w.dirty
	w.dirty = false
	q := obstat.Question{Tool: w.name, Subjects: scratchOf(w.f).room(8)}
	raw := w.raw(c)
	w.say(&q, "text", raw)
	w.seen(&q, c)
	w.say(&q, fieldExact, raw)
	w.say(&q, fieldExact, w.line)
	if set := w.assigned(c); set != "" && !exactOnly(c) {
		w.say(&q, fieldExact, set)
		if !dirty {
			w.say(&q, fieldAssigned, set)
		}
	}
	if w.plain(c) && !dirty {
		w.say(&q, fieldCommand, raw)
		if w.alone {
			w.say(&q, fieldCommand, w.quoted(c))
		}
		if !strings.Contains(c.Path, "/") {
			w.say(&q, fieldCommand, c.Text)
			for _, alt := range c.Alts {
				w.say(&q, fieldCommand, alt)
			}
		}
	}
	w.facts(&q, i, dirty)
	if w.out == nil {
		w.out = scratchOf(w.f).one(q)
		return
	}
	w.out = append(w.out, q)
}

// seen adds every spelling that a deny or ask rule is tried on.
func (w *lineWalk) seen(q *obstat.Question, c *effect.Command) {
	w.sees(q, w.raw(c), space)
	w.sees(q, c.Text, space)
	w.sees(q, w.line, blanks)
	w.sees(q, w.assigned(c), space)
	for _, text := range c.Alts {
		w.sees(q, text, space)
	}
}

// sees adds a text that a deny or ask rule is tried on.
func (w *lineWalk) sees(q *obstat.Question, text, blanks string) {
	w.say(q, fieldSeen, text)
	w.say(q, fieldSeen, folded(text, blanks))
}

// stripped tells whether a command is a wrapper whose command follows.
func (w *lineWalk) stripped(i int) bool {
	c := &w.a.Commands[i]
	if !c.Wrapper || !listed("wrappers", c.Program) || i+1 >= len(w.a.Commands) {
		return false
	}
	if c.Program == "xargs" && len(c.Words) > 1 && strings.HasPrefix(c.Words[1].Text, "-") {
		return false
	}
	next := &w.a.Commands[i+1]
	return len(next.Via) == len(c.Via)+1 && next.Via[len(c.Via)] == c.Program
}

// raw is a command as it was written, blanks aside.
func (w *lineWalk) raw(c *effect.Command) string {
	if w.alone {
		return w.line
	}
	if c.Span.Start >= 0 && c.Span.Start < c.Span.End && c.Span.End <= len(w.a.Source) {
		return normalize(w.a.Source[c.Span.Start:c.Span.End])
	}
	return c.Text
}

// assigned is a command as it was written with the variables that are set for it, `CI=1 make`; "" without any.
func (w *lineWalk) assigned(c *effect.Command) string {
	if c.Set.Start >= c.Set.End || c.Set.Start < 0 || c.Span.End > len(w.a.Source) || c.Set.Start > c.Span.End {
		return ""
	}
	return normalize(w.a.Source[c.Set.Start:c.Span.End])
}

// unquote takes quotes off.
var unquote = strings.NewReplacer(`"`, "", "'", "", `\`, "")

// quoted returns a command in the quotes that it was written with, `cp "my files"/x.csv data/`, where that is the same
// text otherwise; "" where it is not, as with a variable.
func (w *lineWalk) quoted(c *effect.Command) string {
	if c.Span.Start < 0 || c.Span.Start >= c.Span.End || c.Span.End > len(w.a.Source) {
		return ""
	}
	text := normalize(w.a.Source[c.Span.Start:c.Span.End])
	if strings.ContainsAny(text, "$`") || unquote.Replace(text) != unquote.Replace(w.line) {
		return ""
	}
	return text
}

// plain tells whether an allow rule with a wildcard may cover a command: no
// variable before it that could change its effect, none of the programs that
// only an exact rule allows.
func (w *lineWalk) plain(c *effect.Command) bool {
	return !exactOnly(c) && (c.Wrapper || all(c.Env, list("safe variables")))
}

// exactOnly tells whether only an exact rule allows a command, as one for find does not allow `find . -delete`.
func exactOnly(c *effect.Command) bool {
	acts := func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-exec") || strings.HasPrefix(w.Text, "-ok") || w.Text == "-delete"
	}
	return listed("exact only", c.Program) || c.Program == "find" && slices.ContainsFunc(c.Args(), acts)
}

// facts adds the properties of a command: that it only reads, that it stays in
// the working directories, that it removes a critical path.
func (w *lineWalk) facts(q *obstat.Question, i int, dirty bool) {
	c := &w.a.Commands[i]
	reads, stays, touches := w.effects(q, i)
	if dirty || !c.Known {
		return
	}
	if reads && w.onlyReads(i, c) {
		w.say(q, fieldReadOnly, "yes")
	}
	if touches && stays && len(c.Env) == 0 && listed("file commands", c.Program) {
		w.say(q, fieldScoped, "yes")
	}
}

// effects tells whether a command, by its effects, only reads files of the working directories, whether
// it stays in these, and whether it changes files.
func (w *lineWalk) effects(q *obstat.Question, i int) (reads, stays, touches bool) {
	reads, stays = true, true
	for j := range w.a.Effects {
		e := &w.a.Effects[j]
		if e.Tags.Has(effect.Redirect) && w.alone {
			continue
		}
		if connects(e) || e.Command < 0 && e.Kind == effect.Read && e.Secret {
			reads = false // a connection or a file may be a group's or a function's, and no command's own: `f < .env`
		}
		if e.Command < i || e.Command > i && !w.a.Under(i, e.Command) {
			continue
		}
		switch {
		case e.Kind == effect.Read && e.Path != "/dev/null":
			within := w.inside(e)
			reads, stays = reads && (within || w.v.mayRead(w.f, e)) && !e.Secret, stays && within
		case e.Kind == effect.Delete && w.critical(e):
			w.say(q, fieldCritical, cmp.Or(w.target(e), e.Path))
		}
		if changes(e) {
			touches, stays = true, stays && w.inside(e) && unprotected(e)
		}
	}
	return reads, stays, touches
}

// changes tells whether a command itself writes or deletes a file, and no redirect of it.
func changes(e *effect.Effect) bool {
	return (e.Kind == effect.Write || e.Kind == effect.Delete) && !e.Tags.Has(effect.Redirect)
}

// unprotected tells whether a file is no protected one, nor may be: `touch .gi?/config`.
func unprotected(e *effect.Effect) bool {
	return protected(e.Path) == "" && e.Reaches(list("protected files"), list("protected dirs")) == ""
}

// onlyReads tells whether a command provably only reads, its redirects aside:
// these are asked about by themselves.
func (w *lineWalk) onlyReads(i int, c *effect.Command) bool {
	moves := func(o effect.Command) bool { return o.Program == "cd" || o.Program == "pushd" }
	switch {
	case !all(c.Env, list("safe variables")) || strings.Contains(c.Path, "/") || elsewhere(c):
		return false
	case c.Program == "git" && !w.alone && slices.ContainsFunc(w.a.Commands, moves):
		return false // the other directory's repository may configure programs to run
	}
	redirected := func(e effect.Effect) bool { return e.Command == i && e.Tags.Has(effect.Redirect) }
	if c.ReadOnly || w.a.Alone(i) && !slices.ContainsFunc(w.a.Effects, redirected) {
		return c.ReadOnly
	}
	return scratchOf(w.f).readsAlone(w.f, c)
}

// readsAlone tells whether a command by itself only reads. The floor asks that again of each part.
func (s *scratch) readsAlone(f *obstat.Facts, c *effect.Command) bool {
	for _, r := range s.alone {
		if r.text == c.Text && r.dir == c.Dir {
			return r.reads
		}
	}
	a := effect.AnalyzeCommand(c.Text, &effect.Options{Dir: c.Dir, Roots: f.Call.Workspace(), FS: f.World})
	s.alone = append(s.alone, alone{strings.Clone(c.Text), c.Dir, a.ReadOnly})
	return a.ReadOnly
}

// elsewhere tells whether a command has an option that has it look where the
// file it names says, or at another machine: documented to be asked about.
func elsewhere(c *effect.Command) bool {
	for _, word := range c.Args() {
		name, _, _ := strings.Cut(word.Text, "=")
		switch {
		case c.Program == "file" && (kit.Short(name, "mf") || listed("file elsewhere", name)),
			c.Program == "docker" && (strings.HasPrefix(name, "-H") || listed("docker elsewhere", name)):
			return true
		}
	}
	return false
}

// inside tells whether a file, and where it leads, lies in the working directories.
func (w *lineWalk) inside(e *effect.Effect) bool {
	linked := e.Real != "" && e.Real != e.Path
	return e.Path != "" && w.v.holds(w.f, slashed(e.Path)) && (!linked || w.v.holds(w.f, slashed(e.Real)))
}

// unlikely stands for any file of a directory: `Read(~/notes/**)` matches `~/notes` with it appended, and
// no rule names it.
const unlikely = "/\u2063-"

// mayRead tells whether a rule allows reading the file of e, or all that lies below a directory. Claude Code lets
// `cat ~/notes/x` and `ls ~/notes` pass by `Read(~/notes/**)`, as it does in the working directories.
func (v *view) mayRead(f *obstat.Facts, e *effect.Effect) bool {
	if len(v.Reads) == 0 || v.reads == nil || e.Path == "" {
		return false
	}
	for _, p := range []string{e.Path, e.Real} {
		if at := strings.IndexAny(p, "*?[{"); at >= 0 && e.Glob {
			p = p[:strings.LastIndexByte(p[:at], '/')+1] // `cat /opt/x/*.md` may be any file there
		}
		p = strings.TrimRight(p, "/")
		below := v.readable(f, p+unlikely) && v.readable(f, p+unlikely+unlikely)
		if p != "" && !below && (!e.Target().Exact() || !v.readable(f, p)) {
			return false
		}
	}
	return true
}

// readable tells whether an allow rule is about reading a path.
func (v *view) readable(f *obstat.Facts, p string) bool {
	q := v.place(f, "Read", slashed(p))
	for i, c := range v.reads() {
		for _, s := range q.Subjects {
			if s.Field != v.Reads[i].Field {
				continue
			}
			if ok, _ := c.Match(s.Text); ok {
				return true
			}
		}
	}
	return false
}

// critical tells whether a removal is asked about in every mode: of the root and the directories in
// it, the home directory, the working directory and those above it, and of unknown paths, `rm -r $X/`.
func (w *lineWalk) critical(e *effect.Effect) bool {
	if e.Program != "rm" && e.Program != "rmdir" {
		return false
	}
	if e.Path == "" {
		raw := w.target(e)
		at := strings.IndexAny(raw, "$`")
		below := func(sign string) bool { return strings.Contains(raw[at:], sign) }
		return at >= 0 && (strings.HasSuffix(raw, "/") || slices.ContainsFunc([]string{"/*", "/?", "/[", "/{"}, below))
	}
	home := kit.Home(w.f.World)
	for _, p := range []string{e.Path, e.Real} {
		if p == "" {
			continue
		}
		at := path.Clean(p)
		if e.Glob {
			at = path.Dir(at)
			if slices.Contains(w.v.Dirs, at) {
				return true
			}
		}
		dir := w.f.Call.Dir
		holdsDir := dir != "" && paths.Inside(at, dir) && (!e.Glob || at != path.Clean(dir))
		if path.Dir(at) == "/" || home != "" && paths.Inside(at, home) || holdsDir {
			return true
		}
	}
	return false
}

// target returns the path that e touches as it was written, without quotes.
func (w *lineWalk) target(e *effect.Effect) string {
	if e.Raw == "" && e.Path == "" && e.Span.Start >= 0 && e.Span.Start < e.Span.End && e.Span.End <= len(w.a.Source) {
		return strings.NewReplacer(`"`, "", `'`, "").Replace(w.a.Source[e.Span.Start:e.Span.End])
	}
	return e.Raw
}

// all tells whether every name is in the list.
func all(names, list []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(list, n) })
}
