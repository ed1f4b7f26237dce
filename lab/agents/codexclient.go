package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// clientAsked is in the output of the client where Codex has asked it for an approval.
const clientAsked = "the client was asked"

// codexClient is `lab codex-client CODEX DIR SANDBOX PROMPT [APPROVALS]`: an app-server's client without a user. It
// starts one turn that asks on request, or as it is told, declines every question, and ends with the turn.
func codexClient(args []string, _ io.Reader, out, errs io.Writer) (int, error) {
	if len(args) == 4 {
		args = append(args, "on-request")
	}
	if len(args) != 5 {
		return 2, errors.New("codex-client: the program, a directory, a sandbox and a prompt")
	}
	cmd := exec.Command(args[0], "app-server")
	cmd.Dir, cmd.Stderr = args[1], errs
	to, err := cmd.StdinPipe()
	if err != nil {
		return 2, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return 2, err
	}
	if err := cmd.Start(); err != nil {
		return 2, err
	}
	c := &client{to: to, out: out, args: args}
	c.send(object{"id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "lab", "title": "lab",
		"version": "1"}}})
	eachLine(from, func(line string) {
		fmt.Fprintln(out, line)
		c.hear(line)
	})
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	return 0, nil
}

type client struct {
	to   io.WriteCloser
	out  io.Writer
	args []string
}

func (c *client) send(v object) {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = c.to.Write(append(b, '\n'))
	}
	if err != nil {
		fmt.Fprintln(c.out, err)
	}
}

// hear goes on with the conversation: greet, start a thread, start a turn, decline, leave.
func (c *client) hear(line string) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result struct {
			Thread struct {
				ID string `json:"id"`
			} `json:"thread"`
		} `json:"result"`
	}
	if json.Unmarshal([]byte(line), &m) != nil {
		return
	}
	switch {
	case m.Method == "turn/completed":
		_ = c.to.Close()
	case m.Method != "" && m.ID != nil:
		fmt.Fprintln(c.out, clientAsked+": "+m.Method)
		answer := object{"decision": "decline"}
		if strings.Contains(m.Method, "elicitation") {
			answer = object{"action": "decline"}
		}
		c.send(object{"id": m.ID, "result": answer})
	case string(m.ID) == "1":
		c.send(object{"method": "initialized"})
		c.send(object{"id": 2, "method": "thread/start", "params": object{"cwd": c.args[1], "approvalPolicy": c.args[4],
			"sandbox": c.args[2]}})
	case string(m.ID) == "2":
		c.send(object{"id": 3, "method": "turn/start", "params": object{"threadId": m.Result.Thread.ID,
			"input": []any{object{"type": "text", "text": c.args[3]}}}})
	}
}
