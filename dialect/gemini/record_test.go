package gemini_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var bundle = flag.String("gemini", "", "the directory bundle of the package gemini-cli: ask its policy engine again, and keep the answers in testdata")

const (
	recorded = "testdata/gemini-program.jsonl.gz"
	pairs    = 1000
)

// A question is what the real policy engine is asked.
type question struct {
	Files       map[string]string `json:"files"`
	Mode        string            `json:"mode"`
	Interactive bool              `json:"interactive"`
	Tool        string            `json:"tool"`
	Args        map[string]any    `json:"args"`
}

// TestRecord asks the real policy engine about generated pairs of policies and calls, and
// keeps what it says: `make record-gemini`.
func TestRecord(t *testing.T) {
	if *bundle == "" {
		t.Skip("runs with -gemini alone")
	}
	g := &generator{rand.New(rand.NewPCG(16, 90))}
	var qs []question
	var in bytes.Buffer
	for len(qs) < pairs {
		files := g.files()
		for range 8 {
			q := question{files, g.one("default", "default", "default", "autoEdit", "plan", "yolo"), g.IntN(10) > 0, "", nil}
			q.Tool, q.Args = g.call()
			b, _ := json.Marshal(q)
			in.Write(append(b, '\n'))
			qs = append(qs, q)
		}
	}
	cmd := exec.Command("node", "testdata/ask.mjs", *bundle)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var kept bytes.Buffer
	zip := gzip.NewWriter(&kept)
	lines := json.NewEncoder(zip)
	lines.SetEscapeHTML(false)
	answers := bufio.NewScanner(bytes.NewReader(out))
	for i, q := range qs[:pairs] {
		var said struct {
			Decision string
			Error    bool
		}
		if !answers.Scan() || json.Unmarshal(answers.Bytes(), &said) != nil {
			t.Fatalf("%d: %s", i, answers.Bytes())
		}
		want := map[string]any{"verdict": map[string]string{"allow": "allow", "ask_user": "ask", "deny": "deny"}[said.Decision]}
		if said.Error {
			want = map[string]any{"error": true}
		}
		if !q.Interactive && said.Decision == "ask_user" {
			want["verdict"] = "deny" // Gemini CLI makes an error of it
		}
		options := map[string]string{"mode": q.Mode, "interactive": map[bool]string{true: "yes", false: "no"}[q.Interactive]}
		if err := lines.Encode(map[string]any{
			"id": fmt.Sprintf("gemini/program-%04d", i+1), "dialect": "gemini", "group": "generated", "files": q.Files, "options": options, "floor": "off", "world": map[string]any{"home": "/home/u", "dirs": []string{"/p"}},
			"call": map[string]any{"tool": q.Tool, "input": q.Args, "dir": "/p", "roots": []string{"/p"}}, "want": want,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recorded, kept.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A generator draws policies and calls that are near to them.
type generator struct{ *rand.Rand }

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

var places = []string{"/home/u/.gemini/policies/u.toml", "/home/u/.gemini/policies/v.toml", ".gemini/policies/w.toml", "/etc/gemini-cli/policies/a.toml"}

func (g *generator) files() map[string]string {
	out := map[string]string{}
	for range 1 + g.IntN(2) {
		var b strings.Builder
		for range 1 + g.IntN(4) {
			b.WriteString(g.rule())
		}
		out[places[g.IntN(len(places))]] = b.String()
	}
	return out
}

func (g *generator) rule() string {
	var b strings.Builder
	b.WriteString("[[rule]]\n")
	switch g.IntN(10) {
	case 0, 1, 2:
		fmt.Fprintf(&b, "toolName = \"run_shell_command\"\ncommandPrefix = %s\n", g.one(`"git"`, `"git status"`, `["git log", "npm test"]`, `"npm"`, `"rm"`, `"echo \"a"`, `"ls"`, `"git push --force"`, `"make"`, `""`))
	case 3:
		fmt.Fprintf(&b, "toolName = \"run_shell_command\"\ncommandRegex = '%s'\n", g.one(`git (status|log)`, `npm (run|test)`, `rm\s`, `.*--force`, `git.*push`, `(?!git)\w+`, `make|npm`, `git status"`, `[a-m]+ x`, `echo [^"]*secret`, `ls( -l[a-z]*)?$`, `git\b`))
	case 4:
		fmt.Fprintf(&b, "toolName = %s\nargsPattern = '%s'\n", g.one(`"run_shell_command"`, `"*"`, `["read_file", "write_file"]`, `"replace"`, `"mcp_github_create_issue"`),
			g.one(`"file_path":"src/`, `"command":"git`, `secret`, `\x00"file_path":"[^"]+\.env"\x00`, `"file_path":".*\.(ts|js)"`, `"n":[0-9]+`, `"title":"\w+ \w+"`, `^\{\x00"a`, `\.env`, `"path":null|"deep":\{`, `[\s\S]*x`, `é`, `"command":"(npm|yarn)\s+test"`))
	case 5:
		fmt.Fprintf(&b, "mcpName = %s\ntoolName = %s\n", g.one(`"github"`, `"fs"`, `"*"`), g.one(`"*"`, `"create_issue"`, `"read"`))
	case 6:
		fmt.Fprintf(&b, "toolName = %s\n", g.one(`"*"`, `"mcp_*"`, `"mcp_github_*"`, `"mcp_fs_read"`, `"discovered_tool_*"`, `"codebase_investigator"`))
	default:
		fmt.Fprintf(&b, "toolName = %s\n", g.one(`"run_shell_command"`, `"run_shell_command"`, `"read_file"`, `["write_file", "replace"]`, `"web_fetch"`, `"glob"`, `"search_file_content"`, `"my_agent"`, `"invoke_agent"`, `"custom_tool"`))
	}
	fmt.Fprintf(&b, "decision = %q\npriority = %s\n", g.one("allow", "deny", "ask_user"), g.one("0", "10", "50", "100", "100", "500", "999"))
	if g.IntN(4) == 0 {
		fmt.Fprintf(&b, "modes = %s\n", g.one(`["default"]`, `["autoEdit", "default"]`, `["plan"]`, `["yolo"]`, `["yolo", "plan", "autoEdit"]`))
	}
	if g.IntN(8) == 0 {
		fmt.Fprintf(&b, "interactive = %s\n", g.one("true", "false"))
	}
	if g.IntN(6) == 0 {
		fmt.Fprintf(&b, "%s = %s\n", g.one("allowRedirection", "allow_redirection"), g.one("true", "false"))
	}
	if g.IntN(10) == 0 {
		b.WriteString("denyMessage = \"no\"\n")
	}
	text := b.String()
	if g.IntN(60) == 0 { // what is refused
		text = strings.Replace(text, g.one(`decision = "`, "priority = ", "toolName = "), g.one(`decision = "x`, "priority = 1000 # ", "toolNam = "), 1)
	}
	return text + "\n"
}

func (g *generator) command() string {
	simple := func() string {
		return g.one("git status", "git log -1", "git push --force", "git push", "npm test", "npm run x", "npm install", "rm x", "rm -rf x", "rm -f x", "ls -la", "ls", "echo hi", `echo "a b"`, "echo secret", "make", "make x", "gitx", "git", "cat x", "cat /etc/passwd",
			"yarn test", "cd src", "find . -name x", "find . -delete", "pwd", "sudo rm -rf x", "touch x", "grep x y", "whoami", "wc -l x", "a x", "head -3 x")
	}
	switch g.IntN(12) {
	case 0:
		return simple() + g.one(" && ", "; ", " | ", " || ", " & ", "\n") + simple()
	case 1:
		return simple() + g.one(" > out", " >> out", " 2>&1", " < in", " <<< x")
	case 2:
		return g.one("bash", "sh", "/bin/bash", "zsh") + " -c " + g.one(`"`+strings.ReplaceAll(simple(), `"`, `\"`)+`"`, "'"+simple()+"'")
	case 3:
		return g.one("echo $("+simple()+")", "echo `"+simple()+"`", "("+simple()+")", "X=1 "+simple(), "{ "+simple()+"; }", "if true; then "+simple()+"; fi", "for i in 1 2; do "+simple()+"; done")
	case 4:
		return simple() + g.one(" (", " 'x", ` "x`, " | ", " $(")
	case 5:
		return simple() + " && " + simple() + " | " + simple()
	}
	return simple()
}

func (g *generator) call() (string, map[string]any) {
	switch g.IntN(10) {
	case 0, 1, 2, 3, 4:
		args := map[string]any{"command": g.command()}
		if g.IntN(6) == 0 {
			args["description"] = g.one("does x", "git log", `"command":"git"`, "push --force")
		}
		if g.IntN(8) == 0 {
			args["dir_path"] = g.one("src", "/elsewhere", "..")
		}
		return "run_shell_command", args
	case 5, 6:
		tool := g.one("read_file", "write_file", "replace")
		args := map[string]any{"file_path": g.one("src/a.ts", "/p/src/a.js", ".env", "/p/.env", "a/b.env", "x", "plan.md", "plans/a.md", ".gemini/tmp/x/plans/a.md", "secret", "package.json", "sub/Makefile", "a\"b", "tab\there", "é/x")}
		if tool != "read_file" {
			args["content"] = g.one("secret", "x", "\"file_path\":\"src/")
		}
		return tool, args
	case 7:
		return g.one("mcp_github_create_issue", "mcp_fs_read", "mcp_github_list", "mcp_x"), map[string]any{"title": g.one("one two", "x"), "n": g.one2(1, 2.5, 1e21, 0.0, 1e-7), "deep": map[string]any{"b": nil, "a": []any{1, "x", true}}, "path": nil}
	case 8:
		return "invoke_agent", map[string]any{"agent_name": g.one("my_agent", "codebase_investigator", "other"), "prompt": "x"}
	}
	return g.one("web_fetch", "glob", "grep_search", "search_file_content", "google_web_search", "custom_tool", "discovered_tool_x", "update_topic", "enter_plan_mode", "exit_plan_mode", "ask_user", "activate_skill"),
		map[string]any{"prompt": g.one("secret", "https://x.example"), "a": 1}
}

func (g *generator) one2(of ...any) any { return of[g.IntN(len(of))] }
