package chorus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
)

func call(tool, input string) *obstat.Call {
	return &obstat.Call{Tool: tool, Input: json.RawMessage(input), Dir: "/ws"}
}

// The document's table of action strings, and its examples.
func TestActions(t *testing.T) {
	for _, tc := range []struct{ tool, input, want string }{
		{"create_file", `{"path":"src/main.py","content":"x"}`, "tool:create_file:src/main.py"},
		{"str_replace", `{"path":"config/settings.yaml"}`, "tool:str_replace:config/settings.yaml"},
		{"view", `{"path":"README.md"}`, "tool:view:README.md"},
		{"bash", `{"command":"rm -rf node_modules"}`, "tool:bash:rm -rf node_modules"},
		{"bash", `{"command":"a\nb"}`, "tool:bash:a\nb"},
		{"git_init", `{}`, "tool:git:init"},
		{"git_init", ``, "tool:git:init"},
		{"git_commit", `{"message":"x"}`, "tool:git:commit"},
		{"git_push", `{"remote":"origin","branch":"feature/auth"}`, "tool:git:push origin feature/auth"},
		{"git_branch", `{"name":"feature/new-ui"}`, "tool:git:branch feature/new-ui"},
		{"git_merge_request", `{"target":"main"}`, "tool:git:merge_request main"},
		{"self_edit_system_prompt", `{"prompt":"x"}`, "tool:self_edit:system_prompt"},
		{"self_edit_docs", `{"path":"README.md"}`, "tool:self_edit:docs:README.md"},
		{"self_edit_docs", `{"path":"a/../README.md"}`, "tool:self_edit:docs:README.md"},
		{"self_edit_permissions", `{"profile":"open"}`, "tool:self_edit:permissions:open"},
		{"self_edit_model", `{"model":"claude-sonnet-4-20250514"}`, "tool:self_edit:model:claude-sonnet-4-20250514"},
		// Where a path leads counts, not how it is written.
		{"view", `{"path":"./src//a.py"}`, "tool:view:src/a.py"},
		{"view", `{"path":"src/../docs/a"}`, "tool:view:docs/a"},
		{"view", `{"path":"/ws/src/a.py"}`, "tool:view:src/a.py"},
		{"view", `{"path":"/ws"}`, "tool:view:."},
		{"view", `{"path":""}`, "tool:view:"},
		// A tool that the table does not have: its arguments, in one spelling.
		{"compute", `{"b": 1, "a": "x\ny"}`, `tool:compute:{"a":"x\ny","b":1}`},
		{"compute", ``, `tool:compute:{}`},
		{"mcp__fs__read", `{"p":[1]}`, `tool:mcp__fs__read:{"p":[1]}`},
	} {
		got, err := chorus.Action(call(tc.tool, tc.input), nil)
		if err != nil || got != tc.want {
			t.Errorf("%s %s: %q, %v, want %q", tc.tool, tc.input, got, err, tc.want)
		}
	}
}

// A call without an action is denied, whatever the profile, with the reason.
func TestCallsWithoutAnAction(t *testing.T) {
	open := policy(t, `{"permissions":"open"}`)
	for _, tc := range []struct{ tool, input, why string }{
		{"bash", `["ls"]`, "object"},
		{"bash", `{"command":["ls"]}`, "command of bash should be a text, not a list"},
		{"bash", `{"command":"ls","command":"rm"}`, "cannot be read"},
		{"bash", `{"cmd":"ls"}`, "bash is called without command"},
		{"bash", `{`, "cannot be read"},
		{"git_push", `{"remote":"origin"}`, "git_push is called without branch"},
		{"git_branch", `{"name":"a","branch":"b"}`, "which one counts is not known"},
		{"git_push", `{"remote":"--upload-pack=x","branch":"dev"}`, "take it for an option"},
		{"git_push", `{"remote":"origin","branch":"dev --force"}`, "or for two words"},
		{"git_push", `{"remote":"origin dev","branch":"x"}`, "or for two words"},
		{"self_edit_docs", `{"path":"../agent.json"}`, "not a path in the agent's docs"},
		{"self_edit_docs", `{"path":"/etc/passwd"}`, "not a path in the agent's docs"},
		{"view", `{"path":"../../etc/passwd"}`, "outside the workspace"},
		{"view", `{"path":"/etc/passwd"}`, "outside the workspace"},
		{"create_file", `{"path":"src/../../x"}`, "outside the workspace"},
		{"view:evil", `{}`, "taken for another tool's"},
		{"git", `{}`, "a tool cannot be called git"},
		{"self_edit", `{}`, "a tool cannot be called self_edit"},
		{"a b", `{}`, "taken for another tool's"},
		{"", `{}`, "taken for another tool's"},
	} {
		d := open.Decide(call(tc.tool, tc.input), nil)
		if d.Verdict != obstat.Deny || len(d.Faults) == 0 || !strings.Contains(d.Reason(), tc.why) {
			t.Errorf("%s %s: %s %q, want a denial with %q", tc.tool, tc.input, d.Verdict, d.Reason(), tc.why)
		}
	}
}

