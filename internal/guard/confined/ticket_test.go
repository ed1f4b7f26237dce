package confined

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
)

// TestTicket: a ticket is used once, in time, for its own command in its own directory; whatever comes
// of it, it is gone afterwards.
func TestTicket(t *testing.T) {
	dir, other, state := t.TempDir(), t.TempDir(), t.TempDir()
	now := time.Now()
	for _, tt := range []struct {
		name         string
		command, dir string
		at           time.Time
		change       func(file string)
		want         error
	}{
		{name: "as it was given", command: "make", dir: dir, at: now},
		{name: "another command", command: "make x", dir: dir, at: now, want: ErrChanged},
		{name: "another directory", command: "make", dir: other, at: now, want: ErrChanged},
		{name: "too late", command: "make", dir: dir, at: now.Add(Lifetime + time.Second), want: ErrExpired},
		{name: "without an end", command: "make", dir: dir, at: now, want: ErrExpired, change: func(file string) {
			text, _ := os.ReadFile(file)
			at := strings.Index(string(text), `"expires":"`) + len(`"expires":"`)
			end := at + strings.Index(string(text[at:]), `"`)
			_ = os.WriteFile(file, []byte(string(text[:at])+"0001-01-01T00:00:00Z"+string(text[end:])), 0o600)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ticket := &Ticket{Command: "make", Call: obstat.Call{Dir: dir, Session: "s"}, Expires: now.Add(Lifetime)}
			name, err := Issue(state, ticket)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(ticketDir(state), name+".json")
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("%v, %v", info, err)
			}
			if tt.change != nil {
				tt.change(file)
			}
			got, err := Redeem(state, name, tt.command, tt.dir, tt.at)
			if !errors.Is(err, tt.want) || (err == nil) != (got != nil) {
				t.Errorf("%v, %v", got, err)
			}
			if _, err := Redeem(state, name, "make", dir, now); !errors.Is(err, ErrNoTicket) {
				t.Errorf("it could be used again: %v", err)
			}
		})
	}
	for _, name := range []string{"", "x", "../x", strings.Repeat("0", 32), "../../" + strings.Repeat("0", 26)} {
		if _, err := Redeem(state, name, "make", dir, now); !errors.Is(err, ErrNoTicket) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(ticketDir(state)); len(left) != 0 {
		t.Errorf("%v stay behind", left)
	}
}

// TestTicketRace: of many that use a ticket at once, one gets it.
func TestTicketRace(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	name, err := Issue(state, &Ticket{Command: "make", Call: obstat.Call{Dir: dir}, Expires: time.Now().Add(Lifetime)})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan bool)
	for range 32 {
		go func() {
			_, err := Redeem(state, name, "make", dir, time.Now())
			got <- err == nil
		}()
	}
	n := 0
	for range 32 {
		if <-got {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d have used it", n)
	}
}

func TestKeep(t *testing.T) {
	got := Keep([]string{"PATH=/bin", "GITHUB_TOKEN=x", "DB_PASSWORD=x", "OPENAI_API_KEY=x", "AUTHOR=me", "GIT_AUTHOR_NAME=me", "LC_ALL=C",
		"SSH_AUTH_SOCK=/s", "URL=https://u:p@h/", "HTTPS_PROXY=http://p:1", "OBSTAT_X=1", "NPM_CONFIG__AUTH=x", "=bad", "MANPATH=/m", "KEYMAP=us"}, nil)
	got = append(got, Keep([]string{"STRIPE=sk_live_abcdefghij0123456789", "X=AKIAIOSFODNN7EXAMPLE", "CERT=-----BEGIN RSA PRIVATE KEY-----\nx\n",
		"PGPASS=hunter2x", "MYSQL_PWD=abcdef", "OPENAI=Zx81kQpW03mNvB77tRyU2sLd", "SVC=Bearer abcdefghijklmnop0123", "MAX_TOKENS=4096"}, nil)...)
	got = append(got, Keep([]string{"GITHUB_SHA=3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "VIRTUAL_ENV=/home/u/p/.venv", "TERM_SESSION_ID=w0t0p0:1"}, nil)...)
	slices.Sort(got)
	if want := "AUTHOR GITHUB_SHA GIT_AUTHOR_NAME KEYMAP LC_ALL MANPATH MAX_TOKENS PATH TERM_SESSION_ID VIRTUAL_ENV"; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
	if got := Keep([]string{"SSH_AUTH_SOCK=/s"}, []string{"/s"}); len(got) != 1 {
		t.Errorf("a socket that is open: %q", got)
	}
}

// TestAddresses: hosts of registries are found in the settings as package managers write them.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"registry=https://npm.test:8443/r/\n":                               "npm.test:8443",
		"[global]\nindex-url = http://u:p@pip.test/simple\n":                "pip.test:80",
		"https://proxy.test,direct\nsum.test\n":                             "proxy.test:443 sum.test:443",
		`{"dl":"https://crates.test/{crate}","api":"https://crates2.test"}`: "crates.test:443 crates2.test:443",
		`index = "sparse+https://index.test/"`:                              "index.test:443",
		"off\ndirect\n":                                                     "",
	} {
		var got []string
		for _, f := range addresses(text) {
			got = append(got, f.Host+":"+itoa(f.Port))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}
