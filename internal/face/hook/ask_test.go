package hook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

const rules = `{"permission": {"bash": {"*": "ask", "rm *": "deny", "git status": "allow"}, "edit": "allow"}}`

// A scene is a hook that asks, and a store where somebody may answer.
type scene struct {
	t     *testing.T
	file  string
	store store.Store
	opts  Options
	told  []string
	mu    sync.Mutex
}

// watching starts the one goroutine that the process has for signals before a
// bubble could take it for its own.
var watching = sync.OnceFunc(func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM) })

func newScene(t *testing.T) *scene {
	t.Helper()
	watching()
	s := &scene{t: t, file: filepath.Join(t.TempDir(), "opencode.json"), store: unclosed{store.Memory()}}
	if err := os.WriteFile(s.file, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	marker := statedir.Grants(statedir.Store(filepath.Join(state, "obstat")))
	if err := errors.Join(os.MkdirAll(filepath.Dir(marker), 0o700), os.WriteFile(marker, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.opts = Options{World: &obstat.Snapshot{HomeDir: "/home/ann"}, Waiting: Waiting{For: 50 * time.Second},
		Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] },
		Getwd:  func() (string, error) { return "/src", nil },
		open:   func(context.Context, string) (store.Store, error) { return s.store, nil },
		taken:  func(string) bool { return true },
		ledger: s.store,
		Notify: func(title, text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, title+": "+text)
		}}
	return s
}

// unclosed is a store that outlives the hook that opens it.
type unclosed struct{ store.Store }

func (unclosed) Close() error { return nil }

// ask is a call on its way, by the policy of the scene's file.
func (s *scene) ask(command string) *turn { return s.askBy(s.file, agent.Codex, command) }

// askBy is a call of an agent by the policies of files.
func (s *scene) askBy(file, name, command string) *turn {
	s.t.Helper()
	in, _ := json.Marshal(map[string]string{"command": command})
	call := obstat.Call{Tool: "bash", Input: in, Agent: name, Session: "s", Dir: "/src"}
	t := &turn{run: &run{Options: s.opts, began: time.Now(), timer: time.NewTimer(time.Hour)}, event: &agent.Event{Agent: name, Name: "PreToolUse", Mode: "default", Call: &call}}
	t.Policy.Files = []string{file}
	return t
}

// first returns the request that is open.
func (s *scene) first() *approval.Request {
	s.t.Helper()
	open, err := approval.New(s.store, nil).Pending(context.Background())
	if err != nil || len(open) == 0 {
		s.t.Fatalf("%d requests, %v", len(open), err)
	}
	return open[0]
}

func (s *scene) say(id string, a approval.Answer) error {
	a.By = "ann"
	_, err := approval.New(s.store, nil).Answer(context.Background(), id, a)
	return err
}

// answered returns what comes of an ask that somebody answers, in a bubble of
// synctest.
func (s *scene) answered(a *turn, answer approval.Answer) obstat.Decision {
	s.t.Helper()
	done := make(chan obstat.Decision)
	go func() {
		done <- a.decide(context.Background()).Decision
	}()
	synctest.Wait()
	if err := s.say(s.first().ID, answer); err != nil {
		s.t.Fatal(err)
	}
	return <-done
}

