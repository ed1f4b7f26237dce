package gate

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/policy"
)

// Sessions remember the marks that calls of a session got, for rules that come after something:
// `deny connect anywhere, after read secrets`. An error counts as if everything had been done.
type Sessions interface {
	// Marks returns the marks of a session.
	Marks(session string) ([]string, error)
	// Mark adds marks that the session does not have yet.
	Mark(session string, marks []string) error
	// Tally replaces the text of a key, a limit's count, by change's. Nothing else changes it meanwhile. change may be
	// called more than once, also with no text; the last call counts.
	Tally(key string, change func(text []byte) []byte) error
}

// A SessionDir is a directory that keeps the marks of each session in a file, for processes that
// live for a single call. Files are only ever added to.
type SessionDir string

var _ Sessions = SessionDir("")

func (d SessionDir) file(session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(string(d), hex.EncodeToString(sum[:16]))
}

// Marks reads the session's file.
func (d SessionDir) Marks(session string) (out []string, err error) {
	f, err := os.Open(d.file(session))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := lines.Text(); m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out, lines.Err()
}

// Mark adds lines to the session's file.
func (d SessionDir) Mark(session string, marks []string) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(d.file(session), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// One write: processes that mark at once do not mix their lines. A line that was cut off ends here.
	_, err = f.WriteString("\n" + strings.Join(marks, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// maxTally bounds the text of one key: some 200,000 calls.
const maxTally = 8 << 20

// Tally changes a file.
func (d SessionDir) Tally(key string, change func(text []byte) []byte) error {
	return statedir.Change(d.file(key)+".tally", maxTally, change)
}

// sessionMap remembers in memory.
type sessionMap struct {
	mu    sync.Mutex
	marks map[string][]string
	tally map[string][]byte
}

func (m *sessionMap) Tally(key string, change func(text []byte) []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.tally) >= maxSessions && m.tally[key] == nil {
		return fmt.Errorf("more than %d sessions are counted", maxSessions)
	}
	text := change(slices.Clip(m.tally[key]))
	if len(text) > maxTally {
		return fmt.Errorf("%d bytes of calls are more than can be counted", len(text))
	}
	if m.tally == nil {
		m.tally = map[string][]byte{}
	}
	if len(text) > 0 {
		m.tally[key] = text
	}
	return nil
}

// maxSessions bounds how many sessions are remembered in memory: they end without saying so.
const maxSessions = 100_000

func (m *sessionMap) Marks(session string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.marks[session]), nil
}

func (m *sessionMap) Mark(session string, marks []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.marks) >= maxSessions && m.marks[session] == nil {
		return fmt.Errorf("more than %d sessions have marks", maxSessions)
	}
	if m.marks == nil {
		m.marks = map[string][]string{}
	}
	m.marks[session] = append(m.marks[session], marks...)
	return nil
}

// sessionOf names the session of a call; calls without one are those of an agent in a directory.
func sessionOf(c *obstat.Call) string {
	if c.Session != "" {
		return c.Agent + "\x00" + c.Session
	}
	return c.Agent + "\x00\x00" + c.Anchor()
}

// circumstances finds those circumstances of a call that rules of the policies look at.
func (g *Gate) circumstances(c *obstat.Call, f *policy.InForce, world *obstat.Recorder) {
	if !slices.ContainsFunc(f.Policies, func(p *policy.Policy) bool { return p.Loaded.Policy.Circumstantial() }) {
		return
	}
	machine := obstat.Machine{World: g.opts.World, Marks: func() []string {
		marks, err := g.opts.Sessions.Marks(sessionOf(c))
		if err == nil {
			return marks
		}
		marks = nil
		for _, p := range f.Policies { // any of it may have happened
			marks = append(marks, p.Loaded.Policy.Marks()...)
		}
		return marks
	}, Ends: func() string { return g.ends(c, world.Analysis(c)) }}
	if keep := g.opts.Undo; keep != nil && !f.Undo().Off {
		machine.Reversible = func() bool { return keep.Reversible(world.Analysis(c)) }
	}
	for at := range obstat.Circumstances() {
		if slices.ContainsFunc(f.Policies, func(p *policy.Policy) bool { return p.Loaded.Policy.Wants(at.Field()) }) {
			at.Find(c, machine)
		}
	}
}

// remember keeps the marks of a call that is not denied.
func (p *passage) remember(d *obstat.Decision) error {
	if d.Verdict == obstat.Deny || len(p.j.Marks) == 0 {
		return nil
	}
	fresh := slices.DeleteFunc(slices.Clone(p.j.Marks), func(m string) bool { return slices.Contains(p.call.After, m) })
	if len(fresh) == 0 {
		return nil
	}
	return p.g.opts.Sessions.Mark(sessionOf(p.call), fresh)
}
