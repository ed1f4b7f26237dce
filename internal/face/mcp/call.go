package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// A passed call is one that was handed to the server.
type passed struct {
	digest [32]byte
	person bool        // a person has allowed it, for once
	call   obstat.Call // as it was decided
}

// written waits until the decision is on the disk, before a client that may be on
// another machine sees the result. A client on this one does not outlive it: for that the
// record is in the file before the call is made.
func (s *session) written() error {
	if s.Durable == nil || !s.away {
		return nil
	}
	if err := s.Durable(); err != nil {
		return fmt.Errorf("the call was made, but its record could not be made durable: %w", err)
	}
	return nil
}

// answered remembers that a call which a person has allowed goes on: a server that
// needs more input has the client repeat the call, with a state of the server's own.
func (p *passed) answered(s *session, f *frame) {
	if s.Ended != nil {
		s.Ended(&p.call)
	}
	if !p.person || !bytes.Contains(f.raw, []byte(`input_required`)) {
		return
	}
	root, _ := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true})
	if state := root.Get("requestState"); state != nil && state.Str != "" {
		s.goesOn(p.digest, state.Str, true)
	}
}

// goesOn notes, or tells, that a call goes on which was allowed before. It is told once.
func (s *session) goesOn(digest [32]byte, state string, note bool) bool {
	key := sha256.Sum256(append(digest[:], state...))
	s.mu.Lock()
	defer s.mu.Unlock()
	if note {
		if s.going == nil || len(s.going) > 1000 {
			s.going = map[[32]byte]bool{}
		}
		s.going[key] = true
		return true
	}
	was := s.going[key]
	delete(s.going, key)
	return was
}

// call decides a request of the client's that is a call.
func (s *session) call(ctx context.Context, f *frame, a *asked) error {
	c, why := s.callOf(f)
	if why != "" {
		s.close(f.id)
		return s.fail(f.id, codeParams, why)
	}
	if f.method == "tools/call" && !s.tools.ready() {
		go func() { // the server's own list of tools has to be seen first
			s.tools.fetch(ctx, s, f)
			_ = s.decide(ctx, f, a, c)
		}()
		return nil
	}
	return s.decide(ctx, f, a, c)
}

// callOf returns the call that a request is, or why it is none.
func (s *session) callOf(f *frame) (c *obstat.Call, why string) {
	m := s.metaOf(f)
	c = &obstat.Call{Agent: cmp.Or(s.as, s.agent(m)), Session: s.id, User: s.user, Dir: s.Dir, Channel: "mcp"}
	if s.Dir != "" {
		c.Roots = []string{s.Dir}
	}
	switch f.method {
	case "tools/call":
		if why = badName(f.name, maxName); why != "" {
			return nil, "the tool cannot be called: " + why
		}
		c.Tool, c.Input = Tool(s.Name, f.name), []byte("{}")
		if raw := f.arguments.in(f.raw); len(raw) > 0 && raw[0] == '{' {
			c.Input = raw
		}
		return c, ""
	case "resources/read":
		if why = badName(f.uri, maxURI); why != "" {
			return nil, "the resource cannot be read: " + strings.ReplaceAll(why, "name", "URI")
		}
		input := obj("uri", f.uri)
		c.Input, _ = jsonx.Marshal(input)
	case "prompts/get":
		if why = badName(f.name, maxName); why != "" {
			return nil, "the prompt cannot be fetched: " + why
		}
		c.Input = f.params.in(f.raw)
	default:
		if why = badName(f.method, maxName); why != "" {
			return nil, "the method cannot be called: " + why
		}
		c.Input = f.params.in(f.raw)
	}
	if c.Input == nil || f.params.none() {
		c.Input = []byte("{}")
	}
	c.Tool = Tool(s.Name, methodTool(f.method))
	return c, ""
}

const maxURI = 8 << 10

// methodTool returns the name under which a method is put to the rules: `resources_read`.
func methodTool(method string) string { return strings.ReplaceAll(method, "/", "_") }

