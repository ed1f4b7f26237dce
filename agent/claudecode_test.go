package agent

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

const suggesting = `{"session_id":"s","permission_mode":"default","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf node_modules"},"permission_suggestions":%s}`

// TestSuggestions reads the rules among Claude Code's suggestions, in its notation.
func TestSuggestions(t *testing.T) {
	for list, want := range map[string]string{
		`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"rm -rf node_modules"},{"toolName":"Read"}],"behavior":"allow","destination":"session"}]`: "Bash(rm -rf node_modules) Read",
		`[{"type":"setMode","mode":"acceptEdits","destination":"session"},{"type":"addDirectories","directories":["/p"]}]`:                                       "",
		`[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"deny"},{"type":"addRules","rules":"Bash","behavior":"allow"},7,{}]`:                       "",
		`[{"type":"addRules","rules":[{"toolName":""},{"toolName":"Bash","ruleContent":7},[]],"behavior":"allow"}]`:                                              "",
		`null`: "",
	} {
		e, err := Decode(ClaudeCode, []byte(strings.Replace(suggesting, "%s", list, 1)), nil)
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		var got []string
		for _, o := range e.Suggestions {
			got = append(got, o.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
		if o, ok := e.Exact(); ok != strings.HasPrefix(want, "Bash(") || ok && o.Text != "Bash(rm -rf node_modules)" {
			t.Errorf("%s: exactly this command: %q, %v", list, o.Text, ok)
		}
	}
	if _, err := Decode(ClaudeCode, []byte(strings.Replace(suggesting, "%s", `"Bash"`, 1)), nil); err == nil || !strings.Contains(err.Error(), "permission_suggestions") {
		t.Errorf("suggestions that are no list: %v", err)
	}
}

// TestExact: a command that means more as a rule than as a command is not one
// that its rule is for alone.
func TestExact(t *testing.T) {
	for _, command := range []string{"ls *", "npm:*", `a\\b`} {
		e, err := Decode(ClaudeCode, []byte(`{"session_id":"s","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"`+command+`"},"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"`+command+`"}],"behavior":"allow"}]}`), nil)
		if err != nil || len(e.Suggestions) != 1 {
			t.Fatal(err, e.Suggestions)
		}
		if o, ok := e.Exact(); ok {
			t.Errorf("%s: %s", command, o.Text)
		}
	}
}

// TestUpdates has Claude Code remember accepted rules in the place of their scope,
// and by PermissionRequest alone.
func TestUpdates(t *testing.T) {
	o := &Options{Answered: true, Accepted: []obstat.Offer{{Text: "Bash(npm run *)", Scope: "session"}, {Text: "Read", Scope: "user"}, {Text: "Bash(make)", Scope: "workspace"}, {Text: "Bash(x)", Scope: "session"}}}
	e, err := Decode(ClaudeCode, []byte(strings.Replace(suggesting, "%s", "[]", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := string(e.Encode(&obstat.Decision{Verdict: obstat.Allow}, o).Stdout)
	want := `"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm run *"},{"toolName":"Bash","ruleContent":"x"}],"behavior":"allow","destination":"session"},` +
		`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make"}],"behavior":"allow","destination":"localSettings"},{"type":"addRules","rules":[{"toolName":"Read"}],"behavior":"allow","destination":"userSettings"}]`
	if !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, v := range []obstat.Verdict{obstat.Deny, obstat.Ask} {
		if got := string(e.Encode(&obstat.Decision{Verdict: v}, o).Stdout); strings.Contains(got, "updatedPermissions") {
			t.Errorf("%v: %s", v, got)
		}
	}
	e.Name = preToolUse
	if got := string(e.Encode(&obstat.Decision{Verdict: obstat.Allow}, o).Stdout); strings.Contains(got, "updatedPermissions") {
		t.Errorf("PreToolUse: %s", got)
	}
}

// TestMute: where Claude Code's prompt does not show why it asks, a message of its own does.
func TestMute(t *testing.T) {
	for tool, muted := range map[string]bool{"Write": true, "Edit": true, "Bash": false, "mcp__x__y": false} {
		in := `{"session_id":"s","permission_mode":"default","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"` + tool + `","tool_input":{"file_path":"/p/a","command":"x"}}`
		e, err := Decode(ClaudeCode, []byte(in), nil)
		if err != nil {
			t.Fatal(err)
		}
		for verdict, want := range map[obstat.Verdict]bool{obstat.Ask: muted, obstat.Allow: false, obstat.Deny: false} {
			r := e.Encode(&obstat.Decision{Verdict: verdict, Note: "why it asks"}, nil)
			if got := strings.Contains(string(r.Stdout), `"systemMessage":"obstat asks: why it asks"`); got != want || whole(r.Stdout) == nil {
				t.Errorf("%s, %v: %s", tool, verdict, r.Stdout)
			}
		}
	}
}

// TestSwitches: a variable that switches hooks off is found, in the environment and in settings.
func TestSwitches(t *testing.T) {
	for name, c := range map[string]struct {
		env, settings string
		off           bool
	}{
		"nothing": {}, "the environment": {env: "1", off: true}, "off": {env: "0"}, "settings": {settings: `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`, off: true},
	} {
		home, dir := t.TempDir(), t.TempDir()
		w := &Where{Home: home, Projects: []string{dir}, Getenv: func(v string) string { return map[string]string{"CLAUDE_CODE_SIMPLE": c.env}[v] }}
		files := map[string]string{}
		if c.settings != "" {
			files[filepath.Join(dir, ".claude", "settings.json")] = c.settings
		}
		apply(t, claudeCode().Install(&Request{Scope: User, Where: w, Program: "/opt/obstat"}), files)
		s := claudeCode().Look(w)
		s.CheckHooks()
		found := slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Code == "hooks-off" })
		if found != c.off || s.Hooks[0].Idle != c.off {
			t.Errorf("%s: %+v", name, s.Findings)
		}
	}
}
