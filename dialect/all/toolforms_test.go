package all_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/effect"
)

// fileRules are policies that allow every tool and deny reading and changing PATH.
var fileRules = map[string][2]string{
	"claudecode": {"settings.json", `{"permissions":{"defaultMode":"bypassPermissions","deny":["Read(PATH)","Edit(PATH)"]}}`},
	"opencode":   {"opencode.json", `{"permission":{"*":"allow","read":{"*":"allow","PATH":"deny"},"edit":{"*":"allow","PATH":"deny"}}}`},
	"agentscope": {"permission_context.json", `{"mode":"bypass","working_directories":{},"allow_rules":{},"ask_rules":{},"deny_rules":{"Read":[{"tool_name":"Read","rule_content":"PATH","behavior":"deny","source":"x"}],
		"Write":[{"tool_name":"Write","rule_content":"PATH","behavior":"deny","source":"x"}],"Edit":[{"tool_name":"Edit","rule_content":"PATH","behavior":"deny","source":"x"}]}}`},
	"native": {"obstat.yaml", "version: 1\nallow:\n  - tool *\n  - read anything\n  - write anything\n  - delete anything\ndeny:\n  - read PATH\n  - write PATH\n"},
	"gemini": {"p.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 1\n[[rule]]\ntoolName = [\"read_file\", \"write_file\", \"replace\"]\nargsPattern = 'PATH'\ndecision = \"deny\"\npriority = 900\n"},
	"program": {"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny rules","rules":"deny"}],"default":"allow"}},"faces":{"write":{"tool":"Edit","field":"file_path"},"read":{"tool":"Read","field":"file_path"}},
		"rules":{"deny":[{"tool":"Read","field":"file_path","match":{"minimatch":"PATH"},"verdict":"deny"},{"tool":"Edit","field":"file_path","match":{"minimatch":"PATH"},"verdict":"deny"}]}}`},
}

// ruleFor writes the path of a rule as a dialect does.
func ruleFor(name, rule string) string {
	switch {
	case name == "gemini":
		return map[string]string{"secret/**": "secret/", ".env": `\.env`, "~/.ssh/**": `\.ssh/`}[rule]
	case name == "agentscope" && rule == ".env":
		return "**/.env"
	case name == "agentscope" && rule[0] == '~':
		return home + "/.ssh/**"
	case name == "opencode" && rule == "secret/**":
		return "secret/*"
	}
	return rule
}

var formsWorld = &obstat.Snapshot{HomeDir: home, Dirs: []string{"/", "/home", home, home + "/.ssh", dir, dir + "/src", dir + "/secret"},
	Files: []string{home + "/.ssh/id_rsa", dir + "/secret/a.ipynb", dir + "/.env", dir + "/src/ok.go"},
	Links: map[string]string{dir + "/link": dir + "/secret", dir + "/src/up": dir, dir + "/keys": home + "/.ssh", dir + "/note.txt": dir + "/.env", dir + "/key.txt": home + "/.ssh/id_rsa", dir + "/book.ipynb": dir + "/secret/a.ipynb"}}

// spelled are ways to write the files that rules are about.
var spelled = map[string][]string{
	"secret/**":  {"secret/a.ipynb", "./secret/a.ipynb", "secret//a.ipynb", "src/../secret/a.ipynb", dir + "/secret/a.ipynb", dir + "/./secret/a.ipynb", "~/proj/secret/a.ipynb", "link/a.ipynb", "src/up/secret/a.ipynb", "book.ipynb", dir + "/link/a.ipynb"},
	".env":       {".env", "./.env", "src/../.env", dir + "/.env", "~/proj/.env", "src/up/.env", "note.txt", "/home/ann//proj/.env"},
	"~/.ssh/**":  {"~/.ssh/id_rsa", home + "/.ssh/id_rsa", "../.ssh/id_rsa", "keys/id_rsa", "key.txt", "/home/ann/proj/../.ssh/id_rsa"},
	"src/ok.go!": {"src/ok.go", "./src/ok.go", dir + "/src/ok.go"},
}

// A form is a tool of some agent, with inputs for a path.
type form struct {
	tool   string
	inputs []string
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// forms returns the ways in which agents' tools take a path, of the tools of the catalogue that read or change files.
func forms() (out []form) {
	for _, t := range effect.Tools() {
		f := form{tool: t.Name}
		switch t.Canonical {
		case "read", "write", "edit", "notebook", "delete", "mkdir", "grep":
			if t.Name == "ReadMcpResource" {
				f.inputs = []string{`{"server":"fs","uri":U}`}
				break
			}
			for _, field := range t.Paths {
				f.inputs = append(f.inputs, `{"`+field+`":P,"content":"x","old_string":"a","new_string":"b","pattern":"k"}`)
			}
			if t.Canonical == "read" {
				f.inputs = append(f.inputs, `{"paths":["src/ok.go",P]}`, `{"files":[{"path":P}]}`, `{"include":[P]}`)
			}
		case "move":
			f.inputs = []string{`{"source":P,"destination":"x"}`, `{"source":"src/ok.go","destination":P}`, `{"old_path":P,"new_path":"x"}`, `{"from":"src/ok.go","to":P}`}
		case "patch":
			for _, field := range t.Command {
				for _, patch := range []string{"*** Begin Patch\n*** Update File: F\n@@\n-a\n+b\n*** End Patch", "*** Begin Patch\n*** Add File: F\n+b\n*** End Patch", "*** Begin Patch\n*** Delete File: F\n*** End Patch",
					"*** Begin Patch\n*** Update File: src/ok.go\n*** Move to: F\n@@\n-a\n+b\n*** End Patch", "--- a/F\n+++ b/F\n@@ -1 +1 @@\n-a\n+b\n", "*** Begin Patch\n*** Update File: src/ok.go\n@@\n-a\n+b\n*** Update File: F\n@@\n-a\n+b\n*** End Patch"} {
					f.inputs = append(f.inputs, `{"`+field+`":`+quoted(patch)+`}`)
				}
			}
		default:
			continue
		}
		out = append(out, f)
	}
	for _, tool := range []string{"mcp__fs__read_file", "mcp__fs__edit_file", "mcp_fs_write_file", "MCP:delete_file", "mcp__box__do", "mcp__fs__read_multiple_files"} {
		out = append(out, form{tool, []string{`{"path":P}`, `{"file_path":P}`, `{"uri":U}`, `{"options":{"filename":P}}`, `{"paths":["src/ok.go",P]}`, `{"edits":[{"file":P}]}`}})
	}
	return out
}

func (f *form) with(input, at string) (string, bool) {
	if strings.Contains(input, "File: ") || strings.Contains(input, "+++ b/F") {
		if strings.Contains(input, "+++ b/F") && (at[0] == '/' || at[0] == '~') {
			return "", false
		}
		return strings.ReplaceAll(input, "F\\n", at+"\\n"), true
	}
	if strings.Contains(input, ":U") && at[0] != '/' {
		return "", false
	}
	uri := "file://" + at
	return strings.NewReplacer(":P", ":"+quoted(at), ",P", ","+quoted(at), "[P", "["+quoted(at), ":U", ":"+quoted(uri)).Replace(input), true
}

// A rule against reading and changing a path holds for every agent's tools, whatever they are called, whatever their
// fields are, however the path is written, in every dialect that has rules for paths, and says nothing of other files.
// Codex's rules are for commands alone.
func TestToolForms(t *testing.T) {
	agents := []string{"", "claude-code", "opencode", "gemini", "codex", "generic", "cursor"} // in turns
	for name := range fileRules {
		tried := 0
		for rule, ways := range spelled {
			p := loadFileRule(t, name, strings.Replace(rule, "src/ok.go!", "secret/**", 1))
			for i, f := range forms() {
				for j, input := range f.inputs {
					for k, at := range ways {
						in, ok := f.with(input, at)
						if !ok || !*long && (i+j+k)%4 != 0 {
							continue
						}
						tried++
						call := &obstat.Call{Tool: f.tool, Input: []byte(in), Dir: dir, Roots: []string{dir}, Agent: agents[tried%len(agents)]}
						d := p.Decide(call, formsWorld)
						free := strings.HasSuffix(rule, "!")
						if free != (d.Verdict == obstat.Allow) && !(free && name == "opencode" && len(d.Faults) > 0 && f.tool != "grep") { // its own tools take no other fields
							t.Errorf("%s, %s: %s of %q with %s: %v: %s", name, rule, f.tool, call.Agent, in, d.Verdict, d.Reason())
						}
					}
				}
			}
		}
		t.Logf("%s: %d calls", name, tried)
	}
}

func loadFileRule(t *testing.T, name, rule string) *obstat.Policy {
	t.Helper()
	d, err := all.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	file := fileRules[name]
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: file[0], Data: []byte(strings.ReplaceAll(file[1], "PATH", ruleFor(name, rule)))}}, Home: home})
	if err != nil {
		t.Fatal(name, err)
	}
	return l.Policy
}

// A search in a directory, or in a link to one, that may not be read is held to the rule as well; one for names alone where the
// dialect's document says so.
func TestSearchForms(t *testing.T) {
	for name := range fileRules {
		for rule, ways := range map[string][]string{"secret/**": {"secret", "link", dir + "/secret", "./secret/", "src/up/link", "~/proj/secret"}, "~/.ssh/**": {"~/.ssh", "keys", home + "/.ssh", "../.ssh"}, ".env": {"note.txt", ".env"}} {
			p := loadFileRule(t, name, rule)
			for _, tool := range []string{"Grep", "grep", "grep_search", "Glob", "glob"} {
				call := &obstat.Call{Tool: tool, Input: []byte(`{"pattern":"k","path":"src"}`), Dir: dir, Roots: []string{dir}}
				if d := p.Decide(call, formsWorld); d.Verdict != obstat.Allow {
					t.Errorf("%s, %s: %s in src: %v: %s", name, rule, tool, d.Verdict, d.Reason())
				}
			}
			for i, tool := range effect.Names("grep") {
				of, _ := effect.Lookup(tool)
				for _, field := range of.Paths {
					for _, at := range ways {
						in := fmt.Sprintf(`{"pattern":"k",%q:%q}`, field, at)
						call := &obstat.Call{Tool: tool, Input: []byte(in), Dir: dir, Roots: []string{dir}, Agent: []string{"", "gemini", "claude-code", "cursor"}[i%4]}
						if d := p.Decide(call, formsWorld); d.Verdict == obstat.Allow || len(d.Faults) > 0 {
							t.Errorf("%s, %s: %s of %q with %s: %v: %s", name, rule, tool, call.Agent, in, d.Verdict, d.Reason())
						}
					}
				}
			}
		}
	}
}

// Who allows a program that runs whatever a package brings has allowed the package's programs, and what runs in a container; the
// machine's own programs need a rule, and denials hold.
func TestPackagesPrograms(t *testing.T) {
	allow := map[string]string{
		"claudecode": `{"permissions":{"allow":["Bash(npx *)","Bash(uv *)","Bash(docker *)"],"deny":["Bash(rm *)"]}}`,
		"opencode":   `{"permission":{"*":"allow","bash":{"*":"ask","npx *":"allow","uv *":"allow","docker *":"allow","rm *":"deny"}}}`,
	}
	for name, policy := range allow {
		d, _ := all.Find(name)
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(policy)}}, Home: home})
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range map[string]obstat.Verdict{
			"npx eslint src --fix": obstat.Allow, "npx some-package": obstat.Allow, "uv run pytest -q": obstat.Allow, "docker exec web rake db:migrate": obstat.Allow, "npx jest": obstat.Allow,
			"npx cp a b": obstat.Ask, "npx sh -c 'cp a b'": obstat.Ask, "npx rm x": obstat.Deny, "uv run rm x": obstat.Deny, "npx eslint && cp a b": obstat.Ask, "docker exec web rm x": obstat.Deny,
		} {
			if d := decide(l.Policy, c, world); d.Verdict != want {
				t.Errorf("%s: %s: %v, want %v: %s", name, c, d.Verdict, want, d.Reason())
			}
		}
	}
}
