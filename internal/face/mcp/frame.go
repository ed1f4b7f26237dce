package mcp

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// A frame is one JSON-RPC message: its bytes, and the parts that the gateway looks at.
type frame struct {
	raw  []byte // as it was sent, without the newline
	kind kind
	// id as it is written, `7` or `"a"`; "" for a notification.
	id     string
	idAt   span
	method string

	params, result, failure span

	// Of params.
	name, uri string
	nameAt    span
	arguments span
	meta      meta
	state     string // requestState
	stateAt   span   // its member, key and comma included
	responses span   // inputResponses
	answersAt span   // its member
	cursor    bool
	token     string // progressToken, as it is written
	cancels   string // requestId of notifications/cancelled, as it is written
}

// meta describes the sender of a message: in params._meta since 2026-07-28, in the
// params of initialize before.
type meta struct {
	version string
	client  string // clientInfo.name
	elicits bool   // the client shows forms to a person
	at      span   // the _meta object
}

// A span is a part of a frame's bytes; the zero span is none.
type span struct{ start, end int }

func (s span) in(raw []byte) []byte { return raw[s.start:s.end] }

func (s span) none() bool { return s.end == 0 }

// A kind is the sort of a message.
type kind uint8

const (
	request kind = iota + 1
	notification
	response
)

// Limits of messages.
const (
	maxFrame = 16 << 20 // as the official SDK has it
	maxID    = 256
	maxName  = 256
)

// A reader reads frames. Its buffers are used again for the next one.
type reader struct {
	mu sync.Mutex
	s  jsonx.Scanner
	// fold is how many levels of objects refuse keys that differ only in case.
	fold int
}

// An envelopeError is a message that is refused, with the id that its sender can be
// told by, "" where none could be read.
type envelopeError struct {
	id   string
	code int
	msg  string
}

func (e *envelopeError) Error() string { return e.msg }

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeParams   = -32602
	codeInternal = -32603
	// codeDenied is for methods whose results cannot say that something failed. It lies
	// outside of the ranges that the specification keeps for itself.
	codeDenied = 403
)

// read reads one message. Two keys that are equal, or equal but for their case, a
// batch, and an id that is neither a text nor a whole number are refused: the
// server behind the gateway may read another message than the gateway does.
func (r *reader) read(raw []byte) (*frame, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &frame{raw: raw}
	s := &r.s
	s.Reset(string(raw), jsonx.Options{NUL: true, NoMark: true, Fold: r.fold})
	if k := s.Next(); k != jsonx.ObjectStart {
		if k == jsonx.ArrayStart {
			return nil, &envelopeError{"", codeRequest, "batches are refused: send one message a line"}
		}
		return nil, r.broken(f, "a message is a JSON object")
	}
	var version bool
	var problem error
	for s.Next() == jsonx.Key {
		var err error
		switch s.Text {
		case "jsonrpc":
			version = s.Next() == jsonx.Str && s.Text == "2.0"
		case "id":
			f.id, err = r.id()
			f.idAt = span{s.Start, s.End}
		case "method":
			if s.Next() != jsonx.Str {
				err = errors.New("the method is not a text")
			}
			f.method = strings.Clone(s.Text)
		case "params":
			f.params, err = r.readParams(f)
		case "result":
			f.result = r.value()
		case "error":
			f.failure = r.value()
		default:
			s.Value()
		}
		problem = errors.Join(problem, err)
	}
	switch {
	case s.Err() != nil || s.Next() != jsonx.End:
		return nil, r.broken(f, "it is not one JSON object")
	case problem != nil:
		return nil, &envelopeError{f.id, codeRequest, problem.Error()}
	case !version:
		return nil, &envelopeError{f.id, codeRequest, `it has no "jsonrpc": "2.0"`}
	}
	return f, f.classify()
}

// broken returns the error of a message that cannot be read to its end.
func (r *reader) broken(f *frame, otherwise string) error {
	e := &envelopeError{f.id, codeParse, otherwise}
	if p := r.s.Err(); p != nil {
		e.msg = fmt.Sprintf("at byte %d: %s", p.Offset, p.Msg)
	}
	return e
}

func (r *reader) value() span {
	r.s.Value()
	return span{r.s.Start, r.s.End}
}

// id reads an id as it is written. Of 1.5, 1e0 and 2^53+1 readers make different
// numbers, and of null a notification.
func (r *reader) id() (string, error) {
	s := &r.s
	k := s.Value()
	text := string(s.Text)
	switch {
	case k == jsonx.Str && len(text) <= maxID:
		return jsonx.Quote(text), nil
	case k == jsonx.Num && len(strings.TrimPrefix(text, "-")) <= 15 && !strings.ContainsAny(text, ".eE") && text != "-0":
		return strings.Clone(text), nil
	case k == jsonx.Str:
		return "", fmt.Errorf("the id is longer than %d bytes", maxID)
	}
	return "", errors.New("the id has to be a text or a whole number of at most 15 digits")
}

// readParams reads the members of params that matter and skips the rest.
func (r *reader) readParams(f *frame) (span, error) {
	s := &r.s
	k := s.Next()
	start := s.Start
	if k != jsonx.ObjectStart {
		if k == jsonx.ArrayStart {
			s.Rest(k)
		}
		return span{}, errors.New("params is not an object")
	}
	var problem error
	for s.Next() == jsonx.Key {
		at := s.Start
		problem = errors.Join(problem, r.param(f, s.Text, at))
	}
	return span{start, s.End}, problem
}

