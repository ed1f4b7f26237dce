//go:build unix

package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/ledger"
)

// The variables that tell a test binary to be a replica.
const (
	replicaStore  = "OBSTAT_TEST_REPLICA_STORE"
	replicaAddr   = "OBSTAT_TEST_REPLICA_ADDR"
	replicaPolicy = "OBSTAT_TEST_REPLICA_POLICY"
)

// TestReplica is the process of a replica; by itself it does nothing.
func TestReplica(t *testing.T) {
	url := os.Getenv(replicaStore)
	if url == "" {
		return
	}
	store, err := postgres.Open(context.Background(), url, &postgres.Options{Anchor: 2 * time.Second})
	must(t, err)
	s, err := server.Open(context.Background(), server.Options{Store: store, Policy: &gate.Files{Names: []string{os.Getenv(replicaPolicy)}, NoPins: true}})
	must(t, err)
	ln, err := net.Listen("tcp", os.Getenv(replicaAddr))
	for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ln, err = net.Listen("tcp", os.Getenv(replicaAddr)) // while nobody listened, a connection may have taken the port
	}
	must(t, err)
	must(t, s.Serve(context.Background(), ln, nil))
}

// older is one of the replicas as it was: `git checkout OLD && go test -c -o old.test ./internal/face/server`, then `go
// test ./internal/face/server -run TestCluster -older $PWD/old.test` with the new one.
var older = flag.String("older", "", "a test `binary` of another version, for one of the replicas")

// A cluster is three replicas on one database.
type cluster struct {
	t        *testing.T
	url      string
	policy   string
	addrs    [3]string
	mu       sync.Mutex
	replicas [3]*exec.Cmd
}

func (c *cluster) start(i int) {
	bin := os.Args[0]
	if *older != "" && i == 1 {
		bin = *older
	}
	cmd := exec.Command(bin, "-test.run", "^TestReplica$")
	cmd.Env = append(os.Environ(), replicaStore+"="+c.url, replicaAddr+"="+c.addrs[i], replicaPolicy+"="+c.policy)
	if err := cmd.Start(); err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	c.replicas[i] = cmd
	c.mu.Unlock()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get("http://" + c.addrs[i] + "/healthz"); err == nil {
			resp.Body.Close()
			return
		}
	}
	c.t.Errorf("replica %d does not answer", i)
}

// kill ends a replica as a power cut does.
func (c *cluster) kill(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cmd := c.replicas[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.replicas[i] = nil
	}
}

// client returns a client of one of the replicas, any of them where i is negative.
func (c *cluster) client(token string, i int) *client.Client {
	if i < 0 {
		i = rand.IntN(3)
	}
	out, err := client.New(client.Options{URL: "http://" + c.addrs[i], Token: token, HTTP: &http.Client{Timeout: 20 * time.Second}})
	if err != nil {
		c.t.Error(err)
	}
	return out
}

// TestCluster: two hundred agents ask three replicas, people answer on others,
// replicas are killed and the database restarts in the middle. No answer counts
// twice, nothing is claimed twice, no record that was acknowledged is missing, every
// agent gets a verdict, and every chain verifies.
func TestCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	db := pgtest.Start(t)
	work, store := openSwarm(t, db, 200, 1)
	c := work.cluster
	work.run(func() {
		c.kill(0)
		time.Sleep(time.Second)
		c.start(0)
		db.Restart(500 * time.Millisecond)
		time.Sleep(time.Second)
		c.kill(1)
		c.kill(2)
		c.start(1)
		c.start(2)
	})
	work.check(store)
}

// openSwarm starts a cluster, and makes the agents that put so many calls each, and four people.
func openSwarm(t *testing.T, db *pgtest.Server, agents, each int) (*swarm, *postgres.Store) {
	t.Helper()
	c := &cluster{t: t, url: db.Database(), policy: filepath.Join(t.TempDir(), "opencode.json")}
	must(t, os.WriteFile(c.policy, []byte(rules), 0o644))
	for i := range c.addrs {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		c.addrs[i] = ln.Addr().String()
		must(t, ln.Close())
		t.Cleanup(func() { c.kill(i) })
	}
	store, err := postgres.Open(t.Context(), c.url, &postgres.Options{Anchor: time.Hour})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	agent, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "agent", Name: "swarm"}, "test")
	must(t, err)
	var people []string
	for i := range 4 {
		p, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "person", Name: fmt.Sprint("person", i)}, "test")
		must(t, err)
		people = append(people, p.Secret)
	}
	for i := range c.addrs {
		c.start(i)
	}
	return &swarm{cluster: c, t: t, token: agent.Secret, people: people, agents: agents, each: each,
		won: map[string]int{}, ran: map[string]int{}}, store
}

