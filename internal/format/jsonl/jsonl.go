// Package jsonl reads lines: plain or gzipped, each up to a limit, in memory
// that does not grow with the number of lines. A line that is too long is
// skipped and reported; the next one is read as if nothing had happened.
//
// It does not look into the lines. Their content is for the caller.
package jsonl

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is read, its end not counted.
const MaxLine = 10 << 20

// ErrTooLong is the error of a line longer than MaxLine. Reading can go on.
var ErrTooLong = fmt.Errorf("the line has more than %d bytes", MaxLine)

// A Reader reads lines.
type Reader struct {
	src  *bufio.Reader
	raw  *bufio.Reader // before unzipping is decided on
	buf  []byte
	line int
}

// NewReader returns a Reader on r, which may be gzipped.
func NewReader(r io.Reader) *Reader { return &Reader{raw: bufio.NewReaderSize(r, 64<<10)} }

// open looks at the first bytes once they are wanted, not before: a person that
// types the lines must not wait for a reader that fills its buffer.
func (r *Reader) open() error {
	r.src = r.raw
	if magic, _ := r.raw.Peek(1); len(magic) == 0 || magic[0] != 0x1f {
		return nil
	}
	if magic, _ := r.raw.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return nil
	}
	z, err := gzip.NewReader(r.raw)
	if err != nil {
		return err
	}
	r.src = bufio.NewReaderSize(z, 64<<10)
	return nil
}

// Line returns the number of the line last returned, from one.
func (r *Reader) Line() int { return r.line }

// Next returns the next line that is not blank, without its end. The bytes hold
// until the next call. After ErrTooLong there may be more lines; after any other
// error, io.EOF at the end, there are none.
func (r *Reader) Next() ([]byte, error) {
	if r.src == nil {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	for {
		line, err := r.read()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

func (r *Reader) read() ([]byte, error) {
	r.shrink()
	long, any := false, false
	for {
		part, err := r.src.ReadSlice('\n')
		any = any || len(part) > 0
		if long = long || len(r.buf)+len(part) > MaxLine+2; !long {
			r.buf = append(r.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && any, err == nil:
			return r.finish(long)
		}
		return nil, err
	}
}

func (r *Reader) finish(long bool) ([]byte, error) {
	r.line++
	line := bytes.TrimSuffix(r.buf, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if long || len(line) > MaxLine {
		return nil, ErrTooLong
	}
	return line, nil
}

// shrink empties the buffer and lets one huge line's memory go.
func (r *Reader) shrink() {
	if cap(r.buf) > 1<<20 {
		r.buf = nil
	}
	r.buf = r.buf[:0]
}
