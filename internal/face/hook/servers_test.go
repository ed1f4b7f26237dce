package hook

import (
	"fmt"
	"strings"
	"testing"
)

// serverCall is a call of a tool of an MCP server, in an agent's own spelling.
func serverCall(t *testing.T, who, server, tool, cwd string) string {
	return strings.NewReplacer("mcp__canary__poke", "mcp__"+server+"__"+tool, "mcp_canary_poke", "mcp_"+server+"_"+tool, "canary_poke", server+"_"+tool, "canary-poke", server+"-"+tool,
		`"canary"`, `"`+server+`"`, `"poke"`, `"`+tool+`"`).Replace(payload(t, who, "mcp", "", cwd, ""))
}

// TestServers: a rule for a server's tool, or for all of its tools, holds in every notation for every agent's
// spelling of it, with dashes, underscores, dots and capitals in the names.
func TestServers(t *testing.T) {
	for i, n := range [][2]string{{"my-server", "get-file"}, {"my_server", "get_file"}, {"My-Server", "Get_File"}, {"GitHub", "createIssue"}, {"my-server", "Get__File"}, {"a.b", "c.d"}} {
		server, tool := n[0], n[1]
		mcp := "mcp__" + server + "__" + tool
		for k, p := range [][2]string{
			{"claudecode", fmt.Sprintf("%q", mcp)}, {"claudecode", fmt.Sprintf(`"mcp__%s"`, server)}, {"claudecode", fmt.Sprintf(`"mcp__%s__*"`, server)},
			{"program", fmt.Sprintf(`{"tool":"%s_%s","verdict":"deny"}`, server, tool)}, {"program", fmt.Sprintf(`{"tool":%q,"verdict":"deny"}`, mcp)},
			{"native", "tool " + mcp}, {"native", fmt.Sprintf("'tool mcp__%s__*'", server)}, {"agentscope", fmt.Sprintf("%q:[TOOL(%s,deny)]", mcp, mcp)}, {"jiuwen", fmt.Sprintf(`"tools":{"%s_%s":"deny"}`, server, tool)},
			{"gemini", fmt.Sprintf("[[rule]]\nmcpName = %q\ntoolName = %q\ndecision = \"deny\"\npriority = 300\n", server, tool)},
			{"gemini", fmt.Sprintf("[[rule]]\nmcpName = %q\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 300\n", server)},
			{"opencode", fmt.Sprintf(`"%s_%s":"deny"`, server, tool)}, {"opencode", fmt.Sprintf(`"%s_*":"deny"`, server)},
		} {
			file, text := but(p[0], p[1])
			home := place(t, map[string]string{"p/" + file: rulesOf(text)})
			for h, who := range hosts {
				if !*full && (i+k+h)%2 != 0 || p[0] == "opencode" && who == "opencode" && strings.Contains(server, ".") { // it has no dots in names
					continue
				}
				out, words, code := hookIn(t, &Options{Agent: who, Dir: home + "/p", NoLedger: true, World: homed{dir: home}}, strings.NewReader(serverCall(t, who, server, tool, home+"/p")), nil)
				if code == 0 && !strings.Contains(out, `"deny"`) && !strings.Contains(out, `"cancel":true`) || strings.Contains(out+words, "needs a person's approval") {
					t.Errorf("%s %s, %s: %s %s", p[0], p[1], who, out, words)
				}
			}
		}
	}
}
