package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// An Undo records an installation, so that taking it out gives back the very bytes:
// whether there was a file, and which part of it was replaced. Without it, `"hooks":
// {}` and no hooks at all look the same once an entry was put in.
type Undo struct {
	File   string `json:"file"`
	After  string `json:"after"`            // hash of the file as obstat left it
	Absent bool   `json:"absent,omitempty"` // there was none
	Head   int    `json:"head"`             // bytes at the start and at the end that were left alone
	Tail   int    `json:"tail"`
	Middle []byte `json:"middle"` // the bytes between them
}

// NewUndo records a change; before is nil where there was no file.
func NewUndo(file string, before, after []byte) *Undo {
	u := &Undo{File: file, After: digest(after), Absent: before == nil}
	for u.Head < min(len(before), len(after)) && before[u.Head] == after[u.Head] {
		u.Head++
	}
	for u.Tail < min(len(before), len(after))-u.Head && before[len(before)-1-u.Tail] == after[len(after)-1-u.Tail] {
		u.Tail++
	}
	u.Middle = slices.Clone(before[u.Head : len(before)-u.Tail])
	return u
}

// Before returns the bytes before the change, if now has the hash of its result;
// nil with true says that there was no file.
func (u *Undo) Before(now []byte) ([]byte, bool) {
	if u == nil || now == nil || digest(now) != u.After {
		return nil, false
	}
	if u.Head < 0 || u.Tail < 0 || u.Head+u.Tail > len(now) {
		return nil, false
	}
	if u.Absent {
		return nil, true
	}
	return append(append(append([]byte{}, now[:u.Head]...), u.Middle...), now[len(now)-u.Tail:]...), true
}

// Revert makes the change, and where the record fits gives back the very bytes
// that were there. A record that says something else than the change is not
// believed; nil is none.
func (c *Change) Revert(u *Undo, now []byte) ([]byte, error) {
	out, err := c.Edit(now)
	if err != nil || c.Same == nil {
		return out, err
	}
	if before, ok := u.Before(now); ok && c.Same(before, out) {
		return before, nil
	}
	return out, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// same tells whether two settings files say the same, but for empty lists and
// objects among the hooks.
func (t *target) same(a, b []byte) bool {
	x, okX := t.canonical(a)
	y, okY := t.canonical(b)
	return okX && okY && bytes.Equal(x, y)
}

func (t *target) canonical(text []byte) ([]byte, bool) {
	doc := t.agent.first
	if len(bytes.TrimSpace(text)) > 0 {
		root, problems := t.agent.format.Parse(text)
		if tree.Fatal(problems) || !root.Is(tree.Object) {
			return nil, false
		}
		doc, _ = jsonx.Value(root).(object)
	}
	raw, err := jsonx.Marshal(pruned(doc, t.agent.form.top()))
	if err != nil {
		return nil, false
	}
	raw, err = jsonx.Canonical(raw)
	return raw, err == nil
}

// pruned returns a document without empty lists of hooks.
func pruned(doc object, top string) object {
	var out object
	for _, f := range doc {
		hooks, isObject := f.Value.(object)
		if f.Key != top || !isObject {
			out = append(out, f)
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(hooks), func(h jsonx.Field) bool {
			list, isList := h.Value.([]any)
			return isList && len(list) == 0
		})
		if len(kept) > 0 {
			out = append(out, jsonx.Field{Key: f.Key, Value: kept})
		}
	}
	return out
}

// sameTOML tells whether two TOML files have the same values.
func sameTOML(a, b []byte) bool {
	x, bad := tomlx.ParseDoc(a)
	y, worse := tomlx.ParseDoc(b)
	return bad == nil && worse == nil && tree.Equal(x.Root, y.Root)
}
