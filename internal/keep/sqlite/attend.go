package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

var _ approval.Attendance = (*Store)(nil)

// A process that waits for the answer to a request holds a lock on a file of the
// request's name in obstat.db.asking. The lock ends with the process, however that
// ends: SIGKILL included.

func (s *Store) attendance(id string) string {
	return filepath.Join(s.path+".asking", filepath.Base(id))
}

// stale is how old a file is before it is taken away: its process was killed, and
// no process looked at the request since.
const stale = time.Hour

// Attend says that this process waits for the answer, until leave is called. Where that
// cannot be said, the request ends with its time.
func (s *Store) Attend(id string) (leave func()) {
	name := s.attendance(id)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return func() {}
	}
	s.tidyAttendance(filepath.Dir(name))
	l := flock.New(name, flock.SetPermissions(0o600))
	if ok, err := l.TryLock(); !ok || err != nil {
		return func() {}
	}
	return func() {
		_ = os.Remove(name) // first: a file without a lock says that the process is gone
		_ = l.Close()
	}
}

// Gone tells whether the process that waited for the answer has ended.
func (s *Store) Gone(id string) bool {
	name := s.attendance(id)
	if _, err := os.Lstat(name); err != nil {
		return false // it never said that it waits
	}
	l := flock.New(name, flock.SetFlag(os.O_RDWR))
	defer l.Close()
	free, err := l.TryRLock()
	if !free || err != nil {
		return false
	}
	_, err = os.Lstat(name)
	return err == nil // else it has left just now, with its answer
}

// Ended writes down how a request ended that no process waits for any more.
func (s *Store) Ended(ctx context.Context, r *approval.Request, why string) error {
	return s.log.Append(ctx, &ledger.Record{Time: time.Now(), Kind: ledger.Answer, Agent: r.Call.Agent, Session: r.Call.Session, User: r.Call.User, Dir: r.Call.Dir, Tool: r.Call.Tool,
		Request: r.ID, Call: r.Digest, Policy: r.Policy, Verdict: string(r.State), Reason: why})
}

// tidyAttendance removes files that processes left behind long ago.
func (s *Store) tidyAttendance(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stale && s.Gone(e.Name()) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
