package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// inventory are tools that agents offer their models beside those of the table of tools, as their requests have
// them: the kind, the name, and the input with ARG in it.
var inventory = map[string][][3]string{
	agent.ClaudeCode: {{"task", "Task", `{"description":"d","prompt":"p","subagent_type":"x"}`}, {"read", "LSP", `{"operation":"hover","filePath":ARG,"line":1,"character":1}`}, {"edit", "MultiEdit", `{"file_path":ARG,"edits":[]}`}, {"list", "LS", `{"path":ARG}`}},
	agent.Codex: {{"shell", "exec_command", `{"cmd":ARG,"workdir":"."}`}, {"shell", "shell", `{"command":["bash","-lc",ARG]}`}, {"shell", "local_shell", `{"command":["sh","-c",ARG]}`}, {"shell", "container.exec", `{"cmd":["bash","-lc",ARG]}`}, {"shell", "shell_command", `{"command":ARG}`},
		{"read", "view_image", `{"path":ARG}`}, {"grep", "grep_files", `{"pattern":"x","path":ARG}`}, {"task", "spawn_agent", `{"message":"p"}`}, {"task", "multi_agent_v1spawn_agent", `{"message":"p"}`}, {"task", "collaborationfollowup_task", `{"target":"a","message":"p"}`},
		{"task", "collaborationsend_message", `{"target":"a","message":"p"}`}, {"task", "multi_agent_v1send_input", `{"target":"a","message":"p"}`}, {"task", "multi_agent_v1resume_agent", `{"id":"a"}`}, {"task", "spawn_agents_on_csv", `{"csv_path":"x","instruction":"p"}`}},
	agent.Gemini:   {{"read", "read_many_files", `{"include":["x",ARG]}`}, {"list", "list_directory", `{"dir_path":ARG}`}, {"grep", "search_file_content", `{"pattern":"x","dir_path":ARG}`}},
	agent.OpenCode: {{"edit", "multiedit", `{"filePath":ARG,"edits":[]}`}, {"write", "apply_patch", `{"patchText":"*** Begin Patch\n*** Add File: src/ok\n+x\n*** End Patch"}`}, {"list", "list", `{"path":ARG}`}},
	agent.Copilot: {{"grep", "grep", `{"pattern":"x","paths":ARG}`}, {"grep", "grep", `{"pattern":"x","paths":["src",ARG]}`}, {"grep", "rg", `{"pattern":"x","paths":[ARG]}`}, {"glob", "glob", `{"pattern":"*","paths":[ARG]}`}, {"shell", "write_bash", `{"shellId":"s","input":ARG,"delay":1}`},
		{"read", "show_file", `{"path":ARG}`}, {"edit", "str_replace_editor", `{"command":"create","path":ARG,"file_text":"x"}`}, {"task", "write_agent", `{"agent_id":"1","message":"p"}`}},
	agent.Qwen: {{"shell", "monitor", `{"command":ARG,"description":"d"}`}, {"read", "zoom_image", `{"path":ARG}`}, {"read", "lsp", `{"operation":"hover","filePath":ARG,"line":1}`}, {"edit", "notebook_edit", `{"notebook_path":ARG,"new_source":"x"}`}, {"list", "list_directory", `{"path":ARG}`},
		{"grep", "grep_search", `{"pattern":"x","path":ARG}`}, {"task", "agent", `{"description":"d","prompt":"p","subagent_type":"x"}`}, {"task", "workflow", `{"script":"x"}`}, {"task", "create_sub_session", `{"prompt":"p"}`}, {"task", "team_create", `{"name":"x"}`}},
	agent.Crush:  {{"fetch", "agentic_fetch", `{"url":"https://example.com/","prompt":"p"}`}, {"search", "sourcegraph", `{"query":"x"}`}, {"list", "ls", `{"path":ARG}`}, {"grep", "grep", `{"pattern":"x","path":ARG}`}},
	agent.Cursor: {{"edit", "StrReplace", `{"path":ARG,"old_string":"a","new_string":"b"}`}, {"edit", "EditNotebook", `{"target_notebook":ARG,"new_string":"x"}`}, {"edit", "ApplyPatch", `{"patch":"*** Begin Patch\n*** Add File: src/ok\n+x\n*** End Patch"}`}, {"grep", "SemanticSearch", `{"query":"x","target_directories":[ARG]}`}, {"search", "WebSearch", `{"search_term":"x"}`}},
	agent.Cline:  {{"fetch", "browser_action", `{"action":"launch","url":"https://example.com/"}`}, {"task", "use_subagents", `{"prompt_1":"p"}`}, {"grep", "search_files", `{"path":ARG,"regex":"x"}`}, {"list", "list_files", `{"path":ARG,"recursive":"true"}`}, {"skill", "use_skill", `{"skill_name":"x"}`}},
}

