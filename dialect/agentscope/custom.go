package agentscope

import "github.com/obstat/obstat"

// A CustomTool is a tool of the host that takes part in its own permission
// checks. It implements as many of [ReadOnlyChecker], [PermissionChecker],
// [RuleMatcher] and [Suggester] as it likes; the others are as the
// document says: not read-only, no opinion, rules match the parameters as JSON,
// and the suggestion is a rule for the whole tool.
type CustomTool any

// A ReadOnlyChecker tells whether an invocation only reads.
type ReadOnlyChecker interface {
	CheckReadOnly(input map[string]any) bool
}

// A PermissionChecker adds permission logic of the tool's own.
type PermissionChecker interface {
	CheckPermissions(input map[string]any, context Context) obstat.Finding
}

// A RuleMatcher gives rule_content a meaning of the tool's own.
type RuleMatcher interface {
	MatchRule(content string, input map[string]any) bool
}

// A Suggester proposes rule contents with an ask; "" stands for the whole tool.
type Suggester interface {
	Suggest(input map[string]any) []string
}

// Context is the part of the permission context that a tool's check sees.
type Context struct {
	Mode               obstat.Mode
	WorkingDirectories []string
	Dir                string
}

func (t *toolset) checkCustom(c CustomTool, f *obstat.Facts) obstat.Finding {
	pc, ok := c.(PermissionChecker)
	if !ok {
		return plainAsk("a function tool")
	}
	input, err := f.Object()
	if err != nil {
		return obstat.Finding{Note: err.Error()}
	}
	return pc.CheckPermissions(input, Context{Mode: f.Mode, WorkingDirectories: t.Dirs, Dir: f.Call.Dir})
}
