package effect

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The lab runs real programs and watches them: `make test-effects`. Each command line runs in
// bubblewrap, on a root directory made by lab/rootfs.sh, without a network and in a fresh copy
// of the fixture; strace and the files before and after tell what happened.

// The fixture's places, as a command sees them.
const (
	labHome    = "/home/u"
	labProject = "/home/u/project"
	// labToken is the secret in the environment, labKey the one in files.
	labToken = "canary-token-5f0c"
	labKey   = "canary-key-81aa"
)

// observed is what one command line did. Paths are as the command sees them.
type observed struct {
	Cmd     string   `json:"c"`
	Wrote   []string `json:"w,omitempty"` // created or changed
	Deleted []string `json:"d,omitempty"`
	Ran     []string `json:"x,omitempty"` // programs of the fixture that were executed
	Net     []string `json:"n,omitempty"` // addresses of connections that were tried
	Secrets []string `json:"s,omitempty"` // "environment", "file": a canary was printed
}

func (s *observed) nothing() bool {
	return len(s.Wrote)+len(s.Deleted)+len(s.Ran)+len(s.Net)+len(s.Secrets) == 0
}

// bench is one place where commands run, one after the other.
type labBench struct {
	t      *testing.T
	root   string // of the programs
	master string // the fixture
	dir    string // with home/ and trace/
	before map[string]string
	dirty  bool
}

func newBench(t *testing.T, root, master string) *labBench {
	b := &labBench{t: t, root: root, master: master, dir: t.TempDir(), dirty: true}
	must(t, os.Mkdir(filepath.Join(b.dir, "trace"), 0o777))
	return b
}

// labTimeout is how long a command may run: whatever it does, it does at once.
const labTimeout = 1500 * time.Millisecond

// run runs a command line and returns what it did; late tells that it had to be ended.
func (b *labBench) run(cmd string) (s *observed, late bool) {
	b.reset()
	trace := filepath.Join(b.dir, "trace", "out")
	_ = os.Remove(trace)
	out, late := b.exec("strace", "-f", "-y", "-qq", "-s", "200", "-e",
		"trace=open,openat,creat,truncate,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,symlink,symlinkat,execve,connect,sendto",
		"-o", "/.trace/out", "bash", "-c", cmd)
	s = &observed{Cmd: cmd}
	b.compare(s)
	data, _ := os.ReadFile(trace)
	readTrace(s, data)
	if bytes.Contains(out, []byte(labToken)) && !strings.Contains(cmd, labToken) {
		s.Secrets = append(s.Secrets, "environment")
	}
	if bytes.Contains(out, []byte(labKey)) {
		s.Secrets = append(s.Secrets, "file")
	}
	return s, late
}

// exec runs a program in the sandbox and returns the beginning of its output.
func (b *labBench) exec(argv ...string) (out []byte, late bool) {
	ctx, cancel := context.WithTimeout(context.Background(), labTimeout)
	defer cancel()
	args := []string{"--ro-bind", b.root, "/", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var/tmp", "--proc", "/proc", "--dev", "/dev",
		"--bind", filepath.Join(b.dir, "home"), labHome, "--bind", filepath.Join(b.dir, "trace"), "/.trace",
		"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--chdir", labProject}
	cmd := exec.CommandContext(ctx, "bwrap", append(args, argv...)...)
	cmd.Env = []string{"HOME=" + labHome, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/games", "LC_ALL=C", "TERM=dumb", "USER=u", "API_TOKEN=" + labToken,
		"EDITOR=true", "PYTHONDONTWRITEBYTECODE=1"}
	cmd.WaitDelay = time.Second
	buf := &limited{}
	cmd.Stdout, cmd.Stderr = buf, buf
	_ = cmd.Run()
	return buf.data, ctx.Err() != nil
}

// limited keeps the first megabyte that is written to it.
type limited struct{ data []byte }

