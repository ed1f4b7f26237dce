package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	"github.com/obstat/obstat/policy"
)

// TestUndoWord: the user's limits go before a project's, the budget is the user's alone, and a file
// that waits to be accepted, or lies below the project's, sets none.
func TestUndoWord(t *testing.T) {
	const user, here = "home/.config/obstat/obstat.yaml", "work/p/obstat.yaml"
	word := func(s string) string { return "version: 1\nundo: " + s + "\nallow: [run make]\n" }
	for name, tt := range map[string]struct {
		files map[string]string
		waits bool
		want  native.Undo
	}{
		"nothing":     {},
		"the user's":  {files: map[string]string{user: word("{keep: 3d, budget: 1M}")}, want: native.Undo{Keep: 72 * time.Hour, Budget: 1 << 20}},
		"a project's": {files: map[string]string{here: word("{keep: 2d, files: 7}")}, want: native.Undo{Keep: 48 * time.Hour, Files: 7}},
		"its budget":  {files: map[string]string{here: word("{call: 2M, budget: 1M}")}, want: native.Undo{Call: 2 << 20}},
		"both": {files: map[string]string{user: word("{keep: 3d}"), here: word("{keep: 2d, file: 1M}")},
			want: native.Undo{Keep: 72 * time.Hour, File: 1 << 20}},
		"waits": {files: map[string]string{here: word("{keep: 2d}")}, waits: true},
		"below": {files: map[string]string{"work/obstat.yaml": word("{keep: 3d}"), here: word("{keep: 2d, files: 7}")},
			want: native.Undo{Keep: 72 * time.Hour}},
	} {
		w := newWorld(t, tt.files)
		w.finder.NoPins = !tt.waits
		if got := w.find(w.where("codex")).Undo(); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestWordsShown: `obstat trust` shows `confine:` and `undo:` of a file, new, changed and gone, and the
// verdict of each rule, but of no setting.
func TestWordsShown(t *testing.T) {
	const file, rule = "work/p/obstat.yaml", "allow: [run make]\n"
	w := pinned(t, map[string]string{file: "version: 1\n" + rule})
	at := w.where("codex")
	w.trust(at)
	for _, step := range []struct{ words, kind, confine, undo string }{
		{"confine: code\nundo: {keep: 2d}\n", policy.Added, "confine: code", "undo: keep 48h0m0s"},
		{"confine: off\nundo: off\n", policy.Changed, "confine: off, was confine: code", "undo: off, was undo: keep 48h0m0s"},
		{"", policy.Removed, "confine: off", "undo: off"},
	} {
		w.write(file, "version: 1\n"+step.words+rule)
		news := w.find(at).New
		if len(news) != 1 {
			t.Fatalf("%q: %+v", step.words, news)
		}
		for _, want := range []string{step.confine, step.undo} {
			if !slices.ContainsFunc(news[0].Changes, func(c policy.Change) bool { return c.Kind == step.kind && c.Text == want }) {
				t.Errorf("%q: no %s %q in %+v", step.words, step.kind, want, news[0].Changes)
			}
		}
		w.trust(at)
	}
	w.write(file, "version: 1\nconfine: code\ndeny: [run make]\n")
	text, err := json.Marshal(w.find(at).New[0].Changes)
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Text, Verdict string }
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if want := map[string]string{"run make": "deny"}[row.Text]; row.Verdict != want && row.Verdict != "allow" {
			t.Errorf("%q is shown as a rule that says %q", row.Text, row.Verdict)
		}
	}
	if !slices.ContainsFunc(rows, func(r struct{ Text, Verdict string }) bool { return r.Verdict == "deny" }) {
		t.Errorf("no rule denies: %s", text)
	}
}

