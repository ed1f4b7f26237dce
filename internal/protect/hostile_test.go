package protect_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/protect"
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
		"many names":         {names.String(), false}, // each is looked at, and none may be an item
		"the same name":      {strings.Repeat("rm a${x}b; ", 3000), false},
		"many lists":         {strings.Repeat("ls | xargs rm; ", 1000), true},
		"many substitutions": {strings.Repeat("rm $(cat /nowhere); ", 1000), false},
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
