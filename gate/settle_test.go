package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	pol "github.com/obstat/obstat/policy"
)

// TestFacesSettle: a face may settle an ask by itself, in any way; where it does not, a person is asked, and where it
// fails, the call is denied.
func TestFacesSettle(t *testing.T) {
	by := func(v obstat.Verdict) func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) {
		return func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) {
			return &gate.Settled{Verdict: v, By: obstat.By{Kind: obstat.ByPerson, Who: "ann", Note: "so said ann"}}, nil
		}
	}
	for name, tt := range map[string]struct {
		settle func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error)
		want   obstat.Verdict
		kind   obstat.ByKind
		says   string
		asked  bool
	}{
		"allowed": {by(obstat.Allow), obstat.Allow, obstat.ByPerson, "so said ann", false},
		"denied":  {by(obstat.Deny), obstat.Deny, obstat.ByPerson, "so said ann", false},
		"left":    {by(obstat.Ask), obstat.Ask, obstat.ByRule, "so said ann", false},
		"open":    {func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) { return nil, nil }, obstat.Ask, obstat.ByRule, "", true},
		"failed": {func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) {
			return nil, errors.New("no line")
		},
			obstat.Deny, obstat.ByFault, "no person has refused it, but no line", false},
	} {
		b := open(t, policy, nil)
		b.terms.Settle = tt.settle
		d, r, err := b.Put(t.Context(), bash("make"))
		if err != nil || d.By.Kind != tt.kind || (r != nil) != tt.asked {
			t.Errorf("%s: by %s, request %v, %v", name, d.By.Kind, r, err)
		}
		check(t, d, tt.want, tt.says)
	}
}

// TestWhoMayAnswer: before a request is put it is known that somebody may answer it, and for how long that is waited for.
func TestWhoMayAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := "the office is closed"
		b := open(t, policy, func(o *gate.Options) { o.Waits = func() (time.Duration, string) { return 7 * time.Minute, why } })
		d, r, _ := b.Put(t.Context(), bash("make"))
		check(t, d, obstat.Deny, "no person has refused it, but the office is closed")
		if d.By.Kind != obstat.ByTimeout || r != nil {
			t.Errorf("by %s, %v", d.By.Kind, r)
		}
		why = ""
		if _, r, err := b.Put(t.Context(), bash("make")); err != nil || !r.Expires.Equal(time.Now().Add(7*time.Minute)) {
			t.Errorf("%+v, %v", r, err)
		}
		b = open(t, policy, func(o *gate.Options) {
			o.Who = func(*obstat.Call, *obstat.Decision) approval.Who { return approval.Who{NotCaller: true} }
		})
		c := bash("make")
		if d, r, _ := b.Put(t.Context(), c); r == nil || !r.Who.NotCaller {
			t.Errorf("%s: %+v", d.Reason(), r)
		}
		c.User = ""
		d, r, _ = b.Put(t.Context(), c)
		check(t, d, obstat.Deny, "no person has refused it, but somebody other than the user has to approve it")
		if r != nil {
			t.Errorf("%+v", r)
		}
	})
}

// unkeyed is a store whose key cannot be read.
type unkeyed struct{ *memory.Store }

func (unkeyed) Key() ([]byte, error) { return nil, errDisk }

