package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

const policy = `{
  // what this project's agent may do
  "permission": {
    "bash": {
      "*": "ask",
      "git status": "allow",
      "git status *": "allow",
      "rm *": "deny"
    },
    "edit": "ask",
    "read": "allow"
  }
}
`

// A bench is a gate with everything around it.
type bench struct {
	*gate.Gate
	t     *testing.T
	file  string
	store *memory.Store
	terms gate.Terms // of Authorize
}

// Authorize decides a call by the bench's terms.
func (b *bench) Authorize(ctx context.Context, c *obstat.Call) (obstat.Decision, error) {
	d, err := b.Gate.Authorize(ctx, c, &b.terms)
	return d.Decision, err
}

// Put decides a call, and returns the request where it asks.
func (b *bench) Put(ctx context.Context, c *obstat.Call, offers ...obstat.Offer) (obstat.Decision, *approval.Request, error) {
	terms := b.terms
	terms.Ask, terms.Offers = gate.Put, offers
	d, err := b.Gate.Authorize(ctx, c, &terms)
	return d.Decision, d.Request, err
}

// Claim resumes a request for a caller.
func (b *bench) Claim(ctx context.Context, id string, c approval.Claiming) (obstat.Decision, error) {
	return b.Resume(ctx, id, &gate.Terms{Claim: c})
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, text string, change func(*gate.Options)) *bench {
	t.Helper()
	b := &bench{t: t, file: filepath.Join(t.TempDir(), "opencode.json"), store: new(memory.Store)}
	write(t, b.file, text)
	opts := gate.Options{Policy: &gate.Files{Names: []string{b.file}}, Store: b.store, World: &obstat.Snapshot{HomeDir: "/home/ann"}}
	if change != nil {
		change(&opts)
	}
	var err error
	if b.Gate, err = gate.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	return b
}

// load loads a policy as a gate would.
func load(t *testing.T, name string) *dialect.Loaded {
	t.Helper()
	f, err := (&gate.Files{Names: []string{name}}).InForce(&obstat.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return f.Main().Loaded
}

func bash(command string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{"command": command})
	return &obstat.Call{Tool: "bash", Input: input, Agent: "build", Session: "s1", User: "ann", Dir: "/src/app", Roots: []string{"/src/app"}}
}

