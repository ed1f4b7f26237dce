package agent

import (
	"fmt"
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

// TestModePages: the page of every agent has its table of modes, between two lines that nobody sees.
func TestModePages(t *testing.T) {
	const begin, end = "<!-- modes: made by go test ./agent -run TestModePages -update -->\n", "<!-- /modes -->\n"
	for _, a := range All().Installable() {
		name := filepath.Join("..", "docs", "agents", a.Name+".md")
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok := strings.Cut(string(page), begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no place for the table of modes", name)
			continue
		}
		want := before + begin + modeTable(a) + end + after
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want != string(page) {
			t.Errorf("%s: the table of modes is not that of the agent: run with -update", name)
		}
	}
}

// modeTable writes an agent's modes for its page.
func modeTable(a *Agent) string {
	var b strings.Builder
	b.WriteString("| mode | event | an allow | obstat says it | an ask | |\n|---|---|---|---|---|---|\n")
	for _, m := range a.Modes() {
		name, event := "`"+m.Name+"`", "`"+m.Event+"`"
		if m.Name == AnyMode {
			name = "every other"
			if len(a.Modes()) == 1 {
				name = "every"
			}
		}
		if m.Event == "" {
			event = "every"
		}
		if m.Plain {
			name += ", a command line without `" + strings.ReplaceAll(a.starts, " ", "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, event, m.Allow, m.Told(), m.Asked(), m.Says)
	}
	return b.String()
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
