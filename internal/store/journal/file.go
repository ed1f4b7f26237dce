package journal

import (
	"bufio"
	"bytes"
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

// A header is the first line of the file: what the first record follows.
type header struct {
	Log int `json:"log"` // version
	ledger.Head
}

const version = 1

// maxLine bounds a line; a record is at most half as long.
const maxLine = 8 << 20

// create makes the file where there is none.
func create(path string, after ledger.Head) error {
	n, err := begin(path, minRoom)
	if err != nil {
		return err
	}
	defer n.drop()
	return n.finish(after, false)
}

// A next is a file that is to become the journal, whole or not at all.
type next struct {
	path string
	f    *os.File
}

// begin makes the file, with room.
func begin(path string, room int64) (*next, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".log-*") // readable by its owner alone
	if err != nil {
		return nil, err
	}
	// Where there is no room for room, records still may fit.
	if zero(f, 0, room) != nil {
		_ = f.Truncate(0)
	}
	n := &next{path, f}
	if err := f.Sync(); err != nil {
		n.drop()
		return nil, err
	}
	return n, nil
}

// drop takes the file away, unless it has its name by now.
func (n *next) drop() {
	n.f.Close()
	os.Remove(n.f.Name())
}

// finish writes the header and puts the file in place.
func (n *next) finish(after ledger.Head, replace bool) error {
	line, err := json.Marshal(header{version, after})
	if err == nil {
		_, err = n.f.WriteAt(append(line, '\n'), 0)
	}
	if err == nil {
		err = n.f.Sync()
	}
	if err != nil {
		return err
	}
	if replace {
		err = os.Rename(n.f.Name(), n.path)
	} else if err = os.Link(n.f.Name(), n.path); errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(n.path))
}

// readHeader reads the first line.
func readHeader(line []byte) (ledger.Head, error) {
	var h header
	switch err := json.Unmarshal(line, &h); {
	case err != nil || h.Log < 1:
		return ledger.Head{}, fmt.Errorf("%w: it has no header", ledger.ErrNotOurs)
	case h.Log > version:
		return ledger.Head{}, ledger.ErrNewer
	}
	return h.Head, nil
}

// scanTail reads on from a known tail; the zero tail is the file's beginning.
// The records end at the first zero, or where a line does.
func scanTail(f *os.File, t tail, size int64) (tail, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, t.end, size-t.end), 256<<10)
	var long []byte
	for {
		line, err := readLine(in, &long)
		switch {
		case errors.Is(err, io.EOF) || err == nil && bytes.IndexByte(line, 0) >= 0:
			if t.end == 0 {
				return t, fmt.Errorf("%w: it has no header", ledger.ErrNotOurs)
			}
			return t, nil
		case err != nil:
			return t, err
		}
		if t.end == 0 {
			if t.head, err = readHeader(line); err != nil {
				return t, err
			}
		} else if h, err := ledger.HeadOf(line); err == nil {
			// One that was edited keeps its place, so that what follows shows it.
			t.head = h
		}
		t.end += int64(len(line))
	}
}

// readLine reads a line of bounded length. The end of the file in the middle of
// one is the end of the file, and so are zeros.
func readLine(in *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	*long = (*long)[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if bytes.IndexByte(line, 0) >= 0 || len(*long) > maxLine {
			return nil, io.EOF
		}
		*long = append(*long, line...)
		line, err = in.ReadSlice('\n')
	}
	*long = append(*long, line...)
	return *long, err
}

// leftover returns what is between the end of the records and the last byte that
// is not zero, nil if nothing is. A crash of a process leaves the beginning of
// a line; only one of the machine leaves more behind zeros, which is looked for
// when the file is opened.
func leftover(f *os.File, end, size int64, all bool) ([]byte, error) {
	var out []byte
	buf := make([]byte, 64<<10)
	last := 0 // of out that is not zero
	for at := end; at < size; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		used := len(bytes.TrimRight(buf[:n], "\x00"))
		if used == 0 && !all {
			break
		}
		out = append(out, buf[:n]...)
		if used > 0 {
			last = len(out) - n + used
		}
		at += int64(n)
	}
	if last == 0 {
		return nil, nil
	}
	return out[:last], nil
}

// maxWait is how long the lock is waited for: whoever has it holds it for one
// commit, unless it is stopped.
const maxWait = 10 * time.Second

// waitLock waits for the lock of a file, and closes the file if it is not to be
// had.
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
