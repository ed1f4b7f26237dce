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

// TestOpenCodePrompt: an ask of opencode's own files is left to opencode's own prompt, where that asks a person; every
// other ask is not, and a denial where nobody is at `obstat ask`.
func TestOpenCodePrompt(t *testing.T) {
	home := place(t, map[string]string{
		"p/opencode.json": `{"permission":{"bash":{"*":"allow","git push *":"ask","rm *":"deny"},"edit":{"*":"allow","*.lock":"ask"}},
			"agent":{"quiet":{"permission":{"bash":{"git push *":"deny"}}}}}`,
		"q/opencode.json": `{"permission":{"bash":"allow"}}`,
		"q/obstat.yaml":   "version: 1\nask:\n  - run git push\nallow:\n  - run git\n",
	})
	plain := []string{"opencode", "."}
	for _, c := range []struct {
		dir, agent, tool, args, approved string
		started                          []string
		code                             int
		say                              string
	}{
		{"p", "build", "bash", `{"command":"git push origin"}`, `{}`, plain, ExitOK, "own rule"},
		{"p", "plan", "bash", `{"command":"git push origin"}`, `{}`, plain, ExitOK, "own rule, another agent"},
		{"p", "build", "bash", `{"command":"make && git push origin"}`, `{}`, plain, ExitOK, "a part"},
		{"p", "build", "write", `{"filePath":"/HOME/p/a.lock","content":""}`, `{}`, plain, ExitOK, "a file"},
		{"p", "build", "read", `{"filePath":"/etc/hosts"}`, `{}`, plain, ExitOK, "outside, which opencode asks about"},
		{"p", "quiet", "bash", `{"command":"git push origin"}`, `{}`, plain, ExitDeny, "denied to this agent"},
		{"p", "build", "bash", `{"command":"git push; rm -r x"}`, `{}`, plain, ExitDeny, "denied"},
		{"p", "build", "bash", `{"command":"git push origin"}`, `null`, plain, ExitDeny, "a plugin of before"},
		{"p", "build", "bash", `{"command":"git push origin"}`, `{}`, nil, ExitDeny, "a command line that is not known"},
		{"p", "build", "bash", `{"command":"git push origin"}`, `{}`, []string{"opencode", "run", "--auto", "x"}, ExitDeny, "opencode would say yes"},
		{"p", "build", "bash", `{"command":"git push origin"}`, `{}`, []string{"opencode", "--yolo"}, ExitDeny, "opencode would say yes"},
		{"p", "build", "bash", `{"command":"git push origin"}`, `{"bash":["git push *"]}`, plain, ExitDeny, "opencode would not ask"},
		{"p", "build", "bash", `{"command":"git push origin"}`, `{"bash":["git fetch *"],"read":["*"]}`, plain, ExitOK, "approved something else"},
		{"p", "build", "bash", `{"command":"sh -c 'git push origin'"}`, `{}`, plain, ExitDeny, "opencode does not see it"},
		{"q", "build", "bash", `{"command":"git push origin"}`, `{}`, plain, ExitDeny, "obstat's own rule"},
		{"p", "build", "write", `{"filePath":"/HOME/.config/opencode/plugins/obstat.js","content":""}`, `{}`, plain, ExitDeny, "a guard"},
	} {
		in := fmt.Sprintf(`{"hook_event_name":"tool.execute.before","tool":%q,"sessionID":"s","callID":"c","args":%s,"agent":%q,"directory":%q,"approved":%s}`,
			c.tool, strings.ReplaceAll(c.args, "/HOME", home), c.agent, home+"/"+c.dir, c.approved)
		o := &Options{Agent: agent.OpenCode, Dir: home + "/" + c.dir, World: homed{obstat.OS{}, home}, started: func() []string { return c.started }}
		if out, words, code := hookIn(t, o, strings.NewReader(in), nil); code != c.code || (code == ExitOK) != strings.Contains(out, `"allow"`) {
			t.Errorf("%s, %s %s: %d %s %s", c.say, c.agent, c.args, code, out, words)
		}
	}
}

// TestOpenCodeDoomLoop: the process that stays counts equal calls in a row, by session.
func TestOpenCodeDoomLoop(t *testing.T) {
	s := serve(t, &Options{}, `{"permission":{"bash":"allow"}}`)
	for n, c := range []struct{ session, command, code string }{
		{"a", "make", "0"}, {"a", "make", "0"}, {"b", "make", "0"}, {"a", "make", "2"}, {"a", "ls", "0"}, {"a", "make", "0"},
	} {
		s.send("%d %s\n", n, strings.Replace(s.payload(c.command), `"sessionID":"s"`, `"sessionID":"`+c.session+`"`, 1))
		_, code, _ := s.answer()
		if code != c.code || code == "2" && !strings.Contains(s.lines.Text(), "doom_loop") {
			t.Errorf("call %d: %s", n, s.lines.Text())
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
