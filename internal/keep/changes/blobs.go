package changes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/internal/keep/statedir"
)

// blob returns the file that keeps contents of a digest.
func (s *Store) blob(digest string) string {
	return filepath.Join(s.dir, "blobs", digest[:2], digest[2:])
}

// errMoving is the error of a file that is written to while it is kept.
var errMoving = errors.New("it is being written to")

// mostRead is the largest file that is read whole: most of those that a call changes are kept already, and then no
// copy is made of them.
const mostRead = 1 << 20

// keepFile copies an open file into the store and returns its digest.
func (s *Store) keepFile(f *os.File, size int64) (digest string, sparse bool, err error) {
	if size > s.limits.File {
		return "", false, fmt.Errorf("it is larger than %s", bytesText(s.limits.File))
	}
	if size <= mostRead {
		var b bytes.Buffer
		b.Grow(int(size) + bytes.MinRead)
		sum := sha256.New()
		if sparse, err = copyWhole(io.MultiWriter(&b, sum), f); err != nil {
			return "", false, err
		}
		digest = hex.EncodeToString(sum.Sum(nil))
		return digest, sparse, s.keepBytes(digest, b.Bytes())
	}
	temp, err := os.CreateTemp(s.dir, tempPrefix+"*")
	if err != nil {
		return "", false, err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	sum := sha256.New()
	if sparse, err = s.copyInto(temp, f, sum); err != nil {
		return "", false, err
	}
	digest = hex.EncodeToString(sum.Sum(nil))
	to := s.blob(digest)
	if _, err := os.Lstat(to); err == nil {
		return digest, sparse, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", false, err
	}
	s.wrote(int(size))
	return digest, sparse, os.Rename(temp.Name(), to)
}

// keepBytes keeps contents under their digest, unless they are kept already.
func (s *Store) keepBytes(digest string, b []byte) error {
	to := s.blob(digest)
	if info, err := os.Lstat(to); err == nil && info.Size() == int64(len(b)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	s.wrote(len(b))
	return statedir.Replace(to, b)
}

// copyInto copies a file, on file systems that can by sharing its blocks, and takes its digest of the copy: so the
// digest is that of the bytes that are kept, whatever is written to the file meanwhile.
func (s *Store) copyInto(to, from *os.File, sum hash.Hash) (sparse bool, err error) {
	if clone(to, from) == nil {
		if _, err := io.Copy(sum, to); err != nil {
			return false, err
		}
		info, err := from.Stat()
		return err == nil && isSparse(info), err
	}
	return copyWhole(io.MultiWriter(to, sum), from)
}

// copyWhole copies a file that is not written to meanwhile.
func copyWhole(to io.Writer, from *os.File) (sparse bool, err error) {
	before, err := from.Stat()
	if err != nil {
		return false, err
	}
	n, err := io.Copy(to, from)
	if err != nil {
		return false, err
	}
	after, err := from.Stat()
	if err == nil && (n != before.Size() || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size()) {
		err = errMoving
	}
	return isSparse(before), err
}

// digestOf returns the digest of an open file.
func digestOf(f *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// openBlob opens contents that were kept. The digest is that of the bytes read: contents that were tampered with
// are an error when the reader comes to their end.
func (s *Store) openBlob(digest string) (*blobReader, error) {
	f, err := os.Open(s.blob(digest))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("its earlier contents are not kept any more")
	} else if err != nil {
		return nil, err
	}
	return &blobReader{f: f, sum: sha256.New(), want: digest}, nil
}

type blobReader struct {
	f    *os.File
	sum  hash.Hash
	want string
}

func (r *blobReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(r.sum.Sum(nil)) != r.want {
		return n, errors.New("its earlier contents were changed in obstat's state and are not trusted")
	}
	return n, err
}

func (r *blobReader) Close() error { return r.f.Close() }

// sound tells whether contents are kept as they were.
func (s *Store) sound(digest string) error {
	r, err := s.openBlob(digest)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%d GB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Contents returns contents that were kept, whole or, of more than most bytes, not at all.
func (s *Store) Contents(digest string, most int64) ([]byte, error) {
	r, err := s.openBlob(digest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it is larger than %s", bytesText(most))
	}
	return b, err
}

// DigestOf returns the digest of contents.
func DigestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
