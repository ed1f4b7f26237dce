package confine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	if name := os.Getenv("CONFINE_ATTACK"); name != "" {
		runAttack(name)
		return
	}
	os.Exit(m.Run())
}

// A place is a made-up home with a workspace and secrets.
type place struct {
	t              testing.TB
	home, ws, base string
}

// machine is the level of the machine that the tests run on.
var machine = sync.OnceValue(func() Report { return Probe(context.Background()) })

// placesDir is a directory for places that is not private to every run, as /tmp is.
func placesDir(t testing.TB) string {
	if dir := os.Getenv("CONFINE_PLACES"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Skipf("no directory of the user's own: %v", err)
	}
	return dir
}

func newPlace(t testing.TB) *place {
	t.Helper()
	if r := machine(); r.Level != LevelFull {
		t.Skipf("this machine gives %v", r)
	}
	base, err := os.MkdirTemp(placesDir(t), "confine-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeTree(base) })
	base, err = filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, base: base, home: base + "/home", ws: base + "/home/ws"}
	p.write(p.home+"/.ssh/id_ed25519", "SECRET-KEY")
	p.write(p.home+"/.bashrc", "# rc")
	p.write(p.home+"/notes.txt", "notes")
	p.write(p.ws+"/a.txt", "one\n")
	p.write(p.ws+"/.env", "SECRET-ENV")
	p.write(p.ws+"/.git/config", "[core]\n")
	p.write(p.ws+"/.git/hooks/pre-commit.sample", "#!/bin/sh\n")
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return "!" + err.Error()
	}
	return string(b)
}

// profile lets the system be read and run, and the workspace be worked on.
func (p *place) profile(mode Mode) Profile {
	prof := Profile{
		Read: append(SystemTrees(), p.home), Execute: append(SystemTrees(), p.ws),
		Hidden:    []string{p.home + "/.ssh", p.ws + "/.env"},
		ReadOnly:  []string{p.ws + "/.git/hooks", p.ws + "/.git/config", p.ws + "/.husky"},
		Workspace: Workspace{Root: p.ws, Mode: mode},
		Env:       Env{Keep: []string{"PATH", "LANG"}, Set: map[string]string{"HOME": p.home}},
		Limits:    Limits{Time: 60 * time.Second},
	}
	if mode == Overlay {
		prof.Workspace.State = p.base + "/state"
	}
	return prof
}

type output struct {
	Result
	out, errs string
	err       error
}

func (p *place) sh(prof Profile, script string, change ...func(*Command)) output {
	p.t.Helper()
	var out, errs bytes.Buffer
	c := Command{Args: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: &errs, Judge: func(Change) Verdict { return Commit }}
	for _, f := range change {
		f(&c)
	}
	res, err := Run(context.Background(), prof, c)
	return output{res, out.String(), errs.String(), err}
}

func (o output) has(text string) bool { return strings.Contains(o.out+o.errs, text) }

func TestProbe(t *testing.T) {
	r := machine()
	t.Log(r)
	if (r.Level == LevelFull) != (r.Why == "") || r.Level == LevelFiles && len(r.Gaps) == 0 {
		t.Errorf("a lower level without a reason: %+v", r)
	}
}
