package convert_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/convert"
	"github.com/obstat/obstat/internal/diff"
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
	res, err := convert.ToNative(l)
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Converted from .claude/settings.json by obstat policy convert.
version: 1
allow:
  - run git
  - run npm run test
  - run exactly make
  - read ./src/**
  - write ./src/**
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

// TestEveryDialect converts policies of all dialects. The result loads, every difference that is
// told is one, and nothing that was denied is allowed.
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
		l := load(t, which, name, string(f.Data), options)
		res, err := convert.ToNative(l)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := load(t, native.Name, native.File, res.Text, nil)
		for _, r := range res.Differences.Regions {
			was, now := l.Policy.Decide(r.Call, world).Verdict, n.Policy.Decide(r.Call, world).Verdict
			if was != r.Was || now != r.Now || was == now {
				t.Errorf("%s: %s %s is %s and %s, not %s and %s", name, r.Call.Tool, r.Call.Input, was, now, r.Was, r.Now)
			}
			if was == obstat.Deny && now == obstat.Allow && r.NowBy.Pos.IsValid() {
				t.Errorf("%s: %s %s was denied, and %s allows it", name, r.Call.Tool, r.Call.Input, r.NowBy.Rule)
			}
		}
		// Gemini's rules match the JSON of a call's arguments, which no sentence does yet:
		// all of them are listed as not said.
		if res.Said == 0 && (l.Dialect.Name() != "gemini" || len(res.Unsaid) == 0) {
			t.Errorf("%s: nothing can be said:\n%s", name, res.Text)
		}
		t.Logf("%s: %d sentences, %d rules without one; %d regions looser, %d stricter", name, res.Said, len(res.Unsaid), res.Differences.Looser, res.Differences.Tighter)
	}
}
