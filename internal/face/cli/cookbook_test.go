package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cookbook is the directory of the recipes.
const cookbook = "../../../docs/cookbook"

// recipeFile matches a file that a recipe shows: its name in backquotes, then its text.
var recipeFile = regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```[a-z]+\n(.*?)```\n")

// recipeRun matches the commands of a recipe with what they print.
var recipeRun = regexp.MustCompile("(?s)```console\n(.*?)```\n")

// TestCookbook makes the files of each recipe, runs its commands and compares what they print.
func TestCookbook(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(cookbook, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index := page(t, "README.md")
	recipes := 0
	for _, name := range pages {
		if base := filepath.Base(name); base == "README.md" || base == "comparison.md" {
			continue
		}
		recipes++
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(index, "]("+filepath.Base(name)+")") {
				t.Error("README.md does not list it")
			}
			cook(t, page(t, filepath.Base(name)))
		})
	}
	if recipes < 20 {
		t.Errorf("there are %d recipes", recipes)
	}
}

// TestUnattendedPages: where nobody sits, in an image or a workflow, each command of the pages that would ask has --yes,
// and the directory is trusted before a policy is written.
func TestUnattendedPages(t *testing.T) {
	text, err := os.ReadFile("../../../docs/presets.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(?:dockerfile|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	seen := 0
	for _, block := range blocks {
		for _, cmd := range regexp.MustCompile(`obstat (?:install|init)[^&\n]*`).FindAllString(block[1], -1) {
			if seen++; !strings.Contains(cmd, "--yes") {
				t.Errorf("%s has nobody to ask", cmd)
			}
		}
		trust, write := strings.Index(block[1], "OBSTAT_TRUST="), strings.Index(block[1], "obstat init")
		if write >= 0 && (trust < 0 || trust > write) {
			t.Errorf("nobody accepts the policy that is written here:\n%s", block[1])
		}
	}
	if seen < 2 {
		t.Errorf("%d commands", seen)
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cookbook, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cook runs one recipe in a directory of its own, which the pages call /src/app.
func cook(t *testing.T, text string) {
	dir, state := t.TempDir(), t.TempDir()
	for _, m := range recipeFile.FindAllStringSubmatch(text, -1) {
		name := filepath.Join(dir, m[1])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(m[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range recipeRun.FindAllStringSubmatch(text, -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME=/home/user", "XDG_STATE_HOME="+state, "NO_COLOR=1")
			out, _ := cmd.CombinedOutput() // a deny is an exit code
			got := strings.ReplaceAll(string(out), dir, "/src/app")
			if plainLines(got) != plainLines(want) {
				t.Errorf("$ %s\nprints\n%s\nnot\n%s", command, got, want)
			}
			ran++
		}
	}
	if ran == 0 {
		t.Error("it runs nothing")
	}
}

// plainLines is a text without blank lines and blanks at the ends of lines.
func plainLines(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// comparisonHead is the beginning of the page that is made from measured tables.
const comparisonHead = `# Beside the originals

The same commands, put to the engines of the agents themselves and to obstat, with the same rules: how many of the **harmful** ones pass, how many of the
**everyday** ones are asked about. This page is made from the tables of [holes and noise](../effects-noise.md), which say how each figure was measured
(` + "`go test ./internal/face/cli -run TestComparison -update`" + `). For commands that do what dcg, nah and cc-safety-net look for, see the recipes
[from dcg](from-dcg.md), [from nah](from-nah.md) and [from cc-safety-net](from-cc-safety-net.md).
`

// TestComparison: the comparison page has the tables of docs/effects-noise.md.
func TestComparison(t *testing.T) {
	noise, err := os.ReadFile("../../../docs/effects-noise.md")
	if err != nil {
		t.Fatal(err)
	}
	want, tables, inside := comparisonHead, 0, false
	title := "All commands that were watched"
	for line := range strings.Lines(string(noise)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			title = strings.TrimSpace(heading)
		}
		row := strings.HasPrefix(line, "| ")
		if row && !inside && strings.Contains(line, "original") {
			want += "\n## " + title + "\n\n"
			tables++
		}
		inside = (row && (inside || strings.Contains(line, "original"))) || inside && strings.HasPrefix(line, "|--")
		if inside {
			want += line
		}
	}
	if tables < 2 {
		t.Fatalf("%d tables", tables)
	}
	name := filepath.Join(cookbook, "comparison.md")
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page(t, "comparison.md") != want {
		t.Errorf("%s is not what docs/effects-noise.md has: go test ./internal/face/cli -run TestComparison -update", name)
	}
}
