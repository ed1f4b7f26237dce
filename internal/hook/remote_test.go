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

// TestHookServer: a hook decides by the policy of the server that its machine has joined
// and asks the people there, whether --server or the project's obstat.yaml names it.
// Nothing is looser for it: a machine that has joined none, or another, denies.
func TestHookServer(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	theirs := filepath.Join(t.TempDir(), "opencode.json")
	check(os.WriteFile(theirs, []byte(`{"permission": {"bash": {"*": "ask", "rm *": "deny", "git status": "allow"}}}`), 0o600))
	keep := new(memory.Store)
	srv, err := serving.Open(t.Context(), serving.Options{Store: keep, Policy: &gate.Files{Names: []string{theirs}, NoPins: true}})
	check(err)
	t.Cleanup(srv.Close)
	at := httptest.NewServer(srv.Handler())
	t.Cleanup(at.Close)
	token := func(kind, name, agent string) string {
		tok, err := serving.NewToken(t.Context(), keep, client.TokenRequest{Kind: kind, Name: name, Agent: agent}, "test")
		check(err)
		return tok.Secret
	}
	home := t.TempDir()
	hook := func(flag, named, command string) (string, string) {
		dir := t.TempDir()
		text := "version: 1\nallow:\n  - run git status, rm, make\n  - delete workspace\n"
		if named != "" {
			text = "version: 1\nserver: " + named + text[len("version: 1"):]
		}
		check(os.WriteFile(filepath.Join(dir, "obstat.yaml"), []byte(text), 0o600))
		out, words, _ := hookIn(t, &Options{Agent: agent.ClaudeCode, Server: flag, Dir: dir, World: &obstat.Snapshot{HomeDir: home}, Waiting: Waiting{For: time.Minute}},
			strings.NewReader(fmt.Sprintf(claudePayload, dir, command)), nil)
		return out, words
	}
	if out, words := hook("", "", "rm x"); !strings.Contains(out, `"allow"`) {
		t.Errorf("alone: %s %s", out, words)
	}
	for _, way := range [][2]string{{at.URL, ""}, {"", at.URL}} {
		if out, words := hook(way[0], way[1], "git status"); !strings.Contains(out, `"deny"`) || !strings.Contains(words+out, "obstat join") {
			t.Errorf("not joined, %v: %s %s", way, out, words)
		}
	}
	state, err := statedir.Dir(func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] })
	check(err)
	_, err = remote.Join(t.Context(), state, at.URL, token("agent", "laptop", client.AnyAgent), "")
	check(err)
	for _, way := range [][2]string{{at.URL, ""}, {"", at.URL}, {"", at.URL + "/"}} {
		if out, words := hook(way[0], way[1], "git status"); !strings.Contains(out, `"allow"`) {
			t.Errorf("%v: %s %s", way, out, words)
		}
		if out, _ := hook(way[0], way[1], "rm x"); !strings.Contains(out, `"deny"`) || !strings.Contains(out, "rm *") {
			t.Errorf("%v: %s", way, out)
		}
	}
	if out, words := hook("", "https://other.example:8470", "git status"); !strings.Contains(out, `"deny"`) || !strings.Contains(words+out, "has joined "+at.URL) {
		t.Errorf("another server: %s %s", out, words)
	}
	ann, err := client.New(client.Options{URL: at.URL, Token: token("person", "ann", "")})
	check(err)
	asked := make(chan string, 1)
	go func() {
		out, words := hook("", at.URL, "make")
		asked <- out + words
	}()
	out := ""
	for answered := false; !answered && out == ""; {
		select {
		case out = <-asked: // nobody was asked
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
		out = <-asked
	}
	if !strings.Contains(out, `"allow"`) || !strings.Contains(out, "approved by ann") {
		t.Errorf("asked: %s", out)
	}
}