// house are tools that agents keep house with: plans, questions, the state of what they started. The input is {} but
// where it says otherwise.
var house = map[string]string{
	agent.ClaudeCode: `TodoWrite TaskCreate TaskUpdate TaskGet TaskList TaskStop TaskOutput BashOutput KillShell ReportFindings ScheduleWakeup ListAgents ToolSearch AskUserQuestion ExitPlanMode EnterPlanMode CronList StructuredOutput`,
	agent.Codex:      `update_plan request_user_input request_user_input_async tool_search list_mcp_resources list_mcp_resource_templates get_goal create_goal update_goal collaborationwait_agent collaborationinterrupt_agent multi_agent_v1close_agent`,
	agent.Gemini:     `update_topic write_todos complete_task ask_user enter_plan_mode exit_plan_mode list_background_processes read_background_output tracker_create_task tracker_list_tasks get_internal_docs`,
	agent.OpenCode:   `todowrite todoread question plan_enter plan_exit invalid`,
	agent.Copilot:    `report_intent update_todo ask_user exit_plan_mode sql session_store_sql read_agent list_agents list_bash read_bash stop_bash fetch_copilot_cli_documentation task_complete store_memory`,
	agent.Qwen:       `todo_write task_create task_update task_list task_stop ask_user_question enter_plan_mode exit_plan_mode get_goal update_goal list_agents tool_search structured_output report_findings save_memory`,
	agent.Crush:      `todos job_output job_kill crush_info lsp_diagnostics`,
	agent.Cursor:     `TodoWrite AskQuestion SwitchMode CreatePlan ReadLints`,
	agent.Cline:      `attempt_completion plan_mode_respond act_mode_respond ask_followup_question focus_chain condense summarize_task load_mcp_documentation`,
}

// sends sends a call of a tool that is not in the table of tools.
func sends(t *testing.T, who, home, cwd, tool, input, arg string) (verdict, why string) {
	t.Helper()
	quoted, _ := json.Marshal(arg)
	in := payload(t, who, "read", "ARG", cwd, "")
	if in == "" {
		in = payload(t, who, "write", "ARG", cwd, "")
	}
	kind := "read"
	if tools[who][kind][0] == "" {
		kind = "write"
	}
	was := strings.ReplaceAll(tools[who][kind][1], ":ARG", `:"ARG"`)
	in = strings.Replace(strings.Replace(in, was, strings.ReplaceAll(input, "ARG", string(quoted)), 1), fmt.Sprintf("%q", tools[who][kind][0]), fmt.Sprintf("%q", tool), 1)
	if !strings.Contains(in, fmt.Sprintf("%q", tool)) || !strings.Contains(in, strings.ReplaceAll(input, "ARG", string(quoted))) {
		t.Fatalf("%s: %s %s is not in %s", who, tool, input, in)
	}
	return said(t, who, home, cwd, in)
}

// keeps sends a call of a tool that an agent keeps house with. Crush is told nothing where it is left to it.
func keeps(t *testing.T, who, home, tool string) (verdict, why string) {
	t.Helper()
	if verdict, why = sends(t, who, home, home+"/p", tool, `{}`, ""); who == agent.Crush && verdict == "ask" {
		verdict = "allow"
	}
	return verdict, why
}