// TestTouch: things that confined code does are judged by the rules about each agent's own tools.
func TestTouch(t *testing.T) {
	connects := `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny","rules":"deny"}],"default":"allow"}},"rules":{"deny":[` +
		`{"tool":{"exact":"Delete"},"field":"file_path","match":{"exact":"/k/keep"},"verdict":"deny"},` +
		`{"tool":{"exact":"WebFetch"},"field":"url","match":{"exact":"evil.example"},"verdict":"deny"}]}}`
	for name, tt := range map[string]struct {
		file, text string
		denied     [][2]string
		not        [][2]string
	}{
		"claude": {".claude/settings.json", `{"permissions":{"allow":["Read","Edit","WebFetch"],"deny":["Read(//k/secret)","Edit(//k/gen)","WebFetch(domain:evil.example)"]}}`,
			[][2]string{{obstat.FaceRead, "/k/secret"}, {obstat.FaceWrite, "/k/gen"}, {obstat.FaceDelete, "/k/gen"}, {obstat.FaceConnect, "https://evil.example"}},
			[][2]string{{obstat.FaceRead, "/k/other"}, {obstat.FaceWrite, "/k/other"}, {obstat.FaceDelete, "/k/other"}, {obstat.FaceConnect, "https://good.example"}}},
		"native": {"obstat.yaml", "version: 1\notherwise: ask\ndeny:\n  - read /k/secret\n  - write /k/gen\n  - delete /k/keep\n  - connect evil.example\n",
			[][2]string{{obstat.FaceRead, "/k/secret"}, {obstat.FaceWrite, "/k/gen"}, {obstat.FaceDelete, "/k/keep"}, {obstat.FaceConnect, "https://evil.example"}},
			[][2]string{{obstat.FaceRead, "/k/other"}, {obstat.FaceWrite, "/k/keep"}, {obstat.FaceConnect, "https://good.example"}}},
		"a Program without such tools": {"obstat.json", connects,
			[][2]string{{obstat.FaceDelete, "/k/keep"}, {obstat.FaceConnect, "evil.example"}},
			[][2]string{{obstat.FaceRead, "/k/keep"}, {obstat.FaceWrite, "/k/keep"}, {obstat.FaceDelete, "/k/other"}}},
	} {
		w := newWorld(t, map[string]string{"work/p/" + tt.file: tt.text})
		f, call := w.find(w.where("")), &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Dir: w.dir}
		for _, d := range tt.denied {
			if got := f.Touch(call, d[0], d[1], obstat.OS{}); got.Verdict != obstat.Deny {
				t.Errorf("%s: %s %s: %s", name, d[0], d[1], got.Reason())
			}
		}
		for _, d := range tt.not {
			if got := f.Touch(call, d[0], d[1], obstat.OS{}); got.Verdict == obstat.Deny {
				t.Errorf("%s: %s %s: %s", name, d[0], d[1], got.Reason())
			}
		}
	}
}

// TestOtherProjects: the rules of other projects that a call works in tighten, each once, those of the
// user not again; a broken file of theirs counts, and more projects than are looked at ask.
func TestOtherProjects(t *testing.T) {
	w := newWorld(t, map[string]string{"home/.config/obstat/obstat.yaml": "version: 1\ndeny: [run nmap]\n",
		"work/p/.claude/settings.json": claudeAll, "work/q/.claude/settings.json": `{"permissions":{"allow":["Bash"],"ask":["Bash(make *)"],"deny":["Bash(rm *)"]}}`,
		"work/bad/obstat.yaml": "version: 1\nallow: ["})
	at := func(name string) *policy.Where {
		out := w.where("claude-code")
		out.Dir = filepath.Join(w.top, "work", name)
		return out
	}
	own, other, bad := w.find(at("p")), w.find(at("q")), w.find(at("bad"))
	n := len(own.Policies)
	both := own.With(other, own)
	if len(both.Policies) != n+1 || len(own.Policies) != n {
		t.Errorf("%d policies, %d before, and %d in the one that was not changed", len(both.Policies), n, len(own.Policies))
	}
	if p := both.Policies[n]; p.Place != filepath.Join(w.top, "work", "q") || p.Role != policy.Inner || !p.Accepted {
		t.Errorf("%+v", p)
	}
	for command, want := range map[string]obstat.Verdict{"rm x": obstat.Deny, "make x": obstat.Ask, "npm x": obstat.Allow, "nmap x": obstat.Deny} {
		if got := both.Decide(bash(at("p"), command), obstat.OS{}); got.Verdict != want {
			t.Errorf("%s: %s", command, got.Reason())
		}
	}
	if got := own.With(bad).Decide(bash(at("p"), "npm x"), obstat.OS{}); got.Verdict != obstat.Deny || !strings.Contains(got.Reason(), "cannot be loaded") {
		t.Errorf("beside a broken file: %s", got.Reason())
	}
	crowded := own.Crowded()
	for command, want := range map[string]obstat.Verdict{"npm x": obstat.Ask, "nmap x": obstat.Deny} {
		got := crowded.Decide(bash(at("p"), command), obstat.OS{})
		if got.Verdict != want || strings.Contains(got.Reason(), "other projects") != (want == obstat.Ask) || got.Bounded {
			t.Errorf("in many projects: %s: %s", command, got.Reason())
		}
	}
	if !crowded.Bound() || !own.Bound() || own.With(bad).Bound() || len(own.Broken) != 0 {
		t.Error("a broken file of another project can be decided by, or others cannot")
	}
}

