package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestAnswered: browsers leave the usual port out, and an address of IPv6 has colons of its own.
func TestAnswered(t *testing.T) {
	for _, tt := range []struct {
		cert  string
		hosts []string // where it listens
		names []string // of --host
		want  []string // beside them
	}{
		{"", []string{"127.0.0.1:8470"}, nil, nil},
		{"", []string{"127.0.0.1:80", "[::1]:80"}, nil, []string{"127.0.0.1", "[::1]"}},
		{"", []string{"[::1]:8470"}, []string{"gate.example"}, []string{"gate.example", "gate.example:8470"}},
		{"c.pem", []string{"0.0.0.0:443"}, []string{"gate.example"}, []string{"gate.example", "gate.example:443", "0.0.0.0"}},
		{"c.pem", []string{"0.0.0.0:8470"}, []string{"gate.example:443"}, []string{"gate.example:443", "gate.example"}},
		{"", nil, []string{"gate.example"}, []string{"gate.example"}},
	} {
		o := &serveOptions{Cert: tt.cert, Hosts: tt.names}
		got := o.answered(tt.hosts)
		for _, host := range append(slices.Clone(tt.hosts), tt.want...) {
			if !slices.Contains(got, host) {
				t.Errorf("%v %v: %q is not answered, but %q", tt.hosts, tt.names, host, got)
			}
		}
		for _, host := range got {
			if !slices.Contains(tt.hosts, host) && !slices.Contains(tt.want, host) && host != "gate.example" {
				t.Errorf("%v %v: %q is answered", tt.hosts, tt.names, host)
			}
		}
	}
}

// TestStoreAgain: the command that is shown for a token names the store of the server, without the
// password.
func TestStoreAgain(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	for path, want := range map[string]string{"": "", "/srv/o.db": " --store /srv/o.db", "my db": " --store 'my db'", "postgres://u:secret@db/o": " --store postgres://u@db/o"} {
		if got := (&storeOptions{Path: path}).again(); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
	t.Setenv("XDG_STATE_HOME", "/var/lib") // as of the systemd unit
	if got := new(storeOptions).again(); got != " --store /var/lib/obstat/obstat.db" {
		t.Errorf("%q", got)
	}
}

// TestKeepFlag: --keep is a time that has passed, and no typing error empties the ledger.
func TestKeepFlag(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "90m": 90 * time.Minute, "36h": 36 * time.Hour} {
		if got, err := (&serveOptions{Keep: text}).keep(); err != nil || got.Round(time.Minute) != want {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "1s", "59m", "-90d", "soon", "2999-01-01", "2026-01-31", "00:01"} {
		if got, err := (&serveOptions{Keep: text}).keep(); err == nil {
			t.Errorf("%q is taken as %s", text, got)
		}
	}
}

// TestServeLog: the log is lines of text or JSON from a level on.
func TestServeLog(t *testing.T) {
	for _, tt := range []struct{ format, level, want string }{
		{"", "", "level=INFO msg=told"}, {"text", "warn", ""}, {"json", "info", `"msg":"told"`}, {"json", "error", ""},
	} {
		words := new(output)
		o := &serveOptions{Factory: newFactory(&IO{Err: words}), LogFormat: tt.format, LogLevel: tt.level}
		log, err := o.logger()
		if err != nil {
			t.Fatal(err)
		}
		if log.Info("told"); tt.want == "" && words.String() != "" || !strings.Contains(words.String(), tt.want) {
			t.Errorf("%+v: %q", tt, words)
		}
		if tt.format == "json" && tt.want != "" && !json.Valid([]byte(words.String())) {
			t.Errorf("%q", words)
		}
	}
	for _, o := range []*serveOptions{{LogFormat: "xml"}, {LogLevel: "loud"}} {
		o.Factory = newFactory(&IO{Err: new(output)})
		if _, err := o.logger(); err == nil {
			t.Errorf("%q %q", o.LogFormat, o.LogLevel)
		}
	}
}

// TestLinkOnce: the link of the first login is in no log once somebody has a token or a login, and in none of a store
// that replicas share or where a provider logs people in.
func TestLinkOnce(t *testing.T) {
	keep := new(memory.Store)
	for name, o := range map[string]*serveOptions{"shared": {Store: storeOptions{Path: "postgres://u@db/o"}}, "provider": {Issuer: "https://id.example"}} {
		if !o.known(t.Context(), keep) {
			t.Errorf("%s: a link is printed", name)
		}
	}
	alone := &serveOptions{Store: storeOptions{Path: "o.db"}}
	if alone.known(t.Context(), keep) {
		t.Error("nobody can log in for the first time")
	}
	if _, err := server.NewToken(t.Context(), keep, client.TokenRequest{Kind: "person", Name: "ann", Roles: []string{"dev"}}, "test"); err != nil {
		t.Fatal(err)
	}
	if !alone.known(t.Context(), keep) {
		t.Error("a link is printed at every start")
	}
}
