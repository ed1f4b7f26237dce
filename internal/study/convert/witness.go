package convert

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/diff"
)

// A form is a way in which a command runs.
type form struct {
	text, asks string // % is the command; asks is a pattern of commands
	unseen     bool   // the agent does not see through it, and obstat's reading of its rules does
	more       bool   // it does more than the command
}

//go:embed disguises.txt
var formsText string

// forms are those of disguises.txt.
var forms = sync.OnceValue(func() (out []form) {
	for line := range strings.Lines(formsText) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		text, asks, _ := strings.Cut(line, "\t")
		f := form{asks: asks}
		if rest, is := strings.CutPrefix(text, "!"); is && rest[0] != ' ' {
			text, f.unseen = rest, true
		}
		if rest, is := strings.CutPrefix(text, "+"); is {
			text, f.more = rest, true
		}
		f.text = strings.ReplaceAll(text, `\n`, "\n")
		out = append(out, f)
	}
	return out
})

// Of each kind so many are tried in all forms: the forms are the same for all.
const (
	maxHeld  = 24
	maxFreed = 24
	maxPaths = 8
)

// A subject is the commands and paths that a policy's sentences name.
type subject struct {
	held, freed, paths []string // commands that are not allowed, those that are, and paths that are not
	any                bool     // every command is allowed
}

// subjects collects them.
func (e *export) subjects() (s subject) {
	for _, r := range e.list {
		p := Parts(r.Source)
		for verb := range p.eachVerb() {
			for _, t := range e.targets(p.Targets) {
				s.note(verb, t, r.Verdict == obstat.Allow)
			}
			for _, t := range e.targets(p.Except) {
				s.note(verb, t, r.Verdict != obstat.Allow)
			}
		}
	}
	if s.any {
		s.freed = append(s.freed, "x") // a program that nobody knows
	}
	for _, list := range []*[]string{&s.held, &s.freed, &s.paths} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s
}

// targets puts the paths of the policy's own places where their names stand.
func (e *export) targets(list []string) (out []string) {
	for _, t := range list {
		if own := e.named[t]; own != nil {
			out = append(out, own...)
			continue
		}
		out = append(out, t)
	}
	return out
}

// note adds a target of a sentence, which is allowed or is not.
func (s *subject) note(verb, target string, allowed bool) {
	text, _ := commandText(target)
	switch {
	case verb == "run" && target == "anything":
		s.any = s.any || allowed
	case verb == "run" && allowed:
		s.freed = append(s.freed, text)
	case verb == "run":
		s.held = append(s.held, text)
	case !allowed && isPath(target) && slices.Contains([]string{"read", "write", "delete"}, verb):
		s.paths = append(s.paths, plainPath(target))
	}
}

// plainPath returns the part of a path that a command would name: `secret` of `**/secret/**`.
func plainPath(t string) string {
	t = strings.Trim(t, `"`)
	for _, before := range []string{"./", "~/", "**/", "/**/"} {
		t = strings.TrimPrefix(t, before)
	}
	return strings.TrimSuffix(strings.TrimSuffix(t, "/**"), "/*")
}

// betweens stand between two words of a command, the last where the next word is a flag.
var betweens = []string{" -x ", " --xx ", " --xx=y ", " -x y ", " -C . ", " -c a.b=c ", "  ", "\t", " x "}

// anyText fills the stars of a pattern.
func anyText(pattern string) string { return strings.ReplaceAll(pattern, "*", "x") }

// witnesses makes calls in which a command that is not allowed, or a file, stands where an agent may not see it. For
// each it notes which commands to ask about.
func (e *export) witnesses(s *subject) {
	e.asks = map[string]string{}
	for _, f := range forms() {
		if s.any && !strings.Contains(f.text, "%") {
			e.witness(f.text, f.asks)
		}
	}
	for _, d := range s.held[:min(len(s.held), maxHeld)] {
		e.aroundHeld(anyText(d))
	}
	for _, a := range s.freed[:min(len(s.freed), maxFreed)] {
		e.behindFreed(anyText(a), s)
	}
}

// aroundHeld makes calls of a command that is not allowed, disguised and with something between its words.
func (e *export) aroundHeld(command string) {
	e.disguise(command, true)
	words := strings.Fields(command)
	e.witness(words[0]+"\t"+strings.Join(slices.Concat(words[1:], []string{"x"}), " "), words[0]+"\t*")
	for i := 1; i < len(words); i++ {
		before, behind := strings.Join(words[:i], " "), strings.Join(words[i:], " ")
		for _, between := range betweens {
			if between == " x " && words[i][0] != '-' {
				continue // another subcommand
			}
			e.witness(before+between+behind, pastWord(before, between, words[i]))
		}
		e.veiled(before, words[i], strings.Join(words[i+1:], " "))
		if w := words[i]; len(w) == 2 && w[0] == '-' {
			for _, flags := range []string{" -x" + w[1:], " x -x" + w[1:]} {
				e.witness(before+flags+" "+strings.Join(words[i+1:], " "), before+" *-*"+w[1:]+"*")
			}
		}
	}
}

// veiled makes calls of a command that is not allowed with one of its words in other letters: `git "push"`, and
// `X=push; git $X`.
func (e *export) veiled(before, word, behind string) {
	for _, veil := range []string{`"%"`, `'%'`, `\%`, "$%"} {
		set, asks := "", before+" "+veil[:1]+"*"
		if word[0] == '-' {
			asks = before + " *" + veil[:1] + "-*"
		}
		if veil[0] == '$' {
			set, veil, asks = "X="+word+"; ", "$X", before+" *$*"
		}
		e.witness(strings.TrimSpace(set+before+" "+strings.Replace(veil, "%", word, 1)+" "+behind)+" x", asks)
	}
}