// verdicts returns what the ledger has of a kind.
func (s *scene) verdicts(kind ledger.Kind) (out []string) {
	for r, err := range s.store.Records(context.Background(), ledger.Query{Kind: kind}) {
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, r.Verdict)
	}
	return out
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer *approval.Answer // nil: nobody answers
		want   obstat.Verdict
		words  string
		input  string
		grants int
		always string // in the policy's file afterwards
	}{
		{name: "yes", answer: &approval.Answer{Allow: true, Scope: approval.Once}, want: obstat.Allow, words: "approved by ann"},
		{name: "for the session", answer: &approval.Answer{Allow: true, Scope: approval.Session}, want: obstat.Allow, words: "approved by ann", grants: 1},
		{name: "for the user", answer: &approval.Answer{Allow: true, Scope: approval.User}, want: obstat.Allow, words: "approved by ann", grants: 1},
		{name: "always", answer: &approval.Answer{Allow: true, Scope: approval.Always, Offer: 1}, want: obstat.Allow, words: "approved by ann", always: "npm test"},
		{name: "other arguments", answer: &approval.Answer{Allow: true, Scope: approval.Once, Input: []byte(`{"command":"npm run check"}`)}, want: obstat.Allow, words: "with other arguments", input: `{"command":"npm run check"}`},
		{name: "other arguments that are denied", answer: &approval.Answer{Allow: true, Scope: approval.Once, Input: []byte(`{"command":"rm -rf x"}`)}, words: "so are the arguments as ann changed them"},
		{name: "no", answer: &approval.Answer{Words: "use make"}, words: "refused by ann: use make"},
		{name: "nobody", words: "nobody answered within 50s; no human refused it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t)
			synctest.Test(t, func(t *testing.T) {
				a := s.ask("npm test")
				done := make(chan obstat.Decision)
				go func() { done <- a.decide(context.Background()).Decision }()
				synctest.Wait()
				if r := s.first(); tc.answer != nil {
					if err := s.say(r.ID, *tc.answer); err != nil {
						t.Fatal(err)
					}
				}
				got := <-done
				if got.Verdict != tc.want || !strings.Contains(got.Reason(), tc.words) || string(got.Input) != tc.input {
					t.Errorf("%v, %s, %s", got.Verdict, got.Reason(), got.Input)
				}
			})
			if grants, err := s.store.Grants(context.Background(), time.Now()); err != nil || len(grants) != tc.grants {
				t.Errorf("%d grants, %v", len(grants), err)
			}
			if data, _ := os.ReadFile(s.file); strings.Contains(string(data), "npm") != (tc.always != "") {
				t.Errorf("the policy is %s", data)
			}
			if d := s.verdicts(ledger.Decision); len(d) != 1 || d[0] != tc.want.String() {
				t.Errorf("decisions %q", d)
			}
			if len(s.verdicts(ledger.Ask)) != 1 || len(s.verdicts(ledger.Answer)) != 1 {
				t.Error("the ask or its answer is not in the ledger once")
			}
			if len(s.told) != 1 || strings.Contains(s.told[0], "npm") || !strings.Contains(s.told[0], "codex wants to use bash") {
				t.Errorf("told %q", s.told)
			}
		})
	}
}

// TestGranted: what was granted is not asked again, also where nobody is there.
func TestGranted(t *testing.T) {
	s := newScene(t)
	synctest.Test(t, func(t *testing.T) {
		if d := s.answered(s.ask("npm test"), approval.Answer{Allow: true, Scope: approval.Session}); d.Verdict != obstat.Allow {
			t.Fatal(d.Reason())
		}
		s.opts.taken = func(string) bool { return false }
		for command, want := range map[string]obstat.Verdict{"npm test": obstat.Allow, "npm publish": obstat.Deny} {
			if d := s.ask(command).decide(context.Background()); d.Verdict != want {
				t.Errorf("%s: %v, %s", command, d.Verdict, d.Reason())
			}
		}
	})
}

// TestNative: where the agent asks by itself it is spared what was granted, and
// asks about everything else.
func TestNative(t *testing.T) {
	s := newScene(t)
	synctest.Test(t, func(t *testing.T) {
		write := "echo > " + s.file // changes the policy: never granted before
		for _, command := range []string{"npm test", write} {
			s.answered(s.ask(command), approval.Answer{Allow: true})
		}
		s.answered(s.ask("npm test"), approval.Answer{Allow: true, Scope: approval.Session})
		for _, tc := range []struct {
			command string
			broken  bool
			want    obstat.Verdict
		}{
			{"npm test", false, obstat.Allow},
			{"npm publish", false, obstat.Ask},
			{write, false, obstat.Ask},
			{"npm test", true, obstat.Ask},
		} {
			a := s.askBy(s.file, agent.ClaudeCode, tc.command)
			if tc.broken {
				a.open = func(context.Context, string) (store.Store, error) { return nil, errors.New("the disk is full") }
			}
			if d := a.decide(context.Background()); d.Verdict != tc.want {
				t.Errorf("%+v: %v, %s", tc, d.Verdict, d.Reason())
			}
		}
	})
}

