package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A line is a command that a project shows.
type line struct {
	label, project, at, command string
}

// String prints a line as it stands in a file: label, project, place and command, with tabs between them.
func (l *line) String() string {
	return strings.Join([]string{cmp.Or(l.label, "?"), l.project, l.at, escaper.Replace(l.command)}, "\t")
}

var (
	escaper   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`)
	unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
)

// A source is a kind of file, and how commands are found in its text.
type source struct {
	file *regexp.Regexp
	find func(text string) []found
}

// found is a text of shell commands and the line that it begins at.
type found struct {
	at   int
	text string
}

var sources = []source{
	{regexp.MustCompile(`^\.github/workflows/[^/]*\.ya?ml$|^\.github/actions/.*\.ya?ml$`), inYAML},
	{regexp.MustCompile(`^(\.travis|\.gitlab-ci|\.circleci/config|\.cirrus|\.appveyor)\.yml$`), inYAML},
	{regexp.MustCompile(`(^|/)(GNU)?[mM]akefile$`), inMakefile},
	{regexp.MustCompile(`(^|/)(package|composer)\.json$`), inPackage},
	{regexp.MustCompile(`(?i)(^|/)(readme|contributing|develop|building|install|hacking|release|testing)[^/]*\.md$`), inMarkdown},
	{regexp.MustCompile(`^docs?/[^/]*\.md$`), inMarkdown},
}

// find prints the commands of checkouts, at most `most` of each: those whose digests are least, so that nobody chooses.
func find(out io.Writer, most int, dirs []string) error {
	seen := map[string]bool{}
	for _, dir := range dirs {
		lines, err := project(dir)
		if err != nil {
			return err
		}
		lines = slices.DeleteFunc(lines, func(l line) bool {
			again := seen[l.command]
			seen[l.command] = true
			return again
		})
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(digest(a.command), digest(b.command)) })
		lines = lines[:min(most, len(lines))]
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
		for i := range lines {
			fmt.Fprintln(out, lines[i].String())
		}
	}
	return nil
}

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// project returns the commands of a checkout.
func project(dir string) (out []line, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{".git", "node_modules", "vendor"}, d.Name()) {
			return cmp.Or(err, error(fs.SkipDir))
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		for _, s := range sources {
			if !s.file.MatchString(filepath.ToSlash(rel)) {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, f := range s.find(string(text)) {
				for _, piece := range pieces(f.text) {
					out = append(out, line{"", filepath.Base(dir), fmt.Sprintf("%s:%04d", rel, f.at), piece})
				}
			}
		}
		return nil
	})
	return out, err
}

// inYAML finds `run: make`, `run: |` and, of other systems, the lists of `script:`. What another shell runs is not for
// bash. An expression such as `${{ matrix.os }}` stands for one plain word.
func inYAML(text string) (out []found) {
	lines := strings.Split(expression.ReplaceAllString(text, "x1"), "\n")
	for i := 0; i < len(lines); i++ {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(lines[i]), "- "), ":")
		value = strings.TrimSpace(value)
		if !ok || !slices.Contains(scriptKeys, strings.TrimSpace(key)) || otherShell(lines, i) {
			continue
		}
		at, deep := i+1, depth(lines[i])
		var body []string
		for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || depth(lines[i+1]) > deep) {
			i++
			body = append(body, lines[i])
		}
		body = undent(body)
		switch {
		case value == "" && len(body) > 0 && strings.HasPrefix(body[0], "- "):
			for _, item := range body {
				if item, ok := strings.CutPrefix(item, "- "); ok {
					out = append(out, found{at, unquote(item)})
				}
			}
		case strings.HasPrefix(value, "|"):
			out = append(out, found{at, strings.Join(body, "\n")})
		case strings.HasPrefix(value, ">"):
			out = append(out, found{at, strings.Join(body, " ")})
		case value != "" && !strings.HasPrefix(value, "{"):
			out = append(out, found{at, unquote(value)})
		}
	}
	return out
}

var (
	expression = regexp.MustCompile(`\$\{\{[^}]*\}\}`)
	scriptKeys = []string{"run", "script", "before_script", "after_script", "install", "before_install", "test_script"}
)

// otherShell tells whether the step around a line names a shell that is not bash's kin.
func otherShell(lines []string, at int) bool {
	deep := depth(lines[at])
	for _, by := range []int{-1, 1} {
		for i := at; i >= 0 && i < len(lines) && i-at < 60 && at-i < 12; i += by {
			line := lines[i]
			if i != at && strings.TrimSpace(line) != "" && depth(line) < deep-2 {
				break
			}
			if _, shell, ok := strings.Cut(line, "shell:"); ok {
				return !strings.Contains(shell, "sh") || strings.Contains(shell, "pwsh") || strings.Contains(shell, "powershell")
			}
			if i != at && strings.HasPrefix(strings.TrimSpace(line), "- name:") && by > 0 {
				break
			}
		}
	}
	return false
}

func depth(line string) int {
	return len(line) - len(strings.TrimLeft(line, " "))
}

// undent takes the blanks away that all lines begin with.
func undent(lines []string) []string {
	least := -1
	for _, l := range lines {
		if strings.TrimSpace(l) != "" && (least < 0 || depth(l) < least) {
			least = depth(l)
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[min(max(least, 0), len(l)):]
	}
	return out
}

// unquote reads a scalar of YAML.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		var text string
		if json.Unmarshal([]byte(s), &text) == nil {
			return text
		}
	}
	if len(s) > 1 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	return s
}

// inPackage finds the scripts of package.json and composer.json.
func inPackage(text string) (out []found) {
	var file struct{ Scripts map[string]json.RawMessage }
	if json.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	for name, raw := range file.Scripts {
		var one string
		var many []string
		if json.Unmarshal(raw, &one) == nil {
			many = []string{one}
		} else if json.Unmarshal(raw, &many) != nil {
			continue
		}
		for _, command := range many {
			if !strings.HasPrefix(command, "@") && !strings.Contains(command, "::") {
				out = append(out, found{1 + strings.Count(text[:strings.Index(text, name)], "\n"), command})
			}
		}
	}
	slices.SortFunc(out, func(a, b found) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.text, b.text)) })
	return out
}

var fence = regexp.MustCompile("^\\s*```+\\s*(sh|bash|shell|zsh|console|shell-session|sh-session|terminal)\\b")