// metaOf describes the client that sent a request.
func (s *session) metaOf(f *frame) *meta {
	if f.meta.version != "" {
		return &f.meta
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meta
	return &m
}

// gateFor returns the gate for a client, and whether a person can be asked through it.
func (s *session) gateFor(m *meta) (*gate.Gate, bool) {
	if m.elicits && s.Elicits != nil {
		return s.Elicits, true
	}
	return s.Gate, false
}

// decide puts a call to the gate and carries its decision out. Every error on the way is a
// denial.
func (s *session) decide(ctx context.Context, f *frame, a *asked, c *obstat.Call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.close(f.id)
			err = s.toClient(f.id, s.refusal(f, &obstat.Decision{Tool: c.Tool,
				Faults: []obstat.Fault{{Msg: fmt.Sprintf("something in obstat is broken: %v", p)}}}))
		}
	}()
	// A client that comes back takes up the answer.
	terms := gate.Terms{Ask: gate.Put, TakeUp: true}
	if f.method == "tools/call" {
		digest, hint := s.tools.said(f.name)
		c.Channel = "mcp " + digest // an answer is for this tool as it describes itself now
		if terms.Doubt = s.tools.doubt(f.name); terms.Doubt == "" {
			c.Hint = hint
		}
	}
	g, forms := s.gateFor(s.metaOf(f))
	if f.state != "" {
		if sealed, ours := s.unseal(f.state); ours {
			if !forms {
				sealed = nil // it was given out to another client, or made up
			}
			return s.answeredCall(ctx, &question{frame: f, asked: a, call: c, gate: g, doubt: terms.Doubt}, sealed)
		}
		if s.goesOn(c.Digest(), f.state, false) {
			if now, _ := g.Authorize(ctx, c, &gate.Terms{Ask: gate.Try, Doubt: terms.Doubt}); now.Verdict == obstat.Ask {
				return s.forward(f, a, c, nil, true) // an allow or deny of now is decided below
			}
		}
	}
	d, err := g.Authorize(ctx, c, &terms)
	if d.Request == nil || err != nil {
		return s.settle(f, a, c, &d.Decision, err)
	}
	q := &question{frame: f, asked: a, call: c, gate: g, id: d.Request.ID, d: &d.Decision, req: d.Request, doubt: terms.Doubt}
	return s.askPerson(ctx, q, forms)
}

// settle passes an allowed call on, and answers one that is refused.
func (s *session) settle(f *frame, a *asked, c *obstat.Call, d *obstat.Decision, err error) error {
	if err == nil && d.Verdict == obstat.Allow {
		return s.forward(f, a, c, d.Input, d.By.Person())
	}
	s.close(f.id)
	return s.toClient(f.id, s.refusal(f, d))
}

// forward hands an allowed call to the server. given are arguments that take the
// place of the call's; nil: none.
func (s *session) forward(f *frame, a *asked, c *obstat.Call, given []byte, person bool) error {
	raw, decided := f.raw, *c
	if given != nil {
		c.Input = given
		raw = f.with(given)
	} else if s.ours(f) {
		raw = f.with(nil)
	}
	return s.hand(f.id, a, &passed{digest: c.Digest(), person: person, call: decided}, raw)
}

// hand passes a call to the server, unless the client has withdrawn it meanwhile.
func (s *session) hand(id string, a *asked, p *passed, raw []byte) error {
	s.mu.Lock()
	open := s.asked[id] == a
	a.cancel, a.call = nil, p
	s.mu.Unlock()
	if !open {
		return nil
	}
	err := s.pass(id, raw)
	if s.Durable != nil && s.away {
		go func() { _ = s.Durable() }() // while the server works; written gets the error
	}
	return err
}

// with returns the message with other arguments, if any, and without the state and the
// answers that were for the gateway. Every other byte is as it was.
func (f *frame) with(given []byte) []byte {
	cut := func(at span, text []byte) {
		raw := bytes.Join([][]byte{f.raw[:at.start], text, f.raw[at.end:]}, nil)
		again, err := (&reader{}).read(raw)
		if err != nil { // it was read before, and JSON was put in
			panic(err)
		}
		f = again
	}
	switch {
	case given == nil || f.method != "tools/call":
	case f.arguments.none():
		at := f.params.start + 1
		cut(span{at, at}, append(append([]byte(`"arguments":`), given...), ','))
	default:
		cut(f.arguments, given)
	}
	if !f.stateAt.none() {
		cut(f.member(f.stateAt), nil)
	}
	if !f.answersAt.none() {
		cut(f.member(f.answersAt), nil)
	}
	return f.raw
}

