package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/builtin"
)

// TestBuiltin: what provably only reads in the workspace is allowed; everything
// else asks and nothing is denied.
func TestBuiltin(t *testing.T) {
	l, err := dialect.Load(builtin.Dialect{}, &dialect.Input{})
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	dir, linked := filepath.Join(top, "real"), filepath.Join(top, "link")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{linked: dir, filepath.Join(dir, "out"): "/etc", filepath.Join(dir, "loop"): "loop"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		tool, field, text string
		want              obstat.Verdict
	}{
		{"Bash", "command", "ls", obstat.Allow},
		{"Bash", "command", "cat go.mod | head -3", obstat.Allow},
		{"Bash", "command", "git log --oneline", obstat.Allow},
		{"Read", "file_path", "main.go", obstat.Allow},
		{"Grep", "pattern", "TODO", obstat.Allow},
		{"bash", "command", "ls", obstat.Allow},               // opencode's name
		{"run_shell_command", "command", "pwd", obstat.Allow}, // Gemini's
		{"Bash", "command", "cat /etc/passwd", obstat.Ask},
		{"Bash", "command", "cat out/passwd", obstat.Ask},
		{"Bash", "command", "cat loop", obstat.Ask},
		{"Bash", "command", "cat ../x", obstat.Ask},
		{"Bash", "command", "cat .env", obstat.Ask},
		{"Bash", "command", "cat $X", obstat.Ask},
		{"Bash", "command", "ls > f", obstat.Ask},
		{"Bash", "command", "ls; rm -rf /", obstat.Ask},
		{"Bash", "command", "curl https://example.com", obstat.Ask},
		{"Bash", "command", "make", obstat.Ask},
		{"Bash", "command", "cat 'x", obstat.Ask},
		{"Read", "file_path", "/etc/passwd", obstat.Ask},
		{"Read", "file_path", ".env", obstat.Ask},
		{"Write", "file_path", "main.go", obstat.Ask},
		{"WebFetch", "url", "https://example.com", obstat.Ask},
		{"mcp__x__y", "path", "main.go", obstat.Ask},
		{"Nonsense", "x", "y", obstat.Ask},
	} {
		for _, at := range []string{dir, linked} {
			text := tt.text
			if tt.field == "file_path" && !filepath.IsAbs(text) {
				text = filepath.Join(at, text)
			}
			input, _ := json.Marshal(map[string]string{tt.field: text})
			d := l.Policy.Decide(&obstat.Call{Tool: tt.tool, Input: input, Dir: at}, obstat.OS{})
			if d.Verdict != tt.want {
				t.Errorf("%s %s in %s: %s, want %s: %s", tt.tool, tt.text, at, d.Verdict, tt.want, d.Reason())
			}
		}
	}
}
