package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimits: every agent has a table, and its page says what the table says.
func TestLimits(t *testing.T) {
	for _, a := range All() {
		l, err := a.Limits()
		if err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents", a.Name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if l.Source != "observed" && l.Source != "documented" || l.Version == "" || len(l.List) == 0 {
			t.Errorf("%s: %+v", a.Name, l)
		}
		for _, x := range l.List {
			if x.Held != Yes && x.Held != Partly && x.Held != No {
				t.Errorf("%s, %s: held is %q", a.Name, x.About, x.Held)
			}
			if row := "| " + x.About + " | " + string(x.Held) + " | " + x.Says + " |"; !strings.Contains(string(page), row) {
				t.Errorf("%s.md lacks\n%s", a.Name, row)
			}
		}
	}
}