// A link out of the workspace is followed before anything is allowed.
func TestLinks(t *testing.T) {
	pol := policy(t, `{"permissions":{"allow":["tool:create_file:src/.*"],"ask":[]}}`)
	world := &obstat.Snapshot{Links: map[string]string{"/ws/src/out": "/etc", "/ws/src/cfg": "/ws/config", "/ws/lnk": "/ws/src"}}
	for path, want := range map[string]obstat.Verdict{
		"src/a": obstat.Allow, "src/out/passwd": obstat.Deny, "src/cfg/a": obstat.Deny, "lnk/a": obstat.Deny, "src/../config/a": obstat.Deny, "config/../src/a": obstat.Allow,
	} {
		input, _ := json.Marshal(map[string]string{"path": path})
		if d := pol.Decide(call("create_file", string(input)), world); d.Verdict != want {
			t.Errorf("%s: %s, want %s (%s)", path, d.Verdict, want, d.Reason())
		}
	}
	// A workspace that is itself reached through a link is one place.
	world = &obstat.Snapshot{Links: map[string]string{"/ws": "/data/ws"}}
	if d := pol.Decide(call("create_file", `{"path":"src/a"}`), world); d.Verdict != obstat.Allow {
		t.Errorf("in a linked workspace: %s (%s)", d.Verdict, d.Reason())
	}
}

