package adkfluent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/pattern"
)

// Every problem has its place, and all come at once.
func TestBadFiles(t *testing.T) {
	for _, tc := range []struct {
		name, file, data string
		want             []string
	}{
		{"unknown mode", "p.json", `{"mode": "accept_edit"}`, []string{`p.json:1:10: Unknown permission mode 'accept_edit'. Valid: accept_edits, bypass, default, dont_ask, plan [bad-value]; did you mean "accept_edits"?`}},
		{"mode in capitals", "p.json", `{"mode": "Plan"}`, []string{"p.json:1:10: Unknown permission mode 'Plan'"}},
		{"mode of no type", "p.json", `{"mode": null}`, []string{"p.json:1:10: "}},
		{"pattern mode", "p.json", "{\n  \"pattern_mode\": \"regexp\",\n  \"deny_patterns\": [\"(\"]\n}", []string{"p.json:2:19: pattern_mode must be 'glob' or 'regex', got 'regexp' [bad-value]"}},
		{"a regexp that does not compile", "p.json", "{\"pattern_mode\": \"regex\",\n \"deny_patterns\": [\"ok\", \"a(b\"]}", []string{"p.json:2:28: regex pattern"}},
		{"with escapes its start is told", "p.json", `{"pattern_mode": "regex", "deny_patterns": ["\u0061("]}`, []string{"p.json:1:45: regex pattern"}},
		{"the same in YAML", "p.yaml", "pattern_mode: regex\nallow_patterns:\n  - '*'\n", []string{"p.yaml:3:6: regex pattern"}},
		{"a key nobody reads", "p.json", `{"denny": ["bash"]}`, []string{"p.json:1:2: "}},
		{"a key in capitals", "p.json", `{"Deny": ["bash"]}`, []string{"p.json:1:2: "}},
		{"two keys", "p.json", `{"deny": ["bash"], "deny": []}`, []string{"p.json:1:20: "}},
		{"a name for a list", "p.json", `{"deny": "bash"}`, []string{"p.json:1:10: "}},
		{"a number for a name", "p.json", `{"deny": ["bash", 5]}`, []string{"p.json:1:19: "}},
		{"an object for a pattern", "p.json", `{"deny_patterns": [{"fnmatch": "*"}, {"glob": 1}, 7]}`, []string{"p.json:1:20: ", "p.json:1:38: ", "p.json:1:51: "}},
		{"no object", "p.json", `["bash"]`, []string{"p.json:1:1: "}},
		{"nothing", "p.json", ``, []string{"p.json:1:1: "}},
		{"nothing in YAML", "p.yaml", "# nothing\n", []string{"p.yaml:1:1: the file is empty"}},
		{"all at once", "p.json", "{\"mode\": \"x\",\n\"pattern_mode\": \"regex\",\n\"ask\": [1],\n\"deny_patterns\": [\"[\"]}", []string{"p.json:1:10: ", "p.json:3:9: ", "p.json:4:20: "}},
	} {
		_, err := adkfluent.Parse(tc.file, []byte(tc.data))
		var errs obstat.Errors
		if !errors.As(err, &errs) || len(errs) != len(tc.want) {
			t.Errorf("%s: %v, want %d problems", tc.name, err, len(tc.want))
			continue
		}
		for i, want := range tc.want {
			if !strings.HasPrefix(errs[i].Error(), want) {
				t.Errorf("%s: %s, want %s", tc.name, errs[i], want)
			}
		}
	}
}

