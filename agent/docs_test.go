package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCovers: every agent that can be installed for has a table of the limits of
// its hooks, and its page has the same rows.
func TestCovers(t *testing.T) {
	for _, a := range All().Installable() {
		version, list := a.Covers()
		page, err := os.ReadFile(filepath.Join("..", "docs", "agents", a.Name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if version == "" || len(list) == 0 {
			t.Errorf("%s: %q %+v", a.Name, version, list)
		}
		for _, x := range list {
			if x.Held != Yes && x.Held != Partly && x.Held != No {
				t.Errorf("%s, %s: held is %q", a.Name, x.About, x.Held)
			}
			if row := "| " + x.About + " | " + string(x.Held) + " | " + x.Says + " |"; !strings.Contains(string(page), row) {
				t.Errorf("%s.md lacks\n%s", a.Name, row)
			}
		}
	}
}

// TestContributing: the lines that docs/contributing/agent.md adds are in the files.
func TestContributing(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "contributing", "agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	name, n := "", 0
	files := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if file, is := strings.CutPrefix(line, "+++ b/"); is {
			name = strings.TrimSpace(file)
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
			continue
		}
		if added, is := strings.CutPrefix(line, "+"); is {
			if n++; !strings.Contains(files[name], added) {
				t.Errorf("%s has no line %s", name, added)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d lines are added", n)
	}
}
