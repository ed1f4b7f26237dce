package policy_test

import (
	"os"
	"testing"

	"github.com/obstat/obstat/policy"
)

// TestChangedRelative: a change of a file that was named relative to the directory, as with
// `obstat serve --policy obstat.yaml`, counts at once and not with the next look at everything.
func TestChangedRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile("opencode.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"permission":{"bash":"allow"}}`)
	where := &policy.Where{Named: &policy.Named{Files: []string{"opencode.json"}}, Home: t.TempDir(), Getenv: func(string) string { return "" }}
	finder := &policy.Finder{Watcher: new(policy.Watcher), NoPins: true}
	for i, text := range []string{`{"permission":{"bash":"deny"}}`, `{"permission":{"bash":"ask"}}`, `{"permission":{"edit":"ask"}}`} {
		f, err := finder.Find(where)
		if err != nil {
			t.Fatal(err)
		}
		if f.Changed() {
			t.Errorf("%d: it has changed at once", i)
		}
		if put(text); !f.Changed() {
			t.Errorf("%d: nobody noticed the change", i)
		}
	}
}