// member returns a member of an object with one of the commas around it.
func (f *frame) member(s span) span {
	for i := s.end; i < len(f.raw); i++ {
		switch f.raw[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case ',':
			return span{s.start, i + 1}
		}
		break
	}
	for i := s.start - 1; i >= 0; i-- {
		switch f.raw[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case ',':
			return span{i, s.end}
		}
		break
	}
	return s
}

// serverAsks decides a request of the server's: sampling spends the client's money,
// roots tell the server about the machine. Others are the client's own business.
func (s *session) serverAsks(ctx context.Context, f *frame) error {
	if f.method != "sampling/createMessage" && f.method != "roots/list" || s.relays {
		return s.toClient(s.belongs(f), f.raw)
	}
	c, why := s.callOf(f)
	if why != "" {
		return s.refuseServerCall(f, why)
	}
	g, _ := s.gateFor(&meta{})
	go func() { // a person may have to be asked
		d, err := g.Authorize(ctx, c, nil)
		if err == nil && d.Verdict == obstat.Allow {
			_ = s.toClient(s.belongs(f), f.raw)
			return
		}
		_ = s.refuseServerCall(f, d.Reason())
	}()
	return nil
}

func (s *session) refuseServerCall(f *frame, why string) error {
	s.mu.Lock()
	delete(s.wanted, f.id)
	s.mu.Unlock()
	return s.toServer(failure(f.id, codeDenied, "obstat denied "+f.method+": "+clean(why), nil))
}

// clean makes a text fit for a message.
func clean(s string) string { return strings.ToValidUTF8(s, "�") }

// refusal returns the answer to a call that is not made: where the method has a way to
// say so, a result that the model reads.
func (s *session) refusal(f *frame, d *obstat.Decision) []byte {
	data := obj("verdict", "deny", "reason", clean(d.Reason()))
	if d.Rule != nil {
		data = append(data, obj("rule", clean(d.Rule.String()))...)
		if d.Rule.Pos.IsValid() {
			data = append(data, obj("at", clean(d.Rule.Pos.String()))...)
		}
	}
	text := refusalWords(f, d)
	if f.method != "tools/call" {
		return failure(f.id, codeDenied, text, obj(metaDecision, data))
	}
	result := obj("content", []any{obj("type", "text", "text", text)}, "isError", true, "_meta", obj(metaDecision, data))
	if s.metaOf(f).modern() {
		result = append(obj("resultType", "complete"), result...)
	}
	return reply(f.id, result)
}

// metaDecision is the key of a refusal's details, for programs.
const metaDecision = "obstat/decision"

// reply returns a response; result is any JSON.
func reply(id string, result any) []byte {
	return message("id", idValue(id), "result", result)
}

// refusalWords tells the model why a call was not made, and how to go on.
func refusalWords(f *frame, d *obstat.Decision) string {
	what := f.method
	if f.method == "tools/call" {
		what = f.name
	}
	advice := "Nothing was run. Do it in another way that the rules allow, or tell the user what stands in the way; the same call will be answered the same."
	switch k := d.By.Kind; {
	case len(d.Faults) > 0:
		advice = "Nothing was run. Tell the user: something has to be mended before calls can be made."
	case k == obstat.ByTimeout || k == obstat.ByFault:
		advice = "Nothing was run. Nobody has refused it: go on with something else, or tell the user that it waits for an answer."
	case k == obstat.ByPerson:
		advice = "Nothing was run. A person has refused it: do not try it in another way."
	}
	return clean(fmt.Sprintf("obstat denied %s: %s. %s", visible(what), strings.TrimSuffix(d.Reason(), "."), advice))
}
