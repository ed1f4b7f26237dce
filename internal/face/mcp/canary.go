package mcp

import (
	"io"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// Canary is a server whose one tool does nothing and says that it ran. `obstat doctor`
// puts it behind a gateway, to see what comes through.
func Canary(in io.Reader, out io.Writer) error {
	to := &sink{w: out}
	for msg, err := range messages(in) {
		if err != nil {
			return err
		}
		f, err := (&reader{}).read(msg)
		if err != nil {
			return err
		}
		var result jsonx.Object
		switch f.method {
		case "initialize":
			result = jsonx.Object{{Key: "protocolVersion", Value: f.meta.version}, {Key: "capabilities", Value: jsonx.Object{{Key: "tools", Value: jsonx.Object{}}}},
				{Key: "serverInfo", Value: jsonx.Object{{Key: "name", Value: "obstat-canary"}, {Key: "version", Value: "1"}}}}
		case "tools/list":
			schema := jsonx.Object{{Key: "type", Value: "object"}}
			result = jsonx.Object{{Key: "tools", Value: []any{jsonx.Object{{Key: "name", Value: "write_file"}, {Key: "inputSchema", Value: schema}}}}}
		case "tools/call":
			result = jsonx.Object{{Key: "content", Value: []any{jsonx.Object{{Key: "type", Value: "text"}, {Key: "text", Value: "the canary ran"}}}}}
		}
		if f.kind != request {
			continue
		}
		if err := to.write(message(jsonx.Object{{Key: "jsonrpc", Value: "2.0"}, {Key: "id", Value: idValue(f.id)}, {Key: "result", Value: result}})); err != nil {
			return err
		}
	}
	return nil
}
