package agents

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChoose: every two values that can meet do, the choice is the same for the same seed, and another seed
// chooses others.
func TestChoose(t *testing.T) {
	total := 0
	for _, f := range fieldsOf() {
		cells := f.choose(pairSeed)
		total += len(cells)
		want, have := pairsOf(f.all()), pairsOf(cells)
		for p := range want {
			if !have[p] {
				t.Errorf("%s: %v never meet", f.agent, p)
			}
		}
		again := f.choose(pairSeed)
		for i := range cells {
			if cells[i] != again[i] {
				t.Fatalf("%s: another choice for the same seed", f.agent)
			}
			if !f.can(&cells[i]) {
				t.Errorf("%s cannot be driven", cells[i].String())
			}
		}
		other, same := f.choose(pairSeed+1), 0
		for i := range min(len(other), len(cells)) {
			if other[i] == cells[i] {
				same++
			}
		}
		if same == len(cells) {
			t.Errorf("%s: the seed does not matter", f.agent)
		}
	}
	if total < 400 {
		t.Errorf("%d pairs", total)
	}
}

// pairsOf returns every two values that meet in a cell, found without the code that chooses.
func pairsOf(cells []Cell) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, c := range cells {
		v := []string{"mode " + c.Mode, "rule " + c.Rule, "kind " + c.Kind, "policy " + c.Policy}
		for i := range v {
			for j := i + 1; j < len(v); j++ {
				out[[2]string{v[i], v[j]}] = true
			}
		}
	}
	return out
}

func TestPairJudge(t *testing.T) {
	ran, refused := &Half{Ran: true, Began: true}, &Half{Began: true, Words: "no"}
	asks := &Half{Began: true, Words: "Claude requested permissions, but you haven't granted it yet."}
	cell := func(mode, rule, policy string) Cell { return Cell{"claude-code", mode, rule, kindCreate, policy} }
	for _, c := range []struct {
		cell          Cell
		without, with *Half
		want          PairVerdict
	}{
		{cell("default", ruleNone, policyAllow), ran, ran, RanBoth},
		{cell("default", ruleNone, policyDeny), ran, refused, OnlyWithout},
		{cell("default", ruleDeny, policyAllow), refused, refused, RanNeither},
		{cell("default", ruleNone, policyAllow), asks, ran, Answered},
		{cell("default", ruleNone, policyDialect), asks, ran, Answered},
		{cell("default", ruleAllow, policyOwn), asks, ran, Answered},
		{cell("default", ruleNone, policyOwn), asks, ran, Looser},
		{cell("default", ruleNone, policyAsk), asks, ran, Looser},
		{cell("default", ruleNone, policyDeny), asks, ran, Looser},
		{cell("default", ruleAsk, policyAllow), asks, ran, Looser},
		{cell("default", ruleDeny, policyAllow), asks, ran, Looser},
		{cell("plan", ruleNone, policyAllow), asks, ran, Looser},
		{cell("plan", ruleNone, policyAllow), refused, ran, Looser},
		{cell(autoFlagged, ruleNone, policyAllow), refused, ran, Looser},
		{cell(autoFlagged, ruleNone, policyOver), refused, ran, Outranked},
		{cell(autoFlagged, ruleDeny, policyOver), refused, ran, Looser},
		{cell(autoFlagged, ruleAsk, policyOver), asks, ran, Looser},
		{cell("default", ruleNone, policyAllow), &Half{}, refused, Broken},
		{cell("default", ruleNone, policyAllow), refused, &Half{}, Broken},
		{cell("default", ruleNone, policyAllow), refused, nil, Broken},
	} {
		if got := (&Pair{Cell: c.cell, Without: c.without, With: c.with}).Judge(); got != c.want {
			t.Errorf("%s, %+v, %+v: %s, not %s", c.cell.String(), c.without, c.with, got, c.want)
		}
	}
	outside := Cell{"copilot", copilotTools, ruleNone, kindStray, policyAllow}
	wall := &Half{Began: true, Words: "Permission denied because no interactive user response was available."}
	if got := (&Pair{Cell: outside, Without: wall, With: ran}).Judge(); got != Looser {
		t.Errorf("Copilot's check of paths: %s", got)
	}
}

