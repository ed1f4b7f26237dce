package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkCall is a call's way through the session: read, decided, written down, handed
// on, answered.
func BenchmarkCall(b *testing.B) {
	home := b.TempDir()
	dir := filepath.Join(home, "project")
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	b.Setenv("HOME", home)
	b.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	text, _ := json.Marshal(map[string]any{"permissions": map[string]any{"allow": []string{"mcp__toy__echo"}}})
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), text, 0o644); err != nil {
		b.Fatal(err)
	}
	st, err := Open(b.Context(), Options{Dir: dir, Getenv: os.Getenv})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	g, err := st.Guard("toy")
	if err != nil {
		b.Fatal(err)
	}
	var got []byte
	s := g.session(func(_ string, msg []byte) error { got = msg; return nil }, func([]byte) error { return nil })
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`)
	result := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`)
	s.tools.learn(b.Context(), toolList{defs: []Definition{{Name: "echo", Text: []byte(`{}`)}}}, false)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.fromClient(b.Context(), call); err != nil {
			b.Fatal(err)
		}
		if err := s.fromServer(b.Context(), result); err != nil {
			b.Fatal(err)
		}
		if string(got) != string(result) {
			b.Fatalf("%s", got)
		}
	}
}
