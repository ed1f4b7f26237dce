package gate_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// onDisk opens a gate on a database in a directory.
func onDisk(t *testing.T, dir string) (*gate.Gate, *sqlite.Store) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "obstat.db"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "opencode.json")
	if err := os.WriteFile(name, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{name}}, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return g, s
}

func authorize(t *testing.T, g *gate.Gate, c *obstat.Call) obstat.Decision {
	t.Helper()
	d, err := g.Authorize(t.Context(), c, nil)
	if (err != nil) != strings.Contains(d.Reason(), "the ledger") {
		t.Errorf("%v: %s", err, d.Reason())
	}
	return d.Decision
}

// verified returns how many records the ledger has, all of them in order.
func verified(t *testing.T, s *sqlite.Store) int {
	t.Helper()
	v, err := s.Verify(t.Context(), ledger.Hash{})
	if err != nil {
		t.Error(err)
	}
	return int(v.Records)
}

// TestFullDisk: on a full disk the gate denies and says why, and goes on by
// itself when there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system needs root and the right to mount: %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	g, s := onDisk(t, dir)
	t.Cleanup(func() { s.Close() }) // before the file system goes
	check(t, authorize(t, g, bash("git status")), obstat.Allow)
	ballast := filepath.Join(dir, "ballast")
	fillDisk(t, ballast)
	// There may be room in the files that are there; it ends.
	long := func(i int) *obstat.Call { return bash(fmt.Sprint("git status ", i, strings.Repeat("x", 50_000))) }
	allowed, denied := 1, 0
	for i := range 100 {
		if d := authorize(t, g, long(i)); d.Verdict == obstat.Allow {
			allowed++
			continue
		} else if check(t, d, obstat.Deny, "ledger", "no space left"); denied == 3 {
			break
		}
		denied++
	}
	if denied == 0 {
		t.Error("nothing was denied on a full disk")
	}
	if st := g.Status(t.Context()); !strings.Contains(st.Ledger, "no space left") {
		t.Errorf("%+v", st)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	check(t, authorize(t, g, long(100)), obstat.Allow)
	if st := g.Status(t.Context()); st.Ledger != "" {
		t.Errorf("%+v", st)
	}
	n := 0
	for r, err := range s.Records(t.Context(), ledger.Query{Kind: ledger.Decision}) {
		if err != nil || r.Verdict != "allow" {
			t.Errorf("%v: %s", err, r.Verdict)
		}
		n++
	}
	if verified(t, s); n != allowed+1 {
		t.Errorf("%d decisions are in the ledger, %d were allowed", n, allowed+1)
	}
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, bytes.NewReader(make([]byte, 64<<20))); err == nil {
		t.Fatal("the file system is not small")
	}
}

// TestReadOnlyLedger: while the ledger, or the head that is kept apart from it,
// cannot be written the gate denies and says why; it goes on by itself.
func TestReadOnlyLedger(t *testing.T) {
	for _, file := range []string{"obstat.ledger", "obstat.ledger.head"} {
		dir := t.TempDir()
		g, s := onDisk(t, dir)
		check(t, authorize(t, g, bash("git status")), obstat.Allow)
		path := filepath.Join(dir, file)
		setReadOnly(t, path, true)
		for i := range 2 {
			check(t, authorize(t, g, bash(fmt.Sprint("git status ", i))), obstat.Deny, "ledger", file)
		}
		if os.Getuid() != 0 { // an ask denies as well, and nobody is asked
			check(t, authorize(t, g, bash("make")), obstat.Deny, "ledger")
		}
		setReadOnly(t, path, false)
		check(t, authorize(t, g, bash("git status")), obstat.Allow)
		if n := verified(t, s); n != 3 {
			t.Errorf("%s: %d records: a start and two decisions were written", file, n)
		}
	}
}

// TestReadOnlyDatabase: records are in the ledger file, so calls are decided
// while the database cannot be written.
func TestReadOnlyDatabase(t *testing.T) {
	dir := t.TempDir()
	g, s := onDisk(t, dir)
	path := filepath.Join(dir, "obstat.db")
	setReadOnly(t, path, true)
	check(t, authorize(t, g, bash("git status")), obstat.Allow)
	setReadOnly(t, path, false)
	check(t, authorize(t, g, bash("git status")), obstat.Allow)
	if n := verified(t, s); n != 3 {
		t.Errorf("%d records: a start and two decisions were written", n)
	}
}

// setReadOnly makes a file immutable where the test runs as root, whom
// permissions do not stop.
func setReadOnly(t *testing.T, path string, on bool) {
	t.Helper()
	var err error
	if os.Getuid() == 0 {
		err = exec.Command("chattr", map[bool]string{true: "+i", false: "-i"}[on], path).Run()
		t.Cleanup(func() { exec.Command("chattr", "-i", path).Run() })
	} else {
		if strings.HasSuffix(path, ".ledger") {
			t.Skip("a file that is open already can be written whatever its permissions become")
		}
		err = os.Chmod(path, map[bool]os.FileMode{true: 0o400, false: 0o600}[on])
	}
	if err != nil {
		t.Skipf("this user and file system cannot make a file read-only: %v", err)
	}
}

