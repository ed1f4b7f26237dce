//go:build unix

package pgtest

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A Server is a running PostgreSQL.
type Server struct {
	t    testing.TB
	bin  string
	dir  string
	cred *syscall.Credential // whom it runs as; nil: whoever runs the test
	env  []string            // besides the test's own
	cmd  *exec.Cmd
	log  *bytes.Buffer
	n    atomic.Int64 // databases
}

// Options are the circumstances that a server runs under.
type Options struct {
	Dir string   // where its files are; "" is a new directory of the disk
	Env []string // as `LD_PRELOAD=libfaketime.so.1`
}

// Start starts a server that ends with the test. A machine without PostgreSQL fails
// the test; make setup installs it.
func Start(t testing.TB) *Server { return StartWith(t, Options{}) }

// StartWith is [Start] under other circumstances.
func StartWith(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs(t), env: o.Env}
	dir, err := os.MkdirTemp(cmp.Or(o.Dir, "/tmp"), "obpg") // a socket's path is 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	})
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		s.cred = nobody(t)
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := s.command("initdb", "-D", s.data(), "-U", "obstat", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.run()
	return s
}

// programs returns the directory of PostgreSQL's programs, which Debian does not
// have in PATH.
func programs(t testing.TB) string {
	t.Helper()
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := string(bytes.TrimSpace(out)); isProgram(filepath.Join(dir, "initdb")) {
			return dir
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Sort(found)
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: run make setup as root, or install Debian's postgresql")
	}
	return filepath.Dir(found[len(found)-1])
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

// nobody returns a user without rights.
func nobody(t testing.TB) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("there is no user postgres or nobody that PostgreSQL could run as")
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	return cmd
}

// run starts the process and waits until it answers. Without fsync: [Server.Kill] ends processes and not the machine,
// and the system still writes what they had handed to it.
func (s *Server) run() {
	s.t.Helper()
	s.log = new(bytes.Buffer)
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off")
	s.cmd.Env = append(os.Environ(), s.env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if s.command("psql", "-h", s.dir, "-U", "obstat", "-c", "SELECT 1", "postgres").Run() == nil {
			return
		}
	}
	s.t.Fatalf("PostgreSQL does not answer:\n%s", s.log)
}

// Database makes a new, empty database and returns its URL.
func (s *Server) Database() string {
	s.t.Helper()
	name := fmt.Sprint("db", s.n.Add(1))
	if out, err := s.command("psql", "-h", s.dir, "-U", "obstat", "-c", "CREATE DATABASE "+name, "postgres").CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	return "postgres:///" + name + "?user=obstat&host=" + url.QueryEscape(s.dir)
}

// Clock returns the time that the server believes it is.
func (s *Server) Clock() time.Time {
	s.t.Helper()
	const query = "SELECT extract(epoch FROM clock_timestamp())::bigint"
	out, err := s.command("psql", "-h", s.dir, "-U", "obstat", "-At", "-c", query, "postgres").Output()
	if err != nil {
		s.t.Error(err)
		return time.Time{}
	}
	sec, _ := strconv.ParseInt(string(bytes.TrimSpace(out)), 10, 64)
	return time.Unix(sec, 0)
}

// Restart kills the server as a crash does, waits, and starts it again.
func (s *Server) Restart(pause time.Duration) {
	s.t.Helper()
	s.Kill()
	time.Sleep(pause)
	s.run()
}

// Kill ends the server at once.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // at once, without leaving its memory behind
	_ = s.cmd.Wait()
	s.cmd = nil
}