func TestEffect(t *testing.T) {
	for _, c := range []struct {
		stdout string
		exit   int
		want   string
	}{
		{"", 0, "none"}, {"{}", 0, "none"}, {"", 2, "deny"}, {`{"decision":"allow"}`, 2, "deny"}, {`{"dec`, 0, "garbled"},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`, 0, "allow"},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{}}}`, 0, "none"},
		{`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, 0, "allow"},
		{`{"permissionDecision":"ask"}`, 0, "ask"}, {`{"behavior":"deny"}`, 0, "deny"}, {`{"decision":"deny","reason":"x"}`, 0, "deny"},
	} {
		if got := Effect(c.stdout, c.exit); got != c.want {
			t.Errorf("%s, %d: %s, not %s", c.stdout, c.exit, got, c.want)
		}
	}
}

// TestShim: what passes through reaches both sides as it is, and is written down with the run's directory
// taken out.
func TestShim(t *testing.T) {
	r := &run{dir: t.TempDir()}
	program := filepath.Join(r.dir, "obstat")
	script := "#!/bin/sh\ncase \"$*\" in *--serve*) while read -r id call; do echo \"$id 0 {\\\"decision\\\":\\\"allow\\\"}\"; done;; *) cat; exit 2;; esac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(shimmed, "")
	t.Setenv("CLAUDE_PROJECT_DIR", r.dir+"/project")
	t.Setenv("CLAUDE_CODE_MESSAGING_TOKEN", "secret")
	var out, errs bytes.Buffer
	in := `{"cwd":"` + r.dir + `/project"}`
	if code, err := shim([]string{program, r.passedName(), "hook", "claude-code"}, strings.NewReader(in), &out, &errs); code != 2 || err != nil {
		t.Fatal(code, err)
	}
	if out.String() != in {
		t.Errorf("passed on: %s", out.String())
	}
	if code, err := shim([]string{program, r.passedName(), "hook", "claude-code"}, strings.NewReader(in), &out, &errs); code != 2 || err == nil {
		t.Error("a shim called itself")
	}
	t.Setenv(shimmed, "")
	out.Reset()
	lines := "1 {\"a\":1}\n2 {\"hook_event_name\":\"tool.execute.after\"}\n"
	if code, err := shim([]string{program, r.passedName(), "hook", "opencode", "--serve"}, strings.NewReader(lines), &out, &errs); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if want := "1 0 {\"decision\":\"allow\"}\n2 0 {\"decision\":\"allow\"}\n"; out.String() != want {
		t.Errorf("passed on: %s", out.String())
	}
	got, err := r.passed()
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if got[0].Stdin != `{"cwd":"/RUN/project"}` || got[0].Exit != 2 || strings.Join(got[0].Env, " ") != "CLAUDE_PROJECT_DIR=/RUN/project" {
		t.Errorf("%+v", got[0])
	}
	if got[1].Stdin != `{"a":1}` || Effect(got[1].Stdout, got[1].Exit) != "allow" || got[1].In("/x").Stdin != `{"a":1}` {
		t.Errorf("%+v", got[1])
	}
}

// TestShelf: what has run is not run again, but for a run with another obstat, and one that failed.
func TestShelf(t *testing.T) {
	o, a := &options{cache: t.TempDir(), root: t.TempDir()}, &Agent{Name: "codex", Version: "1"}
	c := Cell{"codex", codexBypass, ruleNone, kindRead, policyAllow}
	s := o.shelf(a, "one")
	for _, h := range []halfRun{{Cell: c.alone(), Half: &Half{Ran: true}}, {Cell: c, Obstat: "one", Half: &Half{}}, {Cell: Cell{Agent: "failed"}, Problem: "x"}} {
		if err := s.put(h); err != nil {
			t.Fatal(err)
		}
	}
	for digest, want := range map[string]bool{"one": true, "two": false} {
		s := o.shelf(a, digest)
		if _, have := s.get(c); have != want {
			t.Errorf("with obstat %s: %v", digest, have)
		}
		if h, have := s.get(c.alone()); !have || !h.Half.Ran {
			t.Errorf("without: %+v", h)
		}
		if _, have := s.get(Cell{Agent: "failed"}); have {
			t.Error("a run that failed counts")
		}
	}
}

func TestFrameworkRows(t *testing.T) {
	for _, c := range []struct {
		row  frameworkRow
		want PairVerdict
	}{
		{frameworkRow{Without: "ran", With: "ran"}, RanBoth},
		{frameworkRow{Without: "ran", With: "asked"}, OnlyWithout},
		{frameworkRow{Without: "refused", With: "asked"}, RanNeither},
		{frameworkRow{Without: "asked", With: "ran", Policy: "allows all", Rule: "none"}, Answered},
		{frameworkRow{Without: "asked", With: "ran", Policy: "allows all", Rule: "ask"}, Looser},
		{frameworkRow{Without: "asked", With: "ran", Rule: "none", Policy: "asks"}, Looser},
		{frameworkRow{Without: "refused", With: "ran", Rule: "none", Policy: "allows all"}, Looser},
	} {
		if got, err := c.row.judge(); got != c.want || err != nil {
			t.Errorf("%+v: %s, %v", c.row, got, err)
		}
	}
	if _, err := (&frameworkRow{Without: "ran"}).judge(); err == nil {
		t.Error("a row that says nothing is taken")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "sdk", "python")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `[{"framework":"LangGraph","version":"1.2","rule":"deny","policy":"allows all","without":"refused","with":"ran"}]`
	if err := os.WriteFile(filepath.Join(dir, "never-looser.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := frameworkRows(root); err != nil || !strings.Contains(got, "| LangGraph | 1.2 | python | 1 | 0 | 0 | 0 | 0 | 1 |") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestPairPage: the page is the one that the kept pairs make.
func TestPairPage(t *testing.T) {
	const root = "../.."
	want, err := PairPage(root)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(pairPage)))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(pairPage)), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(have) != want {
		t.Errorf("%s is not what the kept pairs make: run go test ./lab/agents -run TestPairPage -update", pairPage)
	}
}

var update = flag.Bool("update", false, "write the page of the pairs")

// TestPairsBite: of every kind of call that an agent can make, some run had its effect without obstat, so that a
// call that does not run shows something; and the kept pairs are those of the seed.
func TestPairsBite(t *testing.T) {
	for _, name := range PairAgents() {
		pairs, err := ReadPairs(PairsFile("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		f, ran := fieldOf(name), map[string]bool{}
		cells := f.choose(pairSeed)
		if len(pairs) != len(cells) {
			t.Fatalf("%s: %d pairs are kept, %d are chosen", name, len(pairs), len(cells))
		}
		for i := range pairs {
			if pairs[i].Cell != cells[i] {
				t.Errorf("%s is kept, %s chosen", pairs[i].Cell.String(), cells[i].String())
			}
			if pairs[i].Without != nil && pairs[i].Without.Ran {
				ran[pairs[i].Kind] = true
			}
		}
		for _, kind := range f.kinds {
			if never := name == "gemini" && kind == kindOutside; !ran[kind] && !never { // refused by its tool itself
				t.Errorf("%s: %s never ran", name, kind)
			}
		}
	}
}
