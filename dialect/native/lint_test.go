package native_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

func TestLint(t *testing.T) {
	for text, want := range map[string]string{
		"allow:\n  - rule: run npm\n    examples: [npm test, npm test -- x]\n":   `obstat.yaml:3:11: warning: the rule is wider than its examples, which all start with "npm test"`,
		"allow:\n  - rule: run npm\n    examples: [npm test, npm run lint]\n":    "",
		"allow:\n  - rule: run npm\n    examples: [npm test]\n":                  "",
		"allow:\n  - rule: run npm test\n    examples: [npm test, npm test x]\n": "",
		"deny:\n  - rule: run npm\n    examples: [npm test, npm test x]\n":       "",
	} {
		in := &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\n" + text)}}}
		l, err := dialect.Load(native.Dialect{}, in)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := native.Dialect{}.Lint(in, l.Program)
		if len(got) == 0 && want != "" || len(got) > 0 && (want == "" || !strings.Contains(got[0].Error(), want)) {
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
}
