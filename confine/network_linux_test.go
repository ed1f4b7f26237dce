package confine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// listenHello answers each connection with its name, and returns the port.
func listenHello(t *testing.T, name string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			fmt.Fprintf(conn, "hello from %s\n", name)
			conn.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// dialTo leads every host to one port of the loopback and notes the addresses asked for.
func dialTo(port int, asked *[]string) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		*asked = append(*asked, address)
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+strconv.Itoa(port))
	}
}

const read = `get() { timeout 5 bash -c "exec 3<>/dev/tcp/$1/$2 && cat <&3" 2>&1 || echo "no $1:$2"; }; `

func TestNetworkByName(t *testing.T) {
	p := newPlace(t)
	port := listenHello(t, "registry")
	prof := p.profile(Through)
	prof.Network.Hosts = []Host{{Name: "registry.test", Ports: []int{443, 8080}}, {Name: "*.mirror.test", Ports: []int{443}}, {Name: "10.99.0.7", Ports: []int{80}}}
	var asked []string
	o := mustRun(t, p.sh(prof, read+`get registry.test 8080; get REGISTRY.test 443; get a.b.mirror.test 443; get 10.99.0.7 80
		get registry.test 81; get mirror.test 443; get evil.test 443; get 10.99.0.8 80; get 1.1.1.1 53; get 169.254.169.254 80; get 127.0.0.1 `+strconv.Itoa(port)+`
		getent ahosts registry.test | awk '{print $1}' | sort -u`,
		func(c *Command) { c.Dial = dialTo(port, &asked) }))
	if n := strings.Count(o.out, "hello from registry"); n != 4 {
		t.Errorf("%d answers, want 4:\n%s", n, o.out)
	}
	for _, no := range []string{"no registry.test:81", "no mirror.test:443", "no evil.test:443", "no 10.99.0.8:80", "no 1.1.1.1:53", "no 169.254.169.254:80",
		"no 127.0.0.1:" + strconv.Itoa(port)} {
		if !o.has(no) {
			t.Errorf("not refused: %s\n%s", no, o.out)
		}
	}
	slices.Sort(asked)
	if want := []string{"10.99.0.7:80", "a.b.mirror.test:443", "registry.test:443", "registry.test:8080"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	var names []string
	for _, r := range o.Refused {
		if r.Kind != "name" || !r.Exact {
			t.Errorf("refusal %+v", r)
		}
		names = append(names, r.Name)
	}
	if want := []string{"mirror.test", "evil.test"}; !slices.Equal(names, want) {
		t.Errorf("refused %v, want %v", names, want)
	}
	if !o.has("198.18.0.1") || !o.has("fd6f:") {
		t.Errorf("addresses of both families:\n%s", o.out)
	}
}

func TestNetworkOverTCPAndIPv6(t *testing.T) {
	p := newPlace(t)
	port := listenHello(t, "registry")
	exe, _ := os.Executable()
	prof := p.profile(Through)
	prof.Read, prof.Execute = append(prof.Read, exe), append(prof.Execute, exe)
	prof.Network.Hosts = []Host{{Name: "registry.test", Ports: []int{443}}}
	prof.Env.Set["CONFINE_ATTACK"] = "resolve-tcp"
	var asked []string
	o := mustRun(t, p.sh(prof, exe, func(c *Command) { c.Dial = dialTo(port, &asked) }))
	if !o.has("hello from registry") {
		t.Errorf("%s%s", o.out, o.errs)
	}
}

func TestNetworkProxy(t *testing.T) {
	p := newPlace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				asked <- req.Method + " " + req.Host + " " + req.Header.Get("Proxy-Authorization")
				if strings.HasPrefix(req.Host, "bad") {
					io.WriteString(conn, "HTTP/1.1 403 no\r\n\r\n")
				} else {
					io.WriteString(conn, "HTTP/1.1 200 ok\r\n\r\nhello by proxy\n")
				}
			}
			conn.Close()
		}
	}()
	prof := p.profile(Through)
	prof.Network = Network{Hosts: []Host{{Name: "far.test", Ports: []int{443}}, {Name: "bad.test", Ports: []int{443}}}, Proxy: "http://u:p@" + l.Addr().String()}
	o := mustRun(t, p.sh(prof, read+`get far.test 443; get bad.test 443`))
	if !o.has("hello by proxy") || <-asked != "CONNECT far.test:443 Basic dTpw" {
		t.Errorf("%s%s", o.out, o.errs)
	}
}

func TestNetworkLocalhost(t *testing.T) {
	p := newPlace(t)
	one, two := listenHello(t, "one"), listenHello(t, "two")
	prof := p.profile(Through)
	prof.Network.Localhost = []int{one}
	script := read + fmt.Sprintf("get localhost %d; get 127.0.0.1 %d; get ::1 %d; get localhost %d", one, one, one, two)
	o := mustRun(t, p.sh(prof, script))
	if strings.Count(o.out, "hello from one") != 3 || o.has("hello from two") {
		t.Errorf("%s%s", o.out, o.errs)
	}
	prof.Network = Network{AllLocalhost: true}
	if o := mustRun(t, p.sh(prof, script)); !o.has("hello from one") || !o.has("hello from two") {
		t.Errorf("all of localhost: %s%s", o.out, o.errs)
	}
}

