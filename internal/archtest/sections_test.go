package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sectioned are the pages that go through their document section by section.
var sectioned = []string{"adk-fluent", "agentscope", "chorus", "jiuwenswarm", "opencode"}

// TestSections: every row of such a table names a test or a file of cases that is there.
func TestSections(t *testing.T) {
	root := moduleRoot(t)
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, name := range sectioned {
		page := "docs/dialects/" + name + ".md"
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), "\n## Section by section\n")
		rows := 0
		for line := range strings.Lines(table) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if !strings.HasPrefix(line, "| ") || cells[0] == " section" || cells[0] == "section" {
				continue
			}
			rows++
			shown := quoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(cells) != 3 || len(shown) == 0 {
				t.Errorf("%s: a row needs a section, what obstat does, and what shows it: %s", page, line)
			}
			for _, s := range shown {
				if !there(t, root, s[1]) {
					t.Errorf("%s: %s is not there, which shows%s", page, s[1], cells[0])
				}
			}
		}
		if rows < 10 {
			t.Errorf("%s has %d rows in its table", page, rows)
		}
	}
}

// TestThreatModel: every row of docs/threat-model.md that claims something names tests that are there.
func TestThreatModel(t *testing.T) {
	const page = "docs/threat-model.md"
	root := moduleRoot(t)
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := 0
	_, claims, _ := strings.Cut(string(text), "\n## What is stopped\n")
	for line := range strings.Lines(claims) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		last := strings.TrimSpace(cells[len(cells)-1])
		if !strings.HasPrefix(line, "| ") || last == "shown by" {
			continue
		}
		rows++
		shown := quoted.FindAllStringSubmatch(last, -1)
		if len(shown) == 0 {
			t.Errorf("%s: a row has to name the tests that show it: %s", page, line)
		}
		for _, s := range shown {
			if !strings.Contains(s[1], ".Test") || !there(t, root, s[1]) {
				t.Errorf("%s: there is no test %s, which shows%s", page, s[1], cells[0])
			}
		}
	}
	if rows < 35 {
		t.Errorf("%s has %d rows that claim something", page, rows)
	}
}

// there tells whether a test `dir.TestName`, or a file, exists.
func there(t *testing.T, root, shown string) bool {
	dir, fn, isTest := strings.Cut(shown, ".")
	if !isTest || strings.Contains(shown, "/testdata/") {
		_, err := os.Stat(filepath.Join(root, shown))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+fn+"(") {
			return true
		}
	}
	return false
}
