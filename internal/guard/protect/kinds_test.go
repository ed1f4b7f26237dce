package protect

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// TestKinds: every list that the code asks for is in guarded.txt, or is a kind of the agents' traits,
// and no list is there for nothing: a name that is written wrongly would guard nothing.
func TestKinds(t *testing.T) {
	asked := map[string]bool{"policy": true, "state": true, "program": true, agent.HookTrait: true, agent.MovedTrait: true,
		agent.ProcessTrait: true, agent.MarkTrait: true, agent.SettingTrait: true} // paths, and what others ask for
	used := map[string]bool{}
	use := regexp.MustCompile(`(?:\b(?:is|says|speaksOf|runs)\("|listed\("|toolSays\([\w.]+, ")([a-z-]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range use.FindAllStringSubmatch(string(text), -1) {
			if asked[m[1]], used[m[1]] = true, true; len(lists()[m[1]]) == 0 {
				t.Errorf("%s asks for the list %q, which is nowhere", name, m[1])
			}
		}
	}
	for kind := range lists() {
		if used[kind] && !slices.Equal(listed(kind), lists()[kind]) {
			t.Errorf("agents have words of the kind %q, and it is read without them", kind)
		}
		if !asked[kind] {
			t.Errorf("nothing asks for the list %q", kind)
		}
	}
}
