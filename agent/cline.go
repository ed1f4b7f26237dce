package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/shell"
)

// Cline is the name of the agent, as in `obstat hook cline`.
const Cline = "cline"

// cline is Cline, in both of its documented generations.
func cline() *Agent {
	return &Agent{
		Name: Cline, Title: "Cline", Patience: 30 * time.Second,
		wire: wire{
			marks:  func(s *sent) likeness { return surelyIf(s.has("clineVersion")) },
			decode: clineDecode, encode: clineEncode,
			others: "read=read_file:path fetch=web_fetch:url task=new_task:context mcp=SERVER/TOOL:x",
			housekeeping: `attempt_completion plan_mode_respond act_mode_respond ask_followup_question focus_chain
				condense summarize_task load_mcp_documentation report_bug generate_explanation`,
			modes: []Mode{{Name: AnyMode, Allow: Idle,
				Says: "Plan and act: its auto-approval and its prompt follow; it cannot be told to ask."}},
			askings: []Asking{{Way: "always", At: AtObstat}},
		},
		settings: settings{
			events: []string{preToolUse}, limit: 30 * time.Second, places: clinePlaces,
			ownFile: preToolUse, ownMode: 0o755, own: clineFile, more: clineMore, script: clineWords,
			reads: func(name string) bool { return name == preToolUse },
			forge: clineForge, check: clineCheck,
			start:   func(h *Hook, _ func(string) string) []string { return []string{h.File.Name} },
			honours: func(_ *Hook, s *said) Outcome { return blockedIf(isBool(s.object.Get("cancel"), true)) },
			version: "2026-08", covers: clineCovers,
			brief: "no | denied | no | denied",
		},
		traits: traits{programs: "cline", process: "cline", sets: "CLINE_ACTIVE", hooks: "cline/hooks/"},
	}
}

var clinePlaces = []place{
	{scope: User, under: "Documents/Cline/Hooks", dir: true, install: true},
	{scope: Project, path: ".clinerules/hooks", dir: true, install: true},
}

var clineCovers = []Limit{
	{"asking", No, "Cline cannot be told to ask, so an ask is a denial; obstat ask can answer it."},
	{"changed arguments", No, "Arguments cannot be changed; what is allowed only with others is denied."},
	{"a hook that fails", Yes, "The script cancels where obstat is missing or dies."},
	{"a hook that is late", Partly, "Older versions deny after 30 s, newer ones are not documented."},
	{"other systems", No, "The hook is a shell script: macOS and Linux."},
}

// clineOther are the events that ask for no permission.
const clineOther = "TaskStart TaskResume TaskCancel TaskComplete PostToolUse UserPromptSubmit PreCompact"

// clineAfter is the event after a call; its script is a second file beside the other.
const clineAfter = "PostToolUse"

func clineDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "clineVersion hookName taskId workspaceRoots workspacePath preToolUse postToolUse")
	use, done := r.Get("preToolUse"), r.Get("postToolUse")
	switch {
	case e.Name == clineAfter && use == nil && done != nil:
		use = done
	case among(clineOther, e.Name) && use == nil:
		return
	case e.Name != "" && e.Name != preToolUse:
		p.noEvent(e)
	case use == nil:
		p.fail("preToolUse is missing")
	}
	p.keys(use, "toolName tool parameters result success executionTimeMs")
	if use.Get("toolName") != nil && use.Get("tool") != nil {
		p.fail("the tool is named twice")
	}
	c := &obstat.Call{Tool: p.need(use, either(use, "toolName", "tool")), Input: p.input(use, "parameters", false),
		Session: p.text(r, "taskId"), Dir: p.text(r, "workspacePath"), Roots: p.roots(r.Get("workspaceRoots"))}
	if c.Tool == "use_mcp_tool" {
		params := use.Get("parameters")
		c.Tool, c.Input = mcp(p.need(params, "server_name"), p.need(params, "tool_name")), nil
		if params.Get("arguments") != nil {
			c.Input = p.input(params, "arguments", true)
		}
	}
	if c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	e.Call = c
	if done != nil && use == done {
		e.Done = clineDone(p, use)
	}
}

// clineDone reads the outcome of a call.
func clineDone(p *payload, use *tree.Node) *Done {
	d := &Done{State: Ran, Took: p.millis(use, "executionTimeMs")}
	if n := use.Get("result"); n != nil {
		d.Result = n.Source(p.src)
	}
	if isBool(use.Get("success"), false) {
		d.State, d.Error = Failed, text(use, "result")
	}
	return d
}

func clineEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return reply(obj("cancel", false), "", 0)
	}
	return reply(obj("cancel", true, "errorMessage", a.reason), a.reason, exitDeny)
}

// clineScript cancels by itself where obstat is not there.
const clineScript = `#!/bin/sh
# Written by ` + "`obstat install cline`" + `: asks obstat before every tool call.
%s && exit 0
[ $? = 2 ] && exit 2
echo '{"cancel":true,"errorMessage":"obstat did not answer, so the call is denied"}'
`

// clineAfterScript leaves obstat behind, so that Cline does not wait.
const clineAfterScript = `#!/bin/sh
# Written by ` + "`obstat install cline`" + `: tells obstat what became of a tool call.
%s
echo '{"cancel":false}'
`

// clineMore adds the script for calls that are over, or takes it back.
func clineMore(t *target, _ *Request, remove bool) []Change {
	name := filepath.Join(filepath.Dir(t.file), clineAfter)
	mine := fmt.Sprintf(clineAfterScript, readFirst+shellWords(t.call.Argv())+inBackground)
	return []Change{{Name: name, Mode: 0o755, Edit: func(old []byte) ([]byte, error) {
		ours := old == nil || strings.Contains(string(old), "Written by `obstat install cline`")
		switch {
		case !ours:
			return old, nil
		case remove:
			return nil, nil
		}
		return []byte(mine), nil
	}}}
}

func clineFile(c Invocation) []byte { return fmt.Appendf(nil, clineScript, shellWords(c.Argv())) }

func clineWords(line string) []string {
	if strings.HasPrefix(line, "#") {
		return nil
	}
	return splitWords(line)
}

func clineForge(event, dir string, p probe) object {
	tool, args := p.as("execute_command", "write_to_file", "path", "content")
	if p.args != nil && strings.Contains(p.text, "/") {
		server, name := p.ofServer()
		tool, args = "use_mcp_tool", obj("server_name", server, "tool_name", name, "arguments", "{}")
	}
	return obj("clineVersion", "3.0.0", "hookName", event, "timestamp", "1767225600000", "taskId", canarySession,
		"workspaceRoots", []any{dir}, "userId", canarySession,
		"preToolUse", obj("toolName", tool, "parameters", args))
}

func clineCheck(s *Setup) {
	for _, h := range s.Hooks {
		if info, err := os.Stat(h.File.Name); err != nil || info.Mode()&0o111 == 0 {
			s.idle(h, "not-executable", "chmod +x "+shell.Quote(h.File.Name), "Cline runs only files that are executable")
		}
	}
}
