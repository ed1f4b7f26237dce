package effect

import (
	"fmt"
	"testing"
)

func TestTools(t *testing.T) {
	tests := []struct{ tool, input, want string }{
		{"Bash", `{"command":"rm x"}`, "delete /home/user/project/x"},
		{"bash", `{"command":"rm x","workdir":"/srv"}`, "delete /srv/x"},
		{"run_shell_command", `{"command":"rm x","dir_path":"sub"}`, "delete /home/user/project/sub/x"},
		{"Shell", `{"command":"rm x","working_directory":5}`, "delete; gap bad input (hides)"},
		{"Bash", `{"command":5}`, "gap bad input (hides)"},
		{"Bash", `{"cmd":"ls"}`, ""},
		{"Bash", `{"command":"","cmd":"rm x"}`, "delete /home/user/project/x"},
		{"Bash", `{"command":null,"script":" ","cmd":"rm x"}`, "delete /home/user/project/x"},
		{"Bash", `{"command":null}`, "gap bad input (hides)"},
		{"Bash", `{"command":[],"cmd":"rm x"}`, "gap bad input (hides)"},
		{"Bash", `{"command":"rm x","workdir":null}`, "delete /home/user/project/x"},
		{"streaming_bash", `{"command":"rm x"}`, "delete /home/user/project/x"},
		{"Bash", `{}`, "gap bad input (hides)"},
		{"Bash", `{"command":"ls","command":"rm x"}`, "gap bad input (hides)"},
		{"Bash", `[1]`, "gap bad input (hides)"},
		{"Bash", `{"command":"ls"} x`, "gap bad input (hides)"},
		{"shell", `{"command":["bash","-lc","rm x"]}`, "delete /home/user/project/x"},
		{"shell", `{"command":["touch","../x"],"workdir":"src"}`, "write /home/user/project/x"},
		{"shell", `{"command":["bash","-lc","rm x"],"workdir":"/tmp/y"}`, "delete /tmp/y/x"},
		{"grep", `{"pattern":"x","paths":["src","/etc/shadow"]}`, "read /home/user/project/src; read /etc/shadow SECRET"},
		{"EditNotebook", `{"target_notebook":"a.ipynb"}`, "write /home/user/project/a.ipynb"},
		{"write_todos", `{"todos":[]}`, ""},
		{"PowerShell", `{"command":"Remove-Item x"}`, "gap foreign shell (hides)"},
		{"Read", `{"file_path":"/home/user/project/a"}`, "read /home/user/project/a"},
		{"Read", `{"file_path":"~/.ssh/id_rsa"}`, "read /home/user/.ssh/id_rsa SECRET"},
		{"Read", `{}`, "gap bad input (hides)"},
		{"read_many_files", `{"include":["a","/etc/shadow"]}`, "read /home/user/project/a; read /etc/shadow SECRET"},
		{"Write", `{"file_path":"/home/user/project/../../etc/passwd","content":""}`, "write /home/etc/passwd"},
		{"Write", `{"file_path":"a\u0000b","content":""}`, "write; gap bad input (hides)"},
		{"Edit", `{"file_path":"a","old_string":"x","new_string":"y"}`, "write /home/user/project/a"},
		{"NotebookEdit", `{"notebook_path":"a.ipynb","new_source":""}`, "write /home/user/project/a.ipynb"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n*** Delete File: c\n*** End Patch"}`, "write /home/user/project/a; write /home/user/b; delete /home/user/project/c"},
		{"apply_patch", `{"patchText":"x"}`, "gap bad input (hides)"},
		{"Delete", `{"path":"a"}`, "delete /home/user/project/a"},
		{"Glob", `{"pattern":"**/*.go"}`, "read /home/user/project list"},
		{"Grep", `{"pattern":"x","path":"src"}`, "read /home/user/project/src"},
		{"Grep", `{"pattern":"x","glob":".env*"}`, "read SECRET; read /home/user/project"},
		{"Grep", `{"pattern":"x","path":"--pre=./e.sh"}`, "read /home/user/project/--pre=./e.sh; gap bad input (hides)"},
		{"WebFetch", `{"url":"https://a.example/x","prompt":"y"}`, "connect a.example"},
		{"WebFetch", `{"url":"file:///etc/shadow"}`, "read /etc/shadow SECRET"},
		{"download", `{"url":"https://a.example/x","file_path":"b"}`, "connect a.example; write /home/user/project/b"},
		{"WebSearch", `{"query":"x"}`, "connect search"},
		{"Task", `{"prompt":"x"}`, "code starts an agent, whose calls are judged themselves"},
		{"TodoWrite", `{"todos":[]}`, ""},
		{"mcp__github__create_issue", `{"title":"x"}`, "gap unknown tool (hides)"},
		{"mcp_fs_read", `{"path":"/etc/shadow"}`, "read /etc/shadow SECRET; write /etc/shadow; gap unknown tool (hides)"},
		{"frobnicate", `{"command":"rm x"}`, "delete /home/user/project/x; gap unknown tool (hides)"},
	}
	for _, tt := range tests {
		an := Analyze(&Request{Tool: tt.tool, Input: []byte(tt.input), Options: *testOptions()})
		if got := describe(an); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.input, got, tt.want)
		}
	}
	// As text, a list of words means the same.
	for list, want := range map[string]string{`["bash","-lc","cat a b"]`: `bash -lc 'cat a b'`, `["echo","it's","$HOME","","a=b"]`: `echo 'it'\''s' '$HOME' '' a=b`, `["git","log","-1"]`: "git log -1", `["ls","*","~","{a,b}","é"]`: `ls '*' '~' '{a,b}' 'é'`} {
		if got := Analyze(&Request{Tool: "shell", Input: []byte(`{"command":` + list + `}`), Options: *testOptions()}).Source; got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

func TestToolReadOnly(t *testing.T) {
	for _, tt := range []struct {
		tool, input string
		want        bool
	}{
		{"Read", `{"file_path":"a"}`, true},
		{"Read", `{"file_path":".env"}`, false},
		{"Glob", `{"pattern":"*"}`, true},
		{"Grep", `{"pattern":"x"}`, true},
		{"Write", `{"file_path":"a"}`, false},
		{"Bash", `{"command":"git log"}`, true},
		{"Bash", `{"command":""}`, false},
		{"WebFetch", `{"url":"http://x"}`, false},
		{"unknown", `{}`, false},
		{"", ``, false},
	} {
		an := Analyze(&Request{Tool: tt.tool, Input: []byte(tt.input), Options: *testOptions()})
		if an.ReadOnly != tt.want {
			t.Errorf("%s %s: read-only %v, want %v (%s)", tt.tool, tt.input, an.ReadOnly, tt.want, an.Why)
		}
	}
}

func TestLookup(t *testing.T) {
	for tool, want := range map[string]string{
		"Bash": "shell", "run_shell_command": "shell", "Read": "read", "write_to_file": "write", "replace": "edit", "grep_search": "grep",
		"mcp__memory__get": "mcp", "mcp_exec_command": "shell", "MCP:x": "mcp", "nope": "",
	} {
		got, ok := Lookup(tool)
		if got.Canonical != want || ok != (want != "") {
			t.Errorf("Lookup(%q) = %q, %v", tool, got.Canonical, ok)
		}
	}
	if got, _ := Lookup("mcp__a_b__c"); got.Server != "a_b" {
		t.Errorf("server %q", got.Server)
	}
}

func ExampleAnalyze() {
	an := Analyze(&Request{Tool: "Read", Input: []byte(`{"file_path":"/srv/app/.env"}`)})
	fmt.Println(an.Effects[0].Kind, an.Effects[0].Sensitive, an.ReadOnly, an.Why)
	// Output: read env-file false reads a secret /srv/app/.env
}
