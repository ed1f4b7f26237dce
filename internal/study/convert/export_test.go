package convert_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

// byItself loads an export as the agent takes it that has no obstat beside it: by the words of its rules.
func byItself(t *testing.T, target *convert.Target, text string) *dialect.Loaded {
	t.Helper()
	options := map[string]string{}
	maps.Copy(options, target.Options)
	if target.Words {
		options[dialect.FloorOption] = "off"
	}
	l, err := dialect.Load(target.Dialect, &dialect.Input{Home: diff.Home, Options: options,
		Files: []dialect.File{{Name: target.File, Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run is a call of a shell.
func run(tool, command string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &obstat.Call{Tool: tool, Input: input, Dir: diff.Dir, Roots: []string{diff.Dir}}
}

// TestExport writes a policy for each agent, and decides calls with what came out: none is freer than in obstat but
// where the agent has no word for a rule, and that is told.
func TestExport(t *testing.T) {
	const text = `version: 1
allow:
  - read workspace
  - run npm test, go build, git
  - write src/**
  - connect docs.example.com
ask:
  - run git push
deny:
  - run rm, curl
  - read .env, ~/.ssh
`
	l := load(t, native.Name, native.File, text, nil)
	world := &obstat.Snapshot{HomeDir: diff.Home}
	for _, tt := range []struct {
		agent, tool  string
		denied, want []string
	}{
		{"claude-code", "Bash", []string{"rm x", "env curl x.example"},
			[]string{`"Bash(npm test *)"`, `"Bash(git push *)"`, `"Read(.env)"`, `"WebFetch(domain:docs.example.com)"`,
				`"PowerShell(rm *)"`}},
		{"codex", "shell", []string{"rm x", "curl x.example"}, []string{
			`prefix_rule(pattern=["git", "push"], decision="prompt")`, `prefix_rule(pattern=["rm"], decision="forbidden")`,
			`host_executable(name="npm", paths=["/usr/bin/npm", "/bin/npm", "/usr/local/bin/npm"])`}},
		{"cursor", "Shell", []string{"rm x", "curl x.example", "cat .env"}, []string{`"Shell(npm:test *)"`, `"Shell(rm:*)"`}},
		{"gemini", "run_shell_command", []string{"rm x", "curl x.example", "cat .env"},
			[]string{`commandPrefix = "git push"`}},
		{"opencode", "bash", []string{"rm x", "curl x.example"}, []string{`"git push *": "ask"`,
			`"rm *": "deny"`, "\"permission\": {\n    \"*\": \"ask\"", `"*/.env/*": "deny"`}},
	} {
		t.Run(tt.agent, func(t *testing.T) {
			target := convert.Targets()[tt.agent]
			var err error
			if target.Dialect, err = all.Find(target.Name); err != nil {
				t.Fatal(err)
			}
			res, err := convert.Export(l, &target)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tt.want {
				if !strings.Contains(res.Text, w) {
					t.Errorf("%s is missing:\n%s", w, res.Text)
				}
			}
			there := byItself(t, &target, res.Text)
			decide := func(command string) obstat.Verdict {
				return there.Policy.Decide(run(tt.tool, command), world).Verdict
			}
			for _, command := range tt.denied {
				if v := decide(command); v != obstat.Deny {
					t.Errorf("%s is %s", command, v)
				}
			}
			for command, most := range map[string]obstat.Verdict{"git push origin x": obstat.Ask, "make all": obstat.Ask,
				"git -C . push": obstat.Ask, "git  push": obstat.Ask, "cat .env": obstat.Ask, "git add .env": obstat.Ask,
				"bash -c 'git push'": obstat.Ask, "npm test > .env": obstat.Ask, "npm test\ngit push": obstat.Ask,
				`git "push" x`: obstat.Ask, `git \push`: obstat.Ask, "X=push; git $X": obstat.Ask} {
				if v := decide(command); v > most {
					t.Errorf("%s is %s", command, v)
				}
			}
			if v := decide("npm test"); v != obstat.Allow {
				t.Errorf("npm test is %s", v)
			}
			for _, command := range []string{"./npm test", "/tmp/npm test"} {
				if v := decide(command); v == obstat.Allow {
					t.Errorf("%s is allowed: a file of that name is another program", command)
				}
			}
			if len(res.Looser) > 0 {
				t.Errorf("looser: %+v", res.Looser)
			}
			for _, r := range res.Alone { // Codex has no words for files, and opencode none for where a command runs
				into := strings.HasPrefix(r.Call.Text(), "cd .")
				if tt.agent != "codex" && (tt.agent != "opencode" || !into) {
					t.Errorf("%s alone is freer: %s %s", tt.agent, r.Call.Tool, r.Call.Input)
				}
				if there.Policy.Decide(r.Call, world).Verdict <= l.Policy.Decide(r.Call, world).Verdict {
					t.Errorf("%s %s is said to be freer", r.Call.Tool, r.Call.Input)
				}
			}
			t.Logf("%d rules, %d sentences without one, %d regions freer alone", res.Said, len(res.Unsaid), len(res.Alone))
		})
	}
}

// TestExportHoldsBack exports policies whose agent would be freer by its own defaults: what no rule allows is asked
// about, an exception is asked about, and a condition is not left out of an allow.
func TestExportHoldsBack(t *testing.T) {
	const text = `version: 1
allow:
  - run exactly git status
  - run docker except docker push
  - write workspace except .git/**
  - rule: run git clean
    when: {reversible: true}
ask:
  - read *.pem
deny:
  - read .env, *.key
`
	l := load(t, native.Name, native.File, text, nil)
	for agent, target := range convert.Targets() {
		t.Run(agent, func(t *testing.T) {
			var err error
			if target.Dialect, err = all.Find(target.Name); err != nil {
				t.Fatal(err)
			}
			res, err := convert.Export(l, &target)
			if err != nil {
				t.Fatal(err)
			}
			there := byItself(t, &target, res.Text)
			world := &obstat.Snapshot{HomeDir: diff.Home}
			for _, command := range []string{"git clean -fd", "git status --porcelain=v2 -z", "cp x .git/hooks/post-commit",
				"cp x .claude/settings.json", "cat a.key", "cat .env",
				"docker push x"} {
				c := run(target.Tools[0], command)
				was, now := l.Policy.Decide(c, world).Verdict, there.Policy.Decide(c, world).Verdict
				if now > was && now == obstat.Allow {
					t.Errorf("%s is %s, was %s", command, now, was)
				}
			}
			d := there.Policy.Decide(run(target.Tools[0], "docker ps"), world)
			if agent != "codex" && d.Verdict != obstat.Allow { // whose prefixes cannot ask about `docker -x push`
				t.Errorf("docker ps: %s", d.Reason())
			}
			if len(res.Looser) > 0 {
				t.Errorf("looser: %+v", res.Looser[0])
			}
		})
	}
}

// TestExportSecrets says a place with a name by its paths, wherever they lie.
func TestExportSecrets(t *testing.T) {
	for agent, want := range map[string][]string{
		"claude-code": {"Read(//**/.env)", "Read(//**/.ssh/id_*)", "Read(//etc/shadow)"},
		"cursor":      {"Read(/**/.env)"},
		"opencode":    {"read\t*.env", "list\t*.ssh/id_*", "read\tcredentials", "read\t*/credentials", "external_directory\t/etc/shadow*"},
	} {
		target := convert.Targets()[agent]
		got := target.Rules(obstat.Deny, "read", "secrets")
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %s is missing", agent, w)
			}
		}
	}
}

// TestExportQuotes: commands with quotes of every kind, three in a row among them, load in each language that they are written in.
func TestExportQuotes(t *testing.T) {
	commands := []string{`python -c 'print('\'''\''OK'\'''\'')'`, "echo '''", `echo "a\b"`, "pkill -f 'x y'", "echo \u00e9'"}
	var text strings.Builder
	text.WriteString("version: 1\nallow:\n")
	for _, c := range commands {
		text.WriteString("  - " + strconv.Quote("run exactly "+quoteWord(c)) + "\n")
	}
	l := load(t, native.Name, native.File, text.String(), nil)
	for name, target := range convert.Targets() {
		var err error
		if target.Dialect, err = all.Find(target.Name); err != nil {
			t.Fatal(err)
		}
		if _, err := convert.Export(l, &target); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// quoteWord puts a text in the quotes that it has none of, or leaves it.
func quoteWord(s string) string {
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return s
}

// TestExportForms: an agent does not see what a form of a command runs, so the export asks about the form, and only where
// the agent would allow it.
func TestExportForms(t *testing.T) {
	const everything = "version: 1\nallow: [run anything, write workspace]\nask: [run git tag]\ndeny: [run touch, write ./secret/**]\n"
	const one = "version: 1\nallow: [run git, run git branch, run nohup]\nask: [run git branch -D, run git tag]\n"
	const code = "version: 1\nallow: [run python, run npx tsx]\nask: [write and delete .git/**]\n"
	for _, tt := range []struct {
		policy, agent string
		held, free    []string
	}{
		{code, "claude-code", []string{"python", "npx tsx", "echo x | python"}, []string{"python x.py", "npx tsx x"}},
		{code, "gemini", []string{"python", "npx tsx"}, []string{"python x.py", "npx tsx x"}},
		{code, "opencode", []string{"python", "npx tsx", "echo x | python"}, []string{"python x.py", "npx tsx x"}},
		{everything, "claude-code", []string{"bash -c 'touch x'", "eval 'git tag x'", "git --no-pager tag x", "x=touch; $x y"},
			[]string{"git status", "make all"}},
		{everything, "gemini", []string{"env touch x", "sudo git tag x", "git\ttag x", "x/touch y", "echo x | xargs touch"},
			[]string{"git status", "make all"}},
		{everything, "opencode", []string{"CI=1 touch x", "nice git tag x", `"git" tag x`, `\git tag x`, "git  tag x"},
			[]string{"git status", "make all"}},
		{one, "claude-code", []string{"git branch x -D", "git -C . tag x", "nohup git tag x"},
			[]string{"git status", "git branch", "git log x"}},
		{one, "gemini", []string{"git branch x -D", "git -C . tag x"}, []string{"git status"}},
		{one, "opencode", []string{"git branch x -fD", "git -c a=b tag x"}, []string{"git status"}},
		{one, "codex", []string{"git branch x -D", "git -C . tag x"}, nil},
		{"version: 1\nallow: [run cp, run make]\ndeny: [write secret/**]\n", "codex", []string{"cp x secret/y"}, []string{"make x"}},
	} {
		target := convert.Targets()[tt.agent]
		var err error
		if target.Dialect, err = all.Find(target.Name); err != nil {
			t.Fatal(err)
		}
		l := load(t, native.Name, native.File, tt.policy, nil)
		res, err := convert.Export(l, &target)
		if err != nil {
			t.Fatal(err)
		}
		there, world := byItself(t, &target, res.Text), &obstat.Snapshot{HomeDir: diff.Home}
		for _, command := range tt.held {
			if v := there.Policy.Decide(run(target.Tools[0], command), world).Verdict; v == obstat.Allow {
				t.Errorf("%s allows %q of\n%s\n%s", tt.agent, command, tt.policy, res.Text)
			}
		}
		for _, command := range tt.free {
			if v := there.Policy.Decide(run(target.Tools[0], command), world).Verdict; v != obstat.Allow {
				t.Errorf("%s: %q is %s of\n%s", tt.agent, command, v, tt.policy)
			}
		}
		if len(res.Looser) > 0 {
			t.Errorf("%s is looser: %+v", tt.agent, res.Looser[0])
		}
		t.Logf("%s: %d rules, %d added, %d sentences without one", tt.agent, res.Said, res.Added, len(res.Unsaid))
	}
}

// TestExportPlaces: a place of the policy's own is said by its paths, also where it adds to the secrets.
func TestExportPlaces(t *testing.T) {
	const text = "version: 1\nplaces:\n  work: [src, docs]\n  secrets: [tokens/**]\n" +
		"allow: [read anywhere, write workspace, run anything]\nask: [write work]\ndeny: [read secrets]\n"
	l := load(t, native.Name, native.File, text, nil)
	for agent, want := range map[string][]string{
		"claude-code": {`"Edit(/src)"`, `"Edit(/docs)"`, `"Read(tokens/**)"`, `"Read(//**/.netrc)"`},
		"gemini":      {"(?:src|docs)", "(?:tokens)"},
		"opencode":    {`"src": "ask"`, `"docs/*": "ask"`, `"tokens/*": "deny"`, `"*.netrc": "deny"`},
	} {
		target := convert.Targets()[agent]
		var err error
		if target.Dialect, err = all.Find(target.Name); err != nil {
			t.Fatal(err)
		}
		res, err := convert.Export(l, &target)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(res.Text, w) {
				t.Errorf("%s: %s is missing", agent, w)
			}
		}
		for _, u := range res.Unsaid {
			t.Errorf("%s says no %s %s: %s", agent, u.Verdict, u.Rule, u.Why)
		}
	}
}
