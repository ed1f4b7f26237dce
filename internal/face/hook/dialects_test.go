package hook

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notations are one policy in nine notations. It allows git status, git log, npm, make and echo,
// and files below src/ to be written; it asks about git push and denies rm, curl and files below
// secret/. What it does not speak of is asked, in Chorus, which has no such thing, denied.
var notations = []struct{ name, file, text string }{
	{"claudecode", ".claude/settings.json", `{"permissions":{
		"allow":["Bash(git status *)","Bash(git log *)","Bash(npm *)","Bash(make *)","Bash(echo *)","Edit(/src/**)","Agent","mcp__canary__touch"],
		"ask":["Bash(git push *)","Skill"],"deny":["Bash(rm *)","Bash(curl *)","Edit(/secret/**)","Read(/secret/**)","WebFetch","mcp__canary__poke"]}}`},
	{"native", "obstat.yaml", `
version: 1
allow: ["run git status, git log, npm, make, echo", write src, read workspace, "tool Agent, mcp__canary__touch"]
ask: [run git push, tool Skill]
deny: ["run rm, curl", read and write ./secret, "tool WebFetch, mcp__canary__poke"]
`},
	{"opencode", "opencode.json", `{"permission":{"*":"ask","bash":{"*":"ask","git status *":"allow","git log *":"allow","npm *":"allow","make *":"allow","echo *":"allow","git push *":"ask","rm *":"deny","curl *":"deny"},
		"edit":{"*":"ask","src/*":"allow","secret/*":"deny"},"read":{"*":"allow","secret/*":"deny"},"task":"allow","skill":"ask","webfetch":"deny","canary_poke":"deny","canary_touch":"allow"}}`},
	{"program", "obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny","rules":"deny"},{"match":"ask","rules":"ask"},{"match":"allow","rules":"allow"}],"default":"ask"}},
		"faces":{"write":{"tool":"edit","field":"file_path"},"read":{"tool":"read","field":"file_path"}},"rules":{
		"deny":[{"tool":"shell","field":"command","match":{"wildcard":"rm *"},"verdict":"deny"},{"tool":"shell","field":"command","match":{"wildcard":"curl *"},"verdict":"deny"},{"tool":"edit","field":"file_path","match":{"minimatch":"secret/**"},"verdict":"deny"},
			{"tool":"read","field":"file_path","match":{"minimatch":"secret/**"},"verdict":"deny"},{"tool":"fetch","verdict":"deny"},{"tool":"canary_poke","verdict":"deny"}],
		"ask":[{"tool":"shell","field":"command","match":{"wildcard":"git push *"},"verdict":"ask"},{"tool":"skill","verdict":"ask"}],
		"allow":[{"tool":"shell","field":"command","match":{"re.full":"(git (status|log)|npm|make|echo)( .*)?"},"verdict":"allow"},{"tool":"edit","field":"file_path","match":{"minimatch":"src/**"},"verdict":"allow"},{"tool":"read","verdict":"allow"},{"tool":"subagent","verdict":"allow"},{"tool":"canary_touch","verdict":"allow"}]}}`},
	{"agentscope", "permission_context.json", `{"mode":"default","working_directories":{},
		"allow_rules":{"Bash":[RULE(Bash,git status:*,allow),RULE(Bash,git log:*,allow),RULE(Bash,npm:*,allow),RULE(Bash,make:*,allow),RULE(Bash,echo:*,allow)],"Write":[RULE(Write,**/src/**,allow)],"Edit":[RULE(Edit,**/src/**,allow)],"Read":[RULE(Read,**,allow)],
			"Agent":[TOOL(Agent,allow)],"mcp__canary__touch":[TOOL(mcp__canary__touch,allow)]},
		"deny_rules":{"Bash":[RULE(Bash,rm:*,deny),RULE(Bash,curl:*,deny)],"Write":[RULE(Write,**/secret/**,deny)],"Edit":[RULE(Edit,**/secret/**,deny)],"Read":[RULE(Read,**/secret/**,deny)],"WebFetch":[TOOL(WebFetch,deny)],"mcp__canary__poke":[TOOL(mcp__canary__poke,deny)]},
		"ask_rules":{"Bash":[RULE(Bash,git push:*,ask)],"Skill":[TOOL(Skill,ask)]}}`},
	{"jiuwen", ".jiuwenswarm/config/config.yaml", `{"permissions":{"enabled":true,"schema":"tiered_policy","permission_mode":"normal","tools":{"bash":"ask","write_file":"ask","edit_file":"ask","read_file":"allow","mcp_fetch_webpage":"deny","canary_poke":"deny","canary_touch":"allow","task":"allow","skill":"ask"},
		"rules":[{"id":"d1","tools":["bash"],"pattern":"rm *","severity":"CRITICAL","action":"deny"},{"id":"d2","tools":["bash"],"pattern":"curl *","severity":"CRITICAL","action":"deny"},{"id":"a1","tools":["bash"],"pattern":"git push *","action":"ask","severity":"HIGH"},
			{"id":"o1","tools":["bash"],"pattern":"git status *","action":"allow","severity":"LOW"},{"id":"o2","tools":["bash"],"pattern":"git log *","action":"allow","severity":"LOW"},{"id":"o3","tools":["bash"],"pattern":"npm *","action":"allow","severity":"LOW"},
			{"id":"o4","tools":["bash"],"pattern":"make *","action":"allow","severity":"LOW"},{"id":"o5","tools":["bash"],"pattern":"echo *","action":"allow","severity":"LOW"},
			{"id":"d3","tools":["write_file","edit_file","read_file"],"pattern":"**/secret/**","action":"deny","severity":"CRITICAL"},{"id":"o6","tools":["write_file","edit_file"],"pattern":"**/src/**","action":"allow","severity":"LOW"}]}}`},
	{"gemini", ".gemini/policies/p.toml", `
		[[rule]]
		toolName = "run_shell_command"
		commandPrefix = ["git status", "git log", "npm", "make", "echo"]
		decision = "allow"
		priority = 100
		[[rule]]
		toolName = "run_shell_command"
		commandPrefix = "git push"
		decision = "ask_user"
		priority = 200
		[[rule]]
		toolName = "run_shell_command"
		commandPrefix = ["rm", "curl"]
		decision = "deny"
		priority = 300
		[[rule]]
		toolName = ["read_file", "write_file", "replace"]
		argsPattern = '"file_path":"[^"]*secret/'
		decision = "deny"
		priority = 300
		[[rule]]
		toolName = ["write_file", "replace"]
		argsPattern = '"file_path":"[^"]*src/'
		decision = "allow"
		priority = 100
		[[rule]]
		toolName = "web_fetch"
		decision = "deny"
		priority = 100
		[[rule]]
		mcpName = "canary"
		toolName = "poke"
		decision = "deny"
		priority = 100
		[[rule]]
		mcpName = "canary"
		toolName = "touch"
		decision = "allow"
		priority = 100`},
	{"chorus", "agent.json", `{"name":"a","permissions":{"allow":["tool:bash:(git (status|log)|npm|make|echo)( .*)?","tool:(create_file|str_replace):src/.*","tool:view:(?!secret/).*","tool:(Agent|task|collaborationspawn_agent|invoke_agent|agent|Task|new_task):.*"],
		"ask":["tool:bash:(?!rm |curl ).*","tool:(create_file|str_replace):(?!secret/).*","tool:(Skill|skill|activate_skill):.*"]}}`},
}

// oneCall is a call of any agent, and what the policy says to it.
type oneCall struct{ kind, arg, want string }

// sameCalls returns 500 calls: commands alone, behind wrappers and in lists, files of the project
// by every tool, and tools that take no such argument.
func sameCalls(p string) (out []oneCall) {
	stricter := map[string]int{"deny": 0, "ask": 1, "allow": 2}
	base := []oneCall{{"shell", "git status -s", "allow"}, {"shell", "git log --oneline", "allow"}, {"shell", "npm test", "allow"}, {"shell", "make all", "allow"}, {"shell", "echo hi", "allow"},
		{"shell", "git push origin main", "ask"}, {"shell", "cargo build", "ask"}, {"shell", "docker run x", "ask"}, {"shell", "rm x.txt", "deny"}, {"shell", "rm -rf build", "deny"}, {"shell", "curl https://example.com/", "deny"},
		{"shell", "npm run build", "allow"}, {"shell", "git log -1 src/a", "allow"}, {"shell", "echo x > src/new", "allow"}, {"shell", "echo x > secret/new", "deny"}, {"shell", "echo x > " + p + "/secret/new", "deny"}}
	out = append(out, base...)
	for _, a := range base { // behind wrappers, in other shells
		for _, w := range []string{"env CI=1 %s", "timeout 5 %s", "nice %s", "(%s)", "sh -c '%s'", "cd " + p + " && %s"} {
			out = append(out, oneCall{"shell", fmt.Sprintf(w, a.arg), a.want})
		}
	}
	for _, a := range base { // in lists
		for i, b := range base {
			if i%2 == 1 {
				continue
			}
			want := a.want
			if stricter[b.want] < stricter[want] {
				want = b.want
			}
			out = append(out, oneCall{"shell", a.arg + []string{" && ", "; ", " || "}[i/2%3] + b.arg, want})
		}
	}
	for _, kind := range []string{"write", "edit"} {
		for i := range 25 {
			out = append(out, oneCall{kind, fmt.Sprintf("%s/src/f%d", p, i), "allow"}, oneCall{kind, fmt.Sprintf("%s/secret/f%d", p, i), "deny"}, oneCall{kind, fmt.Sprintf("%s/docs/f%d", p, i), "ask"})
		}
	}
	for i := range 25 {
		out = append(out, oneCall{"read", fmt.Sprintf("%s/secret/f%d", p, i), "deny"}, oneCall{"read", fmt.Sprintf("%s/docs/f%d", p, i), "allow"})
	}
	for _, c := range []oneCall{{"task", "", "allow"}, {"skill", "", "ask"}, {"fetch", "", "deny"}, {"mcp", "", "deny"}} {
		for range 15 {
			out = append(out, c)
		}
	}
	return out[:500]
}

// A difference is a kind of calls that a document lets a person be asked about where the policy
// allows them: in says which, by texts of their commands.
type difference struct {
	dialect, why string
	in           []string
}

// differences are all that the documents say otherwise. What is denied is denied in all of them.
var differences = []difference{
	{"claudecode", "an allow rule is about the command itself: of wrappers only timeout, nice and the like are looked through, not env and sh -c", []string{"env CI=1 ", "sh -c"}},
	{"native", "a shell that is started is a program of its own, which no rule here is about", []string{"sh -c"}},
	{"opencode", "a pattern is about the command as it is written, wrappers included", []string{"env CI=1 ", "sh -c", "timeout 5 ", "nice "}},
	{"program", "a match is about the whole command line as it is written", []string{"env CI=1 ", "sh -c", "timeout 5 ", "nice ", "(", "cd "}},
	{"agentscope", "a prefix is about the start of the command line as it is written", []string{"env CI=1 ", "sh -c", "timeout 5 ", "nice ", "(", "cd ", "> src/new"}},
	{"jiuwen", "an operator of the shell turns an allow into an ask, and a pattern is about the command as it is written", []string{"env CI=1 ", "sh -c", "timeout 5 ", "nice ", "(", "cd ", "> src/new", "&&", "||", ";"}},
	{"gemini", "a prefix is about the start of a command as it is written, and a redirect is asked about", []string{"env CI=1 ", "sh -c", "timeout 5 ", "nice ", "cd ", "(", "> src/new"}},
	{"chorus", "an action is the whole command line as it is written; there is no default but a denial, so that the ask for all other commands is a rule, which holds for what npm runs, and for what is written before that, as well",
		[]string{"env CI=1 ", "sh -c", "timeout 5 ", "nice ", "(", "cd ", "npm run", "> src/new; npm"}},
}

// mayAsk tells whether a dialect's document lets a person be asked about a call that is allowed.
func mayAsk(dialect string, c *oneCall) bool {
	for _, d := range differences {
		if d.dialect == dialect && c.kind == "shell" && c.want == "allow" && slices.ContainsFunc(d.in, func(s string) bool { return strings.Contains(c.arg, s) }) {
			return true
		}
	}
	return false
}

// full sends every call for every agent; else each goes through two of them in each notation.
var full = flag.Bool("full", false, "send all 500 calls for every agent in every notation")

// TestSameCalls: the same calls, in each agent's own form, get the same answers by the same policy
// in each notation.
func TestSameCalls(t *testing.T) {
	for _, n := range notations {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			text := rulesOf(n.text)
			home := place(t, map[string]string{"p/" + n.file: text, "p/src/a": "", "p/secret/s": "", "p/docs/a": ""})
			calls := sameCalls(home + "/p")
			every := 5
			if testing.Short() {
				every = 50
			}
			seen := map[oneCall]bool{}
			for i, c := range calls {
				for k, who := range hosts {
					if seen[c] || !*full && (i+k)%every != 0 {
						continue
					}
					got, why := answer(t, who, home, home+"/p", cell{kind: c.kind, arg: c.arg})
					if got != "" && got != c.want && !(got == "ask" && mayAsk(n.name, &c)) {
						t.Errorf("%s: %s %s: %s, want %s: %s", who, c.kind, strings.ReplaceAll(c.arg, home, "H"), got, c.want, strings.ReplaceAll(why, home, "H"))
					}
				}
				seen[c] = true
			}
		})
	}
}

// rulesOf writes out the rules of AgentScope's notation.
func rulesOf(s string) string {
	for _, short := range []string{"RULE(", "TOOL("} {
		for {
			i := strings.Index(s, short)
			if i < 0 {
				break
			}
			end := i + strings.Index(s[i:], ")")
			words := strings.Split(s[i+len(short):end], ",")
			content := "null"
			if len(words) == 3 {
				content = fmt.Sprintf("%q", words[1])
			}
			s = s[:i] + fmt.Sprintf(`{"tool_name":%q,"rule_content":%s,"behavior":%q,"source":"userSettings"}`, words[0], content, words[len(words)-1]) + s[end+1:]
		}
	}
	return s
}

// TestOwnNames: rules of dialects that name their own tools hold for every agent's tool of that kind,
// whether they deny or allow, and so do patterns of names and lists of tools that change something.
func TestOwnNames(t *testing.T) {
	adk := func(text string) [2]string { return [2]string{"adk-permissions.json", text} }
	scope := func(list, tool, behavior string) [2]string {
		rule := rulesOf(fmt.Sprintf("TOOL(%s,%s)", tool, behavior))
		return [2]string{"permission_context.json", fmt.Sprintf(`{"mode":"default","working_directories":{},%q:{%q:[%s]}}`, list, tool, rule)}
	}
	jiuwen := func(tool, level, other string) [2]string {
		return [2]string{".jiuwenswarm/config/config.yaml", fmt.Sprintf(`{"permissions":{"enabled":true,"schema":"tiered_policy","permission_mode":"normal","defaults":{"*":%q},"tools":{%q:%q}}}`, other, tool, level)}
	}
	for _, tc := range []struct {
		name   string
		policy [2]string
		cells  []cell
	}{
		{"adk denies a name", adk(`{"mode":"bypass","deny":["bash"]}`), []cell{{kind: "shell", arg: "ls", want: "deny"}, {kind: "read", arg: "P/a", want: "allow"}, {kind: "background", arg: "ls", want: "deny"}, {kind: "monitor", arg: "ls", want: "deny"}}},
		{"adk denies another name of it", adk(`{"mode":"bypass","deny":["execute_shell_command","mcp__canary__poke"]}`), []cell{{kind: "shell", arg: "ls", want: "deny"}, {kind: "mcp", want: "deny"}, {kind: "write", arg: "P/a", want: "allow"}}},
		{"adk denies a pattern", adk(`{"mode":"bypass","deny_patterns":["write_*","run_*"]}`), []cell{{kind: "shell", arg: "ls", want: "deny"}, {kind: "write", arg: "P/a", want: "deny"}, {kind: "read", arg: "P/a", want: "allow"}}},
		{"adk allows a name", adk(`{"mode":"default","allow":["bash","read_file"]}`), []cell{{kind: "shell", arg: "make", want: "allow"}, {kind: "read", arg: "P/a", want: "allow"}, {kind: "write", arg: "P/a", want: "ask"}}},
		{"adk plans", adk(`{"mode":"plan","allow":["bash","read_file"]}`), []cell{{kind: "shell", arg: "make", want: "deny"}, {kind: "write", arg: "P/a", want: "deny"}, {kind: "edit", arg: "P/a", want: "deny"}, {kind: "delete", arg: "P/a", want: "deny"}, {kind: "read", arg: "P/a", want: "allow"}, {kind: "two", arg: "P/a", want: "deny"}}},
		{"adk accepts edits", adk(`{"mode":"accept_edits"}`), []cell{{kind: "write", arg: "P/a", want: "allow"}, {kind: "edit", arg: "P/a", want: "allow"}, {kind: "task", want: "ask"}}},
		{"AgentScope denies Bash", scope("deny_rules", "Bash", "deny"), []cell{{kind: "shell", arg: "ls", want: "deny"}, {kind: "background", arg: "ls", want: "deny"}}},
		{"AgentScope denies Write", scope("deny_rules", "Write", "deny"), []cell{{kind: "write", arg: "P/a", want: "deny"}}},
		{"AgentScope denies Edit", scope("deny_rules", "Edit", "deny"), []cell{{kind: "edit", arg: "P/a", want: "deny"}, {kind: "notebook", arg: "P/a.ipynb", want: "deny"}, {kind: "delete", arg: "P/a", want: "deny"}, {kind: "multi", arg: "P/a", want: "deny"}, {kind: "two", arg: "P/a", want: "deny"}}},
		{"AgentScope denies Read", scope("deny_rules", "Read", "deny"), []cell{{kind: "read", arg: "P/a", want: "deny"}, {kind: "many", arg: "P/a", want: "deny"}}},
		{"AgentScope allows Bash", scope("allow_rules", "Bash", "allow"), []cell{{kind: "shell", arg: "make", want: "allow"}, {kind: "write", arg: "P/a", want: "ask"}}},
		{"AgentScope denies a server's tool", scope("deny_rules", "mcp__canary__poke", "deny"), []cell{{kind: "mcp", want: "deny"}}},
		{"JiuwenSwarm denies bash", jiuwen("bash", "deny", "allow"), []cell{{kind: "shell", arg: "ls", want: "deny"}, {kind: "read", arg: "P/a", want: "allow"}}},
		{"JiuwenSwarm denies mcp_exec_command", jiuwen("mcp_exec_command", "deny", "allow"), []cell{{kind: "shell", arg: "ls", want: "deny"}}},
		{"JiuwenSwarm allows write_text_file", jiuwen("write_text_file", "allow", "ask"), []cell{{kind: "write", arg: "P/a", want: "allow"}, {kind: "task", want: "ask"}}},
		{"JiuwenSwarm denies fetching", jiuwen("mcp_fetch_webpage", "deny", "allow"), []cell{{kind: "fetch", want: "deny"}, {kind: "search", want: "allow"}}},
		{"Chorus allows view", [2]string{"agent.json", `{"name":"a","permissions":{"allow":["tool:view:.*"],"ask":["tool:bash:.*"]}}`}, []cell{{kind: "read", arg: "P/a", want: "allow"}, {kind: "shell", arg: "make", want: "ask"}, {kind: "write", arg: "P/a", want: "deny"}, {kind: "edit", arg: "P/a", want: "deny"}}},
		{"a Program lists tools", [2]string{"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"when":"changes","tools":["shell","Edit"],"then":"deny"}],"default":"allow"}},"rules":{}}`},
			[]cell{{kind: "shell", arg: "ls", want: "deny"}, {kind: "write", arg: "P/a", want: "deny"}, {kind: "edit", arg: "P/a", want: "deny"}, {kind: "notebook", arg: "P/a", want: "deny"}, {kind: "delete", arg: "P/a", want: "deny"}, {kind: "read", arg: "P/a", want: "allow"}, {kind: "task", want: "allow"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := place(t, map[string]string{"p/" + tc.policy[0]: tc.policy[1], "p/a": "", "p/src/ok": ""})
			for i := range tc.cells {
				tc.cells[i].arg = strings.Replace(tc.cells[i].arg, "P/", home+"/p/", 1)
			}
			check(t, tc.name, home, home+"/p", tc.cells...)
		})
	}
}

// TestSameCallsPage: docs/agents/dialects.md lists the differences that TestSameCalls lets pass.
func TestSameCallsPage(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "# The same calls in every dialect\n\nMade by `go test ./internal/face/hook -run TestSameCallsPage -update`. `TestSameCalls` sends %d calls (commands alone, behind wrappers and in lists, files, subagents, skills, pages and a server's tools) in the wire form of %d agents, under the same policy in %d dialects; `-full` sends each call for each agent, and all answers are the same but for these.\n\nWhat the policy denies or asks about is denied or asked about in every dialect, by every agent. A call that it allows may be asked about where the dialect's document has it so:\n\n| dialect | asked about | because |\n|---|---|---|\n", len(sameCalls("/p")), len(hosts), len(notations))
	for _, d := range differences {
		var in []string
		for _, text := range d.in {
			in = append(in, "`"+strings.ReplaceAll(strings.TrimSpace(text), "|", `\|`)+"`")
		}
		fmt.Fprintf(&b, "| %s | commands with %s | %s |\n", d.dialect, strings.Join(in, ", "), d.why)
	}
	b.WriteString("\nCodex's rules are about commands alone, and adk-fluent's about names of tools: they cannot say this policy. `TestOwnNames` holds adk-fluent's, and Codex's are compared with the answers of `codex execpolicy check`.\n")
	name := filepath.Join("..", "..", "..", "docs", "agents", "dialects.md")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != b.String() {
		t.Errorf("docs/agents/dialects.md is not as the table is: run with -update (%v)", err)
	}
}
