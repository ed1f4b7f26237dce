package opencode

import (
	"errors"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
)

// TestRefusedNamesItself: a denial and a human's no carry the permission and the pattern
// (section The `ask()` Function: "throw new RejectedError({ permission, pattern, message })"),
// with the document's message where the document's order counts.
func TestRefusedNamesItself(t *testing.T) {
	for _, tt := range []struct{ key, rules, denied, rejected string }{
		{"permissions", `{"bash": {"rm *": "deny", "*": "ask"}}`, "Permission denied: bash rm x", "Permission denied: bash ls"},
		{"permission", `{"bash": {"*": "ask", "rm *": "deny"}}`,
			`The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"bash","pattern":"*","action":"ask"},{"permission":"bash","pattern":"rm *","action":"deny"}]`,
			ErrRejected.Error()},
	} {
		i := instance(t, "{}", func(o *Options) { o.Gate.Policy = gate.Fixed{Loaded: loaded(t, tt.key, tt.rules, "on")} })
		_, err := i.Put(t.Context(), Request{SessionID: "s", Permission: "bash", Patterns: []string{"ls", "rm x"}})
		var denied *DeniedError
		if !errors.As(err, &denied) || denied.Permission != "bash" || denied.Pattern != "rm x" || err.Error() != tt.denied {
			t.Errorf("%s: %+v: %v", tt.key, denied, err)
		}
		w := put(t, i, "s")
		if err := i.Reply(t.Context(), w.Request.ID, Reject, ""); err != nil {
			t.Fatal(err)
		}
		var rejected *RejectedError
		if err := w.Result(t.Context()); !errors.As(err, &rejected) || !errors.Is(err, ErrRejected) || rejected.Permission != "bash" || rejected.Pattern != "ls" || err.Error() != tt.rejected {
			t.Errorf("%s: %v", tt.key, err)
		}
	}
}

// TestAssertExternalDirectory is section External Directory: a path outside is asked
// about as `external_directory`, a tool with `bypass` and a path inside are not.
func TestAssertExternalDirectory(t *testing.T) {
	for _, key := range []string{"permission", "permissions"} {
		i := instance(t, "{}", func(o *Options) {
			o.Gate.Policy = gate.Fixed{Loaded: loaded(t, key, `{"read": "allow", "external_directory": {"**": "deny"}}`, "on")}
		})
		for _, tt := range []struct {
			file   string
			bypass bool
			want   bool
		}{{"/p/src/a", false, true}, {"src/a", false, true}, {"/etc/hosts", true, true}, {"/etc/hosts", false, false}, {"../x", false, false}} {
			err := i.AssertExternalDirectory(t.Context(), "s", tt.file, &External{Bypass: tt.bypass})
			if (err == nil) != tt.want {
				t.Errorf("%s: %s, bypass %v: %v", key, tt.file, tt.bypass, err)
			}
		}
	}
}

// TestDoomLoop is section Doom Loop: the same call for the third time in a row is asked
// about as `doom_loop`, in the hook's gate as in any other.
func TestDoomLoop(t *testing.T) {
	i := instance(t, "{}", func(o *Options) {
		o.Gate.Policy = gate.Fixed{Loaded: loaded(t, "permissions", `[{"permission": "doom_loop", "pattern": "*", "action": "deny"}, {"permission": "read", "pattern": "*", "action": "allow"}]`, "on")}
	})
	for n, want := range []bool{true, true, false} {
		_, err := i.Put(t.Context(), Request{SessionID: "s", Call: &obstat.Call{Tool: "read", Input: []byte(`{"filePath":"a"}`)}})
		if (err == nil) != want {
			t.Errorf("time %d: %v", n+1, err)
		}
	}
}