// A swarm is agents that ask and people that answer.
type swarm struct {
	*cluster
	t      *testing.T
	token  string
	people []string
	agents int
	each   int // calls of an agent, one after the other

	mu       sync.Mutex
	won      map[string]int // acknowledged answers, by request
	ran      map[string]int // claims that allowed, by request
	requests []string
	verdicts atomic.Int64
	allowed  atomic.Int64
}

func (s *swarm) run(havoc func()) {
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(2+s.each)*time.Minute)
	defer stop()
	var answering, asking sync.WaitGroup
	for i, token := range s.people {
		answering.Go(func() { s.answer(ctx, token, i) })
	}
	for i := range s.agents {
		asking.Go(func() {
			for j := range s.each {
				s.ask(ctx, i+j*s.agents)
			}
		})
	}
	havoc()
	asking.Wait()
	stop()
	answering.Wait()
}

// ask is an agent: it puts one call until it has a verdict, from whichever replica
// is there, and claims what was approved.
func (s *swarm) ask(ctx context.Context, i int) {
	time.Sleep(time.Duration(rand.IntN(6000)) * time.Millisecond)
	call := &obstat.Call{Tool: "bash", Input: fmt.Appendf(nil, `{"command":"make target-%d"}`, i), Session: fmt.Sprint("s", i), Dir: "/src"}
	for ctx.Err() == nil {
		d, err := s.client(s.token, -1).DecideWith(ctx, &client.DecisionRequest{Call: call, Wait: 5, Key: fmt.Sprint("key", i), Lease: 60})
		switch {
		case err != nil: // the replica is gone, or the database is
			time.Sleep(100 * time.Millisecond)
			continue
		case d.Verdict == "ask":
			continue
		case d.Request == nil: // denied since nothing could be written down
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.verdicts.Add(1)
		s.mu.Lock()
		s.requests = append(s.requests, d.Request.ID)
		if d.Verdict == "allow" {
			s.ran[d.Request.ID]++
			s.allowed.Add(1)
		}
		s.mu.Unlock()
		return
	}
	s.t.Errorf("call %d got no verdict", i)
}

// answer is a person: three say yes, one says no, to whatever waits.
func (s *swarm) answer(ctx context.Context, token string, i int) {
	for ctx.Err() == nil {
		c := s.client(token, -1)
		list, err := c.Requests(ctx, approval.Pending)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for _, r := range list.Requests {
			if rand.IntN(3) > 0 {
				continue // somebody else
			}
			if _, err := s.client(token, -1).Answer(ctx, r.ID, client.Answer{Allow: i > 0}); err == nil {
				s.mu.Lock()
				s.won[r.ID]++
				s.mu.Unlock()
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// check looks at what is left in the database.
func (s *swarm) check(store *postgres.Store) {
	t, ctx := s.t, context.Background()
	if n, all := s.verdicts.Load(), int64(s.agents*s.each); n != all {
		t.Errorf("%d of %d calls have a verdict", n, all)
	}
	for id, n := range s.won {
		r, err := store.Request(ctx, id)
		if n != 1 || err != nil || len(r.Answers) != 1 {
			t.Errorf("%s was answered %d times: %+v %v", id, n, r, err)
		}
	}
	for id, n := range s.ran {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	decided, answered := map[string]string{}, map[string]int{}
	chains := 0
	for r, err := range store.Records(ctx, ledger.Query{}) {
		must(t, err)
		switch r.Kind {
		case ledger.Decision:
			if r.Verdict == "allow" {
				decided[r.Request] = r.Verdict
			}
		case ledger.Answer:
			answered[r.Request]++
		case ledger.Anchor:
			chains++
		}
	}
	for id := range s.ran {
		if decided[id] != "allow" {
			t.Errorf("%s ran, and the ledger does not say so", id)
		}
	}
	for id := range s.won {
		if answered[id] == 0 {
			t.Errorf("%s was answered, and the ledger does not say so", id)
		}
	}
	v, err := store.Verify(ctx, ledger.Hash{})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d calls, %d allowed, %d answers, %d records, %d anchors", s.verdicts.Load(), s.allowed.Load(), len(s.won), v.Records, chains)
	if s.allowed.Load() == 0 || errors.Is(err, context.Canceled) || strings.Contains(fmt.Sprint(err), "canceled") {
		t.Error("nothing was allowed")
	}
}
