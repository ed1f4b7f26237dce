//go:build unix

package obstat_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
)

// write makes a file with its directories.
func write(t *testing.T, name string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOtherNames: a file's other names are looked for in its repository and at the top of the home directory, except
// among packages and in git's own directory.
func TestOtherNames(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		linked     []string // hard links
		beside     []string // files of their own
		want       []string
	}{
		{"one name", "repo/a", nil, []string{"repo/b"}, nil},
		{"beside it", "repo/a", []string{"repo/b"}, []string{"repo/c"}, []string{"repo/b"}},
		{"in a directory", "repo/a", []string{"repo/x/y/b"}, nil, []string{"repo/x/y/b"}},
		{"above it", "repo/x/a", []string{"repo/b"}, nil, []string{"repo/b"}},
		{"several", "repo/x/a", []string{"repo/b", "repo/y/c"}, nil, []string{"repo/b", "repo/y/c"}},
		{"of packages", "repo/a", []string{"repo/node_modules/b", "repo/.git/b"}, nil, nil},
		{"in the home directory", "repo/a", []string{"home/b"}, nil, []string{"home/b"}},
		{"below the home directory", "repo/a", []string{"home/x/b"}, nil, nil},
		{"outside of a repository, beside it", "other/a", []string{"other/b"}, nil, []string{"other/b"}},
		{"outside of a repository, elsewhere", "other/x/a", []string{"other/b"}, nil, nil},
	} {
		root := t.TempDir()
		t.Setenv("HOME", filepath.Join(root, "home"))
		write(t, filepath.Join(root, "repo/.git/HEAD"))
		write(t, filepath.Join(root, "home/.profile"))
		file := write(t, filepath.Join(root, tt.file))
		for _, name := range tt.beside {
			write(t, filepath.Join(root, name))
		}
		for _, name := range tt.linked {
			at := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(file, at); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for _, name := range tt.want {
			want = append(want, filepath.Join(root, name))
		}
		if diff := cmp.Diff(want, (obstat.OS{}).Twins(file)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if names := (obstat.OS{}).Twins(t.TempDir()); names != nil {
		t.Errorf("a directory has the names %q", names)
	}
	if names := (obstat.OS{}).Twins("/none/such"); names != nil {
		t.Errorf("what is not there has the names %q", names)
	}
}

// TestKinds: what the machine says of paths, with links followed and without; and where a home is not known.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("file"))
	for name, to := range map[string]string{"short": "file", "gone": "nothing", "dir": "."} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for p, want := range map[string][5]bool{ // directory, file; and not followed: link, directory, file
		dir: {true, false, false, true, false}, at("file"): {false, true, false, false, true}, at("short"): {false, false, true, false, false},
		at("dir"): {true, false, true, false, false}, at("gone"): {false, false, true, false, false}, at("none"): {},
	} {
		link, isDir, isFile := (obstat.OS{}).Kind(p)
		if got := [5]bool{(obstat.OS{}).IsDir(p), (obstat.OS{}).IsFile(p), link, isDir, isFile}; got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	t.Setenv("HOME", "")
	if home, ok := (obstat.OS{}).Home(""); ok || home != "" {
		t.Errorf("home %q where there is none", home)
	}
}