// behindFreed makes calls of a command that is allowed with one behind it that is not, or with such a path.
func (e *export) behindFreed(command string, s *subject) {
	e.disguise(command, false)
	for _, d := range s.held[:min(len(s.held), 3)] {
		for _, form := range []string{" x && ", " x; ", " x | ", " x\n", " $(", " `", " <(", " x & "} {
			end := map[byte]string{'(': ")", '`': "`"}[form[len(form)-1]]
			e.witness(command+form+anyText(d)+end, "")
		}
	}
	for _, f := range s.paths[:min(len(s.paths), maxPaths)] {
		into := "cd " + anyText(f) + " && " + command
		e.beyond = append(e.beyond, e.shellCall(into+" x"), e.shellCall(into+" x > y"))
		for _, form := range []string{" ", " x ", " x > ", " x >> ", " < ", " ./", " --file="} {
			e.onPath(command+form+anyText(f), "*"+f+"*")
			e.onPath(command+form+anyText(f)+"/x", "*"+f+"*")
		}
	}
}

// onPath adds a command with a path. Where the language cannot ask about it, only one counts that is denied: any
// program may take a path that it is given for a file, and no rule that allows one would be left.
func (e *export) onPath(command, asks string) {
	if e.Command != nil || verdictOf(e.l.Policy, e.shellCall(command)) == obstat.Deny {
		e.witness(command, asks)
	}
}

// shellCall is a call of the agent's shell.
func (e *export) shellCall(command string) *obstat.Call {
	return &obstat.Call{Tool: e.Tools[0], Input: commandInput(command), Dir: diff.Dir, Roots: []string{diff.Dir}}
}

// pastWord is a pattern of commands with something between two words of a command, `git -*` for flags before the
// `push` of `git push`; "" is none.
func pastWord(before, between, next string) string {
	switch {
	case strings.TrimSpace(between) == "":
		return before + between + "*"
	case strings.HasPrefix(next, "-"):
		return before + " * " + next + "*"
	}
	return before + " -*"
}

// disguise adds a command in all forms, or in those that do more than the command.
func (e *export) disguise(command string, all bool) {
	program, _, _ := strings.Cut(command, " ")
	for _, f := range forms() {
		if !all && !f.more || !strings.Contains(f.text, "%") && f.text != "x/$x" {
			continue
		}
		texts := []string{command + " x"} // alone it may only read
		if !all {
			texts = append(texts, command) // all that is allowed
		}
		for _, text := range texts {
			switch f.text {
			case `"%`:
				text = `"` + program + `"` + strings.TrimPrefix(text, program)
			case "$(echo %)":
				text = "$(echo " + program + ")" + strings.TrimPrefix(text, program)
			default:
				text = strings.ReplaceAll(f.text, "%", text)
			}
			e.witness(text, strings.ReplaceAll(f.asks, "%", program))
		}
	}
}

// witness adds a command, with the pattern of commands to ask about.
func (e *export) witness(command, asks string) {
	call := e.shellCall(command)
	if _, there := e.asks[string(call.Input)]; there {
		return
	}
	e.asks[string(call.Input)] = asks
	e.calls = append(e.calls, call)
}

// shut adds rules that ask about the forms in which calls are allowed; false where there is none to add.
func (e *export) shut(now *obstat.Policy, freer []*obstat.Call) (changed bool) {
	if e.Command == nil {
		return false
	}
	for _, c := range freer {
		if asks := e.asks[string(c.Input)]; asks != "" && c.Tool == e.Tools[0] && verdictOf(now, c) == obstat.Allow {
			changed = e.ask(asks) || changed
		}
	}
	return changed
}

// narrow asks about a part of what a rule allows in place of taking it out: of a rule for one command about the command
// alone, `python` of `python *`; of all commands about those with variables, or about the program. It returns false
// where that is asked about already.
func (e *export) narrow(by ExportRule, c *obstat.Call) bool {
	if e.Command == nil || c.Tool != e.Tools[0] {
		return false
	}
	text := c.Text()
	if !slices.Contains(e.Rules(obstat.Allow, "run", "anything"), by.Text) {
		bare, exact := commandText(strings.TrimPrefix(by.of, "run "))
		return !exact && text == bare && e.ask(text)
	}
	for _, odd := range []string{"$", "`"} {
		if strings.Contains(text, odd) && e.ask("*"+odd+"*") {
			return true
		}
	}
	program, _, _ := strings.Cut(text, " ")
	if at := strings.LastIndexByte(program, '/'); at >= 0 {
		program = "*" + program[at:]
	}
	return program != "" && !strings.ContainsAny(program, "\n;&|") && e.ask(program+" *")
}

// ask adds a rule that asks about commands.
func (e *export) ask(commands string) bool {
	text := e.Command(commands)
	return text != "" && e.add(ExportRule{Verdict: obstat.Ask, Text: text, form: true})
}

// unseen asks about forms that the agent does not see through though obstat's reading of its rules does: flags before
// the word that a rule is about, `git -C . push` where git is allowed and its push is not.
func (e *export) unseen(s *subject) {
	if e.Command == nil {
		return
	}
	for _, d := range s.held {
		words := strings.Fields(d)
		for i := 1; i < len(words); i++ {
			before := strings.Join(words[:i], " ")
			if s.any && i == 1 || slices.Contains(s.freed, before) {
				e.ask(pastWord(before, " -x ", words[i]))
			}
		}
	}
	for _, f := range forms() {
		if !f.unseen || !s.any {
			continue
		}
		for _, d := range s.held {
			program, _, _ := strings.Cut(d, " ")
			e.ask(strings.ReplaceAll(f.asks, "%", program))
		}
	}
}
