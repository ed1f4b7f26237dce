package claudecode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/pattern"
)

// A spec is a rule as written: Tool or Tool(content).
type spec struct {
	tool, content string
	whole         bool // no content, or *
}

func parseSpec(text string) (spec, error) {
	open := strings.IndexByte(text, '(')
	switch {
	case strings.TrimSpace(text) == "":
		return spec{}, fmt.Errorf("a rule is empty")
	case open < 0 && strings.ContainsAny(text, ") \t\n"):
		return spec{}, fmt.Errorf("%q is neither Tool nor Tool(content)", text)
	case open < 0:
		return spec{tool: text, whole: true}, nil
	case open == 0 || !strings.HasSuffix(text, ")"):
		return spec{}, fmt.Errorf("%q is neither Tool nor Tool(content): the brackets do not fit", text)
	}
	s := spec{tool: text[:open], content: unescape(text[open+1 : len(text)-1])}
	if strings.ContainsAny(s.tool, ") \t\n") {
		return spec{}, fmt.Errorf("%q is not the name of a tool", s.tool)
	}
	if s.content == "" {
		return spec{}, fmt.Errorf("%q has nothing in its brackets", text)
	}
	s.whole = s.content == "*"
	return s, nil
}

// unescape takes the backslashes off brackets.
func unescape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\(`, "("), `\)`, ")")
}

// A trap is a likely mistake in a rule: it is skipped, or rarely meant.
type trap struct {
	code obstat.Code
	msg  string
	hint string
}

func never(format string, args ...any) *trap {
	return &trap{code: obstat.CodeNoEffect, msg: fmt.Sprintf(format, args...)}
}

// compile turns a rule into one of the engine's. With a nil Rule the trap says
// why Claude Code never looks at it.
func (s spec) compile(v obstat.Verdict, layer string) (*obstat.Rule, *trap) {
	r := &obstat.Rule{Verdict: v, Layer: layer}
	var t *trap
	if r.Tool, t = s.tools(v); t == nil && !s.whole {
		t = s.fill(r)
	}
	if t != nil {
		return nil, t
	}
	return r, nil
}

// fill sets the field and the pattern of r.
func (s spec) fill(r *obstat.Rule) *trap {
	switch {
	case strings.HasPrefix(s.tool, "mcp__") || strings.Contains(s.tool, "*") || s.isParam(r.Verdict):
		return s.param(r)
	case slices.Contains(bashTools, s.tool):
		return s.bash(r, "")
	case s.tool == "PowerShell":
		return s.bash(r, "(?i)")
	case s.tool == "Read" || s.tool == "Edit":
		return s.path(r)
	case s.tool == "WebFetch":
		return s.domain(r)
	case s.tool == "Agent" || s.tool == "Task":
		r.Field, r.Pattern = fieldAgent, glob(s.content, "")
	case s.tool == "Skill" || s.tool == "SlashCommand":
		r.Field, r.Pattern = fieldSkill, words(s.content, "")
	case s.tool == "Cd":
		r.Field, r.Pattern = fieldAbs, glob(s.content, "") // of the command /cd; no tool call has it
	default:
		return s.unread()
	}
	return nil
}

// anyServer is an allow rule for tools of no certain server, `mcp__*`.
func (s spec) anyServer() *trap {
	t := never("an allow rule takes * in a tool's name only after mcp__server__; %s is skipped", s.tool)
	t.hint = "name the servers, mcp__server__*"
	return t
}

// unread is a rule with content for a tool that has none, `TodoWrite(x)`.
func (s spec) unread() *trap {
	t := never("%s(%s) is never consulted: %s has no rules with content", s.tool, s.content, s.tool)
	switch {
	case slices.Contains(editTools, s.tool):
		t.hint = "write Edit instead, which is for all tools that change files"
	case slices.Contains(readTools, s.tool):
		t.hint = "write Read instead, which is for all tools that read files"
	}
	return t
}

// tools returns the tools that a rule is about.
func (s spec) tools(v obstat.Verdict) (obstat.Text, *trap) {
	switch {
	case strings.HasPrefix(s.tool, "mcp__"):
		return s.mcp(v)
	case strings.Contains(s.tool, "*"):
		if v == obstat.Allow {
			return obstat.Text{}, s.anyServer()
		}
		if strings.Trim(s.tool, "*") == "" {
			return obstat.Text{}, nil
		}
		return glob(s.tool, ""), nil
	case s.tool == "Task":
		return obstat.Is("Agent"), nil
	case slices.Contains(bashTools, s.tool) && (s.tool == "Bash" || !s.whole):
		return anyOf(bashTools...), nil
	case s.tool == "Edit":
		return s.edits(v), nil
	case s.tool == "Read" && (v != obstat.Allow || !s.whole):
		return s.reads(v), nil
	}
	return obstat.Is(s.tool), nil
}

// edits: a rule for Edit is for all tools that change files, and to allow
// changing a file is to allow reading it.
func (s spec) edits(v obstat.Verdict) obstat.Text {
	if v == obstat.Allow && !s.whole {
		return anyOf(append(slices.Clone(editTools), readTools...)...)
	}
	return anyOf(editTools...)
}

// reads: a rule for Read is for all tools that read files; a file that may not be
// read may not be changed either.
func (s spec) reads(v obstat.Verdict) obstat.Text {
	if v == obstat.Deny && !s.whole {
		return anyOf(append(slices.Clone(readTools), "Edit", "Write", "MultiEdit")...)
	}
	return anyOf(readTools...)
}

// mcp: mcp__server stands for all tools of the server.
func (s spec) mcp(v obstat.Verdict) (obstat.Text, *trap) {
	server, tool, found := strings.Cut(strings.TrimPrefix(s.tool, "mcp__"), "__")
	switch {
	case v == obstat.Allow && strings.Contains(server, "*"):
		return obstat.Text{}, s.anyServer()
	case server == "":
		return obstat.Text{}, never("%s names no server", s.tool)
	case !found || tool == "":
		return obstat.Text{Flavour: pattern.Full,
			Text: "(?s)" + star("mcp__"+strings.TrimSuffix(s.tool[5:], "__"), ".*") + "(?:__.*)?"}, nil
	case !strings.Contains(s.tool, "*"):
		return obstat.Is(s.tool), nil
	}
	return glob(s.tool, ""), nil
}

// isParam tells whether the content is name:value of an input field. Rules that
// allow have none, and a tool's own notation goes first.
func (s spec) isParam(v obstat.Verdict) bool {
	name, _, ok := strings.Cut(s.content, ":")
	if name = strings.TrimSpace(name); !ok || v == obstat.Allow || !identifier(name) || paths.HasDrive(s.content) {
		return false // `Read(C:\secrets)` is a path
	}
	switch s.tool {
	case "Bash", "Monitor", "PowerShell":
		// `git:*` is a prefix; only the fields that these tools have are fields.
		return slices.Contains([]string{"command", "description", "timeout", "run_in_background",
			"dangerouslyDisableSandbox"}, name) && !strings.HasSuffix(s.content, ":*")
	case "WebFetch":
		return name == "prompt"
	case "Skill", "SlashCommand":
		return slices.Contains([]string{"skill", "args", "command"}, name)
	}
	return true
}

func identifier(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

func (s spec) param(r *obstat.Rule) *trap {
	name, value, ok := strings.Cut(s.content, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case r.Verdict == obstat.Allow:
		return never("an allow rule cannot look at arguments: %s(%s) is skipped", s.tool, s.content)
	case !ok || !identifier(name):
		return never("%s(%s): what stands in the brackets must be parameter:value", s.tool, s.content)
	case slices.Contains(primary(s.tool), name):
		return never("%s of %s is not matched this way: the rule is ignored", name, s.tool)
	}
	r.Field, r.Pattern = fieldParam+name, glob(value, "")
	if r.Pattern.Flavour != pattern.Exact && strings.Trim(value, "*") == "" {
		r.Pattern = obstat.Text{Flavour: pattern.Fnmatch, Text: "*"} // there, whatever it is
	}
	return nil
}

func (s spec) bash(r *obstat.Rule, flags string) *trap {
	content := s.content
	if r.Verdict != obstat.Allow {
		content = folded(spaced(content), blanks)
	}
	text := words(content, flags)
	switch {
	case text.IsZero():
		return nil // the whole tool
	case r.Verdict != obstat.Allow:
		r.Field = fieldSeen
	case flags != "" && !strings.Contains(content, "*"): // a text that nobody reads, as it was seen
		r.Field, text = fieldExact, obstat.Is(normalize(content))
	case strings.Contains(strings.ReplaceAll(s.content, `\*`, ""), "*"):
		if r.Field = fieldCommand; assigns.MatchString(content) {
			r.Field, text = fieldAssigned, assigned(content)
		}
	default:
		r.Field = fieldExact
	}
	r.Pattern = text
	return nil
}

// words is a pattern over a command: a trailing " *" (or ":*") stands for any
// arguments, none included.
func words(content, flags string) obstat.Text {
	if p, ok := strings.CutSuffix(content, ":*"); ok {
		content = p + " *"
	}
	content = normalize(content)
	head, prefix := strings.CutSuffix(content, " *")
	switch {
	case content == "*" || prefix && head == "":
		return obstat.Text{}
	case prefix && flags == "" && !strings.ContainsAny(content, `?/\`):
		return obstat.Text{Flavour: pattern.Wildcard, Text: content} // means the same, and is ready sooner
	case prefix:
		return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + flags + star(head, ".*") + "(?: .*)?"}
	}
	return glob(content, flags)
}

// assigns finds a rule that begins with a variable, `CI=1 npm test *`.
var assigns = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// assigned is a pattern over a command with its variables.
func assigned(content string) obstat.Text {
	if p, ok := strings.CutSuffix(content, ":*"); ok {
		content = p + " *"
	}
	set, command, value := kit.Variables(normalize(content))
	head, prefix := strings.CutSuffix(command, " *")
	text := "(?s)" + star(set, value) + star(head, ".*")
	if prefix {
		text += "(?: .*)?"
	}
	return obstat.Text{Flavour: pattern.Full, Text: text}
}

// joins finds operators with what stands around them; a star that touches one takes the blank beside it.
var joins = regexp.MustCompile(`(\*)?(\s*)(\|\||&&|\|&|[|;])(\s*)(\*)?`)

// aroundJoins finds operators with the blanks around them.
var aroundJoins = regexp.MustCompile(`\s*(\|\||&&|\|&|[|;])\s*`)

// spaced writes one blank on either side of each operator, as pieces of a line have it: `env|base64*` is
// `env | base64*`. `curl *|* sh` stays as it is, so that a star stands for the blank. A text with quotes may have
// operators as characters, and stays as it is.
func spaced(content string) string {
	if !strings.ContainsAny(content, "|;&") || strings.ContainsAny(content, `'"\`) {
		return content
	}
	return strings.TrimSpace(joins.ReplaceAllStringFunc(content, func(at string) string {
		m := joins.FindStringSubmatch(at)
		before, after := m[1]+" ", " "+m[5]
		if m[1] != "" && m[2] == "" {
			before = m[1]
		}
		if m[5] != "" && m[4] == "" {
			after = m[5]
		}
		return before + m[3] + after
	}))
}

