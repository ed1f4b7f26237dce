package confine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkStart tells the least of 60 starts of /bin/true, in turns: plain, by bubblewrap where
// it is installed, and confined.
func BenchmarkStart(b *testing.B) {
	p := newPlace(b)
	system := SystemTrees()
	bare := Profile{Read: system, Execute: system}
	run := func(prof Profile, sim simulation) func() error {
		return func() error {
			_, err := Run(context.Background(), prof, Command{Args: []string{"/bin/true"}, sim: sim})
			return err
		}
	}
	files := p.profile(Through)
	files.Level, files.Hidden, files.ReadOnly = LevelFiles, nil, nil
	ways := map[string]func() error{
		"plain":   func() error { return exec.Command("/bin/true").Run() },
		"system":  run(bare, simulation{}),
		"through": run(p.profile(Through), simulation{}),
		"overlay": run(p.profile(Overlay), simulation{}),
		"files":   run(files, simulation{Files: true}),
	}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		ways["bwrap"] = func() error {
			return exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin",
				"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run",
				"--bind", p.ws, p.ws, "--chdir", p.ws, "/bin/true").Run()
		}
	} else {
		fmt.Fprintln(os.Stderr, "bubblewrap is not installed")
	}
	least := map[string]time.Duration{}
	for b.Loop() {
		for range 60 {
			for name, start := range ways {
				began := time.Now()
				if err := start(); err != nil {
					b.Fatal(name, err)
				}
				if took := time.Since(began); least[name] == 0 || took < least[name] {
					least[name] = took
				}
			}
		}
	}
	for name, took := range least {
		b.ReportMetric(float64(took.Microseconds())/1000, name+"-ms")
	}
}
