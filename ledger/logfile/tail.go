package logfile

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

	"github.com/obstat/obstat/ledger"
)

// catchUp reads the records of other processes since this one looked last, and
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

// look finds the end of the file, cuts off the rest of a record that a crash left
// behind it, and writes down records that are missing.
func (f *File) look() error {
	known, gone := f.last, false
	if f.fresh {
		k, missing, err := latestHead(f.heads)
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
	var notes []*ledger.Record
	if !found {
		notes = append(notes, lost(known.Head, last.Head))
		f.force = true
	} else if gone && last.Seq > 0 {
		notes = append(notes, ledger.Broken(headGone+": records may be missing here"))
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
		notes = append(notes, tornRecord(bytes.Trim(torn, "\x00")))
	}
	return f.note(notes)
}

const headGone = "the file that the last known head is kept in was gone"

// note appends records about the file itself; the next durable makes them so.
func (f *File) note(notes []*ledger.Record) error {
	for _, r := range notes {
		d, err := r.Draft()
		if err != nil {
			return err
		}
		line := append(d.Seal(f.last.Head), '\n')
		if err := f.put(line); err != nil {
			return err
		}
		f.last = kept{r.Head(), f.last.end, f.last.end + int64(len(line))}
		f.dirty = true
	}
	return nil
}

// leftover returns the bytes between the last record and the last byte that is
// not zero; nil if the byte behind the record is zero. A process that dies leaves the
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

// A damageDetail describes damage: the bytes that were cut off behind the last
// whole record, or the record that was known to be there and is not.
type damageDetail struct {
	Bytes  int          `json:"bytes,omitempty"`
	SHA256 string       `json:"sha256,omitempty"`
	Lost   *ledger.Head `json:"lost,omitempty"`
}

// tornRecord is the record of bytes that a crash left behind the last record, and that
// were cut off.
func tornRecord(torn []byte) *ledger.Record {
	sum := sha256.Sum256(torn)
	detail, _ := json.Marshal(damageDetail{Bytes: len(torn), SHA256: hex.EncodeToString(sum[:])}) // numbers and text
	return &ledger.Record{Time: time.Now(), Kind: ledger.Damage, Detail: detail,
		Reason: "a record that was never acknowledged was cut off: the process that wrote it died"}
}

// lost is the record of a head that was kept and that the file does not lead to.
func lost(known, end ledger.Head) *ledger.Record {
	reason := fmt.Sprintf("record %d was known to be here and is not: the file ends with record %d", known.Seq, end.Seq)
	if end.Seq >= known.Seq {
		reason = fmt.Sprintf("record %d is not the one that was known: it or one before it was changed, "+
			"and what follows was sealed anew", known.Seq)
	}
	r := ledger.Broken(reason)
	r.Detail, _ = json.Marshal(damageDetail{Lost: &known}) // numbers and text: it can be written
	return r
}

// create makes the head file and then the ledger. Of several processes that do so
// at once one wins.
func (f *File) create() error {
	if err := f.makeHead(); err != nil {
		return err
	}
	_, err := f.build(ledger.Head{}, 0, func(func([]byte, error) bool) {}, nil, false)
	return err
}

// makeHead makes the head file beside the ledger, if it is not there.
func (f *File) makeHead() error {
	h, err := os.OpenFile(f.heads[0].path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = h.Write(kept{}.encode())
	return errors.Join(err, h.Sync(), h.Close())
}

// place gives a file its name. Unless replace is set, a file that is there stays.
func place(tmp, path string, replace bool) (err error) {
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
	go func() { got <- lockFile(f) }()
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

func closeOn(err error, f *os.File) error {
	if err != nil {
		f.Close()
	}
	return err
}
