package convert_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

func load(t *testing.T, which, name, text string, opts map[string]string) *dialect.Loaded {
	t.Helper()
	in := &dialect.Input{Files: []dialect.File{{Name: name, Data: []byte(text)}}, Home: diff.Home, Options: opts}
	d, err := all.Of(which, in.Files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, in)
	if err != nil {
		t.Fatal(name, err)
	}
	return l
}

func TestSentences(t *testing.T) {
	l := load(t, "", ".claude/settings.json", `{"permissions": {
		"allow": ["Bash(git *)", "Bash(npm run test:*)", "Bash(make)", "Edit(src/**)", "WebFetch(domain:example.com)", "mcp__gh__list_issues", "Agent(Explore)"],
		"ask": ["Bash(git push *)"],
		"deny": ["Bash(rm *)", "Read(./.env)", "Read(secrets/**)", "Edit(//etc/**)"]}}`, nil)
	res, err := convert.ToNative(l, &convert.Options{Loose: true, Limit: *limit})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Converted from .claude/settings.json by obstat policy convert.
version: 1
allow:
  - run git
  - run npm run test
  - run exactly make
  - read ./src/*
  - write ./src/*
  - connect example.com
  - tool mcp__gh__list_issues
ask:
  - run git push
deny:
  - run rm
  - read .env
  - write and delete .env
  - read **/secrets
  - write and delete **/secrets
  - write and delete /etc
`
	if res.Text != want {
		t.Errorf("got\n%s\nwant\n%s", res.Text, want)
	}
	if len(res.Unsaid) != 1 || res.Unsaid[0].Rule != "Agent(Explore)" || !res.Unsaid[0].Pos.IsValid() {
		t.Errorf("unsaid: %+v", res.Unsaid)
	}
}

var limit = flag.Int("limit", 2_000, "how many calls a conversion is tried on; make test-long tries 12,000")

// TestEveryDialect converts policies of all dialects. The result loads, every difference that is
// told is one, and nothing is freer than it was.
func TestEveryDialect(t *testing.T) {
	text, err := os.ReadFile("../diff/testdata/policies.txtar")
	if err != nil {
		t.Fatal(err)
	}
	world := &obstat.Snapshot{HomeDir: diff.Home}
	for _, f := range txtar.Parse(text).Files {
		name, opts, _ := strings.Cut(f.Name, " ")
		which, options := "", map[string]string{}
		for _, o := range strings.Fields(opts) {
			if k, v, _ := strings.Cut(o, "="); k == "dialect" {
				which = v
			} else {
				options[k] = v
			}
		}
		if name == native.File {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			l := load(t, which, name, string(f.Data), options)
			res, err := convert.ToNative(l, &convert.Options{Limit: *limit})
			if err != nil {
				t.Fatal(err)
			}
			n := load(t, native.Name, native.File, res.Text, nil)
			for _, r := range res.Differences.Regions {
				was, now := l.Policy.Decide(r.Call, world).Verdict, n.Policy.Decide(r.Call, world).Verdict
				if was != r.Was || now != r.Now || was == now {
					t.Errorf("%s: %s %s is %s and %s, not %s and %s", name, r.Call.Tool, r.Call.Input, was, now, r.Was, r.Now)
				}
				if now > was {
					t.Errorf("%s: %s %s was %s, and is %s by %s", name, r.Call.Tool, r.Call.Input, was, now, r.NowBy.Rule)
				}
			}
			if res.Said == 0 || res.Differences.Looser > 0 {
				t.Errorf("%s: %d rules said, %d looser:\n%s", name, res.Said, res.Differences.Looser, res.Text)
			}
			t.Logf("%s: %d sentences, %d rules without one; %d regions looser, %d stricter", name, res.Said, len(res.Unsaid), res.Differences.Looser, res.Differences.Tighter)
		})
	}
}

// TestDenials: what a policy denies and asks about holds in one that begins with a preset, and what
// cannot be said is listed.
func TestDenials(t *testing.T) {
	l := load(t, "", ".claude/settings.json", `{"permissions": {"allow": ["Bash(make *)"],
		"deny": ["Bash(rm *)", "Bash(curl:*)", "Read(./.env)", "Read(~/.ssh/**)", "Edit(/src/gen/**)", "WebFetch(domain:evil.example)", "mcp__db", "Agent(x)"], "ask": ["Bash(git push *)"]}}`, nil)
	said, left := convert.Sentences(l)
	if len(left) != 1 || left[0].Rule != "Agent(x)" {
		t.Errorf("left %+v", left)
	}
	text := native.Preset(native.Balanced) + "deny:\n"
	for _, s := range said {
		if s.Verdict == obstat.Deny {
			text += "  - " + s.Text + "\n"
		} else if s.Text != "run git push" && s.Text != "run make" || s.From.Line == 0 {
			t.Errorf("%s %s", s.Verdict, s.Text)
		}
	}
	n := load(t, native.Name, native.File, text, nil)
	world := &obstat.Snapshot{HomeDir: diff.Home}
	for input, tool := range map[string]string{`{"command":"rm x"}`: "Bash", `{"command":"env curl x.example"}`: "Bash", `{"file_path":"/p/.env"}`: "Read", `{"command":"cat ~/.ssh/config"}`: "Bash",
		`{"file_path":"/p/src/gen/a.go"}`: "Write", `{"url":"https://evil.example/"}`: "WebFetch", `{"x":1}`: "mcp__db__drop"} {
		c := &obstat.Call{Tool: tool, Input: []byte(input), Dir: "/p", Roots: []string{"/p"}}
		if d := n.Policy.Decide(c, world); d.Verdict != obstat.Deny {
			t.Errorf("%s %s: %s: %s\n%s", tool, input, d.Verdict, d.Reason(), text)
		}
	}
}

// TestCodexAndGemini: rules of both are said, alternatives and words with blanks as well; a rule that no
// sentence can say does not make anything freer.
func TestCodexAndGemini(t *testing.T) {
	for _, tt := range []struct {
		dialect, name, text string
		want                []string
		unsaid              int
	}{
		{"codex", ".codex/rules/default.rules", `prefix_rule(pattern=["cargo", ["test", "check"], "--workspace"], decision="allow")
prefix_rule(pattern=[["kubectl", "helm"]], decision="prompt", justification="ask ops")
prefix_rule(pattern=["git", "commit", "-m", "a b"], decision="allow")
prefix_rule(pattern=["terraform", "destroy"], decision="forbidden")
network_rule(host="internal.example", protocol="https", decision="deny")
`, []string{"run cargo test --workspace", "run cargo check --workspace", "  - rule: run kubectl\n    reason: ask ops", "run helm", "run terraform destroy", "connect internal.example",
			`"run \"git commit -m 'a b'\""`}, 0}, // which Codex takes as `a\ b` alone
		{"gemini", ".gemini/policies/own.toml", `[[rule]]
toolName = "run_shell_command"
commandPrefix = ["npm run", "go test"]
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandRegex = "docker (run|exec) .*--privileged"
decision = "deny"
priority = 300

[[rule]]
toolName = "read_file"
argsPattern = '"file_path":"secrets/'
decision = "deny"
priority = 300

[[rule]]
mcpName = "db"
toolName = "drop"
decision = "deny"
priority = 300
`, []string{"run npm run", "run go test", "run docker run *--privileged*", "run docker exec *--privileged*", "read ./secrets/**", "tool mcp__db__drop"}, 0},
	} {
		res, err := convert.ToNative(load(t, tt.dialect, tt.name, tt.text, nil), &convert.Options{Limit: *limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tt.want {
			if !says(res.Text, w) {
				t.Errorf("%s: no %q in\n%s", tt.name, w, res.Text)
			}
		}
		if res.Differences.Looser > 0 || len(res.Unsaid) < tt.unsaid {
			t.Errorf("%s: %d looser, unsaid %+v\n%s", tt.name, res.Differences.Looser, res.Unsaid, res.Text)
		}
	}
}

// says tells whether a sentence of a file is about a target under a verb, alone or among others.
func says(text, sentence string) bool {
	if strings.Contains(text, sentence+"\n") {
		return true
	}
	verb, target, _ := strings.Cut(sentence, " ")
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if line == sentence || strings.HasPrefix(line, verb+" ") && slices.Contains(convert.Parts(line).Targets, target) {
			return true
		}
	}
	return false
}

// TestPlacesOfRules says rules for all of a project, and for all around it, by the places that they mean.
func TestPlacesOfRules(t *testing.T) {
	for text, want := range map[string]string{
		`{"permissions": {"allow": ["Read(./**)"]}}`:          "allow read workspace",
		`{"permissions": {"allow": ["Edit(/**)"]}}`:           "allow read workspace\nallow write workspace",
		`{"permissions": {"deny": ["Read(../**)"]}}`:          "deny read outside workspace\ndeny write and delete outside workspace",
		`{"permissions": {"deny": ["Read(../other/*.txt)"]}}`: "deny read outside workspace\ndeny write and delete outside workspace",
		`{"permissions": {"allow": ["Read(../other/**)"]}}`:   "",
		`{"permissions": {"deny": ["Read(build/**)"]}}`:       "deny read **/build\ndeny write and delete **/build",
	} {
		said, _ := convert.Sentences(load(t, "", ".claude/settings.json", text, nil))
		var got []string
		for _, s := range said {
			got = append(got, s.Verdict.String()+" "+s.Text)
		}
		if got := strings.Join(got, "\n"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
