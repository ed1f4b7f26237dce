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

// TestBuiltinBehindProgram: what only the shell can run is not understood behind
// a program.
func TestBuiltinBehindProgram(t *testing.T) {
	for _, cmd := range []string{"env command trap 'rm x' EXIT", "env command eval 'rm x'", "nice builtin trap 'rm x' 0"} {
		if AnalyzeCommand(cmd, &Options{Dir: "/w"}).ReadOnly {
			t.Errorf("%s is read-only", cmd)
		}
	}
}
