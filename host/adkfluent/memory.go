package adkfluent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/pytext"
)

// callKey names a call: tool and arguments, equal for arguments that differ
// only in blanks, in the order of their keys and in escapes.
type callKey [32]byte

func keyOf(tool string, input json.RawMessage) (callKey, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	canonical, err := jsonx.Canonical(input)
	return (&obstat.Call{Tool: tool, Input: canonical}).Digest(), err
}

// A Memory records the answers of humans in a session, for one call or for a
// whole tool. The zero Memory is empty and ready for use; it is safe for
// concurrent use and must not be copied.
type Memory struct {
	mu      sync.Mutex
	calls   map[callKey]bool
	tools   map[string]bool
	legacy  map[string]bool
	flights map[callKey]*flight // questions that are being asked
}

// A flight is one question to the handler. All calls that ask the same wait for
// it.
type flight struct {
	done    chan struct{}
	granted bool
	err     error
	left    bool // the caller who asked went away before there was an answer
}

// once asks, exactly once for all the calls that are the same and come while the
// question is open, and records the answer; an error is no answer. If the caller
// who asks goes away, one of those who wait asks anew.
func (m *Memory) once(ctx context.Context, tool string, input json.RawMessage, ask func() (bool, error)) (bool, error) {
	key, err := keyOf(tool, input)
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

// lead asks for all who come meanwhile; m is locked, and unlocked on return.
func (m *Memory) lead(ctx context.Context, key callKey, ask func() (bool, error)) (bool, error) {
	f := &flight{done: make(chan struct{})}
	if m.flights == nil {
		m.flights = map[callKey]*flight{}
	}
	m.flights[key] = f
	m.mu.Unlock()
	f.granted, f.err = ask()
	m.mu.Lock()
	defer m.mu.Unlock()
	f.left = ctx.Err() != nil
	if m.flights[key] == f { // not cleared meanwhile
		delete(m.flights, key)
		if f.err == nil {
			m.remember(key, f.granted)
		}
	}
	close(f.done)
	return f.granted, f.err
}

// RememberSpecific records the answer to this call. Arguments that JSON cannot
// write are an error, and nothing is recorded.
func (m *Memory) RememberSpecific(tool string, args map[string]any, granted bool) error {
	key, err := argsKey(tool, args)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remember(key, granted)
	return nil
}

func argsKey(tool string, args map[string]any) (callKey, error) {
	input, err := encodeArgs(args)
	if err != nil {
		return callKey{}, fmt.Errorf("the arguments cannot be written as JSON: %w", err)
	}
	return keyOf(tool, input)
}

func (m *Memory) remember(key callKey, granted bool) {
	if m.calls == nil {
		m.calls = map[callKey]bool{}
	}
	m.calls[key] = granted
}

// RememberTool records the answer to every call of the tool.
func (m *Memory) RememberTool(tool string, granted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools == nil {
		m.tools = map[string]bool{}
	}
	m.tools[tool] = granted
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
	if m.legacy == nil {
		m.legacy = map[string]bool{}
	}
	maps.Copy(m.legacy, answers)
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
	key, err := keyOf(tool, input)
	if err != nil {
		return false, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answered(key, tool, input)
}

// answered looks in all three records; m is locked.
func (m *Memory) answered(key callKey, tool string, input json.RawMessage) (granted, known bool) {
	granted = true
	take := func(answer, ok bool) {
		known = known || ok
		granted = granted && (answer || !ok)
	}
	answer, ok := m.tools[tool]
	take(answer, ok)
	answer, ok = m.calls[key]
	take(answer, ok)
	if len(m.legacy) > 0 {
		if old, err := LegacyKey(tool, input); err == nil {
			answer, ok = m.legacy[old]
			take(answer, ok)
		}
	}
	return granted && known, known
}

// Clear forgets everything. Questions that are being asked go on; their answers
// count for those who asked and are not recorded.
func (m *Memory) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.tools, m.legacy, m.flights = nil, nil, nil, nil
}
