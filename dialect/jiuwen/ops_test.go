package jiuwen

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/pytext"
	"github.com/obstat/obstat/internal/tree"
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
	return p != "" && value != "" && hits(t, []obstat.Text{search(wildcard(p))}, value)
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
		if got := in.Pattern != "" && hits(t, []obstat.Text{search(wildcard(in.Pattern))}, texts...); got != want {
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
		if got := in.Pattern != "" && hits(t, []obstat.Text{search(wildcard(in.Pattern))}, texts...); got != want {
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
	for _, m := range members(n) {
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

// rpcDepartures are answers of the original that ours departs from.
var rpcDepartures = map[string]string{
	"jwop-03210": "a rule over tools of two categories, one of them unknown, can never match: it is refused",
	"jwop-03212": "an update that fails leaves the file alone; the original writes an empty permissions section",
}

func TestOpsRPC(t *testing.T) {
	for _, o := range ops(t, "rpc", 41) {
		var in struct {
			Config json.RawMessage
			Method string
			Params json.RawMessage
		}
		var want struct {
			OK      bool
			Payload any
			After   any `json:"config_after"`
		}
		o.in(t, &in)
		o.out(t, &want)
		m := &memory{block(t, in.Config)}
		before := asJSON(t, m.data)
		payload, err := (&Handler{Store: m, NewID: func() string { return "0123456789ab" }}).Call(in.Method, in.Params)
		var got any
		if err != nil {
			payload, _ = json.Marshal(err)
		}
		if jerr := json.Unmarshal(payload, &got); jerr != nil {
			t.Fatal(jerr)
		}
		after := asJSON(t, m.data)
		if !strings.HasPrefix(string(m.data), "# a comment that stays\n") {
			t.Errorf("%s: the comment is lost:\n%s", o.ID, m.data)
		}
		if why := rpcDepartures[o.ID]; why != "" {
			if err == nil || !same(after, before) {
				t.Errorf("%s: should be refused: %s", o.ID, why)
			}
			continue
		}
		if (err == nil) != want.OK || !same(got, want.Payload) || !same(after, want.After) {
			t.Errorf("%s: %s %s\n got %v %v\nwant %v %v\nfile %v\nwant %v", o.ID, in.Method, in.Params, err == nil, got, want.OK, want.Payload, after, want.After)
		}
	}
}

// A script is a server that answers as the vector says, and keeps the requests.
type script struct {
	mode     string
	requests []any
}

func (s *script) Call(method string, params json.RawMessage) (json.RawMessage, error) {
	var p any
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, map[string]any{"method": method, "params": p})
	switch {
	case s.mode == "fail":
		return nil, &RPCError{"boom", InternalError}
	case s.mode == "exists" && method == "permissions.rules.create":
		return nil, &RPCError{"rule id already exists: x", BadRequest}
	}
	return json.RawMessage("{}"), nil
}

// TestOpsPermissionsCommand departs from the original in two ways. Ids of rules
// are another text, since the original gives `ls *` and `ls ?` the same id and
// then overwrites one with the other; and what is no tool's name, such as
// `bash()`, is refused where the original sets a tool of that name.
func TestOpsPermissionsCommand(t *testing.T) {
	for _, o := range ops(t, "permissions_command", 53) {
		var in struct{ Args, Server string }
		var want struct {
			Items    []Item
			Requests []any
		}
		o.in(t, &in)
		o.out(t, &want)
		s := &script{mode: in.Server, requests: []any{}}
		got := (&Command{Caller: s, Locale: "zh_CN"}).Run(in.Args)
		if badName(want.Requests) {
			if got.OK() || len(s.requests) > 0 {
				t.Errorf("%s: %q should be refused: %v", o.ID, in.Args, got)
			}
			continue
		}
		theirs, ours := ruleIDs(want.Requests), ruleIDs(s.requests)
		wantText, gotText := want.Items[0].Text, got.Text
		for i := range theirs {
			if i < len(ours) {
				wantText = strings.ReplaceAll(wantText, "["+theirs[i]+"]", "["+ours[i]+"]")
			}
		}
		if got.Kind != want.Items[0].Kind || gotText != wantText || !same(withoutIDs(s.requests), withoutIDs(want.Requests)) {
			t.Errorf("%s: %q\n got %v %v\nwant %v %v", o.ID, in.Args, got, s.requests, want.Items, want.Requests)
		}
	}
}

// badName tells whether the original sets a level for a tool that cannot be one.
func badName(requests []any) bool {
	for _, r := range requests {
		p, _ := r.(map[string]any)["params"].(map[string]any)
		if tool, ok := p["tool"].(string); ok && strings.ContainsAny(tool, "() ") {
			return true
		}
	}
	return false
}

func ruleIDs(requests []any) (out []string) {
	for _, r := range requests {
		p, _ := r.(map[string]any)["params"].(map[string]any)
		if rule, ok := p["rule"].(map[string]any); ok {
			p = rule
		}
		if id, ok := p["id"].(string); ok {
			out = append(out, id)
		}
	}
	return out
}

func withoutIDs(requests []any) any {
	raw, _ := json.Marshal(requests)
	for _, id := range ruleIDs(requests) {
		quoted, _ := json.Marshal(id)
		raw = []byte(strings.ReplaceAll(string(raw), string(quoted), `"ID"`))
	}
	var out any
	_ = json.Unmarshal(raw, &out)
	return out
}
