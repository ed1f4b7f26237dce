package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A session is one client and one server that talk through the gateway.
type session struct {
	*Guard
	// toClient writes a message to the client; about is the id of the client's request
	// that it belongs to, "" for none. toServer writes one to the server.
	toClient func(about string, msg []byte) error
	toServer func(msg []byte) error
	// refused, if not nil, is told that the server's address has refused a request; it
	// returns whether that was passed on.
	refused func(id string, e *statusError) bool
	id      string // of the agent's session
	user    string
	as      string // the agent, where the caller is known; "": the client says
	away    bool   // the client may be on another machine

	client, server reader

	mu   sync.Mutex
	meta meta // of initialize
	// asked are the client's requests that the server has not answered, wanted the
	// server's that the client has not, own and forms those of the gateway itself: to the
	// server, and to the client, whose person the server must not speak for.
	asked  map[string]*asked
	wanted map[string]bool
	own    map[string]chan *frame
	forms  map[string]chan *frame
	tools  *toolbox
	logs   bool // the server has said that it sends log messages
	told   int
	ended  bool
	silent bool // the client has left a form unanswered, and answered none since
	// going are calls that go on with a state of the server's, by digest.
	going map[[32]byte]bool
}

// asked is a request of the client's that is under way.
type asked struct {
	method string
	// page: the request is for a further page of a list.
	page  bool
	token string // that its progress is told with
	// call is the allowed call; nil for other requests.
	call *passed
	// cancel ends waiting for a person; nil where no person is asked.
	cancel context.CancelFunc
	// withdrawn: the client does not want it any more.
	withdrawn bool
}

func (srv *Guard) session(toClient func(string, []byte) error, toServer func([]byte) error) *session {
	s := &session{Guard: srv, toClient: toClient, toServer: toServer, asked: map[string]*asked{},
		wanted: map[string]bool{}, own: map[string]chan *frame{}, forms: map[string]chan *frame{}}
	s.client.fold, s.server.fold, s.user = 3, 2, srv.User
	s.tools = srv.toolbox()
	return s
}

// by notes the caller of a session that is not the guard's own user.
func (s *session) by(c Caller) {
	s.as, s.user, s.away = c.Agent, cmp.Or(c.User, s.user), c.away
}

// harmless are the client's requests that do nothing but look, or that only tell the
// server something. Every other request is a call.
var harmless = map[string]bool{
	"initialize": true, "server/discover": true, "ping": true, "logging/setLevel": true, "completion/complete": true,
	"tools/list": true, "resources/list": true, "resources/templates/list": true, "prompts/list": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "subscriptions/listen": true,
	"tasks/get": true, "tasks/list": true, "tasks/result": true, "tasks/cancel": true,
}

// fromClient takes one message of the client's, and returns an error where the
// server cannot be written to any more.
func (s *session) fromClient(ctx context.Context, raw []byte) error {
	f, err := s.client.read(raw)
	if err != nil {
		return s.refuseFrame(err)
	}
	switch f.kind {
	case response:
		return s.clientAnswers(f)
	case notification:
		switch {
		case !f.notice():
			return s.tell("a message of the client's was refused: " + visible(f.method) +
				" without an id would be a call that nobody answers for")
		case f.method == "notifications/cancelled" && s.withdraw(f.cancels):
			return nil // the server has never heard of the call
		}
		return s.toServer(f.raw)
	}
	if f.method == "initialize" {
		s.mu.Lock()
		s.meta = f.meta
		s.mu.Unlock()
	}
	a := &asked{method: f.method, page: f.cursor, token: f.token}
	if !s.open(f.id, a) {
		return s.fail(f.id, codeRequest, "a request with this id is under way")
	}
	if harmless[f.method] || s.relays {
		return s.pass(f.id, f.raw)
	}
	return s.call(ctx, f, a)
}

// open notes a request of the client's; false where one with the id is under way.
func (s *session) open(id string, a *asked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[id] != nil {
		return false
	}
	s.asked[id] = a
	return true
}

// close forgets a request and returns it; nil where none is open.
func (s *session) close(id string) *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.asked[id]
	delete(s.asked, id)
	return a
}