// hasOperator tells whether a rule is about several commands.
func (s spec) hasOperator() bool {
	return slices.Contains(bashTools, s.tool) && strings.ContainsAny(s.content, "|;&")
}

// glob is a text in which * stands for anything.
func glob(text, flags string) obstat.Text {
	if flags == "" && !strings.Contains(text, "*") {
		return obstat.Is(text)
	}
	return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + flags + star(text, ".*")}
}

// star quotes text but for its asterisks, each of which becomes any.
func star(text, any string) string {
	var b strings.Builder
	b.Grow(len(text) + 16)
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '*':
			b.WriteString(`\*`)
			i++
		case text[i] == '*':
			b.WriteString(any)
			for i+1 < len(text) && text[i+1] == '*' {
				i++
			}
		default:
			kit.WriteLiteral(&b, text[i:i+1])
		}
	}
	return b.String()
}

// normalize makes one blank of each run of blanks that is in no quotes.
func normalize(s string) string {
	if !strings.ContainsRune(s, '\t') && !strings.Contains(s, "  ") && strings.Trim(s, " ") == s {
		return s
	}
	return kit.OneBlank(s, " \t")
}

// blanks and space are what [folded] makes one blank of: of a line, and of one command, where SQL or code within quotes
// may go on in the next line.
const (
	blanks = " \t"
	space  = " \t\r\n\v\f"
)

// folded makes one blank of each run of blanks, in quotes as well, as deny and ask rules see a text: what SQL or code
// within quotes means does not depend on their number.
func folded(s, of string) string {
	if !strings.ContainsAny(s, of[1:]) && !strings.Contains(s, "  ") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(of, r) }), " ")
}

// domain is WebFetch(domain:host).
func (s spec) domain(r *obstat.Rule) *trap {
	host, ok := strings.CutPrefix(s.content, "domain:")
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	if !ok || host == "" || strings.ContainsAny(host, "/@ ") || strings.Contains(host, ":") && host[0] != '[' {
		return &trap{obstat.CodeNoEffect, fmt.Sprintf("WebFetch(%s) never matches: WebFetch rules are written WebFetch(domain:host)", s.content), "write the host name alone, without scheme and path"}
	}
	if host == "*" {
		return nil
	}
	r.Field = fieldDomain
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		r.Pattern = obstat.Text{Flavour: pattern.Full, Text: `(?:[^.]+\.)+` + star(rest, "[^.]*")}
		return nil
	}
	if r.Pattern = obstat.Is(host); strings.Contains(host, "*") {
		r.Pattern = obstat.Text{Flavour: pattern.Full, Text: star(host, "[^.]*")}
	}
	return nil
}
