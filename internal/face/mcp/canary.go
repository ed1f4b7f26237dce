package mcp

import (
	"io"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// Canary is a server whose one tool does nothing and says that it ran. `obstat doctor`
// puts it behind a gateway, and looks which calls come through.
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
			result = obj("protocolVersion", f.meta.version, "capabilities", obj("tools", obj()), "serverInfo", obj("name", "obstat-canary", "version", "1"))
		case "tools/list":
			schema := obj("type", "object")
			result = obj("tools", []any{obj("name", "write_file", "inputSchema", schema)})
		case "tools/call":
			result = obj("content", []any{obj("type", "text", "text", "the canary ran")})
		}
		if f.kind != request {
			continue
		}
		if err := to.write(reply(f.id, result)); err != nil {
			return err
		}
	}
	return nil
}
