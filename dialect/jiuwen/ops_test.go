package jiuwen

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// An op is one operation of the original with its recorded answer.
type op struct {
	ID      string
	Op      string
	Engines []string
	In, Out json.RawMessage
}

func (o *op) in(t *testing.T, v any)  { o.decode(t, o.In, v) }
func (o *op) out(t *testing.T, v any) { o.decode(t, o.Out, v) }

func (o *op) decode(t *testing.T, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v", o.ID, err)
	}
}

// ops returns the recorded operations of one kind.
func ops(t *testing.T, kind string, want int) []*op {
	t.Helper()
	var out []*op
	for _, o := range jsonltest.All[*op](t, "testdata/jiuwen-ops.jsonl.gz") {
		if o.Op == kind {
			out = append(out, o)
		}
	}
	if len(out) != want {
		t.Fatalf("%d operations %s, want %d", len(out), kind, want)
	}
	return out
}

// hits tells whether any of the texts matches any of the patterns.
func hits(t *testing.T, patterns []obstat.Text, texts ...string) bool {
	t.Helper()
	for _, p := range patterns {
		c, err := pattern.Compile(p.Flavour, p.Text)
		if err != nil {
			continue
		}
		for _, s := range texts {
			if ok, err := c.Match(s); err != nil {
				t.Fatal(err)
			} else if ok {
				return true
			}
		}
	}
	return false
}

func wildcardHits(t *testing.T, p, value string) bool {
	t.Helper()
	return p != "" && value != "" && hits(t, []obstat.Text{search(wildcard(p, true))}, value)
}

func TestOpsMatchWildcard(t *testing.T) {
	for _, o := range ops(t, "match_wildcard", 92) {
		var in struct{ Pattern, Value string }
		var want bool
		o.in(t, &in)
		o.out(t, &want)
		if got := wildcardHits(t, in.Pattern, in.Value); got != want {
			t.Errorf("%s: %q on %q: %v", o.ID, in.Pattern, in.Value, got)
		}
	}
}

func TestOpsShellPattern(t *testing.T) {
	for _, o := range ops(t, "shell_pattern", 68) {
		var in struct{ Pattern, Command string }
		var want bool
		o.in(t, &in)
		o.out(t, &want)
		rule := ruleConfig{category: shellTools, pattern: pytext.Strip(in.Pattern), verdict: obstat.Allow}
		newReader("", nil).checkPattern("", nil, &rule)
		field, text := rule.subject()
		texts := []string{}
		for _, s := range (view{&params{}}).shellSubjects(&obstat.Facts{Call: &obstat.Call{}}, in.Command) {
			if s.Field == field {
				texts = append(texts, s.Text)
			}
		}
		if got := rule.pattern != "" && hits(t, rule.readings(text, true), texts...); got != want {
			t.Errorf("%s: %q on %q: %v", o.ID, in.Pattern, in.Command, got)
		}
	}
}

// pathHits matches one path as a path rule does.
func pathHits(t *testing.T, p, path string) bool {
	t.Helper()
	rule := ruleConfig{category: pathTools, pattern: pytext.Strip(p), verdict: obstat.Allow}
	newReader("", nil).checkPattern("", nil, &rule)
	field, text := rule.subject()
	texts := []string{}
	args := &tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: "path", Value: &tree.Node{Kind: tree.String, Str: path}}}}
	for _, s := range pathSubjects(args) {
		if s.Field == field {
			texts = append(texts, s.Text)
		}
	}
	return rule.pattern != "" && hits(t, rule.readings(text, true), texts...)
}

func TestOpsPathPattern(t *testing.T) {
	for _, o := range ops(t, "path_pattern", 30) {
		var in struct{ Pattern, Path string }
		var want bool
		o.in(t, &in)
		o.out(t, &want)
		if got := pathHits(t, in.Pattern, in.Path); got != want {
			t.Errorf("%s: %q on %q: %v", o.ID, in.Pattern, in.Path, got)
		}
	}
}

// TestOpsMatchPath is the matcher of the legacy policy, which knows no re:.
func TestOpsMatchPath(t *testing.T) {
	for _, o := range ops(t, "match_path", 41) {
		var in struct{ Pattern, Path string }
		var want bool
		o.in(t, &in)
		o.out(t, &want)
		texts := append([]string{in.Path}, pathTexts(in.Path)...)
		if got := in.Pattern != "" && hits(t, []obstat.Text{search(wildcard(in.Pattern, true))}, texts...); got != want {
			t.Errorf("%s: %q on %q: %v", o.ID, in.Pattern, in.Path, got)
		}
	}
}

