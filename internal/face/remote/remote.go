// Package remote lets a hook work with a server: calls are decided here, by the
// policy that the server distributes and signs, asks and records go to the server.
//
// It owns what a machine keeps of the server it has joined: where it is, its key,
// the last policy, and how far the ledger was sent. Without the server nothing is
// looser: what the policy allows is asked, and records wait in the local file.
package remote

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// Joined is a server that this machine works with.
type Joined struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	Key   string `json:"key"` // of the server, base64: a policy that it has not signed does not count
	// Number is that of the newest policy that came from the server: an older one does not count.
	Number uint64 `json:"number"`
}

// kept is remembered between calls.
type kept struct {
	Bundle  client.Bundle `json:"bundle"`
	Fetched time.Time     `json:"fetched"`
	Sent    uint64        `json:"sent"` // sequence number of the last record that the server has
}

const (
	// fresh is how long a policy is used without asking the server again.
	fresh = 30 * time.Second
	// patience is how long the server may take while a call waits.
	patience = 2 * time.Second
	// maxSent bounds how many records are sent at a time.
	maxSent = 500
)

// A Server is the server that a hook works with.
type Server struct {
	joined Joined
	dir    string
	client *client.Client
	files  gate.Source
	log    ledger.Reader

	mu   sync.Mutex
	kept *kept
	last *dialect.Loaded
	err  error // why the server is not there
}

func joinedPath(dir string) string { return filepath.Join(dir, "server.json") }
func keptPath(dir string) string   { return filepath.Join(dir, "server-policy.json") }

// Load returns the server that this machine has joined; dir is the state directory.
func Load(dir string) (*Joined, error) {
	data, err := os.ReadFile(joinedPath(dir))
	if err != nil {
		return nil, errors.New("this machine has joined no server: run obstat join URL --token TOKEN")
	}
	j := new(Joined)
	return j, json.Unmarshal(data, j)
}

// Join asks a server for its key and its policy, and keeps both. With a key, the
// server has to have that one.
func Join(ctx context.Context, dir, at, token, key string) (*Joined, error) {
	if err := private(at); err != nil {
		return nil, err
	}
	j := &Joined{URL: at, Token: token, Key: key}
	c, err := j.Client()
	if err != nil {
		return nil, err
	}
	b, err := c.Bundle(ctx)
	if err != nil {
		return nil, err
	}
	if j.Key == "" {
		j.Key = b.Key
	}
	v, err := j.read(b)
	if err != nil {
		return nil, err
	}
	j.Number = v.Number
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := write(keptPath(dir), &kept{Bundle: *b, Fetched: time.Now()}); err != nil {
		return nil, err
	}
	return j, write(joinedPath(dir), j)
}

// private says why a server is not to be joined at an address: on the way to another machine
// the token could be read, and another policy be put in the place of the server's.
func private(at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" {
		return nil // https; of anything else the client says why not
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is another machine, so it is joined by https", u.Host)
}

// write replaces a file whole.
func write(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return statedir.Replace(path, data)
}

// read returns the policy of a bundle that the server's key has signed, unless it is older than
// one that was here before.
func (j *Joined) read(b *client.Bundle) (*client.NumberedPolicy, error) {
	pub, err := base64.StdEncoding.DecodeString(j.Key)
	if err != nil || len(pub) != ed25519.PublicKeySize {
		return nil, errors.New("the server's key is no key")
	}
	sig, err := base64.StdEncoding.DecodeString(b.Signature)
	if err != nil || !ed25519.Verify(pub, []byte(b.Policy), sig) {
		return nil, errors.New("the server's policy is not signed by the key that was accepted when this machine joined")
	}
	v := new(client.NumberedPolicy)
	if err := json.Unmarshal([]byte(b.Policy), v); err != nil {
		return nil, err
	}
	if v.Number < j.Number {
		return nil, fmt.Errorf("the server's policy has the number %d, and this machine has had %d: an old one was played back, or the server was restored from a backup, which obstat join accepts", v.Number, j.Number)
	}
	return v, nil
}

// raise remembers that a policy of that number was here. Another process may have seen a newer
// one meanwhile, or joined another server.
func (s *Server) raise(number uint64) error {
	j, err := Load(s.dir)
	if err != nil {
		return err
	}
	if j.Key == s.joined.Key && j.Number < number {
		j.Number = number
		err = write(joinedPath(s.dir), j)
	}
	s.joined.Number = max(s.joined.Number, number)
	return err
}

// Client returns a client of the server.
func (j *Joined) Client() (*client.Client, error) {
	return client.New(client.Options{URL: j.URL, Token: j.Token})
}

