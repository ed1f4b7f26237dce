package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/pattern"
)

// sentences returns the sentences of a rule, without exceptions, or why it has none.
func sentences(r *obstat.Rule) (out []string, why string) {
	if len(r.If) > 0 || len(r.Except) > 0 {
		return nil, "it has conditions"
	}
	texts, exact, ok := globs(r.Pattern, r.Verdict == obstat.Allow)
	switch {
	case r.Tool.IsZero() && r.Whole() && r.Verdict == obstat.Ask:
		return nil, "" // as obstat.yaml does where no rule speaks
	case !ok:
		return nil, noPattern(r)
	case r.Tool.IsZero() && !r.Whole():
		return actions(texts, r.Verdict)
	case r.Tool.Text == "doom_loop":
		return nil, "obstat.yaml has no rules about repetition"
	case r.Tool.Text == diff.Outside && r.Verdict == obstat.Allow:
		return nil, "directories outside the workspace are not allowed by themselves"
	case r.Tool.Text == diff.Outside && strings.Trim(texts[0], "*") == "":
		return []string{"read outside workspace", "write and delete outside workspace"}, ""
	}
	verbs, tools := kinds(r)
	if names, exact, ok := globs(r.Tool, true); ok && !exact && r.Whole() && r.Verdict != obstat.Allow && tools == nil {
		tools = names // `*delete*` is also about unknown tools
	}
	for _, v := range verbs {
		for _, t := range texts {
			text := effectSentence(r, v, t, exact)
			if text == "" {
				return nil, fmt.Sprintf("%s %s cannot be said", v, t)
			}
			out = append(out, text)
		}
	}
	for _, t := range tools {
		text := toolSentence(r, t, texts, exact)
		if text == "" {
			return nil, "which field of " + t + " the rule looks at is not known"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return nil, "it is about no tool that is known"
	}
	return slices.Compact(out), ""
}

// unread tells whether a rule allows texts of a tool that nobody reads, PowerShell: a sentence with `run` is for the
// commands of every shell.
func unread(r *obstat.Rule) bool {
	t, _ := effect.Lookup(r.Tool.Text)
	return r.Verdict == obstat.Allow && t.Canonical == "powershell"
}

func noPattern(r *obstat.Rule) string {
	if unread(r) {
		return "of PowerShell, whose texts nobody reads, obstat.yaml allows one text at a time"
	}
	return "obstat.yaml has no such pattern: " + r.Pattern.Text
}

// effectSentence says that a verb is done to anything, or to one of a rule's texts, `write and delete ./src`; "" where it
// cannot be said.
func effectSentence(r *obstat.Rule, verb, text string, exact bool) string {
	if r.Whole() {
		return verb + " anything"
	}
	exact = exact || isExpression(r.Pattern) && !strings.Contains(text, "*")
	if verb == "run" && r.Verdict != obstat.Allow {
		text = plainProgram(text)
	}
	target := targetOf(verb, r.Field, text, exact)
	if target == "" || target == outsideWorkspace && r.Verdict == obstat.Allow {
		return "" // `../lib` is less than all that lies outside
	}
	if below, ok := strings.CutSuffix(target, "/**"); ok && r.Verdict == obstat.Allow {
		target = below + "/*" // the files in it, and not the directory
	}
	if r.Verdict == obstat.Allow && strings.Contains(text, "/") && !strings.Contains(text, "**") {
		target = strings.Replace(target, "/**/*", "/*", 1)
	}
	return verbWords(verb, r.Verdict) + " " + target
}

// toolSentence says a rule about a tool that has no verb: all of its calls, or those with an argument,
// `tool deploy where input.env is prod`; "" where the field is none of the input's.
func toolSentence(r *obstat.Rule, tool string, texts []string, exact bool) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
	if r.Whole() || slices.Contains(texts, "*") || slices.Contains(texts, "**") {
		return "tool " + tool
	}
	t, _ := effect.Lookup(tool)
	field, skill := r.Field, t.Canonical == "skill"
	if skill && (field == "skill" || field == "pattern") {
		field = map[string]string{"Skill": "skill", "skill": "name", "SlashCommand": "command"}[tool]
	}
	if field == "exact" && len(t.Command) > 0 {
		field = t.Command[0]
	}
	known := strings.Trim(field, letters) == "" && !slices.Contains(own, field)
	if !known || len(texts) != 1 {
		return ""
	}
	value, how := texts[0], "like"
	if rest, args := strings.CutSuffix(value, " *"); args && skill { // with any arguments
		value, exact = rest, !strings.Contains(rest, "*")
	}
	if exact {
		how = "is"
	}
	if strings.Trim(value, letters+"-.*") != "" {
		value = quoted(value)
	}
	return fmt.Sprintf("tool %s where input.%s %s %s", tool, field, how, value)
}

