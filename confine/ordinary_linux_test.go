package confine

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ordinary are commands of a working day; each prints the same bare and confined. The first
// word of needs is a program that has to be installed.
var ordinary = []struct{ needs, script string }{
	{"", `echo out; echo err >&2; exit 3`},
	{"", `echo x > /dev/stdout; echo y > /dev/stderr; cat /dev/null`},
	{"", `f=$(mktemp); echo hi > $f; cat $f; rm $f`},
	{"", `printf 'b\na\n' | sort | tee sorted; wc -l < sorted`},
	{"bash", `bash -c 'diff <(echo a) <(echo b)'`},
	{"bash", `bash -c 'set -m; sleep 0.01 & wait; echo done; cat <<< here'`},
	{"", `seq 40 | xargs -P 4 -n 1 echo | sort -n | tail -1`},
	{"", `(sleep 0.01; echo late) & wait`},
	{"", `timeout 5 sh -c 'echo in time'; nice echo nice; nohup echo nohup 2>/dev/null`},
	{"", `trap 'echo caught' TERM; kill -TERM $$; echo after`},
	{"", `id -u; id -un; whoami; test -w . && echo writable; pwd | xargs basename`},
	{"", `ls -la / >/dev/null && df . >/dev/null && uname -s && nproc >/dev/null && echo ok`},
	{"", `mkdir -p a/b; touch a/b/c; cp -a a z; mv z y; find y | sort; rm -r y; ln -s a l; readlink l; rm -rf a l`},
	{"", `mkdir d1; echo 1 > d1/f; mv d1 d2; cat d2/f; rm -r d2`},
	{"", `echo v1 > f; echo v2 > f.new; mv f.new f; cat f; sed -i s/v2/v3/ f; cat f; chmod +x f; stat -c %a f`},
	{"", `tar czf t.tgz a.txt && tar tzf t.tgz && gzip -l t.tgz >/dev/null && echo ok`},
	{"", `head -c 100000 /dev/urandom | sha256sum >/dev/null && od -An -N2 /dev/zero`},
	{"", `mkfifo p; echo through > p & cat p; rm p`},
	{"", `cat /proc/self/status | grep -c Name; ls /proc/self/fd | wc -l | grep -q . && echo fds`},
	{"", `date +%Y | grep -c 20; getent passwd root | cut -d: -f1; getent hosts localhost | grep -c localhost`},
	{"script", `script -qec 'echo in a terminal; tty | grep -c /dev/pts' /dev/null | tr -d '\r'`},
	{"perl", `perl -e 'print join(",", sort map { $_*2 } 1..3), "\n"'`},
	{"awk", `awk 'BEGIN { "echo sub" | getline x; print x }'`},
	{"git", `git init -q g && cd g && git config user.email a@b && git config user.name n && echo 1 > f && git add -A && git commit -qm one && git log --oneline | wc -l && git status --short`},
	{"git", `git init -q g && cd g && git config user.email a@b && git config user.name n && echo 1 > f && git add f && git commit -qm one && echo 2 > f && git stash -q && cat f && git stash pop -q && cat f && git checkout -q -b x && git commit -qam two && git rebase -q HEAD~1 && git gc -q && git diff HEAD~1 --stat | tail -1`},
	{"git", `git init -q g && cd g && git config user.email a@b && git config user.name n && git commit -q --allow-empty -m e && git worktree add -q ../wt -b wt && cd ../wt && git remote add o ../g && git fetch -q o && git branch -a | wc -l`},
	{"git", `git init -q --bare b.git && git clone -q b.git c 2>/dev/null; cd c && git config user.email a@b && git config user.name n && echo 1 > f && git add f && git commit -qm one && git push -q origin HEAD && git ls-remote origin | wc -l`},
	{"make", `printf 'all: x\n\t@echo made\nx:\n\t@echo x > x\n' > Makefile && make && make && make -j4 -B`},
	{"gcc", `printf '#include <stdio.h>\nint main(){puts("compiled");}' > m.c && gcc -O1 -o m m.c && ./m`},
	{"/usr/bin/python3", `/usr/bin/python3 -c 'import os,sys,json,tempfile,subprocess,sqlite3; print(json.dumps([1])); print(subprocess.check_output(["echo","sub"]).decode().strip()); c=sqlite3.connect("d.db"); c.execute("create table t(x)"); c.commit(); print(tempfile.gettempdir())'`},
	{"/usr/bin/python3", `printf 'import unittest\nclass T(unittest.TestCase):\n  def test(self): self.assertEqual(1,1)\n' > test_x.py && /usr/bin/python3 -m unittest -q 2>&1 | tail -1`},
	{"/usr/bin/python3", `/usr/bin/python3 -c 'from multiprocessing import Pool
if __name__=="__main__":
  with Pool(2) as p: print(p.map(abs,[-1,-2]))'`},
	{"/usr/bin/python3", `/usr/bin/python3 - <<'P'
import http.server,threading,urllib.request
class H(http.server.BaseHTTPRequestHandler):
  def do_GET(s): s.send_response(200); s.end_headers(); s.wfile.write(b"served")
  def log_message(*a): pass
s=http.server.HTTPServer(("127.0.0.1",0),H); threading.Thread(target=s.serve_forever,daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d"%s.server_port).read().decode())
P`},
	{"/usr/bin/python3", `/usr/bin/python3 -c 'import socket,os; s=socket.socket(socket.AF_UNIX); s.bind("u.sock"); s.listen(); c=socket.socket(socket.AF_UNIX); c.connect("u.sock"); print("unix"); a,b=socket.socketpair(); print("pair"); os.remove("u.sock")'`},
	{"node", `node -e 'const fs=require("fs");fs.writeFileSync("n.txt","node");console.log(fs.readFileSync("n.txt","utf8"),require("os").cpus().length>0)'`},
	{"node", `node -e 'const h=require("http");const s=h.createServer((q,r)=>r.end("served")).listen(0,"localhost",()=>h.get({port:s.address().port,host:"localhost"},r=>r.on("data",d=>{console.log(""+d);s.close()})))'`},
	{"node", `node -e 'const {Worker}=require("worker_threads");new Worker("console.log(\"worker\")",{eval:true});require("child_process").exec("echo child",(e,o)=>console.log(o.trim()))' | sort`},
	{"node", `node -e 'const fs=require("fs");const w=fs.watch(".",()=>{console.log("seen");w.close();process.exit(0)});setTimeout(()=>fs.writeFileSync("w.txt","x"),20)'`},
	{"npm", `printf '{"name":"x","version":"1.0.0","scripts":{"test":"node -e \\"console.log(1+1)\\"","build":"echo built > out"}}' > package.json && npm test --silent && npm run -s build && cat out`},
	{"npm", `mkdir -p dep && printf '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json && echo 'module.exports=7' > dep/i.js && printf '{"name":"x","version":"1.0.0"}' > package.json && npm install --offline --no-audit --no-fund --silent ./dep && node -p 'require("dep")'`},
	{"go", `printf 'module x\ngo 1.20\n' > go.mod && printf 'package main\nfunc main(){println(Two())}\n' > m.go && printf 'package main\nfunc Two() int {return 2}\n' > t.go && printf 'package main\nimport "testing"\nfunc TestTwo(t *testing.T){ if Two()!=2 {t.Fatal()} }\n' > t_test.go && go vet . && go build -o x . && ./x 2>&1 && go test . | cut -f1`},
	{"cmake", `printf 'cmake_minimum_required(VERSION 3.10)\nproject(x C)\nadd_executable(x m.c)\n' > CMakeLists.txt && printf 'int main(){return 0;}' > m.c && cmake -S . -B bld >/dev/null && cmake --build bld >/dev/null && bld/x && echo cmade`},
	{"strace", `strace -f -o tr echo traced && grep -c execve tr`},
	{"ssh-keygen", `ssh-keygen -q -t ed25519 -N '' -f k && ssh-keygen -lf k.pub | grep -c ED25519`},
	{"openssl", `openssl rand -hex 4 | wc -c; echo x | openssl dgst -sha256 | grep -c .`},
	{"rsync", `mkdir s && echo 1 > s/f && rsync -a s/ t/ && cat t/f`},
	{"unzip", `printf 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==' | base64 -d > e.zip; unzip -l e.zip 2>&1 | grep -c empty`},
}

