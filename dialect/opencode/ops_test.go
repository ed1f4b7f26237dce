package opencode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
)

// An op is one operation of the original with its recorded answer.
type op struct {
	ID                   string
	Kind                 string
	Config, Call, Expect json.RawMessage
	ExpectSeed           json.RawMessage `json:"expect_seed"`
}

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
	for _, o := range jsonltest.All[*op](t, "testdata/opencode-ops.jsonl.gz") {
		if o.Kind == kind {
			out = append(out, o)
		}
	}
	if len(out) != want {
		t.Fatalf("%d operations %s, want %d", len(out), kind, want)
	}
	return out
}

// listed are the departures of one kind: testdata/ops-departures.txt names every
// operation whose answer differs, with a reason.
type listed struct {
	t       *testing.T
	reasons map[string]string
}

func departuresOf(t *testing.T, kind string) *listed {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "ops-departures.txt"))
	if err != nil {
		t.Fatal(err)
	}
	l := &listed{t, map[string]string{}}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" || !strings.Contains(f[0], "-"+kind+"-") {
			continue
		}
		if opReasons[f[1]] == "" {
			t.Errorf("%s departs for a reason %q that is not given", f[0], f[1])
		}
		l.reasons[f[0]] = f[1]
	}
	return l
}

// compare reports a difference that is not listed.
func (l *listed) compare(o *op, got, want any) {
	l.t.Helper()
	_, known := l.reasons[o.ID]
	delete(l.reasons, o.ID)
	switch same := reflect.DeepEqual(got, want); {
	case same && known:
		l.t.Errorf("%s is listed as a departure and is none", o.ID)
	case !same && !known:
		l.t.Errorf("%s %s: got %v, want %v", o.ID, o.Call, asJSON(got), asJSON(want))
	}
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func (l *listed) done() {
	for id := range l.reasons {
		l.t.Errorf("%s is listed as a departure and does not exist", id)
	}
}

// opReasons are the reasons of ops-departures.txt.
var opReasons = map[string]string{
	"no-command":  "a script without a command is asked about as a whole, never let through unasked",
	"outside":     "a directory outside is asked about whichever program or redirect reaches it, and $HOME is known",
	"runs-others": "no pattern hands out an interpreter, a shell or a program that runs others: its very text is remembered, or nothing",
	"interpreter": "an interpreter is told by the file it runs, never by its name or a flag",
	"flags":       "flags are skipped, and a pattern that matches the command as it was written is remembered as well",
	"own-text":    "what is remembered matches the command it was derived from",
	"keyword":     "time and coproc are not commands: what runs is the command after them",
	"inner":       "what the shell finds in a text and runs (eval, aliases, subscripts) is asked about",
	"arithmetic":  "arithmetic is no command; the substitution in it is",
	"recovery":    "the whole line is parsed; the original loses the command after the here-document",
	"function":    "a call of a function runs the function's commands, which are asked about",
	"syntax":      "what does not parse is asked about as a whole, and as any command",
	"empty":       "an empty word is no program",
	"prototype":   "the names of JavaScript's objects are programs like any other",
	"empty-path":  "an empty path is the working directory, not that of the process",
	"move":        "the file that a patch moves to is written, so it is asked about as well",
}

func TestOpsArity(t *testing.T) {
	l := departuresOf(t, "arity")
	defer l.done()
	for _, o := range ops(t, "arity", 309) {
		var call struct{ Tokens []string }
		var want []string
		o.decode(t, o.Call, &call)
		o.decode(t, o.Expect, &want)
		l.compare(o, append([]string{}, pickWords(call.Tokens, prefix(call.Tokens))...), want)
	}
}

type opWorld struct {
	Directory, Worktree, Home string
	ExistingDirs              []string `json:"existing_dirs"`
}

func (w *opWorld) asks(t *testing.T, o *op, tool string, input json.RawMessage) []Ask {
	t.Helper()
	call := &obstat.Call{Tool: tool, Input: input, Dir: w.Directory, Roots: []string{w.Worktree}}
	asks, err := Asks(Last, false, call, &obstat.Snapshot{HomeDir: w.Home, Dirs: w.ExistingDirs})
	if err != nil {
		return nil
	}
	for i := range asks {
		asks[i].by = nil
		if asks[i].Always == nil {
			asks[i].Always = []string{}
		}
	}
	return asks
}

type opAsks struct{ Asks []Ask }

func TestOpsShell(t *testing.T) {
	l := departuresOf(t, "shell")
	defer l.done()
	for _, o := range ops(t, "shell", 208) {
		var w opWorld
		var want opAsks
		o.decode(t, o.Config, &w)
		o.decode(t, o.Expect, &want)
		l.compare(o, w.asks(t, o, "bash", o.Call), want.Asks)
	}
}

func TestOpsTool(t *testing.T) {
	l := departuresOf(t, "tool")
	defer l.done()
	for _, o := range ops(t, "tool", 67) {
		var w opWorld
		var call struct {
			Tool  string
			Input json.RawMessage
		}
		var want opAsks
		o.decode(t, o.Config, &w)
		o.decode(t, o.Call, &call)
		o.decode(t, o.Expect, &want)
		l.compare(o, w.asks(t, o, call.Tool, call.Input), want.Asks)
	}
}

// configRules reads a permission object as a file of the program.
func configRules(t *testing.T, o *op, order Order, config json.RawMessage, home string) Ruleset {
	t.Helper()
	r := &reader{order: order, home: home}
	data := append(append([]byte(`{"`+order.key()+`":`), config...), '}')
	f := &dialect.File{Name: "opencode.json", Data: data}
	root := r.parse(f)
	if root == nil {
		t.Fatalf("%s: %v", o.ID, r.Errs)
	}
	c := r.read(f, root)
	if err := r.Errs.Fatal(); err != nil {
		t.Fatalf("%s: %v", o.ID, err)
	}
	return Merge(c.section.flat(order, home), c.list)
}

func TestOpsFromConfig(t *testing.T) {
	for _, o := range ops(t, "fromConfig", 37) {
		var call struct{ Home string }
		o.decode(t, o.Call, &call)
		for order, want := range map[Order]json.RawMessage{Last: o.Expect, First: o.ExpectSeed} {
			got := json.RawMessage(append(Ruleset{}, configRules(t, o, order, o.Config, call.Home)...).JSON())
			if order == First { // the two write their keys differently
				got, want = sortKeys(t, o, got), sortKeys(t, o, want)
			}
			if string(got) != string(want) {
				t.Errorf("%s, order %s: %s, want %s", o.ID, order, got, want)
			}
		}
	}
}

func sortKeys(t *testing.T, o *op, raw json.RawMessage) json.RawMessage {
	var v any
	o.decode(t, raw, &v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOpsMerge(t *testing.T) {
	for _, o := range ops(t, "merge", 4) {
		var config struct{ Layers []Ruleset }
		var want Ruleset
		o.decode(t, o.Config, &config)
		o.decode(t, o.Expect, &want)
		if got := Merge(config.Layers...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", o.ID, got)
		}
	}
}

func TestOpsWildcard(t *testing.T) {
	for _, o := range ops(t, "wildcard", 442) {
		var call struct{ Input, Pattern string }
		var want bool
		o.decode(t, o.Call, &call)
		o.decode(t, o.Expect, &want)
		if got := wildcard(call.Pattern, call.Input); got != want {
			t.Errorf("%s: %q on %q: %v", o.ID, call.Pattern, call.Input, got)
		}
	}
}
