package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
)

// A Reader reads the records of a journal in order, from where it was. Its zero
// value, with a path, is at the beginning. It is not safe for concurrent use.
type Reader struct {
	Path string

	f   *os.File
	id  os.FileInfo
	at  int64
	buf []byte
}

// ErrReplaced is the error of reading a journal that was started anew meanwhile.
var ErrReplaced = errors.New("the journal was started anew")

// At returns how far the reader is in the file.
func (r *Reader) At() int64 { return r.at }

// Open makes sure that the reader reads the file with the given identity; in
// another one than before it starts at the beginning.
func (r *Reader) Open(id os.FileInfo) error {
	if r.f != nil && os.SameFile(r.id, id) {
		return nil
	}
	r.Close()
	f, err := os.Open(r.Path)
	if err != nil {
		return err
	}
	mine, err := f.Stat()
	if err == nil && !os.SameFile(mine, id) {
		err = ErrReplaced
	}
	if err != nil {
		f.Close()
		return err
	}
	r.f, r.id = f, mine
	return nil
}

// Rewind goes back to the beginning.
func (r *Reader) Rewind() { r.at = 0 }

// pieceLen is about how much is read at once.
const pieceLen = 512 << 10

// Next returns some of the lines before end, without the header, and false where
// there are no more. They are valid until the next call.
func (r *Reader) Next(end int64) (lines [][]byte, more bool, err error) {
	first := r.at == 0
	for n := int64(pieceLen); r.at < end; n *= 4 {
		n = min(n, end-r.at)
		if int64(cap(r.buf)) < n {
			r.buf = make([]byte, n)
		}
		buf := r.buf[:n]
		if _, err := io.ReadFull(io.NewSectionReader(r.f, r.at, n), buf); err != nil {
			return nil, false, fmt.Errorf("%s: %w", r.Path, err)
		}
		whole := bytes.LastIndexByte(buf, '\n') + 1
		if whole == 0 && r.at+n < end {
			continue // a line longer than the piece
		}
		for rest := buf[:whole]; len(rest) > 0; {
			i := bytes.IndexByte(rest, '\n') + 1
			lines = append(lines, rest[:i])
			rest = rest[i:]
		}
		if r.at += int64(whole); whole == 0 {
			r.at = end
		}
		if first && len(lines) > 0 {
			lines = lines[1:]
		}
		return lines, true, nil
	}
	return nil, false, nil
}

// Close closes the file.
func (r *Reader) Close() {
	if r.f != nil {
		r.f.Close()
	}
	r.f, r.id, r.at = nil, nil, 0
}

// Lines yields the records of the file at path as anybody can read it, without
// its lock. A file that is not there has none. A line is valid until the next
// one.
func Lines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		in := bufio.NewReaderSize(f, 256<<10)
		var long []byte
		for first := true; ; first = false {
			line, err := readLine(in, &long)
			if err == nil && first {
				_, err = readHeader(line)
			}
			switch {
			case errors.Is(err, io.EOF) || err == nil && bytes.IndexByte(line, 0) >= 0:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !first && !yield(line[:len(line)-1], nil) {
				return
			}
		}
	}
}