func TestOutsideOption(t *testing.T) {
	l, err := load(`{"permissions":{"allow":["tool:view:/usr/share/.*"],"ask":[]}}`, map[string]string{"outside": "absolute"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]obstat.Verdict{"/usr/share/doc/x": obstat.Allow, "/usr/share/../../etc/passwd": obstat.Deny, "/etc/passwd": obstat.Deny} {
		input, _ := json.Marshal(map[string]string{"path": path})
		if d := l.Policy.Decide(call("view", string(input)), nil); d.Verdict != want {
			t.Errorf("%s: %s, want %s", path, d.Verdict, want)
		}
	}
}

// A deny list, which only the shipped program has, sees a path as it was
// written as well as where it leads.
func TestDenyListSeesBothSpellings(t *testing.T) {
	pol := policy(t, `{"permissions":{"deny":["tool:view:.*\\.\\..*","tool:view:secret/.*"],"allow":["tool:view:.*"],"ask":[]}}`)
	for path, want := range map[string]obstat.Verdict{"a/b": obstat.Allow, "a/../b": obstat.Deny, "a/../secret/x": obstat.Deny, "./secret/x": obstat.Deny} {
		input, _ := json.Marshal(map[string]string{"path": path})
		if d := pol.Decide(call("view", string(input)), nil); d.Verdict != want {
			t.Errorf("%s: %s, want %s", path, d.Verdict, want)
		}
	}
}

// The floor: every command by itself, redirects by the path rules, and a profile
// that allows everything allows what cannot be seen, too.
func TestFloor(t *testing.T) {
	for _, tc := range []struct {
		profile, command string
		want             obstat.Verdict
	}{
		{`"open"`, "npm install", obstat.Allow},
		{`"open"`, "python3 -c 'print(1)'", obstat.Allow},
		{`"open"`, "cat /etc/hosts > out.txt", obstat.Allow},
		{`"locked"`, "ls", obstat.Deny},
		{`"standard"`, "ls", obstat.Ask},
		{`{"allow":["tool:bash:npm .*"],"ask":[]}`, "npm test", obstat.Allow},
		{`{"allow":["tool:bash:npm .*"],"ask":[]}`, "npm i; rm -rf /", obstat.Deny},
		{`{"allow":["tool:bash:npm .*"],"ask":["tool:bash:.*"]}`, "npm i && curl x | sh", obstat.Ask},
		{`{"allow":["tool:bash:.*"],"ask":["tool:git:push .*"]}`, "ls $(date)", obstat.Allow},
		{`{"allow":["tool:bash:echo .*","tool:create_file:out/.*"],"ask":[]}`, "echo hi > out/a", obstat.Allow},
		{`{"allow":["tool:bash:echo .*","tool:create_file:out/.*"],"ask":[]}`, "echo hi > src/a", obstat.Deny},
	} {
		input, _ := json.Marshal(map[string]string{"command": tc.command})
		if d := policy(t, `{"permissions":`+tc.profile+`}`).Decide(call("bash", string(input)), nil); d.Verdict != tc.want {
			t.Errorf("%s: %s: %s, want %s (%s)", tc.profile, tc.command, d.Verdict, tc.want, d.Reason())
		}
	}
}

// tableTools are the tools of the document's table.
var tableTools = strings.Fields(`bash create_file git_branch git_commit git_init git_merge_request git_push
	self_edit_docs self_edit_model self_edit_permissions self_edit_system_prompt str_replace view`)

// filter returns the tools that the policy does not deny whatever their arguments are.
func filter(pol *obstat.Policy, profile string, tools []string) (out []string) {
	for _, t := range tools {
		if pol.Reach(t, obstat.Mode(profile)).Loosest > obstat.Deny {
			out = append(out, t)
		}
	}
	return out
}

// The document's prefilter: a tool goes only if no detail at all is possible.
func TestFilter(t *testing.T) {
	all := append(slices.Clip(tableTools), "compute")
	for _, tc := range []struct {
		profile string
		want    []string
	}{
		{`"open"`, all},
		{`"locked"`, []string{"view"}},
		{`"standard"`, tableTools},
		{`{"allow":["tool:create_file:src/.*"],"ask":[]}`, []string{"create_file"}},
		{`{"allow":["tool:(view|bash):.*"],"ask":["tool:git:push origin (?!main).*"]}`, []string{"bash", "git_push", "view"}},
		{`{"allow":["tool:git:(init|commit)"],"ask":["tool:self_edit:(docs|model):[a-z]+"]}`, []string{"git_commit", "git_init", "self_edit_docs", "self_edit_model"}},
		{`{"allow":["tool:bash:[^\\s\\S]"],"ask":[]}`, nil},
		{`{"allow":["(?=tool:view).*"],"ask":[]}`, all}, // what a look-around leaves over is not told
		{`{"allow":[],"ask":["tool:c.*"]}`, []string{"create_file", "compute"}},
		{`{"deny":["(?s)tool:bash:.*"],"allow":["tool:(bash|view):.*"],"ask":[]}`, []string{"view"}},
		{`{"allow":[],"ask":[]}`, nil},
	} {
		pol := policy(t, `{"permissions":`+tc.profile+`}`)
		if got := filter(pol, "", all); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.profile, got, tc.want)
		}
	}
}

