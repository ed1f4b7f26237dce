package undo

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
)

// BenchmarkKeep is the time that undo adds to an allowed call, before it runs and after.
func BenchmarkKeep(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	state := b.TempDir()
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": state, "HOME": state}[name] }
	if err := os.WriteFile(filepath.Join(dir, "a.go"), make([]byte, 20<<10), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := exec.Command("git", "init", "-q", dir).Run(); err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"ls -l", "rm a.go", "sed -i s/x/y/ a.go", "echo x > new", "git add -A"} {
		b.Run(text, func(b *testing.B) {
			k := &Keeper{Getenv: env}
			call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + text + `"}`), Dir: dir}
			d := &obstat.Decision{Verdict: obstat.Allow}
			for b.Loop() {
				a := effect.AnalyzeCommand(text, &effect.Options{Dir: dir, FS: obstat.OS{}})
				if _, err := k.Keep(call, d, a, native.Undo{}); err != nil {
					b.Fatal(err)
				}
				if s, err := Store(env); err != nil {
					b.Fatal(err)
				} else if _, err := s.End(call.DigestText(), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