func (l *limited) Write(p []byte) (int, error) {
	if room := 1<<20 - len(l.data); room > 0 {
		l.data = append(l.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// reset makes the fixture fresh where the last command changed it.
func (b *labBench) reset() {
	if !b.dirty {
		return
	}
	home := filepath.Join(b.dir, "home")
	_ = exec.Command("chmod", "-R", "u+rwX", home).Run()
	must(b.t, os.RemoveAll(home))
	if out, err := exec.Command("cp", "-a", b.master, home).CombinedOutput(); err != nil {
		b.t.Fatalf("the fixture: %v: %s", err, out)
	}
	b.before, b.dirty = b.files(), false
}

// files lists the fixture: for each path its kind, mode, size, time of change and link target.
func (b *labBench) files() map[string]string {
	out := map[string]string{}
	home := filepath.Join(b.dir, "home")
	_ = filepath.WalkDir(home, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == home {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		state := fmt.Sprint(info.Mode())
		if !d.IsDir() {
			state += fmt.Sprint(" ", info.Size(), " ", info.ModTime().UnixNano())
		}
		out[labHome+strings.TrimPrefix(p, home)] = state
		return nil
	})
	return out
}

// compare finds the files that the command created, changed and deleted.
func (b *labBench) compare(s *observed) {
	after := b.files()
	for p, state := range after {
		if was, ok := b.before[p]; !ok || was != state {
			s.Wrote = append(s.Wrote, p)
		}
	}
	for p := range b.before {
		if _, ok := after[p]; !ok {
			s.Deleted = append(s.Deleted, p)
		}
	}
	slices.Sort(s.Wrote)
	slices.Sort(s.Deleted)
	b.dirty = len(s.Wrote)+len(s.Deleted) > 0
}

var (
	traceOpen    = regexp.MustCompile(`^\d+ +(?:openat|open|creat)\((?:AT_FDCWD<[^>]*>, |\d+<[^>]*>, )?"(/[^"]*)", ([A-Z_|0-9]+)[^)]*\) += -1 E(?:ROFS|ACCES|PERM)`)
	traceChange  = regexp.MustCompile(`^\d+ +(?:unlink|unlinkat|rename|renameat2?|mkdir|mkdirat|link|linkat|symlink|symlinkat|truncate)\(.*"(/[^"]*)"[^"]*\) += -1 E(?:ROFS|ACCES|PERM)`)
	traceExec    = regexp.MustCompile(`^\d+ +execve\("([^"]+)", .*\) += 0`)
	traceExecEnd = regexp.MustCompile(`^\d+ +execve\("([^"]+)", .*<unfinished`)
	traceNet     = regexp.MustCompile(`^\d+ +(?:connect|sendto)\(.*sa_family=AF_INET6?,.*?(?:inet_addr\("([^"]*)"\)|inet_pton\(AF_INET6, "([^"]*)")`)
)

// readTrace adds what strace saw: writes outside the fixture that were refused, programs of the
// fixture that ran, and connections that were tried.
func readTrace(s *observed, trace []byte) {
	for raw := range bytes.Lines(trace) {
		line := string(raw)
		if m := traceOpen.FindStringSubmatch(line); m != nil && regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC`).MatchString(m[2]) && outside(m[1]) {
			s.Wrote = addOnce(s.Wrote, m[1])
		}
		if m := traceChange.FindStringSubmatch(line); m != nil && outside(m[1]) {
			s.Wrote = addOnce(s.Wrote, m[1])
		}
		m := traceExec.FindStringSubmatch(line)
		if m == nil {
			m = traceExecEnd.FindStringSubmatch(line)
		}
		if m != nil && (strings.HasPrefix(m[1], labHome) || strings.HasPrefix(m[1], ".")) {
			s.Ran = addOnce(s.Ran, m[1])
		}
		if m := traceNet.FindStringSubmatch(line); m != nil {
			s.Net = addOnce(s.Net, m[1]+m[2])
		}
	}
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) || len(list) > 20 {
		return list
	}
	return append(list, s)
}

// outside reports whether a path lies outside the fixture in a place that a person keeps things.
func outside(p string) bool {
	for _, own := range []string{labHome, "/proc/", "/dev/", "/tmp", "/var/tmp", "/run", "/.trace", "/sys/"} {
		if strings.HasPrefix(p, own) {
			return false
		}
	}
	return true
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