func TestOpsMatchURL(t *testing.T) {
	for _, o := range ops(t, "match_url", 5) {
		var in struct{ Pattern, URL string }
		var want bool
		o.in(t, &in)
		o.out(t, &want)
		texts := append([]string{in.URL}, urlTexts(in.URL)...)
		if got := in.Pattern != "" && hits(t, []obstat.Text{search(wildcard(in.Pattern, true))}, texts...); got != want {
			t.Errorf("%s: %q on %q: %v", o.ID, in.Pattern, in.URL, got)
		}
	}
}

func shellCall(t *testing.T, tool, cmd string) *obstat.Call {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		t.Fatal(err)
	}
	return &obstat.Call{Tool: tool, Input: input}
}

// TestOpsEscalate runs the operators of the bare document. With the floor on
// quoted ones do not count: never an ask that the original does not ask.
func TestOpsEscalate(t *testing.T) {
	for _, o := range ops(t, "escalate", 324) {
		var in struct{ Command string }
		var want obstat.Verdict
		o.in(t, &in)
		o.out(t, &want)
		ask := func(bare bool) obstat.Verdict {
			fd := operatorCheck{&params{Bare: bare}}.Check(&obstat.Facts{Call: shellCall(t, "bash", in.Command)})
			if fd.Pass {
				return obstat.Allow
			}
			return fd.Verdict
		}
		if got := ask(true); got != want {
			t.Errorf("%s: %q: %v", o.ID, in.Command, got)
		}
		if got := ask(false); got < want {
			t.Errorf("%s: %q: %v, where the original says %v", o.ID, in.Command, got, want)
		}
	}
}

func TestOpsExtractPaths(t *testing.T) {
	for _, o := range ops(t, "extract_paths", 57) {
		var in struct{ Command, Workdir string }
		var want []string
		o.in(t, &in)
		o.out(t, &want)
		got := []string{}
		for _, s := range commandPaths(pytext.Strip(in.Command)) {
			p, _ := resolve(nil, in.Workdir, s)
			got = append(got, p)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q: %q, want %q", o.ID, in.Command, got, want)
		}
	}
}

func TestOpsContainsPath(t *testing.T) {
	for _, o := range ops(t, "contains_path", 3) {
		var in struct{ Child, Parent string }
		var want bool
		o.in(t, &in)
		o.out(t, &want)
		if got := contains(in.Parent, in.Child); got != want {
			t.Errorf("%s: %q in %q: %v", o.ID, in.Child, in.Parent, got)
		}
	}
}

func TestOpsOverrideID(t *testing.T) {
	for _, o := range ops(t, "override_id", 4) {
		var in struct {
			Tool, Pattern string
			MatchType     string `json:"match_type"`
		}
		var want string
		o.in(t, &in)
		o.out(t, &want)
		if got := overrideID(in.Tool, in.MatchType, in.Pattern); got != want {
			t.Errorf("%s: %q, want %q", o.ID, got, want)
		}
	}
}

// A memory is a config.yaml in memory.
type memory struct{ data []byte }

func (m *memory) Read() ([]byte, error) { return m.data, nil }

func (m *memory) Update(fn func([]byte) ([]byte, error)) error {
	out, err := fn(m.data)
	if err == nil {
		m.data = out
	}
	return err
}

// block writes a JSON value as a YAML file with one comment, in blocks: the
// layout that people write.
func block(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	n, problems := jsonx.Parse(raw, jsonx.Options{})
	if tree.Fatal(problems) {
		t.Fatal(problems)
	}
	src := []byte("# a comment that stays\n")
	for _, m := range n.Members {
		var err error
		if src, err = format.Set(src, m.Value, m.Key); err != nil {
			t.Fatal(err)
		}
	}
	return src
}

// asJSON reads a YAML file as the value that encoding/json would give.
func asJSON(t *testing.T, src []byte) any {
	t.Helper()
	n, problems := format.Parse(src)
	if tree.Fatal(problems) {
		t.Fatalf("%v in\n%s", problems, src)
	}
	if n.Is(tree.Null) {
		return map[string]any{}
	}
	raw, err := jsonx.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }
