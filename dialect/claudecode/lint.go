package claudecode

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/tree"
)

var _ dialect.Linter = Dialect{}

// Lint finds rules that work as written, and rarely as meant.
func (Dialect) Lint(in *dialect.Input, p *obstat.Program) (out obstat.Errors) {
	home := in.Home
	for _, list := range verdictLists {
		rules := p.Rules[list.key]
		for i := range rules {
			r := &rules[i]
			if s, err := parseSpec(r.Source); err == nil {
				for _, t := range append(s.traps(r, home), s.family(r, rules)) {
					if t == nil {
						continue
					}
					out = append(out, &obstat.Error{Code: t.code, Pos: r.Pos, Msg: t.msg, Hint: t.hint, Warning: true})
				}
			}
		}
	}
	return out
}

func risky(hint, format string, args ...any) *trap {
	return &trap{obstat.CodeRisky, fmt.Sprintf(format, args...), hint}
}

// traps returns the likely mistakes in a rule.
func (s spec) traps(r *obstat.Rule, home string) (out []*trap) {
	add := func(t *trap) {
		if t != nil {
			out = append(out, t)
		}
	}
	add(s.unknown(r))
	if s.whole {
		return out
	}
	switch s.tool {
	case "Read", "Edit":
		add(s.rootTrap(r, home))
		add(s.depthTrap(r))
	case "Bash", "Monitor":
		for _, t := range s.bashTraps(r) {
			add(t)
		}
	}
	return out
}

// family is a deny or ask rule for one program of a family, `mkfs`, where no rule is about the others.
func (s spec) family(r *obstat.Rule, rules []obstat.Rule) *trap {
	program := strings.TrimSuffix(strings.TrimSuffix(s.content, ":*"), " *")
	at := slices.IndexFunc(list("families"), func(f string) bool { return strings.HasPrefix(f, program+"=") })
	if r.Verdict == obstat.Allow || !slices.Contains(bashTools, s.tool) || at < 0 {
		return nil
	}
	other := strings.TrimPrefix(list("families")[at], program+"=")
	if slices.ContainsFunc(rules, func(o obstat.Rule) bool {
		rest := strings.TrimPrefix(o.Source, s.tool+"(")
		return strings.HasPrefix(rest, other) || strings.HasPrefix(rest, program+"*") || strings.HasPrefix(rest, program+".")
	}) {
		return nil
	}
	return risky(fmt.Sprintf("write %s(%s*) for all of them", s.tool, program), "%s(%s) is not about %s", s.tool,
		s.content, other)
}

// unknown is a tool that Claude Code does not have.
func (s spec) unknown(r *obstat.Rule) *trap {
	if knownTool(s.tool) || strings.ContainsAny(s.tool, "_*") {
		return nil
	}
	t := &trap{obstat.CodeNoEffect, fmt.Sprintf("there is no tool %s", s.tool),
		"the name is the tool's own, in its own capitals"}
	if near, ok := tree.Nearest(s.tool, slices.Concat(toolLists...)...); ok {
		t.hint = "is " + near + " meant?"
	}
	return t
}

// rootTrap is /path where //path is meant.
func (s spec) rootTrap(r *obstat.Rule, home string) *trap {
	if !strings.HasPrefix(s.content, "/") || strings.HasPrefix(s.content, "//") {
		return nil
	}
	first, _, _ := strings.Cut(s.content[1:], "/")
	from := "the project"
	if r.Layer == dialect.LayerUser {
		from = "~/.claude"
	}
	if listed("top level", first) || home != "" && strings.HasPrefix(s.content, home+"/") {
		return risky("begin it with // for the root of the file system",
			"%s(%s) starts at %s, not at the root of the file system", s.tool, s.content, from)
	}
	if r.Layer == dialect.LayerUser {
		return risky(fmt.Sprintf("write %s(~%s) or %s(%s)", s.tool, s.content, s.tool, s.content[1:]),
			"%s(%s) in user settings starts at ~/.claude", s.tool, s.content)
	}
	return nil
}