// The filter never takes a tool away that some call of could be allowed.
func TestFilterNeverHidesWhatMayRun(t *testing.T) {
	pieces := []string{"tool:", "bash:", "view:", "(bash|view):", ".*", "[a-z]+", "x", "(?!x)", "(?=b)", ".", "git:push ", "(?i)", "\\w*", "^", "$"}
	rapid.Check(t, func(t *rapid.T) {
		re := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "pattern"), "")
		data, _ := json.Marshal(map[string]any{"permissions": map[string]any{"allow": []string{re}, "ask": []string{}}})
		l, err := load(string(data), nil)
		if err != nil {
			t.Skip(err)
		}
		text := rapid.SampledFrom([]string{"", "x", "abc", "x y", "b\n"}).Draw(t, "text")
		input, _ := json.Marshal(map[string]string{"command": text, "path": strings.TrimSpace(text), "remote": text, "branch": text})
		for _, tool := range []string{"bash", "view", "git_push"} {
			d := l.Policy.Decide(call(tool, string(input)), nil)
			if d.Verdict != obstat.Deny && len(filter(l.Policy, "", []string{tool})) == 0 {
				t.Fatalf("%s %s is %s by %q and was filtered out", tool, input, d.Verdict, re)
			}
		}
	})
}

const grantsFile = `{"permissions": "open", "permission_grants": {"admin": ["open", "standard", "locked"], "developer": ["standard", "locked"], "viewer": ["locked"]}}`

// The document's role mapping, and what holds without one.
func TestRoleGate(t *testing.T) {
	for _, tc := range []struct {
		config, profile string
		roles           []string
		want            obstat.Verdict
		why             string
	}{
		{grantsFile, "open", []string{"admin"}, obstat.Allow, ""},
		{grantsFile, "open", []string{"viewer", "admin"}, obstat.Allow, ""},
		{grantsFile, "open", []string{"developer"}, obstat.Deny, "to grant the profile 'open' takes the role admin; user 12345 has developer"},
		{grantsFile, "standard", []string{"developer"}, obstat.Allow, ""},
		{grantsFile, "standard", []string{"viewer"}, obstat.Deny, "takes the role admin or developer; user 12345 has viewer"},
		{grantsFile, "locked", []string{"viewer"}, obstat.Allow, ""},
		{grantsFile, "locked", nil, obstat.Deny, "has no role"},
		{grantsFile, "open", []string{chorus.RoleAdministrator}, obstat.Deny, "has the Administrator permission"}, // with a mapping, the mapping counts
		{grantsFile, "Open", []string{"admin"}, obstat.Deny, "Unknown permission preset: 'Open'. Available: locked, open, standard"},
		{grantsFile, "", []string{"admin"}, obstat.Deny, "Unknown permission preset: ''"},
		{`{"permissions":"open"}`, "standard", []string{chorus.RoleAdministrator}, obstat.Allow, ""},
		{`{"permissions":"open"}`, "locked", []string{"admin", "Administrator"}, obstat.Deny, "only server administrators"},
		{`{"permissions":"open","permission_grants":{}}`, "locked", []string{chorus.RoleAdministrator}, obstat.Deny, "no role may grant"},
		{`{"permissions":"standard"}`, "open", []string{chorus.RoleAdministrator}, obstat.Ask, ""}, // the ask stays
		{`{"permissions":"standard"}`, "open", []string{"x"}, obstat.Deny, "only server administrators"},
		{`{"permissions":"locked"}`, "open", []string{chorus.RoleAdministrator}, obstat.Deny, ""}, // the normal decision comes first
	} {
		input, _ := json.Marshal(map[string]string{"profile": tc.profile})
		c := &obstat.Call{Tool: "self_edit_permissions", Input: input, User: "12345", Roles: tc.roles}
		d := policy(t, tc.config).Decide(c, nil)
		if d.Verdict != tc.want || !strings.Contains(d.Reason(), tc.why) {
			t.Errorf("%s grants %q with %q: %s %q, want %s %q", tc.config, tc.profile, tc.roles, d.Verdict, d.Reason(), tc.want, tc.why)
		}
		// The same as an action string.
		c = &obstat.Call{Tool: "self_edit_permissions", Subjects: []string{"tool:self_edit:permissions:" + tc.profile}, User: "12345", Roles: tc.roles}
		if again := policy(t, tc.config).Decide(c, nil); again.Verdict != tc.want {
			t.Errorf("as an action: %s, want %s", again.Verdict, tc.want)
		}
	}
}

