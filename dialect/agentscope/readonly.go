package agentscope

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

//go:embed readonly.txt
var readOnlyText string

// readOnlyList maps the first word of each entry to the entries' words.
var readOnlyList = sync.OnceValue(func() map[string][][]string {
	out := map[string][][]string{}
	for line := range strings.Lines(readOnlyText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words := strings.Fields(line)
			out[words[0]] = append(out[words[0]], words)
		}
	}
	return out
})

// readOnlyBash tells whether a command only reads: by the document's list, or,
// as an option, whenever the analysis proves it.
func (t *toolset) readOnlyBash(f *obstat.Facts) bool {
	cmd, ok := f.String("command")
	if !ok || strings.TrimSpace(cmd) == "" {
		return false
	}
	a := f.Analysis()
	if t.Effects {
		return a.ReadOnly
	}
	if t.Bare && !bareReadOnly(a) || redirects(a) {
		return false
	}
	return onlyReads(a, t.Bare) && everyListed(a, t.Bare)
}

// redirects tells whether output goes anywhere else: "Output redirections always make
// a command non-read-only", also one to /dev/null.
func redirects(a *effect.Analysis) bool {
	return slices.ContainsFunc(a.Constructs, func(c shell.Construct) bool { return c.Kind == shell.RedirectOut })
}

// bareReadOnly is the document's test of the text itself: no output redirection, not even to
// /dev/null; a single command that starts as the list has it, with a space behind. With the floor
// on, the effects count instead.
func bareReadOnly(a *effect.Analysis) bool {
	src := strings.TrimSpace(a.Source)
	if strings.Contains(src, ">") {
		return false
	}
	if strings.Contains(src, "&&") || strings.ContainsAny(src, ";|") {
		return true // a compound: its parts are looked up one by one
	}
	first, _, _ := strings.Cut(src, " ")
	for _, entry := range readOnlyList()[first] {
		if e := strings.Join(entry, " "); src == e || strings.HasPrefix(src, e+" ") {
			return true
		}
	}
	return strings.Contains(first, "=") // a command with an assignment before it
}

// onlyReads tells whether nothing is known that changes anything, and nothing
// is hidden that could. A redirection is a write; one to /dev/null has no
// effect and is none. The bare list has nothing against a word that may turn out
// to be a flag: `git grep $X`.
func onlyReads(a *effect.Analysis, bare bool) bool {
	for i := range a.Effects {
		switch e := &a.Effects[i]; e.Kind {
		case effect.Run, effect.Read:
		case effect.Connect:
			if !e.Harmless {
				return false
			}
		default:
			return false
		}
	}
	for i := range a.Gaps {
		if g := &a.Gaps[i]; bare && g.Kind == effect.DynamicFlag {
			continue
		} else if g.Hides || g.Kind != effect.DynamicOperand && g.Kind != effect.UnknownProgram {
			return false
		}
	}
	return true
}

// everyListed tells whether every command is in the list. The bare list looks past a substitution that is proven to
// read; with the floor on, `echo $(whoami)` is read-only where `whoami` is. The list names commands: a text that only
// sets variables, `A=1` or `((a=1))`, is not in it.
func everyListed(a *effect.Analysis, bare bool) bool {
	some := slices.ContainsFunc(a.Constructs, func(c shell.Construct) bool { return c.Kind == shell.Function })
	for i := range a.Commands {
		c := &a.Commands[i]
		some = some || len(c.Words) > 0
		if len(c.Words) == 0 || inList(c) || c.ReadOnly && (listed("neutral", c.Path) || bare && inSubstitution(a, c.Span)) {
			continue
		}
		return false
	}
	return some
}

// inList tells whether a command is in the document's list.
func inList(c *effect.Command) bool {
	if c.Path != c.Program || len(c.Env) > 0 && !listed("plain", c.Program) {
		return false // another program may have that name, or be made to behave otherwise
	}
	return slices.ContainsFunc(readOnlyList()[c.Program], func(entry []string) bool {
		n := min(len(entry), len(c.Words))
		return slices.EqualFunc(c.Words[:n], entry, func(w shell.Word, e string) bool { return w.Known && w.Text == e })
	})
}

func inSubstitution(a *effect.Analysis, s shell.Span) bool {
	for _, c := range a.Constructs {
		if c.Kind == shell.CommandSubst && c.Span.Start <= s.Start && s.End <= c.Span.End {
			return true
		}
	}
	return false
}
