package agent

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A target is one settings file to change.
type target struct {
	agent *Agent
	file  string
	call  Invocation
	// text is the file as the last edit left it, was as it found it.
	text, was []byte
}

// handler returns the entry itself.
func (t *target) handler(event string, c Invocation) object {
	f := &t.agent.form
	o := slices.Clone(f.fields)
	for _, key := range f.commands {
		o = append(o, obj(key, t.agent.lineOf(event, c))...)
	}
	if f.timeout != "" {
		o = append(o, obj(f.timeout, int64(t.agent.limit/f.unit))...)
	}
	return o
}

// entry returns the object for an event: the entry, or the group that it is in.
func (t *target) entry(event string) object {
	h := t.handler(event, t.call)
	var matcher object
	if m := t.agent.form.matcherOf(event); m != "" {
		matcher = obj("matcher", m)
	}
	if t.agent.form.nested {
		return append(matcher, obj("hooks", []any{h})...)
	}
	return append(h, matcher...)
}

// fresh returns the contents of a new file.
func (t *target) fresh() []byte {
	text := []byte("{}\n")
	for _, f := range t.agent.first {
		text, _ = t.agent.format.Set(text, f.Value, f.Key)
	}
	var hooks object
	for _, event := range t.agent.all() {
		hooks = append(hooks, jsonx.Field{Key: event, Value: []any{t.entry(event)}})
	}
	text, _ = t.agent.format.Set(text, hooks, t.agent.form.top())
	return text
}

// add writes the hook behind those that are there, once for each event. An
// older entry of obstat's is brought up to date where it stands.
func (t *target) add(old []byte) (text []byte, err error) {
	t.was = old
	if len(bytes.TrimSpace(old)) == 0 {
		t.text = t.fresh()
		return t.text, nil
	}
	if err := t.agent.kinds(t.agent.parse(t.file, old, false).root.Get(t.agent.form.top()), false); err != nil {
		return nil, err
	}
	text = old
	for _, event := range t.agent.all() {
		if text, err = t.addEvent(text, event); err != nil {
			return nil, err
		}
	}
	t.text = text
	return text, nil
}

func (t *target) addEvent(text []byte, event string) ([]byte, error) {
	f, mine, err := t.find(text, event)
	if err != nil {
		return nil, err
	}
	keep := slices.IndexFunc(mine, func(e Entry) bool { return t.alone(f.root, &e) })
	for i := len(mine) - 1; i >= 0; i-- { // from the end, so that the others stay where they are
		if i == keep {
			continue
		}
		if text, err = t.agent.format.Delete(text, t.path(f.root, &mine[i])...); err != nil {
			return nil, err
		}
		if keep > i && t.alone(f.root, &mine[i]) {
			mine[keep].group--
		}
	}
	if keep < 0 {
		return t.agent.format.Append(text, t.entry(event), t.agent.form.top(), event)
	}
	return t.refresh(text, &mine[keep])
}

// find returns obstat's entries of an event.
func (t *target) find(text []byte, event string) (f *File, mine []Entry, err error) {
	f = t.agent.parse(t.file, text, false)
	if err := f.Broken(); err != nil {
		return nil, nil, err
	}
	for _, e := range f.Entries {
		if e.Event == event && e.Ours {
			mine = append(mine, e)
		}
	}
	return f, mine, nil
}

// alone tells whether an entry has its group to itself.
func (t *target) alone(root *tree.Node, e *Entry) bool {
	return e.handler < 0 || len(root.At(t.agent.form.top(), e.Event, e.group, "hooks").Elems) == 1
}

// path returns the path that is removed to take an entry out.
func (t *target) path(root *tree.Node, e *Entry) []any {
	if t.alone(root, e) {
		return []any{t.agent.form.top(), e.Event, e.group}
	}
	return []any{t.agent.form.top(), e.Event, e.group, "hooks", e.handler}
}

