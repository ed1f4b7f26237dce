package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A counter puts labelled lines to policies.
type counter struct {
	binary, dirs string
	verbose      bool
}

// count prints, for each policy, how many lines it asks about needlessly.
func (c *counter) count(out io.Writer, files []string) error {
	var lines []line
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for text := range strings.Lines(string(data)) {
			part := strings.SplitN(strings.TrimSuffix(text, "\n"), "\t", 4)
			if len(part) != 4 || !slices.Contains([]string{"ok", "may", "ask"}, part[0]) {
				return fmt.Errorf("%s: want ok, may or ask, project, place and command: %q", file, text)
			}
			lines = append(lines, line{part[0], part[1], part[2], unescaper.Replace(part[3])})
		}
	}
	home, err := os.MkdirTemp("", "lines")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	total := map[string]int{}
	for _, l := range lines {
		total[l.label]++
	}
	fmt.Fprintf(out, "%d commands: %v\n\n", len(lines), total)
	fmt.Fprint(out, "| policy | strict | generous | rightly stopped |\n|---|---|---|---|\n")
	var detail strings.Builder
	for _, p := range policies(programs(lines)) {
		answers, err := c.decide(home, &p, lines)
		if err != nil {
			return err
		}
		stopped := map[string]int{}
		for i, a := range answers {
			if a.Verdict == "allow" {
				continue
			}
			stopped[lines[i].label]++
			if c.verbose {
				fmt.Fprintf(&detail, "%s\t%s\t%s\t%s\n", p.name, a.Verdict, a.Reason, lines[i].String())
			}
		}
		strict, generous := stopped["ok"], stopped["ok"]+stopped["may"]
		fmt.Fprintf(out, "| %s | %d (%.1f %%) | %d (%.1f %%) | %d of %d |\n", p.name, strict, percent(strict, len(lines)),
			generous, percent(generous, len(lines)), stopped["ask"], total["ask"])
	}
	_, err = fmt.Fprintf(out, "\n%s", detail.String())
	return err
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// An answer is what obstat says of one call.
type answer struct{ Verdict, Reason, Error string }

