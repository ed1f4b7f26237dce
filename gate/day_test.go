package gate_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/memory"
)

// dayFiles are those of the project and the home that the commands of the day speak of.
var dayFiles = []string{
	"proj/.git/HEAD", "proj/.git/config", "proj/.git/hooks/x", "proj/package.json", "proj/docker-compose.yml", "proj/.env",
	"proj/scripts/check_progress.sh", "proj/scripts/extract_entities.py", "proj/scripts/extract_single.py", "proj/logs/x",
	"proj/.claude/hooks/session-context.sh", "proj/handoff.md", "proj/assessments/x.pdf", "proj/books/x.epub",
	"proj/ies-backend/src/ies_backend/main.py", "proj/ies-backend/tests/x.py", "proj/ies/backend/src/ies_backend/main.py",
	"proj/ies/plugin/dist/index.js", "proj/ies/plugin/src/index.ts", "proj/ies/plugin/package.json", "proj/dist/index.js",
	"proj/ies/reference/siyuan-plugin-copilot/src/x", "proj/.venv/bin/activate", "proj/framework/x", "proj/therapy/x",
	"proj/library/graph/neo4j_client.py", "proj/data/entities/x", "proj/docs/plans/x.md",
	"home/dev/projects/claude/synapse/.git/HEAD", "home/dev/projects/claude/synapse/README.md", "home/.claude/settings.json",
	"home/dev/docker/compose/appdata/siyuan/workspace/data/plugins/ies-explorer/index.js", "home/.config/x/y.json",
	"home/.ssh/id_ed25519", "home/bin/make",
}

// dayYard makes the project and the home in the user's cache directory. In the temporary directory everything is free,
// and beside the tests those that look at every file of the module would find them.
func dayYard(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o700)
	}
	if err != nil {
		t.Skipf("there is no directory for the day's project: %v", err)
	}
	top, err := os.MkdirTemp(cache, "obstat-day-")
	if err != nil {
		t.Skipf("the day's project cannot be made: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	for _, temp := range []string{"/tmp/", "/var/tmp/", "/private/"} {
		if strings.HasPrefix(top, temp) {
			t.Skipf("the tests lie in the temporary directory, %s, where every file may be written", top)
		}
	}
	for _, name := range dayFiles {
		place(t, filepath.Join(top, name), "")
	}
	for name, value := range map[string]string{"HOME": top + "/home", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "",
		"XDG_CACHE_HOME": "", "PATH": "/usr/bin:/bin"} {
		t.Setenv(name, value)
	}
	return top
}

// TestDay: of a real agent's day under balanced, with code confined, few commands ask, and nearly all by a rule that
// names the thing. testdata/day.txt has each that does; see docs/presets.md.
func TestDay(t *testing.T) {
	top := dayYard(t)
	place(t, filepath.Join(top, "home/.config/obstat/obstat.yaml"), native.Preset(native.Balanced))
	files := &gate.Files{Home: top + "/home", Agent: "claude-code", NoPins: true}
	g, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: new(memory.Store), NoStart: true,
		Confine: &gate.Confining{Machine: full}})
	if err != nil {
		t.Fatal(err)
	}
	keeps, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: new(memory.Store), NoStart: true, World: obstat.OS{},
		Confine: &gate.Confining{Machine: full}, Undo: &undo.Keeper{Getenv: os.Getenv}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	n, asks, unnamed, confined, undone := 0, 0, 0, 0, 0
	for _, c := range day(t, top) {
		a, err := g.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Leave})
		if err != nil {
			t.Fatal(err)
		}
		if n++; a.Confined != nil {
			confined++
		}
		if a.Verdict == obstat.Allow {
			continue
		}
		asks++
		kept, err := keeps.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Leave})
		if err != nil {
			t.Fatal(err)
		}
		if kept.Verdict == obstat.Allow {
			undone++
		}
		by := "no rule"
		if a.Rule != nil && a.Rule.Pos.IsValid() {
			by = a.Rule.String()
		} else if a.Rule != nil {
			by = "the built-in rule " + a.Rule.String()
		} else if a.By.Kind == obstat.ByGuard {
			by = "self-protection"
		} else {
			unnamed++
			t.Logf("%s: %s", ends(c.Text()), a.Reason())
		}
		fmt.Fprintf(&out, "%-5s %s\n      %s\n", a.Verdict, by, ends(strings.ReplaceAll(c.Text(), top, "/srv/lab")))
	}
	fmt.Fprintf(&out, "%d commands, %d ask or are denied, %d of them without a rule; %d are allowed where changes are kept\n",
		n, asks, unnamed, undone)
	t.Logf("%d run confined", confined)
	if unnamed*100 > 3*n || asks*100 > 15*n {
		t.Errorf("of %d commands %d ask, %d of them without a rule", n, asks, unnamed)
	}
	golden := filepath.Join("testdata", "day.txt")
	if *update {
		place(t, golden, out.String())
		_ = os.Chmod(golden, 0o644)
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != out.String() {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}

// ends returns a text on one line, the middle of a long one left out.
func ends(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > 160 {
		return string(line[:60]) + " … " + string(line[len(line)-90:])
	}
	return string(line)
}

// day reads the calls, with the directories of this test in the place of theirs.
func day(t *testing.T, top string) (out []*obstat.Call) {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "day.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := bytes.ReplaceAll(lines.Bytes(), []byte("/srv/lab"), []byte(top))
		c := new(obstat.Call)
		if err := json.Unmarshal(text, c); err != nil {
			t.Fatal(err)
		}
		// They are of many sessions, and none has read a secret before.
		c.Roots, c.Session = []string{top + "/proj"}, fmt.Sprint(len(out))
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
