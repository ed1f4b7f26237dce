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
	"github.com/obstat/obstat/internal/face/remote"
	serving "github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// TestHookServer: a hook decides by the policy of the server that its machine has joined
// and asks the people there, whether --server or the project's obstat.yaml names it.
// Nothing is looser for it: a machine that has joined none, or another, denies.
func TestHookServer(t *testing.T) {
	at := openServer(t, `{"permission": {"bash": {"*": "ask", "rm *": "deny", "git status": "allow"}}}`)
	home := t.TempDir()
	hook := func(flag, named, command string) (string, string) {
		dir := t.TempDir()
		text := "version: 1\nallow:\n  - run git status, rm, make\n  - delete workspace\n"
		if named != "" {
			text = "version: 1\nserver: " + named + text[len("version: 1"):]
		}
		at.check(os.WriteFile(filepath.Join(dir, "obstat.yaml"), []byte(text), 0o600))
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
	at.joinedBy(home)
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
	if out := at.approves(func() string {
		out, words := hook("", at.URL, "make")
		return out + words
	}); !strings.Contains(out, `"allow"`) || !strings.Contains(out, "approved by ann") {
		t.Errorf("asked: %s", out)
	}
}

// A joinable is a server that machines can join.
type joinable struct {
	URL  string
	t    *testing.T
	keep *memory.Store
}

// openServer starts a server with a policy of opencode's.
func openServer(t *testing.T, policy string) *joinable {
	t.Helper()
	at := &joinable{t: t, keep: new(memory.Store)}
	file := filepath.Join(t.TempDir(), "opencode.json")
	at.check(os.WriteFile(file, []byte(policy), 0o600))
	srv, err := serving.Open(t.Context(), serving.Options{Store: at.keep, Policy: &gate.Files{Names: []string{file}, NoPins: true}})
	at.check(err)
	t.Cleanup(srv.Close)
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	at.URL = web.URL
	return at
}

func (at *joinable) check(err error) {
	at.t.Helper()
	if err != nil {
		at.t.Fatal(err)
	}
}

func (at *joinable) token(kind, name, agent string) string {
	tok, err := serving.NewToken(at.t.Context(), at.keep, client.TokenRequest{Kind: kind, Name: name, Agent: agent}, "test")
	at.check(err)
	return tok.Secret
}

// joinedBy has the machine with that home join.
func (at *joinable) joinedBy(home string) {
	state, err := statedir.Dir(func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] })
	at.check(err)
	_, err = remote.Join(at.t.Context(), state, at.URL, at.token("agent", "laptop", client.AnyAgent), "")
	at.check(err)
}

// approves runs a hook while ann allows the first that is asked, and returns what it said.
func (at *joinable) approves(hook func() string) (out string) {
	ann, err := client.New(client.Options{URL: at.URL, Token: at.token("person", "ann", "")})
	at.check(err)
	said := make(chan string, 1)
	go func() { said <- hook() }()
	for answered := false; !answered && out == ""; {
		select {
		case out = <-said: // nobody was asked
		case <-time.After(20 * time.Millisecond):
		}
		list, err := ann.Requests(at.t.Context(), "pending")
		at.check(err)
		for _, r := range list.Requests {
			_, err := ann.Answer(at.t.Context(), r.ID, client.Answer{Allow: true})
			at.check(err)
			answered = true
		}
	}
	if out == "" {
		out = <-said
	}
	return out
}
