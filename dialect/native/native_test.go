package native_test

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// example is the policy that the documentation begins with.
const example = `version: 1
allow:
  - read workspace
  - write workspace except .git/**, .env*
  - run git status, git diff, git log, npm test
  - connect api.example.com, github.com
ask:
  - run git push
  - delete workspace
deny:
  - read secrets                     # the built-in table; extend it under places
  - write outside workspace
  - rule: connect anywhere
    after: read secrets              # in the same session
    reason: what was read here must not leave
`

var world = &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/", "/p", "/p/src", "/p/.git", "/p/.git/hooks", "/home", "/home/u", "/tmp", "/etc"},
	Links: map[string]string{"/p/envlink": ".env", "/p/out": "/etc"}}

func load(t testing.TB, text string) *dialect.Loaded {
	t.Helper()
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// call makes a call of `cat x`, or of `Read file_path=x`.
func call(text string) *obstat.Call {
	c := &obstat.Call{Tool: "Bash", Dir: "/p", Roots: []string{"/p"}, Time: time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)}
	if tool, rest, ok := strings.Cut(text, " "); ok && strings.Contains(rest, "=") && (tool[0] < 'a' || strings.HasPrefix(tool, "mcp__") || tool == "apply_patch") {
		c.Tool = tool
		field, value, _ := strings.Cut(rest, "=")
		c.Input, _ = json.Marshal(map[string]string{field: value})
		if strings.HasPrefix(field, "{") {
			c.Input = []byte(rest)
		}
		return c
	}
	c.Input, _ = json.Marshal(map[string]string{"command": text})
	return c
}

// TestExample: the policy of the documentation, call by call, whatever tool makes it.
func TestExample(t *testing.T) {
	l := load(t, example)
	for text, want := range map[string]string{
		"cat README.md":                       "allow read workspace",
		"Read file_path=/p/README.md":         "allow read workspace",
		"mcp__fs__read_file path=/p/.env":     "deny read secrets",
		"mcp__fs__read_file path=/p/a":        "ask ",
		"Grep path=/p/src":                    "allow read workspace",
		"grep -r foo src":                     "allow read workspace",
		"ls":                                  "allow known effects",
		"echo hi":                             "allow known effects",
		"TodoWrite x=y":                       "allow known effects",
		"cat .env":                            "deny read secrets",
		"cat envlink":                         "deny read secrets",
		"Read file_path=/p/.env":              "deny read secrets",
		"cat ~/.ssh/id_rsa":                   "deny read secrets",
		"npm test && cat ~/.ssh/id_rsa":       "deny read secrets",
		"cat .en?":                            "deny read secrets",
		"find . -type f | xargs cat":          "ask read secrets",
		"cat $X":                              "ask read secrets",
		"cat /etc/hosts":                      "ask ",
		"cat out/hosts":                       "ask ",
		"echo x > a.txt":                      "allow write workspace except .git/**, .env*",
		"Write file_path=/p/src/a.go":         "allow write workspace except .git/**, .env*",
		"Edit file_path=/p/.env.local":        "ask write workspace except .git/**, .env*",
		"echo x > .env":                       "ask write workspace except .git/**, .env*",
		"tee sub/.env.local":                  "ask write workspace except .git/**, .env*",
		"touch .en?":                          "ask ",
		"cp a .git/hooks/pre-commit":          "ask write workspace except .git/**, .env*",
		"git diff --output=.git/hooks/x":      "ask write workspace except .git/**, .env*",
		"echo x > /etc/y":                     "deny write outside workspace",
		"echo x > out/y":                      "deny write outside workspace",
		"Write file_path=/etc/y":              "deny write outside workspace",
		"rm /etc/y":                           "deny write outside workspace",
		"echo x > $F":                         "ask write outside workspace",
		"rm -rf build":                        "ask delete workspace",
		"Delete file_path=/p/a":               "ask delete workspace",
		"git status":                          "allow run git status, git diff, git log, npm test",
		"npm test -- --watch":                 "allow run git status, git diff, git log, npm test",
		"npm run x":                           "ask ",
		"git push origin main":                "ask run git push",
		"git -C x push":                       "ask run git push",
		"git status; git push":                "ask run git push",
		"curl https://api.example.com/x":      "allow connect api.example.com, github.com",
		"WebFetch url=https://github.com/x":   "allow connect api.example.com, github.com",
		"curl https://api.example.com.evil.x": "ask ",
		"curl $URL":                           "ask ",
		"make":                                "ask ",
		"$X":                                  "ask ",
		"python3 -c 'print(1)'":               "ask ",
		"mcp__db__query sql=x":                "ask ",
		"cat 'x":                              "ask ",
	} {
		d := l.Policy.Decide(call(text), world)
		got := d.Verdict.String() + " "
		if d.Rule != nil {
			got += d.Rule.Source
		}
		if got != want {
			t.Errorf("%s: %s, want %s: %s", text, got, want, d.Reason())
		}
	}
}

