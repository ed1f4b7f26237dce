package native_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
)

// A pattern given to a program that nobody knows may stand for a secret as well as its name does; one that begins with
// a star is about other files.
func TestPatternsForSecrets(t *testing.T) {
	d, err := all.Find("native")
	if err != nil {
		t.Fatal(err)
	}
	files := []dialect.File{{Name: "obstat.yaml", Data: []byte(native.Preset("trusting"))}}
	l, err := dialect.Load(d, &dialect.Input{Home: "/home/u", Files: files})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{
		"nobodyknows .env": obstat.Ask, "nobodyknows .en[v]": obstat.Ask, "nobodyknows .e*": obstat.Ask,
		"nobodyknows id_*":   obstat.Ask,
		"nobodyknows *.json": obstat.Allow, "nobodyknows src/*.go": obstat.Allow, "nobodyknows README*": obstat.Allow,
	} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/home/u/p",
			Roots: []string{"/home/u/p"}}
		if d := l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u"}); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", command, d.Verdict, want, d.Reason())
		}
	}
}

// A pattern given to such a program is also about the secrets that lie where it looks.
func TestPatternsForLyingSecrets(t *testing.T) {
	files := []dialect.File{{Name: "obstat.yaml", Data: []byte(native.Preset("trusting"))}}
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: "/home/u", Files: files})
	if err != nil {
		t.Fatal(err)
	}
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/p/certs"},
		Files: []string{"/home/u/p/certs/server.pem"}, Searched: []string{"/home/u/p"}}
	for command, want := range map[string]obstat.Verdict{
		"nobodyknows certs/server.pe?": obstat.Ask, "nobodyknows certs/*": obstat.Ask, "nobodyknows --in=certs/s*": obstat.Ask,
		"nobodyknows certs/*.txt": obstat.Allow, "nobodyknows other/*": obstat.Allow, "nobodyknows *": obstat.Allow,
	} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/home/u/p",
			Roots: []string{"/home/u/p"}}
		if d := l.Policy.Decide(call, world); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", command, d.Verdict, want, d.Reason())
		}
	}
}
