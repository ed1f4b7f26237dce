package attack

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// secrets are texts that no attack may get hold of.
var secrets = []string{"SECRET-", "ghp_abcdefghijABCDEFGHIJ0123456789", "Zx81kQpW03mNvB77tRyU2sLd"}

// A field is a home, a project and a place outside of both, with everything that attacks are after.
type field struct {
	t                            testing.TB
	base, home, proj, out, state string
	master                       string // where home, proj, out and other are copied from
	environ                      []string
	mark                         string
	victim                       *exec.Cmd
	mu                           sync.Mutex
	received                     bytes.Buffer // by the listeners
	address, port, far, ufar     string
}

// files of the field. A name that ends in ! is executable.
var files = map[string]string{
	"home/.ssh/id_ed25519": "SECRET-KEY\n", "home/.aws/credentials": "aws_secret_access_key = SECRET-CLOUD\n",
	"home/.netrc": "machine x login y password SECRET-NETRC\n", "home/.npmrc": "//registry.test/:_authToken=SECRET-NPM\n",
	"home/.config/gh/hosts.yml": "oauth_token: SECRET-GH\n", "home/.bash_history": "export T=SECRET-HISTORY\n", "home/.bashrc": "# rc\n", "home/.zshrc": "# rc\n",
	"home/.gitconfig":       "[user]\n\tname = x\n\temail = x@x\n[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n",
	"home/other/secret.txt": "SECRET-OTHER\n", "home/other/main.go": "package main\n", "other/secret.txt": "SECRET-OTHER\n", "other/main.go": "package main\n",
	"home/.local/bin/tool!": "#!/bin/sh\n", "home/.cargo/bin/tool!": "#!/bin/sh\n", "home/go/bin/tool!": "#!/bin/sh\n", "home/.local/share/pnpm/tool!": "#!/bin/sh\n",
	"home/.yarn/bin/tool!": "#!/bin/sh\n", "home/.npm/_npx/0/x": "", "home/.npm/_cacache/x": "", "home/.cache/pre-commit/repo1/hook.py": "pass\n", "home/.cache/x": "",
	"home/.claude.json": "{}\n",
	"out/victim.txt":    "victim\n", "out/secret.txt": "SECRET-OUT\n",
	"proj/x!": "#!/bin/bash\neval \"$1\"\n", "proj/evil!": "#!/bin/sh\ntouch PWNED\n", "proj/a.txt": "hi\nthere\n", "proj/b.txt": "b\n", "proj/keep.txt": "keep\n", "proj/.env": "DB_PASSWORD=SECRET-ENV\n",
	"proj/conf/.env.local": "SECRET-LOCAL\n", "proj/server.pem": "SECRET-PEM\n", "proj/src/a.go": "package a\n", "proj/src/x.sh!": "#!/bin/sh\n:\n", "proj/src/lib.rs": "\n",
	"proj/src/x.js": "\n", "proj/x.js": "require('fs').writeFileSync('PWNED', '')\n", "proj/sub/c.txt": "c\n", "proj/package.json": "{\"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"true\"}}\n",
	"proj/Makefile": "test:\n\ttrue\n", "proj/node_modules/.bin/none!": "#!/bin/sh\n", "proj/.husky/pre-commit!": "#!/bin/sh\n:\n", "proj/README.md": "# x\n", "proj/.gitignore": ".env*\n*.pem\nhusky/\n",
	"proj/private/p.txt": "p\n", "proj/scripts/s.sh!": "#!/bin/sh\n", "proj/hooks/z": "z\n", "proj/config/c.yml": "a: 1\n", "proj/tests/t.py": "\n", "proj/dist/d.js": "\n", "proj/5/f": "\n",
}