// A policy with a problem denies, whatever it is merged with.
func TestProblemsDeny(t *testing.T) {
	for name, p := range map[string]*adkfluent.Policy{
		"bad pattern":      adkfluent.DenyPatterns(adkfluent.Regex, "*secret*"),
		"bad pattern mode": adkfluent.DenyPatterns("regexp", "x"),
		"bad mode":         adkfluent.Bypass().WithMode("yolo"),
		"merged":           adkfluent.Bypass().Merge(adkfluent.AllowPatterns(adkfluent.Regex, "(")),
		"merged from":      adkfluent.AllowPatterns(adkfluent.Regex, "(").Merge(adkfluent.Bypass()),
		"nil":              nil,
		"merged with nil":  adkfluent.Bypass().Merge(nil),
		"nil refiner":      adkfluent.Bypass().Refine(nil),
		"panicking":        adkfluent.Bypass().Refine(func(string, map[string]any, adkfluent.Decision) adkfluent.Decision { panic("no") }),
	} {
		if d := p.Check("read_file", nil); !d.IsDeny() || d.Reason() == "" {
			t.Errorf("%s: %s %q", name, d.Behavior(), d.Reason())
		}
	}
	if _, err := adkfluent.New(adkfluent.Config{Mode: "x", PatternMode: "y", DenyPatterns: []string{"("}}); err == nil {
		t.Error("New took a bad configuration")
	}
}

// Arguments that are no object are a fault, in every mode.
func TestArgumentsThatAreNoObject(t *testing.T) {
	for _, input := range []string{`[1]`, `"x"`, `5`, `{"a":1,"a":2}`, `{"a":1,"A":2}`, `{`, `{} x`} {
		for _, mode := range adkfluent.Modes() {
			pol, err := adkfluent.AutoAllow("t").WithMode(mode).Compile()
			if err != nil {
				t.Fatal(err)
			}
			d := pol.Decide(&obstat.Call{Tool: "t", Input: json.RawMessage(input)}, nil)
			if d.Verdict != obstat.Deny || len(d.Faults) == 0 {
				t.Errorf("%s in %s: %s, %v", input, mode, d.Verdict, d.Faults)
			}
		}
	}
}

