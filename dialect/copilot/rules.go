package copilot

import (
	"regexp"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// An approval is a setting that has rules. Those of commands have no form.
type approval struct {
	key     string
	form    func(text string, v obstat.Verdict) (rules []string, why string)
	verdict obstat.Verdict // of a list
	denies  bool           // true is a denial there
	old     string         // VS Code reads it no longer
	says    string         // it approves everything
	when    string
	hint    string
}

const (
	unread     = "VS Code does not read this any more: it approves nothing; denials count here all the same"
	everything = "this approves every tool; obstat does not take it over"
	narrower   = "say which commands with chat.tools.terminal.autoApprove"
)

var approvals = []approval{
	{key: "chat.tools.terminal.autoApprove"},
	{key: "chat.agent.terminal.autoApprove"},
	{key: "chat.agent.terminal.allowList", old: unread},
	{key: "chat.agent.terminal.denyList", old: unread, denies: true},
	{key: "github.copilot.chat.agent.terminal.allowList", old: unread},
	{key: "github.copilot.chat.agent.terminal.denyList", old: unread, denies: true},
	{key: "chat.tools.edits.autoApprove", form: edits},
	{key: "chat.tools.urls.autoApprove", form: hosts},
	{key: "allowedUrls", form: hosts, verdict: obstat.Allow},
	{key: "deniedUrls", form: hosts, verdict: obstat.Deny},
	{key: "chat.tools.global.autoApprove", says: everything, hint: narrower},
	{key: "chat.tools.autoApprove", says: everything, hint: narrower},
	{key: "defaultPermissionMode", says: everything, when: "allow-all"},
}

// entry makes a rule of a text by the setting's own notation.
func (a *approval) entry(at *tree.Node, text string, v obstat.Verdict) claudecode.Entry {
	rules, why := a.form(strings.TrimSpace(text), v)
	return claudecode.Entry{At: at, Verdict: v, Source: text, Rules: rules, Why: why}
}

var (
	expression = regexp.MustCompile(`(?s)^/(.+)/([dgimsuvy]*)$`)
	byLetter   = regexp.MustCompile(`(:|\s)?\*$`)
)

// command makes a rule of an approval of the terminal: `git log` is about any command that begins so, `/^git log/` is
// an expression that VS Code tries on every command of a line, and on the line itself where line says so.
func command(text string, v obstat.Verdict, line bool) claudecode.Entry {
	e := claudecode.Entry{Verdict: v, Source: text, Line: line}
	if m := expression.FindStringSubmatch(text); m != nil {
		e.Command, e.Why = searched(m[1], m[2])
		if m[1] == ".*" {
			e.Command, e.Rules = obstat.Text{}, []string{"Bash"}
		}
		return e
	}
	start := strings.TrimSpace(text)
	if byLetter.MatchString(start) && !line {
		// `git push:*` begins no command. To ask by it is harmless, and plainly meant.
		if start = byLetter.ReplaceAllString(start, ""); v == obstat.Allow {
			e.Says, e.Hint = "VS Code takes the * by the letter, so that this approves nothing",
				"leave the * out: a rule is for all that begins with it"
			return e
		}
	}
	escaped := strings.NewReplacer("*", `\*`, "(", `\(`, ")", `\)`).Replace(start)
	switch {
	case start == "":
	case line && v == obstat.Allow:
		e.Rules = []string{"Bash(" + escaped + ")"}
	case strings.ContainsAny(start, `/\`):
		e.Command = obstat.Text{Flavour: pattern.Search, Text: `^(?:\.[/\\])?` + separators(start)}
	default:
		e.Rules = []string{"Bash(" + escaped + " *)"}
	}
	return e
}

// separators writes a beginning with either kind of slash, `bin/a.sh` as `bin[/\\]a\.sh\b`.
func separators(start string) string {
	parts := strings.FieldsFunc(strings.TrimPrefix(strings.TrimPrefix(start, "./"), `.\`), isSlash)
	for i, p := range parts {
		parts[i] = kit.Literal(p)
	}
	out := strings.Join(parts, `[/\\]`)
	switch {
	case isSlash(rune(start[len(start)-1])):
		out += `[/\\]`
	default:
		out += `(?![\w.-])`
	}
	if isSlash(rune(start[0])) {
		out = `[/\\]` + out
	}
	return out
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// searched returns the pattern of an expression between slashes. One that VS Code cannot read matches nothing there: an
// approval is skipped, a question would be protection lost.
func searched(expr, flags string) (obstat.Text, string) {
	js, bad := kit.ReadJavaScript(expr)
	if bad != nil {
		return obstat.Text{}, "the expression cannot be read: " + bad.Msg
	}
	opts := "a"
	for _, f := range flags {
		switch f {
		case 'i':
			opts += "i"
		case 'm', 's', 'v', 'y':
			js.Cannot = "the flag " + string(f)
		}
	}
	text := "(?" + opts + ")" + js.Python
	if _, err := pattern.Compile(pattern.Search, text); err != nil && js.Cannot == "" {
		js.Cannot = err.Error()
	}
	if js.Cannot != "" {
		return obstat.Text{}, "obstat cannot run this expression: " + js.Cannot
	}
	return obstat.Text{Flavour: pattern.Search, Text: text}, ""
}

// edits makes rules of a glob of files that VS Code changes without a question, `**/*.md`.
func edits(glob string, v obstat.Verdict) ([]string, string) {
	switch {
	case strings.ContainsAny(glob, "{}[]"):
		return nil, "braces and sets in a glob are not read; write one entry for each"
	case strings.Trim(glob, "*/") == "" && v == obstat.Allow:
		return []string{"Edit(./**)"}, ""
	case strings.Trim(glob, "*/") == "":
		return []string{"Edit"}, ""
	case strings.HasPrefix(glob, "/"):
		glob = "/" + glob
	}
	return []string{"Edit(" + glob + ")"}, ""
}

// hosts makes rules of an address. Rules know hosts alone: to approve one page is to approve nothing, to deny or ask
// about one is to do so for its host.
func hosts(url string, v obstat.Verdict) ([]string, string) {
	_, rest, schemed := strings.Cut(url, "://")
	if !schemed {
		rest = url
	}
	host, page, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, ":")
	switch {
	case host == "":
		return nil, "there is no host in it"
	case strings.Trim(page, "*") != "" && v == obstat.Allow:
		return nil, "it approves one page; rules here are about hosts"
	}
	return []string{"WebFetch(domain:" + host + ")"}, ""
}
