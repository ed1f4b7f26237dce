package yamlx_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

// show prints problems as line:col code, warnings with a question mark.
func show(src string, ps []tree.Problem) string {
	var out []string
	for _, p := range ps {
		line, col := tree.LineCol([]byte(src), p.Offset)
		mark := ""
		if p.Warning {
			mark = "?"
		}
		out = append(out, fmt.Sprintf("%d:%d %s%s", line, col, p.Code, mark))
	}
	return strings.Join(out, ", ")
}

func TestProblems(t *testing.T) {
	tests := []struct{ src, want string }{
		{"a: 1\nb: [x, {y: z}]\n", ""},
		{"\ufeffa: 1\n", ""},
		{"a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\nb: 4\n", "3:1 duplicate-key, 4:11 duplicate-key, 5:1 duplicate-key"},
		{"a: 1\n\"a\": 2\n", "2:1 duplicate-key"},
		{"a: yes\nb: [on, Off, NO]\nc: 'yes'\nd: Yes sir\ne: yEs\n", "1:4 yaml-1.1-word?, 2:5 yaml-1.1-word?, 2:9 yaml-1.1-word?, 2:14 yaml-1.1-word?"},
		{"on: push\n", "1:1 yaml-1.1-word?"},
		{"a: 010\nb: 1_000\nc: 1:30\nd: 1e3\ne: 0o7\nf: 2020-01-01\ng: 12\nh: 1.5\n", "1:4 yaml-1.1-word?, 2:4 yaml-1.1-word?, 3:4 yaml-1.1-word?, 4:4 yaml-1.1-word?, 5:4 yaml-1.1-word?, 6:4 yaml-1.1-word?"},
		{"a:\n\tb: 1\n", "2:1 syntax"},
		{"a:\n  \tb: 1\n", "2:3 syntax"},
		{"a: x\n\ty\n", "2:1 syntax"},
		{"a: {\n\tb: 1\n}\n", ""}, // between brackets the layout is free, as in JSON
		{"a: b\t# c\n", ""},
		{"a: b: c\n", "1:5 syntax"},
		{"a: 1\n  b: 2\n", "2:4 syntax"},
		{"a:\n  b: 1\n c: 2\n", "3:2 syntax"},
		{"- a\nb: 1\n", "2:1 syntax"},
		{"a: 1\n- b\n", "2:1 syntax"},
		{"a: [1, 2\nb: 3\n", "2:2 syntax"},
		{"a: [1, 2", "1:4 syntax"},
		{"a: \"x\n", "1:4 syntax"},
		{"a: 'x", "1:4 syntax"},
		{"a: \"\\q\"\nb: \"\\x4\"\n", "1:5 syntax, 2:5 encoding"},
		{"a: \"\\ud800\"\nb: \"\\ud83d\\ude00\"\nc: \"\\0\"\n", "1:5 encoding, 3:5 encoding"},
		{"a: @x\n", "1:4 syntax"},
		{"a: 1\n---\nb: 2\n", "2:1 documents"},
		{"--- \na: 1\n...\n", ""},
		{"--- a\n...\nb\n", "3:1 syntax"},
		{"%YAML 1.2\n---\na: 1\n", ""},
		{"%TAG ! x\n---\na: 1\n", "1:1 yaml-tag"},
		{"a: !!python/object:os.system x\nb: !mine y\nc: ! z\nd: !!str 1\n", "1:4 yaml-tag, 2:4 yaml-tag, 3:4 yaml-tag"},
		{"a: !!int x\nb: !!map [c]\n", "1:4 yaml-tag, 2:4 yaml-tag"},
		{"a: *b\nc: &d [*d]\n", "1:4 alias, 2:8 alias"},
		{"a: &x 1\nb: &x 2\n", "2:4 alias"},
		{"a:\n  <<: 1\n", "2:3 alias"},
		{"a: &b *c\n", "1:7 alias, 1:7 syntax"},
		{"? [a]\n: b\n", "1:3 syntax"},
		{"[a]: b\n", "1:4 syntax"},
		{": b\n", "1:1 syntax"},
		{"\"a\nb\": c\n", "1:1 syntax"},
		{strings.Repeat("k", 1025) + ": v\n", "1:1 syntax"},
		{"a: \xff\nb: \x01\n", "1:4 encoding, 2:4 encoding"},
		{"a: x\u2028b: y\n", "1:5 encoding"},
		{"a: x\u0085b: y\n", "1:5 encoding"},
		{"a: \"x\"#c\n", "1:7 syntax"},
		{"a: |x\n", "1:5 syntax"},
		{"a: |\n\n   \n  x\n", "3:1 syntax"},
		{strings.Repeat("[", 600), "1:502 too-deep"},
		{strings.Repeat("- ", 600), "1:1002 too-deep"},
		{strings.Repeat("{a: ", 100000), "1:2004 too-deep"},
		{strings.Repeat(" ", yamlx.MaxBytes+1), "1:10485761 too-large"},
	}
	for _, tt := range tests {
		_, ps := yamlx.Parse([]byte(tt.src), yamlx.Options{})
		if got := show(tt.src, ps); got != tt.want {
			t.Errorf("Parse(%.80q):\n got %s\nwant %s\n%v", tt.src, got, tt.want, ps)
		}
	}
}