// quoted writes a text with quotes around each part of it, `"it's"'"'` for it's".
func quoted(text string) string {
	return strings.ReplaceAll(`"`+strings.ReplaceAll(text, `"`, `"'"'"`)+`"`, `""`, "")
}

// own are fields of rules that are none of an input.
var own = []string{"", "agent", "pattern", "action", "args", "path"}

// verbWords adds deleting to a rule against writing.
func verbWords(verb string, v obstat.Verdict) string {
	if verb == "write" && v != obstat.Allow {
		return "write and delete"
	}
	return verb
}

// verbs are those for tools of a kind.
var verbs = map[string]string{
	"shell": "run", "powershell": "run", "read": "read", "list": "read", "glob": "read", "grep": "read",
	"write": "write", "edit": "write", "notebook": "write", "patch": "write", "move": "write", "mkdir": "write",
	"delete": "delete", "fetch": "connect",
}

// verbOf returns the verb of a tool, "" where it has none.
func verbOf(tool string) string {
	t, _ := effect.Lookup(tool)
	return verbs[t.Canonical]
}

// kinds returns the verbs of the tools that a rule is about, and the names of those that have none.
func kinds(r *obstat.Rule) (out, tools []string) {
	t := r.Tool
	if t.Text == diff.Outside { // opencode's, for whatever lies outside the project
		return []string{"read", "write"}, nil
	}
	if t.Flavour == pattern.Exact {
		if v := verbOf(t.Text); v != "" && !unread(r) {
			return []string{v}, nil
		}
		return nil, []string{t.Text}
	}
	p, err := pattern.Compile(t.Flavour, t.Text)
	if err != nil {
		return nil, nil
	}
	for _, of := range effect.Tools() {
		ok := t.IsZero()
		if !ok {
			ok, _ = p.Match(of.Name)
		}
		if v := verbs[of.Canonical]; ok && v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if texts, _, ok := globs(t, true); ok && (len(out) == 0 || slices.Contains(texts, "*")) {
		tools = texts
	}
	return out, tools
}

// actions says Chorus's action strings, `tool:bash:git .*`.
func actions(texts []string, v obstat.Verdict) (out []string, why string) {
	of := map[string]string{"bash": "run", "view": "read", "create_file": "write", "str_replace": "write"}
	for _, t := range texts {
		parts := strings.SplitN(t, ":", 3)
		if len(parts) < 3 || of[parts[1]] == "" {
			return nil, "the action " + t + " is none of a command or file"
		}
		verb := of[parts[1]]
		target := targetOf(verb, "root", parts[2], !strings.Contains(parts[2], "*"))
		if target == "" {
			return nil, fmt.Sprintf("%s %s cannot be said", verb, parts[2])
		}
		out = append(out, verbWords(verb, v)+" "+target)
	}
	return out, ""
}

// outsideWorkspace is the place of `../x`, which obstat.yaml cannot name.
const outsideWorkspace = "outside workspace"

// targetOf writes the target of a verb; "" where it has none.
func targetOf(verb, field, text string, exact bool) string {
	inProject := verb != "run" && verb != "connect" && (field == "root" || field == "cwd")
	switch all := strings.Trim(strings.TrimPrefix(text, "./"), "* ") == ""; {
	case all && inProject:
		return "workspace" // `Read(./**)` says nothing of other places
	case all:
		return map[bool]string{true: "anywhere", false: "anything"}[verb == "connect"]
	case verb != "run" && verb != "connect" && strings.HasPrefix(strings.TrimPrefix(text, "**/")+"/", "../"):
		return outsideWorkspace
	}
	switch verb {
	case "run":
		return commandOf(text, exact)
	case "connect":
		if _, host, ok := strings.Cut(text, "://"); ok {
			text = host
		}
		text, _, _ = strings.Cut(text, "/")
		text = strings.ReplaceAll(strings.TrimPrefix(text, "domain:"), "**", "*")
		if text == "" || strings.ContainsAny(text, " ,'\"") {
			return ""
		}
		return text
	}
	return pathOf(field, text)
}

func commandOf(text string, exact bool) string {
	if text = strings.ReplaceAll(text, "**", "*"); !exact { // which is as somebody wrote it
		text = quoteWords(text)
	}
	if rest, ok := strings.CutSuffix(text, " *"); ok {
		text = rest
	}
	if text = asShown(text); text == "" {
		return ""
	}
	text = native.QuotedCommand(text)
	if exact {
		return "exactly " + text
	}
	return text
}

// commandInput is the input of a shell's call.
func commandInput(text string) []byte {
	input, _ := json.Marshal(map[string]string{"command": text}) // a text can always be written
	return input
}

// analyzed is the analysis of a call that is made in the directory of made-up calls.
func analyzed(tool string, input []byte) *effect.Analysis {
	return effect.Analyze(&effect.Request{Tool: tool, Input: input,
		Options: effect.Options{Dir: diff.Dir, Roots: []string{diff.Dir}}})
}

// asShown writes a command as rules see it, with quotes only where a word needs them: `pkill -f "node"` is `pkill -f
// node`. A text that is not one command stays as it is; "" is one of several lines.
func asShown(text string) string {
	if !strings.ContainsAny(text, "\"\\\n") {
		return text
	}
	lines := strings.Contains(text, "\n")
	a := analyzed("Bash", commandInput(text))
	one := len(a.Commands) == 1 && a.Commands[0].Text != "" && a.Commands[0].Known
	switch {
	case one && (!lines || bareWords(a.Commands[0].Text) == bareWords(text)): // and nothing is fed to it
		return cmp.Or(a.WithVariables(0), a.Commands[0].Text)
	case lines:
		return ""
	}
	return text
}

// bareWords are the letters of a command without quotes and blanks.
func bareWords(text string) string {
	return strings.NewReplacer(`"`, "", "'", "", `\`, "", " ", "", "\t", "", "\n", "").Replace(text)
}

// quoteWords writes words as commands are shown to rules: `a\ b`, as Codex's rules have it, is 'a b'.
func quoteWords(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var words []string
	word, odd := "", false
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ' ':
			if odd {
				word = "'" + word + "'"
			}
			words, word, odd = append(words, word), "", false
		case text[i] == '\\' && i+1 < len(text):
			i++
			word, odd = word+text[i:i+1], true
		default:
			word += text[i : i+1]
		}
	}
	return strings.Join(words, " ")
}

// plainProgram takes the backslashes before blanks out of a command's first word: Codex's ["git push --force"] is one
// word with blanks, which obstat.yaml shows as it is.
func plainProgram(text string) string {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ' ':
			return text
		case strings.HasPrefix(text[i:], `\ `):
			text = text[:i] + text[i+1:]
		}
	}
	return text
}

// pathOf writes a path from where the field says that it starts.
func pathOf(field, text string) string {
	text = strings.TrimPrefix(strings.TrimSuffix(text, "/"), "./")
	if of, key, ok := strings.Cut(field, "."); ok && (of == "args" || of == "seen") { // Gemini's
		field = key
	}
	if strings.HasPrefix(field, "path") { // JiuwenSwarm's, for globs and expressions
		field = "file_path"
	}
	switch field {
	case "abs":
		text = "/" + strings.TrimPrefix(text, "/")
	case "home":
		text = "~/" + text
	case "user":
		text = "~/.claude/" + text
	case "root", "cwd", "pattern", "file_path":
		if bare := strings.TrimPrefix(text, "**/"); !strings.ContainsAny(text[:min(1, len(text))], "/~*") {
			text = "./" + text
		} else if !strings.Contains(bare, "/") && strings.ContainsAny(bare, ".*") {
			text = bare // a name at any depth; a word alone, `**/build`, would be a place
		}
	}
	if dir, name := path.Split(text); field == "pattern" && dir != "" && !strings.Contains(dir, "*") {
		switch { // opencode's star crosses slashes
		case name == "*":
			text = dir + "**"
		case strings.HasPrefix(name, "*"):
			text = dir + "**/" + name
		}
	}
	if strings.ContainsAny(text, "\n\"[]{}\\") {
		return ""
	}
	if strings.ContainsAny(text, " ,'") {
		return `"` + text + `"`
	}
	anywhere := strings.TrimPrefix(text, "**/")
	if (field == "pattern" || field == "file_path") && !strings.Contains(anywhere, "/") {
		out := text + ", /**/" + anywhere // outside of the project, too
		if field == "pattern" && strings.HasSuffix(anywhere, "*") && strings.Trim(anywhere, "*") != "" {
			out += ", **/" + anywhere + "/**, /**/" + anywhere + "/**" // opencode's star crosses slashes
		}
		return out
	}
	return text
}

// globs returns the texts with * and ** that a pattern stands for; exact says that it has none. With less they stand
// for no more than an expression does.
func globs(t obstat.Text, less bool) (out []string, exact, ok bool) {
	switch t.Flavour {
	case "":
		return []string{"*"}, false, true
	case pattern.Exact:
		return []string{t.Text}, true, true
	case pattern.Wildcard: // its brackets are characters
		return []string{t.Text}, !strings.Contains(t.Text, "*"), !strings.Contains(t.Text, "?")
	case pattern.Fnmatch, pattern.Minimatch:
		return []string{t.Text}, !strings.ContainsAny(t.Text, "*?"), !strings.ContainsAny(t.Text, "[]{}!()") &&
			!strings.Contains(t.Text, "?")
	case pattern.Bash:
		if rest, prefix := strings.CutSuffix(t.Text, ":*"); prefix {
			return []string{rest + " *"}, false, true
		}
		if !strings.Contains(t.Text, "*") {
			return []string{"*" + t.Text + "*"}, false, true
		}
		return []string{t.Text}, false, true
	}
	if isExpression(t) {
		return expressionGlobs(t, less)
	}
	return nil, false, false
}
