package logfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"

	"github.com/obstat/obstat/ledger"
)

// A View reads the file as it was opened: after [File.Trim] it still has the
// records that were taken out. It takes no lock. Offsets are positions in the
// ledger as if nothing had ever been taken out of it, so a record keeps its
// offset for good; none has the offset zero.
type View struct {
	f     *os.File
	id    os.FileInfo
	first ledger.Head // the first record follows this one
	start int64       // position of the first record in f
	base  int64       // offset of f's first byte
}

// fileVersion is the version of the file's header and of how its lines follow
// each other.
const fileVersion = 1

const (
	headerPrefix = `{"ledger":`
	headerSeq    = `,"seq":`
	headerHash   = `,"hash":"`
	headerBase   = `","base":"`
	headerEnd    = "\"}\n"
	maxHeader    = 256
)

// appendFileHeader appends the first line of a file: which record the first one
// follows, and the offset of the file's first byte, in digits whose number does
// not depend on it.
func appendFileHeader(b []byte, after ledger.Head, base int64) []byte {
	b = append(b, headerPrefix+"1"+headerSeq...)
	b = strconv.AppendUint(b, after.Seq, 10)
	b = append(append(b, headerHash...), after.Hash.String()...)
	b = fmt.Appendf(append(b, headerBase...), "%019d", base)
	return append(b, headerEnd...)
}

// readFileHeader reads the first line of a file, which has to be as appendFileHeader
// writes it.
func (v *View) readFileHeader() error {
	buf := make([]byte, maxHeader)
	n, err := v.f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, _ := bytes.Cut(buf[:n], []byte("\n"))
	var h struct {
		Seq  uint64
		Hash ledger.Hash
		Base string
	}
	var version uint64
	if rest, ok := bytes.CutPrefix(line, []byte(headerPrefix)); ok {
		_, _ = fmt.Sscan(string(rest), &version) // without a number it is no header
	}
	if version > fileVersion {
		return fmt.Errorf("%w (file format %d; this one knows %d)", ledger.ErrNewer, version, fileVersion)
	}
	_ = json.Unmarshal(line, &h)                 // a line that cannot be read is written differently
	base, _ := strconv.ParseUint(h.Base, 10, 62) // a bad number is written differently
	v.first, v.base = ledger.Head{Seq: h.Seq, Hash: h.Hash}, int64(base)
	header := appendFileHeader(nil, v.first, v.base)
	if v.start = int64(len(header)); !bytes.HasPrefix(buf[:n], header) {
		return fmt.Errorf("%w: it has no header", ledger.ErrNotOurs)
	}
	return nil
}

func openView(path string, flag int) (*View, error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	v := &View{f: f}
	if v.id, err = f.Stat(); err == nil && !v.id.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no regular file", ledger.ErrNotOurs)
	}
	if err == nil {
		err = v.readFileHeader()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return v, nil
}

// View opens the file to be read; it has to be closed.
func (f *File) View() (*View, error) {
	v, err := openView(f.path, os.O_RDONLY)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = f.named(err)
	}
	return v, err
}

// Close closes the view.
func (v *View) Close() error { return v.f.Close() }

// First returns the record that the view's first one follows: the zero Head, or
// the last that retention took out.
func (v *View) First() ledger.Head { return v.first }

// Ends tells whether a record ends at an offset, and so whether the file still
// begins with the records that were read up to there. The zero Head ends where the file
// begins.
func (v *View) Ends(h ledger.Head, offset int64) bool {
	if h == (ledger.Head{}) {
		return offset == 0
	}
	if h == v.first {
		return true
	}
	for l, err := range v.back(offset) {
		s, serr := ledger.Unseal(l.Text)
		return err == nil && serr == nil && s.Head == h
	}
	return false
}

// A Line is a sealed record as the file has it, without the newline. Text is
// valid until the next line.
type Line struct {
	Offset int64
	Text   []byte
}

// End returns the offset behind the line.
func (l Line) End() int64 { return l.Offset + int64(len(l.Text)) + 1 }

