package effect

import (
	"testing"

	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
)

// corpus reads a list of commands.
func corpus(t testing.TB, name string) []string {
	t.Helper()
	return jsonltest.All[string](t, "testdata/"+name)
}

type home string

func (h home) Home(user string) (string, bool) { return string(h), user == "" }
func (home) Readlink(string) (string, bool)    { return "", false }
func (home) IsDir(string) bool                 { return false }
func testOptions() *Options                    { return &Options{Dir: "/home/user/project", FS: home("/home/user")} }

// Commands that other guards' tests call dangerous, and our own, are never read-only, whatever is known
// of the world.
func TestDangerIsNeverReadOnly(t *testing.T) {
	for _, file := range []string{"danger.jsonl.gz", "unsafe.jsonl.gz", "harmful.jsonl.gz"} {
		cmds := corpus(t, file)
		if len(cmds) < 20 {
			t.Fatalf("%s: %d commands", file, len(cmds))
		}
		for _, c := range cmds {
			for _, o := range []*Options{nil, testOptions()} {
				if an := AnalyzeCommand(c, o); an.ReadOnly {
					t.Errorf("%s: %q is read-only", file, c)
				}
			}
		}
	}
}

// Commands that other guards' tests call read-only mostly are, with nothing hidden.
func TestReadOnlyShare(t *testing.T) {
	cmds := corpus(t, "readonly.jsonl.gz")
	ok := 0
	for _, c := range cmds {
		an := AnalyzeCommand(c, testOptions())
		if an.ReadOnly && an.Full {
			ok++
			continue
		}
		t.Logf("%q: %s", c, an.Why)
	}
	t.Logf("%d of %d", ok, len(cmds))
	if want := len(cmds) * 92 / 100; ok < want {
		t.Errorf("%d of %d are read-only, want %d", ok, len(cmds), want)
	}
}
