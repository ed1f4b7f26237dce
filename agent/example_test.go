package agent_test

import (
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
)

// A call comes in as the agent wrote it, and the decision goes out in the form
// that this agent honours.
func Example() {
	stdin := []byte(`{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"rm -rf /"}}`)
	e, err := agent.Decode("", stdin, nil)
	if err != nil {
		panic(err) // a hook process answers e.Refuse(err.Error())
	}
	fmt.Println(e.Agent, e.Call.Tool, string(e.Call.Input))
	r := e.Encode(&obstat.Decision{Verdict: obstat.Deny, Note: "not here"}, nil)
	fmt.Printf("%s%s%d", r.Stdout, r.Stderr, r.Exit)
	// Output:
	// gemini run_shell_command {"command":"rm -rf /"}
	// {"decision":"deny","reason":"not here"}
	// not here
	// 2
}
