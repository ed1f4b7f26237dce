package inprocess_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/inprocess"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/study/cases"
)

// build returns the module.
func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "obstat.wasm")
	c := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", name, "./wasm")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// host runs the module on the messages, with a directory as its file system: in node, or by
// the command in OBSTAT_WASM_HOST.
func host(t *testing.T, module, root string, messages []string) [][]byte {
	t.Helper()
	by := strings.Fields(os.Getenv("OBSTAT_WASM_HOST"))
	if len(by) == 0 {
		node, err := exec.LookPath("node")
		if err != nil && os.Getenv("CI") == "" {
			t.Skip("node is not installed; make test installs it")
		}
		by = []string{cmp.Or(node, "node"), "--no-warnings", "testdata/host.mjs"}
	}
	c := exec.Command(by[0], append(by[1:], module, root)...)
	var in bytes.Buffer
	for _, m := range messages {
		in.WriteString(m + "\n")
	}
	c.Stdin, c.Stderr = &in, os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", by[0], err, out)
	}
	var replies [][]byte
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		replies = append(replies, bytes.Clone(lines.Bytes()))
	}
	if len(replies) != len(messages) {
		t.Fatalf("%d replies to %d messages", len(replies), len(messages))
	}
	return replies
}

// corpus are files of recorded answers, and how many of their cases are taken: 2,000.
var corpus = []struct {
	file string
	n    int
}{
	{"adkfluent/testdata/document", 150}, {"agentscope/testdata/document", 400}, {"agentscope/testdata/parser", 200},
	{"agentscope/testdata/shelldanger", 100}, {"agentscope/testdata/unsafe", 50}, {"chorus/testdata/document", 100},
	{"jiuwen/testdata/jiuwen-document", 250}, {"jiuwen/testdata/jiuwen-parser", 100},
	{"opencode/testdata/opencode-document", 200}, {"opencode/testdata/opencode-program", 150}, {"opencode/testdata/opencode-parser", 100},
	{"all/testdata/harm", 200},
}

// TestWASMAnswersLikeTheGate puts 2,000 recorded calls to the module and to the gate, and
// wants the same verdict, rule, stage and reason.
func TestWASMAnswersLikeTheGate(t *testing.T) {
	var messages, ids []string
	var want []decided
	policies := map[string]int{}
	for _, from := range corpus {
		var list []*cases.Case
		var with []*dialect.Loaded
		r := cases.Runner{Find: all.Find}
		jsonltest.Lines(t, filepath.Join("../../../dialect", from.file+".jsonl.gz"), func(line int, data []byte) {
			c, err := cases.Parse(from.file, line, data)
			if err != nil {
				t.Fatal(err)
			}
			// Tools are declared in Go alone; a policy that is refused decides nothing.
			if l, err := r.Load(c); err == nil && len(l.Input.Tools) == 0 {
				list, with = append(list, c), append(with, l)
			}
		})
		if len(list) < from.n {
			t.Fatalf("%s: %d cases", from.file, len(list))
		}
		for i := range from.n {
			at := i * len(list) / from.n
			c, load := list[at], loadMessage(t, with[at])
			if policies[load] == 0 {
				policies[load] = len(policies) + 1
				messages, ids, want = append(messages, "load "+load), append(ids, ""), append(want, decided{})
			}
			call, err := json.Marshal(map[string]any{"call": &c.Call, "world": &c.World})
			if err != nil {
				t.Fatal(err)
			}
			messages, ids = append(messages, fmt.Sprintf("decide %d %s", policies[load], call)), append(ids, c.ID)
			want = append(want, natively(t, with[at], c))
		}
	}
	compared, asks := 0, 0
	for i, reply := range host(t, build(t), "/", messages) {
		if ids[i] == "" {
			if l := read[loaded](t, reply); l.Policy == 0 {
				t.Fatalf("refused: %s", reply)
			}
			continue
		}
		compared++
		if want[i].Asks {
			asks++
		}
		if got, w := read[decided](t, reply), want[i]; !equal(&got, &w) {
			t.Errorf("%s: got %+v, want %+v", ids[i], got, w)
		}
	}
	if compared != 2000 || asks == 0 || asks == compared {
		t.Errorf("compared %d cases, %d of them asks", compared, asks)
	}
}

