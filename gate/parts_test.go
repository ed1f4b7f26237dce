package gate

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
)

// TestPatternOf: which directories an effect reaches besides its path.
func TestPatternOf(t *testing.T) {
	for command, want := range map[string]string{
		"cat a.txt":       "",
		"cat */x":         "/p/*/x",
		"rm -rf build":    "/p/build/*/.",
		"rm -rf /srv/":    "/srv/*/.",
		"rm build":        "",
		"cp -r a b":       "",
		"rm -rf */old":    "/p/*/old",
		"touch /srv/$X/y": "/srv/*/y",
		"touch $X/y":      "",
		"ls */x":          "/p/*/x",
	} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p", Roots: []string{"/p"}}
		a := (&obstat.Recorder{Of: &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p", "/p/build", "/srv"}}}).Analysis(c)
		got := ""
		for i := range a.Effects {
			if p := patternOf(&a.Effects[i]); p != "" {
				got = p
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	e := effect.Effect{Kind: effect.Run}
	e.Path, e.Glob = "/p/*", true
	if got := patternOf(&e); got != "" {
		t.Errorf("of a program: %q", got)
	}
}

// TestJoin: two notes are joined, and one stays as it is.
func TestJoin(t *testing.T) {
	for _, tt := range [][3]string{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a; b"}} {
		if got := join(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q", got)
		}
	}
}

// TestRepeated: a call counts as repeated in its own session and agent, in a row; and the
// count of sessions is bounded.
func TestRepeated(t *testing.T) {
	g := new(Repeats)
	a, b := [32]byte{1}, [32]byte{2}
	for i, tt := range []struct {
		session, agent string
		digest         [32]byte
		want           int
	}{
		{"s", "x", a, 0}, {"s", "x", a, 1}, {"s", "x", a, 2}, {"t", "x", a, 0}, {"s", "y", a, 0}, {"s", "x", b, 0}, {"s", "x", a, 0}, {"t", "x", a, 1},
	} {
		if got := g.count(&obstat.Call{Session: tt.session, Agent: tt.agent}, tt.digest); got != tt.want {
			t.Errorf("call %d: %d, want %d", i, got, tt.want)
		}
	}
	for i := range 10_100 {
		g.count(&obstat.Call{Session: fmt.Sprint(i)}, a)
		if len(g.of) > 10_001 {
			t.Fatalf("%d sessions", len(g.of))
		}
	}
	if len(g.of) > 200 {
		t.Errorf("%d sessions after all were forgotten", len(g.of))
	}
}
