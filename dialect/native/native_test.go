package native_test

import (
	"encoding/json"
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
