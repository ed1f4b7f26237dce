package person

import "testing"

func TestAbove(t *testing.T) {
	m := read(t, `
		1 0 1 0 0 1 init /sbin/init
		20 1 20 1 1000 3 claude /opt/claude -- claude
		30 20 30 0 1000 4 bash /bin/bash -- bash -c x
		31 30 30 0 1000 5 obstat /usr/bin/obstat -- obstat run --ticket x
		40 1 40 1 1000 6 claude /opt/claude -- claude
		41 40 41 0 1000 7 obstat /usr/bin/obstat -- obstat run --ticket x`)
	below, _ := m.chain(31)
	other, _ := m.chain(41)
	for _, tt := range []struct {
		name  string
		above Above
		chain []*proc
		want  bool
	}{
		{"the same agent", Above{20, 3}, below, true},
		{"another session's", Above{20, 3}, other, false},
		{"one that has taken its number", Above{20, 2}, below, false},
		{"none was found", Above{}, other, true},
	} {
		if got := tt.above.in(tt.chain); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