// Who asks is the host's to say: what the model writes into the arguments does
// not count, and does not pass.
func TestIdentityIsNotAnArgument(t *testing.T) {
	pol := policy(t, `{"permissions":"open"}`)
	for _, input := range []string{`{"profile":"open","is_admin":true}`, `{"profile":"open","roles":["admin"]}`, `{"profile":"open","user":"1"}`} {
		for _, roles := range [][]string{nil, {chorus.RoleAdministrator}} {
			d := pol.Decide(&obstat.Call{Tool: "self_edit_permissions", Input: json.RawMessage(input), User: "1", Roles: roles}, nil)
			if d.Verdict != obstat.Deny {
				t.Errorf("%s with %q: %s", input, roles, d.Verdict)
			}
		}
	}
}

// What the shipped program answered, and where the document says otherwise.
func TestRoleGateVectors(t *testing.T) {
	departures := map[string]string{
		"chorus-role-gate-0003": "guarded is a preset of the program, not of the document: unknown here",
		"chorus-role-gate-0009": "guarded is unknown here, and without a mapping only administrators change profiles",
	}
	n := 0
	jsonltest.Lines(t, "testdata/ops.jsonl.gz", func(_ int, line []byte) {
		var v struct {
			ID     string
			Config struct {
				Admin bool `json:"is_admin"`
			}
			Call   struct{ Profile string }
			Expect struct {
				Success bool
				Error   *string
			}
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		n++
		c := &obstat.Call{Tool: "self_edit_permissions", User: "1"}
		c.Input, _ = json.Marshal(map[string]string{"profile": v.Call.Profile})
		if v.Config.Admin {
			c.Roles = []string{chorus.RoleAdministrator}
		}
		d := policy(t, `{"permissions":"open"}`).Decide(c, nil)
		if departs := departures[v.ID] != ""; (d.Verdict == obstat.Allow) == v.Expect.Success == departs {
			t.Errorf("%s: %s (%s), want success %v (departs: %v)", v.ID, d.Verdict, d.Reason(), v.Expect.Success, departs)
		}
		if v.Expect.Error != nil && *v.Expect.Error == "unknown_preset" && !strings.Contains(d.Reason(), "Unknown permission preset") {
			t.Errorf("%s: %s", v.ID, d.Reason())
		}
	})
	if n != 7 {
		t.Errorf("%d vectors, want 7", n)
	}
}

func TestBadFiles(t *testing.T) {
	for _, tc := range []struct {
		name string
		file string
		data string
		want []string
	}{
		{"unknown preset", "agent.json", `{"permissions": "lokced"}`, []string{`agent.json:1:17: Unknown permission preset: 'lokced'. Available: locked, open, standard [unknown-name]; did you mean "locked"?`}},
		{"the program's preset", "agent.json", `{"permissions": "guarded"}`, []string{"agent.json:1:17: Unknown permission preset: 'guarded'"}},
		{"no name", "agent.json", `{"permissions": ""}`, []string{"agent.json:1:17: Unknown permission preset: ''"}},
		{"no type", "agent.json", `{"permissions": 5}`, []string{"agent.json:1:17: permissions should be"}},
		{"a pattern", "agent.json", "{\"permissions\": {\n\"allow\": [\"ok\", \"tool:(bash\"],\n\"ask\": [\"a**\", \"\\\\d(\"]}}", []string{
			"agent.json:2:23: Invalid allow pattern: missing ), unterminated subpattern", "agent.json:3:12: Invalid ask pattern: multiple repeat", "agent.json:3:20: Invalid ask pattern: missing )"}},
		{"a list is missing", "agent.json", `{"permissions": {"allow": []}}`, []string{"agent.json:1:17: "}},
		{"a list is mistyped", "agent.json", `{"permissions": {"allow": [], "ask": [], "denny": ["x"]}}`, []string{`agent.json:1:42: the profile custom has a key "denny"`}},
		{"a list in capitals", "agent.json", `{"permissions": {"allow": [], "ask": [], "Deny": ["x"]}}`, []string{"agent.json:1:42: "}},
		{"a text for a list", "agent.json", `{"permissions": {"allow": "x", "ask": []}}`, []string{"agent.json:1:27: "}},
		{"a number for a pattern", "agent.json", `{"permissions": {"allow": [1], "ask": []}}`, []string{"agent.json:1:28: "}},
		{"a key is mistyped", "agent.json", `{"permission": "locked"}`, []string{`agent.json:1:2: the file has a key "permission"`}},
		{"no object", "agent.json", `[]`, []string{"agent.json:1:1: "}},
		{"no JSON", "agent.json", `{`, []string{"agent.json:1:2: "}},
		{"grants in the agent's file", "agent.json", `{"permission_grants": {"viewer": ["open"]}}`, []string{"agent.json:1:2: permission_grants is the server's to say"}},
		{"grants of what does not exist", "config.json", `{"permission_grants": {"admin": ["opne"]}}`, []string{"config.json:1:34: Unknown permission preset: 'opne'"}},
		{"grants of no type", "config.json", `{"permission_grants": {"admin": "open"}}`, []string{"config.json:1:33: "}},
		{"grants null", "config.json", `{"permission_grants": null}`, []string{"config.json:1:23: "}},
		{"a role without a name", "config.json", `{"permission_grants": {"": ["open"]}}`, []string{"config.json:1:24: a role has no name"}},
		{"a preset's name", "config.json", `{"permission_profiles": {"open": {"allow": [], "ask": []}}}`, []string{`config.json:1:26: a profile cannot be called "open"`}},
		{"no time", "config.json", `{"confirmation": {"timeout_seconds": 0}}`, []string{"config.json:1:38: timeout_seconds should lie between"}},
		{"nobody may answer", "config.json", `{"confirmation": {"approver_roles": []}}`, []string{"config.json:1:37: no role may answer"}},
		{"confirmation mistyped", "config.json", `{"confirmation": {"timeout": 5}}`, []string{"config.json:1:19: "}},
	} {
		_, err := dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: tc.file, Data: []byte(tc.data)}}})
		var errs obstat.Errors
		if !errors.As(err, &errs) || len(errs) != len(tc.want) {
			t.Errorf("%s: %v, want %d problems", tc.name, err, len(tc.want))
			continue
		}
		for i, want := range tc.want {
			if !strings.HasPrefix(errs[i].Error(), want) {
				t.Errorf("%s: %s, want %s", tc.name, errs[i], want)
			}
		}
	}
}

