package adkfluent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
)

// A key names the calls that an answer is for: one call, a whole tool, or a call by
// the original's key.
type key string

func toolKey(tool string) key { return key("tool " + tool) }

func legacyKey(k string) key { return key("legacy " + k) }

// callKey names a call by its tool and arguments; it is equal for arguments that
// differ only in blanks, in the order of their keys and in escapes.
func callKey(tool string, input json.RawMessage) (key, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	canonical, err := jsonx.Canonical(input)
	sum := (&obstat.Call{Tool: tool, Input: canonical}).Digest()
	return key("call " + string(sum[:])), err
}

// A Memory records the answers of humans in a session, for one call or for a
// whole tool. The zero Memory is empty and ready for use; it is safe for
// concurrent use and must not be copied.
type Memory struct {
	mu      sync.Mutex
	answers map[key]bool
	legacy  bool            // some answers have the original's keys
	flights map[key]*flight // questions that are being asked
}

// keep records an answer; m is locked.
func (m *Memory) keep(k key, granted bool) {
	if m.answers == nil {
		m.answers = map[key]bool{}
	}
	m.answers[k] = granted
}

// A flight is one question to the handler. All calls that ask the same wait for
// it.
type flight struct {
	done    chan struct{}
	granted bool
	err     error
	left    bool // the asking caller went away before there was an answer
}

// once asks, exactly once for all the calls that are the same and come while the
// question is open, and records the answer; an error is no answer. If the asking
// caller goes away, one that waits asks anew.
func (m *Memory) once(ctx context.Context, tool string, input json.RawMessage, ask func() (bool, error)) (bool, error) {
	key, err := callKey(tool, input)
	if err != nil {
		return false, err
	}
	for {
		m.mu.Lock()
		if granted, known := m.answered(key, tool, input); known {
			m.mu.Unlock()
			return granted, nil
		}
		f := m.flights[key]
		if f == nil {
			return m.lead(ctx, key, ask)
		}
		m.mu.Unlock()
		select {
		case <-f.done:
			if !f.left {
				return f.granted, f.err
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// lead asks for all calls that come meanwhile; m is locked, and unlocked on return.
func (m *Memory) lead(ctx context.Context, k key, ask func() (bool, error)) (bool, error) {
	f := &flight{done: make(chan struct{})}
	if m.flights == nil {
		m.flights = map[key]*flight{}
	}
	m.flights[k] = f
	m.mu.Unlock()
	f.granted, f.err = ask()
	m.mu.Lock()
	defer m.mu.Unlock()
	f.left = ctx.Err() != nil
	if m.flights[k] == f { // not cleared meanwhile
		delete(m.flights, k)
		if f.err == nil {
			m.keep(k, f.granted)
		}
	}
	close(f.done)
	return f.granted, f.err
}

// RememberSpecific records the answer to this call. Arguments that JSON cannot
// write are an error, and nothing is recorded.
func (m *Memory) RememberSpecific(tool string, args map[string]any, granted bool) error {
	input, err := encodeArgs(args)
	if err != nil {
		return fmt.Errorf("the arguments cannot be written as JSON: %w", err)
	}
	k, err := callKey(tool, input)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(k, granted)
	return nil
}

// RememberTool records the answer to every call of the tool.
func (m *Memory) RememberTool(tool string, granted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(toolKey(tool), granted)
}

// ImportLegacy takes over answers that the original recorded under its own
// sixteen-digit keys (see LegacyKey). A key that is not of that form is an
// error, and nothing is taken over.
func (m *Memory) ImportLegacy(answers map[string]bool) error {
	for key := range answers {
		if !isLegacyKey(key) {
			return fmt.Errorf("%q is not a key of the original: sixteen digits of 0-9 and a-f", key)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, granted := range answers {
		m.legacy = true
		m.keep(legacyKey(k), granted)
	}
	return nil
}

// LegacyKey returns the key under which the original remembers an answer to
// this call: the first sixteen digits of the SHA-256 of the text
// that Python's json.dumps(..., sort_keys=True) writes. It is for reading old records; new
// ones use the whole hash.
func LegacyKey(tool string, args []byte) (string, error) {
	text, err := pytext.JSON(args)
	if err != nil {
		return "", err
	}
	name, err := json.Marshal(tool)
	if err == nil {
		tool, err = pytext.JSON(name)
	}
	sum := sha256.Sum256([]byte(`{"args": ` + text + `, "tool": ` + tool + "}"))
	return hex.EncodeToString(sum[:8]), err
}

func isLegacyKey(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 16
}

// Recall returns the recorded answer; known is false where there is none. Where
// the tool and the call have different answers, the refusal stands.
func (m *Memory) Recall(tool string, args map[string]any) (granted, known bool) {
	input, err := encodeArgs(args)
	if err != nil {
		return false, false
	}
	return m.recall(tool, input)
}

func (m *Memory) recall(tool string, input json.RawMessage) (granted, known bool) {
	k, err := callKey(tool, input)
	if err != nil {
		return false, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answered(k, tool, input)
}

// answered looks under all keys of a call; m is locked.
func (m *Memory) answered(call key, tool string, input json.RawMessage) (granted, known bool) {
	keys := []key{toolKey(tool), call}
	if m.legacy {
		if old, err := LegacyKey(tool, input); err == nil {
			keys = append(keys, legacyKey(old))
		}
	}
	granted = true
	for _, k := range keys {
		answer, ok := m.answers[k]
		known = known || ok
		granted = granted && (answer || !ok)
	}
	return granted && known, known
}

// Clear forgets everything. Questions that are being asked go on; their answers
// count for the calls that asked and are not recorded.
func (m *Memory) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers, m.legacy, m.flights = nil, false, nil
}
