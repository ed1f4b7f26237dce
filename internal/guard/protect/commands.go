package protect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// command looks at a command beyond the paths that its effects name.
func (k *check) command(i int) *Finding {
	c := &k.a.Commands[i]
	for _, look := range [...]func(*effect.Command) *Finding{k.obstat, k.kill, k.agent, k.types} {
		if f := look(c); f != nil {
			return f
		}
	}
	if isObstat(c.Path) || c.ReadOnly && !k.evaluates(c) {
		return nil
	}
	f := k.loose(i)
	if f.firm() {
		return f
	}
	return firmer(f, k.script(i))
}

// evaluates tells whether a command runs a text that is known only at run time: `eval "$x"`.
func (k *check) evaluates(c *effect.Command) bool { return !c.Known && is("evaluates", c.Program) }

// blind says how much of a command's doing is unknown.
type blind struct {
	words bool // it changes something that its effects do not name: its words may
	text  bool // it runs code, or cannot be seen into: any text of it may
}

func (k *check) blind(i int) (b blind) {
	c := &k.a.Commands[i]
	b.text = !c.Catalogued || k.evaluates(c) || is("later", c.Program)
	quiet := is("versions", c.Program) && !slices.ContainsFunc(c.Args(),
		func(w shell.Word) bool { return is("reconfigures", w.Text) })
	for j := range k.a.Effects {
		e := &k.a.Effects[j]
		if e.Command != i || e.Harmless {
			continue
		}
		switch e.Kind {
		case effect.Code:
			b.words = b.words || !quiet
			b.text = b.text || c.Wrapper || e.Tags.Has(effect.Inline|effect.Stdin|effect.Script)
		case effect.System, effect.Connect:
			b.words = true
		case effect.Write, effect.Delete:
			b.words = b.words || e.Unnamed && !e.Tags.Has(effect.Books|effect.Tree|effect.Clean) && !quiet
		}
		b.text = b.text || e.Where != ""
	}
	for j := range k.a.Gaps {
		if g := &k.a.Gaps[j]; g.Command == i {
			b.text = b.text || g.Hides || g.Kind != effect.DynamicOperand
		}
	}
	b.words = b.words || b.text || is("shell", c.Program) // a shell may hand its arguments on
	return b
}

// loose looks at the words, and at the text, of a command that does more than its
// effects say.
func (k *check) loose(i int) *Finding {
	c, b := &k.a.Commands[i], k.blind(i)
	if !b.words {
		return nil
	}
	if f := k.words(c.Args(), c.Dir); f != nil || !b.text {
		return f
	}
	k.agents = isAgent(c.Program)
	defer func() { k.agents = false }()
	var out *Finding
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Tags.Has(effect.Inline) {
			if out = firmer(out, k.code(e.Raw, c.Dir)); out.firm() {
				return out
			}
		}
	}
	if strings.Contains(k.a.Source, "<<") || !c.Known || len(c.Env) > 0 || is("later", c.Program) {
		if k.quiet {
			return out
		}
		f := k.mentions(k.a.Source) // its input stands there as well
		k.quiet = f == nil && !k.agents
		return firmer(out, f)
	}
	return firmer(out, k.mentions(c.Text))
}

// maxScripts is how many scripts that run each other are looked into.
const maxScripts = 3

// script looks into the file that a command runs as code. A script of the shell is read
// like a command; in another language it counts if it changes files and names an item.
func (k *check) script(i int) *Finding {
	c, name := &k.a.Commands[i], k.scriptOf(i)
	if name == "" {
		return nil
	}
	text, whole := k.content(name, maxList)
	if says("injects", strings.ToLower(text)) {
		return runs(name, "which may type into a person's terminal")
	}
	of, bare := k.spoken(lower(text)), switchIn(text)
	program := strings.IndexByte(text[:min(len(text), 512)], 0) >= 0
	switch {
	case program, whole && of+bare == "":
		return nil
	case !whole || k.depth >= maxScripts:
		return runs(name, "and more or longer scripts than are looked into")
	case ofShell(c, text):
		if f := k.run(text, c.Dir); f != nil {
			return &Finding{Part: name, Why: "of the script " + name + ": " + f.Why, Unseen: f.Unseen}
		}
		return nil
	case bare != "" && !k.startsAgent(c): // an agent's own program has all its flags in it
		return runs(name, "which may start an agent without what guards it ("+bare+")")
	}
	if low := strings.ToLower(text); of != "" && (says("removing", low) || says("changing", low)) {
		return runs(name, "which changes files and speaks of "+of)
	}
	return nil
}

// runs is the finding about a script.
func runs(name, what string) *Finding {
	return &Finding{Part: name, Why: "it runs " + name + ", " + what + "; only a person allows that"}
}