// decide authorizes a call that nobody has to be asked about.
func (b *bench) decide(c *obstat.Call) obstat.Decision {
	b.t.Helper()
	d, err := b.Authorize(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// answer authorizes a call that asks, and answers.
func (b *bench) answer(c *obstat.Call, a approval.Answer) obstat.Decision {
	b.t.Helper()
	end := make(chan obstat.Decision, 1)
	go func() {
		d, _ := b.Authorize(b.t.Context(), c)
		end <- d
	}()
	synctest.Wait()
	if a.By == "" {
		a.By = "bob"
	}
	if _, err := b.Broker().Answer(b.t.Context(), b.pending().ID, a); err != nil {
		b.t.Errorf("%s: %v", c.Input, err)
	}
	return <-end
}

func (b *bench) pending() *approval.Request {
	b.t.Helper()
	rs, err := b.Broker().Pending(b.t.Context())
	if err != nil || len(rs) != 1 {
		b.t.Fatalf("%d requests pending, %v", len(rs), err)
	}
	return rs[0]
}

func (b *bench) records(k ledger.Kind) (out []*ledger.Record) {
	for r, err := range b.store.Records(b.t.Context(), ledger.Query{Kind: k}) {
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func check(t *testing.T, d obstat.Decision, want obstat.Verdict, words ...string) {
	t.Helper()
	if d.Verdict != want {
		t.Errorf("%s, want %s: %s", d.Verdict, want, d.Reason())
	}
	for _, w := range words {
		if !strings.Contains(d.Reason(), w) {
			t.Errorf("the reason does not say %q: %s", w, d.Reason())
		}
	}
}

func TestReload(t *testing.T) {
	b := open(t, policy, nil)
	b.terms.Ask = gate.Leave
	check(t, b.decide(bash("git status")), obstat.Allow)
	// The same length, the same moment: still seen.
	write(t, b.file, strings.ReplaceAll(policy, `": "allow"`, `": "deny" `))
	check(t, b.decide(bash("git status -s")), obstat.Deny)
	write(t, b.file, policy)
	check(t, b.decide(bash("git status")), obstat.Allow)

	write(t, b.file, `{"permission": {"bash": "alow"}}`)
	for _, c := range []string{"git status", "rm -rf x", "make"} {
		check(t, b.decide(bash(c)), obstat.Deny, "the policy cannot be loaded", "opencode.json:1:")
	}
	if s := b.Status(t.Context()); !strings.Contains(s.Broken, "opencode.json:1:") {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(b.file); err != nil {
		t.Fatal(err)
	}
	check(t, b.decide(bash("git status")), obstat.Deny, "the policy cannot be loaded", "no such file")

	write(t, b.file, `{"permission": {"bash": "deny"}}`)
	if d := b.decide(bash("git status")); d.Verdict != obstat.Deny || strings.Contains(d.Reason(), "cannot be loaded") {
		t.Errorf("mended: %s", d.Reason())
	}
	if s := b.Status(t.Context()); s.Broken != "" {
		t.Errorf("%+v", s)
	}
	var said []string
	for _, r := range b.records(ledger.Policy) {
		said = append(said, strings.Fields(r.Reason)[0])
	}
	if got := strings.Join(said, " "); got != "in in the the in" {
		t.Errorf("policy records: %s", got)
	}
}

// TestDirectory: the files of a directory are found, and those that come later.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Dir: dir, Home: t.TempDir()}, Store: new(memory.Store)})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := g.Authorize(t.Context(), bash("make"), &gate.Terms{Ask: gate.Leave})
	check(t, d.Decision, obstat.Ask) // by the built-in policy
	d, _ = g.Authorize(t.Context(), bash("rm x"), &gate.Terms{Ask: gate.Leave})
	check(t, d.Decision, obstat.Ask)
	write(t, filepath.Join(dir, "opencode.json"), policy)
	d, _ = g.Authorize(t.Context(), bash("make"), &gate.Terms{Ask: gate.Leave})
	check(t, d.Decision, obstat.Ask)
	d, _ = g.Authorize(t.Context(), bash("rm x"), &gate.Terms{Ask: gate.Leave})
	check(t, d.Decision, obstat.Deny)
	if err := os.Mkdir(filepath.Join(dir, ".opencode"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".opencode/opencode.json"), `{"permission": {"bash": {"make": "deny"}}}`)
	d, _ = g.Authorize(t.Context(), bash("make"), &gate.Terms{Ask: gate.Leave})
	check(t, d.Decision, obstat.Deny)
}

func TestGrants(t *testing.T) {
	for scope, same := range map[approval.Scope]func(*obstat.Call){
		approval.Session:   func(c *obstat.Call) { c.Agent, c.User, c.Dir = "x", "x", "/x" },
		approval.Agent:     func(c *obstat.Call) { c.Session, c.User, c.Dir = "x", "x", "/x" },
		approval.Workspace: func(c *obstat.Call) { c.Session, c.Agent, c.User = "x", "x", "x" },
		approval.User:      func(c *obstat.Call) { c.Session, c.Agent, c.Dir = "x", "x", "/x" },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, policy, func(o *gate.Options) { o.Approval.Timeout = time.Second })
			check(t, b.answer(bash("make"), approval.Answer{Allow: true, Scope: scope, Until: time.Now().Add(time.Hour)}), obstat.Allow, "approved by bob")
			c := bash("make")
			same(c)
			check(t, b.decide(c), obstat.Allow, "approved by bob for the "+string(scope))
			check(t, b.decide(bash("make ")), obstat.Deny, "nobody answered") // another call
			other := bash("make")
			other.Session, other.Agent, other.User, other.Dir = "o", "o", "o", "/o"
			check(t, b.decide(other), obstat.Deny, "nobody answered")
			// Never stronger than a deny.
			write(t, b.file, `{"permission": {"bash": {"make": "deny"}}}`)
			check(t, b.decide(bash("make")), obstat.Deny)
			write(t, b.file, policy)
			time.Sleep(time.Hour)
			check(t, b.decide(bash("make")), obstat.Deny, "nobody answered")
			if n := len(b.records(ledger.Grant)); n != 1 {
				t.Errorf("%d grant records", n)
			}
		})
	}
}

// TestGrantedRule: an offer taken for the session settles similar calls there.
func TestGrantedRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, func(o *gate.Options) { o.Approval.Timeout = time.Second })
		check(t, b.answer(bash("npm run build"), approval.Answer{Allow: true, Scope: approval.Session, Offer: 1}), obstat.Allow)
		check(t, b.decide(bash("npm run build --verbose")), obstat.Allow, "for the session")
		check(t, b.decide(bash("npm run build && rm -rf /")), obstat.Deny, "rm *")
		check(t, b.decide(bash("npm run build; curl x")), obstat.Deny, "nobody answered")
		other := bash("npm run build --verbose")
		other.Session = "s2"
		check(t, b.decide(other), obstat.Deny, "nobody answered")
		gs, _ := b.store.Grants(t.Context(), time.Now())
		if len(gs) != 1 {
			t.Fatalf("%d grants", len(gs))
		}
		if err := b.store.Revoke(t.Context(), gs[0].ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		check(t, b.decide(bash("npm run build --verbose")), obstat.Deny, "nobody answered")
		if text, _ := os.ReadFile(b.file); string(text) != policy {
			t.Errorf("the file changed:\n%s", text)
		}
	})
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		check(t, b.answer(bash("make"), approval.Answer{Allow: true}), obstat.Allow, "approved by bob")
		check(t, b.answer(bash("make"), approval.Answer{Words: "use npm"}), obstat.Deny, "refused by bob: use npm")
		d := b.decide(bash("make"))
		check(t, d, obstat.Deny, "nobody answered within 1m0s", "no human refused")
		if strings.Contains(d.Reason(), "refused by") {
			t.Errorf("%s", d.Reason())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d, _ = b.Authorize(ctx, bash("make"))
		if d.Verdict != obstat.Deny {
			t.Errorf("%s", d.Reason())
		}
		states := ""
		for _, r := range b.records(ledger.Answer) {
			states += r.Verdict + " "
		}
		if states != "approved refused expired canceled " {
			t.Errorf("answers: %s", states)
		}
		if _, err := b.store.Verify(t.Context(), ledger.Hash{}); err != nil {
			t.Error(err)
		}
	})
}

func TestEditedArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		d := b.answer(bash("make install"), approval.Answer{Allow: true, Input: json.RawMessage(`{"command":"make check"}`)})
		check(t, d, obstat.Allow, "with other arguments")
		if string(d.Input) != `{"command":"make check"}` {
			t.Errorf("input %s", d.Input)
		}
		check(t, b.answer(bash("make install"), approval.Answer{Allow: true, Input: json.RawMessage(`{"command":"env rm -rf /"}`)}), obstat.Deny, "rm *", "bob changed them")
		check(t, b.answer(bash("make install"), approval.Answer{Allow: true, Input: json.RawMessage(`{"command":1}`)}), obstat.Deny)
		recs := b.records(ledger.Decision)
		var c ledger.Circumstances
		if err := json.Unmarshal(recs[0].Detail, &c); err != nil {
			t.Fatal(err)
		}
		if string(recs[0].Input) != `{"command":"make install"}` || string(c.Given) != `{"command":"make check"}` || c.Said != obstat.Ask {
			t.Errorf("%s, %+v", recs[0].Input, c)
		}
		c = ledger.Circumstances{}
		if err := json.Unmarshal(recs[1].Detail, &c); err != nil || string(c.Given) != `{"command":"env rm -rf /"}` || recs[1].Verdict != "deny" {
			t.Errorf("%s with %+v, %v", recs[1].Verdict, c, err)
		}
	})
}

func TestSeveralMustAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roster := approval.Roster{{Tool: "bash", Who: approval.Who{Roles: []string{"lead"}, NotCaller: true, Needed: 2}}}
		b := open(t, policy, func(o *gate.Options) { o.Who = roster.For })
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("make")) }()
		synctest.Wait()
		id := b.pending().ID
		for _, a := range []approval.Answer{{By: "bob"}, {By: "ann", Roles: []string{"lead"}}} {
			a.Allow = true
			if _, err := b.Broker().Answer(t.Context(), id, a); !errors.Is(err, approval.ErrNotYou) {
				t.Errorf("%s: %v", a.By, err)
			}
		}
		for _, by := range []string{"eve", "joe"} {
			if _, err := b.Broker().Answer(t.Context(), id, approval.Answer{By: by, Login: "link " + by, Allow: true, Roles: []string{"lead"}}); err != nil {
				t.Error(err)
			}
		}
		check(t, <-end, obstat.Allow, "approved by eve and joe")
	})
}

// TestLarge: ten megabytes are decided, not shown and not written, and the
// ledger says so.
func TestLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		big := strings.Repeat("x", 10<<20)
		check(t, b.decide(bash("make "+big)), obstat.Deny)
		c := &obstat.Call{Tool: "edit", Input: json.RawMessage(`{"filePath":"/src/app/a","newString":"` + big[:9<<20] + `"}`), Dir: "/src/app", Session: "s1"}
		check(t, b.decide(c), obstat.Deny, "more than a human can be shown")
		c.Input = json.RawMessage("not json \xff")
		check(t, b.decide(c), obstat.Deny)
		recs := b.records(ledger.Decision)
		if len(recs) != 3 || len(recs[0].Input) > 200 || len(recs[0].Reason) > 10_000 || recs[0].Call == "" {
			t.Errorf("%d records, %s", len(recs), recs[0].Input)
		}
		if rs, _ := b.store.Requests(t.Context(), approval.Query{}); len(rs) != 0 {
			t.Errorf("%d requests", len(rs))
		}
		if _, err := b.store.Verify(t.Context(), ledger.Hash{}); err != nil {
			t.Error(err)
		}
	})
}