// TestServers: a policy of the server's own directory decides for all projects, which tighten; without
// one there the call's project counts as ever. User's rules about paths start in the call's project.
func TestServers(t *testing.T) {
	const user = "version: 1\ndeny: [write ./gen]\n"
	const makes, noRm = `{"permissions":{"allow":["Bash(make *)"]}}`, `{"permissions":{"deny":["Bash(rm *)"]}}`
	for name, tt := range map[string]struct {
		server, project string
		make, rm        obstat.Verdict
	}{
		"none":             {"", "", obstat.Ask, obstat.Ask},
		"the server's":     {makes, "", obstat.Allow, obstat.Ask},
		"both":             {claudeAll, `{"permissions":{"allow":["Bash"],"deny":["Bash(rm *)"]}}`, obstat.Allow, obstat.Deny},
		"it does not lift": {noRm, claudeAll, obstat.Ask, obstat.Deny},
		"the project's":    {"", makes, obstat.Allow, obstat.Ask},
		"broken":           {`{"permissions":`, makes, obstat.Deny, obstat.Deny},
	} {
		w := newWorld(t, map[string]string{"home/.config/obstat/obstat.yaml": user, "work/p/sub/.keep": "", "serve/.keep": ""})
		if tt.server != "" {
			w.write("serve/.claude/settings.json", tt.server)
		}
		if tt.project != "" {
			w.write(claudeFile, tt.project)
		}
		at := w.where("codex")
		at.Server, at.Roots = filepath.Join(w.top, "serve"), []string{w.dir}
		for command, want := range map[string]obstat.Verdict{"make x": tt.make, "rm x": tt.rm} {
			if got := w.bash(at, command); got.Verdict != want {
				t.Errorf("%s: %s: %s", name, command, got.Reason())
			}
		}
		if name == "broken" {
			continue
		}
		at.Dir, at.Roots = filepath.Join(w.dir, "sub"), nil
		gen := filepath.Join(at.Dir, "gen") // without a policy around it, the call's own directory is its project
		if tt.project != "" {
			gen = filepath.Join(w.dir, "gen")
		}
		for file, denied := range map[string]bool{gen: true, filepath.Join(w.top, "serve", "gen"): false} {
			call := &obstat.Call{Tool: "write_file", Input: fmt.Appendf(nil, `{"path":%q}`, file), Dir: at.Dir}
			if got := w.find(at).Decide(call, obstat.OS{}); (got.Verdict == obstat.Deny) != denied {
				t.Errorf("%s: write %s: %s", name, file, got.Reason())
			}
		}
	}
}