// TestOpenFails: a gate needs a policy, a key for what it masks, and a ledger that can be written; a store that is opened
// late denies where it cannot be, and says why.
func TestOpenFails(t *testing.T) {
	if _, err := gate.Open(t.Context(), gate.Options{}); err == nil || !strings.Contains(err.Error(), "needs a policy") {
		t.Errorf("%v", err)
	}
	files := &gate.Files{Dir: t.TempDir(), Home: t.TempDir(), NoPins: true}
	if _, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: unkeyed{new(memory.Store)}}); err == nil || !strings.Contains(err.Error(), "the key of the ledger's digests") {
		t.Errorf("without a key: %v", err)
	}
	s := &broken{Store: new(memory.Store)}
	s.append.Store(true)
	if _, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: s}); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "the ledger cannot be written") {
		t.Errorf("without a ledger: %v", err)
	}
	if _, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: s, NoStart: true}); err != nil {
		t.Errorf("for one call: %v", err)
	}
	for name, late := range map[string]func(context.Context) (gate.Store, error){
		"no store": func(context.Context) (gate.Store, error) { return nil, errDisk },
		"no key":   func(context.Context) (gate.Store, error) { return unkeyed{new(memory.Store)}, nil },
	} {
		for _, ask := range []gate.Asking{gate.Wait, gate.Put} {
			for _, granted := range []bool{true, false} {
				b := open(t, policy, func(o *gate.Options) {
					o.Store, o.Open, o.NoStart, o.Ledger = nil, late, true, new(memory.Store)
					o.MayGrant = func() bool { return granted }
				})
				b.terms.Ask = ask
				d, _ := b.Authorize(t.Context(), bash("make"))
				check(t, d, obstat.Deny, map[bool]string{true: "what was granted before cannot be looked up", false: "nobody can be asked, for the store cannot be opened"}[granted], errDisk.Error())
				if d.By.Kind != obstat.ByFault {
					t.Errorf("%s: by %s", name, d.By.Kind)
				}
				if name == "no store" {
					check(t, b.decide(bash("git status")), obstat.Allow)
				}
				if b.Broker() != nil {
					t.Errorf("%s: there is a broker", name)
				}
			}
		}
		b := open(t, policy, func(o *gate.Options) { o.Store, o.Open, o.NoStart, o.Ledger = nil, late, true, new(memory.Store) })
		b.terms.Ask = gate.Leave // an agent that asks by itself needs no grant
		check(t, b.decide(bash("make")), obstat.Ask)
		if d, err := b.Resume(t.Context(), "req_x", nil); err == nil || d.Verdict != obstat.Deny {
			t.Errorf("%s: resumed: %v", name, err)
		}
	}
}

// together is a store that keeps a request and records in one commit.
type together struct {
	*broken
	n int
}

func (s *together) PutRecorded(ctx context.Context, r *approval.Request, records ...*ledger.Record) error {
	s.n++
	return errors.Join(s.PutRequest(ctx, r), s.Append(ctx, records...))
}

// TestPutInOneCommit: a request and the record of it are kept in one commit where the store can do that and keeps both, and
// else the record comes first; nobody is asked about a call that cannot be written down.
func TestPutInOneCommit(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*gate.Options)
		n      int
	}{
		"one store":     {func(*gate.Options) {}, 1},
		"not recorded":  {func(o *gate.Options) { o.NoRecord = true }, 0},
		"its own paper": {func(o *gate.Options) { o.Ledger = new(memory.Store) }, 0},
	} {
		s := &together{broken: &broken{Store: new(memory.Store)}}
		b := open(t, policy, func(o *gate.Options) { o.Store = s; tt.change(o) })
		if _, r, err := b.Put(t.Context(), bash("make")); r == nil || err != nil || s.n != tt.n {
			t.Errorf("%s: %v, %v, %d times together", name, r, err, s.n)
		}
		if rs, _ := s.Requests(t.Context(), approval.Query{}); len(rs) != 1 {
			t.Errorf("%s: %d requests", name, len(rs))
		}
	}
	s := &broken{Store: new(memory.Store)}
	b := open(t, policy, func(o *gate.Options) { o.Store = s })
	b.store = s.Store
	s.append.Store(true)
	d, r, _ := b.Put(t.Context(), bash("make"))
	check(t, d, obstat.Deny, errDisk.Error())
	if rs, _ := s.Requests(t.Context(), approval.Query{}); r != nil || len(rs) != 0 {
		t.Errorf("%d requests", len(rs))
	}
	s.append.Store(false)
	if _, r, err := b.Put(t.Context(), bash("make")); r == nil || err != nil {
		t.Error(err)
	}
	asks := b.records(ledger.Ask)
	if len(asks) != 1 || asks[0].Tool != "bash" || asks[0].Agent != "build" || asks[0].Session != "s1" || asks[0].User != "ann" || asks[0].Dir != "/src/app" || asks[0].Verdict != "ask" ||
		!strings.Contains(string(asks[0].Input), "make") || asks[0].Request == "" || asks[0].Policy == "" || asks[0].Call == "" {
		t.Errorf("%+v", asks)
	}
}

