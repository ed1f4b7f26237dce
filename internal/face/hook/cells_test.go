package hook

import (
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// but returns a policy that allows everything but what it denies, in a notation.
func but(notation, denied string) (file, text string) {
	switch notation {
	case "claudecode":
		return ".claude/settings.json", `{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash","Edit","Write","Read","Agent"],"deny":[` + denied + `]}}`
	case "opencode":
		return "opencode.json", `{"permission":{"*":"allow","external_directory":"allow",` + denied + `}}`
	case "program":
		return "obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny rules","rules":"deny"}],"default":"allow"}},"faces":{"write":{"tool":"edit","field":"file_path"},"read":{"tool":"read","field":"file_path"}},"rules":{"deny":[` + denied + `]}}`
	case "native":
		return "obstat.yaml", everything + "deny: [" + denied + "]\n"
	case "gemini":
		return ".gemini/policies/p.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 1\n" + denied
	case "jiuwen":
		return ".jiuwenswarm/config/config.yaml", `{"permissions":{"enabled":true,"schema":"tiered_policy","permission_mode":"normal","defaults":{"*":"allow"},` + denied + `}}`
	case "agentscope":
		return "permission_context.json", rulesOf(`{"mode":"bypass","working_directories":{},"deny_rules":{` + denied + `}}`)
	}
	return "", ""
}

// secret denies rm, git push, and reading and writing below secret/, in each notation.
var secret = map[string]string{
	"claudecode": `"Edit(/secret/**)","Read(/secret/**)","Bash(rm *)","Bash(git push *)"`,
	"opencode":   `"edit":{"*":"allow","secret/*":"deny"},"read":{"*":"allow","secret/*":"deny"},"bash":{"*":"allow","rm *":"deny","git push *":"deny"}`,
	"program": `{"tool":"shell","field":"command","match":{"wildcard":"rm *"},"verdict":"deny"},{"tool":"shell","field":"command","match":{"wildcard":"git push *"},"verdict":"deny"},
		{"tool":"edit","field":"file_path","match":{"minimatch":"secret/**"},"verdict":"deny"},{"tool":"read","field":"file_path","match":{"minimatch":"secret/**"},"verdict":"deny"}`,
	"native": `"run rm, git push", read and write ./secret`,
	"jiuwen": `"rules":[{"id":"a","tools":["bash"],"pattern":"rm *","severity":"CRITICAL","action":"deny"},{"id":"c","tools":["bash"],"pattern":"git push *","severity":"CRITICAL","action":"deny"},
		{"id":"b","tools":["write_file","edit_file","read_file"],"pattern":"**/secret/**","action":"deny","severity":"CRITICAL"}]`,
	"agentscope": `"Bash":[RULE(Bash,rm:*,deny),RULE(Bash,git push:*,deny)],"Write":[RULE(Write,**/secret/**,deny)],"Edit":[RULE(Edit,**/secret/**,deny)],"Read":[RULE(Read,**/secret/**,deny)]`,
	"gemini": "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"rm\", \"git push\"]\ndecision = \"deny\"\npriority = 300\n" +
		"[[rule]]\ntoolName = [\"read_file\", \"write_file\", \"replace\"]\nargsPattern = '\"file_path\":\"[^\"]*secret/'\ndecision = \"deny\"\npriority = 300\n",
}

// TestPlacesAndKinds: the same rules hold in seven notations, for every kind of tool of every agent,
// wherever the agent was started: in the project, below it, and behind links to either.
func TestPlacesAndKinds(t *testing.T) {
	beside(t, secret, func(t *testing.T, name, denied string) {
		file, text := but(name, denied)
		home := place(t, map[string]string{"p/" + file: text, "p/src/deep/a": "", "p/secret/s": "", "out/x": ""})
		p := home + "/p"
		for _, l := range [][2]string{{p + "/secret", home + "/out/in"}, {p, home + "/lp"}, {p + "/src/deep", home + "/ld"}, {"../../secret", p + "/src/deep/up"}} {
			if err := os.Symlink(l[0], l[1]); err != nil {
				t.Fatal(err)
			}
		}
		var cells []cell
		for _, command := range []string{"git -C " + p + " push origin main", "pushd " + p + " && touch secret/z", "cp /etc/hostname " + p + "/secret/", "tar -xf x.tar -C " + p + "/secret", "unzip -d " + p + "/secret x.zip",
			"install -m 600 /dev/null " + p + "/secret/k", "ln -sf /etc/passwd " + p + "/secret/pw", "dd if=/dev/zero of=" + p + "/secret/z count=1", "sed -i s/a/b/ " + home + "/out/in/s", "mv " + p + "/src/deep/a " + p + "/secret/a",
			"xargs -a list rm", "find . -name '*.o' -exec rm {} ;", "bash -c 'cd " + p + "; : > secret/q'", "nohup rm -f a &", "sudo -u nobody rm a", `\rm a`, "/bin/rm a", "r''m a", "X=rm; $X a"} {
			cells = append(cells, cell{kind: "shell", arg: command, want: "deny"})
		}
		cells = append(cells, cell{kind: "shell", arg: "make all", want: "allow"}, cell{kind: "read", arg: p + "/src/deep/a", want: "allow"},
			cell{kind: "write", arg: home + "/out/in/n", want: "deny"}, cell{kind: "write", arg: p + "/src/deep/up/n", want: "deny"}, cell{kind: "edit", arg: home + "/lp/secret/s", want: "deny"},
			cell{kind: "read", arg: home + "/out/in/s", want: "deny"}, cell{kind: "read", arg: p + "/src/../secret/s", want: "deny"}, cell{kind: "many", arg: p + "/secret/s", want: "deny"}, cell{kind: "many", arg: p + "/secret/*", want: "deny"},
			cell{kind: "delete", arg: p + "/secret/s", want: "deny"}, cell{kind: "two", arg: p + "/secret/s", want: "deny"}, cell{kind: "move", arg: p + "/secret/s", want: "deny"}, cell{kind: "multi", arg: p + "/secret/s", want: "deny"},
			cell{kind: "notebook", arg: p + "/secret/nb.ipynb", want: "deny"}, cell{kind: "background", arg: "rm -rf build", want: "deny"}, cell{kind: "monitor", arg: "rm -rf build", want: "deny"}, cell{kind: "grep", arg: p + "/secret", want: "deny"})
		for i, cwd := range []string{p, p + "/src/deep", home + "/ld", home + "/lp/src"} {
			for k, c := range cells {
				for h, who := range hosts {
					if !*full && (k+h+i)%4 != 0 { // each cell through some agents in each place
						continue
					}
					if got, why := answer(t, who, home, cwd, c); got != "" && got != c.want {
						t.Errorf("%s in %s: %s %s: %s, want %s: %s", who, cwd, c.kind, c.arg, got, c.want, why)
					}
				}
			}
		}
	})
}

// TestModes: what an agent calls its mode loosens no denial, whosever policy it is.
func TestModes(t *testing.T) {
	modes := map[string][]string{
		agent.ClaudeCode: {"default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "nonsense"},
		agent.Codex:      {"default", "bypassPermissions", "dontAsk"},
		agent.Qwen:       {"default", "plan", "auto-edit", "yolo"},
	}
	beside(t, secret, func(t *testing.T, name, denied string) {
		file, text := but(name, denied)
		home := place(t, map[string]string{"p/" + file: text, "p/src/a": ""})
		for who, list := range modes {
			for _, mode := range list {
				for _, c := range []cell{{kind: "shell", arg: "rm a"}, {kind: "shell", arg: "echo x > secret/n"}, {kind: "write", arg: home + "/p/secret/n"}, {kind: "edit", arg: home + "/p/secret/n"}, {kind: "read", arg: home + "/p/secret/n"}} {
					in := payload(t, who, c.kind, c.arg, home+"/p", "")
					if in == "" {
						continue
					}
					for _, was := range []string{`"default"`, `"bypassPermissions"`} {
						in = strings.Replace(in, `"permission_mode":`+was, `"permission_mode":"`+mode+`"`, 1)
					}
					if got, why := said(t, who, home, home+"/p", in); got != "deny" {
						t.Errorf("%s, %s in mode %s, %s %s: %s %s", name, who, mode, c.kind, c.arg, got, why)
					}
				}
			}
		}
	})
}

// TestHookFileIsNoPolicy: Copilot's entry is called obstat.json, and a call that touches it is asked about
// as one that would change what guards the agent, not refused as a broken policy.
func TestHookFileIsNoPolicy(t *testing.T) {
	home := place(t, map[string]string{"p/opencode.json": `{"permission":{"*":"allow","external_directory":"allow"}}`, ".copilot/hooks/obstat.json": `{"version":1,"hooks":{"preToolUse":[]}}`, ".copilot/hooks/notes": ""})
	for _, who := range hosts {
		for _, c := range []cell{{kind: "shell", arg: "rm " + home + "/.copilot/hooks/obstat.json", want: "ask"}, {kind: "shell", arg: "cat " + home + "/.copilot/hooks/notes", want: "allow"}} {
			if got, why := answer(t, who, home, home+"/p", c); got != c.want || strings.Contains(why, "cannot be loaded") {
				t.Errorf("%s: %s: %s: %s", who, c.arg, got, why)
			}
		}
	}
}

// TestUsersDenials: what the user's own files deny, of whichever agent they are, no project lifts with a policy in
// another notation, an obstat.yaml included; their defaults stop nothing there.
func TestUsersDenials(t *testing.T) {
	users := map[string][2]string{
		"opencode":   {".config/opencode/opencode.json", `{"permission":{"*":"deny","bash":{"*":"allow","rm *":"deny"},"edit":{"*":"allow","secret/*":"deny"},"task":"deny"}}`},
		"claudecode": {".claude/settings.json", `{"permissions":{"defaultMode":"dontAsk","deny":["Bash(rm *)","Edit(**/secret/**)","Agent"]}}`},
		"codex":      {".codex/rules/default.rules", "prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n"},
		"gemini":     {".gemini/policies/p.toml", "[[rule]]\ntoolName = [\"invoke_agent\"]\ndecision = \"deny\"\npriority = 300\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 300\n" + "[[rule]]\ntoolName = [\"write_file\", \"replace\"]\nargsPattern = '\"file_path\":\"[^\"]*secret/'\ndecision = \"deny\"\npriority = 300\n"},
	}
	projects := map[string][2]string{
		"opencode": {"opencode.json", `{"permission":{"*":"allow","external_directory":"allow","bash":{"*":"allow","touch *":"deny"}}}`}, "claudecode": {".claude/settings.json", `{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash","Edit","Agent"],"deny":["Bash(touch *)"]}}`},
		"native": {"obstat.yaml", everything + "deny: [run touch]\n"},
	}
	beside(t, users, func(t *testing.T, user string, u [2]string) {
		for project, p := range projects {
			if user == project {
				continue // layers of one notation, which its own document merges
			}
			home := place(t, map[string]string{u[0]: u[1], "p/" + p[0]: p[1], "p/src/a": ""})
			for _, cwd := range []string{home + "/p", home + "/p/src"} {
				cells := []cell{{kind: "shell", arg: "rm a", want: "deny"}, {kind: "shell", arg: "touch a", want: "deny"}, {kind: "shell", arg: "make all", want: "allow"}, {kind: "write", arg: home + "/p/src/b", want: "allow"}}
				if user != "codex" { // its rules are about commands
					cells = append(cells, cell{kind: "write", arg: home + "/p/secret/b", want: "deny"}, cell{kind: "edit", arg: home + "/p/secret/b", want: "deny"}, cell{kind: "task", want: "deny"})
				}
				check(t, user+"'s rules of the user in a project of "+project, home, cwd, cells...)
			}
		}
	})
}
