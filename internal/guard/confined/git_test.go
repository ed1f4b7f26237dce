package confined

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
)

func TestRunByGit(t *testing.T) {
	isDir := func(name string) bool { return name == "/p/.git" }
	for name, want := range map[string]bool{
		"/p/a.txt": false, "/p/.git": false, "/p/.gitignore": false, "/p/x.git/config": false,
		"/p/.git/index": false, "/p/.git/objects/aa/bb": false, "/p/.git/refs/heads/config": false, "/p/.git/MERGE_HEAD": false,
		"/p/.git/hooks/pre-commit": true, "/p/.git/config": true, "/p/.git/config.worktree": true, "/p/.git/info/attributes": true,
		"/p/.git/commondir": true, "/p/.git/new": true, "/p/.git/objects/info/alternates": true,
		"/p/.git/modules/s/config": true, "/p/.git/modules/a/b/hooks/x": true, "/p/.git/modules/s/index": false,
		"/p/.git/worktrees/w/commondir": true, "/p/.git/rebase-merge/git-rebase-todo": true,
		"/p/sub/.git": true, "/p/sub/.git/HEAD": true,
	} {
		if got := runByGit(name, isDir); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestJudgeBesideCode: a path that a command of the line is known to make does not let code beside it make others.
func TestJudgeBesideCode(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		known, path string
		whole       bool
		want        confine.Verdict
	}{
		{"sub", "sub", false, confine.Commit},
		{"sub", "sub/.env.prod", false, confine.Drop},
		{"sub", "sub/.env.prod", true, confine.Commit},
		{"sub", "sub/.git/config", false, confine.Drop},
		{"sub", "sub/guarded", false, confine.Drop},
		{".git", ".git/index", false, confine.Commit},
		{".git", ".git/commondir", false, confine.Drop},
		{".git", ".git/config", true, confine.Commit},
		{"", "src/x", false, confine.Commit},
		{"", ".env", false, confine.Drop},
	} {
		r := &Run{Bounds: &Bounds{Whole: tt.whole}, State: t.TempDir()}
		r.Bounds.Root = root
		if tt.known != "" {
			r.Bounds.Known = []string{filepath.Join(root, tt.known)}
		}
		r.Ask = func(_, name string) obstat.Decision {
			if base := filepath.Base(name); len(base) >= 4 && base[:4] == ".env" {
				return obstat.Decision{Verdict: obstat.Deny}
			}
			return obstat.Decision{Verdict: obstat.Allow}
		}
		r.Guards = func(name string) string {
			if filepath.Base(name) == "guarded" {
				return "a guard"
			}
			return ""
		}
		c := confine.Change{Path: filepath.Join(root, tt.path), Kind: confine.Created}
		r.begin()
		if got := r.judge(c); got != tt.want {
			t.Errorf("%s beside %q, whole %t: %v", tt.path, tt.known, tt.whole, got)
		}
	}
}

func TestReadSmall(t *testing.T) {
	dir := t.TempDir()
	link, large := filepath.Join(dir, "link"), filepath.Join(dir, "large")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, large, dir} {
		if _, err := readSmall(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestJudgeBare: no run completes a directory that git would take for a repository, in one step or in several.
func TestJudgeBare(t *testing.T) {
	for _, tt := range []struct {
		name             string
		there, made      []string
		dropped, created string
	}{
		{"at once", nil, []string{"ev/HEAD", "ev/objects/x", "ev/refs/x", "ev/config"}, "ev/HEAD ev/objects ev/refs", "ev/config"},
		{"in two steps", []string{"ev/HEAD", "ev/config"}, []string{"ev/objects", "ev/refs"}, "ev/objects ev/refs", ""},
		{"the other way round", []string{"ev/objects/x", "ev/refs/x"}, []string{"ev/HEAD"}, "ev/HEAD", ""},
		{"by commondir", []string{"ev/HEAD"}, []string{"ev/commondir"}, "ev/commondir", ""},
		{"not one", []string{"src/objects/x"}, []string{"src/refs/x", "src/HEAD.md"}, "", "src/refs src/HEAD.md"},
		{"names alone", nil, []string{"lib/refs/x", "lib/objects/y"}, "", "lib/refs lib/objects"},
	} {
		root, layer := t.TempDir(), t.TempDir()
		for dir, names := range map[string][]string{root: tt.there, layer: tt.made} {
			for _, name := range names {
				at := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, nil, 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := &Run{Bounds: new(Bounds), Guards: func(string) string { return "" },
			Ask: func(string, string) obstat.Decision { return obstat.Decision{Verdict: obstat.Allow} }}
		r.Bounds.Root = root
		r.begin()
		for list, want := range map[string]confine.Verdict{tt.dropped: confine.Drop, tt.created: confine.Commit} {
			for _, name := range strings.Fields(list) {
				c := confine.Change{Path: filepath.Join(root, name), Layer: filepath.Join(layer, name), Kind: confine.Created}
				if got := r.judge(c); got != want {
					t.Errorf("%s: %s: %v", tt.name, name, got)
				}
			}
		}
	}
}

// TestLate: names that code made in a workspace that is written through, and that the policy keeps from it, are moved
// away when the command ends; those that were there before stay.
func TestLate(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".env")
	write(".git/config")
	write("src/a.go")
	began := time.Now()
	r := &Run{Bounds: new(Bounds), State: state, Guards: func(string) string { return "" }}
	r.Bounds.Root = root
	r.Bounds.Profile.Hidden, r.Bounds.Profile.ReadOnly = []string{filepath.Join(root, ".env")}, []string{filepath.Join(root, ".git")}
	r.Ask = func(_, name string) obstat.Decision {
		if strings.HasPrefix(filepath.Base(name), ".env") {
			return obstat.Decision{Verdict: obstat.Deny}
		}
		return obstat.Decision{Verdict: obstat.Allow}
	}
	for _, name := range []string{"src/.env.prod", "sub/.git/config", "dist/out.js", "ev/HEAD", "ev/objects/x", "ev/refs/x"} {
		write(name)
	}
	told := r.late(began)
	for name, want := range map[string]bool{".env": true, ".git/config": true, "src/a.go": true, "dist/out.js": true, "src/.env.prod": false,
		"sub/.git": false, "ev/HEAD": false} {
		if _, err := os.Lstat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(told) < 3 {
		t.Errorf("told are %v", told)
	}
	for i := range told {
		_, at, _ := strings.Cut(told[i].Why, "moved to ")
		if _, err := os.Lstat(at); err != nil {
			t.Errorf("%s is nowhere: %v", told[i].What, err)
		}
	}
}

// TestWorktree: the repository that a file `.git` names is read only where it names the workspace itself.
func TestWorktree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git on this machine")
	}
	for _, tt := range []struct {
		name, back, worktree string
		want                 bool
	}{
		{"a worktree", "ROOT/.git", "", true},
		{"another's", "/elsewhere/.git", "", false},
		{"a submodule", "", "ROOT", true},
		{"another's submodule", "", "/elsewhere", false},
		{"neither", "", "", false},
	} {
		top := realOf(t.TempDir())
		root, git := filepath.Join(top, "root"), filepath.Join(top, "other/.git")
		dir := filepath.Join(git, "worktrees/x")
		files := map[string]string{filepath.Join(root, ".git"): "gitdir: " + dir + "\n", filepath.Join(git, "HEAD"): "ref: refs/heads/main\n"}
		if tt.back != "" {
			files[filepath.Join(dir, "gitdir")] = strings.Replace(tt.back, "ROOT", root, 1) + "\n"
		}
		files[filepath.Join(dir, "config")] = ""
		if tt.worktree != "" {
			files[filepath.Join(dir, "config")] = "[core]\n\tworktree = " + strings.Replace(tt.worktree, "ROOT", root, 1) + "\n"
		}
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, verdict := range []obstat.Verdict{obstat.Allow, obstat.Deny} {
			m := &maker{Place: &Place{Call: new(obstat.Call), Getenv: os.Getenv, Ask: func(string, string) obstat.Decision { return obstat.Decision{Verdict: verdict} }}, out: new(Bounds), root: root}
			if err := m.worktree(); err != nil {
				t.Fatal(err)
			}
			if got := len(m.out.Profile.Read) > 0; got != (tt.want && verdict == obstat.Allow) {
				t.Errorf("%s, %v: %t", tt.name, verdict, got)
			}
		}
	}
}

// TestNewConfig: settings of a new repository name no program and lead to none.
func TestNewConfig(t *testing.T) {
	const core = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	clone := func(url string) string {
		return core + "[remote \"origin\"]\n\turl = " + url + "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n" +
			"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	}
	for text, want := range map[string]bool{
		core: true, clone("https://example.org/a/b.git"): true, clone("git@example.org:a/b.git"): true,
		clone("ssh://git@example.org:22/a"): true, clone("/srv/a.git"): true, clone("http://localhost:8080/a"): true,
		clone("ext::sh -c x"): false, clone("-oProxyCommand=x"): false, clone("ssh://-oProxyCommand=x"): false,
		clone("https://a b"): false, clone("x::https://a"): false, clone("https://a::b"): false, clone("/-x"): false,
		core + "\tfsmonitor = x\n": false, core + "[remote \"a\"]\n\tuploadpack = x\n": false, core + "[include]\n\tpath = x\n": false,
		core + "[remote \"a\"]\n\tvcs = x\n": false, core + "[alias]\n\tst = x\n": false, core + "\teditor = x": false,
	} {
		if got := aNewConfig.MatchString(text); got != want {
			t.Errorf("%t for\n%s", got, text)
		}
	}
}