// TestMend: a caller can wait for a ledger that can be written again; that it could not be is written down then.
func TestMend(t *testing.T) {
	s := &broken{Store: new(memory.Store)}
	b := open(t, policy, func(o *gate.Options) { o.Store = s })
	b.store = s.Store
	if err := b.Mend(t.Context()); err != nil || len(b.records(ledger.Damage)) != 0 {
		t.Errorf("nothing was lost: %v", err)
	}
	s.append.Store(true)
	if _, err := b.Authorize(t.Context(), bash("git status")); err == nil {
		t.Fatal("written down on a full disk")
	}
	if err := b.Mend(t.Context()); !errors.Is(err, errDisk) || b.Status(t.Context()).Ledger == "" {
		t.Errorf("mended on a full disk: %v", err)
	}
	s.append.Store(false)
	if err := b.Mend(t.Context()); err != nil || b.Status(t.Context()).Ledger != "" {
		t.Errorf("%v, %+v", err, b.Status(t.Context()))
	}
	if rs := b.records(ledger.Damage); len(rs) != 1 || !strings.Contains(rs[0].Reason, errDisk.Error()) {
		t.Errorf("%+v", rs)
	}
	if err := b.Mend(t.Context()); err != nil || len(b.records(ledger.Damage)) != 1 {
		t.Errorf("mended twice: %v", err)
	}
}

// TestUnrecorded: a gate that records nothing decides as ever, and asks without a record.
func TestUnrecorded(t *testing.T) {
	b := open(t, policy, func(o *gate.Options) { o.NoRecord = true })
	check(t, b.decide(bash("git status")), obstat.Allow)
	check(t, b.decide(bash("rm x")), obstat.Deny)
	if err := b.Record(t.Context(), &ledger.Record{Kind: ledger.Damage}); err != nil {
		t.Error(err)
	}
	for r := range b.store.Records(t.Context(), ledger.Query{}) {
		t.Errorf("%+v", r)
	}
}