// toolTrees are the directories of toolchains outside the system's.
func toolTrees() (read []string) {
	for _, name := range []string{"go", "node", "npm"} {
		if path, err := exec.LookPath(name); err == nil {
			real, _ := filepath.EvalSymlinks(path)
			read = append(read, filepath.Dir(filepath.Dir(real)))
		}
	}
	return slices.Compact(read)
}

func TestOrdinaryCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compilers")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no directory for caches of compilers: %v", err)
	}
	cache = filepath.Join(cache, "go-build")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Skipf("no directory for caches of compilers: %v", err)
	}
	worked := map[Mode]int{}
	bare := 0
	for _, tt := range ordinary {
		if tt.needs != "" {
			if _, err := exec.LookPath(tt.needs); err != nil {
				t.Logf("%s is not installed", tt.needs)
				continue
			}
		}
		base := newPlace(t)
		environ := []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + base.home, "GOCACHE=" + cache, "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local",
			"npm_config_cache=/tmp/npm", "npm_config_update_notifier=false"}
		var out bytes.Buffer
		cmd := exec.Command("/bin/sh", "-c", tt.script)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = base.ws, environ, &out, &out
		cmd.Run()
		want, code := out.String(), cmd.ProcessState.ExitCode()
		bare++
		for _, mode := range []Mode{Overlay, Through} {
			p := newPlace(t)
			prof := p.profile(mode)
			read := toolTrees()
			prof.Read, prof.Execute = append(prof.Read, read...), append(prof.Execute, read...)
			prof.Read, prof.Write, prof.Delete, prof.Execute = append(prof.Read, cache), []string{cache}, []string{cache}, append(prof.Execute, cache)
			prof.ReadOnly = nil
			prof.Env = Env{Keep: []string{"*"}, Set: map[string]string{"HOME": p.home}}
			var got bytes.Buffer
			o := p.sh(prof, tt.script, func(c *Command) { c.Environ, c.Stdout, c.Stderr = environ, &got, &got })
			same := strings.ReplaceAll(got.String(), p.base, base.base) == want
			if o.err != nil || o.Exit != code || !same {
				t.Errorf("%s, %s: exit %d, want %d (%v)\ngot  %s\nwant %s", tt.script, mode, o.Exit, code, o.err, got.String(), want)
				continue
			}
			worked[mode]++
		}
	}
	t.Logf("uid %d: %d commands, the same in an overlay %d, written through %d", os.Geteuid(), bare, worked[Overlay], worked[Through])
}
