package explain

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// An Effect is one thing that a call would do, with words for it.
type Effect struct {
	Kind      string   `json:"kind"`
	Target    string   `json:"target,omitempty"` // path, host or program, as people would write it
	Notes     []string `json:"notes,omitempty"`  // e.g. "recursive", "outside the workspace"
	Words     string   `json:"words"`
	Path      string   `json:"path,omitempty"` // absolute
	Real      string   `json:"real,omitempty"` // links followed, where that differs
	Host      string   `json:"host,omitempty"`
	Program   string   `json:"program,omitempty"`
	Detail    string   `json:"detail,omitempty"`
	Sensitive string   `json:"sensitive,omitempty"`
	Where     string   `json:"where,omitempty"`
	Certain   bool     `json:"certain"`
	Secret    bool     `json:"secret,omitempty"`
	Harmless  bool     `json:"harmless,omitempty"`
	Recursive bool     `json:"recursive,omitempty"`
	Hooks     bool     `json:"-"`       // code that the repository's own hooks are
	Command   int      `json:"command"` // index of the command, -1 for none
	Span      Span     `json:"span,omitzero"`
}

// The ranks of danger that a face tells apart: up to Harmful an effect reaches out of the
// workspace or cannot be undone.
const Harmful = 3

// Danger ranks an effect, so that people read the worst first; zero is the worst.
func (e *Effect) Danger() int {
	outside := e.Where == "" && slices.Contains(e.Notes, outsideWords)
	switch {
	case e.Secret:
		return 0
	case e.Harmless:
		return 9
	case e.Kind == effect.Code.String() || e.Kind == effect.System.String():
		return 1
	case e.Kind == effect.Delete.String():
		return 2
	case e.Kind == effect.Write.String() && (outside || e.Sensitive != ""):
		return Harmful
	case e.Kind == effect.Connect.String():
		return 4
	case e.Kind == effect.Read.String() && e.Sensitive != "":
		return 5
	case e.Kind == effect.Write.String():
		return 6
	case e.Kind == effect.Read.String():
		return 8
	}
	return 7
}

// outsideWords is the note of an effect that leaves the workspace.
const outsideWords = "outside the workspace"

// Hidden is something that could not be seen.
type Hidden struct {
	Kind string `json:"kind"`
	Why  string `json:"why"`
	Span Span   `json:"span,omitzero"`
	// Program: it hides which program runs, as `$X file` does, not only the effects of a known one.
	Program bool `json:"program,omitempty"`
}

// Effects lists the effects of the call, in order. A program that is run only
// for effects that are listed is left out, and so is a wrapper that does
// nothing of its own.
func Effects(a *effect.Analysis, c *obstat.Call, w obstat.World) []Effect {
	out := []Effect{}
	busy := busyCommands(a)
	seen := map[string]bool{}
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind == effect.Run && e.Command >= 0 && e.Command < len(busy) && busy[e.Command] {
			continue
		}
		v := NewEffect(a, e, c, w)
		if joined(out, a, e, &v) {
			continue
		}
		if key := v.Words; !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// joined adds the notes on a connection to the one that the same command is known to
// make: `curl -d @x HOST` connects once, and sends data.
func joined(out []Effect, a *effect.Analysis, e *effect.Effect, v *Effect) bool {
	if e.Kind != effect.Connect || v.Command < 0 {
		return false
	}
	for i := range out {
		o := &out[i]
		if o.Kind != v.Kind || o.Command != v.Command || o.Host != "" && v.Host != "" && o.Host != v.Host {
			continue
		}
		if o.Host == "" {
			o.Host, o.Target = v.Host, v.Target
		}
		for _, n := range v.Notes {
			if !slices.Contains(o.Notes, n) {
				o.Notes = append(o.Notes, n)
			}
		}
		o.Secret, o.Certain, o.Harmless = o.Secret || v.Secret, o.Certain || v.Certain, o.Harmless && v.Harmless
		o.Sensitive = cmp.Or(o.Sensitive, v.Sensitive)
		certain := *e
		certain.Certain = o.Certain
		o.Words = words(&certain, o, known(a, e))
		return true
	}
	return false
}

// busyCommands tells which commands have an effect beyond being run, or none of
// their own.
func busyCommands(a *effect.Analysis) []bool {
	busy := make([]bool, len(a.Commands))
	for i := range a.Commands {
		busy[i] = a.Commands[i].Transparent
	}
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Kind != effect.Run && e.Command >= 0 && e.Command < len(busy) {
			busy[e.Command] = true
		}
	}
	return busy
}

// NewEffect returns the view of one effect of a.
func NewEffect(a *effect.Analysis, e *effect.Effect, c *obstat.Call, w obstat.World) Effect {
	v := Effect{Kind: e.Kind.String(), Path: e.Path, Host: e.Host, Program: e.Program, Detail: e.Detail,
		Sensitive: e.Sensitive, Where: e.Where,
		Certain: e.Certain, Secret: e.Secret, Harmless: e.Harmless, Recursive: e.Recursive, Command: e.Command,
		Hooks: e.Tags.Has(effect.Hooks), Span: Span{e.Span.Start, e.Span.End}}
	if e.Real != e.Path {
		v.Real = e.Real
	}
	v.Target = target(a, e, c, w)
	v.Notes = notesOf(e, &v, c)
	v.Words = words(e, &v, known(a, e))
	return v
}

