package agents

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// serverName is the tool server's name in the agents' settings.
const serverName = "canary"

// rpc is a message of the Model Context Protocol, as far as it is looked at.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version   string `json:"protocolVersion"`
		Name      string `json:"name"`
		Arguments struct {
			Path string `json:"path"`
		} `json:"arguments"`
	} `json:"params"`
}

// ServeMCP is a tool server on standard input and output with three tools: touch makes the
// file at its argument path, note adds a line to it, so that two calls can be told from one,
// and erase removes it.
func ServeMCP(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	enc := json.NewEncoder(out)
	for lines.Scan() {
		var m rpc
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue // a notification, which is not answered
		}
		reply := object{"jsonrpc": "2.0", "id": m.ID}
		if result := m.result(); result != nil {
			reply["result"] = result
		} else {
			reply["error"] = object{"code": -32601, "message": "there is no method " + m.Method}
		}
		if err := enc.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (m *rpc) result() object {
	switch m.Method {
	case "initialize":
		return object{"protocolVersion": m.Params.Version, "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": serverName, "version": "1"}}
	case "ping":
		return object{}
	case "tools/list":
		return object{"tools": []any{tool("touch", "Makes a file"), tool("erase", "Removes a file"),
			tool("note", "Makes a note")}}
	case "tools/call":
		return m.call()
	}
	return nil
}

func tool(name, does string) object {
	return object{"name": name, "description": does, "inputSchema": object{"type": "object", "required": []string{"path"},
		"properties": object{"path": object{"type": "string", "description": "absolute path"}}}}
}

func (m *rpc) call() object {
	path := m.Params.Arguments.Path
	var err error
	switch m.Params.Name {
	case "touch":
		err = os.WriteFile(path, nil, 0o644)
	case "note":
		err = appendLine(path)
	case "erase":
		err = os.Remove(path)
	default:
		return nil
	}
	text := "ok"
	if err != nil {
		text = err.Error()
	}
	return object{"content": []any{object{"type": "text", "text": text}}, "isError": err != nil}
}

func appendLine(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x\n")
	return errors.Join(err, f.Close())
}
