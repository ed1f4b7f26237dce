package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
)

// drawRecord draws a record with anything in it.
func drawRecord(t *rapid.T) *Record {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\"b\\c", "\x00\x1f\x7f\b\f\n\r\t", "\xff\xfeé\u2028\u2029", "<&>"}))
	raw := rapid.SampledFrom([]json.RawMessage{nil, {}, json.RawMessage(`{ "a" : [1, "<x>" ] }`), json.RawMessage(`"é\u2028"`), json.RawMessage(" null ")})
	hash := func() (h Hash) {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
		return h
	}
	r := &Record{Seq: rapid.Uint64().Draw(t, "seq"), Time: time.Unix(rapid.Int64Range(0, 9e9).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
		Kind: Kind(text.Draw(t, "kind")), Agent: text.Draw(t, "agent"), Session: text.Draw(t, "session"), Tool: text.Draw(t, "tool"), Verdict: text.Draw(t, "verdict"),
		Rule: text.Draw(t, "rule"), V: rapid.IntRange(0, 3).Draw(t, "v"), User: text.Draw(t, "user"), Dir: text.Draw(t, "dir"), Request: text.Draw(t, "request"),
		Input: raw.Draw(t, "input"), Call: text.Draw(t, "call"), Stage: text.Draw(t, "stage"), Reason: text.Draw(t, "reason"), Policy: text.Draw(t, "policy"),
		Trace: text.Draw(t, "trace"), Nanos: rapid.Int64().Draw(t, "nanos"), Detail: raw.Draw(t, "detail"), Prev: hash(), Hash: hash()}
	if rapid.Bool().Draw(t, "has pos") {
		r.Pos = obstat.Pos{File: text.Draw(t, "file"), Line: rapid.IntRange(-1, 9).Draw(t, "line"), Col: rapid.IntRange(0, 9).Draw(t, "col")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "masked") {
		r.Masked = append(r.Masked, Masked{text.Draw(t, "field"), text.Draw(t, "pointer"), text.Draw(t, "why"), text.Draw(t, "digest")})
	}
	if rapid.Bool().Draw(t, "has world") {
		m := rapid.MapOfN(text, text, 0, 3)
		r.World = &obstat.Snapshot{HomeDir: text.Draw(t, "home"), Homes: m.Draw(t, "homes"), Links: m.Draw(t, "links"), Dirs: rapid.SliceOfN(text, 0, 3).Draw(t, "dirs"), Files: rapid.SliceOfN(text, 0, 3).Draw(t, "files"), Searched: rapid.SliceOfN(text, 0, 3).Draw(t, "searched"), Hard: m.Draw(t, "hard")}
	}
	if rapid.Bool().Draw(t, "has spool") {
		r.Spool = json.RawMessage(fmt.Sprintf(`{"seq":%d,"prev":"%s","hash":"%s"}`, rapid.Uint64().Draw(t, "spool seq"), hash(), hash()))
	}
	return r
}

// encode returns v as encoding/json writes it, with its text as it is.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// TestEncode: a record is written as the tags of its fields say.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		middle, err := r.encodeMiddle()
		got := appendHash((&Draft{r, middle}).body(nil, Head{r.Seq - 1, r.Prev}), r.Hash)
		r.V = cmp.Or(r.V, Version)
		want, werr := encode(r)
		if werr != nil {
			t.Fatal(werr)
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\n%s\n%s", err, got, want)
		}
		texts := rapid.SliceOfN(rapid.String(), 0, 2)
		c := &Circumstances{Said: rapid.SampledFrom([]obstat.Verdict{obstat.Deny, obstat.Ask, obstat.Allow}).Draw(t, "said"), By: obstat.ByKind(rapid.IntRange(0, int(obstat.ByConfined)).Draw(t, "by")), InMode: obstat.Mode(r.Tool), Subjects: texts.Draw(t, "subjects"),
			Roots: texts.Draw(t, "roots"), Repeat: r.V, Given: r.Input, Partial: r.Reason, Project: r.Dir,
			Marks: texts.Draw(t, "marks"), Suggested: texts.Draw(t, "suggested")}
		if want, err = encode(c); err != nil {
			t.Fatal(err)
		}
		if got, err := c.encode(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\n%s\n%s", err, got, want)
		}
	})
}

// TestCircumstances: a decision's record has every circumstance of the call, and the call that is
// made of it again has them, too.
func TestCircumstances(t *testing.T) {
	for at := range obstat.Circumstances() {
		if at.Of != "" {
			continue
		}
		t.Run(at.Name, func(t *testing.T) {
			call := &obstat.Call{Tool: "Bash"}
			at.Set(call, "2026-01-31T22:30:00.5+01:00") // a text like any other, but for the time
			want := at.Values(call)
			r := (&Made{Call: call, Decision: &obstat.Decision{}, Mode: call.Mode}).Record()
			again, _, err := r.Replayable()
			if err != nil || len(want) != 1 || !slices.Equal(at.Values(again), want) {
				t.Errorf("%q, not %q: %v\n%s", at.Values(again), want, err, r.Detail)
			}
		})
	}
}

func TestEncodeBad(t *testing.T) {
	if _, err := (&Record{Input: json.RawMessage("{")}).encodeMiddle(); err == nil {
		t.Error("what is no JSON is written")
	}
}
