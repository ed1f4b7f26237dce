package paths_test

import (
	"testing"

	"github.com/obstat/obstat/paths"
)

func TestAnyCase(t *testing.T) {
	for glob, want := range map[string]string{
		"": "", ".ENV*": ".???*", ".e[n]v": ".???", ".[!a]NV": ".???", ".[]a]x": ".??", ".[[:upper:]]NV": ".???",
		".[x": ".[?", `\.\env`: `\.???`, `a[\]b]c`: "???", "1-2_3": "1-2_3", "[": "[",
	} {
		if got := paths.AnyCase(glob); got != want {
			t.Errorf("%s is %s, want %s", glob, got, want)
		}
	}
}
