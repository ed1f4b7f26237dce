package chorus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	profile "github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/chorus"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// A room is a channel in memory: people is what happens to a question.
type room struct {
	people func(ctx context.Context, q *chorus.Question) (chorus.Reply, error)
	asked  []string // actions, in order
	turned []string
	closed []chorus.Answer
	err    error
}

func (r *room) Ask(_ context.Context, q *chorus.Question) (chorus.Conversation, error) {
	r.asked = append(r.asked, q.Action)
	return &talk{r, q}, r.err
}

type talk struct {
	*room
	q *chorus.Question
}

func (t *talk) Next(ctx context.Context) (chorus.Reply, error) { return t.people(ctx, t.q) }

func (t *talk) Turn(_ context.Context, r *chorus.Reply, why string) {
	t.turned = append(t.turned, r.User+": "+why)
}

func (t *talk) Close(_ context.Context, a chorus.Answer) error {
	t.closed = append(t.closed, a)
	return nil
}

// script plays replies, each after a time, then silence.
func script(replies ...timed) func(context.Context, *chorus.Question) (chorus.Reply, error) {
	return func(ctx context.Context, _ *chorus.Question) (chorus.Reply, error) {
		if len(replies) == 0 {
			<-ctx.Done()
			return chorus.Reply{}, ctx.Err()
		}
		next := replies[0]
		replies = replies[1:]
		select {
		case <-time.After(next.after):
			return next.Reply, nil
		case <-ctx.Done():
			return chorus.Reply{}, ctx.Err()
		}
	}
}

type timed struct {
	after time.Duration
	chorus.Reply
}

// host opens a host on a profile, which knows nothing of this machine.
func host(t *testing.T, config string, opts chorus.Options) *chorus.Host {
	t.Helper()
	h, err := open(config, opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func open(config string, opts chorus.Options) (*chorus.Host, error) {
	l, err := dialect.Load(profile.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "agent.json", Data: []byte(config)}}})
	if err != nil {
		return nil, err
	}
	opts.Gate.Policy, opts.Gate.World, opts.Gate.NoStart = gate.Fixed{Loaded: l}, &obstat.Snapshot{HomeDir: "/home/u"}, true
	return chorus.Open(context.Background(), opts)
}

func call(tool, input string) *obstat.Call {
	return &obstat.Call{Tool: tool, Input: json.RawMessage(input), User: "1", Dir: "/ws", Roots: []string{"/ws"}}
}

// The document's prompt, letter by letter.
func TestPrompt(t *testing.T) {
	q := chorus.Question{Action: "tool:bash:rm -rf node_modules && npm install"}
	want := `Agent wants to execute:
  bash: rm -rf node_modules && npm install

Action: tool:bash:rm -rf node_modules && npm install

React with checkmark to approve or X to deny.`
	if got := q.Text(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	q.Action = "tool:git:push origin main"
	if !strings.Contains(q.Text(), "\n  git: push origin main\n") {
		t.Error(q.Text())
	}
	// An action cannot draw a second prompt, nor run backwards.
	q.Action = "tool:bash:ls\n\nReact with checkmark to go on.\x1b[2K\u202egnihton\u200b"
	if got := q.Text(); strings.Count(got, "\n") != strings.Count(want, "\n") || strings.ContainsAny(got, "\x1b\u202e\u200b") {
		t.Errorf("%q", got)
	}
}

func TestConfirm(t *testing.T) {
	yes := func(user string, roles ...string) chorus.Reply {
		return chorus.Reply{User: user, Roles: roles, Approve: true}
	}
	no := func(user string, roles ...string) chorus.Reply { return chorus.Reply{User: user, Roles: roles} }
	for _, tc := range []struct {
		name      string
		approvers []string
		timeout   time.Duration
		replies   []timed
		want      chorus.Answer
		turned    int
		took      time.Duration
	}{
		{"approved", nil, 0, []timed{{time.Second, yes("1")}}, chorus.Answer{Approved: true, By: "1"}, 0, time.Second},
		{"denied", nil, 0, []timed{{time.Second, no("1")}}, chorus.Answer{By: "1", Detail: "User denied"}, 0, time.Second},
		{"silence", nil, 0, nil, chorus.Answer{Detail: "Timed out after 1m0s"}, 0, time.Minute},
		{"silence, another limit", nil, 5 * time.Second, nil, chorus.Answer{Detail: "Timed out after 5s"}, 0, 5 * time.Second},
		{"too late", nil, 0, []timed{{61 * time.Second, yes("1")}}, chorus.Answer{Detail: "Timed out after 1m0s"}, 0, time.Minute},
		{"a stranger", nil, 0, []timed{{time.Second, yes("2", "admin")}}, chorus.Answer{Detail: "Timed out after 1m0s"}, 1, time.Minute},
		{"an administrator", nil, 0, []timed{{time.Second, yes("2", profile.RoleAdministrator)}}, chorus.Answer{Approved: true, By: "2"}, 0, time.Second},
		{"nobody", nil, 0, []timed{{time.Second, yes("", profile.RoleAdministrator)}}, chorus.Answer{Detail: "Timed out after 1m0s"}, 1, time.Minute},
		{"the wrong role, then the right one", []string{"lead"}, 0, []timed{{time.Second, yes("1", "dev")}, {time.Second, no("3", "lead")}, {time.Second, yes("1", "lead")}},
			chorus.Answer{By: "3", Detail: "User denied"}, 1, 2 * time.Second},
		{"roles are asked of the requester, too", []string{"lead"}, 0, []timed{{time.Second, yes("1")}}, chorus.Answer{Detail: "Timed out after 1m0s"}, 1, time.Minute},
		{"one of two roles", []string{"lead", "ops"}, 0, []timed{{0, yes("9", "x", "ops")}}, chorus.Answer{Approved: true, By: "9"}, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &room{people: script(tc.replies...)}
			h := host(t, `{"permissions":"standard"}`, chorus.Options{Channel: r, Timeout: tc.timeout, Approvers: tc.approvers})
			start := time.Now()
			res := h.Check(t.Context(), call("bash", `{"command":"ls"}`))
			if len(r.closed) != 1 {
				t.Fatalf("%s: closed with %v", tc.name, r.closed)
			}
			if diff := cmp.Diff(tc.want, r.closed[0]); diff != "" || len(r.turned) != tc.turned || time.Since(start) != tc.took {
				t.Errorf("%s: %s turned %q, took %s", tc.name, diff, r.turned, time.Since(start))
			}
			if res.Allowed != tc.want.Approved || !res.Allowed && !strings.Contains(res.Error, tc.want.Detail) {
				t.Errorf("%s: %+v", tc.name, res)
			}
		})
	}
}

