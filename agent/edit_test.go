package agent

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// before are settings files that an entry is put into.
var before = []struct {
	name, text string
	jsonc      bool // only for agents that take comments
}{
	{name: "empty", text: ""},
	{name: "object", text: "{}\n"},
	{name: "one line", text: `{"model":"x"}`},
	{name: "existing", text: "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"PostToolUse\": [\n      { \"matcher\": \"Write\", \"hooks\": [{ \"type\": \"command\", \"command\": \"fmt\" }] }\n    ]\n  }\n}\n"},
	{name: "no newline", text: "{\n    \"hooks\": {\n        \"@\": [\n            {\n                \"command\": \"other\"\n            }\n        ]\n    }\n}"},
	{name: "CRLF", text: "{\r\n  \"a\": 1\r\n}\r\n"},
	{name: "tabs", text: "{\n\t\"a\": {\n\t\t\"b\": []\n\t}\n}\n"},
	{name: "comments", text: "// mine\n{\n  \"a\": 1, // one\n  /* hooks */\n  \"hooks\": {\n    // none yet\n  },\n}\n", jsonc: true},
}

func targetOf(a *Agent, program string) *target {
	return &target{agent: a, file: "/home/me/settings.json", call: Invocation{program, []string{a.Name}}}
}

// TestGolden shows the settings of every agent after an installation.
func TestGolden(t *testing.T) {
	for _, a := range All().Installable() {
		var got strings.Builder
		show := func(name string, text []byte) {
			got.WriteString("== " + name + " ==\n" + strings.ReplaceAll(string(text), "\r", "␍"))
			if !bytes.HasSuffix(text, []byte("\n")) {
				got.WriteString("␃\n") // no newline at the end
			}
		}
		if a.own != nil {
			show(a.ownFile, a.own(Invocation{"/opt/my tools/obstat", []string{a.Name}}))
		} else {
			for _, b := range before {
				if b.jsonc && a.Name != Gemini {
					continue
				}
				text, err := targetOf(a, "/opt/obstat").add([]byte(strings.ReplaceAll(b.text, "@", a.events[0])))
				if err != nil {
					t.Errorf("%s, %s: %v", a.Name, b.name, err)
				}
				show(b.name, text)
			}
		}
		golden := filepath.Join("testdata", a.Name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s: run with -update if this is meant\n%s", a.Name, d)
		}
	}
}

// TestRepeated: installing twice is installing once, and taking out gives back
// the old text.
func TestRepeated(t *testing.T) {
	for _, a := range All().Installable() {
		if a.own != nil {
			continue
		}
		for _, b := range before {
			if b.jsonc && a.Name != Gemini {
				continue
			}
			old := []byte(strings.ReplaceAll(b.text, "@", a.events[0]))
			once, err := targetOf(a, "/opt/obstat").add(old)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := targetOf(a, "/opt/obstat").add(once)
			if err != nil || !bytes.Equal(once, twice) {
				t.Errorf("%s, %s: installed twice: %v\n%s", a.Name, b.name, err, twice)
			}
			back, err := targetOf(a, "").remove(once)
			if b.name == "empty" || b.name == "object" { // these are told apart by what was recorded
				if err != nil || !targetOf(a, "").same(old, back) {
					t.Errorf("%s, %s: %q, %v", a.Name, b.name, back, err)
				}
				continue
			}
			if b.jsonc { // the empty object of hooks is not known to have been there
				continue
			}
			if err != nil || !bytes.Equal(back, old) {
				t.Errorf("%s, %s: taken out: %v\n%s\nwant\n%s", a.Name, b.name, err, back, old)
			}
		}
	}
}

func TestUpgrade(t *testing.T) {
	line := claudeCode().line(Invocation{"/new/obstat", []string{"claude-code"}})
	for _, c := range []struct{ name, old, want string }{
		{"another path", `{"matcher": "*", "hooks": [{"type": "command", "command": "/opt/obstat hook claude-code", "timeout": 600}]}`,
			`{"matcher": "*", "hooks": [{"type": "command", "command": LINE, "timeout": 600}]}`},
		{"options and a longer time-out stay", `{"matcher": "*", "hooks": [{"statusMessage": "?", "type": "command", "command": "obstat hook --policy '/p q.json' claude-code", "timeout": 3600}]}`,
			`{"matcher": "*", "hooks": [{"statusMessage": "?", "type": "command", "command": "/new/obstat hook --policy '/p q.json' claude-codeGUARD", "timeout": 3600}]}`},
		{"too short, too narrow, not waited for", `{"matcher": "Bash", "hooks": [{"type": "command", "command": "/opt/obstat", "args": ["hook", "claude-code"], "async": true, "timeout": 5}]}`,
			`{"matcher": "*", "hooks": [{"type": "command", "command": LINE, "timeout": 600}]}`},
		{"the old program", `{"matcher": "*", "hooks": [{"type": "command", "command": "/opt/obstat-hook --wait 5m claude-code || exit 2", "timeout": 600}]}`,
			`{"matcher": "*", "hooks": [{"type": "command", "command": "/new/obstat hook --wait 5m claude-codeGUARD", "timeout": 600}]}`},
		{"among others", `{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}, {"type": "command", "command": "/opt/obstat hook claude-code"}]}`,
			`{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}, {"matcher": "*", "hooks": [{"type": "command", "command": LINE, "timeout": 600}]}`},
		{"twice", `{"matcher": "*", "hooks": [{"type": "command", "command": "/a/obstat hook claude-code", "timeout": 600}]}, {"hooks": [{"command": "y"}]}, {"matcher": "*", "hooks": [{"type": "command", "command": "/b/obstat hook claude-code", "timeout": 600}]}`,
			`{"matcher": "*", "hooks": [{"type": "command", "command": LINE, "timeout": 600}]}, {"hooks": [{"command": "y"}]}`},
	} {
		doc := func(s string) string { return `{"hooks": {"PreToolUse": [` + s + `]}}` }
		got, err := targetOf(claudeCode(), "/new/obstat").addEvent([]byte(doc(c.old)), "PreToolUse")
		want := strings.ReplaceAll(strings.ReplaceAll(doc(c.want), "LINE", `"`+line+`"`), "GUARD", onFailure)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
		}
	}
}

