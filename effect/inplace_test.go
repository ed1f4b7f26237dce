package effect

import (
	"slices"
	"testing"
)

// TestSecondNames: a link that is edited in place shows the file behind it, and settings of the kernel reach files and
// programs.
func TestSecondNames(t *testing.T) {
	o := testOptions()
	fs := &linkFS{links: map[string]string{o.Dir + "/link": o.Dir + "/.env"}}
	o.FS = fs
	for c, want := range map[string]bool{
		"sed -i s/a/b/ link": true, "sed -i s/a/b/ a.txt": false, "perl -pi -e s/a/b/ link": true, "sysctl -n /../../etc/shadow": true, "sysctl -n kernel.hostname": false,
	} {
		an := AnalyzeCommand(c, o)
		reads := func(e Effect) bool { return e.Kind == Read && (e.Real == o.Dir+"/.env" || e.Path == "/etc/shadow") }
		if got := slices.ContainsFunc(an.Effects, reads); got != want {
			t.Errorf("%s: %+v", c, an.Effects)
		}
	}
	runs := func(c Command) bool { return c.Program == "rm" }
	if an := AnalyzeCommand("sysctl 'kernel.core_pattern=|/bin/rm a.txt'", o); !slices.ContainsFunc(an.Commands, runs) {
		t.Errorf("%+v", an.Commands)
	}
}

// linkFS knows links alone.
type linkFS struct{ links map[string]string }

func (l *linkFS) Home(string) (string, bool)       { return "/home/u", true }
func (l *linkFS) Readlink(p string) (string, bool) { to, ok := l.links[p]; return to, ok }
func (l *linkFS) IsDir(string) bool                { return false }
