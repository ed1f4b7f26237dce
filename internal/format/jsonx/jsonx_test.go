package jsonx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// show prints problems as line:col code, which is what callers rely on.
func show(src string, ps []tree.Problem) string {
	var out []string
	for _, p := range ps {
		line, col := tree.LineCol([]byte(src), p.Offset)
		out = append(out, fmt.Sprintf("%d:%d %s", line, col, p.Code))
	}
	return strings.Join(out, ", ")
}

func TestParseProblems(t *testing.T) {
	jsonc := jsonx.JSONC()
	tests := []struct {
		src  string
		opt  jsonx.Options
		want string
	}{
		{`{"a":1}`, jsonx.Options{}, ""},
		{"\ufeff{\"a\":1}", jsonx.Options{}, ""},
		{`{"a":1,"a":2}`, jsonx.Options{}, "1:8 duplicate-key"},
		{`{"a":1,"\u0061":2}`, jsonx.Options{}, "1:8 duplicate-key"},
		{"{\"a\":{\"b\":1,\n \"b\":2},\n\"a\":[{\"c\":1,\"c\":2}]}", jsonx.Options{}, "2:2 duplicate-key, 3:1 duplicate-key, 3:13 duplicate-key"},
		{`[1,]`, jsonx.Options{}, "1:3 syntax"},
		{`[1,]`, jsonc, ""},
		{`[1,,]`, jsonc, "1:4 syntax"},
		{`[,]`, jsonc, "1:2 syntax"},
		{`{,}`, jsonc, "1:2 syntax"},
		{"// c\n[1 /* x */, 2] // end", jsonc, ""},
		{"// c\n[1, 2,] // end", jsonx.Options{}, "1:1 syntax, 2:6 syntax, 2:9 syntax"},
		{"[1 /* x", jsonc, "1:4 syntax"},
		{"[1 / 2]", jsonc, "1:4 syntax"},
		{"", jsonc, "1:1 syntax"},
		{"  // nothing", jsonc, "1:13 syntax"},
		{"[1", jsonc, "1:3 syntax"},
		{"[1 2]", jsonc, "1:4 syntax"},
		{"{\"a\" 1}", jsonc, "1:6 syntax"},
		{"{a: 1}", jsonc, "1:2 syntax"},
		{"1 2", jsonc, "1:3 syntax"},
		{"\"a\nb\"", jsonc, "1:1 syntax"},
		{"\"a\tb\"", jsonc, "1:3 encoding"},
		{"\"a\xffb\", 1", jsonc, "1:3 encoding, 1:6 syntax"},
		{"// \xff\n1", jsonc, "1:4 encoding"},
		{`"\ud800"`, jsonc, "1:2 encoding"},
		{`"\ud800\u0041"`, jsonc, "1:2 encoding"},
		{`"\udc00\ud800"`, jsonc, "1:2 encoding, 1:8 encoding"},
		{`"\ud83d\ude00"`, jsonc, ""},
		{`"a\u0000b"`, jsonc, "1:3 encoding"},
		{`"a\u0000b"`, jsonx.Options{NUL: true}, ""},
		{"\"a\x00b\"", jsonx.Options{NUL: true}, "1:3 encoding"},
		{"\x00", jsonc, "1:1 syntax"},
		{`"\x41" x`, jsonc, "1:2 syntax, 1:8 syntax"},
		{`"\u00g0"`, jsonc, "1:2 syntax"},
		{"01", jsonc, "1:1 syntax"},
		{"+1", jsonc, "1:1 syntax"},
		{"1.", jsonc, "1:1 syntax"},
		{"-", jsonc, "1:1 syntax"},
		{"NaN", jsonc, "1:1 syntax"},
		{"True", jsonc, "1:1 syntax"},
		{"[\"é\", \"ü\", x]", jsonc, "1:12 syntax"},
		{"[1,\r\n2,\r3,\nx]", jsonc, "4:1 syntax"},
		{strings.Repeat("[", 501) + strings.Repeat("]", 501), jsonc, ""},
		{strings.Repeat("[", 502), jsonc, "1:502 too-deep"},
		{strings.Repeat(`{"a":`, 100000), jsonc, "1:2506 too-deep"},
		{strings.Repeat(" ", jsonx.MaxBytes+1), jsonc, "1:10485761 too-large"},
	}
	for _, tt := range tests {
		_, ps := jsonx.Parse([]byte(tt.src), tt.opt)
		if got := show(tt.src, ps); got != tt.want {
			t.Errorf("Parse(%.60q):\n got %s\nwant %s\n%v", tt.src, got, tt.want, ps)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	_, ps := jsonx.Parse([]byte(`{`+strings.Repeat(`"a":1,`, 1000)+`"b":1}`), jsonx.Options{})
	if len(ps) != tree.MaxProblems+1 || ps[len(ps)-1].Code != tree.CodeMore || !tree.Fatal(ps) {
		t.Errorf("%d problems, last %v", len(ps), ps[len(ps)-1])
	}
	_, ps = jsonx.Parse([]byte("["+strings.Repeat("1,", jsonx.MaxNodes)+"1]"), jsonx.Options{})
	if len(ps) != 1 || ps[0].Code != tree.CodeSize {
		t.Errorf("too many values: %v", ps)
	}
}

func TestDuplicatesAmongMany(t *testing.T) {
	for _, n := range []int{5, 12, 13, 40} {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf(`"k%d":0`, i))
		}
		for _, twice := range []int{0, n / 2, n - 1} {
			src := "{" + strings.Join(keys, ",") + fmt.Sprintf(`,"k%d":1,"k%d":2}`, twice, twice)
			_, ps := jsonx.Parse([]byte(src), jsonx.Options{})
			first := strings.Index(src, fmt.Sprintf(`"k%d":0`, twice))
			if len(ps) != 2 || ps[0].Also[0] != first || ps[1].Also[0] != first {
				t.Errorf("%d keys, k%d again: %+v, want the first at %d", n, twice, ps, first)
			}
		}
	}
}

