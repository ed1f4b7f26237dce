package cli

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/internal/study/convert"
)

// TestMerged puts an export into files that say more.
func TestMerged(t *testing.T) {
	targets := convert.Targets()
	for _, tt := range []struct{ agent, have, text, want, stays string }{
		{"claude-code", "", "{}\n", "{}\n", "[]"},
		{"claude-code", `{"model": "m", "permissions": {"defaultMode": "plan", "allow": ["Read"]}}`,
			`{"permissions": {"allow": [], "ask": ["Bash"], "deny": []}}`,
			`{"model": "m", "permissions": {"defaultMode": "plan", "allow": [], "ask": ["Bash"], "deny": []}}`,
			"[permissions.defaultMode]"},
		{"opencode", "{\n  // mine\n  \"agent\": {},\n  \"permission\": \"allow\"\n}\n", `{"permission": {"*": "ask"}}`,
			"{\n  // mine\n  \"agent\": {},\n  \"permission\": {\n    \"*\": \"ask\"\n  }\n}\n", "[agent]"},
		{"codex", "# Exported by obstat policy export of old\n", "new\n", "new\n", "[]"},
		{"codex", "prefix_rule(pattern=[\"ls\"])\n", "new\n", "", "[]"},
		{"gemini", "[[rule]]\n", "new\n", "", "[]"},
		{"cursor", "{", "{}", "", "[]"},
	} {
		target := targets[tt.agent]
		got, err := merged(&target, []byte(tt.have), tt.text)
		if string(got) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s: %q with %q is %q, %v", tt.agent, tt.have, tt.text, got, err)
		}
		if stays := fmt.Sprint(leftAlone(&target, []byte(tt.have))); stays != tt.stays {
			t.Errorf("%s: %s stays of %q", tt.agent, stays, tt.have)
		}
	}
}
