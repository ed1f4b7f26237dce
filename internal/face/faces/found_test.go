package faces

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/cli"
	"github.com/obstat/obstat/internal/face/hook"
	"github.com/obstat/obstat/policy"
)

// TestFound: where no policy is named, every face finds the same, and holds it to the same pins: before a
// person has accepted it, and after.
func TestFound(t *testing.T) {
	for name, file := range map[string][2]string{
		"opencode": {"opencode.json", `{"permission":{"*":"allow","bash":{"*":"allow","rm *":"deny","git push *":"ask"},"edit":{"*":"allow","secret/*":"deny"}}}`},
		"native":   {"obstat.yaml", "version: 1\nallow: ['read, write and delete workspace', run anything, code]\nask: [run git push]\ndeny: [run rm, write ./secret]\n"},
	} {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOME", home)
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("XDG_CONFIG_HOME", "")
		dir := filepath.Join(home, "p")
		write(t, filepath.Join(dir, file[0]), file[1])
		where := &policy.Where{Dir: dir, Start: dir, Agent: "claude-code", Home: home}
		put := map[string]func(c *obstat.Call) said{
			"library": func(c *obstat.Call) said {
				in, err := new(policy.Finder).Find(where)
				if err != nil {
					t.Fatal(err)
				}
				a := in.Decide(c, obstat.OS{})
				return saidBy(&a.Decision)
			},
			"gate": func(c *obstat.Call) said {
				g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Agent: "claude-code", Start: dir, Home: home}, NoRecord: true})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				d, err := g.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Leave})
				if err != nil {
					t.Fatal(err)
				}
				return saidBy(&d.Decision)
			},
			"check": func(c *obstat.Call) said {
				line, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				var out, words bytes.Buffer
				cli.Main([]string{"check", "--json", "--agent", "claude-code", "-C", dir}, &cli.IO{In: bytes.NewReader(line), Out: &out, Err: &words})
				var got struct{ Verdict, Reason string }
				if err := json.Unmarshal(out.Bytes(), &got); err != nil {
					t.Fatalf("%s %s", &out, &words)
				}
				return said{verdict: got.Verdict, reason: got.Reason}
			},
			"hook": func(c *obstat.Call) said {
				in, err := json.Marshal(map[string]any{"session_id": "s", "transcript_path": "/t", "cwd": dir, "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": c.Tool, "tool_input": c.Input})
				if err != nil {
					t.Fatal(err)
				}
				var out, words bytes.Buffer
				o := hook.System(&hook.Options{Agent: "claude-code", NoLedger: true})
				o.In, o.Out, o.Err, o.Exe = bytes.NewReader(in), &out, &words, ""
				o.Getwd = func() (string, error) { return dir, nil }
				hook.Run(o)
				var got struct {
					Hook struct{ PermissionDecision, PermissionDecisionReason string } `json:"hookSpecificOutput"`
				}
				if err := json.Unmarshal(out.Bytes(), &got); err != nil {
					t.Fatalf("%s %s", &out, &words)
				}
				return said{verdict: got.Hook.PermissionDecision, reason: got.Hook.PermissionDecisionReason}
			},
		}
		for _, accepted := range []bool{false, true} {
			allowed := "ask" // only a file that nobody has accepted would allow it
			if accepted {
				in, err := new(policy.Finder).Find(where)
				if err == nil {
					err = new(policy.Finder).Pin(t.Context(), in, where, "test")
				}
				if err != nil {
					t.Fatal(err)
				}
				allowed = "allow"
			}
			for _, c := range []struct{ tool, input, want string }{
				{"Bash", `{"command":"make"}`, allowed}, {"Bash", `{"command":"rm x"}`, "deny"}, {"Bash", `{"command":"git push"}`, "ask"}, {"Bash", `{"command":"cd src && rm x"}`, "deny"},
				{"Write", `{"file_path":"` + dir + `/secret/x","content":""}`, "deny"}, {"Write", `{"file_path":"` + dir + `/src/x","content":""}`, "allow"} /* by the built-in policy, too */, {"Bash", `{"command":"echo x > secret/y"}`, "deny"},
			} {
				call := obstat.Call{Tool: c.tool, Input: json.RawMessage(c.input), Dir: dir, Agent: "claude-code", Session: "s"}
				want := put["gate"](&call)
				if want.verdict != c.want {
					t.Errorf("%s, accepted %v, %s: %v, want %s", name, accepted, c.input, want, c.want)
				}
				for face, f := range put {
					again := call
					if got := f(&again); got.verdict != want.verdict || face != "library" && got.reason != want.reason {
						t.Errorf("%s, accepted %v, %s, %s:\n  %s\n  the gate says\n  %s", name, accepted, face, c.input, got, want)
					}
				}
			}
		}
	}
}
