package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// trustHash writes the hash without which Codex skips a hook and says nothing.
func (t *target) trustHash(old []byte) ([]byte, error) {
	index := 0
	if data, err := readIfThere(t.file); err == nil {
		root, _ := t.agent.format.Parse(data)
		list := root.At("hooks", "PreToolUse")
		if index = indexOf(list); index < 0 && list.Is(tree.Array) {
			index = len(list.Elems) // a dry run: it would be the next
		}
	}
	index = max(index, 0)
	canonical, err := jsonx.Marshal(obj("event_name", "pre_tool_use", "hooks", []any{obj("async", false, "command", t.command, "timeout", 600, "type", "command")}))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	header := fmt.Sprintf("[hooks.state.%s]", jsonx.Quote(fmt.Sprintf("%s:pre_tool_use:%d:0", t.file, index)))
	line := fmt.Sprintf("trusted_hash = \"sha256:%s\"", hex.EncodeToString(sum[:]))
	if bytes.Contains(old, []byte(header+"\n"+line)) {
		return old, nil
	}
	if bytes.Contains(old, []byte(header)) {
		return nil, fmt.Errorf("it trusts another hook in the same place: remove %s, or trust the hook with /hooks in Codex", header)
	}
	text := slices.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, header+"\n"+line+"\n"...), nil
}

// readIfThere returns a file's bytes, nil where there is no file.
func readIfThere(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
