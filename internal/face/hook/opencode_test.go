package hook

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
)

// TestOpenCodeAgents: a call is decided with the rules of the opencode agent that makes it, those of `build`
// where the plugin names none.
func TestOpenCodeAgents(t *testing.T) {
	home := place(t, map[string]string{
		"p/opencode.json": `{"permission":{"bash":{"*":"allow","git push *":"ask"},"edit":"allow"},"agent":{"quiet":{"permission":{"bash":{"*":"deny","ls *":"allow"}}},
			"plan":{"permission":{"edit":"deny"}}}}`,
		"p/.opencode/agent/reviewer.md": "---\ndescription: reads\npermission:\n  bash: deny\n---\nYou read.\n",
		"q/opencode.json":               `{"permission":{"bash":"allow"},"agent":{"build":{"permission":{"bash":{"make *":"deny"}}}}}`,
	})
	for _, c := range []struct {
		dir, agent, tool, args string
		code                   int
	}{
		{"p", "", "bash", `{"command":"make all"}`, ExitOK},
		{"p", "build", "bash", `{"command":"make all"}`, ExitOK},
		{"p", "reviewer", "bash", `{"command":"make all"}`, ExitDeny},
		{"p", "quiet", "bash", `{"command":"make all"}`, ExitDeny},
		{"p", "quiet", "bash", `{"command":"ls src"}`, ExitOK},
		{"p", "build", "write", `{"filePath":"/HOME/p/a","content":""}`, ExitOK},
		{"p", "plan", "write", `{"filePath":"/HOME/p/a","content":""}`, ExitDeny},
		{"p", "plan", "bash", `{"command":"git push origin"}`, ExitDeny}, // nobody is there to ask
		{"q", "", "bash", `{"command":"make all"}`, ExitDeny},
		{"q", "build", "bash", `{"command":"make all"}`, ExitDeny},
		{"q", "general", "bash", `{"command":"make all"}`, ExitOK},
	} {
		args := strings.ReplaceAll(c.args, "/HOME", home)
		in := fmt.Sprintf(`{"hook_event_name":"tool.execute.before","tool":%q,"sessionID":"s","callID":"c","args":%s,"agent":%q,"directory":%q}`, c.tool, args, c.agent, home+"/"+c.dir)
		if c.agent == "" {
			in = strings.Replace(in, `"agent":"",`, "", 1)
		}
		o := &Options{Agent: agent.OpenCode, Dir: home + "/" + c.dir, World: homed{obstat.OS{}, home}}
		if out, words, code := hookIn(t, o, strings.NewReader(in), nil); code != c.code {
			t.Errorf("%+v: %d %s %s", c, code, out, words)
		}
	}
}

// TestModeChanges: a person who changes the mode, or the policy, between two calls is obeyed at the next.
func TestModeChanges(t *testing.T) {
	home := place(t, map[string]string{"p/a": ""})
	dir := home + "/p"
	policy := func(text string) {
		if err := os.WriteFile(dir+"/obstat.yaml", []byte("version: 1\nallow:\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const plain, over = "  - run make\n", "  - {rule: run make, over: auto-mode}\n"
	for _, c := range []struct{ text, mode, want string }{
		{plain, "default", `"allow"`}, {plain, "plan", ""}, {plain, "auto", ""}, {over, "auto", `"allow"`}, {over, "plan", ""}, {plain, "auto", ""}, {over, "turbo", ""}, {plain, "acceptEdits", `"allow"`},
	} {
		policy(c.text)
		in := strings.Replace(fmt.Sprintf(claudePayload, dir, "make"), `"default"`, `"`+c.mode+`"`, 1)
		out, words, code := hookIn(t, &Options{Agent: agent.ClaudeCode, Dir: dir, World: homed{obstat.OS{}, home}}, strings.NewReader(in), nil)
		if code != ExitOK || (out == "") != (c.want == "") || !strings.Contains(out, c.want) {
			t.Errorf("%+v: %d %q %q", c, code, out, words)
		}
	}
}