// TestSilent: why an allow is kept from the agent is in the decision and its record; a denial is always told.
func TestSilent(t *testing.T) {
	b := open(t, policy, nil)
	b.terms.Silent = func(d *obstat.Decision) string { return "its own rules decide" }
	for command, want := range map[string]bool{"git status": true, "rm x": false} {
		if d := b.decide(bash(command)); strings.Contains(d.Note, "its own rules decide") != want {
			t.Errorf("%s: %q", command, d.Note)
		}
	}
	rs := b.records(ledger.Decision)
	if len(rs) != 2 {
		t.Fatalf("%d records", len(rs))
	}
	for _, r := range rs {
		if silent := strings.Contains(r.Reason, "its own rules decide"); silent != (r.Verdict == "allow") || r.Nanos < 0 {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
	}
}

// TestPrinted: the model gets a result without its secrets, also while there is no key for their digests.
func TestPrinted(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	lost := func(context.Context) (gate.Store, error) { return nil, errDisk }
	for name, b := range map[string]*bench{"a store": open(t, policy, nil),
		"no key": open(t, policy, func(o *gate.Options) {
			o.Store, o.Open, o.NoStart, o.Ledger = nil, lost, true, unkeyed{new(memory.Store)}
		})} {
		out, found := b.Printed([]byte("token: " + token + "\n"))
		if strings.Contains(string(out), token) || len(found) != 1 || !strings.Contains(string(out), "token") {
			t.Errorf("%s: %q, %+v", name, out, found)
		}
	}
	b := open(t, policy, nil)
	if out, found := b.Printed([]byte("nothing")); out != nil && string(out) != "nothing" || found != nil {
		t.Errorf("%q, %v", out, found)
	}
}

// TestRefusedBefore: a call that was denied before any policy was asked is in the ledger, with the reason.
func TestRefusedBefore(t *testing.T) {
	b := open(t, policy, nil)
	if err := b.Refused(t.Context(), bash("make"), "its token has expired"); err != nil {
		t.Fatal(err)
	}
	if rs := b.records(ledger.Decision); len(rs) != 1 || rs[0].Verdict != "deny" || !strings.Contains(rs[0].Reason, "its token has expired") || rs[0].Agent != "build" {
		t.Errorf("%+v", rs)
	}
}

// TestEndsLogged: how requests ended is written down, each with the policy that asked.
func TestEndsLogged(t *testing.T) {
	b := open(t, policy, nil)
	if err := b.Log(t.Context()); err != nil || len(b.records(ledger.Answer)) != 0 {
		t.Errorf("nothing has ended: %v", err)
	}
	r := &approval.Request{ID: "req_1", Call: *bash("make"), Digest: "d", Policy: "p", State: approval.Refused,
		Answers: []approval.Answer{{By: "ann", Words: "no", Input: json.RawMessage(`{"command":"make all"}`)}}}
	if err := b.Log(t.Context(), r, &approval.Request{ID: "req_2", Call: *bash("make"), State: approval.Expired}); err != nil {
		t.Fatal(err)
	}
	rs := b.records(ledger.Answer)
	if len(rs) != 2 || rs[0].Request != "req_1" || rs[0].Policy != "p" || rs[0].Call != "d" || rs[0].Verdict != "refused" || rs[0].Reason != "refused by ann: no" || !strings.Contains(string(rs[0].Detail), "make all") {
		t.Fatalf("%+v", rs)
	}
	if rs[1].Verdict != "expired" || len(rs[1].Detail) != 0 {
		t.Errorf("%+v", rs[1])
	}
}

// halfBroken is a source a part of which cannot be loaded.
type halfBroken struct{ *gate.Files }

func (s halfBroken) InForce(c *obstat.Call) (*pol.InForce, error) {
	f, _ := s.Files.InForce(c)
	return f, errors.New("the other half: no such file\nand more")
}

// TestHalfBroken: decisions and requests say that a part of the policy cannot be loaded.
func TestHalfBroken(t *testing.T) {
	b := open(t, policy, func(o *gate.Options) { o.Policy, o.NoStart = halfBroken{o.Policy.(*gate.Files)}, true })
	const says = "the policy cannot be loaded: the other half: no such file (and 1 problems more)"
	check(t, b.decide(bash("git status")), obstat.Allow, says)
	d, r, err := b.Put(t.Context(), bash("make"))
	if err != nil || r == nil || !strings.Contains(r.Reason, says) || !strings.Contains(r.Reason, d.Reason()) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOwnRulesAreNarrow: a rule that a person writes is refused where it lets other files, tools and hosts through.
func TestOwnRulesAreNarrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, `{"permission": {"edit": "ask", "bash": {"*": "ask", "git push *": "deny", "git tag *": "ask"}}}`, nil)
		edit := &obstat.Call{Tool: "edit", Input: json.RawMessage(`{"filePath":"src/a.txt","oldString":"a","newString":"b"}`), Dir: "/src/app", Roots: []string{"/src/app"}}
		_, r, err := b.Put(t.Context(), edit)
		if err != nil || r == nil || len(r.Offers) == 0 {
			t.Fatal(r, err)
		}
		for pattern, ok := range map[string]bool{"*.txt": false, "*/*": false, "src/*": true, "src/a.txt": true, "lib/*": false} {
			rule, err := r.Offers[0].WithPattern(pattern)
			if err != nil {
				t.Fatal(err)
			}
			a := &approval.Answer{By: "bob", Allow: true, Scope: approval.Session, Offer: 1, Rule: rule}
			other := *r
			other.ID = approval.NewID("req_")
			if err := b.store.PutRequest(t.Context(), &other); err != nil {
				t.Fatal(err)
			}
			_, err = b.Broker().Answer(t.Context(), other.ID, *a)
			if (err == nil) != ok || !ok && !errors.Is(err, approval.ErrBad) && !errors.Is(err, approval.ErrBroader) {
				t.Errorf("%s: %v", pattern, err)
			}
		}
	})
}

// TestNoFileForRule: a rule is not kept where no file holds the policy, and where the only one is not the user's.
func TestNoFileForRule(t *testing.T) {
	builtin, err := pol.Builtin("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "opencode.json"), policy)
	managed, err := dialect.Load(load(t, filepath.Join(dir, "opencode.json")).Dialect, &dialect.Input{Files: []dialect.File{{Name: filepath.Join(dir, "opencode.json"), Layer: dialect.LayerManaged, Data: []byte(policy)}}})
	if err != nil {
		t.Fatal(err)
	}
	for want, l := range map[string]*dialect.Loaded{"there is no policy to write the rule to": builtin, "not the user's to change": managed} {
		err := (&gate.Files{Dir: dir, Home: dir, NoPins: true}).Accept(t.Context(), &gate.Accepted{Policy: l, Call: bash("make"), By: "ann"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "opencode.json")); err != nil || string(text) != policy {
		t.Errorf("%s, %v", text, err)
	}
}

// TestGrantNotKept: an answer for a session whose grant cannot be looked up holds for the one call, and says so.
func TestGrantNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &broken{Store: new(memory.Store)}
		b := open(t, policy, func(o *gate.Options) { o.Store = s })
		b.store = s.Store
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("make")) }()
		synctest.Wait()
		id := b.pending().ID
		s.grants.Store(true)
		if _, err := b.Broker().Answer(t.Context(), id, approval.Answer{By: "bob", Allow: true, Scope: approval.Session}); err != nil {
			t.Fatal(err)
		}
		check(t, <-end, obstat.Allow, "approved by bob", "it holds for this once", errDisk.Error())
		// The answer for always is written down before the file has the rule.
		s.grants.Store(false)
		go func() { end <- b.answerLast("npm run build", s) }()
		check(t, <-end, obstat.Deny, "ledger")
		check(t, b.decide(bash("git status")), obstat.Allow)
	})
}