// decide has the binary decide every line under a policy.
func (c *counter) decide(home string, p *policy, lines []line) (out []answer, err error) {
	file := filepath.Join(home, p.file)
	if err := os.WriteFile(file, []byte(p.text), 0o666); err != nil {
		return nil, err
	}
	empty := filepath.Join(home, "project")
	if err := os.MkdirAll(empty, 0o777); err != nil {
		return nil, err
	}
	var calls bytes.Buffer
	for _, l := range lines {
		dir := empty
		if c.dirs != "" {
			dir = filepath.Join(c.dirs, l.project)
		}
		call, err := json.Marshal(map[string]any{"tool": p.tool, "input": map[string]string{"command": l.command},
			"dir": dir, "roots": []string{dir}})
		if err != nil {
			return nil, err
		}
		calls.Write(append(call, '\n'))
	}
	check := exec.Command(c.binary, "check", "--json", "-d", p.dialect, "-p", file)
	check.Env = append(os.Environ(), "HOME="+home)
	check.Dir, check.Stdin, check.Stderr = empty, &calls, os.Stderr
	said, err := check.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 2) {
		return nil, fmt.Errorf("%s: %w: %s", p.name, err, said)
	}
	for text := range bytes.Lines(said) {
		var a answer
		if err := json.Unmarshal(text, &a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	if len(out) != len(lines) {
		return nil, fmt.Errorf("%s: %d answers to %d calls", p.name, len(out), len(lines))
	}
	return out, nil
}

// A policy is one in the notation of a dialect.
type policy struct{ name, dialect, file, tool, text string }

// policies returns, in each notation, a policy that allows all but rm, curl and reading .env, and one that allows only
// the programs that the commands name, of those all but these.
func policies(programs []string) (out []policy) {
	programs = append(slices.Clone(programs), "[", "test", "set", "export", "[[")
	marshal := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	type m = map[string]any
	claude := []string{"Edit", "Write", "Read"}
	opencode := m{"*": "ask"}
	var named []string
	program, files := []m{}, []m{{"tool": "Write", "verdict": "allow"}, {"tool": "Read", "verdict": "allow"}}
	for _, name := range programs {
		if !plainName.MatchString(name) {
			continue
		}
		claude = append(claude, "Bash("+name+":*)")
		opencode[name+" *"] = "allow"
		named = append(named, name)
		program = append(program, m{"tool": "Bash", "field": "command", "match": m{"wildcard": name + " *"},
			"verdict": "allow"})
	}
	opencode["rm *"], opencode["curl *"] = "deny", "deny"
	denied := []string{"Bash(rm:*)", "Bash(curl:*)", "Read(./.env)"}
	deny := []m{{"tool": "Bash", "field": "command", "match": m{"wildcard": "rm *"}, "verdict": "deny"},
		{"tool": "Bash", "field": "command", "match": m{"wildcard": "curl *"}, "verdict": "deny"},
		{"tool": "Read", "field": "file_path", "match": m{"minimatch": "**/.env"}, "verdict": "deny"}}
	programWith := func(allow []m) string {
		return marshal(m{"obstat": 1, "mode": "default", "rules": m{"deny": deny, "allow": allow},
			"pipelines": m{"default": m{"default": "ask", "stages": []m{{"match": "deny rules", "rules": "deny"},
				{"match": "allow rules", "rules": "allow"}}}},
			"faces": m{"write": m{"tool": "Write", "field": "file_path"}, "read": m{"tool": "Read", "field": "file_path"}}})
	}
	opencodeWith := func(bash m) string {
		return marshal(m{"permission": m{"bash": bash, "edit": "allow", "external_directory": "allow",
			"read": m{"*": "allow", ".env": "deny"}}})
	}
	native := func(run string) string {
		return "version: 1\nallow:\n  - read anything\n  - write anything\n  - delete anything\n  - connect anywhere\n" +
			"  - system\n  - " + run + "\ndeny:\n  - run rm, curl\n  - read .env\n"
	}
	return []policy{
		{"all but a few, Claude Code", "claudecode", "settings.json", "Bash",
			marshal(m{"permissions": m{"allow": []string{"Bash", "Edit", "Write", "Read"}, "deny": denied}})},
		{"all but a few, opencode", "opencode", "opencode.json", "bash",
			opencodeWith(m{"*": "allow", "rm *": "deny", "curl *": "deny"})},
		{"all but a few, obstat.yaml", "native", "obstat.yaml", "Bash", native("run anything")},
		{"all but a few, Program", "program", "obstat.json", "Bash",
			programWith(append(files, m{"tool": "Bash", "verdict": "allow"}))},
		{"allow list, Claude Code", "claudecode", "settings.json", "Bash",
			marshal(m{"permissions": m{"allow": claude, "deny": denied}})},
		{"allow list, opencode", "opencode", "opencode.json", "bash", opencodeWith(opencode)},
		{"allow list, obstat.yaml", "native", "obstat.yaml", "Bash", native("run " + strings.Join(named, ", "))},
		{"allow list, Program", "program", "obstat.json", "Bash", programWith(append(program, files...))},
	}
}

// plainName is a name that a rule can have.
var plainName = regexp.MustCompile(`^[\w./~+\[-]+$`)

// starts are what a command stands behind, and words are the words of one.
var (
	starts = regexp.MustCompile("[;|&(`{!)\n]+|\\b(?:do|then|else|elif|if|while|until)\\s|-c ['\"]|-exec ")
	words  = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
	assign = regexp.MustCompile(`^[A-Za-z_]\w*=`)
)

// wrappers run the command behind them.
var wrappers = strings.Fields("sudo env time exec xargs nohup command npx timeout nice bash sh bundle")

// programs returns the names of the programs that commands run, as who writes an allow list would find them: the first
// word of each, behind assignments, and behind a wrapper the next that is no flag.
func programs(lines []line) []string {
	names := map[string]bool{}
	for _, l := range lines {
		for _, part := range starts.Split(l.command, -1) {
			for _, w := range words.FindAllString(part, -1) {
				if assign.MatchString(w) || strings.HasPrefix(w, "-") {
					continue
				}
				names[w] = w != "rm" && w != "curl"
				if !slices.Contains(wrappers, w) {
					break
				}
			}
		}
	}
	maps.DeleteFunc(names, func(_ string, allowed bool) bool { return !allowed })
	return slices.Sorted(maps.Keys(names))
}