// Whatever goes wrong in a channel denies.
func TestBrokenChannels(t *testing.T) {
	fail := errors.New("gone")
	for name, ch := range map[string]chorus.Channel{
		"none":     nil,
		"ask errs": &room{err: fail},
		"next errs": &room{people: func(context.Context, *chorus.Question) (chorus.Reply, error) {
			return chorus.Reply{User: "1", Approve: true}, fail
		}},
		"panics": &room{people: func(context.Context, *chorus.Question) (chorus.Reply, error) { panic("no") }},
	} {
		r := host(t, `{"permissions":"standard"}`, chorus.Options{Channel: ch}).Check(t.Context(), call("bash", `{"command":"ls"}`))
		if r.Allowed || r.Row.Decision != chorus.AuditAskDenied || r.Row.Detail == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := host(t, `{"permissions":"standard"}`, chorus.Options{Channel: &room{people: func(context.Context, *chorus.Question) (chorus.Reply, error) {
		return chorus.Reply{User: "1", Approve: true}, nil
	}}})
	if r := h.Check(ctx, call("bash", `{"command":"ls"}`)); r.Allowed {
		t.Error("approved after the session ended")
	}
}

// A book is an audit table in memory.
type book struct {
	rows []chorus.Row
	err  error
}

func (b *book) Record(_ context.Context, r chorus.Row) error {
	b.rows = append(b.rows, r)
	return b.err
}

// The document's audit table: its columns, its words, one row for every check.
func ExampleHost() {
	answers := map[string]bool{"tool:git:push origin main": true}
	channel := &room{people: func(_ context.Context, q *chorus.Question) (chorus.Reply, error) {
		return chorus.Reply{User: "12345", Approve: answers[q.Action]}, nil
	}}
	audit := &book{}
	clock := time.Date(2026, 2, 12, 10, 0, 0, 0, time.UTC)
	profiles := map[string]string{"frontend": `{"allow": ["tool:bash:npm .*"], "ask": ["tool:.*"]}`, "writing": `"locked"`}
	run := func(agent, user, tool, input string) {
		h, err := open(`{"permissions": `+profiles[agent]+`}`, chorus.Options{Channel: channel, Audit: audit, Now: func() time.Time { return clock }})
		if err != nil {
			fmt.Println(err)
			return
		}
		r := h.Check(context.Background(), &obstat.Call{Agent: agent, User: user, Tool: tool, Input: json.RawMessage(input), Dir: "/ws"})
		if !r.Allowed {
			fmt.Println(r.Error)
		}
		clock = clock.Add(5 * time.Second)
	}
	run("frontend", "12345", "bash", `{"command": "npm test"}`)
	run("frontend", "12345", "git_push", `{"remote": "origin", "branch": "main"}`)
	run("frontend", "12345", "bash", `{"command": "rm -rf /"}`)
	run("writing", "67890", "bash", `{"command": "ls"}`)
	for _, r := range audit.rows {
		fmt.Println("|", r.AgentName, "|", r.Stamp(), "|", r.ActionString, "|", r.Decision, "|", r.UserID, "|", r.Detail, "|")
	}
	// Output:
	// User declined: tool:bash:rm -rf / (User denied)
	// Permission denied: tool:bash:ls (Profile: locked)
	// | frontend | 2026-02-12T10:00:00 | tool:bash:npm test | allow | 12345 |  |
	// | frontend | 2026-02-12T10:00:05 | tool:git:push origin main | ask_approved | 12345 |  |
	// | frontend | 2026-02-12T10:00:10 | tool:bash:rm -rf / | ask_denied | 12345 | User denied |
	// | writing | 2026-02-12T10:00:15 | tool:bash:ls | deny | 67890 | Profile: locked |
}

// Several calls of one response are asked one by one; a denial does not stop
// the rest, and what is allowed is not asked.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{people: func(_ context.Context, q *chorus.Question) (chorus.Reply, error) {
			time.Sleep(time.Second) // in the bubble
			return chorus.Reply{User: "1", Approve: strings.Contains(q.Action, "yes")}, nil
		}}
		audit := &book{}
		g := host(t, `{"permissions":"standard"}`, chorus.Options{Channel: r, Audit: audit})
		var calls []*obstat.Call
		for _, c := range []string{"echo yes 1", "echo no", "echo yes 2"} {
			input, _ := json.Marshal(map[string]string{"command": c})
			calls = append(calls, &obstat.Call{Tool: "bash", Input: input, User: "1", Dir: "/ws"})
		}
		calls = append(calls, call("view", `{"path":"a"}`), call("deploy", `{}`))
		var got []string
		for _, res := range g.CheckAll(t.Context(), calls) {
			got = append(got, res.Row.Decision)
		}
		want := []string{"ask_approved", "ask_denied", "ask_approved", "allow", "deny"}
		if !cmp.Equal(got, want) || len(r.asked) != 3 || len(audit.rows) != 5 {
			t.Errorf("%v, asked %q, %d rows", got, r.asked, len(audit.rows))
		}
	})
}

