package undo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/changes"
)

// linesOf is the tree without git's objects, which stay: a line for each name.
func linesOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "objects" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		to, _ := os.Readlink(p)
		line := fmt.Sprintf("%q %v %q", p, info.Mode(), to)
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if d.Name() == "index" {
				b = withoutTimes(b)
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// withoutTimes leaves the times, inodes and sizes of files out of git's index, which `git diff` and `git status` bring up
// to date although they change nothing.
func withoutTimes(index []byte) (out []byte) {
	const times, digest, flags, fixed = 24, 40, 60, 62 // where these end or begin in an entry; 24 to 28 is the mode
	for at := 12; at+fixed < len(index); {
		e := index[at:]
		end := bytes.IndexByte(e[fixed:], 0)
		if end < 0 || binary.BigEndian.Uint16(e[flags:])&0x0fff == 0 {
			break // behind the entries
		}
		out = append(append(out, e[times:times+4]...), e[digest:fixed+end]...)
		at += (fixed + end + 8) &^ 7
	}
	return out
}

func hashOf(t *testing.T, dir string) string {
	t.Helper()
	return strings.Join(linesOf(t, dir), "\n")
}

func run(t *testing.T, dir, text string) error {
	t.Helper()
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b.c", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// project returns a copy of a project that is in the middle of some work.
func project(t *testing.T, from string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t, dir, "cp -a "+from+"/. ."); err != nil {
		t.Fatal(err)
	}
	return dir
}

func template(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := run(t, dir, `set -e; git init -q -b main; printf a >a; printf b >b; mkdir -p src/deep empty build
		printf m >src/m.go; printf d >src/deep/d; ln -s a l; ln -s src ld; printf '/build\n/*.log\n' >.gitignore; git add .; git commit -qm one
		git switch -qc other; printf o >other; printf changed >a; git add .; git commit -qm two; git switch -q main
		printf mine >b; printf new >untracked; printf o >build/out; printf x >x.log; git stash -q; printf mine >a; printf new >>src/m.go
		git branch third; git tag v1; printf 1 >t.o; printf 2 >u.o`); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTakenBack: all that the analysis knows of a command is enough to take it back, and a command of which it is
// not enough is called so.
func TestTakenBack(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	from := template(t)
	for _, text := range []string{
		"rm a", "rm -rf src", "rm *.o", "echo x > b", "echo x >> new/y 2>/dev/null || mkdir -p new/deep && echo x > new/deep/y",
		"mv a b", "mv src lib", "mv a src/", "cp -r src copy", "cp a b", "chmod 600 a", "chmod -R go-r src", "mkdir -p p/q/r",
		"touch a t2", "ln -s b l2", "ln -sf b l", "ln a hard", "sed -i s/m/z/ a", "tee a b </dev/null", "truncate -s 0 a", "rmdir empty",
		"find . -name '*.o' -delete", "cd src && rm -r deep", "rm l", "echo through > l", "install -m 755 a prog", "dd if=a of=b 2>/dev/null",
		"git add .", "git add -A && git commit -qm three", "git commit -qam x", "git stash", "git stash pop", "git stash drop",
		"git branch -D third", "git branch new", "git tag -d v1", "git checkout -- a", "git checkout .", "git restore a", "git reset --hard",
		"git reset -q", "git clean -fd", "git clean -fdx", "git checkout -f other", "git switch --discard-changes other",
		"git rm -f a", "git mv a moved", "git config user.x y", "git branch -m renamed",
		"git stash && git switch other", "find ld -name '*' -delete", "cd empty && find ../ld -delete",
		"ln -f a b", "ln -b a b", "ln -sfn build ld/new\ncat > ld/new < a", "ln -s ../a ld/y; echo z > ld/y", "mv a sshlin[k]", "rm l && mkdir l && echo x > l/y", "mv l m && mkdir -p l/n",
		"rm -f a && cp -r src a", "sed -n -i.old s/m/z/p a", "cp -ab a b", "ln -sfb b l", "mv -fb a b", "cp -aS .old a b",
	} {
		t.Run(text, func(t *testing.T) {
			dir := project(t, from)
			s, err := changes.Open(t.TempDir(), changes.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			a := effect.AnalyzeCommand(text, &effect.Options{Dir: dir, FS: obstat.OS{}})
			r := Of(a)
			if !r.Certain() {
				t.Fatalf("it is not called reversible: %q", r.Gaps)
			}
			before := hashOf(t, dir)
			c, err := s.Save(changes.Of{Call: text}, r.Paths, false)
			if err != nil || len(c.Gaps) > 0 {
				t.Fatalf("%v %v", err, c.Gaps)
			}
			if err := run(t, dir, text); err != nil {
				t.Fatal(err)
			}
			if hashOf(t, dir) == before && text != "touch a t2" {
				t.Fatal("it changed nothing: the test is none")
			}
			c, err = s.End(text, "")
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Plan([]*changes.Change{c})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Apply(changes.Of{}); err != nil {
				t.Fatal(err)
			}
			if hashOf(t, dir) != before {
				t.Errorf("the tree differs; %v was put back", p.Steps)
			}
			if !strings.HasPrefix(text, "git") {
				return
			}
			if err := run(t, dir, "git fsck --no-dangling && git status"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNotTakenBack: a call with an effect that is not known, or that leaves the machine, is not called reversible.
func TestNotTakenBack(t *testing.T) {
	dir := template(t)
	if err := run(t, dir, "ln b hard"); err != nil {
		t.Fatal(err)
	}
	for text, why := range map[string]string{
		"make": "code", "python3 x.py": "code", "git push": "host", "curl -X POST https://example.com": "host", "rm $X": "not known",
		"rm \"$(cat list)\"": "not known", "ssh host rm x": "", "npm install": "", "kill 1": "more than files", "unknown-program x": "not known",
		"docker run x rm /y": "", "rm -rf .git": "", "rm .env": "", "rm a; make": "code", "cd $D && rm a": "", "xargs rm < list": "", "eval $X": "", "psql -c 'drop table x'": "",
		"zip x b -T -TT 'rm a #'": "does not name", "rm hard": "several names", "echo x > src/../b; sed -i s/x/y/ b": "several names",
	} {
		r := Of(effect.AnalyzeCommand(text, &effect.Options{Dir: dir, FS: obstat.OS{}}))
		if r.Certain() || !strings.Contains(strings.Join(r.Gaps, "; "), why) {
			t.Errorf("%s: %q, want %q", text, r.Gaps, why)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/hooks/post-checkout"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := Of(effect.AnalyzeCommand("git checkout -- a", &effect.Options{Dir: dir, FS: obstat.OS{}})); r.Certain() {
		t.Error("a hook would run")
	}
}

// TestProjectOf: a directory `.git` with nothing in it makes no project of all that lies beside it.
func TestProjectOf(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "p/src")
	if err := os.MkdirAll(in, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := ProjectOf(in); got != in {
		t.Errorf("%s is in the project %s", in, got)
	}
	if err := run(t, dir, "git init -q p"); err != nil {
		t.Fatal(err)
	}
	if got := ProjectOf(in); got != filepath.Join(dir, "p") {
		t.Errorf("%s is in the project %s", in, got)
	}
}
