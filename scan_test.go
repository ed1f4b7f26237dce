package obstat

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzScan holds the scanner against encoding/json: what it takes is valid, and
// what is valid it takes, up to its own limits.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "a" : [1, 2.5e-3, {"b":null}], "c":"x\"y\u00e9" } `, `{"a":"\ud800"}`, `[[[]]]`, `"abcdefghijklmnop\\"`, "\"a\x01\"", `{"a":}`, `{,}`, `[1,]`, `-0.1e+5`, `01`, `nul`, `"é"`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		start := skipSpace(s, 0)
		end, err := skipValue(s, start)
		ok := err == nil && skipSpace(s, end) == len(s)
		if want := json.Valid([]byte(s)); ok != want && !(want && strings.Count(s, "[")+strings.Count(s, "{") >= maxDepth) {
			if !ok && checkUTF8(s) != nil {
				return // encoding/json takes what is not UTF-8
			}
			if ok && badEscape(s) {
				return // escapes are looked at when a string is read
			}
			t.Fatalf("%q: scanner %v, encoding/json %v", s, ok, want)
		}
	})
}

func badEscape(s string) bool { return strings.Contains(s, `\`) }

func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"a"`, `"\u0041\n\/"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\x"`, `"é\\"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 2 || s[0] != '"' || checkUTF8(s) != nil {
			return
		}
		if end, _, err := skipString(s, 0); err != nil || end != len(s) {
			return
		}
		got, ok := unquote(nil, s)
		var want string
		err := json.Unmarshal([]byte(s), &want)
		if ok && (err != nil || string(got) != want) {
			t.Fatalf("%q: %q, encoding/json %q %v", s, got, want, err)
		}
		if !ok && err == nil && !strings.Contains(strings.ToLower(s), `\ud`) {
			t.Fatalf("%q: refused, encoding/json %q", s, want)
		}
	})
}
