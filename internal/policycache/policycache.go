// Package policycache keeps compiled-down policies on disk for processes that
// live for one call: instead of finding, reading and checking a configuration,
// such a process reads one file and looks whether everything that was looked at
// to make it is still as it was.
//
// It owns the form of that file and when one may be used. It does not know
// dialects: finding and reading the configuration is for whoever fills it.
package policycache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/obstat/obstat"
)

// A Policy is one configuration as it is kept.
type Policy struct {
	Dialect string
	Digest  string // of the Program
	Files   []string
	Program *obstat.Program
	// Inner: it stands below a project's own policy, and can only be stricter.
	Inner bool
}

// An Entry is all that one question led to: the policies, none if there are
// none, and what was looked at to find them.
type Entry struct {
	Policies []Policy
	Seen     []Seen
}

// A Cache is a directory of entries. The zero value keeps nothing.
type Cache struct {
	Dir string
	// Self says which program made an entry: another one may understand a
	// configuration in another way.
	Self string
}

const magic = "obstat policy 5\n"

// ErrMiss is the error where there is no entry that may be used.
var ErrMiss = errors.New("no cached policy")

// path returns the file of the entry for a question.
func (c *Cache) path(question []string) string {
	e := encoder{b: make([]byte, 0, 512)}
	for _, part := range append([]string{magic, c.Self}, question...) {
		e.num(len(part))
		e.b = append(e.b, part...)
	}
	sum := sha256.Sum256(e.b)
	return filepath.Join(c.Dir, hex.EncodeToString(sum[:20]))
}

// Get returns the entry for a question if nothing that it was made from has
// changed.
func (c *Cache) Get(question ...string) (*Entry, error) {
	if c.Dir == "" {
		return nil, ErrMiss
	}
	data, err := readOwn(c.path(question))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMiss
	}
	if err != nil {
		return nil, err
	}
	e, err := decode(data)
	if err != nil {
		return nil, err
	}
	for i := range e.Seen {
		if !e.Seen[i].still() {
			return nil, ErrMiss
		}
	}
	return e, nil
}

// Put keeps the entry for a question.
func (c *Cache) Put(e *Entry, question ...string) error {
	if c.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	c.makeRoom()
	f, err := os.CreateTemp(c.Dir, ".new-*") // readable and writable by its owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(encode(e))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.path(question))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// maxEntries bounds how many questions are kept.
const maxEntries = 500

// makeRoom throws everything away when there is too much of it: what is still
// asked for comes back.
func (c *Cache) makeRoom() {
	list, err := os.ReadDir(c.Dir)
	if err != nil || len(list) < maxEntries {
		return
	}
	for _, f := range list {
		os.Remove(filepath.Join(c.Dir, f.Name()))
	}
}

func encode(e *Entry) []byte {
	var body encoder
	body.num(len(e.Seen))
	for i := range e.Seen {
		s := &e.Seen[i]
		body.text(s.Name)
		body.byte(uint8(s.Is))
		if s.Is == Absent {
			body.list(s.Missing)
			for _, n := range []int64{s.Stamp.device, s.Stamp.inode, s.Stamp.changed, s.Stamp.modified} {
				body.num(int(n))
			}
		} else {
			body.text(string(s.Sum[:]))
		}
	}
	body.num(len(e.Policies))
	for i := range e.Policies {
		p := &e.Policies[i]
		body.text(p.Dialect)
		body.text(p.Digest)
		body.list(p.Files)
		body.flag(p.Inner)
		body.program(p.Program)
	}
	var count encoder // of what there is, so that a reader makes room for it once
	count.num(body.items)
	count.num(body.rules)
	whole := append(count.b, body.b...)
	sum := sha256.Sum256(whole)
	return append(append([]byte(magic), sum[:]...), whole...)
}

func decode(src []byte) (*Entry, error) {
	body, ok := bytes.CutPrefix(src, []byte(magic))
	if !ok || len(body) < sha256.Size {
		return nil, errBytes
	}
	if sum := sha256.Sum256(body[sha256.Size:]); !bytes.Equal(sum[:], body[:sha256.Size]) {
		return nil, errBytes
	}
	// Nobody changes the bytes any more, and a copy of them would be the largest
	// thing that a hook makes.
	d := &decoder{src: unsafe.String(unsafe.SliceData(body[sha256.Size:]), len(body)-sha256.Size)}
	d.room()
	e := &Entry{}
	n := d.count()
	e.Seen = make([]Seen, 0, n)
	for range n {
		s := Seen{Name: d.text(), Is: Kind(d.byte())}
		if s.Is == Absent {
			s.Missing = d.list()
			s.Stamp = stamp{int64(d.num()), int64(d.num()), int64(d.num()), int64(d.num())}
		} else {
			copy(s.Sum[:], d.text())
		}
		e.Seen = append(e.Seen, s)
	}
	for range d.count() {
		p := Policy{Dialect: d.text(), Digest: d.text(), Files: d.list()}
		p.Inner = d.flag()
		p.Program = d.program()
		e.Policies = append(e.Policies, p)
	}
	if d.bad || d.at != len(d.src) {
		return nil, errBytes
	}
	return e, nil
}

// Self returns how a program and the other one beside it are told from older and
// newer ones: by the files that they run from.
func Self(exe string) string {
	if exe == "" {
		return ""
	}
	var b strings.Builder
	for _, name := range []string{"obstat", "obstat-hook"} {
		b.WriteString(fileID(filepath.Join(filepath.Dir(exe), name+filepath.Ext(exe))))
		b.WriteByte('\n')
	}
	if base := strings.TrimSuffix(filepath.Base(exe), filepath.Ext(exe)); base != "obstat" && base != "obstat-hook" {
		b.WriteString(fileID(exe))
	}
	return b.String()
}

func fileID(name string) string {
	st, err := os.Stat(name)
	if err != nil {
		return ""
	}
	var e encoder
	e.num(int(st.Size()))
	e.num(int(st.ModTime().UnixNano()))
	return string(e.b)
}
