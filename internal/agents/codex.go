package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// Codex runs a hook only if its config.toml has the hash of it, under a key made
// of the file, the event and the place in the list.

// snake writes an event the way that Codex does in keys.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// trustKey names an entry in the list of what is trusted.
func trustKey(file string, e *Entry) string {
	return fmt.Sprintf("%s:%s:%d:%d", file, snake(e.Event), e.Group, max(e.Handler, 0))
}

// trustHash returns the hash of an entry: of its fields as Codex understands
// them, in the order of their names.
func trustHash(root *tree.Node, e *Entry) (string, error) {
	group := root.At("hooks", e.Event, e.Group)
	handler := group.At("hooks", e.Handler)
	h := obj("async", false, "timeout", int64(600))
	for _, m := range handler.Members {
		switch m.Key {
		case "commandWindows", "command_windows":
			continue
		case "async", "timeout":
			h = slices.DeleteFunc(h, func(f jsonx.Field) bool { return f.Key == m.Key })
		}
		if !m.Value.Is(tree.Null) {
			h = append(h, jsonx.Field{Key: m.Key, Value: jsonx.Value(m.Value)})
		}
	}
	doc := obj("event_name", snake(e.Event), "hooks", []any{h})
	if m := group.Get("matcher"); m.Is(tree.String) {
		doc = append(doc, jsonx.Field{Key: "matcher", Value: m.Str})
	}
	raw, err := jsonx.Marshal(doc)
	if err != nil {
		return "", err
	}
	if raw, err = jsonx.Canonical(raw); err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// A Trust is what Codex's config.toml says about a hook.
type Trust struct {
	Key, Want string // the hash that it has to have
	Have      string // the hash that it has, "" for none
	Disabled  bool
}

// Holds tells whether Codex runs the hook.
func (t *Trust) Holds() bool { return t.Have == t.Want && !t.Disabled }

// TrustOf returns what a config.toml says about an entry of the file.
func (f *File) TrustOf(e *Entry, config []byte) (Trust, error) {
	want, err := trustHash(f.Root, e)
	t := Trust{Key: trustKey(f.Name, e), Want: want}
	for _, v := range readTOML(config) {
		switch v.path {
		case tomlPath("hooks", "state", t.Key, "trusted_hash"):
			t.Have = v.text
		case tomlPath("hooks", "state", t.Key, "enabled"):
			t.Disabled = v.text == "false"
		}
	}
	return t, err
}

// Setting returns a value of a TOML file, "" if it has none.
func (f *File) Setting(keys ...string) string {
	for _, v := range f.toml {
		if v.path == tomlPath(keys...) {
			return v.text
		}
	}
	return ""
}

// trust writes the hashes of obstat's entries into config.toml.
func (t *target) trust(old []byte) ([]byte, error) {
	f := t.agent.parse(Place{}, t.file, t.text)
	text := old
	for i := range f.Entries {
		e := &f.Entries[i]
		if !e.Ours || !slices.Contains(t.agent.Events, e.Event) {
			continue
		}
		want, err := trustHash(f.Root, e)
		if err != nil {
			return nil, err
		}
		if text, err = setTrust(text, trustKey(t.file, e), want); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// setTrust makes hash the hash of a key: a new table at the end, or the value of
// the one that is there.
func setTrust(text []byte, key, hash string) ([]byte, error) {
	var edits []textedit.Edit
	has := false
	doc := parseTOML(text)
	if doc.bad >= 0 {
		return nil, &textedit.BrokenError{Src: text, Problems: []tree.Problem{{Offset: doc.bad, Msg: "this is not TOML"}}}
	}
	for _, v := range doc.out {
		switch {
		case v.path == tomlPath("hooks", "state", key, "trusted_hash"):
			has = true
			if v.text != hash {
				edits = append(edits, textedit.Edit{Start: v.start, End: v.end, Text: strconv.Quote(hash)})
			}
		case v.path == tomlPath("hooks", "state", key, "enabled") && v.text == "false":
			edits = append(edits, textedit.Edit{Start: v.start, End: v.end, Text: "true"})
		}
	}
	if has {
		return textedit.Apply(text, edits...)
	}
	if len(edits) > 0 {
		return nil, fmt.Errorf("it has something about the hook %s, but no hash: trust the hook with /hooks in Codex", key)
	}
	if doc.closed {
		return nil, fmt.Errorf("hooks or hooks.state is one value, to which the hash of obstat's hook cannot be added: make a table of it, or trust the hook with /hooks in Codex")
	}
	nl := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		nl = "\r\n"
	}
	out := slices.Clone(text)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, nl...)
	}
	if len(out) > 0 {
		out = append(out, nl...)
	}
	return fmt.Appendf(out, "[hooks.state.%s]%strusted_hash = %q%s", jsonx.Quote(key), nl, hash, nl), nil
}

// distrust takes the hashes of obstat's entries out again.
func (t *target) distrust(old []byte) ([]byte, error) {
	f := t.agent.parse(Place{}, t.file, t.was)
	text := old
	for i := range f.Entries {
		if e := &f.Entries[i]; e.Ours {
			text = dropTrust(text, trustKey(t.file, e))
		}
	}
	if len(text) == 0 && len(old) > 0 {
		return nil, nil // there was nothing else in it
	}
	return text, nil
}

// dropTrust removes the table of a key, if it is one that obstat or Codex wrote:
// with a header of its own and nothing else in it.
func dropTrust(text []byte, key string) []byte {
	table := -1
	end := 0
	for _, v := range readTOML(text) {
		if !strings.HasPrefix(v.path, tomlPath("hooks", "state", key)+"\x00") || v.table < 0 {
			continue
		}
		header, _, _ := bytes.Cut(text[v.table:], []byte("\n"))
		if !bytes.Contains(header, []byte(key)) && !bytes.Contains(header, []byte(strings.Trim(jsonx.Quote(key), `"`))) {
			continue
		}
		table, end = v.table, v.end
	}
	if table < 0 {
		return text
	}
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		end += i + 1
	} else {
		end = len(text)
	}
	before := text[:table]
	if trimmed := bytes.TrimSuffix(before, []byte("\r\n")); len(trimmed) == len(before) {
		before = bytes.TrimSuffix(before, []byte("\n"))
	} else {
		before = trimmed
	}
	return append(slices.Clone(before), text[end:]...)
}

// tomlEntries finds hooks that are written in config.toml itself.
func (a *Agent) tomlEntries(f *File) {
	byPlace := map[string]*Entry{}
	var order []string
	for _, v := range f.toml {
		k := strings.Split(v.path, "\x00")
		if len(k) != 6 || k[0] != "hooks" || k[3] != "hooks" {
			continue
		}
		id := tomlPath(k[:5]...)
		e := byPlace[id]
		if e == nil {
			g, _ := strconv.Atoi(k[2])
			h, _ := strconv.Atoi(k[4])
			e = &Entry{Event: k[1], Group: g, Handler: h, Timeout: a.form.standard}
			e.Line, e.Col = tree.LineCol(f.Data, v.start)
			byPlace[id] = e
			order = append(order, id)
		}
		switch k[5] {
		case "command":
			e.Text = v.text
			e.Call, e.Ours = ParseCall(v.text)
		case "timeout":
			if n, err := strconv.Atoi(v.text); err == nil {
				e.Timeout = time.Duration(n) * a.form.unit
			}
		case "async":
			if v.text == "true" {
				e.Lax = append(e.Lax, k[5])
			}
		}
	}
	for _, id := range order {
		f.Entries = append(f.Entries, *byPlace[id])
	}
}