// pass hands a request on; one that cannot be is answered with the reason.
func (s *session) pass(id string, raw []byte) error {
	err := s.toServer(raw)
	if err != nil && s.close(id) != nil {
		_ = s.fail(id, codeInternal, "the server cannot be reached: "+err.Error())
	}
	return err
}

// withdraw ends a call that waits for a person, and tells whether there was one.
func (s *session) withdraw(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.asked[id]
	if a == nil || a.cancel == nil {
		return false
	}
	a.withdrawn = true
	a.cancel()
	delete(s.asked, id)
	return true
}

// clientAnswers takes a response of the client's: to the gateway, or to the server if
// that has asked.
func (s *session) clientAnswers(f *frame) error {
	s.mu.Lock()
	ch, wanted := s.forms[f.id], s.wanted[f.id]
	delete(s.forms, f.id)
	delete(s.wanted, f.id)
	s.mu.Unlock()
	switch {
	case ch != nil:
		ch <- f
		return nil
	case wanted:
		return s.toServer(f.raw)
	}
	return s.tell(fmt.Sprintf("a response of the client's was dropped: nothing was asked with the id %s", f.id))
}

// fromServer takes one message of the server's, and returns an error where the
// client cannot be written to any more.
func (s *session) fromServer(ctx context.Context, raw []byte) error {
	f, err := s.server.read(raw)
	if err != nil {
		return s.refuseServer(err)
	}
	switch f.kind {
	case response:
		return s.serverAnswers(ctx, f)
	case notification:
		switch {
		case !f.notice():
			return s.tell("a message of the server's was refused: " + visible(f.method) +
				" without an id would be a request that nobody answers for")
		case f.method == "notifications/tools/list_changed":
			s.tools.stale()
		}
		return s.toClient(s.belongs(f), f.raw)
	}
	s.mu.Lock()
	twice := s.wanted[f.id] || s.forms[f.id] != nil
	if !twice {
		s.wanted[f.id] = true
	}
	s.mu.Unlock()
	if twice {
		return s.toServer(failure(f.id, codeRequest, "obstat: a request with this id is under way", nil))
	}
	return s.serverAsks(ctx, f)
}

// belongs returns the id of the request that a message of the server's is about, "" where
// it does not say.
func (s *session) belongs(f *frame) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.asked {
		if f.token != "" && a.token == f.token || f.token == "" && len(s.asked) == 1 &&
			f.method != "notifications/tools/list_changed" {
			return id
		}
	}
	return ""
}

// serverAnswers takes a response of the server's.
func (s *session) serverAnswers(ctx context.Context, f *frame) error {
	s.mu.Lock()
	ch := s.own[f.id]
	delete(s.own, f.id)
	a := s.asked[f.id]
	if a != nil && a.cancel != nil {
		a = nil // the server has not been asked yet
	} else {
		delete(s.asked, f.id)
	}
	s.mu.Unlock()
	if ch != nil {
		ch <- f
		return nil
	}
	if a == nil {
		// The only message that takes a reason to a server, about a request that has ended.
		_ = s.toServer(notify("notifications/cancelled", obj("requestId", idValue(f.id), "reason", "obstat: nothing waits for a response with this id")))
		return s.tell(fmt.Sprintf("a response of the server's was dropped: nothing waits for the id %s", f.id))
	}
	out := f.raw
	var err error
	switch {
	case a.method == "tools/list" && !f.result.none() && !s.bare:
		out, err = s.tools.filter(ctx, f, a.page)
	case a.method == "initialize" && !f.result.none():
		s.introduced(f)
	case a.call != nil:
		err = s.written()
		a.call.answered(s, f)
		out = s.masked(ctx, a.call, f)
	}
	if err != nil {
		out = failure(f.id, codeInternal, "obstat: "+err.Error(), nil)
	}
	return s.toClient(f.id, out)
}

// introduced notes the server's abilities.
func (s *session) introduced(f *frame) {
	root, _ := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = root.Get("capabilities").Get("logging") != nil
}

