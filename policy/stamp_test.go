package policy_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/policy"
)

// TestChanged: a file that appears, changes, even within the time that its stamp
// can tell, or goes, is noticed; other files beside it are not.
func TestChanged(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "project")
	put := func(name, text string, age time.Duration) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("README.md", "x", time.Hour)
	find := func() *policy.InForce {
		t.Helper()
		f, err := (&policy.Finder{Watch: true}).Find(&policy.Where{Dir: dir, Home: home, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		if f.Changed() {
			t.Error("it has changed at once")
		}
		return f
	}
	const text, other = `{"permission":{"bash":"ask"}}`, `{"permission":{"bash":"deny"}}`
	for _, step := range []struct {
		what    string
		do      func()
		changed bool
	}{
		{"a file of no policy", func() { put("main.go", "package main", 0) }, false},
		{"a policy appears", func() { put("opencode.json", text, time.Hour) }, true},
		{"it changes", func() { put("opencode.json", other, time.Minute) }, true},
		{"it changes now", func() { put("opencode.json", text, 0) }, true},
		{"and again, at the same time and of the same size", func() {
			st, _ := os.Stat(filepath.Join(dir, "opencode.json"))
			put("opencode.json", `{"permission":{"edit":"ask"}}`, 0)
			_ = os.Chtimes(filepath.Join(dir, "opencode.json"), st.ModTime(), st.ModTime())
		}, true},
		{"a policy in a directory that was not there", func() { put(".claude/settings.json", `{}`, time.Hour) }, true},
		{"nothing", func() {}, false},
		{"the policy goes", func() { _ = os.Remove(filepath.Join(dir, "opencode.json")) }, true},
		{"another directory takes the project's place", func() {
			_ = os.Rename(dir, dir+".old")
			put("main.go", "package main", time.Hour)
		}, true},
	} {
		f := find()
		if step.do(); f.Changed() != step.changed {
			t.Errorf("%s: changed is %v", step.what, !step.changed)
		}
	}
	f, err := new(policy.Finder).Find(&policy.Where{Dir: dir})
	if err != nil || !f.Changed() {
		t.Errorf("what was not watched may have changed: %v", err)
	}
}