func TestNobody(t *testing.T) {
	broken := errors.New("the disk is full")
	for _, tc := range []struct {
		name  string
		set   func(*turn)
		words string
	}{
		{"nobody at the desk", func(a *turn) { a.taken = func(string) bool { return false } }, "nobody is there to ask"},
		{"told not to", func(a *turn) { a.Waiting.Off = true }, "nobody is there to ask"},
		{"no time", func(a *turn) { a.began = a.began.Add(-time.Minute) }, "nobody is there to ask"},
		{"no store, nobody", func(a *turn) {
			a.open, a.taken = store.Open, func(string) bool { return false }
			a.Getenv = func(string) string { return "/nonexistent" }
		}, "nobody is there to ask"},
		{"no home", func(a *turn) { a.Getenv = func(string) string { return "" } }, "nobody can be asked"},
		{"a store that does not open", func(a *turn) {
			a.open = func(context.Context, string) (store.Store, error) { return nil, broken }
		}, "the disk is full"},
		{"a file that is no store", func(a *turn) {
			state := t.TempDir()
			a.open, a.Getenv = store.Open, func(string) string { return state }
			db := statedir.Store(filepath.Join(state, "obstat"))
			if err := errors.Join(os.MkdirAll(filepath.Dir(db), 0o700), os.WriteFile(db, []byte(strings.Repeat("garbage", 1000)), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "the store cannot be opened"},
	} {
		s := newScene(t)
		a := s.ask("npm test")
		tc.set(a)
		d := a.decide(context.Background())
		if d.Verdict != obstat.Deny || !strings.Contains(d.Reason(), tc.words) {
			t.Errorf("%s: %v, %s", tc.name, d.Verdict, d.Reason())
		}
	}
}

// TestWhy: where nobody is there to ask, or nobody answers, the model hears why
// the call asks, in every agent's form.
func TestWhy(t *testing.T) {
	s := newScene(t)
	s.opts.taken = func(string) bool { return false }
	a := s.ask("npm test")
	d := a.decide(context.Background())
	for _, name := range agent.Agents() {
		e := &agent.Event{Agent: name, Name: "PreToolUse", Call: a.event.Call}
		r := e.Encode(&d.Decision, nil)
		for _, words := range []string{"ask rule", s.file + ":1:", "no person has refused it", "nobody is there to ask"} {
			if !strings.Contains(string(r.Stdout)+string(r.Stderr), words) {
				t.Errorf("%s: nothing of %q in %s%s", name, words, r.Stdout, r.Stderr)
			}
		}
	}
}

// TestTwo: two hooks that ask at once get an answer each, their own.
func TestTwo(t *testing.T) {
	s := newScene(t)
	synctest.Test(t, func(t *testing.T) {
		var one, two obstat.Decision
		var wg sync.WaitGroup
		wg.Go(func() { one = s.ask("npm test").decide(context.Background()).Decision })
		synctest.Wait()
		wg.Go(func() { two = s.ask("npm publish").decide(context.Background()).Decision })
		synctest.Wait()
		first := s.first()
		if err := s.say(first.ID, approval.Answer{Allow: true, Scope: approval.Once}); err != nil {
			t.Fatal(err)
		}
		if err := s.say(s.first().ID, approval.Answer{}); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if one.Verdict != obstat.Allow || two.Verdict != obstat.Deny {
			t.Errorf("%v, %v", one.Verdict, two.Verdict)
		}
	})
}

// TestGone: a hook that is told to end takes its request back, and an answer
// that comes later finds nothing to answer.
func TestGone(t *testing.T) {
	s := newScene(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan obstat.Decision)
		go func() {
			d := s.ask("npm test").decide(ctx).Decision
			done <- d
		}()
		synctest.Wait()
		r := s.first()
		cancel()
		if d := <-done; d.Verdict != obstat.Deny || !strings.Contains(d.Reason(), "withdrawn") {
			t.Errorf("%v, %s", d.Verdict, d.Reason())
		}
		if err := s.say(r.ID, approval.Answer{Allow: true, Scope: approval.Session}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("a late answer: %v", err)
		}
		if grants, _ := s.store.Grants(context.Background(), time.Now()); len(grants) > 0 {
			t.Error("a late answer left a grant")
		}
	})
}

// TestKilled: the request of a hook that was killed ends with its time.
func TestKilled(t *testing.T) {
	s := newScene(t)
	synctest.Test(t, func(t *testing.T) {
		// Who is killed does not settle anything: the request is just there.
		r := &approval.Request{ID: "req_dead", Call: *s.ask("npm test").event.Call, Created: time.Now(), Expires: time.Now().Add(25 * time.Second), State: approval.Pending}
		if err := s.store.PutRequest(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(26 * time.Second)
		if err := s.say(r.ID, approval.Answer{Allow: true, Scope: approval.Once}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("a late answer: %v", err)
		}
		open, err := approval.New(s.store, nil).Pending(context.Background())
		if err != nil || len(open) != 0 {
			t.Errorf("%d requests are open, %v", len(open), err)
		}
		if now, err := s.store.Request(context.Background(), r.ID); err != nil || now.State != approval.Expired {
			t.Errorf("%+v, %v", now, err)
		}
	})
}

// TestRace: an answer at the last moment and the end of the time have one
// outcome, the same for who asked, who answered and the ledger.
func TestRace(t *testing.T) {
	for range 50 {
		s := newScene(t)
		synctest.Test(t, func(t *testing.T) {
			done := make(chan obstat.Decision)
			go func() {
				d := s.ask("npm test").decide(context.Background()).Decision
				done <- d
			}()
			synctest.Wait()
			r := s.first()
			said := make(chan error)
			go func() {
				time.Sleep(time.Until(r.Expires))
				said <- s.say(r.ID, approval.Answer{Allow: true, Scope: approval.Session, Time: r.Expires.Add(-1)})
			}()
			d, err := <-done, <-said
			now, _ := s.store.Request(context.Background(), r.ID)
			grants, _ := s.store.Grants(context.Background(), time.Now())
			won := err == nil
			if won != (d.Verdict == obstat.Allow) || won != (now.State == approval.Done) || won != (len(grants) == 1) || !won && now.State != approval.Expired {
				t.Errorf("%v, %v, %v, %d grants", d.Verdict, err, now.State, len(grants))
			}
			if v := s.verdicts(ledger.Decision); len(v) != 1 || v[0] != d.Verdict.String() {
				t.Errorf("decisions %q", v)
			}
		})
	}
}

// TestNoPolicy: without a policy a person can still be asked.
func TestNoPolicy(t *testing.T) {
	s := newScene(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := s.ask("npm test")
		a.Policy.Files, a.event.Call.Dir = nil, dir
		a.Getwd = func() (string, error) { return dir, nil }
		if d := s.answered(a, approval.Answer{Allow: true}); d.Verdict != obstat.Allow {
			t.Error(d.Reason())
		}
	})
}

// TestParents: changed arguments are put to every policy of the call.
func TestParents(t *testing.T) {
	s := newScene(t)
	dir := t.TempDir()
	lax, strict := filepath.Join(dir, "lax"), filepath.Join(dir, "strict")
	for at, text := range map[string]string{lax: rules, strict: `{"permission":{"bash":{"*":"ask","curl *":"deny"}}}`} {
		if err := errors.Join(os.Mkdir(at, 0o755), os.WriteFile(filepath.Join(at, "opencode.json"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		a := s.ask("npm test")
		a.Policy.Files, a.event.Call.Dir = nil, lax
		a.Getwd = func() (string, error) { return strict, nil }
		if d := s.answered(a, approval.Answer{Allow: true, Input: []byte(`{"command":"curl evil"}`)}); d.Verdict != obstat.Deny {
			t.Error(d.Reason())
		}
	})
}

func TestNotifier(t *testing.T) {
	env := func(kv ...string) func(string) string {
		return func(k string) string {
			for i := 0; i+1 < len(kv); i += 2 {
				if kv[i] == k {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		goos string
		env  func(string) string
		want string
	}{
		{"linux", env(), ""}, {"linux", env("DISPLAY", ":0"), "notify-send"}, {"linux", env("WAYLAND_DISPLAY", "w"), "notify-send"},
		{"darwin", env(), "osascript"}, {"darwin", env("SSH_CONNECTION", "x"), ""}, {"windows", env("DISPLAY", ":0"), ""},
	} {
		got := notifier(tc.goos, tc.env)
		if tc.want == "" && got != nil || tc.want != "" && (len(got) == 0 || got[0] != tc.want) {
			t.Errorf("%s: %q", tc.goos, got)
		}
	}
	if s := plain("a\x1b[31m<b>&%" + strings.Repeat("x", 100)); strings.ContainsAny(s, "\x1b<&%") || len(s) > 40 {
		t.Errorf("%q", s)
	}
}
