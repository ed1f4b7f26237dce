package protect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/protect"
)

// TestHostile: calls with very many commands, names or levels end, and what is
// too much to look at is a finding.
func TestHostile(t *testing.T) {
	var names strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&names, "rm a${x}b%d; ", i)
	}
	long := strings.Repeat("o${x}b", 200)
	for name, tc := range map[string]struct {
		command string
		found   bool
	}{
		"many names":         {names.String(), true}, // more than is looked at: the last may be an item
		"fewer names":        {names.String()[:4000], false},
		"an item at the end": {strings.Repeat("rm a; ", 3000) + "rm obst*", true},
		"operands":           {"rm " + strings.Repeat("a ", 3000) + "obstat.json", true},
		"the same name":      {strings.Repeat("rm a${x}b; ", 3000), true},
		"many lists":         {strings.Repeat("ls | xargs rm; ", 1000), true},
		"many substitutions": {strings.Repeat("rm $(cat /nowhere); ", 1000), true},
		"some substitutions": {strings.Repeat("rm $(cat /nowhere); ", 100), false},
		"a long name":        {"rm " + long, false},
		"many levels":        {strings.Repeat("echo $(", 200) + strings.Repeat(")", 200), false},
		"a text of products": {"python3 -c '" + strings.ReplaceAll(names.String(), "$", "*") + "'", false},
	} {
		input, _ := json.Marshal(map[string]string{"command": tc.command})
		g := &protect.Guarded{Policies: []string{proj + "/obstat.json"}}
		f := g.Check(&obstat.Call{Tool: "Bash", Input: input, Dir: proj}, world, nil)
		if (f != nil) != tc.found {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// The source of a call, which every `eval "$x"` may run, is searched once.
func TestSourceIsSearchedOnce(t *testing.T) {
	input, _ := json.Marshal(map[string]string{"command": strings.Repeat("eval \"echo $x\"\n", 3800)})
	g := &protect.Guarded{Policies: []string{proj + "/obstat.json"}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.Check(&obstat.Call{Tool: "Bash", Input: input, Dir: proj}, world, nil)
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 32 {
		t.Errorf("%d MB allocated", mb)
	}
}

// Of scripts that are too many, too long or nested too deep, nothing is taken for granted; a
// program is no script.
func TestScriptsBeyondLimits(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var many strings.Builder
	for i := range 40 {
		write(fmt.Sprint("a", i), "#!/bin/sh\necho\n")
		fmt.Fprintf(&many, "sh a%d; ", i)
	}
	write("a39", "#!/bin/sh\nrm obstat.json\n")
	write("long", "#!/bin/sh\n"+strings.Repeat("echo hello\n", 500_000)+"rm obstat.json\n")
	write("binary", "\x7fELF\x00"+strings.Repeat("x", 5<<20))
	for i := range 6 {
		write(fmt.Sprint("d", i), fmt.Sprintf("#!/bin/sh\n# obstat\nsh d%d\n", i+1))
	}
	write("d6", "rm obstat.json\n")
	write("fine", "#!/bin/sh\n"+strings.Repeat("echo hello\n", 50_000))
	g := &protect.Guarded{Policies: []string{dir + "/obstat.json"}}
	for command, found := range map[string]bool{many.String(): true, "sh long": true, "./binary": false, "sh d0": true, "sh fine": false, "xargs rm < long": true} {
		input, _ := json.Marshal(map[string]string{"command": command})
		if f := g.Check(&obstat.Call{Tool: "Bash", Input: input, Dir: dir}, obstat.OS{}, nil); (f != nil) != found {
			t.Errorf("%.40s: %v", command, f)
		}
	}
}

// An item is found also where another name ends like its first part.
func TestNamesThatEndAlike(t *testing.T) {
	g := &protect.Guarded{}
	for _, command := range []string{"touch my.obstat/.obstat/x", "touch .obstat/x", "rm x.obstat/y/.obstat/a/b"} {
		input, _ := json.Marshal(map[string]string{"command": command})
		if g.Check(&obstat.Call{Tool: "Bash", Input: input, Dir: proj}, world, nil) == nil {
			t.Errorf("%s changes nothing", command)
		}
	}
}