func TestRepeats(t *testing.T) {
	b := open(t, `{"permission": {"bash": "allow", "doom_loop": "deny"}}`, nil)
	for i := range 4 {
		want := obstat.Allow
		if i >= 2 {
			want = obstat.Deny
		}
		check(t, b.decide(bash("git status")), want)
		other := bash("git status")
		other.Session = "s2"
		if i == 0 {
			check(t, b.decide(other), obstat.Allow)
		}
	}
	check(t, b.decide(bash("git log")), obstat.Allow)
	check(t, b.decide(bash("git status")), obstat.Allow)
}

func TestSubagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := open(t, policy, func(o *gate.Options) { o.Approval.Timeout = time.Second })
		child := open(t, `{"permission": {"bash": {"*": "allow", "git push *": "deny"}, "edit": "allow"}}`, func(o *gate.Options) { o.Parent = parent.Gate })
		grandchild := open(t, `{"permission": "allow"}`, func(o *gate.Options) { o.Parent = child.Gate })
		for _, g := range []*bench{child, grandchild} {
			check(t, g.decide(bash("git status")), obstat.Allow)
			check(t, g.decide(bash("rm x")), obstat.Deny, "the agent that started this one")
			check(t, g.decide(bash("git push origin")), obstat.Deny)
			check(t, g.decide(bash("make")), obstat.Deny, "nobody answered") // the parent's ask
			c := bash("make")
			c.Mode = "plan" // nothing to the parent
			if d := g.decide(c); d.Verdict != obstat.Deny {
				t.Errorf("%s", d.Reason())
			}
		}
		end := make(chan obstat.Decision, 1)
		go func() { end <- grandchild.decide(bash("make all")) }()
		synctest.Wait()
		if _, err := parent.Broker().Answer(t.Context(), parent.pending().ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Session}); err != nil {
			t.Fatal(err)
		}
		check(t, <-end, obstat.Allow)
		check(t, grandchild.decide(bash("make all")), obstat.Allow, "for the session")
		check(t, parent.decide(bash("make all")), obstat.Allow)
	})
}

// TestConcurrent: many callers, a policy that changes under them, and a ledger
// that holds.
func TestConcurrent(t *testing.T) {
	b := open(t, policy, nil)
	b.terms.Ask = gate.Leave
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				c := bash([]string{"git status", "rm x", "make"}[i%3])
				c.Session = fmt.Sprint(i, n)
				d, err := b.Authorize(t.Context(), c)
				if err != nil || d.Verdict != []obstat.Verdict{obstat.Allow, obstat.Deny, obstat.Ask}[i%3] {
					t.Errorf("%s %v", d.Reason(), err)
				}
				b.Status(t.Context())
			}
		})
	}
	for i := range 10 {
		text := policy
		if i%2 == 0 {
			text = strings.Replace(policy, `"edit": "ask"`, `"edit": "deny"`, 1)
		}
		write(t, b.file+".new", text)
		if err := os.Rename(b.file+".new", b.file); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if v, err := b.store.Verify(t.Context(), ledger.Hash{}); err != nil || v.Records < 161 {
		t.Errorf("%+v %v", v, err)
	}
}

// TestReplayable: what is written down is enough to decide again.
func TestReplayable(t *testing.T) {
	world := &obstat.Snapshot{HomeDir: "/home/ann", Links: map[string]string{"/src/app/link": "/home/ann/.ssh"}, Dirs: []string{"/src/app", "/home/ann/.ssh"}}
	b := open(t, policy, func(o *gate.Options) { o.World = world })
	b.terms.Ask = gate.Leave
	l := load(t, b.file)
	calls := []*obstat.Call{bash("cat link/id_rsa > ~/x"), bash("rm -rf ~/y"), bash("ls ~ && cd link && make"), {Tool: "read", Input: json.RawMessage(`{"filePath":"link/id_rsa"}`), Dir: "/src/app"}}
	for _, c := range calls {
		d := b.decide(c)
		recs := b.records(ledger.Decision)
		r := recs[len(recs)-1]
		back, more, err := r.Replayable()
		if err != nil || more.Partial != "" || r.World == nil || r.Trace != "" {
			t.Fatalf("%+v %+v %v", r, more, err)
		}
		again := l.Policy.Decide(back, r.World)
		if again.Verdict != d.Verdict || again.Stage != d.Stage || again.Part != d.Part {
			t.Errorf("%s: %s, then %s", c.Input, d.Reason(), again.Reason())
		}
	}
}
