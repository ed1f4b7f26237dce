package agents

import (
	"fmt"
	"strings"
)

// The modes of Codex: `codex exec` with a sandbox, which never asks; with its reviewer, by the reviewer's
// verdict; and its app-server, which asks the client.
const (
	codexReadOnly  = "read-only, never asks"
	codexWorkspace = "workspace-write, never asks"
	codexDanger    = "danger-full-access, never asks"
	codexBypass    = "no sandbox, no approvals"
	reviewAllows   = "auto-review, reviewer allows"
	reviewDenies   = "auto-review, reviewer denies"
	reviewGarbled  = "auto-review, verdict garbled"
	codexAsksRead  = "read-only, on request"
	codexAsksWork  = "workspace-write, on request"
)

// codexIn is Codex in a cell.
type codexIn struct {
	codex
	cell *Cell
}

func (c codexIn) verdict() string {
	return map[string]string{reviewAllows: `{"outcome":"allow"}`, reviewGarbled: "perhaps",
		reviewDenies: `{"risk_level":"critical","user_authorization":"low","outcome":"deny","rationale":"the script says so"}`}[c.cell.Mode]
}

// codexRulable: its rules are about commands and about tools of servers, not about patches.
func codexRulable(kind, _ string) bool {
	return kind != kindCreate && kind != kindEdit && kind != kindOutside
}

func (c codexIn) setup(r *run) error {
	if err := c.codex.setup(r); err != nil {
		return err
	}
	if c.cell.Rule == ruleNone {
		return nil
	}
	if c.cell.Kind == kindMCP {
		return r.replace(r.home(".codex/config.toml"), `(?s)$`, map[string]string{ruleDeny: "disabled_tools = [\"touch\"]\n",
			ruleAsk:   "\n[mcp_servers." + serverName + ".tools.touch]\napproval_mode = \"prompt\"\n",
			ruleAllow: "\n[mcp_servers." + serverName + ".tools.touch]\napproval_mode = \"approve\"\n"}[c.cell.Rule])
	}
	word := "touch"
	if c.cell.Kind == kindRead {
		word = "cat"
	}
	decision := map[string]string{ruleDeny: "forbidden", ruleAsk: "prompt", ruleAllow: "allow"}[c.cell.Rule]
	return r.write(r.home(".codex/rules/default.rules"), fmt.Sprintf("prefix_rule(pattern=[%q], decision=%q)\n", word, decision))
}

func (c codexIn) command(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@openai/codex-PLATFORM/vendor/*/bin/codex")
	env = []string{"SCRIPTED_API_KEY=dummy"}
	sandbox, _, _ := strings.Cut(c.cell.Mode, ",")
	exec := []string{bin, "exec", "--json", "--skip-git-repo-check", "-C", r.cwd()}
	switch c.cell.Mode {
	case codexAsksRead, codexAsksWork:
		return []string{r.lab, "codex-client", bin, r.cwd(), sandbox, prompt}, env, err
	case codexBypass:
		exec = append(exec, "--dangerously-bypass-approvals-and-sandbox")
	case reviewAllows, reviewDenies, reviewGarbled:
		exec = append(exec, "-s", "workspace-write", "-c", `approvals_reviewer="auto_review"`, "-c", `approval_policy="on-request"`)
	default:
		exec = append(exec, "-s", sandbox)
	}
	return append(exec, prompt), env, err
}

func (c codexIn) calls(a action) []Call {
	switch a.do {
	case doEdit:
		return []Call{{Tool: "apply_patch",
			Text: "*** Begin Patch\n*** Update File: " + a.path + "\n@@\n-" + editFrom + "\n+" + editTo + "\n*** End Patch\n"}}
	case doEscalate:
		return []Call{{Tool: "exec_command", Args: object{"cmd": a.what, "sandbox_permissions": "require_escalated", "justification": "a step of the script"}}}
	}
	return c.codex.calls(a)
}
