package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/obstat/obstat"
)

// harmlessText lists rows that do no harm where the policies run, each with the reason behind a tab.
//
//go:embed harmless.txt
var harmlessText string

// A suite is where another guard, or a collection of attacks, keeps the commands that have to be stopped.
type suite struct {
	name, mark string // mark is a file by which its checkout is known
	files      string // beginning of the paths of its files
	ext        string
	read       func(text string) []string
	kinds      string // what kind of command each file has, by the number in its name, a line each
}

// redCodeKinds names what the scripts of RedCode-Exec do.
//
//go:embed redcode.txt
var redCodeKinds string

var suites = []suite{
	{"nah", "corpus/ORACLE.json", "corpus/", ".jsonl", nahRows, ""},
	{"cc-safety-net", "tests/core/rules-git.test.ts", "tests/", ".ts", safetyNetRows, ""},
	{"dcg", "tests/corpus/canonical.toml", "tests/corpus/", ".toml", tomlRows("command", `expected = "deny"`, ""), ""},
	{"dcg, packs", "tests/corpus/canonical.toml", "tests/fixtures/destructive_commands", ".yaml", yamlRows, ""},
	{"tirith", "tests/fixtures/command.toml", "tests/fixtures/", ".toml",
		tomlRows("input", `expected_action = "block"`, `context = "exec"`), ""},
	{"RedCode-Exec, bash", "dataset/RedCode-Exec", "dataset/RedCode-Exec/bash2text_dataset_json/",
		".json", redCodeRows, redCodeKinds},
}

// guards prints how many rows of the suites in a checkout each preset and each guard beside allows, and which ones
// pass. It reports whether the checkout is one of them.
func guards(out io.Writer, dir string, beside []judge) (bool, error) {
	harmless := map[string]string{}
	for line := range strings.Lines(harmlessText) {
		if command, why, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && line[0] != '#' {
			harmless[command] = why
		}
	}
	found := false
	for i := range suites {
		s := &suites[i]
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(s.mark))); err != nil {
			continue
		}
		found = true
		rows, err := s.rows(dir)
		if err == nil {
			err = s.print(out, rows, harmless, beside)
		}
		if err != nil {
			return true, err
		}
	}
	return found, nil
}

// A suiteRow is a command of a suite, and its kind where the suite has kinds.
type suiteRow struct{ kind, command string }

// rows reads the commands of a suite, each once.
func (s *suite) rows(dir string) (out []suiteRow, err error) {
	seen := map[string]bool{}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, name)
		if err != nil || relErr != nil || d.IsDir() {
			return err
		}
		if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, s.files) || filepath.Ext(name) != s.ext {
			return nil
		}
		data, err := os.ReadFile(name)
		for _, row := range s.read(string(data)) {
			if !seen[row] {
				seen[row] = true
				out = append(out, suiteRow{s.kind(path.Base(rel)), row})
			}
		}
		return err
	})
	return out, err
}

var number = regexp.MustCompile(`\d+`)

// kind returns what the commands of a file do, `8 deletes files of the system` of `index8_30_codes.json`, or else the
// suite's name.
func (s *suite) kind(file string) string {
	n := number.FindString(file)
	for line := range strings.Lines(s.kinds) {
		if strings.HasPrefix(line, n+" ") {
			return strings.TrimSpace(line)
		}
	}
	return s.name
}

// there is a project with the files that some rows are about.
var there = obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/project/certs", "/home/u/.ssh"},
	Files: []string{"/home/u/project/certs/server.key", "/home/u/.ssh/id_rsa"}}

// print puts the rows of a suite that do harm to the presets and the guards beside.
func (s *suite) print(out io.Writer, rows []suiteRow, harmless map[string]string, beside []judge) error {
	judges, err := presetJudges(&there)
	if err != nil {
		return err
	}
	counts := newTally(append(judges, beside...))
	var passing []string
	for _, row := range rows {
		if _, fine := harmless[oneLine(row.command)]; fine {
			continue
		}
		by, err := counts.add(row.kind, row.command)
		if err != nil {
			return err
		}
		if len(by) > 0 {
			passing = append(passing, fmt.Sprintf("- %s: `%s`", strings.Join(by, ", "), oneLine(row.command)))
		}
	}
	fmt.Fprintf(out, "%s: %d rows\n\n", s.name, len(rows))
	counts.print(out, "do harm")
	fmt.Fprintf(out, "%s\n\n", strings.Join(passing, "\n"))
	return nil
}

// nahRows reads lines such as `{"command": "rm -rf .git", "expected": {"verdict": "block"}}`.
func nahRows(text string) (out []string) {
	for line := range strings.Lines(text) {
		var c struct {
			Command  string
			Expected struct{ Verdict string }
		}
		if json.Unmarshal([]byte(line), &c) == nil && c.Command != "" && c.Expected.Verdict == "block" {
			out = append(out, c.Command)
		}
	}
	return out
}

var asserted = regexp.MustCompile(`assertBlocked\(\s*('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|` + "`(?:\\\\.|[^`\\\\$])*`)")

// safetyNetRows reads tests such as `assertBlocked('git reset --hard', …)`.
func safetyNetRows(text string) (out []string) {
	for _, m := range asserted.FindAllStringSubmatch(text, -1) {
		if row, ok := unquoted(m[1]); ok {
			out = append(out, row)
		}
	}
	return out
}

// unquoted reads a string of TypeScript or TOML.
func unquoted(s string) (string, bool) {
	if len(s) < 2 {
		return "", false
	}
	inner := s[1 : len(s)-1]
	if s[0] != '"' {
		inner = strings.NewReplacer(`\'`, `'`, "\\`", "`", `"`, `\"`).Replace(inner)
	}
	row, err := strconv.Unquote(`"` + strings.ReplaceAll(inner, "\n", `\n`) + `"`)
	return row, err == nil
}

// tomlRows reads tables in which a key holds the command, one line says that it has to be stopped, and another, if
// there is one, that it is a command.
func tomlRows(key, stopped, kind string) func(string) []string {
	return func(text string) (out []string) {
		for table := range strings.SplitSeq(text, "\n[[") {
			command := ""
			for line := range strings.Lines(table) {
				if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+" = "); ok && command == "" {
					if row, ok := unquoted(value); ok && value[0] == '"' && !strings.HasPrefix(value, `"""`) {
						command = row
					} else if value[0] == '\'' {
						command = strings.Trim(value, "'")
					}
				}
			}
			if command != "" && strings.Contains(table, "\n"+stopped) && strings.Contains(table, kind) {
				out = append(out, command)
			}
		}
		return out
	}
}

// yamlRows reads lines such as `- command: "vault kv delete x"`.
func yamlRows(text string) (out []string) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "- command: "); ok {
			if row, ok := unquoted(value); ok && value[0] == '"' {
				out = append(out, row)
			} else {
				out = append(out, strings.ReplaceAll(strings.Trim(value, `'"`), `\"`, `"`))
			}
		}
	}
	return out
}

// redCodeRows reads the scripts of a file of cases.
func redCodeRows(text string) (out []string) {
	var list []struct{ Code string }
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	for _, c := range list {
		out = append(out, c.Code)
	}
	return out
}
