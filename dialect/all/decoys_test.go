package all_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// decoyPolicies allow `git status`, writing below src and example.com, and neither `rm -rf ~` nor /etc/passwd: some
// because no rule allows them, some because a rule denies them.
var decoyPolicies = []struct{ dialect, file, text, shell, write, fetch string }{
	{"native", "obstat.yaml", "version: 1\nallow:\n  - run git status\n  - write src/**\n  - connect example.com\n", "run_shell", "write_file", "fetch_url"},
	{"native", "obstat.yaml", "version: 1\nallow:\n  - tool *\n  - run anything\n  - write anything\n  - connect anything\ndeny:\n  - run rm *\n  - write /etc/**\n  - connect evil.test\n", "Bash", "Write", "WebFetch"},
	{"claudecode", "settings.json", `{"permissions":{"allow":["Bash(git status)","Edit(src/**)","WebFetch(domain:example.com)"]}}`, "Bash", "Write", "WebFetch"},
	{"claudecode", "settings.json", `{"permissions":{"defaultMode":"bypassPermissions","deny":["Bash(rm:*)","Edit(//etc/**)","WebFetch(domain:evil.test)"]}}`, "Bash", "Write", "WebFetch"},
	{"opencode", "opencode.json", `{"permission":{"bash":{"*":"ask","git status":"allow"},"edit":{"*":"ask","src/*":"allow"}}}`, "bash", "write", ""},
	{"agentscope", "permission_context.json", `{"mode":"default","allow_rules":{"Bash":[{"tool_name":"Bash","rule_content":"git status","behavior":"allow","source":"x"}],
		"Write":[{"tool_name":"Write","rule_content":"` + dir + `/src/**","behavior":"allow","source":"x"}]}}`, "Bash", "Write", ""},
	{"gemini", "p.toml", "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git status\"\ndecision = \"allow\"\npriority = 1\n", "run_shell_command", "", ""},
	{"program", "obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"rules","rules":"r"}],"default":"ask"}},
		"rules":{"r":[{"tool":"Bash","field":"command","match":{"exact":"git status"},"verdict":"allow"},{"tool":"Write","field":"file_path","match":{"minimatch":"src/**"},"verdict":"allow"}]}}`, "Bash", "Write", ""},
}

var (
	commandNames = []string{"command", "cmd", "command_line", "commandLine", "script", "input", "shell_command", "bash_command", "code", "args", "Command", "CMD", "cmdline", "shell", "commands", "bash"}
	pathNames    = []string{"file_path", "filePath", "path", "target_file", "file", "absolute_path", "filename", "filepath", "file_name", "destination", "dest", "target", "output_path", "FilePath", "location", "uri", "where"}
	urlNames     = []string{"url", "urls", "uri", "href", "link", "address", "endpoint", "URL"}
)

// TestDecoys: of two fields that may hold the command, the path or the address the stricter decides,
// whichever comes first, also where one of them lies in another object or a list.
func TestDecoys(t *testing.T) {
	for _, p := range decoyPolicies {
		d, err := all.Find(p.dialect)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: p.file, Data: []byte(p.text)}}})
		if err != nil {
			t.Fatalf("%s: %v", p.dialect, err)
		}
		for _, kind := range []struct {
			tool, good, bad string
			names           []string
		}{{p.shell, "git status", "rm -rf ~", commandNames}, {p.write, dir + "/src/ok.go", "/etc/passwd", pathNames}, {p.fetch, "https://example.com/", "https://evil.test/", urlNames}} {
			if kind.tool == "" {
				continue
			}
			decide := func(input string) obstat.Verdict {
				return l.Policy.Decide(&obstat.Call{Tool: kind.tool, Input: json.RawMessage(input), Dir: dir, Roots: []string{dir}}, formsWorld).Verdict
			}
			main := kind.names[0]
			if v := decide(fmt.Sprintf(`{%q:%q}`, main, kind.good)); v != obstat.Allow {
				t.Errorf("%s: %s %s alone: %v", p.dialect, kind.tool, kind.good, v)
			}
			passed, n := 0, 0
			for _, a := range kind.names {
				for _, b := range kind.names {
					if a == b {
						continue
					}
					for _, form := range []string{`{%q:%q,%q:%q}`, `{%q:%q,"options":{%q:%q}}`, `{%q:%q,"options":[{%q:%q}]}`, `{%q:%q,%q:[%q]}`} {
						input := fmt.Sprintf(form, a, kind.good, b, kind.bad)
						if n++; decide(input) == obstat.Allow {
							if passed++; passed <= 5 {
								t.Errorf("%s: %s %s: allowed", p.dialect, kind.tool, input)
							}
						}
					}
				}
			}
			t.Logf("%s: %s: %d of %d passed", p.dialect, kind.tool, passed, n)
		}
	}
}

// TestNoDecoys: texts, flags and names beside the command or the path are none.
func TestNoDecoys(t *testing.T) {
	for _, p := range decoyPolicies {
		d, _ := all.Find(p.dialect)
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: p.file, Data: []byte(p.text)}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ tool, input string }{
			{p.shell, `{"command":"git status","description":"Show /etc and run rm","timeout":5,"run_in_background":false,"shell":"/bin/bash","session_id":"/a","explanation":"/x","env":{"A":"b"}}`},
			{p.shell, `{"command":"git status","cwd":"/home/ann/proj","shell":"zsh","justification":"because","is_background":true,"login":true}`},
			{p.write, `{"file_path":"/home/ann/proj/src/ok.go","content":"/etc/passwd"}`},
			{p.write, `{"file_path":"/home/ann/proj/src/ok.go","content":"x","old_string":"/etc/passwd","new_string":"~/.ssh","file_text":"/etc/x","instructions":"/etc","encoding":"utf-8"}`},
			{p.fetch, `{"url":"https://example.com/","prompt":"what is it?","format":"markdown","timeout":3}`},
		} {
			if c.tool == "" {
				continue
			}
			if got := l.Policy.Decide(&obstat.Call{Tool: c.tool, Input: json.RawMessage(c.input), Dir: dir, Roots: []string{dir}}, formsWorld); got.Verdict != obstat.Allow {
				t.Errorf("%s: %s %s: %v %s", p.dialect, c.tool, c.input, got.Verdict, got.Note)
			}
		}
	}
}
