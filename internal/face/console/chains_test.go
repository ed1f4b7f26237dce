package console_test

import (
	"context"
	"encoding/json"
	"html"
	"iter"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/console"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// twoChains is a store with the ledger of another replica, which numbers its records itself.
type twoChains struct {
	*memory.Store
	other *memory.Store
}

func (s twoChains) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		for _, one := range []*memory.Store{s.other, s.Store} {
			for r, err := range one.Records(ctx, q) {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// TestHistoryOfReplicas: a link in the history opens its own record, and not the one with the same
// number in the chain of another replica.
func TestHistoryOfReplicas(t *testing.T) {
	s := &site{t: t, store: twoChains{new(memory.Store), new(memory.Store)}, file: "opencode.json"}
	t.Chdir(t.TempDir())
	must(t, os.WriteFile(s.file, []byte(rules), 0o600))
	srv, err := server.Open(t.Context(), server.Options{Store: s.store, Policy: &gate.Files{Names: []string{s.file}, NoPins: true}, Console: console.New})
	must(t, err)
	t.Cleanup(srv.Close)
	h := httptest.NewServer(srv.Handler())
	t.Cleanup(h.Close)
	s.url = h.URL
	tok, err := server.NewToken(t.Context(), s.store, client.TokenRequest{Kind: "agent", Name: "coder"}, "test")
	must(t, err)
	s.agent = tok.Secret
	s.run("git status here")
	s.run("git log here")
	for _, command := range []string{"git status there", "git log there", "git diff there"} {
		input, err := json.Marshal(map[string]string{"command": command})
		must(t, err)
		must(t, s.store.(twoChains).other.Append(t.Context(), &ledger.Record{Time: time.Now(), Kind: ledger.Decision, Tool: "bash", Input: input, Verdict: "allow", Agent: "coder"}))
	}
	ann := s.visitor("ann")
	_, page := ann.get("/history?tool=bash")
	rows := regexp.MustCompile(`class="text"><a href="([^"]+)"><span class="soft">bash</span> ([^<]+)</a>`).FindAllStringSubmatch(page, -1)
	if len(rows) < 5 {
		t.Fatal(page)
	}
	for _, row := range rows {
		if code, record := ann.get(html.UnescapeString(row[1])); code != 200 || !strings.Contains(htmlText(record), row[2]) {
			t.Errorf("%s, where %s is wanted: %d", row[1], row[2], code)
		}
	}
	if code, _ := ann.get("/history/1?is=x"); code != 404 {
		t.Errorf("a hash that is none: %d", code)
	}
}
