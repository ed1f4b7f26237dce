package codex_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/codex"
)

// TestConfig: of config.toml the approval policy and the sandbox count, those of the chosen profile first.
func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		text, mode, want string // want: part of the first problem
		speaks, fatal    bool
	}{
		{"model = \"x\"\n", "on-request", "rules belong into .codex/rules/default.rules", false, false},
		{"approval_policy = \"never\"\n", "never", "", true, false},
		{"approval_policy = \"on-failure\"\nsandbox_mode = \"workspace-write\"\n", "on-request", "", true, false},
		{"profile = \"ci\"\napproval_policy = \"never\"\n[profiles.ci]\napproval_policy = \"untrusted\"\n", "untrusted", "", true, false},
		{"profile = \"gone\"\napproval_policy = \"never\"\n", "never", "", true, false},
		{"[approval_policy.granular]\nrules = true\n", "untrusted", "a granular approval policy", true, false},
		{"approval_policy = \"nevr\"\n", "", "there is no approval policy", true, true},
		{"sandbox_mode = \"readonly\"\n", "", "there is no sandbox", true, true},
		{"approval_policy = \n", "", "", true, true},
	} {
		f := dialect.File{Name: "/p/.codex/config.toml", Data: []byte(tt.text)}
		d := codex.Dialect{}
		if d.Detect(&f) != dialect.Sure || d.Speaks(&f) != tt.speaks {
			t.Errorf("%q: %v, speaks %t", tt.text, d.Detect(&f), d.Speaks(&f))
		}
		p, errs := d.Load(&dialect.Input{Files: []dialect.File{f}})
		said := ""
		if len(errs) > 0 {
			said = errs[0].Msg + " " + errs[0].Hint
		}
		if (errs.Fatal() != nil) != tt.fatal || !strings.Contains(said, tt.want) || tt.want == "" && !tt.fatal && said != "" {
			t.Errorf("%q: %v", tt.text, errs)
		}
		if p != nil && string(p.Mode) != tt.mode {
			t.Errorf("%q: mode %s", tt.text, p.Mode)
		}
	}
	if (codex.Dialect{}).Detect(&dialect.File{Name: "/p/app/config.toml"}) != dialect.No {
		t.Error("another program's config.toml is taken for Codex's")
	}
}

// TestZsh: lines as Codex writes them into its rules, `/bin/zsh -lc '…'`, are allowed as they are, and the commands in
// them are judged.
func TestZsh(t *testing.T) {
	text := `prefix_rule(pattern=["/bin/zsh", "-lc", "git for-each-ref --format='%(refname)' | grep 78"], decision="allow")
prefix_rule(pattern=["npm", "test"], decision="allow")
prefix_rule(pattern=["rm"], decision="forbidden")
`
	l, err := dialect.Load(codex.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "/p/.codex/rules/default.rules",
		Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{
		`/bin/zsh -lc \"git for-each-ref --format='%(refname)' | grep 78\"`: obstat.Allow,
		`/bin/zsh -lc 'npm test'`:                obstat.Allow,
		`/bin/bash -lc 'npm test && npm test x'`: obstat.Allow,
		`/bin/zsh -lc 'rm x'`:                    obstat.Deny,
		`/bin/zsh -lc 'npm test; rm x'`:          obstat.Deny,
		`/bin/zsh -lc 'npm publish'`:             obstat.Ask,
		`/bin/zsh -lc \"git for-each-ref --format='%(refname)' | grep 78; rm x\"`:   obstat.Deny,
		`/bin/zsh -lc \"git for-each-ref --format='%(refname)' | grep 78\" && rm x`: obstat.Deny,
	} {
		c := &obstat.Call{Tool: "shell", Input: []byte(`{"command":"` + command + `"}`), Dir: "/p", Roots: []string{"/p"}}
		if d := l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home/u"}); d.Verdict != want {
			t.Errorf("%s: %s: %s", command, d.Verdict, d.Reason())
		}
	}
}
