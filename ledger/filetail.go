package ledger

import (
	"bytes"
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

// catchUp reads what other processes appended since this one looked last, and
// compares a file that was just opened with the head that was kept. It is called
// with the lock held.
func (f *File) catchUp() error {
	if f.fresh || f.size < f.last.end-f.view.base {
		return f.look()
	}
	var next [1]byte
	if n, _ := f.view.f.ReadAt(next[:], f.last.end-f.view.base); n == 0 || next[0] == 0 {
		return nil
	}
	return f.look()
}

// look finds the end of the file, cuts off what a crash left behind it, and
// writes down what is missing.
func (f *File) look() error {
	known, gone := f.last, false
	if f.fresh {
		k, missing, err := f.known()
		if err != nil {
			return err
		}
		if gone = missing; k.Seq > known.Seq {
			known = k
		}
	}
	last, found, err := f.view.tail(known)
	if err != nil {
		return err
	}
	var notes []*Record
	if !found {
		notes = append(notes, lost(known.Head, last.Head))
		f.force = true
	} else if gone && last.Seq > 0 {
		notes = append(notes, headGone())
	}
	f.dirty = f.dirty || last != known
	f.last, f.fresh = last, false
	torn, err := leftover(f.view.f, last.end-f.view.base, f.size)
	if err != nil {
		return err
	}
	if torn != nil {
		from := last.end - f.view.base
		if err := zero(f.view.f, from, from+int64(len(torn))); err != nil {
			return err
		}
		notes = append(notes, Torn(bytes.Trim(torn, "\x00")))
	}
	return f.note(notes)
}

// note appends records about the file itself; the next durable makes them so.
func (f *File) note(notes []*Record) error {
	for _, r := range notes {
		d, err := r.Draft()
		if err != nil {
			return err
		}
		line := append(d.Seal(f.last.Head), '\n')
		if err := f.put(line); err != nil {
			return err
		}
		f.last = kept{Head{r.Seq, r.Hash}, f.last.end, f.last.end + int64(len(line))}
		f.dirty = true
	}
	return nil
}

// leftover returns what is between the last record and the last byte that is not
// zero; nil if the byte behind the record is zero. A process that dies leaves the
// beginning of a line there, a machine that does may leave holes in it.
func leftover(f *os.File, from, size int64) ([]byte, error) {
	var first [1]byte
	if n, err := f.ReadAt(first[:], from); n == 0 || first[0] == 0 {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	rest, err := io.ReadAll(io.NewSectionReader(f, from, min(size-from, maxLine)))
	return bytes.TrimRight(rest, "\x00"), err
}

// A damageDetail says what is wrong with the file: what was cut off behind the
// last whole record, or which record was known to be there and is not.
type damageDetail struct {
	Bytes  int    `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Lost   *Head  `json:"lost,omitempty"`
}

// broken is the Verdict of a Damage record that verifying the chain reports: what
// it tells of is not what a crash leaves.
const broken = "broken"

// Torn is the record of bytes that a crash left behind the last record, and that
// were cut off.
func Torn(torn []byte) *Record {
	sum := sha256.Sum256(torn)
	return damage("a record that was never acknowledged was cut off: the process that wrote it died", damageDetail{Bytes: len(torn), SHA256: hex.EncodeToString(sum[:])})
}

// lost is the record of a head that was kept and that the file does not lead to.
func lost(known, end Head) *Record {
	reason := fmt.Sprintf("record %d was known to be here and is not: the file ends with record %d", known.Seq, end.Seq)
	if end.Seq >= known.Seq {
		reason = fmt.Sprintf("record %d is not the one that was known: it or one before it was changed, and what follows was sealed anew", known.Seq)
	}
	r := damage(reason, damageDetail{Lost: &known})
	r.Verdict = broken
	return r
}

func headGone() *Record {
	r := damage("the file that the last known head is kept in was gone: records may be missing here", damageDetail{})
	r.Verdict = broken
	return r
}

func damage(reason string, d damageDetail) *Record {
	detail, err := json.Marshal(d)
	if err != nil {
		detail = nil // unreachable: it is numbers and text
	}
	return &Record{Time: time.Now(), Kind: Damage, Reason: reason, Detail: detail}
}

// create makes the head file and then the ledger, each whole or not at all. Of
// several processes that do so at once one wins.
func (f *File) create() error {
	if _, err := os.Lstat(f.heads[0]); errors.Is(err, fs.ErrNotExist) {
		if err := putInPlace(f.heads[0], kept{}.encode(), false); err != nil {
			return err
		}
	}
	return putInPlace(f.path, appendFileHeader(nil, Head{}, 0), false)
}

// putInPlace makes a file of its content and room behind it durable before it has
// its name. Unless replace is set, a file that is there stays.
func putInPlace(path string, content []byte, replace bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ledger-*") // readable by its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return place(tmp.Name(), path, replace)
}

func place(tmp, path string, replace bool) error {
	var err error
	if replace {
		err = os.Rename(tmp, path)
	} else if err = os.Link(tmp, path); errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// maxWait is how long a lock is waited for: a process holds it for one write,
// unless it is stopped.
const maxWait = 10 * time.Second

// waitLock waits for the lock of a file, and closes the file if it does not get
// it.
func waitLock(f *os.File) error {
	if ok, err := tryLock(f); ok || err != nil {
		return closeOn(err, f)
	}
	got := make(chan error, 1)
	go func() { got <- lockFile(f, true) }()
	wait := time.NewTimer(maxWait)
	defer wait.Stop()
	select {
	case err := <-got:
		return closeOn(err, f)
	case <-wait.C:
		go func() { <-got; f.Close() }()
		return errors.New("another process does not give the lock back")
	}
}