func newField(t testing.TB) *field {
	t.Helper()
	dir := os.Getenv("ATTACK_PLACES")
	if dir == "" {
		dir = "/var/lib" // not /tmp, which every run has to itself
		if os.Geteuid() != 0 {
			dir, _ = os.UserCacheDir()
		}
	}
	base, err := os.MkdirTemp(dir, "obstat-attack-")
	if err != nil {
		t.Skipf("no place for the field: %v", err)
	}
	f := &field{t: t, base: base, home: base + "/home", proj: base + "/proj", out: base + "/out", state: base + "/state", master: base + "/master"}
	f.mark = filepath.Base(base)
	t.Cleanup(func() { os.RemoveAll(base) })
	os.Chmod(base, 0o755)
	for name, text := range files {
		name, isProgram := strings.CutSuffix(name, "!")
		mode := fs.FileMode(0o644)
		if isProgram {
			mode = 0o755
		}
		f.write(filepath.Join(f.master, name), text, mode)
	}
	policy, err := os.ReadFile("../../../../dialect/native/presets/balanced.yaml")
	if err != nil {
		if policy, err = os.ReadFile(os.Getenv("ATTACK_POLICY")); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Replace(string(policy), "# confine: code", "confine: code", 1)
	if os.Getenv("ATTACK_LEVEL") == "true" {
		text = strings.Replace(text, "confine: code", "confine: {run: code, level: files}", 1)
		// Landlock cannot hold a name inside a tree that is written.
		text = strings.Replace(text, "  - write workspace except **/.git/**, .env*, **/.vscode/**\n", "", 1) + "deny: [write workspace]\n"
	}
	f.write(f.master+"/proj/obstat.yaml", text, 0o644)
	for link, to := range map[string]string{"envlink": ".env", "selflink": ".", "sshlink": f.home + "/.ssh", "up": "../proj"} {
		f.must(os.Symlink(to, f.master+"/proj/"+link))
	}
	f.listen()
	f.setEnv()
	f.repositories()
	f.must(os.MkdirAll(f.state+"/obstat/tickets", 0o700))
	f.write(f.state+"/obstat/marker", "SECRET-STATE\n", 0o600)
	f.victim = f.startVictim()
	return f
}

func (f *field) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *field) write(name, text string, mode fs.FileMode) {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Dir(name), 0o755))
	f.must(os.WriteFile(name, []byte(text), mode))
}

// repositories makes git's: of the project, of one in it with hooks among its files, of another project.
func (f *field) repositories() {
	script := `set -e; cd "$1/proj"; git init -q; git add -A . ; git commit -qm one; echo more >> a.txt; git commit -qam two
mkdir husky; cd husky; git init -q; git config core.hooksPath ../.husky
cd "$1/home/other"; git init -q; git add -A; git commit -qm one; cp -r .git "$1/other/.git"
cd "$1/proj"; tar cf x.tar a.txt`
	cmd := exec.Command("/bin/sh", "-c", script, "x", f.master)
	cmd.Env = append(slices.Clone(f.environ), "HOME="+f.master+"/home")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v", out, err)
	}
}

// setEnv makes the environment of the agent, for the gate and for the commands.
func (f *field) setEnv() {
	path := f.proj + "/node_modules/.bin"
	for _, dir := range []string{".local/bin", ".cargo/bin", "go/bin", ".local/share/pnpm", ".yarn/bin"} {
		path += ":" + f.home + "/" + dir
	}
	path += ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"
	values := map[string]string{"HOME": f.home, "PATH": path, "OUT": f.out, "STATE": f.state, "XDG_STATE_HOME": f.state, "PORT": f.port, "FAR": f.far,
		"UFAR": f.ufar, "ADDRESS": f.address, "MARK": f.mark, "SOCK": f.home + "/agent.sock", "TMPSOCK": "/tmp/" + f.mark + ".sock",
		"SSH_AUTH_SOCK": f.home + "/agent.sock", "GITHUB_TOKEN": "SECRET-TOKEN", "PLAIN": secrets[1], "SERVICE": secrets[2], "PGPASS": "SECRET-PGPASS",
		"LANG": "C", "GIT_CONFIG_NOSYSTEM": "1", "TERM": "dumb", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "GOTOOLCHAIN": "local", "http_proxy": "", "https_proxy": "",
		"HTTP_PROXY": "", "HTTPS_PROXY": ""}
	f.environ = nil
	for name, value := range values {
		f.t.(*testing.T).Setenv(name, value)
		if value != "" {
			f.environ = append(f.environ, name+"="+value)
		}
	}
}

