package obstat

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// Rules of a dialect name the dialect's own tools, and agents do the same things with tools of
// other names. With the floor on, a call of an agent's is put to the rules as calls of the
// dialect's own tools: Gemini's `run_shell_command {"command": "ls"}` as AgentScope's
// `Bash {"command": "ls"}`, a patch of two files as two of its edits.

// An OwnTool is a dialect's own tool for a kind of tools.
type OwnTool struct {
	// Tools are its names. Of several, those that rules name are asked, or else the first.
	Tools []string
	// Command or Path is the field of its input that holds the command or the file; with neither
	// the input stays as it is.
	Command, Path string
}

// owns tells whether a tool, with a path in that field, is one that the dialect's document has rules for by its name.
func (pol *Policy) owns(f Face) bool {
	if pol.opts.Library == nil {
		return false
	}
	for _, t := range pol.opts.Library.Own {
		if slices.Contains(t.Tools, f.Tool) && (t.Path == f.Field || t.Path == "") {
			return true
		}
	}
	return false
}

// foreign tells whether a call may have to be put to the rules as calls of the dialect's own tools:
// an agent makes it that has tools of its own, such as `codex`.
func (pol *Policy) foreign(call *Call) bool {
	if pol.own == nil || call.Agent == "" || len(call.Subjects) > 0 {
		return false
	}
	agents := pol.opts.Library.Agents
	return agents == nil || slices.Contains(agents, call.Agent)
}

// AsOwn returns the calls of the dialect's own tools that a call is put to the rules as; none
// where it is put to them as it is.
func (pol *Policy) AsOwn(call *Call, world World) (out []*Call) {
	if !pol.foreign(call) {
		return nil
	}
	own := pol.own[effect.ToolKind(call.Tool)]
	names := pol.ownNames(call, own.Tools)
	if len(names) == 0 || len(names) == 1 && names[0] == call.Tool && own.fits(call) {
		return nil
	}
	var calls []Call
	for _, name := range names {
		switch {
		case !slices.Contains(own.Tools, name): // another agent's name for the same tool
			as := *call
			as.Tool = name
			out = append(out, &as)
			continue
		case calls == nil:
			calls = own.calls(call, world)
		}
		for _, as := range calls {
			as.Tool = name
			own.sameAnalysis(call, &as, world)
			out = append(out, &as)
		}
	}
	return out
}

// ownNames returns the names under which a tool is put to the rules: those of its kind that rules
// have, or else the dialect's own; none where it stays as it is.
func (pol *Policy) ownNames(call *Call, own []string) (out []string) {
	kind := effect.ToolKind(call.Tool)
	of, _ := effect.Lookup(call.Tool)
	alike := effect.Names(of.Canonical)
	note := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for t, strict := range pol.toolTexts(call.Mode) {
		if t.Flavour == pattern.Exact {
			if t.Text == call.Tool || effect.ToolKind(t.Text) == kind || slices.Contains(own, t.Text) {
				note(t.Text)
			}
			continue
		}
		p := pol.compiled(t)
		if p == nil || p.MustMatch("") {
			continue // a pattern for every tool names none
		}
		for _, name := range slices.Concat([]string{call.Tool}, alike, own) {
			if ok, _ := p.Match(name); ok && (strict || name == call.Tool || slices.Contains(own, name)) {
				note(name)
			}
		}
	}
	if out == nil && len(own) > 0 {
		out = own[:1]
	}
	slices.Sort(out)
	return pol.distinct(out, own)
}

