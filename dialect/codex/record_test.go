package codex_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var program = flag.String("codex", "", "the program codex: ask it again, and keep its answers in testdata")

const (
	recorded = "testdata/codex-program.jsonl.gz"
	pairs    = 1000
	noRule   = "no rule matches"
)

// TestRecord asks the real program about generated pairs of rules and commands, and keeps
// what it says: `make record-codex`.
func TestRecord(t *testing.T) {
	if *program == "" {
		t.Skip("runs with -codex alone")
	}
	g := &generator{rand.New(rand.NewPCG(16, 9))}
	dir := t.TempDir()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	lines := json.NewEncoder(zip)
	lines.SetEscapeHTML(false)
	for n := 0; n < pairs; {
		rules, heads := g.policy()
		file := filepath.Join(dir, "x.rules")
		if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 8 && n < pairs; i++ {
			n++
			argv := g.command(heads)
			want, note, refused := ask(t, file, argv)
			if err := lines.Encode(map[string]any{
				"id": fmt.Sprintf("codex/program-%04d", n), "dialect": "codex", "group": "generated", "note": note, "policy": rules, "options": map[string]string{"approval": "untrusted"}, "floor": "off",
				"call": map[string]any{"tool": "Bash", "input": map[string]string{"command": line(argv)}, "dir": "/p", "roots": []string{"/p"}}, "want": want,
			}); err != nil {
				t.Fatal(err)
			}
			if refused {
				break
			}
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recorded, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask returns what the program says to a command. Where no rule matches it says nothing;
// under the approval policy untrusted Codex asks then.
func ask(t *testing.T, file string, argv []string) (want map[string]any, note string, refused bool) {
	t.Helper()
	cmd := exec.Command(*program, append([]string{"execpolicy", "check", "--resolve-host-executables", "--rules", file, "--"}, argv...)...)
	cmd.Env = append(os.Environ(), "CODEX_HOME="+t.TempDir())
	data, err := cmd.Output()
	if err != nil {
		return map[string]any{"error": true}, "", true
	}
	var said struct{ Decision string }
	if err := json.Unmarshal(data, &said); err != nil {
		t.Fatal(err)
	}
	verdict := map[string]string{"allow": "allow", "prompt": "ask", "forbidden": "deny", "": "ask"}[said.Decision]
	if said.Decision == "" {
		note = noRule
	}
	return map[string]any{"verdict": verdict}, note, false
}

// line writes words so that a shell reads them again.
func line(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		if out[i] = w; w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-") != "" {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// A generator draws rules, and commands that are near to them.
type generator struct{ *rand.Rand }

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) word() string {
	return g.one("push", "pull", "status", "log", "-rf", "-f", "--force", "--all=x", "install", "run", "test", "origin", "main", "x.txt", "a b", "it's", `q"q`, "", "*", "$HOME", "äö", "-", "--", "@{u}", "a\\b")
}

func (g *generator) head() string {
	return g.one("git", "npm", "rm", "make", "cargo", "docker", "kubectl", "/usr/bin/git", "/opt/bin/npm", "./tool", "go", "Git")
}

// value writes a word, or alternatives, and returns one that it takes.
func (g *generator) value(draw func() string) (text, one string) {
	if g.IntN(4) > 0 {
		w := draw()
		return quoted(w), w
	}
	var texts, words []string
	for range 1 + g.IntN(3) {
		w := draw()
		texts, words = append(texts, quoted(w)), append(words, w)
	}
	return "[" + strings.Join(texts, ", ") + "]", g.one(words...)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

// policy draws a file of rules, and the beginnings of commands that its rules are about.
func (g *generator) policy() (text string, heads [][]string) {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		switch g.IntN(12) {
		case 0:
			name := g.one("git", "npm")
			fmt.Fprintf(&b, "host_executable(name=%q, paths=[%q])\n", name, g.one("/usr/bin/", "/bin/", "/usr/local/../bin/")+name)
			continue
		case 1:
			fmt.Fprintf(&b, "network_rule(host=%q, protocol=%q, decision=%q)\n", g.one("a.example", "A.Example:443", "10.0.0.1"), g.one("https", "http", "socks5_tcp"), g.one("allow", "deny", "prompt"))
			continue
		case 2:
			w, v := g.head(), g.word()
			fmt.Fprintf(&b, "for w in [%s, \"extra\"]:\n    prefix_rule(pattern = [%s, w], decision = %q)\n", quoted(v), quoted(w), g.one("allow", "prompt", "forbidden"))
			heads = append(heads, []string{w, v}, []string{w, "extra"})
			continue
		case 3:
			w, v := g.head(), g.word()
			fmt.Fprintf(&b, "P = [%s]\nprefix_rule(P + [%s], %q)\n", quoted(w), quoted(v), g.one("allow", "prompt", "forbidden"))
			heads = append(heads, []string{w, v})
			continue
		}
		text, w := g.value(g.head)
		texts, words := []string{text}, []string{w}
		for range g.IntN(3) {
			text, w := g.value(g.word)
			texts, words = append(texts, text), append(words, w)
		}
		heads = append(heads, words)
		args := []string{"pattern=[" + strings.Join(texts, ", ") + "]"}
		if g.IntN(5) > 0 {
			args = append(args, "decision="+quoted(g.one("allow", "prompt", "forbidden")))
		}
		if g.IntN(6) == 0 {
			args = append(args, "justification="+quoted(g.one("because", "use x instead", "one\ntwo")))
		}
		if g.IntN(6) == 0 {
			args = append(args, "match=["+list(append(slices.Clone(words), "more"))+"]")
		}
		if g.IntN(8) == 0 {
			args = append(args, `not_match=["other x", ["zzz"]]`)
		}
		if g.IntN(15) == 0 { // what is refused
			args[len(args)-1] = g.one(`match=["nothing like it"]`, `decision="alow"`, `pattern=[]`, `justification=" "`, `patern=["x"]`, `match=[]), prefix_rule(`, `not_match=[1]`, `decision=1`, `pattern="git"`, `pattern=[["git", 1]]`)
		}
		fmt.Fprintf(&b, "prefix_rule(%s)\n", strings.Join(args, ", "))
	}
	return b.String(), heads
}

func list(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoted(w)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// command draws words that begin like a rule's, or nearly.
func (g *generator) command(heads [][]string) []string {
	if len(heads) == 0 || g.IntN(10) == 0 {
		return []string{g.head(), g.word()}
	}
	argv := slices.Clone(heads[g.IntN(len(heads))])
	switch g.IntN(8) {
	case 0:
		argv = argv[:len(argv)-1+g.IntN(2)]
	case 1:
		argv[g.IntN(len(argv))] = g.one(g.word(), g.head())
	case 2:
		argv[0] = g.one("/usr/bin/", "/bin/", "/opt/bin/", "/usr/bin/../bin/", "./") + filepath.Base(argv[0])
	case 3:
		argv[len(argv)-1] += g.one("x", " ", "'")
	}
	if len(argv) == 0 || argv[0] == "" || strings.ContainsAny(argv[0], " '\"$*\\@") {
		argv = append([]string{g.head()}, argv...)
	}
	for range g.IntN(3) {
		argv = append(argv, g.word())
	}
	return argv
}
