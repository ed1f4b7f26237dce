package all

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	look := func(name string) (string, error) {
		files, err := Discover("shown", dir, name, os.ReadFile)
		var names []string
		for _, f := range files {
			names = append(names, filepath.ToSlash(f.Name))
		}
		return strings.Join(names, " "), err
	}
	if _, err := look(""); err == nil || !strings.Contains(err.Error(), "none is found here") {
		t.Errorf("nothing there: %v", err)
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("opencode.json", `{"permission": {"bash": "ask"}}`)
	write(".opencode/opencode.json", `{"permission": {"edit": "ask"}}`)
	if names, err := look(""); err != nil || names != "shown/opencode.json shown/.opencode/opencode.json" {
		t.Errorf("%s, %v", names, err)
	}
	write("obstat.json", `{"obstat": 1}`)
	if _, err := look(""); err == nil || !strings.Contains(err.Error(), "several are found") {
		t.Errorf("two dialects: %v", err)
	}
	if names, err := look("program"); err != nil || names != "shown/obstat.json" {
		t.Errorf("%s, %v", names, err)
	}
	files, err := Discover("", dir, "opencode", os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Of("", files); err != nil || d.Name() != "opencode" {
		t.Errorf("%v, %v", d, err)
	}
}
