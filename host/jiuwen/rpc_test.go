package jiuwen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/jiuwen"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/ledger"
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
	for _, o := range jsonltest.All[*op](t, "../../dialect/jiuwen/testdata/jiuwen-ops.jsonl.gz") {
		if o.Op == kind {
			out = append(out, o)
		}
	}
	if len(out) != want {
		t.Fatalf("%d operations %s, want %d", len(out), kind, want)
	}
	return out
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

// commented is a config.yaml as people keep them.
const commented = `# my agent
models:
  - name: a   # the good one

permissions:
  enabled: true        # never off
  schema: tiered_policy
  tools:
    # shell
    bash: ask
    write_file: ask    # for now
  rules:
    # what I use all day
    - id: rule_001
      tools: [write_file]
      pattern: 're:.*\.env$'   # secrets
      action: deny
  external_directory:
    "*": ask

# the end
`

// TestEditsKeepTheRest: every edit adds or changes its own lines and no other
// byte.
func TestEditsKeepTheRest(t *testing.T) {
	tests := []struct {
		method, params string
		add, gone      []string // lines
	}{
		{"permissions.tools.update", `{"tool":"bash","level":"deny"}`, []string{"    bash: deny"}, []string{"    bash: ask"}},
		{"permissions.tools.update", `{"tool":"grep","level":"allow"}`, []string{"    grep: allow"}, nil},
		{"permissions.tools.delete", `{"tool":"bash"}`, nil, []string{"    bash: ask"}},
		{"permissions.rules.create", `{"rule":{"id":"r","tools":["bash"],"pattern":"ls *","action":"allow"}}`,
			[]string{"    - id: r", "      tools: [bash]", "      pattern: 'ls *'", "      action: allow"}, nil},
		{"permissions.rules.update", `{"id":"rule_001","patch":{"action":"ask"}}`, []string{"      action: ask"}, []string{"      action: deny"}},
	}
	for _, test := range tests {
		m := &memory{[]byte(commented)}
		if _, err := (&Handler{Store: m}).Call(test.method, json.RawMessage(test.params)); err != nil {
			t.Errorf("%s %s: %v", test.method, test.params, err)
			continue
		}
		before, after := strings.Split(commented, "\n"), strings.Split(string(m.data), "\n")
		for _, l := range test.gone {
			before = slices.Delete(before, slices.Index(before, l), slices.Index(before, l)+1)
		}
		for _, l := range test.add {
			i := slices.Index(after, l)
			if i < 0 {
				t.Errorf("%s %s: no line %q in\n%s", test.method, test.params, l, m.data)
				continue
			}
			after = slices.Delete(after, i, i+1)
		}
		if !slices.Equal(before, after) {
			t.Errorf("%s %s changed other lines:\n%s", test.method, test.params, m.data)
		}
	}
}

// TestManyProcesses: fifty processes add a rule each to one file at the same
// time; none is lost, and every comment stays.
func TestManyProcesses(t *testing.T) {
	if file := os.Getenv("JIUWEN_TEST_FILE"); file != "" {
		addOne(t, file, os.Getenv("JIUWEN_TEST_NUMBER"))
		return
	}
	const n = 50
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(commented), 0o644); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cmd := exec.Command(exe, "-test.run=^TestManyProcesses$")
			cmd.Env = append(os.Environ(), "JIUWEN_TEST_FILE="+file, fmt.Sprint("JIUWEN_TEST_NUMBER=", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(jiuwen.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "config.yaml", Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if d := l.Policy.Decide(&obstat.Call{Tool: "bash", Input: fmt.Appendf(nil, `{"command": "command-%d x"}`, i), Dir: "/work"}, nil); d.Verdict != obstat.Deny {
			t.Errorf("the rule of process %d is lost", i)
		}
	}
	rest := data
	for line := range strings.SplitSeq(commented, "\n") {
		i := bytes.Index(rest, []byte(line))
		if i < 0 {
			t.Fatalf("the line %q is lost, or out of order:\n%s", line, data)
		}
		rest = rest[i+len(line):]
	}
}

func addOne(t *testing.T, file, number string) {
	t.Helper()
	c := &Command{Caller: &Handler{Store: File(file)}}
	if it := c.Run("deny bash(command-" + number + " *)"); !it.OK() {
		t.Fatal(it.Text)
	}
}

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

func TestRuleIDsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringOfN(rapid.SampledFrom([]rune("ab_. *?%~é/")), 1, 6, -1)
		a, b := [2]string{gen.Draw(t, "tool"), gen.Draw(t, "pattern")}, [2]string{gen.Draw(t, "tool"), gen.Draw(t, "pattern")}
		if x, y := ruleID(a[0], a[1]), ruleID(b[0], b[1]); (x == y) != (a == b) {
			t.Fatalf("%q is the id of %q and %q", x, a, b)
		}
	})
	if got := ruleID("bash", "ls *"); got != "cli_rule_bash_ls_*" {
		t.Errorf("the document's own example is %s", got)
	}
	long := strings.Repeat("x", 500)
	if a, b := ruleID("bash", long), ruleID("bash", long+"y"); a == b || len(a) > maxID {
		t.Errorf("%s and %s", a, b)
	}
}

func TestLocale(t *testing.T) {
	env := map[string]string{"LANG": "zh_CN.UTF-8"}
	if got := Locale(func(k string) string { return env[k] }); got != "zh_CN" {
		t.Error(got)
	}
}

// book is a ledger in memory.
type book struct {
	records []*ledger.Record
	err     error
}

func (b *book) Append(_ context.Context, records ...*ledger.Record) error {
	if b.err == nil {
		b.records = append(b.records, records...)
	}
	return b.err
}

// TestChangesAreRecorded: every change is in the ledger before the file says it,
// and one that cannot be written down is not made.
func TestChangesAreRecorded(t *testing.T) {
	m, b := &memory{[]byte(commented)}, &book{}
	h := &Handler{Store: m, Ledger: b, User: "ann"}
	for _, call := range [][2]string{{"permissions.tools.get", `{}`}, {"permissions.tools.update", `{"tool":"bash","level":"deny"}`}, {"permissions.tools.update", `{"tool":"bash","level":"maybe"}`}} {
		_, _ = h.Call(call[0], json.RawMessage(call[1]))
	}
	if len(b.records) != 1 || b.records[0].User != "ann" || b.records[0].Kind != ledger.Policy || b.records[0].Reason != `permissions.tools.update {"tool":"bash","level":"deny"}` {
		t.Errorf("%+v", b.records)
	}
	b.err = errors.New("disk full")
	before := string(m.data)
	if _, err := h.Call("permissions.tools.update", json.RawMessage(`{"tool":"bash","level":"allow"}`)); err == nil || string(m.data) != before {
		t.Errorf("%v\n%s", err, m.data)
	}
}