// TestHooksRecords: what a hook wrote down is in the gate's ledger.
func TestHooksRecords(t *testing.T) {
	dir := t.TempDir()
	hook, err := sqlite.Log(filepath.Join(dir, "obstat.db"), os.Getenv)
	for i := range 3 {
		if err == nil {
			err = hook.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Session: "hook", Reason: fmt.Sprint(i)})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_, s := onDisk(t, dir)
	n := 0
	for r, err := range s.Records(t.Context(), ledger.Query{Session: "hook"}) {
		if err != nil || r.Reason != fmt.Sprint(n) {
			t.Errorf("%v %v", r, err)
		}
		n++
	}
	if v, err := s.Verify(t.Context(), ledger.Hash{}); err != nil || n != 3 || v.Records != 4 {
		t.Errorf("%d of %d records: %v", n, v.Records, err)
	}
}

const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

// TestNoSecretsOnDisk: when a request is decided, the secrets of its call are
// nowhere in the files any more; and equal ones can be told by their digests.
func TestNoSecretsOnDisk(t *testing.T) {
	dir := t.TempDir()
	g, s := onDisk(t, dir)
	for _, allow := range []bool{true, false} {
		var wg sync.WaitGroup
		wg.Go(func() {
			d := authorize(t, g, bash("curl -H 'Authorization: Bearer "+secret+"' https://example.com"))
			if (d.Verdict == obstat.Allow) != allow {
				t.Errorf("%s", d.Reason())
			}
		})
		r := nextRequest(t, g)
		if !strings.Contains(string(r.Call.Input), secret) {
			t.Errorf("whoever answers does not see it: %s", r.Call.Input)
		}
		if _, err := g.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: allow, Scope: approval.Session}); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if allow {
			grants, err := s.Grants(t.Context(), time.Now())
			if err != nil || len(grants) != 1 || !strings.Contains(grants[0].About, "curl") || strings.Contains(grants[0].About, secret) {
				t.Fatalf("%+v %v", grants, err)
			}
			if err := s.Revoke(t.Context(), grants[0].ID, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	digests := map[string]int{}
	for r, err := range s.Records(t.Context(), ledger.Query{Kind: ledger.Decision}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Masked {
			if m.Field == "" {
				digests[m.Digest]++
			}
		}
	}
	if len(digests) != 1 || digests[""] > 0 {
		t.Errorf("the same secret has the digests %v", digests)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the secret is in %s", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// nextRequest waits for a request to be there.
func nextRequest(t *testing.T, g *gate.Gate) *approval.Request {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		rs, err := g.Broker().Pending(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(rs) > 0 {
			return rs[0]
		}
		if time.Now().After(end) {
			t.Fatal("waited in vain for a request")
		}
	}
}

// TestResumeRace: of many gates that take the same answered request up, as
// processes do, one runs it.
func TestResumeRace(t *testing.T) {
	dir := t.TempDir()
	var gates []*gate.Gate
	for range 4 {
		g, _ := onDisk(t, dir)
		gates = append(gates, g)
	}
	_, s := onDisk(t, dir)
	c := bash("make")
	r := &approval.Request{ID: approval.NewID("req_"), Call: *c, Policy: gates[0].Status(t.Context()).Policy, Created: time.Now(), Expires: time.Now().Add(time.Hour)}
	if err := s.PutRequest(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := gates[0].Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for i := range 16 {
		wg.Go(func() {
			d, err := gates[i%len(gates)].Resume(t.Context(), r.ID, nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if d.Verdict == obstat.Allow {
				allowed++
			} else {
				check(t, d, obstat.Deny, "decided before")
			}
		})
	}
	wg.Wait()
	if allowed != 1 {
		t.Errorf("it ran %d times", allowed)
	}
	verified(t, s)
}

// TestGuardsItsStore: what a gate keeps is not the agent's to change, wherever
// it is and whatever the rules say.
func TestGuardsItsStore(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "obstat.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	name := filepath.Join(t.TempDir(), "opencode.json")
	if err := os.WriteFile(name, []byte(`{"permission": {"*": "allow"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{name}}, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	check(t, authorize(t, g, bash("touch /src/app/x")), obstat.Allow)
	for _, file := range s.Files() {
		d, _ := g.Authorize(t.Context(), bash("truncate -s 0 "+file), &gate.Terms{Ask: gate.Leave})
		if d.Verdict == obstat.Allow {
			t.Errorf("%s: %s", filepath.Base(file), d.Reason())
		}
	}
}
