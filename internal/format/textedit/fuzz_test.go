package textedit_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// FuzzJSONEdit and FuzzYAMLEdit change any document in any way: if the edit is
// made, the new value is there, everything else reads as before, and the bytes
// before and after the splice are the old ones.
func FuzzJSONEdit(f *testing.F) {
	for _, src := range []string{`{"a": [1, 2]}`, "{\n  // c\n  \"a\": [\n    1, // x\n  ],\n}\n", `{"a":{"b":[]}}`, "[]", "", "{ }", `{"a": null, "b" : {}}`, "[[1],\r\n [2]]"} {
		f.Add([]byte(src), "a", "text", uint8(0), 0)
		f.Add([]byte(src), "b", "", uint8(1), 1)
		f.Add([]byte(src), "b", "x", uint8(64), 1)
	}
	f.Fuzz(func(t *testing.T, src []byte, key, text string, op uint8, index int) {
		fuzzEdit(t, textedit.JSONC, src, key, text, op, index)
	})
}

func FuzzYAMLEdit(f *testing.F) {
	for _, src := range []string{"a: [1, 2]\n", "a:\n  - x # c\n  - y: 1\n    z: |\n      t\n\n# e\nb:\n", "a:\n- 1\n", "a: {b: c}", "", "# c", "- a\n- - b\n  - c\n", "a: &x\n  k: 1\nb:\n  <<: *x\n  l: >+\n    f\n\n", "a: \"m\n  n\"\r\nb: 'q'\r\n", "? a\n: b\n", "{\"a\": [1]}", "a: [b: c, d]", "--- \na: 1\n..."} {
		f.Add([]byte(src), "a", "text", uint8(0), 0)
		f.Add([]byte(src), "b", "no: #", uint8(1), 1)
		f.Add([]byte(src), "b", "x", uint8(64+128+2), 1)
	}
	f.Fuzz(func(t *testing.T, src []byte, key, text string, op uint8, index int) {
		fuzzEdit(t, textedit.YAML, src, key, text, op, index)
	})
}

func fuzzEdit(t *testing.T, f textedit.Format, src []byte, key, text string, op uint8, index int) {
	before, problems := f.Parse(src)
	usable := !tree.Fatal(problems)
	value := any(text)
	if op&8 != 0 {
		value = jsonx.Object{{Key: "id", Value: text}, {Key: "tools", Value: []string{key, text}}}
	}
	path := []any{key}
	if op&16 != 0 {
		path = append(path, "sub")
	}
	if op&32 != 0 && usable && len(before.Elems) > 0 {
		path = append([]any{len(before.Elems) - 1}, path...)
	}
	if op&64 != 0 && usable {
		var all [][]any
		places(before, nil, &all)
		path = all[uint(index)%uint(len(all))]
		if op&128 != 0 {
			path = append(path, key)
		}
	}
	var out []byte
	var err error
	check := func(after *tree.Node) bool { return true }
	equal := func(n *tree.Node) bool {
		raw, _ := jsonx.Marshal(value)
		want, ps := jsonx.Parse(raw, jsonx.Options{})
		return len(ps) == 0 && tree.Equal(n, want)
	}
	switch op & 7 {
	case 0, 1:
		out, err = f.Append(src, value, path...)
		check = func(n *tree.Node) bool { return equal(n.At(append(path, -1)...)) }
	case 2, 3:
		out, err = f.Set(src, value, path...)
		check = func(n *tree.Node) bool { return equal(n.At(path...)) }
	case 4:
		out, err = f.SetBefore(src, "a", value, path...)
		check = func(n *tree.Node) bool { return equal(n.At(path...)) }
	case 5:
		out, err = f.Insert(src, index, value, path...)
	default:
		out, err = f.Delete(src, path...)
	}
	if err != nil {
		var broken *textedit.BrokenError
		if errors.As(err, &broken) && usable {
			t.Fatalf("%q is readable, but: %v", src, err)
		}
		return
	}
	after, problems := f.Parse(out)
	if tree.Fatal(problems) || !check(after) {
		t.Fatalf("%q became %q: %v", src, out, problems)
	}
	if usable && op&7 < 6 && !subset(before, after, path) {
		t.Fatalf("%q became %q", src, out)
	}
	if list := before.At(path...); usable && op&7 < 2 && list != nil && len(list.Elems) > 0 && !insertedOnly(src, out) {
		t.Fatalf("an addition took bytes out of %q: %q", src, out)
	}
}

// places collects the paths of a document, up to a hundred.
func places(n *tree.Node, path []any, all *[][]any) {
	if len(*all) == 100 {
		return
	}
	*all = append(*all, slices.Clone(path))
	for i, e := range n.Elems {
		places(e, append(path, i), all)
	}
	for _, m := range n.Members {
		places(m.Value, append(path, m.Key), all)
	}
}

// insertedOnly reports whether out is src with bytes put in between.
func insertedOnly(src, out []byte) bool {
	for _, c := range src {
		i := bytes.IndexByte(out, c)
		if i < 0 {
			return false
		}
		out = out[i+1:]
	}
	return true
}

// subset reports whether everything in before that is not on the path of the
// edit is in after.
func subset(before, after *tree.Node, path []any) bool {
	if len(path) == 0 || before == nil || after == nil || before.Kind != after.Kind {
		return true // replaced on purpose
	}
	for _, m := range before.Members {
		if m.Key == path[0] {
			if !subset(m.Value, after.Get(m.Key), path[1:]) {
				return false
			}
		} else if !tree.Equal(m.Value, after.Get(m.Key)) {
			return false
		}
	}
	for i, e := range before.Elems {
		if i == path[0] {
			if !subset(e, after.At(i), path[1:]) {
				return false
			}
		} else if !tree.Equal(e, after.At(i)) {
			return false
		}
	}
	return true
}