// ask notes a request of the gateway's own, in own or forms, and returns the channel of the
// answer.
func (s *session) ask(of map[string]chan *frame, id string) chan *frame {
	ch := make(chan *frame, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	of[id] = ch
	return ch
}

// fail answers a request of the client's with an error.
func (s *session) fail(id string, code int, why string) error {
	return s.toClient(id, failure(id, code, "obstat: "+why, nil))
}

// refuseFrame answers a message of the client's that cannot be read.
func (s *session) refuseFrame(err error) error {
	var e *envelopeError
	if errors.As(err, &e) && e.id != "" && s.idle(e.id) {
		return s.fail(e.id, e.code, "the message is refused: "+e.msg)
	}
	text := "a message of the client's was refused: " + err.Error()
	if e != nil && e.id == "" { // as JSON-RPC has it where the id cannot be told
		s.note(text)
		return s.fail("null", e.code, "the message is refused: "+e.msg)
	}
	return s.tell(text)
}

// idle tells whether no request with the id is under way, so that an error for it
// is about the message that was refused.
func (s *session) idle(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[id] == nil
}

// refuseServer drops a message of the server's that cannot be read. Where it can be
// told which request it answers, or was, both sides hear the reason.
func (s *session) refuseServer(err error) error {
	var e *envelopeError
	if !errors.As(err, &e) || e.id == "" {
		return s.tell("a message of the server's was refused: " + err.Error())
	}
	if s.close(e.id) != nil {
		_ = s.tell("a message of the server's was refused: " + e.msg)
		return s.fail(e.id, codeInternal, "the server's answer is refused: "+e.msg)
	}
	_ = s.toServer(failure(e.id, e.code, "obstat: "+e.msg, nil))
	return s.tell("a message of the server's was refused: " + e.msg)
}

// maxTold bounds how often a session complains.
const maxTold = 100

// tell reports a message that was dropped, on standard error and to a client that wants log
// messages.
func (s *session) tell(text string) error {
	if !s.note(text) {
		return nil
	}
	return s.toClient("", notify("notifications/message", obj("level", "warning", "logger", "obstat", "data", text)))
}

// note writes a complaint to the log, and tells whether the client is to hear it.
func (s *session) note(text string) bool {
	s.mu.Lock()
	s.told++
	n, logs := s.told, s.logs
	s.mu.Unlock()
	if n > maxTold {
		return false
	}
	s.log(text)
	return logs
}

func (srv *Guard) log(text string) {
	if srv.Log != nil {
		fmt.Fprintf(srv.Log, "obstat mcp %s: %s\n", srv.Name, visible(text))
	}
}

// serverEnded answers every request that the server has left open.
func (s *session) serverEnded(why error) {
	s.mu.Lock()
	open := s.asked
	s.asked, s.ended = map[string]*asked{}, true
	var own []chan *frame
	for _, of := range []map[string]chan *frame{s.own, s.forms} {
		own = slices.AppendSeq(own, maps.Values(of))
		clear(of)
	}
	s.mu.Unlock()
	for id, a := range open {
		if a.cancel != nil {
			a.cancel()
		}
		_ = s.fail(id, codeInternal, "the server has ended before it answered: "+cmp.Or(why, io.EOF).Error())
	}
	for _, ch := range own {
		close(ch)
	}
}

// isOver reports whether the server has ended.
func (s *session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// failure returns an error response; data may be nil.
func failure(id string, code int, msg string, data any) []byte {
	e := obj("code", code, "message", msg)
	if data != nil {
		e = append(e, obj("data", data)...)
	}
	return message("id", idValue(id), "error", e)
}

func notify(method string, params jsonx.Object) []byte {
	return message("method", method, "params", params)
}

// obj returns an object of keys and values, which take turns.
func obj(kv ...any) jsonx.Object {
	out := jsonx.Object{}
	for i := 0; i < len(kv); i += 2 {
		out = append(out, jsonx.Field{Key: kv[i].(string), Value: kv[i+1]})
	}
	return out
}

// message writes a message of the gateway's own, with these members.
func message(kv ...any) []byte {
	out, err := jsonx.Marshal(append(obj("jsonrpc", "2.0"), obj(kv...)...))
	if err != nil { // all texts in it were read as JSON, or are our own
		out = []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"obstat","data":"a message could not be written"}}`)
	}
	return out
}

// idValue returns an id as it is written as a value.
func idValue(id string) any {
	if n, problems := jsonx.Parse([]byte(id), jsonx.Options{NUL: true}); !tree.Fatal(problems) {
		return n
	}
	return nil
}
