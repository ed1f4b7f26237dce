package textedit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
)

// An editCase is one edit and the whole file after it; want "" means refused.
type editCase struct {
	name, src, want string
	edit            func(f textedit.Format, src []byte) ([]byte, error)
}

func set(v any, path ...any) func(textedit.Format, []byte) ([]byte, error) {
	return func(f textedit.Format, src []byte) ([]byte, error) { return f.Set(src, v, path...) }
}

func setBefore(before string, v any, path ...any) func(textedit.Format, []byte) ([]byte, error) {
	return func(f textedit.Format, src []byte) ([]byte, error) { return f.SetBefore(src, before, v, path...) }
}

func add(v any, path ...any) func(textedit.Format, []byte) ([]byte, error) {
	return func(f textedit.Format, src []byte) ([]byte, error) { return f.Append(src, v, path...) }
}

func insert(i int, v any, path ...any) func(textedit.Format, []byte) ([]byte, error) {
	return func(f textedit.Format, src []byte) ([]byte, error) { return f.Insert(src, i, v, path...) }
}

func del(path ...any) func(textedit.Format, []byte) ([]byte, error) {
	return func(f textedit.Format, src []byte) ([]byte, error) { return f.Delete(src, path...) }
}

func run(t *testing.T, f textedit.Format, cases []editCase) {
	t.Helper()
	for _, tt := range cases {
		// Every edit has to do the same in a file with the other line ends.
		for _, nl := range []string{"\n", "\r\n"} {
			src, want := strings.ReplaceAll(tt.src, "\n", nl), strings.ReplaceAll(tt.want, "\n", nl)
			if nl == "\r\n" && !strings.Contains(tt.src, "\n") {
				continue
			}
			got, err := tt.edit(f, []byte(src))
			if tt.want == "" {
				if err == nil {
					t.Errorf("%s: want an error, got:\n%s", tt.name, got)
				}
				continue
			}
			if err != nil || string(got) != want {
				t.Errorf("%s: %v\ngot:\n%q\nwant:\n%q", tt.name, err, got, want)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	entry := jsonx.Object{{Key: "tool", Value: "Bash"}, {Key: "n", Value: 1}}
	run(t, textedit.JSONC, []editCase{
		{"append to one line", `{"allow": ["a", "b"]}`, `{"allow": ["a", "b", "c"]}`, add("c", "allow")},
		{"append, tight", `{"allow":["a","b"]}`, `{"allow":["a","b","c"]}`, add("c", "allow")},
		{"append to one element", `{"allow": ["a"]}`, `{"allow": ["a", "c"]}`, add("c", "allow")},
		{"append to empty, one line", `{"x": 1, "allow": []}`, `{"x": 1, "allow": ["c"]}`, add("c", "allow")},
		{"append to empty in a pretty file", "{\n  \"allow\": []\n}\n", "{\n  \"allow\": [\n    \"c\"\n  ]\n}\n", add("c", "allow")},
		{"append over lines", "{\n\t\"allow\": [\n\t\t\"a\"\n\t]\n}", "{\n\t\"allow\": [\n\t\t\"a\",\n\t\t\"c\"\n\t]\n}", add("c", "allow")},
		{"append keeps the trailing comma", "[\n  1, // one\n]", "[\n  1, // one\n  2,\n]", add(2)},
		{"append keeps the comment", "[\n  1 // one\n  // more\n]", "[\n  1, // one\n  2\n  // more\n]", add(2)},
		{"append before a bracket on the same line", "[\n  1,\n  2]", "[\n  1,\n  2,\n  3]", add(3)},
		{"append, trailing comma, one line", "[1,]", "[1, 2,]", add(2)},
		{"append after a block comment", "[1 /* , */ , 2 /* two */]", "[1 /* , */ , 2, 3 /* two */]", add(3)},
		{"fill around a comment", "{\n  \"allow\": [\n    // none yet\n  ]\n}", "{\n  \"allow\": [\n    // none yet\n    \"c\"\n  ]\n}", add("c", "allow")},
		{"fill with an object", "{\n    \"rules\": []\n}", "{\n    \"rules\": [\n        {\n            \"tool\": \"Bash\",\n            \"n\": 1\n        }\n    ]\n}", add(entry, "rules")},
		{"append an object as its neighbour is written", "{\n  \"rules\": [\n    {\"a\": 1}\n  ]\n}", "{\n  \"rules\": [\n    {\"a\": 1},\n    {\"tool\": \"Bash\", \"n\": 1}\n  ]\n}", add(entry, "rules")},
		{"create the list", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"p\": {\n    \"allow\": [\n      \"c\"\n    ]\n  }\n}\n", add("c", "p", "allow")},
		{"create in an empty object", "{}\n", "{\n  \"p\": {\n    \"allow\": [\n      \"c\"\n    ]\n  }\n}\n", add("c", "p", "allow")},
		{"create in a tight file", `{"a":1}`, `{"a":1,"p":{"allow":["c"]}}`, add("c", "p", "allow")},
		{"create in nothing", "", "{\n  \"p\": {\n    \"allow\": [\n      \"c\"\n    ]\n  }\n}\n", add("c", "p", "allow")},
		{"create under a comment", "// mine\n", "// mine\n{\n  \"p\": 1\n}\n", set(1, "p")},
		{"create in place of null", `{"p": null}`, `{"p": {"allow": ["c"]}}`, add("c", "p", "allow")},
		{"byte order mark", "\ufeff{\"a\": 1}", "\ufeff{\"a\": 2}", set(2, "a")},
		{"set a value", "{\n  \"a\": 1, // x\n  \"b\": [1,\n2]\n}", "{\n  \"a\": \"z\", // x\n  \"b\": [1,\n2]\n}", set("z", "a")},
		{"set in a list", `{"a": [1, {"b": 2}]}`, `{"a": [1, {"b": 3}]}`, set(3, "a", 1, "b")},
		{"set the same", `{ "a" :1.0 }`, `{ "a" :1.0 }`, set(jsonx.Number("1.0"), "a")},
		{"add a key", "{\n  \"bash\": {\n    \"*\": \"ask\"\n  }\n}", "{\n  \"bash\": {\n    \"*\": \"ask\",\n    \"git *\": \"allow\"\n  }\n}", set("allow", "bash", "git *")},
		{"add a key before another", "{\n  \"bash\": {\n    // all else\n    \"*\": \"ask\"\n  }\n}", "{\n  \"bash\": {\n    \"git *\": \"allow\",\n    // all else\n    \"*\": \"ask\"\n  }\n}", setBefore("*", "allow", "bash", "git *")},
		{"add a key before another, one line", `{"a":1,"b":2}`, `{"a":1,"x":3,"b":2}`, setBefore("b", 3, "x")},
		{"add a key before the first, one line", `{"a": 1, "b": 2}`, `{"x": 3, "a": 1, "b": 2}`, setBefore("a", 3, "x")},
		{"insert in the middle", "[\n  1, // one\n  3\n]", "[\n  1, // one\n  2,\n  3\n]", insert(1, 2)},
		{"insert at the front", "[1, 3]", "[0, 1, 3]", insert(0, 0)},
		{"a strange colon stays", "{\"a\" : 1}", "{\"a\" : 1, \"b\" : 2}", set(2, "b")},
		{"text is escaped", `["a"]`, `["a", "\"\\\n\u0001é"]`, add("\"\\\n\x01é")},
		{"delete the last", "[\n  1, // one\n  2 // two\n]", "[\n  1 // one\n]", del(1)},
		{"delete the first", "[\n  1, // one\n  2 // two\n]", "[\n  2 // two\n]", del(0)},
		{"delete the only", "{\n  \"a\": [\n    1\n  ]\n}", "{\n  \"a\": [\n  ]\n}", del("a", 0)},
		{"delete on one line", `{"a": 1, "b": 2, "c": 3}`, `{"a": 1, "c": 3}`, del("b")},
		{"delete the last on one line", `{"a": 1, "b": 2}`, `{"a": 1}`, del("b")},
		{"delete with a trailing comma", `[1, 2,]`, `[1,]`, del(1)},
		{"nothing to delete", `[1]`, "", del(1)},
		{"no such key to delete", `{}`, "", del("a")},
		{"not a list", `{"a": 1}`, "", add(1, "a")},
		{"not an object", `{"a": 1}`, "", set(1, "a", "b")},
		{"no such place", `[1]`, "", insert(3, 1)},
		{"no such element", `[1]`, "", set(1, 7, "a")},
		{"bad step", `[1]`, "", set(1, 1.5)},
		{"broken file", `{"a": }`, "", set(1, "b")},
		{"equal keys", `{"a": 1, "a": 2}`, "", set(1, "b")},
		{"whole document", `{"a": 1}`, "", set(1)},
		{"bad value", `{"a": 1}`, "", set(struct{}{}, "a")},
		{"NUL", `{"a": 1}`, "", set("\x00", "a")},
	})
	run(t, textedit.JSON, []editCase{
		{"strict file", `{"a": [1]}`, `{"a": [1, 2]}`, add(2, "a")},
		{"comments are no JSON", "{} // x", "", set(1, "a")},
		{"no comment in strict JSON", "// x", "", set(1, "a")},
	})
	run(t, 0, []editCase{{"no format", "{}", "", set(1, "a")}, {"no format, nothing", "", "", set(1, "a")}})
}

func TestErrors(t *testing.T) {
	_, err := textedit.JSON.Set([]byte("{\n \"a\": x}"), 1, "b")
	var broken *textedit.BrokenError
	if !errors.As(err, &broken) || err.Error() != `2:7: expected a value, found "x"` {
		t.Errorf("broken file: %v", err)
	}
	_, err = textedit.JSON.Append([]byte(`{"a": 1}`), 1, "a")
	if !errors.Is(err, textedit.ErrRefused) || err.Error() != "the edit was not made: a is a number, not a list" {
		t.Errorf("wrong place: %v", err)
	}
}

func TestAppendOnce(t *testing.T) {
	entry := jsonx.Object{{Key: "tool", Value: "Bash"}, {Key: "n", Value: 1}}
	for _, f := range []textedit.Format{textedit.JSON, textedit.YAML} {
		var src []byte
		for i := range 3 {
			next, err := f.AppendOnce(src, entry, "rules")
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && string(next) != string(src) {
				t.Errorf("time %d changed the file:\n%s", i+1, next)
			}
			src = next
		}
		if has, err := f.Has(src, map[string]any{"n": 1, "tool": "Bash"}, "rules"); !has || err != nil {
			t.Errorf("Has: %v %v", has, err)
		}
		if has, _ := f.Has(src, "Bash", "rules"); has {
			t.Error("Has finds what is not there")
		}
	}
}

func TestApply(t *testing.T) {
	got, err := textedit.Apply([]byte("abcdef"), edit(4, 5, "E"), edit(0, 0, "1"), edit(0, 0, "2"), edit(1, 3, ""))
	if err != nil || string(got) != "12adEf" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range [][]textedit.Edit{{edit(0, 2, ""), edit(1, 3, "")}, {edit(-1, 0, "")}, {edit(3, 2, "")}, {edit(0, 9, "")}} {
		if got, err := textedit.Apply([]byte("abc"), bad...); err == nil {
			t.Errorf("%v: %q", bad, got)
		}
	}
}

func edit(start, end int, text string) textedit.Edit {
	return textedit.Edit{Start: start, End: end, Text: text}
}