// TestUsersPaths: paths of the user's rules start in the project that has a policy, in its repository
// where none has, and else in the directory of the call.
func TestUsersPaths(t *testing.T) {
	for name, tt := range map[string]struct{ file, start string }{
		"policy": {"work/p/obstat.yaml", "work/p"}, "repository": {"work/.git/HEAD", "work"}, "neither": {"work/x", "work/p/sub"},
	} {
		w := newWorld(t, map[string]string{"home/.config/obstat/obstat.yaml": "version: 1\ndeny: [write ./gen]\n",
			tt.file: "version: 1\nallow: [run make]\n", "work/p/sub/x": ""})
		at := w.where("codex")
		at.Dir = filepath.Join(w.dir, "sub")
		for _, dir := range []string{"work", "work/p", "work/p/sub"} {
			call := &obstat.Call{Tool: "write_file", Input: fmt.Appendf(nil, `{"path":%q}`, filepath.Join(w.top, dir, "gen")), Dir: at.Dir}
			if got := w.find(at).Decide(call, obstat.OS{}); (got.Verdict == obstat.Deny) != (dir == tt.start) {
				t.Errorf("%s: %s/gen: %s", name, dir, got.Reason())
			}
		}
	}
}

// TestShown: the server of the policies in force, their files, and the files that are not in force.
func TestShown(t *testing.T) {
	w := newWorld(t, map[string]string{"work/p/obstat.yaml": "version: 1\nserver: http://localhost:1\nallow: [run make]\n", "work/p/opencode.json": allowBash})
	f := w.find(w.where("codex"))
	if got := f.Server(); got != "http://localhost:1" {
		t.Errorf("server %q", got)
	}
	if got := (*policy.InForce)(nil).Server(); got != "" {
		t.Errorf("of none: %q", got)
	}
	if got := f.Files(); len(got) != 1 || got[0] != filepath.Join(w.dir, "obstat.yaml") {
		t.Errorf("files %q", got)
	}
	l := f.Main().Loaded
	if got := policy.Of(l); len(got.Policies) != 1 || !got.Policies[0].OnDisk || !got.Policies[0].Accepted || got.Server() == "" {
		t.Errorf("%+v", got)
	}
	if w := newWorld(t, nil); w.find(w.where("codex")).Server() != "" || w.find(w.where("codex")).Files() != nil {
		t.Error("of the built-in policy")
	}
	for floor, want := range map[string]obstat.Verdict{"": obstat.Ask, "off": obstat.Ask} {
		l, err := policy.Builtin(floor)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.Of(l).Decide(bash(w.where(""), "make"), obstat.OS{}); got.Verdict != want {
			t.Errorf("floor %q: %s", floor, got.Reason())
		}
	}
	if _, err := policy.Builtin("loose"); err == nil {
		t.Error("a floor that does not exist")
	}
}