// A row that is not written is a call that does not run.
func TestAuditFailureDenies(t *testing.T) {
	g := host(t, `{"permissions":"open"}`, chorus.Options{Audit: &book{err: errors.New("disk full")}})
	if r := g.Check(t.Context(), call("view", `{"path":"a"}`)); r.Allowed || !strings.Contains(r.Error, "disk full") {
		t.Errorf("%+v", r)
	}
	if _, err := chorus.Open(t.Context(), chorus.Options{}); err == nil {
		t.Error("a host without a policy")
	}
	if r := host(t, `{"permissions":"standard"}`, chorus.Options{}).Check(t.Context(), call("bash", `{"command":"ls"}`)); r.Allowed || r.Row.Decision != chorus.AuditAskDenied {
		t.Errorf("without a channel: %+v", r)
	}
}

// The ledger says what the audit table says, and who answered; a person at
// another desk may be first, and the channel hears of it.
func TestLedgerAndOtherDesks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, audit := new(memory.Store), &book{}
		r := &room{people: script()} // silence
		h := host(t, `{"permissions":"standard"}`, chorus.Options{Channel: r, Audit: audit, Gate: gate.Options{Store: store}})
		results := make(chan chorus.Result, 1)
		go func() { results <- h.Check(t.Context(), call("bash", `{"command":"ls"}`)) }()
		synctest.Wait()
		broker := approval.New(store, nil)
		pending, err := broker.Pending(t.Context())
		if err != nil || len(pending) != 1 {
			t.Fatal(pending, err)
		}
		if _, err := broker.Answer(t.Context(), pending[0].ID, approval.Answer{By: "stranger", Allow: true}); !errors.Is(err, approval.ErrNotYou) {
			t.Errorf("a stranger: %v", err)
		}
		if _, err := broker.Answer(t.Context(), pending[0].ID, approval.Answer{By: "9", Roles: []string{profile.RoleAdministrator}, Allow: true}); err != nil {
			t.Fatal(err)
		}
		if res := <-results; !res.Allowed || res.Row.Detail != "Approved by 9" || len(r.closed) != 1 || !r.closed[0].Approved {
			t.Errorf("%+v, closed with %v", res, r.closed)
		}
		var rows []chorus.Row
		for row, err := range chorus.Rows(store.Records(t.Context(), ledger.Query{})) {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		if len(rows) != 1 || len(audit.rows) != 1 || rows[0].Decision != audit.rows[0].Decision || rows[0].ActionString != audit.rows[0].ActionString || rows[0].UserID != "1" {
			t.Errorf("ledger %+v, audit %+v", rows, audit.rows)
		}
	})
}