// answerLast answers a call for always while the ledger cannot be written.
func (b *bench) answerLast(command string, s *broken) obstat.Decision {
	end := make(chan obstat.Decision, 1)
	go func() { d, _ := b.Authorize(b.t.Context(), bash(command)); end <- d }()
	synctest.Wait()
	r := b.pending()
	s.append.Store(true)
	defer s.append.Store(false)
	if _, err := b.Broker().Answer(b.t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1}); err != nil {
		b.t.Error(err)
	}
	return <-end
}

// TestStrictestLimit: of limits that are reached the strictest counts, and of equal ones always the same.
func TestStrictestLimit(t *testing.T) {
	for limits, want := range map[string]string{
		"1 calls per session, '1 calls per day, deny'":        "1 calls per day, deny",
		"'1 calls per day, deny', 1 calls per session":        "1 calls per day, deny",
		"1 calls per session, 1 calls per day":                "1 calls per day",
		"1 calls per day, 1 calls per session":                "1 calls per day",
		"1 equal calls in a row, 9 calls per day":             "1 equal calls in a row",
		"'1 calls per session, deny', '2 calls per day, ask'": "1 calls per session, deny",
	} {
		g := limited(t, nil, limits)
		put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave})
		res, err := g.Authorize(t.Context(), oneCall("s", "ls"), &gate.Terms{Ask: gate.Leave})
		if err != nil || res.Rule == nil || res.Rule.Source != want || res.Stage != obstat.ListLimit || res.By.Kind != obstat.ByRule || res.Note == "" {
			t.Errorf("%s: %s at %s, %v", limits, res.Rule, res.Stage, err)
		}
		if want := map[bool]obstat.Verdict{true: obstat.Deny, false: obstat.Ask}[strings.HasSuffix(want, "deny")]; res.Verdict != want {
			t.Errorf("%s: %s", limits, res.Verdict)
		}
	}
	g := limited(t, &failing{Sessions: gate.SessionDir(t.TempDir()), after: 1}, "9 asks per day")
	v, why := put(t, g, oneCall("s", "rm x"), gate.Terms{Ask: gate.Leave})
	if v != obstat.Deny || !strings.Contains(why, "how many asks there were cannot be told: "+errDisk.Error()) {
		t.Errorf("%s: %s", v, why)
	}
}

// failing are sessions that can be counted a number of times.
type failing struct {
	gate.Sessions
	after int
}

func (s *failing) Tally(key string, change func([]byte) []byte) error {
	if s.after--; s.after < 0 {
		return errDisk
	}
	return s.Sessions.Tally(key, change)
}

// TestNotTakenUp: a request that waits is taken up by those who put theirs alone.
func TestNotTakenUp(t *testing.T) {
	b := open(t, policy, nil)
	b.terms.TakeUp = true
	_, first, err := b.Put(t.Context(), bash("make"))
	if err != nil || first == nil {
		t.Fatal(err)
	}
	if _, again, _ := b.Put(t.Context(), bash("make")); again == nil || again.ID != first.ID {
		t.Errorf("%+v", again)
	}
	res, err := b.Gate.Authorize(t.Context(), bash("make"), &gate.Terms{TakeUp: true, Ask: gate.Leave})
	if err != nil || res.Request != nil || res.Verdict != obstat.Ask {
		t.Errorf("%+v, %v", res.Request, err)
	}
}

// lossy is a store whose ledger loses a number of records.
type lossy struct {
	*memory.Store
	lose atomic.Int32
}

func (s *lossy) Append(ctx context.Context, rs ...*ledger.Record) error {
	if s.lose.Add(-1) >= 0 {
		return errDisk
	}
	return s.Store.Append(ctx, rs...)
}