// TestNamedBeside: files that a system reads with a named one are read with it, unless they are named as well.
func TestNamedBeside(t *testing.T) {
	const config = "permissions:\n  enabled: true\n  schema: tiered_policy\n  tools:\n    bash: allow\n"
	w := newWorld(t, map[string]string{"c/config.yaml": config, "c/builtin_rules.yaml": "rules: []\n", "d/config.yaml": config})
	for name, want := range map[string]string{"c/config.yaml": "builtin_rules.yaml config.yaml", "d/config.yaml": "config.yaml", "c/builtin_rules.yaml c/config.yaml": "builtin_rules.yaml config.yaml"} {
		at := w.where("swarm")
		at.Named = &policy.Named{}
		for file := range strings.FieldsSeq(name) {
			at.Named.Files = append(at.Named.Files, filepath.Join(w.top, file))
		}
		var got []string
		for _, l := range w.find(at).Looked {
			got = append(got, filepath.Base(l.Name))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	at := w.where("")
	at.Named = &policy.Named{Files: []string{filepath.Join(w.top, "none.json")}, Dialect: "claudecode"}
	w.finder.Read = func(name string) ([]byte, error) { return []byte(noCurl), nil }
	w.check(at, "curl x", obstat.Deny)
}

// TestWaits: an accepted policy that decides until the files are accepted is told as accepted and not on
// disk, and the ask is a guard's, of no rule.
func TestWaits(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"ask":["Bash(make *)"],"deny":["Bash(curl *)"]}}`})
	at := w.where("claude-code")
	w.trust(at)
	w.write(claudeFile, claudeAll)
	got := w.bash(at, "make x")
	if got.Verdict != obstat.Ask || got.By.Kind != obstat.ByGuard || got.Stage != "not accepted" || got.Rule != nil || got.Waits != w.dir {
		t.Errorf("%+v", got.Decision)
	}
	if got := w.bash(at, "curl x"); got.Rule == nil || got.By.Kind != obstat.ByRule {
		t.Errorf("%+v", got.Decision)
	}
	var accepted, disk int
	for _, p := range w.find(at).Policies {
		switch {
		case p.Accepted && !p.OnDisk:
			accepted++
		case p.OnDisk && !p.Accepted:
			disk++
		}
	}
	if accepted != 1 || disk != 1 {
		t.Errorf("%d accepted before, %d new", accepted, disk)
	}
}

// pins returns the reasons of the pins in the ledger.
func (w *world) pins() (out []string) {
	w.Helper()
	for r, err := range logfile.New(statedir.Ledger(w.finder.State)).Records(w.Context(), ledger.Query{Kind: ledger.Pin}) {
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, r.Reason)
	}
	return out
}

// TestPinOnce: accepting records each acceptance once, with the terminal's process, and nothing where
// there is nothing to accept.
func TestPinOnce(t *testing.T) {
	w := pinned(t, nil)
	at := w.where("claude-code")
	w.trust(at)
	if _, err := os.Stat(statedir.Ledger(w.finder.State)); err == nil {
		t.Error("nothing was accepted, and there is a ledger")
	}
	w.write(claudeFile, noCurl)
	w.finder.Who = &person.Who{Terminal: "/dev/pts/77", Process: person.Process{PID: 42}}
	w.trust(at)
	w.trust(at)
	if got := w.pins(); len(got) != 1 || !strings.HasPrefix(got[0], "accepted the policy of "+w.dir+": ") || !strings.Contains(got[0], "42") {
		t.Errorf("%q", got)
	}
	if kept, err := w.finder.Keep(t.Context(), at, nil, "alice"); !kept || err != nil {
		t.Errorf("where nothing is new: %t %v", kept, err)
	}
	// The files of one dialect alone.
	w.write("work/p/opencode.json", allowBash)
	one := w.where("claude-code")
	one.Named = &policy.Named{Dialect: "claudecode"}
	w.check(one, "make", obstat.Allow)
	if got := w.find(one); len(got.New) != 0 {
		t.Errorf("%+v", got.New)
	}
	one.Named.Dialect = "opencode"
	if got := w.find(one); len(got.New) != 1 || len(got.New[0].Changes) != 1 || got.New[0].Changes[0].Dialect != "opencode" {
		t.Errorf("%+v", got.New)
	}
}

// TestManyTools: tools are kept by their names, in order, and without their texts where these are too
// long to keep.
func TestManyTools(t *testing.T) {
	w := pinned(t, nil)
	tools := &policy.Tools{Place: "mcp:a@/", Getenv: func(string) string { return "" }, State: w.finder.State}
	list := []policy.PinTool{{Name: "b", Digest: "2", Text: []byte(`{"name":"b"}`)}, {Name: "a", Digest: "1", Text: []byte(`{"name":"a","x":1}`)}}
	if err := tools.Accept(t.Context(), list, "ann"); err != nil {
		t.Fatal(err)
	}
	got, err := tools.Accepted()
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || got[0].Digest != "1" || string(got[0].Text) != `{"name":"a","x":1}` {
		t.Errorf("%+v, %v", got, err)
	}
	if err := tools.Accept(t.Context(), []policy.PinTool{{Name: "b", Digest: "2", Text: []byte(`{`)}}, "ann"); err == nil {
		t.Error("a text that is no JSON is kept")
	}
	none := &policy.Tools{Place: "mcp:a@/", Getenv: func(string) string { return "" }}
	if _, err := none.Accepted(); err == nil {
		t.Error("read without a state directory")
	}
	if err := none.Accept(t.Context(), list, "ann"); err == nil {
		t.Error("accepted without a state directory")
	}
}