func TestAliasesAreBounded(t *testing.T) {
	laughs := "a0: &a0 [x, x]\n"
	for i := 1; i < 30; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	if _, ps := yamlx.Parse([]byte(laughs), yamlx.Options{}); len(ps) != 1 || ps[0].Code != tree.CodeSize {
		t.Errorf("billion laughs: %v", ps)
	}
	tower := "a0: &a0 [x]\n"
	for i := 1; i < 600; i++ {
		tower += fmt.Sprintf("a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	if _, ps := yamlx.Parse([]byte(tower), yamlx.Options{}); len(ps) != 1 || ps[0].Code != tree.CodeDepth {
		t.Errorf("tower of aliases: %v", ps)
	}
	merges := "a0: &a0 {k: v}\n"
	for i := 1; i < 3000; i++ {
		merges += fmt.Sprintf("a%d: &a%d {<<: *a%d, k%d: v}\n", i, i, i-1, i)
	}
	if _, ps := yamlx.Parse([]byte(merges), yamlx.Options{}); len(ps) != 1 || ps[0].Code != tree.CodeSize {
		t.Errorf("merges: %v", ps)
	}
}

func TestOffsets(t *testing.T) {
	src := "# é\nk: &x  'a''b' # c\nl:\n- 1\n- m: |\n    t\n    u\n  n: {\"o\": [p q, *x]}\ne:\nf: a\n  b\n"
	for _, nl := range []string{"\n", "\r\n"} {
		src := strings.ReplaceAll(src, "\n", nl)
		n, ps := yamlx.Parse([]byte(src), yamlx.Options{})
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		for _, tt := range []struct {
			path []any
			want string
		}{
			{[]any{"k"}, "'a''b'"},
			{[]any{"l", 0}, "1"},
			{[]any{"l", 1, "m"}, "|\n    t\n    u"},
			{[]any{"l", 1, "n"}, `{"o": [p q, *x]}`},
			{[]any{"l", 1, "n", "o", 0}, "p q"},
			{[]any{"l", 1, "n", "o", 1}, "*x"},
			{[]any{"l"}, "- 1\n- m: |\n    t\n    u\n  n: {\"o\": [p q, *x]}"},
			{[]any{"e"}, ""},
			{[]any{"f"}, "a\n  b"},
		} {
			got := n.At(tt.path...)
			if want := strings.ReplaceAll(tt.want, "\n", nl); string(got.Source([]byte(src))) != want {
				t.Errorf("%v: %q, want %q", tt.path, got.Source([]byte(src)), want)
			}
		}
		if x := n.At("l", 1, "n", "o", 1); x.Str != "a'b" || x.Alias != n.Get("k") || n.Get("k").Anchor != "x" {
			t.Errorf("alias: %+v", x)
		}
		if e := n.Get("e"); e.Kind != tree.Null || src[e.Start-2:e.Start] != "e:" {
			t.Errorf("empty value stands at %d", e.Start)
		}
		if got := n.At("l", 1, "m").Str; got != "t\nu\n" {
			t.Errorf("literal %q", got)
		}
	}
}

func TestVersions(t *testing.T) {
	src := []byte("[yes, off, 010, 0o10, 1_000, 1:30, 0x1f, +.5, -.INF, 1e3, true]")
	for _, tt := range []struct {
		opt  yamlx.Options
		want string
	}{
		{yamlx.Options{}, `"yes" "off" 10 8 "1_000" "1:30" 31 0.5 -.inf 1e3 true`},
		{yamlx.Options{V11: true}, `true false 8 "0o10" 1000 90 31 0.5 -.inf "1e3" true`},
	} {
		n, ps := yamlx.Parse(src, tt.opt)
		if tree.Fatal(ps) {
			t.Fatal(ps)
		}
		var got []string
		for _, e := range n.Elems {
			switch e.Kind {
			case tree.String:
				got = append(got, strconv.Quote(e.Str))
			case tree.Number:
				got = append(got, e.Num)
			case tree.Bool:
				got = append(got, fmt.Sprint(e.Bool))
			}
		}
		// YAML 1.1 reads +.5 as text: its sign must be followed by a digit.
		want := tt.want
		if tt.opt.V11 {
			want = strings.Replace(want, "0.5", `"+.5"`, 1)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("V11 %v:\n got %s\nwant %s", tt.opt.V11, s, want)
		}
	}
}

func TestMerge(t *testing.T) {
	src := "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall:\n  own: 0\n  <<: [*b, *m]\n  y: 5\n"
	n, ps := yamlx.Parse([]byte(src), yamlx.Options{})
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	var got []string
	for _, m := range n.Get("all").Members {
		got = append(got, fmt.Sprintf("%s=%s inherited=%v", m.Key, m.Value.Num, m.Inherited))
	}
	want := "x=1 inherited=true, y=5 inherited=false, z=4 inherited=true, own=0 inherited=false"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got %s\nwant %s", s, want)
	}
}