// TestBuiltin: without a policy, looking and working in the workspace are allowed, the rest asks and nothing is
// denied.
func TestBuiltin(t *testing.T) {
	l, err := dialect.Load(native.Builtin{}, &dialect.Input{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]obstat.Verdict{
		"ls": obstat.Allow, "cat go.mod | head -3": obstat.Allow, "git log --oneline": obstat.Allow, "Read file_path=/p/main.go": obstat.Allow,
		"Grep pattern=TODO": obstat.Allow, "Write file_path=/p/main.go": obstat.Allow, "echo x > f": obstat.Allow, "git commit -m x": obstat.Allow,
		"cat /etc/passwd": obstat.Allow, "cat out/passwd": obstat.Allow, "cat ../x": obstat.Allow, "ls /home/u/other": obstat.Allow, "cat /etc/shadow": obstat.Ask, "printenv": obstat.Ask, "echo $GITHUB_TOKEN": obstat.Ask,
		"jq -n env": obstat.Ask, "echo $HOME": obstat.Allow,
		"grep -r x src": obstat.Allow, "cp -r src lib": obstat.Allow, "wc -l src/**/*.py": obstat.Allow, "cp src/a.go .": obstat.Allow, "chmod 000 .": obstat.Ask,
		"cat ~/.ssh/id_rsa": obstat.Ask, "grep -r x ~": obstat.Ask, "echo x > /tmp/x": obstat.Allow, "rm /tmp/x": obstat.Ask, "echo x > /home/u/x": obstat.Ask, "docker ps -a": obstat.Allow, "docker rm x": obstat.Ask,
		"cat .env": obstat.Ask, "cat $X": obstat.Ask, "ls; rm -rf /": obstat.Ask,
		"curl https://example.com": obstat.Ask, "make": obstat.Ask, "npm test": obstat.Ask, "cat 'x": obstat.Ask, "Read file_path=/etc/passwd": obstat.Allow, "Read file_path=/etc/shadow": obstat.Ask, "Read file_path=/p/.env": obstat.Ask,
		"Write file_path=/p/.env": obstat.Ask, "Write file_path=/home/u/x": obstat.Ask, "cp x .git/hooks/y": obstat.Ask, "git push": obstat.Ask, "rm a": obstat.Ask, "git branch -D x": obstat.Ask,
		"WebFetch url=https://example.com": obstat.Ask, "mcp__x__y path=/p/main.go": obstat.Ask, "Nonsense x=y": obstat.Ask, "git commit -m \"$(cat .env)\"": obstat.Ask,
	} {
		d := l.Policy.Decide(call(text), world)
		if d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", text, d.Verdict, want, d.Reason())
		}
	}
	file := load(t, native.Preset("balanced"))
	for list, rules := range l.Program.Rules {
		for i, r := range rules {
			if own := cmp.Or(file.Program.Rules[list][i].Reason, "of the built-in policy"); r.Reason != own {
				t.Errorf("%s: the reason is %q, want %q", r.Source, r.Reason, own)
			}
		}
	}
}

// TestBuiltinIsBalanced: a person without a policy gets the answers of the preset, stage by stage.
func TestBuiltinIsBalanced(t *testing.T) {
	builtin, err := dialect.Load(native.Builtin{}, &dialect.Input{})
	if err != nil {
		t.Fatal(err)
	}
	preset, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml",
		Data: []byte(native.Preset(native.Balanced))}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := builtin.Program.Pipelines, preset.Program.Pipelines; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, rules := range preset.Program.Rules {
		if got := len(builtin.Program.Rules[name]); got != len(rules) {
			t.Errorf("%s: %d rules, want %d", name, got, len(rules))
		}
	}
}

