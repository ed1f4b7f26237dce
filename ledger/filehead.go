package ledger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// A kept is a head with the offsets at which its record begins and ends.
type kept struct {
	Head
	at, end int64
}

// A head file is one line, padded to a fixed length so that it is overwritten in
// place: `obstat-head 1 57 <hash> <begin> <end>`.
const (
	headPrefix = "obstat-head "
	headLen    = 192
)

func (k kept) encode() []byte {
	b := append(make([]byte, 0, headLen), headPrefix+"1 "...)
	b = append(strconv.AppendUint(b, k.Seq, 10), ' ')
	b = append(hex.AppendEncode(b, k.Hash[:]), ' ')
	b = append(strconv.AppendInt(b, k.at, 10), ' ')
	b = strconv.AppendInt(b, k.end, 10)
	b = append(b, bytes.Repeat([]byte(" "), headLen-1-len(b))...)
	return append(b, '\n')
}

func decodeHead(b []byte) (k kept, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(headPrefix))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 1 {
		return k, fmt.Errorf("%w: it holds no head", ErrNotOurs)
	}
	if string(fields[0]) != "1" {
		return k, ErrNewer
	}
	var n [3]uint64
	good := len(fields) == 5 && len(fields[2]) == hexLen && unhex(&k.Hash, fields[2])
	for i, at := range [...]int{1, 3, 4} {
		if good {
			n[i], err = strconv.ParseUint(string(fields[at]), 10, 63)
			good = err == nil
		}
	}
	if !good {
		return kept{}, fmt.Errorf("%w: it holds no head", ErrNotOurs)
	}
	k.Seq, k.at, k.end = n[0], int64(n[1]), int64(n[2])
	return k, nil
}

func readHead(f io.ReaderAt) (kept, error) {
	b := make([]byte, headLen)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return kept{}, err
	}
	return decodeHead(b[:n])
}

// known reads the head files and returns the latest head. gone tells that the one
// beside the ledger is not there or is no head file.
func (f *File) known() (latest kept, gone bool, err error) {
	for i, path := range f.heads {
		k, err := loadHead(path)
		switch {
		case err == nil:
			if k.Seq > latest.Seq {
				latest = k
			}
		case errors.Is(err, ErrNewer):
			return latest, false, fmt.Errorf("%s: %w", path, err)
		case i == 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotOurs)):
			gone = true
		case i == 0:
			return latest, false, err
		}
	}
	return latest, gone, nil
}

func loadHead(path string) (kept, error) {
	f, err := os.Open(path)
	if err != nil {
		return kept{}, err
	}
	defer f.Close()
	return readHead(f)
}

// keep writes a head to the head files, unless a later one is there or force is
// set. The one beside the ledger must take it; the others are on the safe side.
func (f *File) keep(k kept, force bool) error {
	for i, path := range f.heads {
		if err := keepIn(path, k, force); err != nil && i == 0 {
			return fmt.Errorf("the last known head cannot be kept: %w", err)
		}
	}
	return nil
}

func keepIn(path string, k kept, force bool) error {
	h, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		h, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return err
	}
	if err := waitLock(h); err != nil {
		return err // waitLock closes the file
	}
	defer h.Close()
	if have, err := readHead(h); err == nil && have.Seq > k.Seq && !force {
		return nil
	} else if errors.Is(err, ErrNewer) {
		return err
	}
	_, err = h.WriteAt(k.encode(), 0)
	return err
}
