package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A meaning is a call that the author of a rule meant it for.
type meaning struct {
	File  string            `json:"file"`
	Rule  string            `json:"rule"`
	Want  string            `json:"want"`          // allow, ask, deny
	How   string            `json:"how,omitempty"` // the disguise
	Tool  string            `json:"tool"`
	Input map[string]string `json:"input"`
}

// project is where the calls are made.
const project = "/srv/lab/proj"

// mean writes the calls of all files to calls.jsonl in the cache.
func (l *lab) mean() error {
	var b bytes.Buffer
	n := map[string]int{}
	for _, e := range l.entries() {
		data, err := os.ReadFile(e.in(l.cache))
		if err != nil {
			return err
		}
		for _, m := range meanings(e.path, data) {
			m.File = e.repo + "/" + e.path
			line, _ := json.Marshal(m)
			b.Write(append(line, '\n'))
			n[m.Want+map[bool]string{true: " in disguise"}[m.How != ""]]++
		}
	}
	name := filepath.Join(l.cache, "calls.jsonl")
	fmt.Printf("%v written to %s, digest %s\n", n, name, digest(b.Bytes()))
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// lists are the rules of a file by verdict, each as Tool(content) or as a bare command.
type lists map[string][]string

// meanings reads a file and returns the calls of its rules.
func meanings(path string, data []byte) []meaning {
	base := filepath.Base(path)
	switch {
	case strings.HasSuffix(base, ".rules"):
		return calls(codexRules(string(data)), "bash", prefixed)
	case strings.HasSuffix(base, ".toml") && strings.Contains(path, "policies/"):
		return calls(geminiPolicy(string(data)), "run_shell_command", prefixed)
	case strings.Contains(strings.ToLower(path), "code/") && base == "settings.json" && !strings.Contains(path, "opencode"):
		return vscode(data)
	case strings.Contains(path, "opencode"):
		return opencode(data)
	case strings.Contains(path, "cursor"):
		return calls(cursorLists(data), "Shell", cursorCommand)
	case strings.Contains(path, "claude/"), strings.Contains(path, "qwen/"):
		return calls(permissionLists(data), "Bash", claudeCommand)
	}
	return nil
}

// object reads JSON, comments and trailing commas left out.
func object(data []byte) (out map[string]any) {
	if json.Unmarshal(data, &out) == nil {
		return out
	}
	text := regexp.MustCompile(`(?m)^\s*//.*$|,\s*//.*$`).ReplaceAllStringFunc(string(data), func(s string) string {
		if strings.HasPrefix(s, ",") {
			return ","
		}
		return ""
	})
	text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`,(\s*[\]}])`).ReplaceAllString(text, "$1")
	_ = json.Unmarshal([]byte(text), &out)
	return out
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func permissionLists(data []byte) lists {
	perms, _ := object(data)["permissions"].(map[string]any)
	return lists{"allow": texts(perms["allow"]), "ask": texts(perms["ask"]), "deny": texts(perms["deny"])}
}

func cursorLists(data []byte) lists {
	out := permissionLists(data)
	root := object(data)
	for _, c := range texts(root["terminalAllowlist"]) {
		out["allow"] = append(out["allow"], "Shell("+c+")")
	}
	for _, c := range texts(root["mcpAllowlist"]) {
		out["allow"] = append(out["allow"], "Mcp("+c+")")
	}
	return out
}

var (
	codexRule = regexp.MustCompile(`(?s)prefix_rule\(.*?pattern\s*=\s*(\[.*?\])\s*,?\s*(?:decision\s*=\s*"(\w+)"|\n|\)|justification|match)`)
	quoted    = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

func codexRules(text string) lists {
	out := lists{}
	for _, m := range codexRule.FindAllStringSubmatch(text, -1) {
		var words []string
		plain := !strings.Contains(m[1][1:], "[")
		for _, w := range quoted.FindAllStringSubmatch(m[1], -1) {
			word := strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(w[1])
			plain = plain && !strings.ContainsAny(word, " \t\n'\"$`\\;|&<>()*?[]{}#~!")
			words = append(words, word)
		}
		verdict := map[string]string{"": "allow", "allow": "allow", "prompt": "ask", "forbidden": "deny"}[m[2]]
		if plain && verdict != "" && len(words) > 0 {
			out[verdict] = append(out[verdict], "bash("+strings.Join(words, " ")+")")
		}
	}
	return out
}

// typical are arguments that a person gives to a program where a rule leaves them open.
var typical = map[string]string{
	"git add": "README.md", "git commit": `-m "fix a bug"`, "git push": "origin main", "git checkout": "main",
	"git log": "--oneline", "git diff": "HEAD~1", "git show": "HEAD", "git": "status", "cat": "README.md",
	"head": "-5 README.md", "tail": "-5 README.md", "ls": "-la", "grep": "-rn TODO src", "rg": "TODO src",
	"find": ". -name '*.go'", "mkdir": "-p build/out", "rm": "build/out.txt", "cp": "a.txt b.txt", "mv": "a.txt b.txt",
	"curl": "https://example.com/", "wget": "https://example.com/a.txt", "node": "scripts/build.js", "touch": "src/new.go",
	"python": "scripts/run.py", "python3": "scripts/run.py", "pip install": "requests", "npm install": "lodash",
	"npm run": "build", "npm": "test", "npx": "prettier --check src", "pnpm": "test", "yarn": "test", "bun": "test",
	"go": "test ./...", "cargo": "test", "make": "test", "docker": "ps", "gh": "pr list", "chmod": "+x scripts/run.sh",
	"echo": "done", "sed": "-n 1,5p README.md", "awk": "'{print $1}' README.md", "wc": "-l README.md",
	"timeout": "60 npm test", "xargs": "wc -l", "sudo": "systemctl status nginx", "cd": "src", "source": "venv/bin/activate",
	"bash": "scripts/run.sh", "sh": "scripts/run.sh", "kill": "1234", "sleep": "1", "env": "CI=1 npm test",
	"npx tsc": "--noEmit", "npx tsx": "src/main.ts", "node --check": "src/main.js", "node -c": "src/main.js",
	"uv run": "pytest", "redis-cli": "ping", "mongosh": "--eval 'db.stats()'", "php -i": "-n", "poetry run": "pytest",
	"powershell": "-File scripts/run.ps1", "cmd": "/c dir", "ruby": "scripts/run.rb", "perl": "scripts/run.pl",
	"/usr/bin/python3": "scripts/run.py", "php": "scripts/run.php", "dc": "-e 1", "bc": "-q",
	"psql": "-c 'select 1'", "sqlite3": "data.db .tables", "ssh": "host uptime", "open": "README.md",
}

// opened fills a command that a rule leaves open.
func opened(command string) string {
	words := strings.Fields(command)
	for _, n := range []int{2, 1} {
		if len(words) == n && typical[command] != "" {
			return command + " " + typical[command]
		}
	}
	return command
}

// claudeCommand returns the command that `npm run test:*` or `git *` is meant for; "" where it is not one plainly.
func claudeCommand(content string) string {
	open := false
	for _, end := range []string{":*", " *"} {
		if rest, ok := strings.CutSuffix(content, end); ok {
			content, open = rest, true
		}
	}
	if !open {
		return strings.ReplaceAll(content, "*", "x")
	}
	if w := strings.Fields(content); len(w) > 0 && (w[0] == "timeout" || w[0] == "xargs" || w[0] == "[[") {
		return "" // Claude Code strips timeout and xargs before it matches: such a rule does nothing
	}
	if strings.HasSuffix(content, " python") || strings.HasSuffix(content, " python3") {
		return content + " scripts/run.py" // nobody means the bare interpreter
	}
	return opened(strings.ReplaceAll(content, "*", "x"))
}

// cursorCommand: `git` is about any git command, `git:push *` about those arguments.
func cursorCommand(content string) string {
	if base, _, _ := strings.Cut(content, ":"); !strings.Contains(base, " ") || strings.HasSuffix(content, ":*") {
		content = strings.Replace(content, ":", " ", 1)
	}
	content = strings.TrimRight(content, " *")
	if content == "" {
		content = "ls"
	}
	return opened(strings.ReplaceAll(content, "*", "x"))
}

func prefixed(content string) string { return opened(content) }

// calls returns the calls of rules; those of allow rules that another list plainly takes back are left out.
func calls(ls lists, shell string, command func(string) string) (out []meaning) {
	for _, want := range []string{"allow", "ask", "deny"} {
		for _, rule := range ls[want] {
			for _, m := range ruleCalls(rule, want, shell, command) {
				if !takenBack(&m, ls) {
					out = append(out, m)
				}
			}
		}
	}
	return out
}

var ruleForm = regexp.MustCompile(`(?s)^([A-Za-z_]\w*)(?:\((.*)\))?$`)

// ruleCalls returns the calls that one rule is plainly about: for `Bash(npm test:*)` a run of `npm test`, none for `Read(**/[ab])`.
func ruleCalls(rule, want, shell string, command func(string) string) []meaning {
	m := ruleForm.FindStringSubmatch(rule)
	if m == nil {
		return nil
	}
	r := ruleText{rule: rule, want: want, tool: m[1], content: m[2], shell: shell}
	switch {
	case slices.Contains([]string{"Bash", "Shell", "bash", "run_shell_command"}, r.tool):
		return r.commands(command)
	case slices.Contains([]string{"Read", "Edit", "Write"}, r.tool):
		return r.files()
	case strings.HasPrefix(r.tool, "mcp__") && strings.Count(r.tool, "__") >= 2 && r.content == "":
		return r.one(strings.ReplaceAll(r.tool, "*", "x"), "x", "1")
	}
	return r.others()
}

// ruleText is a rule in its parts: `Bash(npm test:*)` has the tool Bash.
type ruleText struct{ rule, want, tool, content, shell string }

func (r *ruleText) one(tool, field, value string) []meaning {
	return []meaning{{Rule: r.rule, Want: r.want, Tool: tool, Input: map[string]string{field: value}}}
}

func (r *ruleText) commands(command func(string) string) []meaning {
	cmd := command(r.content)
	if strings.Trim(r.content, "*:") == "" {
		cmd = "npm test"
	}
	if !plainCommand(cmd) {
		return nil
	}
	tool := r.shell
	if r.tool == "Shell" {
		tool = "Shell"
	}
	out := r.one(tool, "command", cmd)
	if r.want == "deny" {
		out = append(out, disguised(out[0], cmd)...)
	}
	return out
}

func (r *ruleText) files() []meaning {
	p := samplePath(r.content)
	if p == "" || r.tool == "Write" && r.content != "" && r.shell == "Bash" {
		return nil // Claude Code never looks at Write(path)
	}
	out := r.one(r.tool, "file_path", p)
	if r.want != "deny" || r.tool != "Read" {
		return out
	}
	for how, cmd := range map[string]string{"cat": "cat " + p, "redirect": "wc -l < " + p, "copy": "cp " + p + " /tmp/x"} {
		out = append(out, meaning{Rule: r.rule, Want: r.want, How: how, Tool: r.shell, Input: map[string]string{"command": cmd}})
	}
	return out
}

func (r *ruleText) others() []meaning {
	host, isHost := strings.CutPrefix(r.content, "domain:")
	switch {
	case r.tool == "WebFetch" && isHost:
		return r.one(r.tool, "url", "https://"+strings.ReplaceAll(host, "*", "www")+"/")
	case r.tool == "WebSearch" && r.content == "":
		return r.one(r.tool, "query", "go")
	case r.tool == "Skill" && r.content != "" && !strings.Contains(r.content, "*"):
		return r.one(r.tool, "skill", strings.TrimSuffix(r.content, ":*"))
	}
	return nil
}

// plainCommand tells whether a text is one command, or a few, that a person would say is what the rule allows:
// no rest of a here-document or of a loop, nothing cut in the middle of quotes.
func plainCommand(c string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(c), " ")
	if c == "" || strings.ContainsAny(c, "\n\r") || strings.Count(c, `"`)%2 == 1 || strings.Count(c, "'")%2 == 1 {
		return false
	}
	if slices.Contains(strings.Fields("do done then fi else for while if case esac in function { }"), first) {
		return false
	}
	if strings.ContainsAny(c, "$`<>(){}\\#!") || strings.Contains(first, "=") {
		return false
	}
	return regexp.MustCompile(`^[A-Za-z0-9_./~@+\[-][\w./~@+\[-]*$`).MatchString(first)
}

// disguised returns a denied command as it may be written to get past a rule.
func disguised(m meaning, cmd string) (out []meaning) {
	first, rest, _ := strings.Cut(cmd, " ")
	for how, c := range map[string]string{"after another": "echo ok && " + cmd, "in a shell": "bash -c '" + cmd + "'",
		"by env": "env " + cmd, "by path": "/usr/bin/" + first + " " + rest, "blanks": first + "   " + rest,
		"quoted": `"` + first + `" ` + rest, "in a substitution": "echo $(" + cmd + ")", "behind true": "true; " + cmd} {
		if how == "in a shell" && strings.Contains(cmd, "'") || strings.ContainsAny(first, "/~.") && how == "by path" {
			continue
		}
		if strings.ContainsAny(cmd, "|;&") && (how == "by env" || how == "by path") {
			continue
		}
		d := m
		d.How, d.Input = how, map[string]string{"command": strings.TrimRight(c, " ")}
		out = append(out, d)
	}
	return out
}

// samplePath returns a file that a path rule is about, "" where that is not plain.
func samplePath(content string) string {
	p := content
	switch {
	case strings.HasPrefix(content, "../"):
		p = "/srv/lab/" + content[3:]
	case content == "" || strings.Trim(content, "*/.") == "":
		return project + "/src/main.go"
	case strings.HasPrefix(content, "//"):
		p = content[1:]
	case strings.HasPrefix(content, "~/"):
		p = "/srv/lab/home" + content[1:]
	case strings.HasPrefix(content, "./"):
		p = project + content[1:]
	case strings.HasPrefix(content, "/"):
		p = project + content
	default:
		p = project + "/" + content
	}
	if strings.ContainsAny(p, "[]{}!\\ ()$:") || strings.Contains(p, "../") {
		return ""
	}
	p = strings.ReplaceAll(p, "**/", "deep/")
	p = strings.ReplaceAll(p, "**", "deep/file.txt")
	if strings.HasSuffix(p, "/") {
		p += "file.txt"
	}
	return strings.ReplaceAll(strings.ReplaceAll(p, "*", "x"), "?", "x")
}

// takenBack tells whether a stricter rule of the same file is plainly about an allowed or asked call as well: by the
// command's beginning, or by the whole tool. Such a call is not plainly meant.
func takenBack(m *meaning, ls lists) bool {
	stricter := map[string][]string{"allow": slices.Concat(ls["ask"], ls["deny"]), "ask": ls["deny"]}[m.Want]
	for _, rule := range stricter {
		r := ruleForm.FindStringSubmatch(rule)
		if r == nil {
			continue
		}
		same := r[1] == m.Tool || m.Tool == "Write" && r[1] == "Edit" || r[1] == "Bash" && m.Tool == "bash"
		switch {
		case r[2] == "" || strings.Trim(r[2], "*:/.") == "":
			if same {
				return true
			}
		case m.Input["command"] != "":
			head := strings.TrimRight(strings.ReplaceAll(r[2], ":", " "), "* ")
			if about(head, m.Input["command"]) {
				return true
			}
		case same || m.Tool == "Edit" || m.Tool == "Write" || m.Tool == "Read":
			if name := strings.Trim(r[2], "*/."); name != "" && strings.Contains(m.Input["file_path"], strings.SplitN(name, "*", 2)[0]) {
				return true
			}
		}
	}
	return false
}

// about tells whether a command, or one behind an operator, starts with the head of a rule; a * in the head ends it.
func about(head, command string) bool {
	head, _, _ = strings.Cut(head, "*")
	if head = strings.TrimSpace(head); head == "" {
		return true
	}
	for _, part := range regexp.MustCompile(`[|;&]+`).Split(command, -1) {
		part = strings.TrimSpace(part)
		if strings.HasPrefix(part, head) || strings.Contains(" "+part+" ", " "+head+" ") {
			return true
		}
	}
	return strings.HasPrefix(command, head)
}

// opencode reads the permissions of opencode.json, where the last pattern that matches counts.
func opencode(data []byte) (out []meaning) {
	order := keysInOrder(data)
	perms, _ := object(data)["permission"].(map[string]any)
	if _, newer := object(data)["permissions"].([]any); newer { // a list of a newer version is another language
		return nil
	}
	bash, _ := perms["bash"].(map[string]any)
	for pat, v := range bash {
		want, _ := v.(string)
		cmd := claudeCommand(pat)
		if strings.Trim(pat, "* ") == "" {
			cmd = "unheard-of --flag"
		}
		if want == "" || !plainCommand(cmd) || lastMatch(bash, order, cmd) != want {
			continue
		}
		m := meaning{Rule: "bash " + pat, Want: want, Tool: "bash", Input: map[string]string{"command": cmd}}
		out = append(out, m)
		if want == "deny" && strings.Trim(pat, "* ") != "" {
			out = append(out, disguised(m, cmd)...)
		}
	}
	for tool, field := range map[string]string{"read": "filePath", "edit": "filePath", "webfetch": "url"} {
		if want, ok := perms[tool].(string); ok {
			value := map[bool]string{true: project + "/src/main.go", false: "https://example.com/"}[field == "filePath"]
			out = append(out, meaning{Rule: tool, Want: want, Tool: tool, Input: map[string]string{field: value}})
		}
	}
	if want, ok := perms["bash"].(string); ok {
		out = append(out, meaning{Rule: "bash", Want: want, Tool: "bash", Input: map[string]string{"command": "npm test"}})
	}
	slices.SortFunc(out, func(a, b meaning) int { return strings.Compare(a.Rule+a.How, b.Rule+b.How) })
	return out
}

// keysInOrder returns every quoted text that stands before a colon, in the order of the file.
func keysInOrder(data []byte) (out []string) {
	for _, m := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:`).FindAllStringSubmatch(string(data), -1) {
		var s string
		if json.Unmarshal([]byte(`"`+m[1]+`"`), &s) == nil {
			out = append(out, s)
		}
	}
	return out
}

func lastMatch(rules map[string]any, order []string, cmd string) (out string) {
	for _, pat := range order {
		v, ok := rules[pat].(string)
		if !ok {
			continue
		}
		expr := strings.ReplaceAll(regexp.QuoteMeta(pat), `\*`, ".*")
		if rest, ok := strings.CutSuffix(expr, " .*"); ok {
			expr = rest + "( .*)?"
		}
		if ok, _ := regexp.MatchString("(?s)^"+expr+"$", cmd); ok {
			out = v
		}
	}
	return out
}