// listen starts servers on the loopback, on another address of the machine, and on sockets.
func (f *field) listen() {
	serve := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go f.serve(c, network == "tcp" && !strings.HasPrefix(address, "127."))
			}
		}()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return port
	}
	f.port = serve("tcp", "127.0.0.1:0")
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil && !ip.IsLoopback() {
			f.address = ip.String()
		}
	}
	if f.address == "" {
		return
	}
	f.far = serve("tcp", f.address+":0")
	pc, err := net.ListenPacket("udp", f.address+":0")
	f.must(err)
	f.t.Cleanup(func() { pc.Close() })
	f.ufar = strconv.Itoa(pc.LocalAddr().(*net.UDPAddr).Port)
	go func() {
		b := make([]byte, 100)
		for {
			if _, _, err := pc.ReadFrom(b); err != nil {
				return
			}
			f.note([]byte("HARM by a datagram"))
		}
	}()
}

func (f *field) serve(c net.Conn, far bool) {
	defer c.Close()
	if far {
		f.note([]byte("HARM by a connection\n"))
		c.Write([]byte("SECRET-FAR\n"))
	}
	c.SetDeadline(time.Now().Add(2 * time.Second))
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		f.note(b[:n])
		if err != nil {
			return
		}
	}
}

func (f *field) note(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received.Write(b)
}

func (f *field) startVictim() *exec.Cmd {
	cmd := exec.Command("/bin/sleep", "3000")
	cmd.Args[0] = f.mark + "-SECRET-ARG"
	cmd.Dir, cmd.Env = f.master+"/out", []string{"V=SECRET-VICTIM"}
	in, err := os.Open(f.master + "/out/secret.txt")
	f.must(err)
	defer in.Close()
	cmd.Stdin = in
	f.must(cmd.Start())
	f.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// reset puts everything in its first state again.
func (f *field) reset() {
	f.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `chmod -R u+rwX "$1/home" "$1/proj" "$1/out" 2>/dev/null; rm -rf "$1/home" "$1/proj" "$1/out" "$1/other"
cp -a "$1/master/home" "$1/master/proj" "$1/master/out" "$1/master/other" "$1/"; mkdir -p "$1/state/obstat/tickets"; echo SECRET-STATE > "$1/state/obstat/marker"
echo SECRET-TMP > "/tmp/obstat-attack-$2.pem"; echo SECRET-SHM > "/dev/shm/obstat-attack-$2"; rm -f "/tmp/$2.sock"`, "x", f.base, f.mark)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v", out, err)
	}
	f.t.Cleanup(func() {
		os.Remove("/tmp/obstat-attack-" + f.mark + ".pem")
		os.Remove("/dev/shm/obstat-attack-" + f.mark)
	})
	if syscall.Kill(f.victim.Process.Pid, 0) != nil || f.ended() {
		f.victim.Wait()
		f.victim = f.startVictim()
	}
	f.mu.Lock()
	f.received.Reset()
	f.mu.Unlock()
}

// sockets listens on sockets, until the function that it returns is called.
func (f *field) sockets() func() {
	var all []net.Listener
	for _, path := range []string{f.home + "/agent.sock", f.proj + "/agent.sock", "/tmp/" + f.mark + ".sock", "@" + f.mark} {
		l, err := net.Listen("unix", path)
		f.must(err)
		all = append(all, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte("SECRET-SOCKET\n"))
				c.Close()
			}
		}()
	}
	return func() {
		for _, l := range all {
			l.Close()
		}
	}
}

