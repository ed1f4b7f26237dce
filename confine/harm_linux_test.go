package confine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A target is a place with everything that attacks are after: files, sockets, processes.
type target struct {
	*place
	other, state, mark string
	victim, super      *exec.Cmd
	environ            []string
	before             map[string]string
	profile            Profile
}

// services are the machine's listeners, one set for all attacks.
type services struct{ port, uport, shm string }

func serve(t *testing.T, l net.Listener, err error) net.Listener {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("SECRET-SERVICE"))
			conn.Close()
		}
	}()
	return l
}

func newServices(t *testing.T) services {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	port := strconv.Itoa(serve(t, l, err).Addr().(*net.TCPAddr).Port)
	l6, err := net.Listen("tcp6", "[::1]:"+port)
	serve(t, l6, err)
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		b := make([]byte, 10)
		for {
			_, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			pc.WriteTo([]byte("SECRET-DATAGRAM"), from)
		}
	}()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "SECRET-SHM")
	return services{port, strconv.Itoa(pc.LocalAddr().(*net.UDPAddr).Port), strconv.Itoa(id)}
}

func newTarget(t *testing.T, s services, n int, mode Mode) *target {
	p := newPlace(t)
	g := &target{place: p, other: p.base + "/other", state: p.base + "/state", mark: fmt.Sprintf("SECRET-ARG-%d-%d", os.Getpid(), n)}
	p.write(g.other+"/secret.txt", "SECRET-OTHER")
	p.write(g.other+"/victim.txt", "victim")
	p.write(g.state+"/ledger", "ledger")
	p.write(p.ws+"/conf/.env", "SECRET-NESTED")
	p.write(p.ws+"/conf/c.txt", "c")
	p.write(p.home+"/tool", "#!/bin/sh\necho HARM\n")
	os.Chmod(p.home+"/tool", 0o755)
	copyProgram(t, "/bin/true", p.home+"/true")
	tmpSock := fmt.Sprintf("/tmp/confine-%d-%d.sock", os.Getpid(), n)
	for _, path := range []string{g.other + "/agent.sock", p.home + "/agent.sock", p.ws + "/agent.sock", tmpSock, "@" + tmpSock} {
		l, err := net.Listen("unix", path)
		serve(t, l, err)
	}
	dgram, err := net.ListenPacket("unixgram", p.home+"/dgram.sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dgram.Close() })
	g.victim, g.super = g.startVictim("SECRET_V=SECRET-VICTIM"), g.startVictim("")
	g.inherit()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"HOME": p.home, "WS": p.ws, "OTHER": g.other, "STATE": g.state, "SELF": exe, "PORT": s.port, "UPORT": s.uport,
		"SHM": s.shm, "MARK": g.mark, "ABSTRACT": tmpSock, "TMPSOCK": tmpSock, "VICTIM": strconv.Itoa(g.victim.Process.Pid),
		"SUPER": strconv.Itoa(g.super.Process.Pid), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "SUID": os.Getenv("CONFINE_SUID")}
	g.environ = []string{"SECRET_TOKEN=SECRET-VALUE"}
	for k, v := range values {
		g.environ = append(g.environ, k+"="+v)
	}
	g.profile = p.profile(mode)
	g.profile.Read = append(g.profile.Read, exe)
	g.profile.Execute = append(g.profile.Execute, exe)
	if suid := os.Getenv("CONFINE_SUID"); suid != "" {
		g.profile.Read, g.profile.Execute = append(g.profile.Read, suid), append(g.profile.Execute, suid)
	}
	g.profile.Hidden = append(g.profile.Hidden, p.ws+"/conf/.env", "/etc/shadow", "/usr/bin/tac")
	g.profile.Env = Env{Set: values}
	g.before = g.snapshot()
	return g
}

func copyProgram(t *testing.T, from, to string) {
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startVictim starts a process that attacks try to look into or end.
func (g *target) startVictim(env string) *exec.Cmd {
	cmd := exec.Command("/bin/sleep", "300")
	cmd.Args[0] = g.mark
	cmd.Dir = g.other
	cmd.Env = []string{env}
	f, err := os.Open(g.other + "/secret.txt")
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	cmd.Stdin = f
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// inherit leaves descriptors open that are handed to every child: 250 for writing outside, 251
// a directory, 252 for reading.
func (g *target) inherit() {
	for fd, open := range map[int]struct {
		path  string
		flags int
	}{250: {g.other + "/victim.txt", unix.O_WRONLY | unix.O_APPEND}, 251: {g.other, unix.O_RDONLY}, 252: {g.other + "/secret.txt", unix.O_RDONLY}} {
		from, err := unix.Open(open.path, open.flags|unix.O_CLOEXEC, 0)
		if err != nil {
			g.t.Fatal(err)
		}
		if err := unix.Dup2(from, fd); err != nil {
			g.t.Fatal(err)
		}
		unix.Close(from)
		g.t.Cleanup(func() { unix.Close(fd) })
	}
}

// snapshot describes everything that no attack may change.
func (g *target) snapshot() map[string]string {
	out := map[string]string{}
	note := func(path string) {
		info, err := os.Lstat(path)
		if err != nil {
			out[path] = "missing"
			return
		}
		text := fmt.Sprint(info.Mode(), owner(info), userAttributes(path))
		if info.Mode().IsRegular() {
			b, _ := os.ReadFile(path)
			text += fmt.Sprintf(" %x %v", sha256.Sum256(b), info.ModTime())
		}
		out[path] = text
	}
	filepath.WalkDir(g.base, func(path string, d fs.DirEntry, _ error) error {
		if path == g.ws {
			return fs.SkipDir
		}
		note(path)
		return nil
	})
	for _, name := range []string{"/.env", "/conf/.env", "/.git/config", "/.git/hooks", "/.git/hooks/pre-commit", "/.git/hooks/pre-commit.sample", "/.husky/pre-commit"} {
		note(g.ws + name)
	}
	return out
}

// harm says which harm an attack has done, "" for none.
func (g *target) harm(out string) string {
	if strings.Contains(out, "SECRET-") || strings.Contains(out, "HARM") {
		return "printed " + out
	}
	after := g.snapshot()
	for path, was := range g.before {
		if after[path] != was {
			return fmt.Sprintf("%s: was %s, is %s", path, was, after[path])
		}
	}
	for path, is := range after {
		if g.before[path] == "" {
			return fmt.Sprintf("%s is new: %s", path, is)
		}
	}
	for _, cmd := range []*exec.Cmd{g.victim, g.super} {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); err != nil || strings.Contains(string(stat), ") Z") {
			return "a process was ended"
		}
	}
	return ""
}

// commandFor wraps an attack so that its parent is a process with the same environment.
func (a attack) args() []string {
	script := a.script
	if a.code != "" {
		script = "CONFINE_ATTACK=" + a.code + " $SELF"
	} else {
		script = "echo BEGAN; " + script
	}
	return []string{"/bin/sh", "-c", `/bin/sh -c "$1"; exit 0`, "attack", script}
}

func (g *target) bare(a attack) string {
	var out bytes.Buffer
	args := a.args()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.ws, g.environ, &out, &out
	cmd.WaitDelay = 10 * time.Second
	cmd.Run()
	return out.String()
}