// TestHomeInTemp: a home in the temporary directory, as containers have it, is no temporary file: `write temp`
// does not open its .ssh.
func TestHomeInTemp(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - write temp\nask:\n  - write outside workspace except temp\n")
	home := &obstat.Snapshot{HomeDir: "/tmp/home", Dirs: []string{"/", "/p", "/tmp", "/tmp/home", "/tmp/home/.ssh"}}
	for text, want := range map[string]obstat.Verdict{
		"echo x > /tmp/a":                               obstat.Allow,
		"echo x > /tmp/homes":                           obstat.Allow,
		"echo x > /tmp/home/.ssh/authorized_keys":       obstat.Ask,
		"Write file_path=/tmp/home/.bashrc":             obstat.Ask,
		"echo x > /var/tmp/../../tmp/home/.profile":     obstat.Ask,
		"cd /tmp/home && echo x > .ssh/authorized_keys": obstat.Ask,
	} {
		if d := l.Policy.Decide(call(text), home); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", text, d.Verdict, want, d.Reason())
		}
	}
}

// TestProjectInTemp: a project in the temporary directory is no temporary file: `write temp` does not open its hooks.
func TestProjectInTemp(t *testing.T) {
	there := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/", "/home/u", "/tmp", "/tmp/p", "/tmp/p/.git"}}
	for _, preset := range native.Presets() {
		l := load(t, native.Preset(preset))
		for _, text := range []string{"echo x > .git/hooks/pre-commit", "echo x > .git/config",
			"cp a .git/hooks/post-merge", "Write file_path=/tmp/p/.git/hooks/pre-commit", "cp -r h/. .git/hooks"} {
			c := call(text)
			c.Dir, c.Roots = "/tmp/p", []string{"/tmp/p"}
			if d := l.Policy.Decide(c, there); d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: %s", preset, text, d.Reason())
			}
		}
		c := call("echo x > /tmp/a")
		c.Dir, c.Roots = "/tmp/p", []string{"/tmp/p"}
		if d := l.Policy.Decide(c, there); preset == "balanced" && d.Verdict != obstat.Allow {
			t.Errorf("%s: %s", preset, d.Reason())
		}
	}
}

// TestPresets: each preset loads without a word, and a stricter one allows no more than the next.
func TestPresets(t *testing.T) {
	var before *dialect.Loaded
	for _, name := range native.Presets() {
		l := load(t, native.Preset(name))
		if len(l.Warnings) > 0 {
			t.Errorf("%s: %v", name, l.Warnings)
		}
		for _, text := range []string{"ls", "cat .env", "echo x > f", "echo x > /etc/f", "rm -rf build", "git push", "npm test", "curl https://x.example", "git commit -m x", "mcp__a__b c=d", "sudo ls", "python3 -c 'x'"} {
			if before == nil || name == native.Unattended { // which is for another use
				continue
			}
			if a, b := before.Policy.Decide(call(text), world), l.Policy.Decide(call(text), world); a.Verdict == obstat.Allow && b.Verdict != obstat.Allow {
				t.Errorf("%s: a stricter preset allows it, %s %ss: %s", text, name, b.Verdict, b.Reason())
			}
		}
		before = l
	}
}

// TestAfter: what a session has done counts for its later calls, and is not forgotten where it is only
// possible.
func TestAfter(t *testing.T) {
	l := load(t, strings.Replace(example, "  - read secrets  ", "  - read ./nothing  ", 1))
	c := call("curl https://github.com")
	if d := l.Policy.Decide(c, world); d.Verdict != obstat.Allow {
		t.Fatalf("before: %s", d.Reason())
	}
	c.After = []string{"read secrets"}
	if d := l.Policy.Decide(c, world); d.Verdict != obstat.Deny || !strings.Contains(d.Reason(), "what was read here must not leave") {
		t.Errorf("after: %s %s", d.Verdict, d.Reason())
	}
	for text, want := range map[string]int{"cat .env": 1, "Read file_path=/p/.env": 1, "cat .en?": 1, "cat README.md": 0, "cat envlink": 1, "mcp__fs__read_file path=/p/.env": 1, "ls; cat ~/.ssh/id_rsa | wc": 1, "git status": 0} {
		if d := l.Policy.Decide(call(text), world); len(d.Marks) != want {
			t.Errorf("%s: marks %q, want %d", text, d.Marks, want)
		}
	}
	named := load(t, "version: 1\nallow:\n  - read workspace\nask:\n  - rule: read src/keys\n    name: keys\ndeny:\n  - rule: connect anywhere\n    name: leave\n    after: keys\n  - rule: write workspace\n    after: [leave, run make]\n")
	if got := named.Policy.Marks(); len(got) != 3 {
		t.Errorf("marks %q", got)
	}
	d := named.Policy.Decide(call("cat src/keys/a; make"), world)
	if strings.Join(d.Marks, " ") != "keys run make" {
		t.Errorf("marks %q", d.Marks)
	}
	c = call("echo x > f")
	c.After = d.Marks
	if d := named.Policy.Decide(c, world); d.Verdict != obstat.Deny {
		t.Errorf("after make: %s", d.Reason())
	}
}

