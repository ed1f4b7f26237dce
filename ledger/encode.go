package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// encodeMiddle returns the record as encoding/json would with the tags of its fields, from
// `,"time":` up to `,"prev":`: its number and its links are known when it is sealed. A
// test compares the two. encoding/json takes 7 % more processor time for a decision that a
// running gate records (30 pairs of 2,000 calls in turns).
func (r *Record) encodeMiddle() ([]byte, error) {
	w := &jsonx.Writer{Buf: append(make([]byte, 0, 768), `,"time":"`...)}
	w.Buf = append(r.Time.UTC().AppendFormat(w.Buf, time.RFC3339Nano), '"')
	w.Key("kind")
	w.String(string(r.Kind))
	w.TextField("agent", r.Agent)
	w.TextField("session", r.Session)
	w.TextField("tool", r.Tool)
	w.TextField("verdict", r.Verdict)
	w.TextField("rule", r.Rule)
	w.Key("v")
	w.Int(int64(cmp.Or(r.V, Version)))
	w.TextField("user", r.User)
	w.TextField("dir", r.Dir)
	w.TextField("request", r.Request)
	w.RawField("input", r.Input)
	writeMasked(w, r.Masked)
	w.TextField("call", r.Call)
	w.TextField("stage", r.Stage)
	writePos(w, r.Pos)
	w.TextField("reason", r.Reason)
	w.TextField("policy", r.Policy)
	w.TextField("trace", r.Trace)
	w.IntField("nanos", r.Nanos)
	w.RawField("detail", r.Detail)
	writeWorld(w, r.World)
	w.RawField("spool", r.Spool)
	return w.Buf, w.Err
}

func writeMasked(w *jsonx.Writer, list []Masked) {
	if len(list) == 0 {
		return
	}
	w.Key("masked")
	w.Begin('[')
	for _, m := range list {
		w.Begin('{')
		w.TextField("field", m.Field)
		w.Key("pointer")
		w.String(m.Pointer)
		w.Key("why")
		w.String(m.Why)
		w.TextField("digest", m.Digest)
		w.End('}')
	}
	w.End(']')
}

func writePos(w *jsonx.Writer, p obstat.Pos) {
	if p == (obstat.Pos{}) {
		return
	}
	w.Key("pos")
	w.Begin('{')
	w.TextField("file", p.File)
	w.IntField("line", int64(p.Line))
	w.IntField("col", int64(p.Col))
	w.End('}')
}

func writeWorld(w *jsonx.Writer, s *obstat.Snapshot) {
	if s == nil {
		return
	}
	w.Key("world")
	w.Begin('{')
	w.TextField("home", s.HomeDir)
	writeMap(w, "homes", s.Homes)
	writeMap(w, "links", s.Links)
	w.ListField("dirs", s.Dirs)
	w.ListField("files", s.Files)
	w.ListField("searched", s.Searched)
	writeMap(w, "hard", s.Hard)
	w.End('}')
}

func writeMap(w *jsonx.Writer, name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	w.Key(name)
	w.Begin('{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.Key(k)
		w.String(m[k])
	}
	w.End('}')
}

// encode returns the circumstances as JSON.
func (c *Circumstances) encode() ([]byte, error) {
	w := &jsonx.Writer{Buf: append(make([]byte, 0, 256), '{')}
	w.Key("said")
	w.String(c.Said.String())
	w.Key("by")
	w.String(c.By.String())
	w.TextField("in_mode", string(c.InMode))
	w.ListField("subjects", c.Subjects)
	w.ListField("roots", c.Roots)
	w.TextField("project", c.Project)
	w.IntField("repeat", int64(c.Repeat))
	w.ListField("marks", c.Marks)
	w.RawField("given", c.Given)
	w.TextField("partial", c.Partial)
	w.ListField("suggested", c.Suggested)
	for at := range obstat.Circumstances() {
		if c.call == nil || at.Key == "" {
			continue
		}
		if values := at.Values(c.call); at.List {
			w.ListField(at.Key, values)
		} else if len(values) > 0 {
			w.TextField(at.Key, values[0])
		}
	}
	w.End('}')
	return w.Buf, w.Err
}
