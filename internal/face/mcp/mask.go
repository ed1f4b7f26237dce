package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/ledger"
)

// masked returns the answer to a call without the secrets that a model would read: in `content`, in a structured
// result, in a resource, in an error. A result says how many there were, and the ledger has them. An answer without
// secrets stays as it is, byte for byte.
func (s *session) masked(ctx context.Context, p *passed, f *frame) []byte {
	if s.NoMask || s.Gate == nil || p.call.Tool == "" {
		return f.raw
	}
	at, state, mask := f.result, "ran", maskResult
	if at.none() {
		at, state, mask = f.failure, "failed", maskWhole
	}
	if at.none() {
		return f.raw
	}
	was := at.in(f.raw)
	now, found := mask(s.Gate, was)
	if len(found) == 0 {
		return f.raw
	}
	_ = s.Gate.Report(ctx, &p.call, &gate.Outcome{State: state, Result: was, Masked: found}) // the call is over
	return slices.Concat(f.raw[:at.start], now, f.raw[at.end:])
}

// maskWhole masks every text of a value.
func maskWhole(g *gate.Gate, raw []byte) ([]byte, []ledger.Masked) { return g.Printed(raw) }

// maskResult masks the members of a result that hold a server's output. The others, such as a state that the client
// has to send again, stay as they are.
func maskResult(g *gate.Gate, raw []byte) ([]byte, []ledger.Masked) {
	if _, some := g.Printed(raw); len(some) == 0 {
		return raw, nil
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(raw, &result) != nil {
		return raw, nil // the client cannot read it either
	}
	var found []ledger.Masked
	for _, key := range []string{"content", "contents", "structuredContent", "messages"} {
		now, some := g.Printed(result[key])
		for i := range some {
			some[i].Pointer = "/" + key + some[i].Pointer
		}
		if len(some) > 0 {
			result[key], found = now, append(found, some...)
		}
	}
	if len(found) == 0 {
		return raw, nil
	}
	if list, ok := result["content"]; ok {
		result["content"] = noted(list, len(found))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(result) != nil {
		return []byte(`{"content":[],"isError":true}`), found // parts that were read can be written
	}
	return bytes.TrimSpace(b.Bytes()), found
}

// noted adds a word about the secrets to a tool's content.
func noted(content json.RawMessage, n int) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil {
		return content
	}
	told := fmt.Sprintf("obstat has masked %d secrets in this result: each stands as %s", n, ledger.Mask)
	if n == 1 {
		told = "obstat has masked a secret in this result: it stands as " + ledger.Mask
	}
	word, err := json.Marshal(map[string]string{"type": "text", "text": told})
	if err != nil {
		return content
	}
	out, err := json.Marshal(append(list, word))
	if err != nil {
		return content
	}
	return out
}
