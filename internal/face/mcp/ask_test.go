package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
)

// asks opens a gateway whose client shows forms and makes a call that is asked about. It returns the id of the form.
func asks(t *testing.T, attended, piped bool) (w *wire, form string) {
	t.Helper()
	w = newWire(t, `{"ask":["mcp__toy__echo"]}`)
	w.s.Guard.Quickest = time.Hour // whatever comes, comes at once
	w.s.Guard.Piped = piped
	w.s.Guard.Attended = func() bool { return attended }
	w.one(w.says, w.server, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"codex-mcp-client","version":"1"}}}`)
	w.one(w.answers, w.client, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"toy","version":"1"}}}`)
	w.lists("echo")
	w.says(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
	_, rest, _ := strings.Cut(w.next(w.client), `"id":"`)
	form, _, _ = strings.Cut(rest, `"`)
	return w, form
}

// pending returns the broker and the one request that is open, nil if none is.
func (w *wire) pending() (*approval.Broker, *approval.Request) {
	w.t.Helper()
	store, err := w.s.requests(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	b := approval.New(store, nil)
	open, err := b.Pending(w.t.Context())
	if err != nil || len(open) > 1 {
		w.t.Fatal(open, err)
	}
	if len(open) == 0 {
		return b, nil
	}
	return b, open[0]
}

// TestDeclinedByProgram: a form that is declined before anybody can have read it was declined by a program,
// as `codex exec` and `copilot -p` do: no person has refused the call, and one at obstat ask can still allow it.
func TestDeclinedByProgram(t *testing.T) {
	decline := `{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`
	w, form := asks(t, false, false)
	w.says(fmt.Sprintf(decline, form))
	if got := w.next(w.client); !strings.Contains(got, "no person has refused it") {
		t.Errorf("nobody is there: %s", got)
	}
	if _, r := w.pending(); r != nil {
		t.Errorf("nobody is there, and %s is still open", r.ID)
	}

	w, form = asks(t, true, false)
	w.says(fmt.Sprintf(decline, form))
	w.through(`{"jsonrpc":"2.0","id":50,"method":"ping"}`, `{"jsonrpc":"2.0","id":50,"result":{}}`)
	b, r := w.pending()
	if r == nil {
		t.Fatal("the request has ended with the form")
	}
	if _, err := b.Answer(t.Context(), r.ID, approval.Answer{Allow: true, Scope: approval.Once, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(w.next(w.server), `"method":"tools/call"`) {
	}

	w, form = asks(t, false, false)
	w.s.Guard.Quickest = time.Nanosecond
	w.says(fmt.Sprintf(decline, form))
	if got := w.next(w.client); !strings.Contains(got, "refused by") {
		t.Errorf("a person has declined: %s", got)
	}
}

// TestClientGone: a request is withdrawn where its client was at the other end of this process's input, and
// stays where it may come back.
func TestClientGone(t *testing.T) {
	for _, piped := range []bool{true, false} {
		w, _ := asks(t, true, piped)
		w.s.mu.Lock()
		cancel := w.s.asked["5"].cancel
		w.s.mu.Unlock()
		b, r := w.pending()
		if r == nil {
			t.Fatal("nobody is asked")
		}
		cancel()
		if !piped {
			if got := w.next(w.client); !strings.Contains(got, "notifications/cancelled") {
				t.Errorf("the form is not taken back: %s", got)
			}
			w.through(`{"jsonrpc":"2.0","id":50,"method":"ping"}`, `{"jsonrpc":"2.0","id":50,"result":{}}`)
			if _, r := w.pending(); r == nil {
				t.Error("the request has ended with the connection")
			}
			continue
		}
		if ended, err := b.Wait(t.Context(), r.ID); err != nil || ended.State != approval.Canceled {
			t.Errorf("%+v, %v", ended, err)
		}
	}
}

// TestFormsUnhandled: a client that declares forms and answers them with an error costs nothing, and one that lets
// them lie costs the whole wait once.
func TestFormsUnhandled(t *testing.T) {
	w, form := asks(t, false, false)
	w.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32601,"message":"Method not found"}}`, form))
	if got := w.next(w.client); !strings.Contains(got, "no person has refused it") {
		t.Errorf("the client has no forms: %s", got)
	}
	if _, r := w.pending(); r != nil {
		t.Errorf("nobody is there, and %s is still open", r.ID)
	}

	w, _ = asks(t, false, false)
	set := func(hold time.Duration) {
		w.s.mu.Lock()
		defer w.s.mu.Unlock()
		w.s.Guard.Hold = hold
	}
	set(time.Millisecond)
	w.says(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo","arguments":{"n":6}}}`)
	for !strings.Contains(w.next(w.client), "no person has answered yet") {
	}
	set(time.Hour)
	if got := w.s.holds(); got != silentHold {
		t.Errorf("the next call waits for %s", got)
	}
	w.s.Guard.Attended = func() bool { return true }
	if got := w.s.holds(); got != time.Hour {
		t.Errorf("with a person at a terminal it waits for %s", got)
	}
}
