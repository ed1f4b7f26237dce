package all_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// TestMisleadingFiles: files that were taken for another dialect's, or for nothing: each is
// read as the right one, with these warnings, or refused with what to write.
func TestMisleadingFiles(t *testing.T) {
	for _, tt := range []struct{ name, text, dialect, want string }{
		{"opencode.json", `{"permission":{"raed":"allow"}}`, "opencode", `did you mean "read"?`},
		{"opencode.json", `{"permission":{"Bash":"allow"}}`, "opencode", `did you mean "bash"?`},
		{"opencode.json", `{"permission":{"bash":"alow"}}`, "opencode", `did you mean "allow"?`},
		{"x.json", `{"permissions":{"external_directory":"ask","read":"allow"}}`, "opencode", ""},
		{"state.json", `{"session_id":"s","permission_context":{"mode":"dont_ask"}}`, "agentscope", ""},
		{"x.json", `{"mode":"explore"}`, "agentscope", ""},
		{"x.json", `{"mode":"Explore"}`, "agentscope", "mode names are lower case"},
		{"x.json", `{"mode":"plan"}`, "adkfluent", ""},
		{"x.json", `{"mode":"default"}`, "", "say which with --dialect"},
		{"x.json", `{"permission_context":{"mode":"default"},"deny_rules":{}}`, "agentscope", "move it into permission_context"},
		{"x.json", `{"deny_rules":{},"alow_rules":{}}`, "agentscope", `did you mean "allow_rules"?`},
		{"x.json", `{"hello":1}`, "", "the dialects are"},
		{"agent.json", `{"permissions":{"allow":[".*"],"ask":[]}}`, "chorus", ""},
		{"agent.json", `{"allow":[".*"],"ask":[]}`, "chorus", `write {"permissions": {"allow": [...], "ask": [...]}}`},
	} {
		f := dialect.File{Name: tt.name, Data: []byte(tt.text)}
		d, err := all.Detect(&f)
		got := ""
		if err == nil {
			got = d.Name()
			in := &dialect.Input{Files: []dialect.File{f}}
			var l *dialect.Loaded
			if l, err = dialect.Load(d, in); err == nil {
				if lint, ok := d.(dialect.Linter); ok {
					err = lint.Lint(in, l.Program)
				}
			}
		}
		if said := hints(err); got != tt.dialect || !strings.Contains(said, tt.want) {
			t.Errorf("%s %s: %s, %s; want %s, %s", tt.name, tt.text, got, said, tt.dialect, tt.want)
		}
	}
}

// hints returns what the problems say and advise.
func hints(err error) string {
	var es obstat.Errors
	if !errors.As(err, &es) {
		return ""
	}
	var b strings.Builder
	for _, e := range es {
		b.WriteString(e.Msg + "; " + e.Hint + "\n")
	}
	return b.String()
}