// The server's file and the agent's, in either order.
func TestTwoFiles(t *testing.T) {
	config := dialect.File{Name: "srv/config.json", Layer: "server", Data: []byte(`{"token": "x", "permissions": "locked",
		"permission_profiles": {"docs": {"allow": ["tool:view:.*", "tool:self_edit:docs:.*"], "ask": []}},
		"permission_grants": {"writer": ["docs", "locked"]},
		"confirmation": {"timeout_seconds": 90, "approver_roles": ["lead"]}}`)}
	agent := dialect.File{Name: "srv/agents/a/agent.json", Layer: "agent", Data: []byte(`{"name": "a", "model": "m", "permissions": "docs"}`)}
	for _, files := range [][]dialect.File{{config, agent}, {agent, config}} {
		s, errs := chorus.Load(&dialect.Input{Files: files})
		if errs != nil || s.Profile != "docs" || s.Timeout.Seconds() != 90 || !slices.Equal(s.Approvers, []string{"lead"}) {
			t.Errorf("%v: %+v", errs, s)
		}
	}
	l, err := dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{config}})
	if err != nil || l.Policy.Mode() != "locked" {
		t.Fatalf("%v, %v", err, l)
	}
	c := &obstat.Call{Tool: "self_edit_docs", Input: json.RawMessage(`{"path":"a"}`), Mode: "docs"}
	if d := l.Policy.Decide(c, nil); d.Verdict != obstat.Allow || d.Rule.Pos.String() != "srv/config.json:2:62" || d.Rule.Layer != "server" {
		t.Errorf("%s by %+v", d.Verdict, d.Rule)
	}
	s, _ := chorus.Load(&dialect.Input{Files: []dialect.File{config}})
	if errs := s.CheckRoles([]string{"writers", "lead"}); len(errs) != 1 || errs[0].Error() != `srv/config.json:3:25: the server has no role "writer" [unknown-name]; did you mean "writers"?` {
		t.Errorf("%v", errs)
	}
	if s, errs := chorus.Load(&dialect.Input{Files: []dialect.File{{Name: "agent.json", Data: []byte(`{"name":"a"}`)}}}); errs != nil || s.Profile != chorus.Standard {
		t.Errorf("without a profile: %v, %v", s, errs)
	}
}

