package initial

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

// tighten takes out lines that loosen rules in force, and adds stricter ones;
// false: nothing could be done.
func (s *sheet) tighten(regions []diff.Region) (changed bool) {
	s.text()
	for i := range regions {
		r := &regions[i]
		if l, err := parse(s.text()); err != nil || !s.looser(l.Policy, r) {
			changed = changed || err == nil // a line for another region was enough
			continue
		}
		if s.stricter(r) || s.narrower(r) {
			changed = true
		}
	}
	return changed
}

// looser tells whether a policy decides the call of a region more freely than before.
func (s *sheet) looser(pol *obstat.Policy, r *diff.Region) bool {
	return pol.Decide(r.Call, s.world()).Verdict > r.Was
}

func (s *sheet) world() *obstat.Snapshot { return &obstat.Snapshot{HomeDir: cmp.Or(s.home, diff.Home)} }

// narrower takes out the line, or of several targets the one, that lets the call of a region go.
func (s *sheet) narrower(r *diff.Region) bool {
	for {
		l, err := parse(s.text())
		if err != nil {
			return false
		}
		d := l.Policy.Decide(r.Call, s.world())
		if d.Verdict <= r.Was {
			return true
		}
		if d.Rule == nil || d.Rule.Pos.Line == 0 {
			return false
		}
		it := s.find(d.Rule.Pos.Line)
		if it == nil {
			return false
		}
		if it.Own && d.Rule.Verdict != obstat.Allow {
			return false
		}
		if !s.withoutOne(it, r) {
			s.leave(it, "it would also let "+text(r.Call)+" go, which "+r.WasBy.Rule+" does not")
		}
	}
}

// withoutOne takes the one target out of a line without which the call of a region is as strict as before.
func (s *sheet) withoutOne(it *item, r *diff.Region) bool {
	was := it.Sentence
	p := convert.Parts(was)
	for i := range p.Targets {
		if len(p.Targets) == 1 {
			break
		}
		next := p
		next.Targets = slices.Delete(slices.Clone(p.Targets), i, i+1)
		it.Sentence = next.String()
		l, err := parse(s.text())
		if err != nil {
			continue
		}
		if d := l.Policy.Decide(r.Call, s.world()); d.Rule == nil || d.Rule.Pos.Line != it.at {
			return true
		}
	}
	it.Sentence = was
	return false
}

// stricter adds a line for the call of a region: the target of the person's own rule under the verb of the
// call's effect, as a denial to read `.env` is one to write it in Claude Code, or the call by itself.
func (s *sheet) stricter(r *diff.Region) bool {
	for _, sentence := range s.candidates(r) {
		n, before := len(s.items), s.text()
		it := s.add(Line{List: r.Was.String(), Sentence: sentence, Why: "As " + r.WasBy.Rule + " has it.", Own: true,
			From: r.WasBy.Pos}, false)
		if len(s.items) == n {
			continue // it is there, and does not help
		}
		old := slices.Clone(s.items)
		skipped := s.skipped
		if l, err := s.load(); err == nil && !s.looser(l.Policy, r) {
			return true
		}
		s.items, s.skipped = slices.DeleteFunc(old, func(o *item) bool { return o == it }), skipped
		if s.text() != before {
			return true // the attempt has changed other lines, which is looked at again
		}
	}
	return false
}

// candidates returns sentences that may be strict enough for the call of a region, the most general first.
func (s *sheet) candidates(r *diff.Region) (out []string) {
	a := effect.Analyze(&effect.Request{Tool: r.Call.Tool, Input: r.Call.Input,
		Options: effect.Options{Dir: r.Call.Dir, Roots: r.Call.Roots, FS: s.world()}})
	verbs := verbsOf(a)
	for _, it := range s.items {
		if !it.Own || it.From != r.WasBy.Pos || it.From.Line == 0 {
			continue
		}
		p := convert.Parts(it.Sentence)
		for _, verb := range verbs {
			p.Verbs = verb
			out = append(out, p.String())
			out = append(out, withoutExceptions(p)...)
		}
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		switch e.Kind {
		case effect.Read, effect.Write, effect.Delete:
			if e.Path != "" && e.Where == "" {
				out = append(out, verbFor(e.Kind)+" "+s.pathOf(e.Path, r.Call))
			}
		case effect.Connect:
			if e.Host != "" {
				out = append(out, "connect "+e.Host)
			}
		}
	}
	t, _ := effect.Lookup(r.Call.Tool)
	if !t.Shell() {
		return append(append(out, conditions(r.Call)...), "tool "+r.Call.Tool)
	}
	for i := range a.Commands {
		if words := strings.Fields(a.Commands[i].Text); len(words) > 0 && !strings.ContainsAny(a.Commands[i].Text, "\",'\n") {
			out = append(out, "run "+a.Commands[i].Text, "run "+words[0])
		}
	}
	return out
}

// withoutExceptions returns sentences for calls that a rule's exceptions leave out though the original does not:
// `*.env.example` of obstat.yaml is also all that is in a directory of that name, opencode's is not. First those inside
// of an exception, then the whole rule without any.
func withoutExceptions(p convert.Phrase) (out []string) {
	if len(p.Except) == 0 {
		return nil
	}
	inside := p
	inside.Targets, inside.Except = nil, nil
	for _, x := range p.Except {
		if !strings.HasSuffix(x, "*") && !strings.ContainsAny(x, ` "`) {
			inside.Targets = append(inside.Targets, x+"/*")
		}
	}
	if len(inside.Targets) > 0 {
		out = append(out, inside.String())
	}
	p.Except = nil
	return append(out, p.String())
}

// conditions says a call to a tool by one field of its input: `tool Agent where input.subagent_type is "x"`.
func conditions(call *obstat.Call) (out []string) {
	root, problems := jsonx.Parse(call.Input, jsonx.Options{})
	if tree.Fatal(problems) || !root.Is(tree.Object) {
		return nil
	}
	for _, m := range root.Members {
		if v := m.Value; v.Is(tree.String) && !strings.ContainsAny(v.Str, "\"\\\n*") && !strings.ContainsAny(m.Key, ". []") {
			out = append(out, fmt.Sprintf("tool %s where input.%s is %q", call.Tool, m.Key, v.Str))
		}
	}
	return out
}

// verbsOf returns the verbs of a call's effects.
func verbsOf(a *effect.Analysis) (out []string) {
	for i := range a.Effects {
		switch k := a.Effects[i].Kind; k {
		case effect.Read, effect.Write, effect.Delete:
			if verb := verbFor(k); !slices.Contains(out, verb) {
				out = append(out, verb)
			}
		}
	}
	return out
}

// verbFor names an effect's verb: a rule against writing is one against deleting.
func verbFor(k effect.Kind) string {
	if k == effect.Read {
		return "read"
	}
	return "write and delete"
}

// pathOf writes a path as a target: from the project, from home, or whole.
func (s *sheet) pathOf(path string, call *obstat.Call) string {
	if rel, err := filepath.Rel(call.Dir, path); err == nil && rel != "." && !strings.HasPrefix(rel, "..") {
		path = "./" + filepath.ToSlash(rel)
	} else if rel, ok := strings.CutPrefix(path, cmp.Or(s.home, diff.Home)+"/"); ok {
		path = "~/" + rel
	}
	if strings.ContainsAny(path, " ,'") {
		return `"` + path + `"`
	}
	return path
}

// text says a call in short.
func text(c *obstat.Call) string { return c.Tool + " " + string(c.Input) }
