package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspectRelease: the version of a release, which the build information does not have, is read from its bytes;
// without a stamp it is that of the build information.
func TestInspectRelease(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "obstat")
	for stamp, want := range map[string][2]string{
		" v1.2.3 0123456789ab 2026-01-02T03:04:05Z": {"v1.2.3", "0123456789ab"},
		" v1.2.3 not-hexadecimal 2026-":             {"", ""},
		"":                                          {"", ""},
	} {
		whole := strings.Join([]string{"obstat", "release" + stamp}, "-") // not whole in this program's own bytes
		if err := os.WriteFile(file, append(data[:len(data):len(data)], whole...), 0o700); err != nil {
			t.Fatal(err)
		}
		b, err := inspect(file)
		if err != nil || !b.Obstat {
			t.Fatalf("%v %+v", err, b)
		}
		if want[0] == "" && strings.HasPrefix(b.Version, "v1.2.3") || want[0] != "" && [2]string{b.Version, b.Revision} != want {
			t.Errorf("%q: %+v", stamp, b)
		}
	}
}

// TestWideNames: a name that leaves its text no room stands on a line of its own.
func TestWideNames(t *testing.T) {
	var out strings.Builder
	s := newScreen(&IO{Out: &out, Width: 40})
	s.rows("modes", [2]string{"every one of those with a long name", "goes to the prompt of the agent"}, [2]string{"short", "is denied"})
	if err := s.flush(&out); err != nil {
		t.Fatal(err)
	}
	want := "modes  every one of those with a long name\n              goes to the prompt of the\n              agent\n       short  is denied\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}
