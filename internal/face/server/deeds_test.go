package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/sqlite"
)

// sessionPolicy has a limit a session, one a day, and a rule that comes after something.
const sessionPolicy = `version: 1
allow: [read anything, run git]
deny:
  - rule: run git push
    after: read ./notes
limit: ['4 calls per session, deny', '7 calls per day, deny']
`

// TestSessionsRestart: a limit, and a mark that a session got, hold after the server was started again, and on a
// second server with the same store.
func TestSessionsRestart(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	must(t, err)
	defer db.Close()
	for name, store := range map[string]server.Store{"memory": new(memory.Store), "sqlite": db} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "obstat.yaml")
			must(t, os.WriteFile(file, []byte(sessionPolicy), 0o600))
			start := func() *site {
				return open(t, func(o *server.Options) {
					o.Store, o.Policy = store, &gate.Files{Names: []string{file}, NoPins: true}
				})
			}
			n := 0
			put := func(s *site, session, command, want, why string) {
				t.Helper()
				n++
				input := quote(fmt.Sprintf(command, n))
				_, body := s.do(s.agent, "POST", "/v1/decisions", `{"call":{"tool":"bash","input":{"command":`+input+`},"session":"`+session+`","dir":"/src"}}`)
				var d client.Decision
				must(t, json.Unmarshal([]byte(body), &d))
				if d.Verdict != want || !strings.Contains(d.Reason, why) {
					t.Errorf("%s: %s in %s: %s: %s, want %s", name, command, session, d.Verdict, d.Reason, want)
				}
			}
			first := start()
			put(first, "a", "git log -%d", "allow", "")
			put(first, "a", "cat notes; git log -%d", "allow", "")
			put(first, "a", "git push origin b%d", "deny", "git push")
			first.srv.Close()
			again, beside := start(), start()
			put(again, "a", "git push origin b%d", "deny", "git push")
			put(beside, "a", "git push origin b%d", "deny", "git push")
			put(again, "a", "git log -%d", "allow", "")
			put(beside, "a", "git log -%d", "allow", "")
			put(again, "a", "git log -%d", "deny", "4 calls")
			put(again, "b", "git log -%d", "allow", "")
			put(beside, "b", "git log -%d", "allow", "")
			put(again, "c", "git log -%d", "deny", "7 calls")
		})
	}
}