// TestAlwaysUnwritten: a rule for always is not written into the file before its answer is in the ledger.
func TestAlwaysUnwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lossy{Store: new(memory.Store)}
		b := open(t, policy, func(o *gate.Options) { o.Store = s })
		b.store = s.Store
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("npm run build")) }()
		synctest.Wait()
		r := b.pending()
		s.lose.Store(1)
		if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1}); err != nil {
			t.Fatal(err)
		}
		check(t, <-end, obstat.Deny, "the answer could not be written to the ledger")
		if text, err := os.ReadFile(b.file); err != nil || string(text) != policy {
			t.Errorf("%s, %v", text, err)
		}
		if rs := b.records(ledger.Decision); len(rs) != 1 || rs[0].Verdict != "deny" {
			t.Errorf("%+v", rs)
		}
	})
}

// TestPartOfWhole: where a rule about the whole line denies or asks, the part that it is about is named; not where that is
// all of it.
func TestPartOfWhole(t *testing.T) {
	b := open(t, `{"permission": {"bash": {"*": "allow", "*curl*": "deny", "*make*": "ask"}}}`, nil)
	b.terms.Ask = gate.Leave
	for command, want := range map[string]string{"ls && curl x": "curl x", "ls; make all; ls": "make all", "curl x": "", "ls && ls -a": ""} {
		if d := b.decide(bash(command)); d.Part != want {
			t.Errorf("%s: part %q: %s", command, d.Part, d.Reason())
		}
	}
}

// TestRuleWaits: a rule for always that is written into a file with other rules which nobody has accepted allows the one
// call, and the answer says that it waits.
func TestRuleWaits(t *testing.T) {
	dir, home, state := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("XDG_CONFIG_HOME", home)
	place(t, filepath.Join(dir, "opencode.json"), `{"permission": {"bash": "ask", "webfetch": "allow"}}`)
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Dir: dir, Home: home}, Store: new(memory.Store)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan obstat.Decision, 1)
	c := &obstat.Call{Tool: "bash", Input: []byte(`{"command":"npm test"}`), Session: "s", Dir: dir}
	go func() {
		d, err := g.Authorize(t.Context(), c, nil)
		if err != nil {
			t.Error(err)
		}
		done <- d.Decision
	}()
	r := nextRequest(t, g)
	if _, err := g.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1}); err != nil {
		t.Error(err)
	}
	check(t, <-done, obstat.Allow, "approved by bob", "counts once a person accepts what else is new there")
	if d, _ := g.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Leave}); d.Verdict != obstat.Ask {
		t.Errorf("the rule counts at once: %s", d.Reason())
	}
}

// TestChosenInPrompt: a rule that a person chose in the agent's own prompt counts at once; another that was written beside
// it does not.
func TestChosenInPrompt(t *testing.T) {
	for wrote, want := range map[string]obstat.Verdict{`"Bash(npm test *)"`: obstat.Allow, `"Bash(npm test *)", "Bash(curl *)"`: obstat.Ask} {
		dir, home, state := t.TempDir(), t.TempDir(), t.TempDir()
		env := func(name string) string { return map[string]string{"XDG_STATE_HOME": state, "HOME": home}[name] }
		settings := filepath.Join(dir, ".claude", "settings.json")
		place(t, settings, `{"permissions":{"deny":["WebFetch"]}}`)
		finder, at := new(pol.Finder), &pol.Where{Agent: "claude-code", Dir: dir, Home: home, Getenv: env}
		in, err := finder.Find(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := finder.Pin(t.Context(), in, at, "ann"); err != nil {
			t.Fatal(err)
		}
		kept, err := statedir.Dir(env)
		if err != nil {
			t.Fatal(err)
		}
		log := logfile.New(statedir.Ledger(kept))
		g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Home: home, Agent: "claude-code", Getenv: env}, Getenv: env, Store: new(memory.Store), Ledger: log, NoStart: true})
		if err != nil {
			t.Fatal(err)
		}
		c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"npm test x"}`), Agent: "claude-code", Dir: dir, Roots: []string{dir}}
		d, err := g.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Leave, Suggested: []string{"Bash(npm test *)"}})
		if err != nil || d.Verdict != obstat.Ask {
			t.Fatal(d.Reason(), err)
		}
		place(t, filepath.Join(dir, ".claude", "settings.local.json"), `{"permissions":{"allow":[`+wrote+`]}}`)
		if d, err = g.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Leave}); err != nil || d.Verdict != want {
			t.Errorf("%s: %s, %v", wrote, d.Reason(), err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}