// Lines yields the lines from an offset on, which must be a record's or the end
// of one; zero is the first record. It stops at the last whole line.
func (v *View) Lines(from int64) iter.Seq2[Line, error] { return v.lines(from, 256<<10) }

// After yields the lines from an offset on like Lines, for a reader that knows the
// ledger almost to its end and expects few.
func (v *View) After(from int64) iter.Seq2[Line, error] { return v.lines(from, 4<<10) }

func (v *View) lines(from int64, chunk int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		at := max(from-v.base, v.start)
		in := bufio.NewReaderSize(io.NewSectionReader(v.f, at, 1<<62), chunk)
		var long []byte
		for {
			line, err := readLine(in, &long)
			if errors.Is(err, io.EOF) || err == nil && bytes.IndexByte(line, 0) >= 0 {
				return
			}
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !yield(Line{at + v.base, line[:len(line)-1]}, nil) {
				return
			}
			at += int64(len(line))
		}
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

// maxLine bounds a line; a record is at most half as long.
const maxLine = 2 * ledger.MaxRecord

// ErrTrimmed is the error of reading a record that retention took out.
var ErrTrimmed = errors.New("the record was taken out by retention")

// LineAt returns the line at an offset. Where that is a record that has not its
// own hash, the line comes with a [Break].
func (v *View) LineAt(offset int64) ([]byte, error) {
	if offset < v.base+v.start && offset > 0 {
		return nil, ErrTrimmed
	}
	for n := 4 << 10; offset > 0; n *= 4 {
		buf := make([]byte, n)
		got, err := v.f.ReadAt(buf, offset-v.base)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if i := bytes.IndexByte(buf[:got], '\n'); i >= 0 {
			s, err := ledger.Unseal(buf[:i])
			if err == nil {
				err = s.Check()
			}
			return buf[:i], err
		}
		if got < n || n > maxLine {
			break
		}
	}
	return nil, fmt.Errorf("no record begins at %d", offset)
}

func decodeAt(line []byte, offset int64) (*ledger.Record, error) {
	r, err := ledger.Decode(line)
	if err == nil {
		r.Offset = offset
	}
	return r, err
}

// forward yields the records from an offset on; zero is the first record. A file
// that is not there has none.
func (f *File) forward(from int64) iter.Seq2[*ledger.Record, error] {
	return f.read(func(v *View) (iter.Seq2[Line, error], error) { return v.Lines(from), nil })
}

// backward yields the records from the newest to the oldest. A file that is not
// there has none.
func (f *File) backward() iter.Seq2[*ledger.Record, error] {
	return f.read(func(v *View) (iter.Seq2[Line, error], error) {
		last, err := f.lastOf(v)
		return v.back(last.end), err
	})
}

// lastOf returns the last record of a view.
func (f *File) lastOf(v *View) (kept, error) {
	hint, _, _ := f.known() // without it the end is found the long way
	last, _, err := v.tail(hint)
	return last, err
}

// maxRecent bounds how many bytes Recent reads.
const maxRecent = 1 << 20

// Recent yields those of the newest n records that hold a text, such as `"suggested":`,
// from the newest to the oldest. The others are not decoded, and of a ledger with
// huge records only the last megabyte is read: a hook can afford it for every call.
func (f *File) Recent(n int, text string) iter.Seq2[*ledger.Record, error] {
	return f.read(func(v *View) (iter.Seq2[Line, error], error) {
		last, err := f.lastOf(v)
		return func(yield func(Line, error) bool) {
			left := n
			for l, err := range v.back(last.end) {
				if left--; left < 0 || last.end-l.Offset > maxRecent {
					return
				}
				if (err != nil || bytes.Contains(l.Text, []byte(text))) && !yield(l, err) {
					return
				}
			}
		}, err
	})
}

// read decodes the lines that pick returns.
func (f *File) read(pick func(*View) (iter.Seq2[Line, error], error)) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		v, err := f.View()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer v.Close()
		lines, err := pick(v)
		if err != nil {
			yield(nil, f.named(err))
			return
		}
		for l, err := range lines {
			var r *ledger.Record
			if err == nil {
				r, err = decodeAt(l.Text, l.Offset)
			}
			if !yield(r, f.named(err)) || err != nil {
				return
			}
		}
	}
}

