package jsonx_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

type embedded struct {
	Deep string `json:"deep,omitempty"`
}

type word string

type document struct {
	embedded
	Tool  string          `json:"tool"`
	Mode  word            `json:"mode,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	Roots []string        `json:"roots,omitempty"`
	N     int             `json:"n,omitempty"`
	On    bool            `json:"on,omitempty"`
	At    time.Time       `json:"at,omitzero"`
	One   *document       `json:"one,omitempty"`
	More  []document      `json:"more,omitempty"`
	Kept  string          `json:"-"`
}

// into checks that Into reads what Parse and Decode read without a problem, or nothing.
func into(t interface {
	Helper()
	Fatalf(string, ...any)
}, src string) bool {
	t.Helper()
	as := tree.NewDecoder(reflect.TypeFor[document]())
	opt := jsonx.Options{NoMark: true, Fold: 2, NUL: true}
	var got, want document
	ok := jsonx.Into([]byte(src), opt, as, &got)
	n, problems := jsonx.Parse([]byte(src), opt)
	if n.Is(tree.Object) {
		problems = append(problems, as.Decode(n, []byte(src), &want)...)
	}
	switch {
	case !ok && !reflect.DeepEqual(got, document{}):
		t.Fatalf("%s leaves %+v", src, got)
	case ok && (len(problems) > 0 || !n.Is(tree.Object)):
		t.Fatalf("%s is read in spite of %v", src, problems)
	case ok && !reflect.DeepEqual(got, want):
		t.Fatalf("%s is read as\n%+v\nand is\n%+v", src, got, want)
	}
	return ok
}

func TestInto(t *testing.T) {
	for src, quick := range map[string]bool{
		`{"tool":"Bash","input":{"command":"ls \u00e9\n"},"roots":["/a","/b"],"n":3,"on":true}`:                     true,
		` {"tool" : "a\tb", "roots": [], "deep": "x", "mode": "plan", "at": "2026-11-16T12:00:00Z", "input": null}`: true,
		`{"tool":"a","one":{"tool":"b","more":[{"tool":"c"},{"tool":"d","on":false}]}}`:                             true,
		`{"input":[1, {"a": 2}],"tool":""}`:              true,
		`{}`:                                             false, // tool is missing
		`{"tool":null}`:                                  false,
		`{"tool":"a","mode":null}`:                       false, // fine, and Decode's to read
		`{"tool":"a","Mode":"x"}`:                        false,
		`{"tool":"a","tool":"b"}`:                        false,
		`{"tool":"a","mode":"x","MODE":"y"}`:             false,
		`{"tool":"a","input":{"a":1,"a":2}}`:             false,
		`{"tool":"a","kept":"x"}`:                        false,
		`{"tool":1}`:                                     false,
		`{"tool":"a","n":-1}`:                            false,
		`{"tool":"a","n":1.5}`:                           false,
		`{"tool":"a","n":"1"}`:                           false,
		`{"tool":"a","on":"true"}`:                       false,
		`{"tool":"a","at":"noon"}`:                       false,
		`{"tool":"a","roots":["b",null]}`:                false,
		`{"tool":"a","roots":{}}`:                        false,
		`{"tool":"a","more":[{}]}`:                       false,
		`{"tool":"a","one":[]}`:                          false,
		`{"tool":"a\ud800"}`:                             false,
		"{\"tool\":\"a\xff\"}":                           false,
		`{"tool":"a"} x`:                                 false,
		`{"tool":"a",}`:                                  false,
		`{"tool":"a","input":{"b":[}`:                    false,
		`{"tool":"a"`:                                    false,
		`["tool"]`:                                       false,
		``:                                               false,
		"\ufeff" + `{"tool":"a"}`:                        false,
		`{"tool":"` + strings.Repeat("a", 70_000) + `"}`: false, // Parse has limits
	} {
		if got := into(t, src); got != quick {
			t.Errorf("%.100s: read at once: %v", src, got)
		}
	}
}

// TestIntoAny: whatever is put into a document, it is read as Parse and Decode read it.
func TestIntoAny(t *testing.T) {
	piece := rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `:`, `"tool":`, `"tool":"a"`, `"input":`, `"roots":["x"]`, `"roots":`, `"n":`, `1`, `-1`, `true`, `null`, `"deep":"\u0061"`, `"one":{"tool":"b"}`,
		`"more":[`, `"mode":"m"`, `"at":"2026-11-16T12:00:00Z"`, ` `, `"x"`, `"TOOL":"b"`, `{"tool":"a","input":{"b":[1,"\ud83d\ude00"]},`})
	rapid.Check(t, func(t *rapid.T) {
		into(t, strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces"), ""))
		into(t, `{"tool":"a",`+strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "members"), ",")+`}`)
	})
}

// TestIntoBadStrings: a raw value with a string that is no Unicode is not read, and breaks nothing.
func TestIntoBadStrings(t *testing.T) {
	as := tree.NewDecoder(reflect.TypeFor[document]())
	for _, text := range []string{`"\ud800"`, "\"\x01\"", `"\q"`, "\"\xff\"", `{"a":"\udc00"}`, `["\ud800"]`, `{"a":`, `"`} {
		var v document
		if jsonx.Into([]byte(`{"tool":"t","input":`+text+`}`), jsonx.Options{}, as, &v) || v.Tool != "" {
			t.Errorf("%q is read: %+v", text, v)
		}
	}
}
