package agent

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestMoved: variables that switch an agent's hooks off or move its settings are found.
func TestMoved(t *testing.T) {
	for name, want := range map[string]string{"OPENCODE_PURE": "hooks-off", "OPENCODE_CONFIG": "moved-settings", "HOME": ""} {
		a := Of(OpenCode)
		home := t.TempDir()
		s := &Setup{Agent: a, Where: &Where{Home: home, Getenv: func(key string) string {
			if key == name {
				return "1"
			}
			return ""
		}}, Hooks: []*Hook{{Entry: Entry{Event: executeBefore, Ours: true}, File: &File{Name: filepath.Join(home, "obstat.js")}, agent: a}}}
		s.CheckHooks()
		if got := slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Code == want }); got != (want != "") {
			t.Errorf("%s: %+v", name, s.Findings)
		}
	}
}
