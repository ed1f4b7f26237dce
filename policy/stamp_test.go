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
		f, err := (&policy.Finder{Watcher: new(policy.Watcher)}).Find(&policy.Where{Dir: dir, Home: home, Getenv: func(string) string { return "" }})
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

// TestWatched: what is noticed is the same where nothing but events tells of it: another
// file in its place, another name of it, a link on the way, a directory above.
func TestWatched(t *testing.T) {
	const text, other = `{"permission":{"bash":"ask"}}`, `{"permission":{"bash":"deny"}}`
	for what, do := range map[string]func(home string){
		"a file is put over it": func(home string) {
			write(t, filepath.Join(home, "new"), other)
			must(t, os.Rename(filepath.Join(home, "new"), filepath.Join(home, "real/project/opencode.json")))
		},
		"it is written under another name": func(home string) { write(t, filepath.Join(home, "twin"), other) },
		"the link leads elsewhere": func(home string) {
			write(t, filepath.Join(home, "else/opencode.json"), other)
			must(t, os.Remove(filepath.Join(home, "project")))
			must(t, os.Symlink("else", filepath.Join(home, "project")))
		},
		"a directory above takes another's place": func(home string) {
			write(t, filepath.Join(home, "next/project/opencode.json"), other)
			must(t, os.Rename(filepath.Join(home, "real"), filepath.Join(home, "before")))
			must(t, os.Rename(filepath.Join(home, "next"), filepath.Join(home, "real")))
		},
		"a file comes where a link leads through ..": func(home string) {
			write(t, filepath.Join(home, "up/obstat.yaml"), "version: 1\n")
		},
		"a file comes where an absolute link leads": func(home string) {
			write(t, filepath.Join(home, "far/x/program.json"), other)
		},
		"it may not be read any more": func(home string) { must(t, os.Chmod(filepath.Join(home, "real/project/opencode.json"), 0)) },
	} {
		home := t.TempDir()
		write(t, filepath.Join(home, "real/project/opencode.json"), text)
		must(t, os.Link(filepath.Join(home, "real/project/opencode.json"), filepath.Join(home, "twin")))
		must(t, os.Symlink("real/project", filepath.Join(home, "project")))
		must(t, os.Mkdir(filepath.Join(home, "up"), 0o755))
		must(t, os.MkdirAll(filepath.Join(home, "far/x"), 0o755))
		must(t, os.Symlink("../../up/obstat.yaml", filepath.Join(home, "real/project/obstat.yaml")))
		must(t, os.Symlink(filepath.Join(home, "far/x"), filepath.Join(home, "real/project/.obstat")))
		f, err := (&policy.Finder{Watcher: new(policy.Watcher)}).Find(&policy.Where{Dir: filepath.Join(home, "project"), Home: home, Getenv: func(string) string { return "" }})
		must(t, err)
		for range 3 {
			write(t, filepath.Join(home, "real/project/main.go"), "package main")
			if f.Changed() {
				t.Errorf("%s: it has changed before", what)
			}
		}
		if do(home); !f.Changed() {
			t.Errorf("%s is not noticed", what)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestChangedByPin: a pin that was just written is no change to those who found it.
func TestChangedByPin(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(make *)"]}}`})
	w.finder.Watcher = new(policy.Watcher)
	at := w.where("claude-code")
	w.trust(at)
	f := w.find(at)
	for range 2 {
		if f.Changed() {
			t.Error("nothing has changed")
		}
	}
}

// TestTools: what was accepted of a server's tools is kept, per place, and the newest counts.
func TestTools(t *testing.T) {
	w := pinned(t, nil)
	at := func(dir string) *policy.Tools {
		return &policy.Tools{Place: policy.ToolPlace("files", dir), Getenv: func(string) string { return "" }, State: filepath.Join(w.top, "state")}
	}
	if got, err := at("/a").Accepted(); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	for _, text := range []string{`{"name":"read"}`, `{"description":"reads","name":"read"}`} {
		if err := at("/a").Accept(t.Context(), []policy.PinTool{{Name: "read", Digest: text, Text: []byte(text)}}, "ann"); err != nil {
			t.Fatal(err)
		}
		if got, err := at("/a").Accepted(); err != nil || len(got) != 1 || got[0].Digest != text || string(got[0].Text) != text {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got, err := at("/b").Accepted(); got != nil || err != nil {
		t.Errorf("another place: %v, %v", got, err)
	}
}
