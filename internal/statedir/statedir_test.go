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