// target names an effect's path, host or program in its shortest form, e.g. `build/` for one in the workspace.
func target(a *effect.Analysis, e *effect.Effect, c *obstat.Call, w obstat.World) string {
	switch {
	case e.Kind == effect.Run || e.Kind == effect.Code:
		if e.Command >= 0 && e.Command < len(a.Commands) && a.Commands[e.Command].Text != "" {
			return a.Commands[e.Command].Text
		}
		return cmp.Or(e.Program, e.Raw)
	case e.Kind == effect.Connect:
		if strings.HasPrefix(e.Raw, "@") || strings.HasPrefix(e.Raw, "-") {
			return cmp.Or(e.Host, "a host that is not named") // the data that is sent
		}
		return cmp.Or(e.Host, e.Raw, "a host that is not named")
	case e.Kind == effect.System:
		return cmp.Or(e.Raw, e.Program)
	case e.Path == "":
		return cmp.Or(e.Raw, "files that are not named")
	}
	t := shortPath(e.Path, c.Dir, w)
	if (e.Recursive || w != nil && w.IsDir(e.Path)) && !strings.HasSuffix(t, "/") && !e.Glob {
		t += "/"
	}
	return t
}

// shortPath writes p from the working directory or from home if it lies there.
func shortPath(p, dir string, w obstat.World) string {
	if dir != "" && dir != "/" && p != dir && paths.Inside(dir, p) {
		return strings.TrimPrefix(p, path.Clean(dir)+"/")
	}
	if w != nil {
		if home, ok := w.Home(""); ok && home != "/" && paths.Inside(home, p) {
			return "~" + strings.TrimPrefix(p, path.Clean(home))
		}
	}
	return p
}

// known tells whether the command that has an effect is known word for word.
func known(a *effect.Analysis, e *effect.Effect) bool {
	return e.Command < 0 || e.Command >= len(a.Commands) || a.Commands[e.Command].Known
}

// words puts an effect into words. "may" is for commands with a word that is not
// known, as in `rm $X`; the rm of `make && rm x` is as certain as the rm alone.
func words(e *effect.Effect, v *Effect, known bool) string {
	verb := e.Kind.String()
	switch e.Kind {
	case effect.Connect:
		verb = "connect to"
	case effect.Code:
		verb = "run code in"
	case effect.System:
		verb = "change the system:"
	}
	if !e.Certain && !known {
		verb = "perhaps " + verb
	}
	text := verb
	if v.Target != "" {
		text += " " + v.Target
	}
	if len(v.Notes) > 0 {
		text += " (" + strings.Join(v.Notes, ", ") + ")"
	}
	return text
}

// notesOf returns the remarks on an effect, e.g. "recursive".
func notesOf(e *effect.Effect, v *Effect, c *obstat.Call) []string {
	var notes []string
	add := func(ok bool, s string) {
		if ok && s != "" && !slices.Contains(notes, s) {
			notes = append(notes, s)
		}
	}
	add(e.Recursive, "recursive")
	for detail := range strings.SplitSeq(e.Detail, ", ") {
		add(true, detail)
	}
	add(e.Sensitive != "", e.Sensitive)
	add(v.Real != "", "which is "+v.Real)
	add(e.Where != "", "in "+e.Where)
	add(e.Secret, "gives a secret away")
	if e.Path != "" && e.Host == "" && e.Where == "" && e.Kind != effect.Read {
		add(true, place(cmp.Or(e.Real, e.Path), c))
	}
	return notes
}

// place says whether a path lies in the workspace.
func place(p string, c *obstat.Call) string {
	roots := c.Roots
	if len(roots) == 0 && c.Dir != "" {
		roots = []string{c.Dir}
	}
	for _, r := range roots {
		if paths.Inside(r, p) {
			return "in the workspace"
		}
	}
	if len(roots) == 0 {
		return ""
	}
	return outsideWords
}

// HiddenOf lists the parts of a call that the analysis cannot see into.
func HiddenOf(a *effect.Analysis) []Hidden {
	var out []Hidden
	for i := range a.Gaps {
		g := &a.Gaps[i]
		out = append(out, Hidden{Kind: g.Kind.String(), Why: g.Why, Span: Span{g.Span.Start, g.Span.End}, Program: g.Hides})
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		out = append(out, Hidden{Kind: "suspicious", Why: f.Why, Span: Span{f.Span.Start, f.Span.End}})
	}
	return out
}

// ReadOnly says in words whether the call only reads.
func ReadOnly(a *effect.Analysis) string {
	switch {
	case a.ReadOnly && a.Why != "":
		return "read-only: " + a.Why
	case a.ReadOnly:
		return "read-only: it provably changes nothing"
	case a.Why != "":
		return fmt.Sprintf("not read-only: %s", a.Why)
	}
	return "not read-only"
}
