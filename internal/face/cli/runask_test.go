package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestRunAsker: a file that a confined command opens is given where the policy allows it or a person does, and each
// is asked about once; what was refused and asks is put to people for the next run.
func TestRunAsker(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "obstat.yaml")
	rules := "version: 1\nallow: [read workspace]\nask: [read /srv/asked, read /srv/refused, connect asked.test]\ndeny: [read secrets]\n"
	if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	var g *gate.Gate
	var asked []string
	answered := make(chan error, 8)
	opts := gate.Options{Policy: &gate.Files{Names: []string{file}, NoPins: true}, Store: new(memory.Store), NoStart: true,
		World: &obstat.Snapshot{HomeDir: "/home/u"}, Approval: approval.Options{Asked: func(r *approval.Request) {
			asked = append(asked, r.Call.Text())
			if want := "`make test`, which runs confined, wants it: "; !strings.HasPrefix(r.Reason, want) {
				t.Errorf("the request says %q", r.Reason)
			}
			go func() {
				_, err := g.Broker().Answer(t.Context(), r.ID, approval.Answer{Allow: r.Call.Text() == "/srv/asked", By: "bob"})
				answered <- err
			}()
		}}}
	var err error
	if g, err = gate.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	a := &runAsker{gate: g, call: &obstat.Call{Tool: "Bash", Input: []byte(`{"command": "make test"}`), Agent: "claude-code", Session: "s", Dir: dir, Roots: []string{dir}}}
	for _, tt := range []struct {
		path string
		want bool
	}{
		{filepath.Join(dir, "x"), true}, {"/srv/asked", true}, {"/srv/asked", true}, {"/srv/refused", false},
		{"/srv/refused", false}, {"/home/u/.ssh/id_rsa", false},
	} {
		if got := a.file(t.Context(), tt.path); got != tt.want {
			t.Errorf("%s: %v", tt.path, got)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked about %q", asked)
	}
	for range asked {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	again := a.again(t.Context(), []confined.Refused{{Kind: obstat.FaceConnect, What: "asked.test"},
		{Kind: obstat.FaceRead, What: "/home/u/.ssh/id_rsa"}, {Kind: obstat.FaceWrite, What: "/srv/x"}})
	if len(again) != 1 || len(asked) != 3 {
		t.Errorf("requests %q, asked about %q", again, asked)
	}
	<-answered
}