// depthTrap is dir/** that allows less than the same text denies.
func (s spec) depthTrap(r *obstat.Rule) *trap {
	dir, ok := strings.CutSuffix(s.content, "/**")
	if !ok || r.Field != fieldCwd || strings.Contains(strings.TrimPrefix(dir, "./"), "/") || strings.Contains(dir, "*") {
		if r.Verdict == obstat.Deny && r.Field == fieldCwd && strings.HasPrefix(s.content, "../") {
			return never("%s(%s) never matches: patterns do not reach above the working directory", s.tool, s.content)
		}
		return nil
	}
	if r.Verdict == obstat.Allow && dir != "." && dir != "" && !strings.HasPrefix(dir, "./") { // `./` says which
		return risky(fmt.Sprintf("write **/%s for any depth", s.content),
			"%s(%s) allows %s in the working directory alone; as a deny rule it would hold at any depth", s.tool, s.content, dir)
	}
	return nil
}

// runs tells whether whatever stands for the star of a rule is run.
func runs(first, rest string) bool {
	if bare, ok := strings.CutSuffix(first, "*"); ok {
		return listed("runners", bare)
	}
	words := strings.Fields(rest)
	if !listed("runners", first) || len(words) == 0 || listed("checks", first+words[0]) {
		return false
	}
	return strings.HasPrefix(rest, "*") || listed("running", words[0]) && words[len(words)-1] == "*"
}

func (s spec) bashTraps(r *obstat.Rule) (out []*trap) {
	content := s.content
	if i := strings.Index(content, ":*"); i >= 0 && i < len(content)-2 {
		out = append(out, risky("write a blank and * instead",
			":* stands for any arguments only at the very end; in Bash(%s) it is text", content))
	}
	if strings.HasPrefix(content, "command:") {
		out = append(out, never("Bash(%s) is ignored: commands are not matched as a parameter; write Bash(%s)", content,
			strings.TrimPrefix(content, "command:")))
	}
	first, rest, _ := strings.Cut(strings.ReplaceAll(content, ":*", " *"), " ")
	if wild := strings.Contains(content, "*"); wild && listed("wrappers", first) && !strings.HasPrefix(rest, "-") {
		t := never("Bash(%s) does nothing: %s is taken off a command before a rule is looked for", content, first)
		t.hint = "take it out, and write a rule for the command that it runs"
		return append(out, t)
	}
	if r.Verdict == obstat.Allow && piece(first, content) {
		t := never("Bash(%s) does nothing: %s is a word of the shell's, and what a loop or an if runs is allowed one by one",
			content, first)
		t.hint = "take it out, and write a rule for each command that is run"
		return append(out, t)
	}
	if r.Verdict == obstat.Allow && strings.Contains(content, "*") && joinsCommands(content) {
		t := never("Bash(%s) does nothing: the commands of a line are allowed one by one", content)
		t.hint = "take it out, and write a rule for each command"
		return append(out, t)
	}
	switch {
	case r.Verdict == obstat.Allow && runs(first, rest):
		out = append(out, risky("name the command that it may run", "Bash(%s) allows whatever %s runs", content,
			strings.TrimSuffix(first, "*")))
	case r.Verdict == obstat.Allow && strings.Contains(content, "*") && namesURL(content):
		out = append(out, risky("use WebFetch(domain:...) and deny curl and wget",
			"Bash(%s) does not hold a command to this address: options before it, redirects and variables lead elsewhere", content))
	case r.Verdict != obstat.Allow && first == content && strings.HasSuffix(first, "*") && len(first) > 1 && len(first) <= 4:
		out = append(out, risky(fmt.Sprintf("write Bash(%s *) to stop at the end of the word",
			strings.TrimSuffix(first, "*")), "Bash(%s) is for every program whose name starts so", content))
	}
	return out
}

// piece tells whether a rule is for a part of a loop or an if, as agents have written them down line by line:
// `do make`, `for f in *`. A whole one, `for f in a b; do make $f; done`, may be allowed as it is.
func piece(first, content string) bool {
	if listed("shell middles", first) {
		return true
	}
	words := strings.Fields(content)
	ended := slices.Contains([]string{"done", "fi", "esac"}, words[len(words)-1])
	return listed("shell openers", first) && (!ended || strings.Contains(content, "*"))
}

// joinsCommands tells whether an operator stands between commands of a text: `a | b`, but not in quotes, as in
// `grep "x\|y"`, behind a backslash, or in `2>&1`.
func joinsCommands(text string) bool {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '&' && (i > 0 && text[i-1] == '>' || strings.HasPrefix(text[i:], "&>")):
		case c == '|' || c == ';' || c == '&':
			return true
		}
	}
	return false
}

func namesURL(content string) bool {
	return slices.ContainsFunc(strings.Fields(content), func(w string) bool {
		u, err := url.Parse(strings.Trim(w, `"'*`))
		return err == nil && u.Scheme != "" && u.Host != ""
	})
}