// TestAllowAfter: an allow rule that comes after something is risky, and said to be; one that denies or asks is not.
func TestAllowAfter(t *testing.T) {
	for verdict, want := range map[string]int{"allow": 1, "ask": 0, "deny": 0} {
		l := load(t, "version: 1\n"+verdict+":\n  - rule: run make\n    after: read secrets\n")
		if len(l.Warnings) != want || want > 0 && (l.Warnings[0].Code != obstat.CodeRisky || l.Warnings[0].Pos.Line != 4) {
			t.Errorf("%s: %v", verdict, l.Warnings)
		}
	}
}

// TestWholeBases: a rule for all of a directory is about nothing beside it.
func TestWholeBases(t *testing.T) {
	for rule, want := range map[string]string{
		"read ~/**": "cat /home/u/x", "read ~/": "cat /home/u/x", "read /": "cat /opt/x, cat src/x, cat /home/u/x", "read ./**": "cat src/x", "read /**": "cat /opt/x, cat src/x, cat /home/u/x",
	} {
		l := load(t, "version: 1\nallow:\n  - "+rule+"\n")
		var got []string
		for _, text := range []string{"cat /opt/x", "cat src/x", "cat /home/u/x"} {
			if l.Policy.Decide(call(text), world).Verdict == obstat.Allow {
				got = append(got, text)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s allows %q, want %s", rule, got, want)
		}
	}
}

// TestOnlyUnknown: a confined run may try a command of which not everything is known, and code; not one that does
// something besides that no rule allows.
func TestOnlyUnknown(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - read workspace\n")
	for text, want := range map[string]bool{
		"frobnicate x": true, "make": true, `cat "$f"`: true,
		"frobnicate x > out.txt": false, "npm ci": false, "curl https://x.example/a": false, "touch a": false,
	} {
		if d := l.Policy.Decide(call(text), world); d.Verdict != obstat.Ask || d.OnlyUnknown != want {
			t.Errorf("%s: %s, only unknown %t: %s", text, d.Verdict, d.OnlyUnknown, d.Reason())
		}
	}
}

// TestConditions: who, when and where, and what is not known counts against.
func TestConditions(t *testing.T) {
	l := load(t, `version: 1
allow:
  - {rule: run make, when: {agent: [codex, claude-*], branch: not main}}
  - {rule: run deploy, when: {role: lead, days: mon-fri, time: 09:00-17:00}, until: 2026-12-31}
  - tool mcp__db__query where input.table in [users, orders] and input.limit <= 100 and input.opts.dry_run is true
  - tool mcp__db__list where input.rows[].kind like a*
deny:
  - {rule: run git push, when: {branch: [main, release/*]}, reason: push a branch of your own}
  - tool mcp__db__* where input.table is secrets
`)
	with := func(text string, set func(*obstat.Call)) *obstat.Call {
		c := call(text)
		c.Branch = "dev"
		set(c)
		return c
	}
	for name, tt := range map[string]struct {
		call *obstat.Call
		want obstat.Verdict
	}{
		"agent":            {with("make", func(c *obstat.Call) { c.Agent = "claude-code" }), obstat.Allow},
		"another agent":    {with("make", func(c *obstat.Call) { c.Agent = "gemini" }), obstat.Ask},
		"no agent":         {with("make", func(*obstat.Call) {}), obstat.Ask},
		"main":             {with("make", func(c *obstat.Call) { c.Agent, c.Branch = "codex", "main" }), obstat.Ask},
		"no branch":        {with("make", func(c *obstat.Call) { c.Agent, c.Branch = "codex", "" }), obstat.Ask},
		"push":             {with("git push", func(*obstat.Call) {}), obstat.Ask},
		"push main":        {with("git push", func(c *obstat.Call) { c.Branch = "release/1" }), obstat.Deny},
		"push from where?": {with("git push", func(c *obstat.Call) { c.Branch = "" }), obstat.Deny},
		"lead":             {with("deploy", func(c *obstat.Call) { c.Roles = []string{"lead"} }), obstat.Allow},
		"nobody":           {with("deploy", func(*obstat.Call) {}), obstat.Ask},
		"at night":         {with("deploy", func(c *obstat.Call) { c.Roles = []string{"lead"}; c.Time = c.Time.Add(6 * time.Hour) }), obstat.Ask},
		"on Sunday":        {with("deploy", func(c *obstat.Call) { c.Roles = []string{"lead"}; c.Time = c.Time.AddDate(0, 0, -1) }), obstat.Ask},
		"next year":        {with("deploy", func(c *obstat.Call) { c.Roles = []string{"lead"}; c.Time = c.Time.AddDate(0, 2, 0) }), obstat.Ask},
		"no clock":         {with("deploy", func(c *obstat.Call) { c.Roles = []string{"lead"}; c.Time = time.Time{} }), obstat.Ask},
		"query":            {call(`mcp__db__query {"table": "users", "limit": 100.0, "opts": {"dry_run": true}, "x": "="}`), obstat.Allow},
		"too many":         {call(`mcp__db__query {"table": "users", "limit": 101, "opts": {"dry_run": true}, "x": "="}`), obstat.Ask},
		"a text":           {call(`mcp__db__query {"table": "users", "limit": "5", "opts": {"dry_run": "true"}, "x": "="}`), obstat.Ask},
		"another table":    {call(`mcp__db__query {"table": "keys", "limit": 1, "opts": {"dry_run": true}, "x": "="}`), obstat.Ask},
		"no limit":         {call(`mcp__db__query {"table": "users", "opts": {"dry_run": true}, "x": "="}`), obstat.Ask},
		"denied table":     {call(`mcp__db__drop {"table": "secrets", "x": "="}`), obstat.Deny},
		"each row":         {call(`mcp__db__list {"rows": [{"kind": "ab"}, {"kind": "ac"}], "x": "="}`), obstat.Allow},
		"one row":          {call(`mcp__db__list {"rows": [{"kind": "ab"}, {"kind": "b"}], "x": "="}`), obstat.Ask},
		"no rows":          {call(`mcp__db__list {"rows": [], "x": "="}`), obstat.Ask},
	} {
		if d := l.Policy.Decide(tt.call, world); d.Verdict != tt.want {
			t.Errorf("%s: %s, want %s: %s", name, d.Verdict, tt.want, d.Reason())
		}
	}
	c := call(`mcp__db__query {"table": "users", "limit": 1, "opts": {"dry_run": true}, "x": "="}`)
	if c.Tool = "mcp_db_query"; l.Policy.Decide(c, world).Verdict != obstat.Allow {
		t.Error("another agent's name of the tool is not meant")
	}
}

// TestOffersOfGroups: what is offered for always names the word that says what a subcommand does.
func TestOffersOfGroups(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - read workspace\n")
	for text, want := range map[string]string{
		"docker compose logs web":   "run docker compose logs web, run docker compose logs",
		"npm run lint --fix":        "run npm run lint --fix, run npm run lint",
		"npm run lint":              "run npm run lint",
		"cargo build --release":     "run cargo build --release, run cargo build",
		"docker compose -f x logs":  "run docker compose -f x logs",
		"docker exec web ls -l":     "run docker exec web ls -l", // the first words alone would be a shell
		"docker exec web ls 'a b'":  `run "docker exec web ls 'a b'"`,
		"gh pr view 5":              "run gh pr view 5, run gh pr view",
		"terraform plan -out a.pla": "run terraform plan -out a.pla, run terraform plan",
	} {
		c := call(text)
		d := l.Policy.Decide(c, world)
		var got []string
		for _, o := range l.Offers(c, world, &d) {
			got = append(got, o.Text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %s", text, got, want)
		}
	}
}
