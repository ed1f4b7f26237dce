//go:build unix

package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/ledger"
)

// TestWordOnPostgres: on replicas that share a database, access is recorded, of two people who put a
// policy in force on two of them one wins, and verify counts the records that a machine has sent
// over all chains.
func TestWordOnPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: several servers")
	}
	sites := openReplicas(t, 2)
	t.Run("access", func(t *testing.T) { accessIsRecorded(t, sites[0].store) })
	first := sites[0]
	var codes [2]int
	var all sync.WaitGroup
	for i, s := range sites {
		person := s.browser(fmt.Sprint("p", i), server.RoleAdmin)
		v := s.upload(fmt.Sprintf(`{"*": "ask", "rm *": "deny", "make %d": "deny"}`, i))
		all.Go(func() {
			codes[i], _ = person.do("POST", fmt.Sprintf("/v1/policies/%d/activate", v), activation(0, "at once", true))
		})
	}
	all.Wait()
	if slices.Sort(codes[:]); codes != [2]int{200, 409} {
		t.Errorf("%v", codes)
	}
	laptop := first.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	for i, tool := range []string{"one", "two"} {
		lines := machine(t, &ledger.Record{Kind: ledger.Decision, Tool: "one"}, &ledger.Record{Kind: ledger.Decision, Tool: tool})
		if code, body := sites[i].do(laptop, "POST", "/v1/records", `{"lines":[`+strings.Join(lines, ",")+`]}`); code != 204 {
			t.Fatalf("%d %s", code, body)
		}
	}
	var v client.Verified
	if first.get(first.ann, "/v1/ledger/verify", &v); !v.OK || v.Foreign["laptop"] != 4 {
		t.Errorf("%+v", v)
	}
}
