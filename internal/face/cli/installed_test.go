package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInstalledVersion: the version is read beside the program, through the links that package
// managers make, and without running it.
func TestInstalledVersion(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to, name string) {
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	const fails = "#!/bin/sh\nexit 1\n"
	write("lib/codex/package.json", `{"name": "codex", "version": "0.169.0"}`)
	link(write("lib/codex/bin/codex.js", fails), "codex")
	link(write("share/claude/versions/2.1.326", fails), "claude")
	link(write("opt/plain", fails), "plain")
	write("lib/broken/package.json", `{"version": 7`)
	link(write("lib/broken/cli.js", fails), "broken")
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for name, want := range map[string]string{"codex": "0.169.0", "claude": "2.1.326", "plain": "", "broken": "", "absent": ""} {
		if got := installedVersion([]string{"nothing", name}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
