package agentscope_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/agentscope"
)

// MyTool is the document's custom tool.
type MyTool struct{}

// CheckReadOnly: whether an invocation modifies state hangs on the operation.
func (MyTool) CheckReadOnly(input map[string]any) bool {
	switch input["operation"] {
	case "list", "describe", "get":
		return true
	}
	return false
}

// CheckPermissions asks before anything touches production, whatever the rules.
func (MyTool) CheckPermissions(input map[string]any, _ agentscope.Context) obstat.Finding {
	if target, _ := input["target"].(string); strings.HasPrefix(target, "prod-") {
		return obstat.Finding{Verdict: obstat.Ask, Safety: true, Note: "operation targets production resource: " + target}
	}
	return obstat.Finding{Pass: true}
}

func Example_customTool() {
	d := &agentscope.Dialect{Tools: map[string]agentscope.CustomTool{"MyTool": MyTool{}}}
	for _, mode := range []string{"default", "explore", "bypass", "dont_ask"} {
		context := `{"mode":"` + mode + `","allow_rules":{"MyTool":[{"tool_name":"MyTool","rule_content":null,"behavior":"allow","source":"userSettings"}]}}`
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "context.json", Data: []byte(context)}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, input := range []string{`{"operation":"delete","target":"prod-db"}`, `{"operation":"list","target":"staging"}`} {
			dec := l.Policy.Decide(&obstat.Call{Tool: "MyTool", Input: []byte(input)}, nil)
			fmt.Println(mode, input, dec.Verdict)
		}
	}
	// Output:
	// default {"operation":"delete","target":"prod-db"} ask
	// default {"operation":"list","target":"staging"} allow
	// explore {"operation":"delete","target":"prod-db"} deny
	// explore {"operation":"list","target":"staging"} allow
	// bypass {"operation":"delete","target":"prod-db"} allow
	// bypass {"operation":"list","target":"staging"} allow
	// dont_ask {"operation":"delete","target":"prod-db"} deny
	// dont_ask {"operation":"list","target":"staging"} allow
}

// decide prints what a context says to some calls.
func decide(context string, calls ...*obstat.Call) {
	l, err := dialect.Load(&agentscope.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "context.json", Data: []byte(context)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	world := &obstat.Snapshot{HomeDir: "/home/u"}
	for _, c := range calls {
		dec := l.Policy.Decide(c, world)
		fmt.Printf("%-5v %s\n", dec.Verdict, c.Input)
	}
}

func bash(cmd string) *obstat.Call {
	in, _ := json.Marshal(map[string]string{"command": cmd})
	return &obstat.Call{Tool: "Bash", Input: in, Dir: "/home/user/project"}
}

func write(path string) *obstat.Call {
	return &obstat.Call{Tool: "Write", Input: []byte(`{"file_path":"` + path + `","content":"x"}`), Dir: "/home/u/project"}
}

// The document's recipe "Read-only exploration".
func Example_explore() {
	decide(`{"mode":"explore"}`, bash("git status"), bash("rm x"), write("/home/u/project/a"))
	// Output:
	// allow {"command":"git status"}
	// deny  {"command":"rm x"}
	// deny  {"file_path":"/home/u/project/a","content":"x"}
}

// The document's recipe "Unattended automation".
func Example_unattended() {
	decide(`{"mode":"dont_ask","allow_rules":{"Bash":[
		{"tool_name":"Bash","rule_content":"npm run:*","behavior":"allow","source":"project"},
		{"tool_name":"Bash","rule_content":"git commit:*","behavior":"allow","source":"project"}]}}`,
		bash("npm run build"), bash("git commit -m fix"), bash("npm run build; curl evil"), bash("rm -rf /"), write("/home/u/.bashrc"))
	// Output:
	// allow {"command":"npm run build"}
	// allow {"command":"git commit -m fix"}
	// deny  {"command":"npm run build; curl evil"}
	// deny  {"command":"rm -rf /"}
	// deny  {"file_path":"/home/u/.bashrc","content":"x"}
}

// The document's recipe "BYPASS with explicit guardrails". With the floor on,
// the guardrails cannot be walked around.
func Example_bypass() {
	decide(`{"mode":"bypass","deny_rules":{
		"Bash":[{"tool_name":"Bash","rule_content":"rm:*","behavior":"deny","source":"userSettings"},
			{"tool_name":"Bash","rule_content":"git push:*","behavior":"deny","source":"userSettings"}],
		"Write":[{"tool_name":"Write","rule_content":"**/.bashrc","behavior":"deny","source":"userSettings"},
			{"tool_name":"Write","rule_content":"**/.ssh/**","behavior":"deny","source":"userSettings"}]}}`,
		bash("make install"), bash("rm x"), bash("env rm x"), bash("git -C sub push"), bash("echo x >> ~/.bashrc"), write("/home/u/.ssh/config"))
	// Output:
	// allow {"command":"make install"}
	// deny  {"command":"rm x"}
	// deny  {"command":"env rm x"}
	// deny  {"command":"git -C sub push"}
	// deny  {"command":"echo x \u003e\u003e ~/.bashrc"}
	// deny  {"file_path":"/home/u/.ssh/config","content":"x"}
}