// back yields the lines before an offset, the last one first.
func (v *View) back(end int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		var buf []byte // read before stop and not yet handed out
		stop := end - v.base
		for n := int64(4 << 10); stop > v.start || len(buf) > 0; n = min(4*n, 1<<20) {
			if len(buf) > maxLine {
				yield(Line{}, fmt.Errorf("%w: a line has more than %d bytes", ledger.ErrNotOurs, maxLine))
				return
			}
			if n = min(n, stop-v.start); n > 0 {
				more := make([]byte, n, n+int64(len(buf)))
				if _, err := v.f.ReadAt(more, stop-n); err != nil {
					yield(Line{}, err)
					return
				}
				stop -= n
				buf = append(more, buf...)
			}
			for len(buf) > 0 {
				i := bytes.LastIndexByte(buf[:len(buf)-1], '\n') + 1
				if i == 0 && stop > v.start {
					break // the line begins further in front
				}
				if !yield(Line{stop + int64(i) + v.base, buf[i : len(buf)-1]}, nil) {
					return
				}
				buf = buf[:i]
			}
		}
	}
}

// tail finds the last whole line. It starts at the known record and reads the
// lines behind it; found is false where the file does not have that record, and then
// all of the file is read.
func (v *View) tail(known kept) (last kept, found bool, err error) {
	last = kept{v.first, 0, v.start + v.base}
	var r ledger.Record
	if found = known.Seq <= v.first.Seq; !found {
		if line, more := v.has(known); line != nil {
			last, found = known, true
			if err := ledger.ReadHeader(&r, line); errors.Is(err, ledger.ErrNewer) || !more {
				return last, found, newer(err)
			}
		}
	}
	for l, err := range v.lines(last.end, 4<<10) {
		if err != nil {
			return last, found, err
		}
		// A line that is no record keeps its place, so that verifying shows it.
		switch err := ledger.ReadHeader(&r, l.Text); {
		case errors.Is(err, ledger.ErrNewer):
			return last, found, err
		case err == nil:
			last.Head = r.Head()
			found = found || last.Head == known.Head
		}
		last.at, last.end = l.Offset, l.End()
	}
	return last, found, nil
}

// newer returns err if it is that of a newer version.
func newer(err error) error {
	if errors.Is(err, ledger.ErrNewer) {
		return err
	}
	return nil
}

// has returns the line of a record that is where it is known to be, or nil, and
// whether anything follows it.
func (v *View) has(k kept) (line []byte, more bool) {
	n := k.end - k.at
	if k.at < v.base+v.start || n < 2 || n > maxLine {
		return nil, false
	}
	buf := make([]byte, n+1)
	got, err := v.f.ReadAt(buf, k.at-v.base)
	if int64(got) < n || err != nil && !errors.Is(err, io.EOF) || buf[n-1] != '\n' {
		return nil, false
	}
	line = buf[:n-1]
	s, err := ledger.Unseal(line)
	if err != nil || s.Seq != k.Seq || s.Hash != k.Hash || s.Check() != nil {
		return nil, false
	}
	return line, buf[n] != 0
}

// Records yields the records that q asks for, reading all of the file.
func (f *File) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		all := f.forward(0)
		if q.Limit > 0 {
			all = f.backward()
		}
		var newest []*ledger.Record // those that are wanted, where there is a limit
		for r, err := range all {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !q.Matches(r) {
				continue
			}
			if q.Limit == 0 {
				if !yield(r, nil) {
					return
				}
				continue
			}
			if newest = append(newest, r); len(newest) == q.Limit {
				break
			}
		}
		for _, r := range slices.Backward(newest) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Head returns the end of the chain; the zero Head where there is no file.
func (f *File) Head(context.Context) (ledger.Head, error) {
	v, err := f.View()
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Head{}, nil
	}
	if err != nil {
		return ledger.Head{}, err
	}
	defer v.Close()
	last, err := f.lastOf(v)
	return last.Head, f.named(err)
}