// scriptOf returns the file that a command runs as code, "" for none.
func (k *check) scriptOf(i int) (name string) {
	c := &k.a.Commands[i]
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Tags.Has(effect.Script) && e.Where == "" {
			name = e.Path
		}
	}
	if name == "" && strings.Contains(c.Path, "/") && !c.Catalogued {
		name = k.resolve(c.Dir, c.Path).Abs
	}
	return name
}

// ofShell tells whether a command runs a text as a script of the shell.
func ofShell(c *effect.Command, text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	named := strings.HasPrefix(first, "#!") && strings.HasSuffix(strings.TrimSpace(first), "sh")
	return named || is("shell", c.Program) || is("sources", c.Program)
}

// run looks at a command that the call has run.
func (k *check) run(command, dir string) *Finding {
	inner := *k.call
	inner.Tool, inner.Subjects, inner.Dir = "Bash", nil, dir
	inner.Input, _ = json.Marshal(map[string]string{"command": command})
	a := effect.Analyze(&effect.Request{Tool: inner.Tool, Input: inner.Input,
		Options: effect.Options{Dir: dir, Roots: inner.Roots, FS: k.world}})
	return (&check{g: k.g, call: &inner, world: k.world, a: a, depth: k.depth + 1}).look()
}

// fed looks at a call that changes files of which nothing is known, or runs code that it
// reads, and that has names or code from elsewhere: the files that another of its commands
// lists, `rm $(ls)`, or that stand in a file that it reads, `xargs rm < list`.
func (k *check) fed() *Finding {
	runs := func(list string) bool {
		return slices.ContainsFunc(k.a.Commands, func(c effect.Command) bool { return is(list, c.Program) })
	}
	if !k.changesAny() {
		if len(k.a.Effects) > 0 && runs("fetches") {
			return k.listed(false)
		}
		return nil
	}
	takes := runs("takes") // a command makes words of its input
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		if c.Nest&shell.InSubst == 0 && !(takes && c.Nest&shell.InPipe != 0) && !c.Wrapper {
			continue
		}
		var f *Finding
		s, lists := k.a.Lists(i)
		switch {
		case lists:
			f = k.touches(s, c.Text, there)
		case is("prints", c.Program):
			f = k.words(c.Args(), c.Dir)
		case !is("searches", c.Program) && slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return isObstat(w.Text) }):
			f = finding(c.Text, isProgram, c.Text)
		}
		if f != nil {
			return f
		}
	}
	return k.listed(takes)
}

// changesAny tells whether the call changes files of which nothing is known, or runs code
// that comes from elsewhere.
func (k *check) changesAny() bool {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		switch {
		case e.Harmless || e.Where != "":
		case e.Kind == effect.Code:
			inline := e.Tags.Has(effect.Inline) && e.Command >= 0 && !k.a.Commands[e.Command].Known
			if inline || e.Tags.Has(effect.Stdin) || !e.Certain {
				return true
			}
		case e.Kind == effect.Write || e.Kind == effect.Delete:
			if t := e.Target(); t.Text != "" && t.Text[0] == paths.AnyText {
				return true
			}
		}
	}
	return slices.ContainsFunc(k.a.Gaps, func(g effect.Gap) bool { return g.Kind == effect.DynamicCode })
}

// maxList is how long a list of names, or a script, is that is looked into.
const maxList = 4 << 20

// listed looks into the files that the call reads: their lines may be the names.
func (k *check) listed(takes bool) *Finding {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		if e.Kind != effect.Read || !e.Target().Exact() || e.Tags.Has(effect.List) {
			continue
		}
		if !takes && !e.Tags.Has(effect.Redirect) {
			if e.Command < 0 {
				continue
			}
			if c := &k.a.Commands[e.Command]; c.Nest&shell.InSubst == 0 && !is("fetches", c.Program) {
				continue
			}
		}
		text, whole := k.content(e.Path, maxList)
		if !whole {
			return &Finding{Part: e.Raw, Why: "it would change files by what stands in " + e.Path +
				", and in more or longer files than are looked into" + onlyPersons}
		}
		if of := k.spoken(lower(text)); of != "" {
			return &Finding{Part: e.Raw, Why: "it would change files by what stands in " + e.Path + ", which speaks of " +
				of + onlyPersons}
		}
	}
	return nil
}

// operands returns the words that are no flags.
func operands(args []shell.Word) (out []shell.Word) {
	for i := range args {
		if t := args[i].Text; !strings.HasPrefix(t, "-") || t == "-" {
			out = append(out, args[i])
		}
	}
	return out
}

// flag tells whether one of the flags is there, also among letters that stand
// together.
func flag(args []shell.Word, names ...string) bool {
	for i := range args {
		t := args[i].Text
		together := len(t) > 2 && t[0] == '-' && t[1] != '-'
		for _, n := range names {
			long := strings.HasPrefix(n, "--")
			rest, begins := strings.CutPrefix(t, n)
			whole := begins && (rest == "" || long && rest[0] == '=')
			if whole || !long && together && strings.Contains(t, n[1:]) {
				return true
			}
		}
	}
	return false
}