// distinct leaves out names that the same rules are about as about the dialect's first: the
// built-in rules of JiuwenSwarm are all for bash, mcp_exec_command and create_terminal.
func (pol *Policy) distinct(names, own []string) []string {
	if len(names) < 2 || len(own) == 0 || !slices.Contains(names, own[0]) {
		return names
	}
	type about struct {
		list, field, name string
		match             Text
		verdict           Verdict
	}
	has := map[about]bool{}
	for list, rules := range pol.prog.Rules {
		for i := range rules {
			if r := &rules[i]; r.Tool.Flavour == pattern.Exact {
				has[about{list, r.Field, r.Tool.Text, r.Pattern, r.Verdict}] = true
			}
		}
	}
	more := map[string]bool{own[0]: true}
	for a := range has {
		twin := a
		if twin.name = own[0]; !has[twin] {
			more[a.name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.Contains(own, n) && !more[n] && !pol.inWhen(n)
	})
}

// inWhen tells whether a stage names a tool.
func (pol *Policy) inWhen(name string) bool {
	for _, pl := range pol.prog.Pipelines {
		for _, st := range pl.Stages {
			if w, ok := st.(When); ok && slices.Contains(w.Tools, name) {
				return true
			}
		}
	}
	return false
}

// toolTexts returns the names and patterns of tools that rules, and the stages of a mode, have; it
// tells of each whether it denies or asks.
func (pol *Policy) toolTexts(mode Mode) map[Text]bool {
	if mode == "" {
		mode = pol.prog.Mode
	}
	out := map[Text]bool{}
	for _, rules := range pol.prog.Rules {
		for i := range rules {
			if t := rules[i].Tool; !t.IsZero() {
				out[t] = out[t] || rules[i].Verdict != Allow
			}
		}
	}
	for _, st := range pol.prog.Pipelines[mode].Stages {
		if w, ok := st.(When); ok {
			for _, name := range w.Tools {
				out[Is(name)] = true
			}
		}
	}
	return out
}

// fits tells whether a call has the fields of the dialect's own tool.
func (t *OwnTool) fits(call *Call) bool {
	f := &Facts{Call: call}
	for _, field := range []string{t.Command, t.Path} {
		if _, there := f.Field(field); field != "" && !there {
			return false
		}
	}
	return true
}

// calls returns a call with the input that the dialect's own tool takes: one for every file.
func (t *OwnTool) calls(call *Call, world World) []Call {
	f := &Facts{Call: call, World: world}
	a := f.Analysis()
	of, _ := effect.Lookup(call.Tool)
	if slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return g.Kind == effect.BadInput }) {
		return []Call{*call} // nothing can be read off it, and so the floor asks
	}
	with := func(field, text string) Call {
		c := *call
		c.Input, _ = json.Marshal(map[string]string{field: text})
		return c
	}
	var out []Call
	switch {
	case t.Command != "":
		c := with(t.Command, a.Source)
		for _, field := range of.Dir {
			if dir, ok := f.String(field); ok && dir != "" {
				c.Dir = inDir(world, c.Dir, dir)
				break
			}
		}
		return []Call{c}
	case t.Path != "":
		for i := range a.Effects {
			if e := &a.Effects[i]; e.Path != "" {
				out = append(out, with(t.Path, e.Path))
			}
		}
	}
	if out == nil {
		return []Call{*call}
	}
	return out
}

// sameAnalysis spares a call of the dialect's own shell its analysis where the agent's call has the
// same text in the same place: opencode's `bash {"command": "ls", "description": "List"}`.
func (t *OwnTool) sameAnalysis(call, as *Call, world World) {
	r, ok := world.(*Recorder)
	of, _ := effect.Lookup(call.Tool)
	own, _ := effect.Lookup(as.Tool)
	if !ok || t.Command == "" || as.Dir != call.Dir || of.Canonical != own.Canonical {
		return
	}
	f := &Facts{Call: call, World: world}
	if text, isText := f.String(t.Command); isText && text == f.Analysis().Source {
		r.known(as, f.Analysis())
	}
}

// inDir returns where the directory d of a call that is made in dir is.
func inDir(world World, dir, d string) string {
	if rest, ok := strings.CutPrefix(d, "~"); ok && world != nil && (rest == "" || rest[0] == '/') {
		if home, ok := world.Home(""); ok {
			return path.Join(home, rest)
		}
	}
	if path.IsAbs(d) {
		return path.Clean(d)
	}
	return path.Join(dir, d)
}

// decideOwn decides a call as calls of the dialect's own tools; the strictest answer counts. It
// reports whether there are any.
func (pol *Policy) decideOwn(call *Call, world World, trace *Trace, d *Decision) bool {
	own := pol.AsOwn(call, world)
	for i, c := range own {
		var one Decision
		var way *Trace
		if trace != nil {
			way = &Trace{}
		}
		pol.walk(c, world, way, &one)
		if one.Input != nil { // it is in the words of another tool
			one = faultyDecision("", one.Mode, one.Stage,
				"the call is allowed only with other arguments, and "+call.Tool+" takes none of these")
		}
		over := d.Over & one.Over
		if i == 0 {
			over = one.Over
		}
		if i == 0 || one.Verdict < d.Verdict {
			*d = one
			if trace != nil {
				*trace = *way
			}
		}
		if d.Over = 0; d.Verdict == Allow {
			d.Over = over
		}
	}
	d.Tool = call.Tool
	return len(own) > 0
}
