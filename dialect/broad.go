package dialect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// Broad tells whether an allow rule would hand out more than anyone means to: a
// shell tool as a whole, an interpreter, a shell or a program that runs others.
func Broad(r *obstat.Rule) bool {
	if r.Verdict != obstat.Allow {
		return false
	}
	ofCommands := r.Tool.IsZero() && r.Field == "command" // whichever tool runs them
	if !ofCommands && !aboutShells(r.Tool) {
		return false
	}
	if r.Whole() {
		return true
	}
	p, err := pattern.Compile(r.Pattern.Flavour, r.Pattern.Text)
	if err != nil {
		return true
	}
	prefix, exact := literal(p)
	return !exact && (strings.TrimSpace(prefix) == "" || runsOthers(prefix))
}

// Single returns the one command that an allow rule is about, and a shell tool that it holds for: `git push` of
// `git push *`, where exact is false. tool is "" for other rules.
func Single(r *obstat.Rule) (tool, command string, exact bool) {
	p, err := pattern.Compile(r.Pattern.Flavour, r.Pattern.Text)
	if err != nil || r.Verdict != obstat.Allow || r.Whole() || len(r.If)+len(r.Except) > 0 || r.Over != 0 {
		return "", "", false
	}
	prefix, exact := literal(p)
	command = strings.TrimSpace(prefix)
	for _, text := range []string{command, command + " x"} {
		if ok, err := p.Match(text); err != nil || ok == (exact && text != command) {
			return "", "", false
		}
	}
	for _, name := range effect.Names("shell") {
		if r.Tool.IsZero() || matches(r.Tool, name) {
			return name, command, exact
		}
	}
	return "", "", false
}

func matches(t obstat.Text, text string) bool {
	p, err := pattern.Compile(t.Flavour, t.Text)
	if err != nil {
		return false
	}
	ok, _ := p.Match(text)
	return ok
}

// aboutShells tells whether the tools of a rule take commands: `Bash`, or `Bash|Monitor` as a pattern.
func aboutShells(tools obstat.Text) bool {
	if tool, known := effect.Lookup(tools.Text); known || tools.IsZero() || tools.Flavour == pattern.Exact {
		return len(tool.Command) > 0
	}
	p, err := pattern.Compile(tools.Flavour, tools.Text)
	shells := slices.Concat(effect.Names("shell"), effect.Names("powershell"))
	return err != nil || slices.ContainsFunc(shells, func(name string) bool {
		ok, err := p.Match(name)
		return ok || err != nil
	})
}

// literal returns the text that every match of p starts with, and whether that is all of p: `git ` and false
// for `git *`. An opencode wildcard has no such shape, since `\` and `/` match each other in it; there the
// text up to the first `*` or `?` counts.
func literal(p *pattern.Pattern) (prefix string, exact bool) {
	if p.Flavour() != pattern.Wildcard {
		shape := p.Shape()
		return shape.Prefix, shape.Exact
	}
	if i := strings.IndexAny(p.String(), "*?"); i >= 0 {
		return p.String()[:i], false
	}
	return p.String(), true
}

// stand is a word that stands for whatever may follow a rule's prefix.
const stand = "obstat-any"

// runsOthers tells whether the words behind the prefix of a command would be run:
// as a command of its own, or as code.
func runsOthers(prefix string) bool {
	a := effect.AnalyzeCommand(strings.TrimSpace(prefix)+" "+stand, nil)
	for i := range a.Commands {
		if a.Commands[i].Program == stand {
			return true
		}
	}
	for i := range a.Gaps {
		if a.Gaps[i].Hides {
			return true
		}
	}
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Kind == effect.Code && e.Tags.Has(effect.Script) && e.Raw == stand {
			return true
		}
	}
	return false
}