func TestOffsets(t *testing.T) {
	src := "{ // é\n  \"k\\n\" : [ 1.50, \"x\\u00e9\", {\"t\":true} , null ] , }"
	n, ps := jsonx.Parse([]byte(src), jsonx.JSONC())
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	for _, tt := range []struct {
		path []any
		want string
	}{
		{nil, src},
		{[]any{"k\n"}, `[ 1.50, "x\u00e9", {"t":true} , null ]`},
		{[]any{"k\n", 0}, "1.50"},
		{[]any{"k\n", 1}, `"x\u00e9"`},
		{[]any{"k\n", 2, "t"}, "true"},
		{[]any{"k\n", -1}, "null"},
	} {
		if got := string(n.At(tt.path...).Source([]byte(src))); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.path, got, tt.want)
		}
	}
	if got := n.At("k\n", 1).Str; got != "xé" {
		t.Errorf("decoded %q", got)
	}
	if got := string(n.Member("k\n").KeyNode.Source([]byte(src))); got != `"k\n"` {
		t.Errorf("key %q", got)
	}
	if n.At("k\n", 4) != nil || n.At("k\n", "x") != nil || n.At("no", 0) != nil || n.At(1.5) != nil {
		t.Error("At found what is not there")
	}
}

func TestMarshal(t *testing.T) {
	tests := []struct {
		v    any
		want string
	}{
		{nil, "null"},
		{jsonx.Object{{"b", 1}, {"a", jsonx.Number("1.0")}}, `{"b":1,"a":1.0}`},
		{map[string]any{"b": int64(-1), "a": uint64(2), "c": 1.5}, `{"a":2,"b":-1,"c":1.5}`},
		{[]any{true, "<é\u2028\"\\\b\f\n\r\t\x01\x7f>", []string{"x"}}, "[true,\"<é\u2028\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f>\",[\"x\"]]"},
	}
	for _, tt := range tests {
		got, err := jsonx.Marshal(tt.v)
		if err != nil || string(got) != tt.want {
			t.Errorf("Marshal(%v) = %s, %v; want %s", tt.v, got, err, tt.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s is not JSON", got)
		}
	}
	nan := 0.0
	deep := any("x")
	for range 600 {
		deep = []any{deep}
	}
	for _, bad := range []any{"\xff", nan / nan, jsonx.Number("01"), jsonx.Number(""), jsonx.Object{{"a", 1}, {"a", 2}}, struct{}{}, []any{deep}, jsonx.Object{{"\xff", 1}}} {
		if got, err := jsonx.Marshal(bad); err == nil {
			t.Errorf("Marshal(%.40v) = %s, want an error", bad, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	same := []string{`{"b":[1, 2],"a":"\u00e9\/"}`, "{\n\"a\" : \"é/\", \"b\":[1,2]}"}
	for _, s := range same {
		got, err := jsonx.Canonical([]byte(s))
		if err != nil || string(got) != `{"a":"é/","b":[1,2]}` {
			t.Errorf("Canonical(%s) = %s, %v", s, got, err)
		}
	}
	// These are one number to a reader of floats, and must not be one call.
	a, _ := jsonx.Canonical([]byte("9007199254740993"))
	b, _ := jsonx.Canonical([]byte("9007199254740992"))
	if bytes.Equal(a, b) {
		t.Error("two numbers, one form")
	}
	for _, bad := range []string{"", "{", `{"a":1,"a":1}`, "// x\n1", "[1,]", `"\ud800"`} {
		if got, err := jsonx.Canonical([]byte(bad)); err == nil {
			t.Errorf("Canonical(%s) = %s, want an error", bad, got)
		}
	}
}

// FuzzParse holds Parse against encoding/json: what jsonx takes, the other takes
// with the same value; what only jsonx refuses is one of the known leniencies.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x\ny",null,true,{}]}`, `"\ud83d\ude00"`, `{"a":1,"A":2}`, "[1,]", "// x\n1", "\ufeff1", `[[[[`, `{"a":"\u0000"}`, "\"\xff\"", "1 2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, ps := jsonx.Parse(src, jsonx.Options{NUL: true})
		for _, p := range ps {
			if p.Offset < 0 || p.Offset > len(src) || p.Msg == "" {
				t.Fatalf("%q: bad problem %+v", src, p)
			}
		}
		bare := bytes.TrimPrefix(src, []byte("\ufeff"))
		if len(ps) > 0 {
			for _, p := range ps {
				if p.Code == tree.CodeDuplicate || p.Code == tree.CodeEncoding || p.Code == tree.CodeDepth {
					return
				}
			}
			if json.Valid(bare) {
				t.Fatalf("%q is valid, but: %v", src, ps)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(bare))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q taken, but %v", src, err)
		}
		if got := plain(n); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, want %#v", src, got, want)
		}
		out, err := jsonx.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		again, ps := jsonx.Parse(out, jsonx.Options{NUL: true})
		if len(ps) > 0 || !tree.Equal(n, again) {
			t.Fatalf("%q written as %q reads differently: %v", src, out, ps)
		}
		for _, opt := range []jsonx.Options{{}, jsonx.JSONC()} {
			jsonx.Parse(src, opt)
		}
	})
}

func plain(n *tree.Node) any {
	switch n.Kind {
	case tree.Object:
		m := map[string]any{}
		for _, e := range n.Members {
			m[e.Key] = plain(e.Value)
		}
		return m
	case tree.Array:
		a := []any{}
		for _, e := range n.Elems {
			a = append(a, plain(e))
		}
		return a
	case tree.Number:
		return json.Number(n.Num)
	case tree.String:
		return n.Str
	case tree.Bool:
		return n.Bool
	}
	return nil
}

func BenchmarkParse(b *testing.B) {
	src := []byte(`{"permission":{"bash":{"git status *":"allow","*":"ask"},"edit":["a","b","c"],"n":12}}`)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		jsonx.Parse(src, jsonx.Options{})
	}
}