func equal(a, b *decided) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func loadMessage(t *testing.T, l *dialect.Loaded) string {
	files := []map[string]string{}
	for _, f := range l.Input.Files {
		files = append(files, map[string]string{"name": f.Name, "layer": f.Layer, "text": string(f.Data)})
	}
	out, err := json.Marshal(map[string]any{"dialect": l.Dialect.Name(), "files": files, "options": l.Input.Options, "home": l.Input.Home})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// natively asks the gate itself.
func natively(t *testing.T, l *dialect.Loaded, c *cases.Case) (out decided) {
	g, err := gate.Open(t.Context(), gate.Options{Policy: gate.Fixed{Loaded: l}, World: &c.World, NoRecord: true, NoStart: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := g.Authorize(context.Background(), &c.Call, &gate.Terms{Ask: gate.Leave})
	if err != nil {
		t.Fatal(err)
	}
	out = decided{Verdict: d.Verdict.String(), Safety: d.Safety, Stage: d.Stage, Reason: d.Reason()}
	if d.Rule != nil {
		out.Rule = &struct {
			Text string `json:"text"`
		}{d.Rule.String()}
	}
	for i := range d.Faults {
		f, _ := json.Marshal(&d.Faults[i])
		out.Faults = append(out.Faults, f)
	}
	if d.Verdict == obstat.Ask {
		out.Verdict, out.Asks, out.Reason = "deny", true, out.Reason+"; "+inprocess.Unasked
	}
	return out
}

// TestWASMSeesLinks gives the module a machine with links: they count as what they lead to,
// nothing is allowed behind one that cannot be read, nor without a file system.
func TestWASMSeesLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"secret", "open"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"open/way": "../secret", "abs": filepath.Join(dir, "secret"), "absopen": filepath.Join(dir, "open"), "twice": "open/way", "open/plain": "."}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	src, _ := json.Marshal(map[string]any{"dialect": "opencode", "files": []any{map[string]string{"text": `{"permission": {"edit": {"**": "allow", "secret/**": "deny"}}}`}}})
	messages := []string{"load " + string(src)}
	wants := []string{""}
	for path, want := range map[string]string{"open/a": "allow", "open/plain/a": "allow", "absopen/a": "allow", "secret/a": "deny", "open/way/a": "deny", "abs/a": "deny", "twice/a": "deny"} {
		call, _ := json.Marshal(map[string]any{"call": map[string]any{"tool": "edit", "dir": dir, "roots": []string{dir}, "input": map[string]string{"filePath": filepath.Join(dir, path), "oldString": "a", "newString": "b"}}})
		messages, wants = append(messages, "decide 1 "+string(call)), append(wants, want)
	}
	module := build(t)
	for i, reply := range host(t, module, "/", messages)[1:] {
		if d := read[decided](t, reply); d.Verdict != wants[i+1] {
			t.Errorf("%s: got %s, want %s", messages[i+1], reply, wants[i+1])
		}
	}
	for i, reply := range host(t, module, "blind", messages)[1:] {
		if d := read[decided](t, reply); strings.Contains(messages[i+1], "/abs") && d.Verdict != "deny" {
			t.Errorf("%s behind a link that cannot be read: got %s", messages[i+1], reply)
		}
	}
	for i, reply := range host(t, module, "none", messages)[1:] {
		if d := read[decided](t, reply); d.Verdict != "deny" || len(d.Faults) == 0 {
			t.Errorf("%s without a file system: got %s", messages[i+1], reply)
		}
	}
}
