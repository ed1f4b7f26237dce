package confine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample has every field set.
func sample() Profile {
	return Profile{
		Level: LevelFiles, Read: []string{"/usr", "/etc"}, Write: []string{"/home/u/.cache"}, Delete: []string{"/home/u/.cache"},
		Execute: []string{"/usr"}, Hidden: []string{"/home/u/.ssh", "/home/u/p/.env"}, ReadOnly: []string{"/home/u/p/.git/hooks"},
		Workspace: Workspace{Root: "/home/u/p", Mode: Overlay, State: "/home/u/.local/state/x"},
		Network: Network{Hosts: []Host{{"example.org", []int{443}}, {"*.example.net", []int{80, 443}}}, Localhost: []int{5432}, Publish: true,
			Proxy: "http://proxy:3128"},
		Sockets: []string{"/run/user/1000/ssh"}, Env: Env{Keep: []string{"PATH", "LC_*"}, Set: map[string]string{"CI": "1"}},
		Limits: Limits{Time: time.Minute, Processes: 100, Memory: 1 << 30, FileSize: 1 << 20, OpenFiles: 50, Temp: 1 << 28}, Owners: true,
		NotEnforced: []Gap{{"git push --force", "happens inside an allowed connection"}},
	}
}

func TestProfileRoundTrips(t *testing.T) {
	p := sample()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the sample leaves %s out", v.Type().Field(i).Name)
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Profile
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(p, back) {
		t.Errorf("%v: %+v, want %+v", err, back, p)
	}
	if zero, _ := json.Marshal(Profile{}); string(zero) != "{}" {
		t.Errorf("a zero Profile is %s", zero)
	}
}

func TestDigest(t *testing.T) {
	p, q := sample(), sample()
	q.Read = []string{"/etc", "/usr", "/etc"}
	q.Network.Hosts = []Host{q.Network.Hosts[1], q.Network.Hosts[0]}
	if p.Digest() != q.Digest() {
		t.Error("the order of lists changes the digest")
	}
	q.Owners = false
	if p.Digest() == q.Digest() || p.Digest() == (Profile{}).Digest() {
		t.Error("different Profiles have one digest")
	}
}

func TestGoldenTexts(t *testing.T) {
	for name, got := range map[string]string{"profile.txt": sample().String(), "zero.txt": Profile{}.String(), "seatbelt.sb": sample().Seatbelt(),
		"zero.sb": Profile{}.Seatbelt()} {
		file := filepath.Join("testdata", name)
		if os.Getenv("UPDATE") != "" {
			os.MkdirAll("testdata", 0o755)
			os.WriteFile(file, []byte(got), 0o644)
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// TestSeatbeltIsOneExpressionALine counts parentheses outside strings.
func TestSeatbeltIsBalanced(t *testing.T) {
	p := sample()
	p.Read = append(p.Read, `/a "quoted" (name)\`)
	depth, quoted := 0, false
	text := p.Seatbelt()
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == '(':
			depth++
		case !quoted && c == ')':
			depth--
		}
		if depth < 0 {
			t.Fatal("closed too early at", i)
		}
	}
	if depth != 0 || quoted || !strings.HasPrefix(text, "(version 1)\n(deny default)\n") {
		t.Error("not balanced:", text)
	}
}

func TestCheckTellsAll(t *testing.T) {
	p := Profile{Level: "x", Read: []string{"a", "/a/../b"}, Workspace: Workspace{Mode: "y", Root: "/"}, Env: Env{Keep: []string{"A=B"}},
		Network: Network{Hosts: []Host{{"", nil}, {"UPPER.org", []int{70000}}, {"a b", []int{1}}}, Localhost: []int{-1}, Proxy: "socks://x"},
		Limits:  Limits{Memory: 1, Time: -1}}
	err := p.Check()
	if err == nil {
		t.Fatal("no error")
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 14 {
		t.Errorf("%d problems:\n%v", n, err)
	}
}

func TestEnviron(t *testing.T) {
	e := Env{Keep: []string{"PATH", "LC_*"}, Set: map[string]string{"CI": "1", "PATH": "/bin"}}
	got := strings.Join(e.environ([]string{"PATH=/x", "LC_ALL=C", "TOKEN=s", "LCX=1", "CI=0"}), " ")
	if got != "CI=1 LC_ALL=C PATH=/bin" {
		t.Error(got)
	}
}

// A sentence about a thousand hidden names of one directory counts them; the others are listed.
func TestSentenceCountsManyNames(t *testing.T) {
	p := Profile{Hidden: []string{"/home/u/.ssh", "/home/u/.aws"}}
	for i := range 1000 {
		p.Hidden = append(p.Hidden, "/tmp/key-"+strconv.Itoa(i))
	}
	want := "Does not see /home/u/.aws, /home/u/.ssh, 1000 names in /tmp (key-0, key-1, key-10, …).\n"
	if got := p.String(); !strings.Contains(got, want) {
		t.Errorf("%s\nlacks %s", got, want)
	}
}