// TestOwnMachineByName keeps a name from leading to the loopback.
func TestOwnMachineByName(t *testing.T) {
	port := listenHello(t, "own")
	_, err := Network{}.dialer(nil)(context.Background(), "tcp", "localhost:"+strconv.Itoa(port))
	if !errors.Is(err, errOwnMachine) {
		t.Errorf("localhost: %v", err)
	}
	for _, addr := range []string{"127.0.0.1:1", "[::1]:1", "169.254.169.254:80", "[fe80::1]:1", "0.0.0.0:1", "[::ffff:127.0.0.1]:1", "224.0.0.1:1"} {
		if refuseOwnMachine("tcp", addr, nil) == nil {
			t.Errorf("%s is reached", addr)
		}
	}
	if err := refuseOwnMachine("tcp", "10.0.0.1:443", nil); err != nil {
		t.Error(err)
	}
}

func TestPublish(t *testing.T) {
	p := newPlace(t)
	exe, _ := os.Executable()
	prof := p.profile(Through)
	prof.Read, prof.Execute = append(prof.Read, exe), append(prof.Execute, exe)
	prof.Network.Publish = true
	prof.Env.Set["CONFINE_ATTACK"] = "serve"
	port := freePort(t)
	taken := listenHello(t, "taken")
	prof.Env.Set["PORTS"] = fmt.Sprintf("127.0.0.1:%d [::]:%d 127.0.0.1:%d", port, freePort(t), taken)
	in, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 1)
	go func() {
		defer inW.Close()
		answers <- askUntil(port)
	}()
	o := mustRun(t, p.sh(prof, exe, func(c *Command) { c.Stdin = in }))
	if got := <-answers; !strings.Contains(got, "hello from inside") {
		t.Errorf("the published port answers %q", got)
	}
	if !slices.ContainsFunc(o.Refused, func(r Refusal) bool { return r.Kind == "publish" && r.Name == strconv.Itoa(taken) }) {
		t.Errorf("the taken port is not told: %v", o.Refused)
	}
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// askUntil connects to a port of the loopback until it answers, for at most a minute.
func askUntil(port int) string {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		b, _ := io.ReadAll(conn)
		conn.Close()
		if len(b) > 0 {
			return string(b)
		}
	}
	return "nothing"
}

// TestKeep leaves a server behind, reaches it from outside and from the next run, and ends it.
func TestKeep(t *testing.T) {
	p := newPlace(t)
	exe, _ := os.Executable()
	dir := p.base + "/session"
	prof := p.profile(Through)
	prof.Read, prof.Execute = append(prof.Read, exe), append(prof.Execute, exe)
	prof.Network.Publish = true
	port := freePort(t)
	prof.Env.Set["PORTS"] = fmt.Sprintf("127.0.0.1:%d", port)
	keep := func(c *Command) { c.Session, c.Keep = dir, true }
	o := mustRun(t, p.sh(prof, `echo note > /tmp/note; SERVE_FOREVER=1 CONFINE_ATTACK=serve `+exe+` </dev/null >/dev/null 2>&1 & echo started; exit 3`, keep))
	if o.Left != 1 || o.Exit != 3 || !o.has("started") {
		t.Errorf("%+v %s%s", o.Result, o.out, o.errs)
	}
	if got := askUntil(port); !strings.Contains(got, "hello from inside") {
		t.Errorf("from outside: %q", got)
	}
	kept, err := Left(dir)
	if err != nil || len(kept) != 1 || !slices.Equal(kept[0].Ports, []int{port}) {
		t.Errorf("left: %+v, %v", kept, err)
	}
	next := mustRun(t, p.sh(prof, read+fmt.Sprintf("cat /tmp/note; get localhost %d", port), func(c *Command) { c.Session = dir }))
	if !next.has("note") || !next.has("hello from inside") {
		t.Errorf("the next run: %s%s", next.out, next.errs)
	}
	stranger := mustRun(t, p.sh(prof, read+fmt.Sprintf("get localhost %d; cat /tmp/note", port)))
	if stranger.has("hello") || stranger.has("note\n") {
		t.Errorf("a run of no session: %s%s", stranger.out, stranger.errs)
	}
	if err := Stop(dir); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
		conn.Close()
		t.Error("the port is still published")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the session's directory is still there")
	}
}

// TestKeepNothing has no supervisor left where the command left nothing.
func TestKeepNothing(t *testing.T) {
	p := newPlace(t)
	dir := p.base + "/session"
	o := mustRun(t, p.sh(p.profile(Through), `echo done`, func(c *Command) { c.Session, c.Keep = dir, true }))
	if o.Left != 0 || !o.has("done") {
		t.Errorf("%+v %s", o.Result, o.out)
	}
	kept, _ := Left(dir)
	for _, k := range kept { // it is told before its supervisor ends
		waitUnlocked(session{dir}.file(k.PID, ".lock"))
	}
	if kept, err := Left(dir); len(kept) > 0 || err != nil {
		t.Errorf("left: %v, %v", kept, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, w, _ := os.Pipe()
	go func() { r.Read(make([]byte, 1)); cancel() }()
	res, err := Run(ctx, p.profile(Through), Command{Args: []string{"sh", "-c", "echo; sleep 1000"}, Stdout: w, Session: dir, Keep: true})
	if err != nil || res.Ended == "" {
		t.Errorf("%+v, %v", res, err)
	}
}