// stricter are the reasons for which yamlx refuses what PyYAML takes: equal keys
// (the last wins there), comments that touch a value, aliases inside their own
// anchor, keys that are empty, a tab as the first letter of a block scalar, and
// a block scalar in the column of its key.
func stricter(p tree.Problem) bool {
	for _, s := range []string{"stands twice in one mapping", "a comment needs a space", "stands before its anchor is complete", "a key is missing", "a tab cannot start",
		"only scalars can be keys", `this line should start with "- "`, "must be followed by a space", "two sets of anchor and tag", "the directive", "the tag \"!\""} {
		if strings.Contains(p.Msg, s) {
			return true
		}
	}
	return false
}

// TestPyYAML compares with recorded answers of PyYAML 6.0: what both take they
// read alike, and what PyYAML refuses is refused, except for tabs between words
// (YAML 1.2 takes them) and an end marker without a document.
func TestPyYAML(t *testing.T) {
	f, err := os.Open("testdata/pyyaml.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	same := 0
	for lines.Scan() {
		var c struct {
			Src   string
			Value any
			Error bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n, ps := yamlx.Parse([]byte(c.Src), yamlx.Options{V11: true})
		switch {
		case tree.Fatal(ps):
			if !c.Error && !stricter(firstFatal(ps)) {
				t.Errorf("%q: PyYAML takes it, but: %v", c.Src, ps)
			}
		case c.Error:
			if !strings.Contains(c.Src, "\t") && !strings.Contains(c.Src, "...") {
				t.Errorf("%q: PyYAML refuses it, taken as %v", c.Src, jsonx.Value(n))
			}
		case !sameValue(n, c.Value):
			t.Errorf("%q: PyYAML reads %v, yamlx %v", c.Src, c.Value, jsonx.Value(n))
		default:
			same++
		}
	}
	if same < 2000 {
		t.Errorf("only %d values were compared", same)
	}
}

func firstFatal(ps []tree.Problem) tree.Problem {
	for _, p := range ps {
		if !p.Warning {
			return p
		}
	}
	return tree.Problem{}
}

// sameValue compares with a recorded value: {"o": pairs}, {"a": list},
// {"n": number}, {"d": 1} for a date, or the value itself.
func sameValue(n *tree.Node, v any) bool {
	switch v := v.(type) {
	case nil:
		return n.Kind == tree.Null
	case bool:
		return n.Kind == tree.Bool && n.Bool == v
	case string:
		return n.Kind == tree.String && n.Str == v
	}
	m := v.(map[string]any)
	switch {
	case m["d"] != nil:
		return n.Kind == tree.String
	case m["n"] != nil:
		got, err := strconv.ParseFloat(strings.Replace(n.Num, ".", "0.", 1), 64)
		if err != nil || !strings.HasPrefix(n.Num, ".") {
			got, _ = strconv.ParseFloat(strings.Replace(n.Num, ".inf", "inf", 1), 64)
		}
		want, _ := strconv.ParseFloat(m["n"].(string), 64)
		return n.Kind == tree.Number && (got == want || want != want)
	case m["a"] != nil:
		list := m["a"].([]any)
		if n.Kind != tree.Array || len(list) != len(n.Elems) {
			return false
		}
		for i := range list {
			if !sameValue(n.Elems[i], list[i]) {
				return false
			}
		}
		return true
	}
	pairs := m["o"].([]any)
	if n.Kind != tree.Object || len(pairs) != len(n.Members) {
		return false
	}
	for i := range pairs {
		pair := pairs[i].([]any)
		if n.Members[i].Key != pair[0].(string) || !sameValue(n.Members[i].Value, pair[1]) {
			return false
		}
	}
	return true
}

// FuzzParse: no input breaks the parser; every offset is inside; a scalar reads
// the same from its own text; JSON is YAML with the same value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\nb:\n- x\n- y: |\n    z\n", "{a: [b, 'c', \"d\"]}", "a: &x {k: v}\nb:\n  <<: *x\n", "? a\n: - b\n", "%YAML 1.1\n---\n- >+\n a\n\n", "a: !!str 1 # c\r\nb: \"x\r\n  y\"\r\n", `{"a":[1,null,"\u00e9"]}`, "- - - a\n", "\t", "a:\n\t- b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, ps := yamlx.Parse(src, yamlx.Options{})
		for _, p := range ps {
			if p.Offset < 0 || p.Offset > len(src) || p.Msg == "" {
				t.Fatalf("%q: bad problem %+v", src, p)
			}
		}
		if !tree.Fatal(ps) {
			checkNode(t, src, n, 0, len(src))
		}
		j, jps := jsonx.Parse(src, jsonx.Options{})
		if len(jps) == 0 && !bytes.ContainsAny(src, "\x7f\u0085\u2028\u2029\ufeff\ufffe\uffff") && !tree.Fatal(ps) && !tree.Equal(j, n) && !numbers(j) {
			t.Fatalf("%q is %v as JSON and %v as YAML", src, jsonx.Value(j), jsonx.Value(n))
		}
	})
}

// numbers reports whether n holds a number: their spelling is normalised.
func numbers(n *tree.Node) bool {
	for _, e := range n.Elems {
		if numbers(e) {
			return true
		}
	}
	for _, m := range n.Members {
		if numbers(m.Value) {
			return true
		}
	}
	return n.Kind == tree.Number
}

func checkNode(t *testing.T, src []byte, n *tree.Node, from, to int) {
	if n == nil || n.Kind == tree.Invalid || n.Start < from || n.End < n.Start || n.End > to {
		t.Fatalf("%q: node %+v is not in %d:%d", src, n, from, to)
	}
	if n.Alias != nil {
		return
	}
	at := n.Start
	for _, e := range n.Elems {
		checkNode(t, src, e, at, n.End)
		at = e.End
	}
	for _, m := range n.Members {
		if !m.Inherited {
			checkNode(t, src, m.KeyNode, n.Start, n.End)
			checkNode(t, src, m.Value, m.KeyNode.End, n.End)
		}
	}
}