// refresh brings an entry of obstat's up to date, field by field: its options, a
// longer time-out and fields that obstat does not know stay.
func (t *target) refresh(text []byte, e *Entry) (out []byte, err error) {
	at := []any{t.agent.form.top(), e.Event, e.group}
	group := slices.Clone(at)
	if e.handler >= 0 {
		at = append(at, "hooks", e.handler)
	}
	root, _ := t.agent.format.Parse(text)
	node, f := root.At(at...), &t.agent.form
	for _, field := range t.handler(e.Event, t.updated(e)) {
		now := node.Get(field.Key)
		if now != nil && (field.Key == f.timeout && e.Timeout > t.agent.limit || equal(now, field.Value)) {
			continue // a longer time stays, and an equal value as it is written
		}
		if text, err = t.agent.format.Set(text, field.Value, append(slices.Clone(at), field.Key)...); err != nil {
			return nil, err
		}
	}
	for _, key := range append(slices.Clone(laxKeys), "args") { // the line has the arguments
		if node.Get(key) != nil {
			if text, err = t.agent.format.Delete(text, append(slices.Clone(at), key)...); err != nil {
				return nil, err
			}
		}
	}
	switch m := f.matcherOf(e.Event); {
	case m != "" && e.Matcher != m:
		return t.agent.format.Set(text, m, append(group, "matcher")...)
	case m == "" && root.At(append(slices.Clone(group), "matcher")...) != nil:
		return t.agent.format.Delete(text, append(group, "matcher")...)
	}
	return text, nil
}

// equal tells whether a node holds a value.
func equal(n *tree.Node, value any) bool {
	a, err := jsonx.Marshal(jsonx.Value(n))
	b, worse := jsonx.Marshal(value)
	return err == nil && worse == nil && bytes.Equal(a, b)
}

// updated returns the invocation to write in the place of an entry's: its options
// stay.
func (t *target) updated(e *Entry) Invocation {
	if slices.Contains(e.Invocation.Args, t.agent.Name) {
		return e.Invocation.with(t.call)
	}
	return t.call
}

// remove takes the hook out, and with it the lists and the file that obstat
// made, as far as that can be told.
func (t *target) remove(old []byte) (text []byte, err error) {
	t.was, t.text = old, old
	if len(bytes.TrimSpace(old)) == 0 {
		return old, nil
	}
	if f := t.agent.parse(t.file, old, false); f.Broken() == nil && len(f.Entries) > 0 && f.Entries[0].Ours {
		fresh := target{agent: t.agent, call: f.Entries[0].Invocation}
		if bytes.Equal(old, fresh.fresh()) {
			t.text = nil
			return nil, nil
		}
	}
	text = old
	for _, event := range t.agent.all() {
		if text, err = t.removeEvent(text, event); err != nil {
			return nil, err
		}
	}
	t.text = text
	return text, nil
}

func (t *target) removeEvent(text []byte, event string) ([]byte, error) {
	for {
		f, mine, err := t.find(text, event)
		if err != nil {
			return nil, err
		}
		if len(mine) == 0 {
			return text, nil
		}
		e := &mine[len(mine)-1]
		path := t.path(f.root, e)
		if len(path) == 3 && len(f.root.At(t.agent.form.top(), event).Elems) == 1 {
			path = path[:2]
			if len(f.root.Get(t.agent.form.top()).Members) == 1 {
				path = path[:1]
			}
		}
		if text, err = t.agent.format.Delete(text, path...); err != nil {
			return nil, err
		}
	}
}

// errNotOurs says that a file stands where obstat's should.
var errNotOurs = errors.New("somebody else's file stands where obstat's should: it is left alone")

// write puts obstat's own file in place.
func (t *target) write(old []byte) ([]byte, error) {
	if old != nil && !t.isOwn(old) {
		return nil, fmt.Errorf("%w; move it, or call obstat from it", errNotOurs)
	}
	if f := t.agent.parse(t.file, old, true); len(f.Entries) > 0 && f.Entries[0].Ours {
		return t.agent.own(t.updated(&f.Entries[0])), nil
	}
	return t.agent.own(t.call), nil
}

// unwrite takes obstat's own file away.
func (t *target) unwrite(old []byte) ([]byte, error) {
	if old != nil && !t.isOwn(old) {
		return nil, errNotOurs
	}
	return nil, nil
}

// isOwn tells whether a file of its own is obstat's, also of another version.
func (t *target) isOwn(old []byte) bool {
	if bytes.Contains(old, []byte("Written by `obstat install "+t.agent.Name+"`")) {
		return true
	}
	f := t.agent.parse(t.file, old, true)
	return len(f.Entries) > 0 && !slices.ContainsFunc(f.Entries, func(e Entry) bool { return !e.Ours })
}
