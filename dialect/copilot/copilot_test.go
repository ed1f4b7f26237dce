package copilot_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/copilot"
)

func load(t *testing.T, name, text string) *dialect.Loaded {
	t.Helper()
	files := []dialect.File{{Name: name, Data: []byte(text)}}
	d, err := all.Of("", files)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != "copilot" {
		t.Fatalf("%s is a file of %s", name, d.Name())
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type call struct{ tool, field, value string }

func (c call) in(l *dialect.Loaded) obstat.Decision {
	call := &obstat.Call{Tool: c.tool, Input: []byte(`{"` + c.field + `":"` + c.value + `"}`), Dir: "/p", Roots: []string{"/p"}}
	return l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p"}})
}

func decides(t *testing.T, l *dialect.Loaded, want map[call]obstat.Verdict) {
	t.Helper()
	for c, v := range want {
		if d := c.in(l); d.Verdict != v {
			t.Errorf("%v: %s, want %s: %s", c, d.Verdict, v, d.Reason())
		}
	}
}

// TestTerminal: the examples of VS Code's own description of chat.tools.terminal.autoApprove, and the ways in which
// people write it.
func TestTerminal(t *testing.T) {
	l := load(t, "/p/.vscode/settings.json", `{
		"editor.tabSize": 2, // a comment
		"chat.tools.terminal.autoApprove": {
			"mkdir": true, "npm run build": true, "bin/test.sh": true, ".specify/scripts/bash/": true,
			"/^git (status|show\\b.*)$/": true, "/^Get-ChildItem\\b/i": true, "/^docker compose (ps|logs)/": {"approve": true},
			"git push": false, "/\\.ps1/i": {"approve": false, "matchCommandLine": true}, "pnpm add:*": true, "npm publish:*": false,
			"npm": true, "make all && make test": {"approve": true, "matchCommandLine": true}, "curl": null,
		},
	}`)
	sh := func(command string) call { return call{"run_in_terminal", "command", command} }
	decides(t, l, map[call]obstat.Verdict{
		sh("mkdir -p a/b"):                 obstat.Allow,
		sh("mkdirx a"):                     obstat.Ask,
		sh("npm run build --verbose"):      obstat.Allow,
		sh("bin/test.sh -v"):               obstat.Allow,
		sh("./bin/test.sh"):                obstat.Allow,
		sh("other/bin/test.sh"):            obstat.Ask,
		sh("bin/test.sh.evil"):             obstat.Ask,
		sh(".specify/scripts/bash/a.sh"):   obstat.Allow,
		sh("git status"):                   obstat.Allow,
		sh("git show HEAD"):                obstat.Allow,
		sh("git push origin main"):         obstat.Ask,
		sh("npm publish --tag x"):          obstat.Ask,
		sh("npm test && git push"):         obstat.Ask,
		sh("npm test"):                     obstat.Allow,
		sh("npm run x.ps1"):                obstat.Ask,
		sh("npm test; rm -rf build"):       obstat.Ask,
		sh("mkdir a && npm run build"):     obstat.Allow,
		sh("mkdir $(git push)"):            obstat.Ask,
		sh("docker compose logs web"):      obstat.Allow,
		sh("docker compose down"):          obstat.Ask,
		sh("pnpm add x"):                   obstat.Ask,
		sh("bash -c 'mkdir a; git push'"):  obstat.Ask,
		sh("npm run build > ~/.bashrc"):    obstat.Ask,
		{"Read", "file_path", "/p/README"}: obstat.Allow,
	})
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Error(), `leave the * out`) || l.Warnings[0].Pos.Line != 6 {
		t.Errorf("warnings %v", l.Warnings)
	}
}

// TestEverything: an expression for every command leaves the questions that VS Code brings along, unless a file answers
// them or switches them off.
func TestEverything(t *testing.T) {
	sh := func(command string) call { return call{"run_in_terminal", "command", command} }
	for text, want := range map[string]map[call]obstat.Verdict{
		`{"chat.tools.terminal.autoApprove": {"/.*/": true, "make": null}}`: {
			sh("make"): obstat.Allow, sh("rm -rf x"): obstat.Ask, sh("make; curl x.example"): obstat.Ask, sh("find . -delete"): obstat.Ask,
		},
		`{"chat.tools.terminal.autoApprove": {"/.*/": true, "rm": true}}`: {sh("rm x"): obstat.Allow, sh("curl x.example"): obstat.Ask},
		`{"chat.tools.terminal.autoApprove": {"/.*/": true}, "chat.tools.terminal.ignoreDefaultAutoApproveRules": true}`: {
			sh("curl x.example"): obstat.Allow},
		`{"chat.tools.terminal.autoApprove": {"make": true}, "chat.tools.terminal.enableAutoApprove": false}`: {sh("make"): obstat.Ask},
		`{"chat.tools.global.autoApprove": true}`:                                                             {sh("make"): obstat.Ask},
	} {
		decides(t, load(t, "/home/u/.config/Code/User/settings.json", text), want)
	}
}

// TestOthers: files, addresses, and the settings of Copilot CLI.
func TestOthers(t *testing.T) {
	decides(t, load(t, "/p/.vscode/settings.json", `{"chat.tools.edits.autoApprove": {"**/*": true, "**/.env": false, "**/*.lock": false},
		"chat.tools.urls.autoApprove": {"https://*.example.com": true, "https://one.example/page": true,
			"https://two.example/": {"approveRequest": true, "approveResponse": false}},
		"github.copilot.chat.agent.terminal.allowList": {"make": true}, "chat.agent.terminal.denyList": {"git push": true}}`),
		map[call]obstat.Verdict{
			{"Edit", "file_path", "/p/src/a.go"}:              obstat.Allow,
			{"Edit", "file_path", "/p/a/.env"}:                obstat.Ask,
			{"Edit", "file_path", "/p/a/x.lock"}:              obstat.Ask,
			{"Edit", "file_path", "/other/x"}:                 obstat.Ask,
			{"WebFetch", "url", "https://a.example.com/x"}:    obstat.Allow,
			{"WebFetch", "url", "https://one.example/page"}:   obstat.Ask,
			{"WebFetch", "url", "https://two.example/page"}:   obstat.Allow,
			{"run_in_terminal", "command", "make"}:            obstat.Ask,
			{"run_in_terminal", "command", "git push origin"}: obstat.Ask,
		})
	decides(t, load(t, "/p/.github/copilot/settings.json", `{"allowedUrls": ["github.com", "*.docs.example"],
		"deniedUrls": ["https://evil.example/page"], "defaultPermissionMode": "allow-all"}`),
		map[call]obstat.Verdict{
			{"web_fetch", "url", "https://github.com/x"}:     obstat.Allow,
			{"web_fetch", "url", "https://a.docs.example/"}:  obstat.Allow,
			{"web_fetch", "url", "https://evil.example/x"}:   obstat.Deny,
			{"bash", "command", "curl https://evil.example"}: obstat.Deny,
			{"bash", "command", "make"}:                      obstat.Ask,
		})
}

// TestBad: a question that cannot be read is an error with its place; an approval is skipped; settings without
// approvals are valid and say nothing.
func TestBad(t *testing.T) {
	for text, fatal := range map[string]bool{
		`{"chat.tools.terminal.autoApprove": {"/^git (/": false}}`:   true,
		`{"chat.tools.terminal.autoApprove": {"/^git (/": true}}`:    false,
		`{"chat.tools.terminal.autoApprove": {"/a\\1/": true}}`:      false,
		`{"chat.tools.terminal.autoApprove": {"git": "yes"}}`:        false,
		`{"chat.tools.terminal.autoApprove": true}`:                  false,
		`{"editor.tabSize": 2}`:                                      false,
		`{"chat.tools.terminal.autoApprove": {"git": true}`:          true,
		`{"chat.tools.terminal.autoApprove": {"": true, "*": true}}`: false,
	} {
		files := []dialect.File{{Name: ".vscode/settings.json", Data: []byte(text)}}
		d, err := all.Of("", files)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: files})
		if (err != nil) != fatal {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil && (call{"bash", "command", "git push"}).in(l).Verdict == obstat.Allow {
			t.Errorf("%s allows", text)
		}
	}
	d, err := all.Find("copilot")
	if err != nil {
		t.Fatal(err)
	}
	if dialect.Speaks(d, &dialect.File{Name: "/p/.vscode/settings.json", Data: []byte(`{"editor.tabSize": 2}`)}) {
		t.Error("settings without approvals speak")
	}
}

// TestAnswersByDirectory: what Copilot CLI keeps for single directories is told, and allows nothing.
func TestAnswersByDirectory(t *testing.T) {
	f := dialect.File{Name: ".copilot/permissions-config.json", Data: []byte(`{"locations": {"/p": {"tool_approvals": [
		{"kind": "commands", "commandIdentifiers": ["make"]}, {"kind": "write"}]}}}`)}
	if got := (copilot.Dialect{}).Detect(&f); got != dialect.Sure {
		t.Fatalf("%v", got)
	}
	l, err := dialect.Load(copilot.Dialect{}, &dialect.Input{Files: []dialect.File{f}})
	if err != nil || len(l.Warnings) != 1 || l.Warnings[0].Pos.Line != 1 {
		t.Fatalf("%v, %v", err, l.Warnings)
	}
	c := &obstat.Call{Tool: "bash", Input: []byte(`{"command":"make"}`), Dir: "/p", Roots: []string{"/p"}}
	if d := l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home/u"}); d.Verdict != obstat.Ask {
		t.Errorf("%s: %s", d.Verdict, d.Reason())
	}
}
