package chorus

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tree"
)

// toolPrefix starts every action string.
const toolPrefix = "tool:"

// grantPrefix starts the actions that change an agent's own profile.
const grantPrefix = toolPrefix + "self_edit:permissions:"

// toolGrant is the tool of these actions.
const toolGrant = "self_edit_permissions"

// An argKind is the kind of an argument.
type argKind uint8

const (
	word     argKind = iota // a text, as it is
	gitName                 // a remote: no blank in it, and no option
	branch                  // the same, and no refspec
	filePath                // a path in the workspace
	docPath                 // a path in the agent's docs
)

// An arg is an argument of a tool that its action string shows.
type arg struct {
	names []string // of which exactly one may be given
	kind  argKind
}

// An action is the document's row of a tool: the start of its action string, and
// the arguments that follow, with blanks between them.
type action struct {
	start string
	args  []arg
}

// actions is the document's table of action strings.
func actions() map[string]action {
	path := []arg{{[]string{"path"}, filePath}}
	one := func(names ...string) []arg { return []arg{{names, word}} }
	git := func(names ...string) arg { return arg{names, branch} }
	return map[string]action{
		"create_file":             {"tool:create_file:", path},
		"str_replace":             {"tool:str_replace:", path},
		"view":                    {"tool:view:", path},
		"bash":                    {"tool:bash:", one("command")},
		"git_init":                {"tool:git:init", nil},
		"git_commit":              {"tool:git:commit", nil},
		"git_push":                {"tool:git:push ", []arg{{[]string{"remote"}, gitName}, git("branch")}},
		"git_branch":              {"tool:git:branch ", []arg{git("name", "branch")}},
		"git_merge_request":       {"tool:git:merge_request ", []arg{git("target", "target_branch")}},
		"self_edit_system_prompt": {"tool:self_edit:system_prompt", nil},
		"self_edit_docs":          {"tool:self_edit:docs:", []arg{{[]string{"path"}, docPath}}},
		toolGrant:                 {grantPrefix, one("profile")},
		"self_edit_model":         {"tool:self_edit:model:", one("model", "model_name")},
	}
}

// whole returns the tools whose arguments are the document's and no files of the workspace: those of git, and those
// that edit the agent itself.
func whole() map[string]bool {
	out := map[string]bool{}
	for name, act := range actions() {
		git, self := strings.HasPrefix(act.start, toolPrefix+"git:"), strings.HasPrefix(act.start, toolPrefix+"self_edit:")
		out[name] = git || self
	}
	return out
}

// other returns the action of a tool that the table does not have. A name that
// could pass for another tool's action is refused.
func other(tool string) (action, error) {
	if tool == "git" || tool == "self_edit" {
		return action{}, fmt.Errorf("a tool cannot be called %s: the actions of the %s_* tools start so", tool, tool)
	}
	if tool == "" || strings.Contains(tool, ":") || strings.ContainsFunc(tool, blank) {
		return action{}, fmt.Errorf("a tool cannot be called %q: its action could be taken for another tool's", tool)
	}
	return action{start: toolPrefix + tool + ":"}, nil
}

// blank tells whether a character is a blank or a control character.
func blank(r rune) bool { return r <= ' ' || r == 0x7f }

// value returns the text of a in the input.
func (a *arg) value(tool string, input *tree.Node) (string, error) {
	text, found, err := kit.Text(tool, input, a.names...)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("%s is called without %s", tool, strings.Join(a.names, " or "))
	case a.kind == branch && refspec(text):
		return "", fmt.Errorf("%q cannot be the %s of %s: it is a refspec or a revision and no branch's name, and would be "+
			"taken for another branch than the one that it leads to; name the branch", text, a.names[0], tool)
	case (a.kind == gitName || a.kind == branch) && (strings.HasPrefix(text, "-") || strings.ContainsFunc(text, blank)):
		return "", fmt.Errorf("%q cannot be the %s of %s: git would take it for an option or for two words", text,
			a.names[0], tool)
	}
	return text, nil
}

// refspec tells whether a text is no plain name of a branch: `HEAD:main`, `+main`, `refs/heads/main`, `main~1` and
// `HEAD` push to or from a branch that a pattern does not see.
func refspec(text string) bool {
	return strings.ContainsAny(text, ":~^?*[\\") || strings.Contains(text, "..") || strings.Contains(text, "@{") ||
		strings.HasPrefix(text, "+") || strings.HasPrefix(text, "refs/") || strings.HasPrefix(text, "heads/") ||
		text == "HEAD" || text == "@"
}

// checkLines is the name of the line check in Programs.
const checkLines = "chorus.lines"

// A lineCheck says why an action with a line break is denied like one that no pattern
// is about, under `tool:.*` too: in Python's expressions `.` matches any character but that.
type lineCheck struct{}

// Check passes every action of one line.
func (lineCheck) Check(f *obstat.Facts) obstat.Finding {
	if text, err := Action(f.Call, nil); err != nil || !strings.Contains(text, "\n") {
		return obstat.Finding{Pass: true}
	}
	return obstat.Finding{Verdict: obstat.Deny,
		Note: "no pattern matches the action, which has a line break, and `.` in a pattern matches none: make each line a call of its own, or write (?s:.*) in the pattern"}
}
