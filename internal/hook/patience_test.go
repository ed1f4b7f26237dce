package hook

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/remote"
	serving "github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/internal/store/memory"
)

// TestPatienceWithServer: an agent that has a prompt of its own is answered at once where
// obstat works alone, so little time is taken to look for grants. That limit must not hold for
// the people at a server: without --wait they would have five seconds to answer.
func TestPatienceWithServer(t *testing.T) {
	before := lookup
	lookup = time.Nanosecond
	t.Cleanup(func() { lookup = before })
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, home := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "opencode.json")
	check(os.WriteFile(file, []byte(`{"permission": {"bash": "ask"}}`), 0o600))
	keep := new(memory.Store)
	srv, err := serving.Open(t.Context(), serving.Options{Store: keep, Policy: &gate.Files{Names: []string{file}, NoPins: true}})
	check(err)
	t.Cleanup(srv.Close)
	at := httptest.NewServer(srv.Handler())
	t.Cleanup(at.Close)
	state, err := statedir.Dir(func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] })
	check(err)
	machine, err := serving.NewToken(t.Context(), keep, client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent}, "test")
	check(err)
	_, err = remote.Join(t.Context(), state, at.URL, machine.Secret, "")
	check(err)
	person, err := serving.NewToken(t.Context(), keep, client.TokenRequest{Kind: "person", Name: "ann"}, "test")
	check(err)
	ann, err := client.New(client.Options{URL: at.URL, Token: person.Secret})
	check(err)
	said := make(chan string, 1)
	go func() {
		out, words, _ := hookIn(t, &Options{Agent: agent.ClaudeCode, Interactive: true, Server: at.URL, Dir: dir, World: &obstat.Snapshot{HomeDir: home}},
			strings.NewReader(fmt.Sprintf(claudePayload, dir, "make")), nil)
		said <- out + words
	}()
	out := ""
	for answered := false; !answered && out == ""; {
		select {
		case out = <-said: // nobody was asked
		case <-time.After(20 * time.Millisecond):
		}
		list, err := ann.Requests(t.Context(), "pending")
		check(err)
		for _, r := range list.Requests {
			_, err := ann.Answer(t.Context(), r.ID, client.Answer{Allow: true})
			check(err)
			answered = true
		}
	}
	if out == "" {
		out = <-said
	}
	if !strings.Contains(out, `"allow"`) || !strings.Contains(out, "approved by ann") {
		t.Error(out)
	}
}