// inMarkdown finds the blocks of documents that say they are for a shell. Where one has prompts, what has none is
// output. A line with an open place, `git checkout <branch>`, is no command.
func inMarkdown(text string) (out []found) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !fence.MatchString(lines[i]) {
			continue
		}
		at := i + 2
		var body []string
		for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "```"); i++ {
			body = append(body, lines[i])
		}
		out = append(out, found{at, strings.Join(prompted(undent(body)), "\n")})
	}
	return out
}

var prompt = regexp.MustCompile(`^\s*[$%>#] `)

// prompted returns the lines behind prompts, with those that they go on in, or all lines where there is none.
func prompted(lines []string) (out []string) {
	for i := 0; i < len(lines); i++ {
		if mark := prompt.FindString(lines[i]); mark != "" && !strings.Contains(mark, "#") {
			out = append(out, lines[i][len(mark):])
			for strings.HasSuffix(lines[i], `\`) && i+1 < len(lines) {
				i++
				out = append(out, lines[i])
			}
		}
	}
	if out == nil {
		return lines
	}
	return out
}

var openPlace = regexp.MustCompile(`<[A-Za-z][^<>|&;]*>|\[[A-Za-z][a-z]+[ _-]|\{\{|\.\.\.(\s|$)|…`)

// maxPiece is the longest command that counts.
const maxPiece = 2000

// pieces cuts a text into whole commands: as many lines as bash needs to read one.
func pieces(text string) (out []string) {
	var piece []string
	for _, l := range strings.Split(text, "\n") {
		text := strings.TrimSpace(l)
		if len(piece) == 0 && (text == "" || strings.HasPrefix(text, "#") || openPlace.MatchString(text)) {
			continue
		}
		piece = append(piece, l)
		whole := strings.Join(piece, "\n")
		if strings.HasSuffix(l, `\`) || !reads(whole) {
			continue
		}
		piece = nil
		if whole = strings.TrimSpace(whole); !openPlace.MatchString(whole) && len(whole) < maxPiece {
			out = append(out, whole)
		}
	}
	return out
}

// reads tells whether bash reads a text as whole commands.
func reads(text string) bool {
	bash := exec.Command("bash", "-n")
	bash.Stdin = strings.NewReader(text + "\n")
	said, err := bash.CombinedOutput()
	return err == nil && len(said) == 0
}