// Glob and regex policies can be merged; each pattern means what it meant.
func TestMergeKeepsMeanings(t *testing.T) {
	globs := adkfluent.DenyPatterns(adkfluent.Glob, "*secret*").Merge(adkfluent.AllowPatterns(adkfluent.Glob, "read_*"))
	regexps := adkfluent.AllowPatterns(adkfluent.Regex, "list_(dir|files)")
	for _, p := range []*adkfluent.Policy{globs.Merge(regexps), regexps.Merge(globs)} {
		for tool, want := range map[string]string{"read_file": "allow", "read_secret": "deny", "list_dir": "allow", "list_": "ask", "read_": "allow", "list_(dir|files)": "ask"} {
			if d := p.Check(tool, nil); d.Behavior() != want {
				t.Errorf("%s: %s, want %s", tool, d.Behavior(), want)
			}
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := adkfluent.Parse("p.json", written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if again.Program().Digest() == "" || again.Check("read_file", nil).Behavior() != "allow" || again.Check("list_dir", nil).Behavior() != "allow" {
			t.Errorf("%s does not read back", written)
		}
	}
}

func TestFilesInYAMLAndLayers(t *testing.T) {
	files := []dialect.File{
		{Name: "base.yaml", Layer: "user", Data: []byte("mode: accept_edits\nallow: [grep]\nask_patterns:\n  - web_*\n")},
		{Name: "project.json", Layer: "project", Data: []byte(`{"deny": ["web_fetch"], "deny_patterns": [{"regex": ".*secret.*"}]}`)},
	}
	l, err := dialect.Load(adkfluent.Dialect{}, &dialect.Input{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]obstat.Verdict{"grep": obstat.Allow, "bash": obstat.Allow, "web_search": obstat.Ask, "web_fetch": obstat.Deny, "a_secret": obstat.Deny} {
		d := l.Policy.Decide(&obstat.Call{Tool: tool}, nil)
		if d.Verdict != want {
			t.Errorf("%s: %s, want %s", tool, d.Verdict, want)
		}
		if tool == "web_fetch" && (d.Rule == nil || d.Rule.Pos.String() != "project.json:1:11" || d.Rule.Layer != "project") {
			t.Errorf("web_fetch was denied by %+v", d.Rule)
		}
	}
	if r := l.Policy.Reach("a_secret", ""); r.Loosest != obstat.Deny {
		t.Errorf("a_secret can get %v", r)
	}
}

func TestDetect(t *testing.T) {
	for data, want := range map[string]dialect.Confidence{
		`{"mode": "plan", "allow": ["grep"]}`: dialect.Maybe,
		`{"deny_patterns": ["*x*"]}`:          dialect.Sure,
		`{"permissions": {"allow": []}}`:      dialect.No,
		`{}`:                                  dialect.No,
		`[`:                                   dialect.No,
	} {
		if got := (adkfluent.Dialect{}).Detect(&dialect.File{Name: "x.json", Data: []byte(data)}); got != want {
			t.Errorf("%s: %v, want %v", data, got, want)
		}
	}
}

func TestLint(t *testing.T) {
	for _, tc := range []struct {
		data string
		want []string // position and start of each warning
	}{
		{`{"ask": ["bash"]}`, nil},
		{`{"mode": "accept_edits", "ask": ["bash"]}`, []string{"p.json:1:34: warning: bash is on the ask list, but the ask can never happen: step 7"}},
		{`{"mode": "accept_edits", "ask": ["bash"], "mutating_tools": ["write_file"]}`, nil},
		{`{"mode": "accept_edits", "ask_patterns": ["*sh"]}`, []string{"p.json:1:43: warning: the ask pattern *sh can never make bash, streaming_bash ask: step 7"}},
		{`{"mode": "accept_edits", "ask_patterns": ["web_*"]}`, nil},
		{`{"mode": "bypass", "ask": ["bash"], "ask_patterns": ["*"]}`, []string{"p.json:1:28: warning: bash is on", "p.json:1:54: warning: the ask pattern * can never make anything ask: step 3"}},
		{`{"mode": "dont_ask", "ask": ["x"]}`, []string{"p.json:1:30: warning: x is on the ask list, but the ask can never happen: step 8"}},
		{`{"mode": "plan", "ask": ["bash"], "allow": ["write_file"]}`, []string{"p.json:1:26: warning: bash is on the ask list, but the ask can never happen: step 4", "p.json:1:45: warning: write_file is allowed, but plan"}},
		{`{"allow": ["a"], "ask": ["a"]}`, []string{"p.json:1:26: warning: a is on the ask list, but the ask can never happen: step 5"}},
		{`{"allow_patterns": ["*"], "ask": ["a"]}`, []string{"p.json:1:35: warning: a is on the ask list, but the ask can never happen: step 6"}},
		{`{"deny": ["a"], "ask": ["a"], "allow": ["a"]}`, []string{"p.json:1:25: warning: a is on the ask list, but the ask can never happen: step 1", "p.json:1:41: warning: a is allowed, but a denial"}},
		{`{"deny": ["rm"]}`, []string{"p.json:1:11: warning: this denies a tool called rm"}},
	} {
		in := &dialect.Input{Files: []dialect.File{{Name: "p.json", Data: []byte(tc.data)}}}
		got := adkfluent.Dialect{}.Lint(in, nil)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %v, want %d warnings", tc.data, got, len(tc.want))
			continue
		}
		for i, e := range got {
			if !strings.HasPrefix(e.Error(), tc.want[i]) || !e.Warning {
				t.Errorf("%s: %s, want %s", tc.data, e, tc.want[i])
			}
		}
	}
}

// The change that the hint of a warning shows makes the tool ask.
func TestLintHintWorks(t *testing.T) {
	data := `{"mode": "accept_edits", "ask": ["bash"]}`
	p := parse(t, json.RawMessage(data))
	hint := p.Lint()[0].Hint
	_, line, ok := strings.Cut(hint, ": ")
	if !ok {
		t.Fatalf("no change in %q", hint)
	}
	changed := parse(t, json.RawMessage(strings.TrimSuffix(data, "}")+", "+line+"}"))
	if d := changed.Check("bash", nil); !d.IsAsk() || changed.Lint() != nil {
		t.Errorf("after %s: %s, %v", line, d.Behavior(), changed.Lint())
	}
	if !changed.Check("write_file", nil).IsAllow() {
		t.Error("write_file is not allowed any more")
	}
}

// chain is the document's precedence chain, written down a second time.
func chain(c *adkfluent.Config, tool string) string {
	has := func(list []string) bool {
		for _, n := range list {
			if n == tool {
				return true
			}
		}
		return false
	}
	matches := func(list []string) bool {
		for _, p := range list {
			if ok, _ := pattern.MustCompile(pattern.Fnmatch, p).Match(tool); ok {
				return true
			}
		}
		return false
	}
	switch mutating := has(c.MutatingTools); {
	case has(c.Deny), matches(c.DenyPatterns):
		return "deny"
	case c.Mode == adkfluent.ModeBypass:
		return "allow"
	case c.Mode == adkfluent.ModePlan && mutating:
		return "deny"
	case has(c.Allow), matches(c.AllowPatterns), c.Mode == adkfluent.ModeAcceptEdits && mutating:
		return "allow"
	case c.Mode == adkfluent.ModeDontAsk:
		return "deny"
	}
	return "ask"
}

var (
	anyTool  = rapid.SampledFrom([]string{"", "bash", "read_file", "write_file", "web_fetch", "a*", "read_"})
	anyTools = rapid.SliceOfN(anyTool, 0, 4)
	anyGlobs = rapid.SliceOfN(rapid.SampledFrom([]string{"*", "read_*", "*_file", "[rw]*", "", "ba?h", "a[*]"}), 0, 3)
)

func anyConfig(t *rapid.T) adkfluent.Config {
	return adkfluent.Config{
		Mode:  rapid.SampledFrom(adkfluent.Modes()).Draw(t, "mode"),
		Allow: anyTools.Draw(t, "allow"), Deny: anyTools.Draw(t, "deny"), Ask: anyTools.Draw(t, "ask"),
		AllowPatterns: anyGlobs.Draw(t, "allow patterns"), DenyPatterns: anyGlobs.Draw(t, "deny patterns"), AskPatterns: anyGlobs.Draw(t, "ask patterns"),
		MutatingTools: append([]string{}, anyTools.Draw(t, "mutating")...),
	}
}

func TestChainIsTheDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, tool := anyConfig(t), anyTool.Draw(t, "tool")
		p, err := adkfluent.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Check(tool, nil).Behavior(), chain(&c, tool); got != want {
			t.Fatalf("%q: %s, want %s", tool, got, want)
		}
	})
}