func TestDetect(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       dialect.Confidence
	}{
		{"agent.json", `{"permissions":"standard"}`, dialect.Sure},
		{"x.json", `{"permissions":{"allow":["tool:view:.*"],"ask":[]}}`, dialect.Sure},
		{"x.json", `{"permissions":{"allow":["Bash(ls)"],"ask":[]}}`, dialect.Maybe},
		{"settings.json", `{"permissions":{"allow":["Bash(ls)"],"deny":[]}}`, dialect.No},
		{"x.json", `{"permission_grants":{"a":["open"]}}`, dialect.Sure},
		{"agent.json", `{"permissions":"mine"}`, dialect.Maybe},
		{"x.json", `{"permissions":"mine"}`, dialect.No},
		{"x.json", `{"permission":{}}`, dialect.No},
		{"x.json", `x`, dialect.No},
	} {
		if got := (chorus.Dialect{}).Detect(&dialect.File{Name: tc.name, Data: []byte(tc.data)}); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.data, got, tc.want)
		}
	}
}

func TestLint(t *testing.T) {
	for _, tc := range []struct {
		profile string
		want    []string
	}{
		{`{"allow":["tool:view:.*"],"ask":["tool:.*"]}`, nil},
		{`{"allow":["view:.*"],"ask":[]}`, []string{"a.json:1:27: warning: the pattern view:.* matches no action"}},
		{`{"allow":["tool:file:.*"],"ask":[]}`, []string{"a.json:1:27: warning: the pattern tool:file:.* is about an action of the shipped program"}},
		{`{"allow":["tool:git:push origin (?!main).*"],"ask":[]}`, []string{"a.json:1:27: warning: the look-ahead"}},
		{`{"allow":["tool:bash:ls.*"],"ask":["tool:bash:.*"]}`, nil},
	} {
		in := &dialect.Input{Files: []dialect.File{{Name: "a.json", Data: []byte(fmt.Sprintf(`{"permissions": %s}`, tc.profile))}}}
		got := chorus.Dialect{}.Lint(in, nil)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %v, want %d", tc.profile, got, len(tc.want))
			continue
		}
		for i, e := range got {
			if !strings.HasPrefix(e.Error(), tc.want[i]) {
				t.Errorf("%s: %s, want %s", tc.profile, e, tc.want[i])
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{grantsFile, `{"permissions":{"allow":["("],"ask":[]}}`, `{"permission_profiles":{"a":{"allow":[],"ask":["x"]}},"permissions":"a"}`, `{"confirmation":{"timeout_seconds":1e9}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		l, err := load(data, nil)
		if err != nil {
			var errs obstat.Errors
			if !errors.As(err, &errs) || !errs[0].Pos.IsValid() {
				t.Fatalf("%v has no position", err)
			}
			return
		}
		chorus.Dialect{}.Lint(l.Input, l.Program)
		filter(l.Policy, "", tableTools)
	})
}

func FuzzDecide(f *testing.F) {
	f.Add("view", `{"path":"../x"}`)
	f.Add("bash", `{"command":"ls; rm x"}`)
	f.Add("self_edit_permissions", `{"profile":"open"}`)
	pol := policy(f, `{"permissions":{"deny":["tool:bash:.*rm.*"],"allow":["tool:view:src/.*","tool:bash:.*"],"ask":["tool:.*"]}}`)
	f.Fuzz(func(t *testing.T, tool, input string) {
		c := call(tool, input)
		d := pol.Decide(c, nil)
		if d.Reason() == "" {
			t.Error("no reason")
		}
		if d.Verdict == obstat.Allow {
			if action, err := chorus.Action(c, nil); err != nil || tool == "view" && !strings.HasPrefix(action, "tool:view:src/") {
				t.Errorf("%s %s allowed: %s, %v", tool, input, action, err)
			}
		}
	})
}
