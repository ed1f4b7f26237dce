// Package jiuwen changes JiuwenSwarm's permissions for its clients: the requests permissions.* without a transport, and the commands /permissions
// and /add-dir.
//
// It owns the requests, their errors and the commands' words in two languages,
// and changing a config.yaml under a lock. The meaning of the file, and
// writing an accepted rule to it, is package dialect/jiuwen's; calls are decided
// and asked about by a gate on these files.
package jiuwen

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat/dialect/jiuwen"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/ledger"
)

// The codes of an RPCError.
const (
	BadRequest    = "BAD_REQUEST"
	NotFound      = "NOT_FOUND"
	InternalError = "INTERNAL_ERROR"
)

// An RPCError is why a request was not carried out.
type RPCError struct {
	Msg  string `json:"error"`
	Code string `json:"code"`
}

// Error returns the message.
func (e *RPCError) Error() string { return e.Msg }

// existsMsg begins the error of permissions.rules.create for an id that is taken. The original's protocol
// has no code of its own for it, so that a client knows it by this text.
const existsMsg = "rule id already exists: "

// taken tells whether an error says that the id of a rule is taken.
func taken(err error) bool {
	var e *RPCError
	return errors.As(err, &e) && e.Code == BadRequest && strings.HasPrefix(e.Msg, existsMsg)
}

func bad(format string, args ...any) error {
	return &RPCError{fmt.Sprintf(format, args...), BadRequest}
}

// A Handler carries out the requests permissions.* of the original, without a
// transport: the caller hands in the method and its parameters.
type Handler struct {
	Store Store
	// NewID makes twelve characters for the id of a rule that comes without
	// one; nil: random ones.
	NewID func() string
	// Ledger gets a record of every change before it is made; nil: none are kept.
	Ledger ledger.Appender
	// User makes the changes, for the ledger.
	User string
}

// Call carries out one request and returns its payload. An error is always an
// *RPCError.
func (h *Handler) Call(method string, params json.RawMessage) (json.RawMessage, error) {
	payload, err := (&request{h, method, params}).call()
	if err == nil {
		var raw []byte
		if raw, err = jsonx.Marshal(payload); err == nil {
			return raw, nil
		}
	}
	var e *RPCError
	if errors.As(err, &e) {
		return nil, e
	}
	return nil, &RPCError{err.Error(), InternalError}
}

// A request is one that is being carried out.
type request struct {
	*Handler
	method string
	params json.RawMessage
}

func (h *request) call() (any, error) {
	p, err := parameters(h.params)
	if err != nil {
		return nil, err
	}
	handlers := map[string]func(*tree.Node) (any, error){
		"permissions.tools.get":              h.get("tools"),
		"permissions.tools.set":              h.toolsSet,
		"permissions.tools.update":           h.toolsUpdate,
		"permissions.tools.delete":           h.toolsDelete,
		"permissions.rules.get":              h.get("rules"),
		"permissions.rules.create":           h.rulesCreate,
		"permissions.rules.update":           h.rulesUpdate,
		"permissions.rules.delete":           func(p *tree.Node) (any, error) { return h.delete("rules", "rule", p) },
		"permissions.approval_overrides.get": h.get("approval_overrides"),
		"permissions.approval_overrides.delete": func(p *tree.Node) (any,
			error) {
			return h.delete("approval_overrides", "approval_override", p)
		},
		"permissions.owner_scopes.get": h.get("owner_scopes", "deny_guidance_message"),
		"permissions.owner_scopes.set": h.ownersSet,
	}
	if handle := handlers[h.method]; handle != nil {
		return handle(p)
	}
	return nil, bad("unknown permissions req_method")
}

func parameters(raw json.RawMessage) (*tree.Node, error) {
	none := &tree.Node{Kind: tree.Object}
	if len(strings.TrimSpace(string(raw))) == 0 {
		return none, nil
	}
	p, problems := jsonx.Parse(raw, jsonx.Options{})
	switch {
	case tree.Fatal(problems):
		return nil, bad("params: %v", problems[0])
	case p.Is(tree.Object):
		return p, nil
	}
	return none, nil
}

// read returns the section as it is now.
func (h *Handler) read() (*tree.Node, error) {
	src, err := h.Store.Read()
	if err != nil {
		return nil, err
	}
	return jiuwen.Section(src)
}

// update changes the file, and writes that down before it counts; fn gets the
// section and the bytes it stands in.
func (h *request) update(fn func(sec *tree.Node, src []byte) ([]byte, error)) error {
	return h.Store.Update(func(old []byte) ([]byte, error) {
		sec, err := jiuwen.Section(old)
		if err != nil {
			return nil, err
		}
		out, err := fn(sec, old)
		if err != nil || h.Ledger == nil {
			return out, err
		}
		rec := &ledger.Record{Time: time.Now(), Kind: ledger.Policy, User: h.User,
			Reason: ledger.Clip(h.method + " " + string(h.params))}
		return out, h.Ledger.Append(context.Background(), rec)
	})
}

// ok is the payload of a request that has nothing to say but yes.
var ok = jsonx.Object{{Key: "ok", Value: true}}

func objectOf(n *tree.Node) any {
	if n.Is(tree.Object) {
		return n
	}
	return jsonx.Object{}
}

// get answers with keys of the section: of a list its objects, and the words of a
// persona that may not do it as a text.
func (h *request) get(keys ...string) func(*tree.Node) (any, error) {
	return func(*tree.Node) (any, error) {
		sec, err := h.read()
		if err != nil {
			return nil, err
		}
		out := jsonx.Object{}
		for _, key := range keys {
			f := jsonx.Field{Key: key, Value: objectOf(sec.Get(key))}
			switch key {
			case "rules", "approval_overrides":
				f.Value = objectsOf(sec.Get(key))
			case "deny_guidance_message":
				f.Value = pytext.Strip(sec.Get(key).Text())
			}
			out = append(out, f)
		}
		return out, nil
	}
}

func objectsOf(list *tree.Node) []any {
	out := []any{}
	for _, e := range list.Items() {
		if e.Is(tree.Object) {
			out = append(out, e)
		}
	}
	return out
}

// delete removes the entry with an id from a list of the section.
func (h *request) delete(list, what string, p *tree.Node) (any, error) {
	id := pytext.Strip(p.Get("id").Text())
	if id == "" {
		return nil, bad("id is required")
	}
	err := h.update(func(sec *tree.Node, src []byte) ([]byte, error) {
		i := jiuwen.EntryIndex(sec.Get(list), id)
		if i < 0 {
			return nil, &RPCError{what + " not found", NotFound}
		}
		return format.Delete(src, permissions, list, i)
	})
	return ok, err
}

func (h *request) ownersSet(p *tree.Node) (any, error) {
	scopes := p.Get("owner_scopes")
	if scopes != nil && !scopes.Is(tree.Object) {
		return nil, bad("owner_scopes must be an object")
	}
	message := p.Get("deny_guidance_message")
	if message != nil && !message.Is(tree.String) && !message.Is(tree.Null) {
		return nil, bad("deny_guidance_message must be a string")
	}
	err := h.update(func(_ *tree.Node, src []byte) (out []byte, err error) {
		out = src
		if scopes != nil {
			if out, err = format.SetMembers(out, jsonx.Value(scopes).(jsonx.Object), permissions, "owner_scopes"); err != nil {
				return nil, err
			}
		}
		if message.Is(tree.String) {
			out, err = format.Set(out, message.Str, permissions, "deny_guidance_message")
		}
		return out, err
	})
	return ok, err
}

func (h *Handler) newID() string {
	if h.NewID != nil {
		return h.NewID()
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
