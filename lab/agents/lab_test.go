package agents

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/scripted"
)

func TestMCP(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	quoted, _ := json.Marshal(file)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"two","method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"touch","arguments":{"path":` + string(quoted) + `}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"erase","arguments":{"path":` + string(quoted) + `.}}}
{"jsonrpc":"2.0","id":5,"method":"resources/list"}
`
	var out bytes.Buffer
	if err := ServeMCP(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 { // the notification and the line that is no JSON are not answered
		t.Fatalf("%d answers: %s", len(lines), out.String())
	}
	for i, want := range []string{`"protocolVersion":"2025-06-18"`, `"id":"two"`, `"isError":false`, `"code":-32601`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("answer %d: %s has no %s", i, lines[i], want)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	out.Reset()
	if err := ServeMCP(strings.NewReader(`{"id":1,"method":"tools/call","params":{"name":"erase","arguments":{"path":`+string(quoted)+`}}}`), &out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("erase left the file")
	}
}

// TestDrivers: every agent has a call for everything that scenarios do.
func TestDrivers(t *testing.T) {
	for _, a := range Agents() {
		for _, s := range scenarios() {
			script := s.script(&a, "/run")
			if len(script[scripted.MainMarker]) < len(s.main) || len(script[scripted.SubMarker]) < len(s.sub) {
				t.Errorf("%s, %s: %v", a.Name, s.name, script)
			}
			for _, c := range script[scripted.MainMarker] {
				if c.Tool == "" || c.Args == nil && c.Text == "" {
					t.Errorf("%s, %s: an empty call: %v", a.Name, s.name, c)
				}
			}
		}
	}
}

// TestJudge tells broken promises from the agents' own affairs.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		files    []string // that are there in the end
		told     []string
		hung     bool
		outcome  string
		broken   string
	}{
		"blocked":         {"denied", []string{"keep.txt", "after.txt"}, []string{"deny rule " + denied, ""}, false, outBlocked, ""},
		"ran":             {"denied", []string{"after.txt"}, []string{"", ""}, false, outRan, "it ran"},
		"other reason":    {"denied", []string{"keep.txt", "after.txt"}, []string{"tool not found", ""}, false, outBlocked, "was not the reason"},
		"gave up":         {"denied", []string{"keep.txt"}, []string{"deny rule " + denied}, false, outBlocked, "did not go on"},
		"hung":            {"ask", []string{"keep.txt"}, nil, true, outHung, "hung"},
		"never asked":     {"denied", []string{"keep.txt"}, nil, false, outNotDriven, ""},
		"harmless":        {"harmless", []string{"ran.txt", "after.txt"}, []string{"", ""}, false, outRan, ""},
		"harmless denied": {"harmless", []string{"after.txt"}, []string{"no", ""}, false, outBlocked, "did not run"},
		"killed, ran":     {"killed", nil, []string{""}, false, outRan, "it ran"},
		"hanging, ran":    {"hanging", nil, []string{""}, false, outRan, ""},
		"killed, blocked": {"killed", []string{"keep.txt"}, []string{"hook failed"}, false, outBlocked, ""},
		"no subagent":     {"subagent", []string{"keep.txt", "after.txt"}, []string{"denied", ""}, false, outBlocked, "did not run"},
		"empty denial":    {"subagent-denied", []string{"keep.txt", "after.txt"}, []string{"spawning is denied", ""}, false, outBlocked, "was not the reason"},
		"no obstat":       {"control", nil, []string{""}, false, outRan, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{dir: t.TempDir(), model: startModel(t, scripted.Script{scripted.MainMarker: nil})}
			for _, file := range c.files {
				if err := r.write(filepath.Join(r.project(), file), ""); err != nil {
					t.Fatal(err)
				}
			}
			if c.told != nil {
				r.model.Hear(scripted.Prompt(scripted.MainMarker), c.told...)
			}
			for _, s := range scenarios() {
				if s.name != c.scenario {
					continue
				}
				var res Result
				s.judge(&res, &Agent{}, r, c.hung)
				if res.Outcome != c.outcome || !strings.Contains(res.Broken, c.broken) || c.broken == "" && res.Broken != "" {
					t.Errorf("%+v", res)
				}
			}
		})
	}
}

func TestSpoil(t *testing.T) {
	r := &run{dir: t.TempDir()}
	if err := r.write(filepath.Join(r.bin(), "obstat"), "the real one"); err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(r.dir, "built")
	if err := os.Link(filepath.Join(r.bin(), "obstat"), built); err != nil {
		t.Fatal(err)
	}
	if err := r.spoil("#!/bin/sh\n"); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(r.bin(), "obstat"))
	if kept, _ := os.ReadFile(built); string(text) != "#!/bin/sh\n" || string(kept) != "the real one" {
		t.Errorf("%q %q", text, kept)
	}
	if err := r.spoil(""); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.bin(), "*")); left != nil {
		t.Errorf("left: %q", left)
	}
}

func TestChosen(t *testing.T) {
	o := &options{agents: "claude-code", versions: "claude-code=9.9.9"}
	got, err := o.chosen()
	if err != nil || len(got) != 2 || got[0].Version != "9.9.9" || got[1].Version != "9.9.9" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []options{{agents: "nobody"}, {versions: "nobody=1"}, {versions: "claude-code"}} {
		if _, err := bad.chosen(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestMended: a run of some scenarios leaves the others' results.
func TestMended(t *testing.T) {
	got := mended([]Result{{Scenario: "a", Outcome: outRan}, {Scenario: "b", Outcome: outNotDriven}}, []Result{{Scenario: "b", Outcome: outBlocked}})
	if len(got) != 2 || got[0].Outcome != outRan || got[1].Outcome != outBlocked {
		t.Errorf("%v", got)
	}
}

func TestTable(t *testing.T) {
	a := Agents()[:1]
	text := table(a, []lastRun{{Version: "1.2.3", Date: "2026-01-02", Results: []Result{
		{Scenario: "denied", Outcome: outRan, Broken: "it ran"},
		{Scenario: "harmless", Outcome: outRan},
		{Scenario: "mcp", Outcome: outNotDriven, Note: "no such program"},
		{Scenario: "mcp-denied", Outcome: outNotDriven, Note: "no such program"},
	}}})
	for _, want := range []string{"| 1.2.3 | 2026-01-02 |", "| an allowed command | Claude Code | run | ran |", "| a denied command | Claude Code | blocked | **ran** [1] |", "- [1] it ran", "**not driven** [2]", "- [2] no such program", "| not tried |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func startModel(t *testing.T, s scripted.Script) *scripted.Model {
	t.Helper()
	m, err := scripted.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}
