package agents

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustHash: the hash is written once, and never over another.
func TestTrustHash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hooks.json")
	tg := &target{agent: Of(Codex), file: file, command: "obstat hook codex"}
	text, err := tg.trustHash([]byte("model = \"x\""))
	if err != nil || !strings.HasPrefix(string(text), "model = \"x\"\n\n[hooks.state.\"") || !strings.Contains(string(text), ":pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:") {
		t.Errorf("%s, %v", text, err)
	}
	if again, err := tg.trustHash(text); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s, %v", again, err)
	}
	tg.command = "other"
	if _, err := tg.trustHash(text); err == nil {
		t.Error("another hash in the same place is overwritten")
	}
}
