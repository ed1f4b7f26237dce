package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages: every agent that can be installed for has a page with the table of its modes and that of
// the limits of its hooks, and a row in the list of agents; -update writes them.
func TestPages(t *testing.T) {
	list := All().Installable()
	for _, a := range list {
		version, limits := a.Covers()
		if version == "" || len(limits) == 0 || len(a.modes) == 0 || strings.Count(a.brief, "|") != 3 {
			t.Errorf("%s: %q %q, %d limits", a.Name, version, a.brief, len(limits))
		}
		for _, x := range limits {
			if x.Held != Yes && x.Held != Partly && x.Held != No {
				t.Errorf("%s, %s: held is %q", a.Name, x.About, x.Held)
			}
		}
		same(t, a.Name+".md", a.page)
	}
	same(t, "README.md", list.index)
}

// same wants a file of docs/agents to be as a function makes it of its text.
func same(t *testing.T, file string, made func(old string) string) {
	t.Helper()
	name := filepath.Join("..", "docs", "agents", file)
	old, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	switch want := made(string(old)); {
	case want == string(old):
	case *update:
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has not the tables of the agents: run with -update", name)
	}
}

// page returns the agent's page with its tables; a new one where there is none.
func (a *Agent) page(old string) string {
	if old == "" {
		old = "# " + a.Title + "\n\n```\nobstat install " + a.Name + "\nobstat doctor " + a.Name + "\n```\n\n" +
			between("modes", "") + "\n" + between("covers", "")
	}
	var limits strings.Builder
	limits.WriteString("| | rules hold | |\n|---|---|---|\n")
	for _, x := range a.covers {
		fmt.Fprintf(&limits, "| %s | %s | %s |\n", x.About, x.Held, x.Says)
	}
	return fill(fill(old, "modes", modeTable(a)), "covers", limits.String())
}

// index returns the list of agents with a row for each.
func (l List) index(old string) string {
	var b strings.Builder
	b.WriteString("| agent | allow skips its prompt | ask | arguments can be changed | obstat is missing or dies |\n|---|---|---|---|---|\n")
	for _, a := range l.sorted() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", a.Title, a.Name, a.brief)
	}
	return fill(old, "agents", b.String())
}

// between puts a text between the two lines that mark it.
func between(what, text string) string {
	return "<!-- " + what + ": made by go test ./agent -run TestPages -update -->\n" + text + "<!-- /" + what + " -->\n"
}

// fill replaces the marked text of a page.
func fill(page, what, text string) string {
	begin, end, _ := strings.Cut(between(what, "\x00"), "\x00")
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "the page has no place for " + what
	}
	return before + between(what, text) + after
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