func (r *reader) param(f *frame, key string, at int) error {
	s := &r.s
	switch key {
	case "name", "uri":
		if s.Value() != jsonx.Str {
			return fmt.Errorf("params.%s is not a text", key)
		}
		if key == "uri" {
			f.uri = strings.Clone(s.Text)
		} else {
			f.name, f.nameAt = strings.Clone(s.Text), span{s.Start, s.End}
		}
	case "arguments":
		if k := s.Value(); k != jsonx.ObjectStart && k != jsonx.Null {
			return errors.New("params.arguments is not an object")
		}
		f.arguments = span{s.Start, s.End}
	case "_meta":
		r.readMeta(f)
	case "requestState":
		if s.Value() != jsonx.Str {
			return errors.New("params.requestState is not a text")
		}
		f.state, f.stateAt = strings.Clone(s.Text), span{at, s.End}
	case "inputResponses":
		f.responses = r.value()
		f.answersAt = span{at, s.End}
	case "cursor":
		f.cursor = s.Value() != jsonx.Null
	case "progressToken":
		f.token, _ = r.id()
	case "requestId":
		f.cancels, _ = r.id() // only an id cancels
	case "protocolVersion":
		if s.Value() == jsonx.Str {
			f.meta.version = strings.Clone(s.Text)
		}
	case "capabilities":
		f.meta.elicits = r.elicits()
	case "clientInfo":
		f.meta.client = r.member("name")
	default:
		s.Value()
	}
	return nil
}

// The keys of params._meta since 2026-07-28.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaClient       = metaPrefix + "clientInfo"
)

func (r *reader) readMeta(f *frame) {
	s := &r.s
	k := s.Next()
	start := s.Start
	if k != jsonx.ObjectStart {
		if k == jsonx.ArrayStart {
			s.Rest(k)
		}
		return
	}
	for s.Next() == jsonx.Key {
		switch s.Text {
		case metaVersion:
			if s.Value() == jsonx.Str {
				f.meta.version = strings.Clone(s.Text)
			}
		case metaCapabilities:
			f.meta.elicits = r.elicits()
		case metaClient:
			f.meta.client = r.member("name")
		case "progressToken":
			f.token, _ = r.id()
		default:
			s.Value()
		}
	}
	f.meta.at = span{start, s.End}
}

// elicits reads an object of capabilities: `{"elicitation": {}}`, and since forms are not
// the only kind, `{"elicitation": {"form": {}}}`.
func (r *reader) elicits() (yes bool) {
	s := &r.s
	if k := s.Next(); k != jsonx.ObjectStart {
		if k == jsonx.ArrayStart {
			s.Rest(k)
		}
		return false
	}
	for s.Next() == jsonx.Key {
		if s.Text != "elicitation" {
			s.Value()
			continue
		}
		if k := s.Next(); k != jsonx.ObjectStart {
			if k == jsonx.ArrayStart {
				s.Rest(k)
			}
			continue
		}
		kinds, form := 0, false
		for s.Next() == jsonx.Key {
			kinds++
			form = form || s.Text == "form"
			s.Value()
		}
		yes = kinds == 0 || form
	}
	return yes
}

// member returns a text of the object that comes next, "" where it is none.
func (r *reader) member(name string) (out string) {
	s := &r.s
	if k := s.Next(); k != jsonx.ObjectStart {
		if k == jsonx.ArrayStart {
			s.Rest(k)
		}
		return ""
	}
	for s.Next() == jsonx.Key {
		if s.Text == name && out == "" {
			if s.Value() == jsonx.Str {
				out = strings.Clone(s.Text)
			}
			continue
		}
		s.Value()
	}
	return out
}

// classify tells requests, notifications and responses apart.
func (f *frame) classify() error {
	has := func(s span) bool { return !s.none() }
	switch {
	case f.method != "" && (has(f.result) || has(f.failure)):
		return &envelopeError{f.id, codeRequest, "it is a request and a response at once"}
	case has(f.result) && has(f.failure):
		return &envelopeError{f.id, codeRequest, "it has a result and an error"}
	case f.method != "" && f.id != "":
		f.kind = request
	case f.method != "":
		f.kind = notification
	case f.id != "" && (has(f.result) || has(f.failure)):
		f.kind = response
	default:
		return &envelopeError{f.id, codeRequest, "it is neither a request nor a response"}
	}
	return nil
}

// notice tells whether a notification is one: every revision begins their names in one way.
// A request without an id is none, for a server may run it all the same.
func (f *frame) notice() bool { return strings.HasPrefix(f.method, "notifications/") }

// modern tells whether a message is of the stateless revisions, 2026-07-28 and later.
func (m *meta) modern() bool { return m.version >= firstModern }

const firstModern = "2026-07-28"

// badName describes the mistake in the name of a tool or prompt, or in a URI; "" for none.
func badName(name string, most int) string {
	switch {
	case name == "":
		return "it has no name"
	case len(name) > most:
		return fmt.Sprintf("its name has %d bytes; more than %d are refused", len(name), most)
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	}
	for _, ch := range name {
		if !unicode.IsPrint(ch) || ch == utf8.RuneError {
			return fmt.Sprintf("its name has the character %U, which no person would see", ch)
		}
	}
	return ""
}