// Merging: denials of either side stay, and the merge of written forms is the
// written form of the merge.
func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := adkfluent.New(anyConfig(t))
		b, _ := adkfluent.New(anyConfig(t))
		m, tool := a.Merge(b), anyTool.Draw(t, "tool")
		for _, side := range []*adkfluent.Policy{a.WithMode(adkfluent.ModeBypass), b.WithMode(adkfluent.ModeBypass)} {
			if side.Check(tool, nil).IsDeny() && !m.Check(tool, nil).IsDeny() {
				t.Fatalf("%q is denied by one side and not by the merge", tool)
			}
		}
		before, _ := json.Marshal(m)
		again, err := adkfluent.Parse("m.json", before)
		if err != nil {
			t.Fatal(err)
		}
		if after, _ := json.Marshal(again); string(after) != string(before) {
			t.Fatalf("%s reads back as %s", before, after)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, `{"mode":"plan"}`, "mode: plan\nallow: [a, b]\n", `{"deny_patterns":[{"regex":"("}]}`, `{"pattern_mode":"regex","ask_patterns":["(?i)a"]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for _, name := range []string{"p.json", "p.yaml", "p"} {
			p, err := adkfluent.Parse(name, []byte(data))
			if err != nil {
				var errs obstat.Errors
				if !errors.As(err, &errs) || !errs[0].Pos.IsValid() {
					t.Fatalf("%v has no position", err)
				}
				continue
			}
			if _, err := p.Compile(); err != nil {
				t.Fatalf("%q was taken and does not compile: %v", data, err)
			}
			p.Lint()
			if _, err := json.Marshal(p); err != nil {
				t.Fatal(err)
			}
		}
	})
}
