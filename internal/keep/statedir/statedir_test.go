package statedir

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestDir(t *testing.T) {
	home := t.TempDir()
	for name, tt := range map[string]struct {
		env  map[string]string
		want string
	}{
		"named":                       {map[string]string{"XDG_STATE_HOME": filepath.Join(home, "s"), homeVariable: home}, filepath.Join(home, "s", "obstat")},
		"home":                        {map[string]string{homeVariable: home}, filepath.Join(home, ".local", "state", "obstat")},
		"relative names do not count": {map[string]string{"XDG_STATE_HOME": "s", homeVariable: home}, filepath.Join(home, ".local", "state", "obstat")},
	} {
		got, err := Dir(func(k string) string { return tt.env[k] })
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, home := range []string{"", "here"} {
		if _, err := Dir(func(string) string { return home }); !errors.Is(err, ErrNoHome) {
			t.Errorf("home %q: %v", home, err)
		}
	}
}

// TestHeads: the ledger in the user's own state directory has a head elsewhere,
// and different ledgers have different ones.
func TestHeads(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	heads := func(db string, env map[string]string) []string {
		return Heads(db, func(k string) string { return env[k] })
	}
	usual := map[string]string{homeVariable: home}
	own := heads(filepath.Join(home, ".local", "state", "obstat", "obstat.db"), usual)
	if len(own) != 1 || filepath.Dir(own[0]) != filepath.Join(home, ".config", "obstat") {
		t.Fatalf("%q", own)
	}
	moved := map[string]string{homeVariable: home, "XDG_STATE_HOME": filepath.Join(home, "s"), "XDG_CONFIG_HOME": other}
	second := heads(filepath.Join(home, "s", "obstat", "obstat.db"), moved)
	if len(second) != 1 || filepath.Dir(second[0]) != filepath.Join(other, "obstat") || filepath.Base(second[0]) == filepath.Base(own[0]) {
		t.Errorf("%q and %q", second, own)
	}
	for name, got := range map[string][]string{
		"a store that was named":      heads(filepath.Join(other, "x.db"), usual),
		"state outside of the home":   heads(filepath.Join(other, "obstat", "obstat.db"), map[string]string{homeVariable: home, "XDG_STATE_HOME": other}),
		"a home that nobody knows of": heads("obstat.db", nil),
	} {
		if len(got) != 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