// Open returns the server that was joined. files are the policies of this machine,
// which count as well; log has the records that are sent, nil sends none.
func Open(j *Joined, dir string, files gate.Source, log ledger.Reader) (*Server, error) {
	c, err := j.Client()
	return &Server{joined: *j, dir: dir, client: c, files: files, log: log}, err
}

// InForce returns the server's policy together with that of this machine; the
// strictest answer counts. Where the server is not there, nothing is allowed
// unasked.
func (s *Server) InForce(c *obstat.Call) (*policy.InForce, error) {
	f, err := s.files.InForce(c)
	l, away := s.policy()
	if l == nil {
		return nil, errors.Join(err, away)
	}
	theirs := policy.Of(l)
	if f != nil {
		both := *f
		both.Policies = append(f.Policies[:len(f.Policies):len(f.Policies)], theirs.Policies...)
		theirs = &both
	}
	if away != nil {
		away = fmt.Errorf("the server is not there: %w", away)
		gone := *theirs
		gone.Broken = append(gone.Broken[:len(gone.Broken):len(gone.Broken)], policy.Broken{Place: s.joined.URL, Err: away, Bound: true})
		return &gone, errors.Join(err, away)
	}
	return theirs, err
}

// Accept refuses: the server keeps the policy, and an answer there writes to it.
func (s *Server) Accept(context.Context, *gate.Accepted) error {
	return errors.New("the server keeps the policy")
}

// policy returns the server's policy, and an error where the server does not answer.
func (s *Server) policy() (*dialect.Loaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = new(kept)
		if data, err := os.ReadFile(keptPath(s.dir)); err == nil {
			_ = json.Unmarshal(data, s.kept) // a file that cannot be read is fetched anew
		}
	}
	if time.Since(s.kept.Fetched) > fresh || time.Since(s.kept.Fetched) < 0 {
		s.err = s.fetch()
	}
	if s.last == nil {
		v, err := s.joined.read(&s.kept.Bundle)
		if err != nil {
			return nil, errors.Join(s.err, err)
		}
		if s.last, err = compile(&v.PolicyVersion); err != nil {
			return nil, err
		}
	}
	return s.last, s.err
}

func compile(v *client.PolicyVersion) (*dialect.Loaded, error) {
	in := &dialect.Input{Options: v.Options}
	for _, f := range v.Files {
		in.Files = append(in.Files, dialect.File{Name: f.Name, Layer: f.Layer, Data: []byte(f.Text)})
	}
	d, err := all.Of(v.Dialect, in.Files)
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, in)
}

// fetch gets the policy of now, and sends the records that wait.
func (s *Server) fetch() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := s.client.Bundle(ctx)
	if err != nil {
		return err
	}
	v, err := s.joined.read(b)
	if err != nil {
		return err
	}
	if v.Number > s.joined.Number {
		if err := s.raise(v.Number); err != nil {
			return err
		}
	}
	s.kept.Bundle, s.kept.Fetched, s.last = *b, time.Now(), nil
	s.send(ctx)
	return write(keptPath(s.dir), s.kept)
}

// send sends the records that the server does not have. The rest waits.
func (s *Server) send(ctx context.Context) {
	if s.log == nil {
		return
	}
	var lines []string
	last := s.kept.Sent
	for r, err := range s.log.Records(ctx, ledger.Query{After: s.kept.Sent}) {
		if err != nil || len(lines) == maxSent {
			break
		}
		line, err := s.kept.Bundle.For.Line(r)
		if err != nil {
			break
		}
		lines, last = append(lines, line), r.Seq
	}
	if len(lines) > 0 && s.client.SendRecords(ctx, lines) == nil {
		s.kept.Sent = last
	}
}

// Ask puts a call to the people at the server, and tells whether they approved.
func (s *Server) Ask(ctx context.Context, call *obstat.Call, wait time.Duration) (approved bool, by obstat.By, err error) {
	c := *call
	if l, _ := s.policy(); l != nil {
		c.Mode = policy.Of(l).Main().ModeOf(call)
	}
	d, err := s.client.Decide(ctx, &c, wait)
	switch {
	case err != nil:
		return false, by, err
	case d.Verdict == obstat.Ask.String():
		return false, obstat.By{Kind: obstat.ByTimeout, Note: "nobody answered at the server in time; no human refused it, but it does not run"}, nil
	}
	by = d.By
	by.Note = "at the server: " + d.Reason
	return d.Verdict == obstat.Allow.String(), by, nil
}