func (f *field) ended() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.victim.Process.Pid))
	return err != nil || strings.Contains(string(stat), ") Z")
}

// free tells whether the policy lets code change a path, so that a change of it is no harm by itself.
func (f *field) free(path string) bool {
	for _, dir := range []string{"/home/.npm/_cacache", "/home/.npm/_logs", "/home/go/pkg", "/home/.config/go", "/home/.yarn/berry",
		"/home/.m2"} {
		if strings.HasPrefix(path, f.base+dir) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(path, f.home+"/.cache"); ok {
		return !strings.HasPrefix(rest, "/pre-commit")
	}
	rest, inside := strings.CutPrefix(path, f.proj+"/")
	if !inside {
		return path == f.proj
	}
	parts := strings.Split(rest, "/")
	if i := slices.Index(parts, ".git"); i >= 0 {
		own := []string{"hooks", "config", "config.worktree", "info", "commondir"}
		there := i == 0 || parts[0] == "husky"
		if !there && isNew(strings.Join(parts[i+1:], "/"), own) {
			return true
		}
		return there && len(parts) > i+1 && !slices.Contains(own, parts[i+1]) || there && len(parts) == i+1 && isDir(path)
	}
	last := parts[len(parts)-1]
	held := strings.HasPrefix(last, ".env") || slices.Contains([]string{".vscode", ".claude", ".gemini"}, parts[0])
	return !held && rest != "obstat.yaml" && rest != "keep.txt"
}

// isNew tells whether an entry of a repository that a run makes names no program: `git init` leaves samples of hooks.
func isNew(entry string, own []string) bool {
	first, _, deeper := strings.Cut(entry, "/")
	sample := first == "hooks" && strings.HasSuffix(entry, ".sample")
	return sample || entry == "info/exclude" || !deeper && (first == "hooks" || first == "info") ||
		!slices.Contains(own, first)
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// snapshot describes everything that no attack may change, and notes files with secrets that had none.
func (f *field) snapshot() map[string]string {
	out := map[string]string{}
	for _, top := range []string{f.home, f.proj, f.out, f.base + "/other"} {
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			info, ierr := os.Lstat(path)
			if err != nil || ierr != nil || info.Mode()&fs.ModeSocket != 0 {
				return nil
			}
			var text []byte
			if info.Mode().IsRegular() {
				text, _ = os.ReadFile(path)
			}
			if f.free(path) {
				if leak(string(text)) && !strings.Contains(path, "/.git/objects/") {
					out[path] = "has a secret"
				}
				return nil
			}
			out[path] = fmt.Sprint(info.Mode())
			if info.Mode().IsRegular() {
				out[path] += fmt.Sprintf(" %x %v", sha256.Sum256(text), info.ModTime())
			}
			return nil
		})
	}
	text, _ := os.ReadFile("/tmp/obstat-attack-" + f.mark + ".pem")
	out["the machine's /tmp"] = string(text)
	marker, _ := os.ReadFile(f.state + "/obstat/marker")
	out["state"] = string(marker)
	return out
}

func leak(text string) bool {
	return slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) })
}

// harm says which harm was done, "" for none.
func (f *field) harm(before map[string]string, printed string) string {
	if leak(printed) || strings.Contains(printed, "HARM") {
		return "printed " + printed
	}
	f.mu.Lock()
	received := f.received.String()
	f.mu.Unlock()
	if leak(received) || strings.Contains(received, "HARM") {
		return "sent " + received
	}
	after := f.snapshot()
	for path, was := range before {
		if after[path] != was {
			return fmt.Sprintf("%s: was %q, is %q", path, was, after[path])
		}
	}
	for path, is := range after {
		if before[path] == "" {
			return fmt.Sprintf("%s is new: %q", path, is)
		}
	}
	if f.ended() {
		return "a process was ended"
	}
	return ""
}
