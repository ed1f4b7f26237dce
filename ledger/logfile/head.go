package logfile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/ledger"
)

// A kept is a head with the offsets at which its record begins and ends.
type kept struct {
	ledger.Head
	at, end int64
}

// A head file is one line, padded to a fixed length so that it is overwritten in
// place: `obstat-head 1 57 <hash> <begin> <end> <checksum>`. The checksum tells a
// head from one that another process has written half of.
const (
	headPrefix = "obstat-head "
	headLen    = 192
)

func (k kept) encode() []byte {
	b := append(make([]byte, 0, headLen), headPrefix+"1 "...)
	b = append(strconv.AppendUint(b, k.Seq, 10), ' ')
	b = append(hex.AppendEncode(b, k.Hash[:]), ' ')
	b = append(strconv.AppendInt(b, k.at, 10), ' ')
	b = append(strconv.AppendInt(b, k.end, 10), ' ')
	b = strconv.AppendUint(b, uint64(crc32.ChecksumIEEE(b)), 10)
	b = append(b, bytes.Repeat([]byte(" "), headLen-1-len(b))...)
	return append(b, '\n')
}

// decodeHead reads a head file, which has to be as encode writes it.
func decodeHead(line []byte) (k kept, err error) {
	f := strings.Fields(string(line))
	if len(f) > 1 && f[0]+" " == headPrefix {
		if version, err := strconv.ParseUint(f[1], 10, 62); err == nil && version > 1 {
			return kept{}, ledger.ErrNewer
		}
	}
	if len(f) == 7 && k.Hash.UnmarshalText([]byte(f[3])) == nil {
		var n [3]uint64
		for i, text := range []string{f[2], f[4], f[5]} {
			n[i], _ = strconv.ParseUint(text, 10, 62) // a bad number is written differently
		}
		if k.Seq, k.at, k.end = n[0], int64(n[1]), int64(n[2]); bytes.Equal(k.encode(), line) {
			return k, nil
		}
	}
	return kept{}, fmt.Errorf("%w: it holds no head", ledger.ErrNotOurs)
}

// A headFile is an open file that a head is kept in.
type headFile struct {
	path string
	f    *os.File
	id   os.FileInfo
	uses int
}

// open opens the file, and makes it where make is set. A file that was opened
// before is looked at again now and then: it may have been replaced.
func (h *headFile) open(make bool) error {
	if h.uses++; h.f != nil && h.uses%16 == 0 {
		if now, err := os.Stat(h.path); err != nil || !os.SameFile(h.id, now) {
			h.close()
		}
	}
	if h.f != nil {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_RDWR, 0)
	if make && errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(h.path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil && !make {
		f, err = os.Open(h.path) // it can be read at least
	}
	if err != nil {
		return err
	}
	if h.id, err = f.Stat(); err != nil {
		f.Close()
		return err
	}
	h.f = f
	return nil
}

func (h *headFile) close() {
	if h.f != nil {
		h.f.Close()
	}
	h.f = nil
}

func (h *headFile) read() (kept, error) {
	if err := h.open(false); err != nil {
		return kept{}, err
	}
	var b [headLen]byte
	for wait := time.Microsecond; ; wait *= 2 {
		n, err := h.f.ReadAt(b[:], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return kept{}, err
		}
		k, err := decodeHead(b[:n])
		if !errors.Is(err, ledger.ErrNotOurs) || wait > maxHeadWait {
			return k, err
		}
		time.Sleep(wait) // another process may be writing it
	}
}

// maxHeadWait bounds how long a file that holds no head is read again.
const maxHeadWait = 8 * time.Millisecond

// write writes a head, unless a later one is there and force is not set.
func (h *headFile) write(k kept, force bool) error {
	if err := h.open(true); err != nil {
		return err
	}
	if have, err := h.read(); err == nil && have.Seq > k.Seq && !force {
		return nil
	} else if errors.Is(err, ledger.ErrNewer) {
		return err
	}
	_, err := h.f.WriteAt(k.encode(), 0)
	if err != nil {
		h.close()
	}
	return err
}

// latestHead reads the head files and returns the latest head. gone tells that the one
// beside the ledger is not there or is no head file.
func latestHead(heads []*headFile) (latest kept, gone bool, err error) {
	for i, h := range heads {
		k, err := h.read()
		switch {
		case err == nil:
			if k.Seq > latest.Seq {
				latest = k
			}
		case errors.Is(err, ledger.ErrNewer):
			return latest, false, fmt.Errorf("%s: %w", h.path, err)
		case i == 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ledger.ErrNotOurs)):
			gone = true
		case i == 0:
			return latest, false, err
		}
	}
	return latest, gone, nil
}

// known reads the head files without those that the holder of the token has open.
func (f *File) known() (latest kept, gone bool, err error) {
	heads := headFiles(f.headPaths())
	defer closeHeads(heads)
	return latestHead(heads)
}

// Whole returns an error where the view does not have the record that was last known,
// or where the file that says which that is has gone: the ledger was shortened, or
// an older copy was put in its place.
func (f *File) Whole(v *View) error {
	known, gone, err := f.known()
	if err != nil {
		return err
	}
	last, found, err := v.tail(known)
	switch {
	case err != nil:
		return err
	case !found:
		return errors.New(lost(known.Head, last.Head).Reason)
	case gone && last.Seq > 0:
		return errors.New("the file that the last known head is kept in is gone")
	}
	return nil
}

func (f *File) headPaths() []string {
	paths := make([]string, len(f.heads))
	for i, h := range f.heads {
		paths[i] = h.path
	}
	return paths
}

func headFiles(paths []string) []*headFile {
	heads := make([]*headFile, len(paths))
	for i, p := range paths {
		heads[i] = &headFile{path: p}
	}
	return heads
}

func closeHeads(heads []*headFile) {
	for _, h := range heads {
		h.close()
	}
}

// keep writes a head to the head files. The one beside the ledger must take it;
// the others are on the safe side. Of two processes that do so at once the later
// head may lose: the next one is written again.
func (f *File) keep(k kept, force bool) error {
	for i, h := range f.heads {
		if err := h.write(k, force); err != nil && i == 0 {
			return fmt.Errorf("the last known head cannot be kept: %w", err)
		}
	}
	return nil
}
