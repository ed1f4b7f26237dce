package effect

import "testing"

// TestUncheckedCd: after a cd that nobody checks, a relative path is judged in
// both directories.
func TestUncheckedCd(t *testing.T) {
	for cmd, want := range map[string]map[string]bool{
		"cd build; rm -rf out":          {"/w/build/out": true, "/w/out": true},
		"cd build && rm -rf out":        {"/w/build/out": true},
		"false && cd build; rm -rf out": {"/w/build/out": true, "/w/out": true},
	} {
		got := map[string]bool{}
		for _, e := range AnalyzeCommand(cmd, &Options{Dir: "/w"}).Effects {
			if e.Kind == Delete {
				got[e.Path] = true
			}
		}
		for p := range want {
			if !got[p] {
				t.Errorf("%s: %s is not deleted; %v", cmd, p, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: deletes %v, want %v", cmd, got, want)
		}
	}
}
