package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Spool is the file that short-lived processes append to, beside the store
// that they have no time to open: one sealed record a line, in a chain of its
// own. Whoever runs longer takes it in with [Absorb].
//
// The first line is a header that says what the first record follows, so that
// the chain goes on after the records before it were taken in. The lock is the
// file's own.
type Spool struct {
	Path string

	// crash, where a test sets it, tells at which step the process dies.
	crash func(step string) bool
}

var _ Appender = (*Spool)(nil)

// SpoolPath returns where the spool of a database file is.
func SpoolPath(db string) string { return db + ".spool" }

// KeyPath returns where the key of a database file's digests is.
func KeyPath(db string) string { return db + ".key" }

// A spoolHeader is the first line of a spool.
type spoolHeader struct {
	Spool int `json:"spool"` // version
	Head
}

const spoolVersion = 1

var errCrash = errors.New("the process is dead")

// dies tells whether a test wants the process to die here.
func (s *Spool) dies(step string) bool { return s.crash != nil && s.crash(step) }

// open opens and locks the file. One that was replaced while the lock was
// waited for is not the spool any more.
func (s *Spool) open(ctx context.Context, exclusive bool) (*os.File, error) {
	flag := os.O_RDONLY
	if exclusive {
		flag = os.O_RDWR
	}
	for {
		f, err := os.OpenFile(s.Path, flag, 0)
		if err != nil {
			return nil, err
		}
		if err := lock(ctx, f, exclusive); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		mine, err := f.Stat()
		if err == nil {
			var now os.FileInfo
			if now, err = os.Stat(s.Path); err == nil && os.SameFile(mine, now) {
				return f, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// lock waits for the lock as long as ctx does; a file whose lock was not waited
// for is closed.
func lock(ctx context.Context, f *os.File, exclusive bool) error {
	if ctx.Done() == nil {
		return closeOn(lockFile(f, exclusive), f)
	}
	got := make(chan error, 1)
	go func() { got <- lockFile(f, exclusive) }()
	select {
	case err := <-got:
		return closeOn(err, f)
	case <-ctx.Done():
		go func() { <-got; f.Close() }()
		return fmt.Errorf("waiting for the lock: %w", ctx.Err())
	}
}

func closeOn(err error, f *os.File) error {
	if err != nil {
		f.Close()
	}
	return err
}

// create makes the file with its header, whole or not at all.
func (s *Spool) create(after Head, replace bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(s.Path), ".spool-*") // readable by its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	line, err := encode(spoolHeader{spoolVersion, after})
	if err == nil {
		_, err = tmp.Write(append(line, '\n'))
	}
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if s.dies("before the new file is in place") {
		return errCrash
	}
	if replace {
		err = os.Rename(tmp.Name(), s.Path)
	} else if err = os.Link(tmp.Name(), s.Path); errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	}
	return errors.Join(err, syncDir(filepath.Dir(s.Path)))
}

// Append seals records into the spool's chain and returns once they will
// survive a crash. On an error none of them is there.
func (s *Spool) Append(ctx context.Context, records ...*Record) error {
	drafts := make([]*Draft, len(records))
	for i, r := range records {
		r.Spool = nil
		var err error
		if drafts[i], err = r.Draft(); err != nil {
			return err
		}
	}
	f, err := s.open(ctx, true)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.create(Head{}, false); err == nil {
			f, err = s.open(ctx, true)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(s.append(f, drafts), f.Close())
}

func (s *Spool) append(f *os.File, drafts []*Draft) error {
	t, err := readTail(f)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	if s.dies("before anything is written") {
		return errCrash
	}
	if t.torn != nil {
		note, err := spoolTorn(t.torn).Draft()
		if err != nil {
			return err
		}
		drafts = append([]*Draft{note}, drafts...)
		if err := f.Truncate(t.end); err != nil {
			return err
		}
	}
	var buf []byte
	head := t.head
	for _, d := range drafts {
		buf = append(append(buf, d.Seal(head)...), '\n')
		head = Head{d.r.Seq, d.r.Hash}
	}
	if s.dies("in the middle of writing") {
		_, err := f.WriteAt(buf[:len(buf)/2], t.end)
		return errors.Join(errCrash, err)
	}
	_, err = f.WriteAt(buf, t.end)
	if err == nil && !s.dies("before it is durable") {
		err = syncData(f)
	}
	if err != nil {
		// What was not acknowledged must not be there; if it stays, it is torn
		// and the next one cuts it off.
		return errors.Join(err, f.Truncate(t.end))
	}
	return nil
}

// A tail is the end of a spool.
type tail struct {
	head Head
	end  int64  // of the last whole line
	torn []byte // what a crash left behind it
}

// readTail reads the end of a spool: no more than its last line.
func readTail(f *os.File) (t tail, err error) {
	st, err := f.Stat()
	if err != nil {
		return t, err
	}
	size := st.Size()
	for n := int64(4 << 10); ; n *= 4 {
		n = min(n, size)
		buf := make([]byte, n)
		if _, err := f.ReadAt(buf, size-n); err != nil && !errors.Is(err, io.EOF) {
			return t, err
		}
		t, ok, err := tailOf(buf, size, n == size)
		if ok || err != nil {
			return t, err
		}
		if n > 4*maxRecord || n == size {
			return t, fmt.Errorf("%w: it has no line that is a record", ErrNotOurs)
		}
	}
}

// tailOf finds the last whole line in the end of a file; ok is false where more
// of the file is needed.
func tailOf(buf []byte, size int64, whole bool) (t tail, ok bool, err error) {
	stop := bytes.LastIndexByte(buf, '\n') + 1
	for stop > 0 {
		begin := bytes.LastIndexByte(buf[:stop-1], '\n') + 1
		if begin == 0 && !whole {
			return t, false, nil
		}
		line := buf[begin:stop]
		// A crash of the machine can leave a hole of zeros in the last line.
		if bytes.IndexByte(line, 0) >= 0 {
			stop = begin
			continue
		}
		t.end = size - int64(len(buf)-stop)
		if stop < len(buf) {
			t.torn = buf[stop:]
		}
		t.head, err = headOfLine(line)
		return t, true, err
	}
	return t, false, nil
}

// headOfLine returns what follows a line, be it a record or the header. A
// record that was edited keeps its place, so that what follows shows it.
func headOfLine(line []byte) (Head, error) {
	if l, err := unseal(line); err == nil {
		return Head{l.Seq, l.Hash}, nil
	}
	return readHeader(line)
}

func readHeader(line []byte) (Head, error) {
	var h spoolHeader
	if err := json.Unmarshal(line, &h); err != nil || h.Spool < 1 {
		return Head{}, fmt.Errorf("%w: a line of it is no record", ErrNotOurs)
	}
	if h.Spool > spoolVersion {
		return Head{}, ErrNewer
	}
	return h.Head, nil
}

// A tornDetail says what was found behind the last whole record.
type tornDetail struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text,omitempty"`
}

func spoolTorn(torn []byte) *Record {
	return spoolNote("a record that was never acknowledged was cut off: the process that wrote it died", torn, "")
}

// NoRecord is the record of a line that is none, where one should be.
func NoRecord(line []byte) *Record {
	return spoolNote("a line of the spool is no record", line, string(line[:min(len(line), 64<<10)]))
}

func spoolNote(reason string, b []byte, text string) *Record {
	sum := sha256.Sum256(b)
	detail, err := encode(tornDetail{len(b), hex.EncodeToString(sum[:]), text})
	if err != nil {
		detail = nil // unreachable: it is a number and text
	}
	return &Record{Time: time.Now(), Kind: Spooled, Reason: reason, Detail: detail}
}
