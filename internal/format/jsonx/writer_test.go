package jsonx_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// odd are texts that a writer may get wrong.
var odd = []string{"", `a"b\c`, "\x00\x01\x1f\x7f", "\b\f\n\r\t", "é\u2028\u2029\U0001f600", "<&>", "\xff", "a\xc3", "\xed\xa0\x80", "\ufeff", "\ufffd"}

// plainJSON is v as encoding/json writes it for no web page.
func plainJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestWriterText: a text is written as encoding/json writes it.
func TestWriterText(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, s string) {
		var w jsonx.Writer
		if w.String(s); string(w.Buf) != plainJSON(s) {
			t.Errorf("%q is written as %s, and by encoding/json as %s", s, w.Buf, plainJSON(s))
		}
	}
	for _, s := range odd {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))) })
}

// TestWriter: fields are written in their order, and empty ones left out, as the tags of a
// struct would have it.
func TestWriter(t *testing.T) {
	type inner struct {
		Text string   `json:"text,omitempty"`
		List []string `json:"list,omitempty"`
	}
	type whole struct {
		Text  string          `json:"text,omitempty"`
		N     int64           `json:"n,omitempty"`
		Yes   bool            `json:"yes,omitempty"`
		Raw   json.RawMessage `json:"raw,omitempty"`
		List  []string        `json:"list,omitempty"`
		Items []inner         `json:"items"`
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(odd)
		texts := rapid.SliceOfN(text, 0, 3)
		raw := rapid.SampledFrom([]json.RawMessage{nil, {}, json.RawMessage(` { "a" : [ 1 , 2 ] } `), json.RawMessage("null"), json.RawMessage(`"<\u2028>"`)})
		v := whole{text.Draw(t, "text"), rapid.Int64().Draw(t, "n"), rapid.Bool().Draw(t, "yes"), raw.Draw(t, "raw"), texts.Draw(t, "list"), []inner{}}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			v.Items = append(v.Items, inner{text.Draw(t, "inner"), texts.Draw(t, "inner list")})
		}
		w := &jsonx.Writer{}
		w.Begin('{')
		w.TextField("text", v.Text)
		w.IntField("n", v.N)
		w.TrueField("yes", v.Yes)
		w.RawField("raw", v.Raw)
		w.ListField("list", v.List)
		w.Key("items")
		w.Begin('[')
		for _, it := range v.Items {
			w.Begin('{')
			w.TextField("text", it.Text)
			w.ListField("list", it.List)
			w.End('}')
		}
		w.End(']')
		w.End('}')
		if want := plainJSON(v); w.Err != nil || string(w.Buf) != want {
			t.Fatalf("%s, %v\nwant %s", w.Buf, w.Err, want)
		}
	})
}

func TestWriterBadRaw(t *testing.T) {
	for _, raw := range []string{"{", "nul", "1 2", "\xff", `{"a":1,}`} {
		w := &jsonx.Writer{}
		w.Begin('{')
		if w.RawField("raw", []byte(raw)); w.Err == nil {
			t.Errorf("%q is written as %s", raw, w.Buf)
		}
	}
}

// TestQuote: what is quoted is read back, broken characters as U+FFFD.
func TestQuote(t *testing.T) {
	for _, s := range odd {
		n, problems := jsonx.Parse([]byte(jsonx.Quote(s)), jsonx.Options{NUL: true})
		if tree.Fatal(problems) || n.Text() != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q is quoted as %s and read as %q: %v", s, jsonx.Quote(s), n.Text(), problems)
		}
	}
	if got, want := jsonx.Quote("a\x00\"é\u2028"), `"a\u0000\"é`+"\u2028"+`"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestObjectGet(t *testing.T) {
	o := jsonx.Object{{Key: "a", Value: 1}, {Key: "b", Value: nil}}
	if v, ok := o.Get("a"); !ok || v != 1 {
		t.Errorf("%v %v", v, ok)
	}
	if v, ok := o.Get("b"); !ok || v != nil {
		t.Errorf("a key whose value is nil: %v %v", v, ok)
	}
	if v, ok := o.Get("A"); ok {
		t.Errorf("another key: %v", v)
	}
}

// TestCanonicalOrder: two documents that are equal but for the order of keys, blanks and escapes have
// one form, and it is read as the same value.
func TestCanonicalOrder(t *testing.T) {
	a, err := jsonx.Canonical([]byte("{\"b\": [1.50, \"\\u00e9\"], \"a\": {\"z\": null, \"B\": true}}"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := jsonx.Canonical([]byte(`{"a":{"B":true,"z":null},"b":[1.50,"é"]}`))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("%s and %s, %v", a, b, err)
	}
	if c, err := jsonx.Canonical([]byte(`{"a":{"B":true,"z":null},"b":[1.5,"é"]}`)); err != nil || bytes.Equal(a, c) {
		t.Errorf("1.50 and 1.5 are one: %s, %v", c, err)
	}
	for _, bad := range []string{`{"a":1,"a":2}`, `{"a":1`, `[1,]`, `"\ud800"`, ``} {
		if out, err := jsonx.Canonical([]byte(bad)); err == nil || !strings.Contains(err.Error(), ":") {
			t.Errorf("%s becomes %s: %v", bad, out, err)
		}
	}
	if _, err := jsonx.Marshal(map[string]any{"when": time.Now()}); err == nil {
		t.Error("a time is written")
	}
	keys := []string{}
	n, _ := jsonx.Parse(a, jsonx.Options{})
	for _, m := range n.Members {
		keys = append(keys, m.Key)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("the keys are %q", keys)
	}
}