// TestOldEntries: an entry that calls obstat-hook is brought up to date by an
// installation, and taken out like any other.
func TestOldEntries(t *testing.T) {
	for _, a := range All().Installable() {
		w := &Where{Home: "/home/me"}
		before := &Request{Scope: User, Where: w, Program: "/opt/obstat-hook"}
		now := &Request{Scope: User, Where: w, Program: "/opt/obstat"}
		old, err := a.Install(before)[0].Edit(nil)
		if err != nil || !bytes.Contains(old, []byte("/opt/obstat-hook")) {
			t.Fatalf("%s: %s, %v", a.Name, old, err)
		}
		f := a.parse(a.Target(User, w), old, a.own != nil)
		if len(f.Entries) == 0 || !f.Entries[0].Ours || !f.Entries[0].Invocation.Old() {
			t.Errorf("%s: %+v", a.Name, f.Entries)
		}
		fresh, _ := a.Install(now)[0].Edit(nil)
		if mended, err := a.Install(now)[0].Edit(old); err != nil || !bytes.Equal(mended, fresh) {
			t.Errorf("%s: %v\n%s\nwant\n%s", a.Name, err, mended, fresh)
		}
		if gone, err := a.Uninstall(now)[0].Edit(old); err != nil || gone != nil {
			t.Errorf("%s: taken out: %s, %v", a.Name, gone, err)
		}
	}
}

func TestOptionsStay(t *testing.T) {
	old := Invocation{"/old/obstat", []string{"--wait", "5m", "--policy=p.json", "--interactive", "codex"}}
	for want, options := range map[string][]string{
		"--wait 5m --policy=p.json --interactive codex":  nil,
		"--wait off --policy=p.json --interactive codex": {"--wait", "off"},
		"--policy q.json --wait 5m --interactive codex":  {"--policy", "q.json"},
	} {
		got := old.with(Invocation{"/new/obstat", append(options, "codex")})
		if strings.Join(got.Args, " ") != want || got.Program != "/new/obstat" {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

func TestBrokenFile(t *testing.T) {
	for _, a := range All().Installable() {
		if a.own != nil {
			continue
		}
		for _, src := range []string{"{\n  \"hooks\": ", "[]", `{"hooks": []}`, `{"hooks": {"` + a.events[0] + `": {}}}`, `{"hooks": {}, "hooks": {}}`, "\x00"} {
			src = strings.ReplaceAll(src, `"hooks"`, `"`+a.form.top()+`"`)
			if text, err := targetOf(a, "/opt/obstat").add([]byte(src)); err == nil {
				t.Errorf("%s: %q became %s", a.Name, src, text)
			}
		}
		_, err := targetOf(a, "/opt/obstat").add([]byte("{\n  \"a\": x\n}"))
		if err == nil || !strings.HasPrefix(err.Error(), "2:8: ") {
			t.Errorf("%s: the error has no position: %v", a.Name, err)
		}
	}
}

func TestOwnFiles(t *testing.T) {
	for _, a := range All().Installable() {
		if a.own == nil {
			continue
		}
		tg := targetOf(a, "/it's/obstat")
		text, err := tg.write(nil)
		if err != nil || !tg.isOwn(text) {
			t.Fatalf("%s: %s, %v", a.Name, text, err)
		}
		f := a.parse(a.ownFile, text, true)
		if len(f.Entries) != len(a.all()) && a.script == nil || f.Entries[0].Invocation.Program != "/it's/obstat" {
			t.Errorf("%s: %+v", a.Name, f.Entries)
		}
		if _, err := tg.write([]byte("{\"hooks\": {\"preToolUse\": [{\"bash\": \"mine\"}]}}")); err == nil {
			t.Errorf("%s: another's file is overwritten", a.Name)
		}
		if back, err := tg.unwrite(text); back != nil || err != nil {
			t.Errorf("%s: %s, %v", a.Name, back, err)
		}
		if _, err := tg.unwrite([]byte("mine")); err == nil {
			t.Errorf("%s: another's file is removed", a.Name)
		}
	}
}

// TestWrongKinds: hooks that the agent could not read are not edited, since the
// entry beside them would not be read either, and null could not be put back.
func TestWrongKinds(t *testing.T) {
	for _, a := range All().Installable() {
		if a.own != nil {
			continue
		}
		for _, text := range []string{`{"hooks":null}`, `{"hooks":[]}`, `{"hooks":"x"}`, `{"hooks":{"@":null}}`, `{"hooks":{"@":{}}}`, `{"hooks":{"@":["x"]}}`, `{"hooks":{"Stop":null}}`} {
			old := []byte(strings.NewReplacer("@", a.events[0], "hooks", a.form.top()).Replace(text))
			if now, err := targetOf(a, "/opt/obstat").add(old); err == nil {
				t.Errorf("%s: %s became %s", a.Name, old, now)
			}
		}
	}
}