// TestInventory: rules about a kind hold for every tool of that kind that an agent has, in each notation, and
// so do rules about paths, however the agent names the field.
func TestInventory(t *testing.T) {
	names := map[string][2]string{"shell": {"Bash", "bash"}, "read": {"Read", "read"}, "grep": {"Grep", "grep"}, "glob": {"Glob", "glob"}, "list": {"LS", "list"}, "write": {"Edit", "edit"}, "edit": {"Edit", "edit"}, "task": {"Agent", "task"},
		"skill": {"Skill", "skill"}, "fetch": {"WebFetch", "webfetch"}, "search": {"WebSearch", "websearch"}}
	policies := func(kind string) map[string][2]string {
		n := names[kind]
		return map[string][2]string{
			"opencode": {"opencode.json", fmt.Sprintf(`{"permission":{"*":"allow","external_directory":"allow",%q:"deny"}}`, n[1])},
			"program":  {"obstat.json", fmt.Sprintf(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r"}],"default":"allow"}},"rules":{"r":[{"tool":%q,"verdict":"deny"}]}}`, n[0])},
			"native":   {"obstat.yaml", everything + "deny: [tool " + n[0] + "]\n"},
		}
	}
	homes := map[string]string{}
	i := 0
	for who, list := range inventory {
		for _, tool := range list {
			for name, p := range policies(tool[0]) {
				if i++; !*full && i%3 != 0 { // each tool in one notation
					continue
				}
				if homes[tool[0]+name] == "" {
					homes[tool[0]+name] = place(t, map[string]string{"p/" + p[0]: p[1], "p/d/a": ""})
				}
				home := homes[tool[0]+name]
				arg := map[string]string{"shell": "ls", "grep": home + "/p/d", "glob": home + "/p/d", "list": home + "/p/d"}[tool[0]]
				if arg == "" {
					arg = home + "/p/d/a"
				}
				if got, why := sends(t, who, home, home+"/p", tool[1], tool[2], arg); got != "deny" {
					t.Errorf("%s denies %s: %s: %s: %s: %s", name, tool[0], who, tool[1], got, why)
				}
			}
		}
	}
	for name, denied := range secret {
		file, text := but(name, denied)
		home := place(t, map[string]string{"p/" + file: text, "p/src/a": "", "p/secret/s": ""})
		for who, list := range inventory {
			for _, tool := range list {
				if !strings.Contains(tool[2], "ARG") || tool[0] == "glob" || tool[0] == "list" {
					continue // what there is may be listed
				}
				if i++; !*full && i%2 != 0 {
					continue
				}
				for _, at := range []string{"/p", "/p/src"} {
					arg, free := home+"/p/secret/s", home+"/p/src/a"
					switch tool[0] {
					case "shell":
						arg, free = "cat ~/p/secret/s", "cat ~/p/src/a"
					case "grep":
						arg, free = home+"/p/secret", home+"/p/src"
					}
					if got, why := sends(t, who, home, home+at, tool[1], tool[2], arg); got != "deny" {
						t.Errorf("%s: %s in %s: %s %s: %s: %s", name, who, at, tool[1], arg, got, why)
					}
					if got, why := sends(t, who, home, home+at, tool[1], tool[2], free); got != "allow" {
						t.Errorf("%s: %s in %s: %s %s: %s: %s", name, who, at, tool[1], free, got, why)
					}
				}
			}
		}
	}
}

// TestHouse: no default denies or asks about what agents keep house with; a rule that names such a tool holds, for
// other agents' tools of the kind as well, and for no other.
func TestHouse(t *testing.T) {
	for name, p := range map[string][2]string{
		"opencode": {"opencode.json", `{"permission":{"*":"deny"}}`}, "opencode asks": {"opencode.json", `{"permission":"ask"}`}, "claudecode": {".claude/settings.json", `{"permissions":{"defaultMode":"dontAsk"}}`},
		"program": {"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"deny"}},"rules":{}}`}, "native": {"obstat.yaml", "version: 1\nallow: [run make]\n"}, "nothing": {"x", ""},
		"jiuwen": {".jiuwenswarm/config/config.yaml", `{"permissions":{"enabled":true,"schema":"tiered_policy","permission_mode":"normal","defaults":{"*":"deny"}}}`}, "chorus": {"agent.json", `{"name":"a","permissions":{"allow":["tool:bash:make"]}}`},
	} {
		home := place(t, map[string]string{"p/" + p[0]: p[1]})
		for who, list := range house {
			for tool := range strings.FieldsSeq(list) {
				if got, why := keeps(t, who, home, tool); got != "allow" {
					t.Errorf("%s: %s: %s: %s: %s", name, who, tool, got, why)
				}
			}
		}
	}
	todo := strings.Fields("TodoWrite TaskCreate update_plan write_todos todowrite update_todo todo_write todos")
	for name, p := range map[string][2]string{
		"opencode": {"opencode.json", `{"permission":{"*":"allow","todowrite":"deny"}}`}, "native": {"obstat.yaml", everything + "deny: [tool TodoWrite]\n"},
		"program": {"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r"}],"default":"allow"}},"rules":{"r":[{"tool":"TodoWrite","verdict":"deny"}]}}`},
	} {
		home := place(t, map[string]string{"p/" + p[0]: p[1]})
		for who, list := range house {
			for tool := range strings.FieldsSeq(list) {
				want := "allow"
				if slices.Contains(todo, tool) {
					want = "deny"
				}
				if got, why := keeps(t, who, home, tool); got != want && !strings.HasPrefix(tool, "Task") && tool != "todoread" {
					t.Errorf("%s denies todos: %s: %s: %s, want %s: %s", name, who, tool, got, want, why)
				}
			}
		}
	}
}

// TestLists: a command that is a list of words gets the answers of the text that means the same, in every notation, in
// the directory that the call names.
func TestLists(t *testing.T) {
	for _, n := range notations {
		home := place(t, map[string]string{"p/" + n.file: rulesOf(n.text), "p/src/a": "", "p/secret/s": "", "p/docs/a": ""})
		for line, want := range map[string]string{"make all": "allow", "git log -1": "allow", "git push origin main": "ask", "rm x": "deny", "echo x > secret/new": "deny", "make all && rm x": "deny"} {
			words, _ := json.Marshal(strings.Fields(line))
			text, _ := json.Marshal(line)
			forms := []string{`{"command":["bash","-lc",` + string(text) + `]}`, `{"command":["/bin/sh","-c",` + string(text) + `],"timeout_ms":1000}`}
			if !strings.ContainsAny(line, ">&") {
				forms = append(forms, `{"command":`+string(words)+`}`, `{"cmd":`+string(words)+`,"workdir":`+fmt.Sprintf("%q", home+"/p")+`}`)
			}
			for i, form := range forms {
				tool := []string{"shell", "local_shell", "container.exec", "exec_command"}[i]
				if got, why := sends(t, agent.Codex, home, home+"/p", tool, form, ""); got != want {
					t.Errorf("%s: %s %s: %s, want %s: %s", n.name, tool, form, got, want, why)
				}
			}
		}
		for _, c := range [][3]string{{`["touch","../secret/x"]`, "touch ../secret/x", "src"}, {`["bash","-lc","touch ../secret/x"]`, "touch ../secret/x", home + "/p/src"}, {`["touch","x"]`, "touch x", "secret"}, {`["cp","../src/a","my file"]`, "cp ../src/a 'my file'", "secret"}} {
			got, why := sends(t, agent.Codex, home, home+"/p", "shell", fmt.Sprintf(`{"command":%s,"workdir":%q}`, c[0], c[2]), "")
			text, _ := sends(t, agent.Codex, home, home+"/p", "exec_command", fmt.Sprintf(`{"cmd":%q,"workdir":%q}`, c[1], c[2]), "")
			if got != text || got == "allow" {
				t.Errorf("%s: %s in %s: %s, and %s as a text: %s", n.name, c[0], c[2], got, text, why)
			}
		}
	}
}
