package effect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// ownState are the places in a home directory where programs keep caches and logs of their own.
// A read-only command may leave something there: `npm ls` writes a log, go keeps a cache.
var ownState = []string{".cache/", ".npm/", ".config/go/", ".config/configstore/", ".gnupg/", ".local/state/", ".gem/", ".composer/", ".dotnet/", ".gradle/", ".deno/", ".bun/", ".cargo/", ".rustup/", ".terraform.d/", ".config/gcloud/"}

// TestHarmless runs commands that the analysis calls read-only and looks whether anything
// changed: in a directory made for it, with a home directory, an environment and no network
// of its own.
func TestHarmless(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the commands are those of a Linux system")
	}
	if testing.Short() {
		t.Skip("-short: not running hundreds of programs")
	}
	h := newHarm(t)
	ran := 0
	for _, cmd := range h.commands() {
		an := AnalyzeCommand(cmd, &Options{Dir: h.dir, FS: home(h.home)})
		if !an.ReadOnly || !an.Full || connects(an) || !h.present(an) {
			continue
		}
		ran++
		h.run(cmd)
		if after := h.fingerprint(); after != h.before {
			t.Errorf("%q is called read-only but changed something:\n%s", cmd, difference(h.before, after))
			h.before = after
		}
	}
	t.Logf("%d commands ran, network taken away: %v", ran, h.offline)
	if ran < 300 {
		t.Errorf("only %d commands ran, want 300", ran)
	}
}

func connects(an *Analysis) bool {
	return slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Kind == Connect })
}

// harm is the place where the commands run.
type harm struct {
	t         *testing.T
	dir, home string
	env       []string
	before    string
	offline   bool
	found     map[string]bool
}

func newHarm(t *testing.T) *harm {
	root := t.TempDir()
	h := &harm{t: t, dir: filepath.Join(root, "home", "project"), home: filepath.Join(root, "home"), found: map[string]bool{}}
	h.env = []string{"HOME=" + h.home, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", "TERM=dumb"}
	h.offline = exec.Command("unshare", "-rn", "true").Run() == nil
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\nthree\n", "b.txt": "one\n2\nthree\n", "n.csv": "1,b\n2,a\n10,c\n", "a.json": `{"a":{"b":[1,2,3]}}`, "src/m.py": "print(1)\n",
		"src/x.sh": "echo hi\n", "Makefile": "all:\n\ttouch made\n", "package.json": `{"name":"x","version":"1.0.0","scripts":{"x":"touch made"}}`,
		"go.mod": "module x\n", "m.go": "package x\n", "README.md": "# x\n", "x.yml": "a: 1\n", "sub/dir/deep.txt": "deep\n", "a b.txt": "blank\n",
	} {
		p := filepath.Join(h.dir, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
		past := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(p, past, past)) // so that git's index need not be refreshed
	}
	must(t, os.Symlink("a.txt", filepath.Join(h.dir, "link")))
	for _, c := range []string{"touch -h -d yesterday link", "git init -q -b main", "git add .", "git -c user.name=a -c user.email=a@b commit -q -m one", "git tag v1", "git status",
		"tar cf t.tar a.txt b.txt", "tar czf t.tgz a.txt", "gzip -k b.txt", "cp /bin/true prog"} {
		h.shell(c)
	}
	h.before = h.fingerprint()
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shell runs a command of the preparations; without git, git's commands are not tried later.
func (h *harm) shell(c string) { h.exec([]string{"/bin/sh", "-c", c}) }

func (h *harm) run(c string) {
	argv := []string{"/bin/bash", "-c", c}
	if h.offline {
		argv = append([]string{"unshare", "-rn"}, argv...)
	}
	h.exec(argv)
}

func (h *harm) exec(argv []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = h.dir, h.env
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // what it prints and whether it succeeds does not matter
}

// present reports whether all programs of a command are on this machine. Names of builtins are.
func (h *harm) present(an *Analysis) bool {
	for i := range an.Commands {
		name := an.Commands[i].Program
		ok, asked := h.found[name]
		if !asked {
			cmd := exec.Command("/bin/bash", "-c", `type -t -- "$1"`, "_", name)
			cmd.Env = h.env
			out, _ := cmd.Output()
			ok = len(bytes.TrimSpace(out)) > 0
			h.found[name] = ok
		}
		if !ok {
			return false
		}
	}
	return true
}

// fingerprint lists everything below the home directory: names, kinds, modes, sizes, times of
// change and contents.
func (h *harm) fingerprint() string {
	var b strings.Builder
	err := filepath.WalkDir(h.home, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(h.home, p)
		for _, own := range ownState {
			if rel+"/" == own || strings.HasPrefix(rel+"/", own) {
				return filepath.SkipDir
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if rel == ".config" || rel == ".local" {
			return nil // made for what is in them
		}
		if d.IsDir() {
			fmt.Fprintf(&b, "%s %v\n", rel, info.Mode())
			return nil
		}
		data := []byte(nil)
		if info.Mode().IsRegular() {
			data, _ = os.ReadFile(p)
		}
		fmt.Fprintf(&b, "%s %v %d %d %x\n", rel, info.Mode(), info.Size(), info.ModTime().UnixNano(), sha256.Sum256(data))
		return nil
	})
	must(h.t, err)
	return b.String()
}

func difference(a, b string) string {
	var out []string
	was := map[string]bool{}
	for l := range strings.Lines(a) {
		was[l] = true
	}
	for l := range strings.Lines(b) {
		if !was[l] {
			out = append(out, "+ "+l)
		}
		delete(was, l)
	}
	for l := range was {
		out = append(out, "- "+l)
	}
	return strings.Join(out, "")
}

// commands are what people run, and templates over what the knowledge base knows: each of the
// programs that only read, alone, on files, and with some of its harmless flags, or with all of
// them if OBSTAT_HARM is "all".
func (h *harm) commands() []string {
	data, err := os.ReadFile("testdata/harmless.txt")
	must(h.t, err)
	out := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	endless := map[string]bool{"yes": true, "top": true, "watch": true, "sleep": true, "htop": true, "pv": true, "cat": false}
	for _, name := range Programs() {
		s := lookup(name)
		if endless[name] || s.hasSubs() {
			continue
		}
		list := h.templates(name, s)
		if os.Getenv("OBSTAT_HARM") != "all" {
			list = some(list, 2)
		}
		out = append(out, list...)
	}
	return out
}

// some picks n of a list, evenly.
func some(list []string, n int) []string {
	var out []string
	for i := range min(n, len(list)) {
		out = append(out, list[i*len(list)/min(n, len(list))])
	}
	return out
}

func (h *harm) templates(name string, s *spec) []string {
	files := []string{"", " a.txt", " a.txt b.txt", " sub", " 'a b.txt'"}
	var out []string
	for _, f := range files {
		out = append(out, name+f)
	}
	for ch := byte('!'); ch < 127; ch++ {
		if f := s.shortFlag(ch); f != nil && f.arity == alone && !f.risky() {
			out = append(out, fmt.Sprintf("%s -%c a.txt b.txt", name, ch))
		}
	}
	for i := range s.long.list {
		long, f := s.long.list[i].name, &s.flags[s.long.list[i].at]
		if long == "" {
			continue
		}
		if !f.risky() && !f.dash && f.arity != required {
			out = append(out, fmt.Sprintf("%s --%s a.txt b.txt", name, long))
		}
		if !f.risky() && f.arity == required {
			out = append(out, fmt.Sprintf("%s --%s=1 a.txt", name, long))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
