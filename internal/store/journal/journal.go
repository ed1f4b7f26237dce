// Package journal is the file that a store's records are durable in before they
// are anywhere else: one sealed record a line behind a header, in room that was
// written with zeros before, so that making a record durable is one write and
// one fdatasync that changes no metadata.
//
// It owns the file, its lock, the group commit and what a crash leaves. It does
// not own what happens to the records afterwards: a store takes them over and
// then starts the file anew with [Journal.Rotate].
package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/obstat/obstat/ledger"
)

// Options open a Journal.
type Options struct {
	Path string
	// Head says what the first record of a new file follows. It is asked with the
	// lock not held.
	Head func() (ledger.Head, error)
	// Ready is asked before anything is written; its error is the append's. nil
	// is always ready.
	Ready func() error
	// Written is told how much was written since the last time the file was
	// started anew. nil tells nobody.
	Written func(bytes int64)
}

// A Journal is the file as one process appends to it; several processes may.
// It is safe for concurrent use.
type Journal struct {
	opts   Options
	queue  chan *pending
	token  chan struct{} // full while somebody has the file
	closed chan struct{}
	once   sync.Once

	// What follows belongs to whoever has the token.
	f    *os.File
	id   os.FileInfo
	size int64
	tail
	dirty bool // others wrote, and perhaps died before it was durable
	buf   []byte
}

// A tail is where the next record goes.
type tail struct {
	head ledger.Head
	end  int64
}

// pending is an append that waits for its commit.
type pending struct {
	drafts []*ledger.Draft
	err    chan error
}

// ErrClosed is the error of writing to a store that is closed.
var ErrClosed = errors.New("the store is closed")

// maxBatch is how many appends are committed together at most.
const maxBatch = 256

// New returns the journal at a path. Nothing is opened before it is needed.
func New(o Options) *Journal {
	return &Journal{opts: o, queue: make(chan *pending, maxBatch), token: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Append seals drafts behind what is there and returns once they will survive a
// crash, together with what other callers have waiting. On an error none of
// them is there.
func (j *Journal) Append(ctx context.Context, drafts []*ledger.Draft) error {
	p := &pending{drafts, make(chan error, 1)}
	select {
	case <-j.closed:
		return ErrClosed
	default:
	}
	select {
	case j.queue <- p:
	case <-j.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	// Whoever gets the token commits what is waiting, its own and the others':
	// a caller who is alone waits for nobody.
	select {
	case err := <-p.err:
		return err
	case j.token <- struct{}{}:
	}
	defer func() { <-j.token }()
	for {
		select {
		case err := <-p.err:
			return err
		default:
			j.commit(j.gather())
		}
	}
}

// gather takes what is waiting; only who has the token may.
func (j *Journal) gather() (batch []*pending) {
	for len(batch) < maxBatch {
		select {
		case p := <-j.queue:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch and tells everybody in it. If that fails, each append is
// tried by itself, so that one that does not fit does not take the others along.
func (j *Journal) commit(batch []*pending) {
	err := j.write(batch)
	for _, p := range batch {
		if err != nil && len(batch) > 1 {
			p.err <- j.write([]*pending{p})
			continue
		}
		p.err <- err
	}
}

func (j *Journal) write(batch []*pending) error {
	if j.opts.Ready != nil {
		if err := j.opts.Ready(); err != nil {
			return err
		}
	}
	if err := j.lock(); err != nil {
		return j.named(err)
	}
	defer j.unlock()
	buf, head := j.buf[:0], j.head
	for _, p := range batch {
		for _, d := range p.drafts {
			buf = append(append(buf, d.Seal(head)...), '\n')
			head = ledger.Head{Seq: d.Record().Seq, Hash: d.Record().Hash}
		}
	}
	if j.buf = buf; cap(buf) > 1<<20 {
		j.buf = nil
	}
	if err := j.put(buf); err != nil {
		return j.named(err)
	}
	j.end += int64(len(buf))
	j.head = head
	if j.opts.Written != nil {
		j.opts.Written(j.end)
	}
	return nil
}

func (j *Journal) named(err error) error { return fmt.Errorf("%s: %w", j.opts.Path, err) }

// put writes buf at the end and makes it durable. What could not be made so is
// taken out again.
func (j *Journal) put(buf []byte) error {
	if err := j.makeRoom(int64(len(buf))); err != nil {
		return err
	}
	_, err := j.f.WriteAt(buf, j.end)
	if err == nil {
		err = SyncData(j.f)
	}
	if err == nil {
		j.dirty = false
		return nil
	}
	// If this fails as well, whoever looks at the file next takes what is there
	// for written: it was denied, and stays so.
	_, zerr := j.f.WriteAt(make([]byte, len(buf)), j.end)
	j.forget()
	return errors.Join(err, zerr)
}

const (
	minRoom = 64 << 10
	maxRoom = 4 << 20
)

// makeRoom writes zeros behind the end where n bytes would not fit: half as much
// as there is, within bounds, or what the disk still has.
func (j *Journal) makeRoom(n int64) error {
	need := j.end + n
	if need <= j.size {
		return nil
	}
	wanted := max(need+min(max(need/2, minRoom), maxRoom), j.size)
	err := zero(j.f, j.size, wanted)
	if err != nil {
		wanted = need
		err = zero(j.f, j.size, wanted)
	}
	if err != nil {
		return errors.Join(err, j.f.Truncate(j.size))
	}
	j.size = wanted
	return nil
}

// zero writes zeros from one place of a file to another.
func zero(f *os.File, from, to int64) error {
	zeros := make([]byte, min(to-from, 256<<10))
	for from < to {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// End returns which file the journal is and where its records end; all of them
// are durable.
func (j *Journal) End(ctx context.Context) (id os.FileInfo, end int64, head ledger.Head, err error) {
	if err := j.take(ctx); err != nil {
		return nil, 0, head, err
	}
	defer func() { <-j.token }()
	if err := j.lock(); err != nil {
		return nil, 0, head, j.named(err)
	}
	defer j.unlock()
	if j.dirty {
		if err := SyncData(j.f); err != nil {
			return nil, 0, head, j.named(err)
		}
		j.dirty = false
	}
	return j.id, j.end, j.head, nil
}

// take takes the token.
func (j *Journal) take(ctx context.Context) error {
	select {
	case j.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Rotate starts the file anew, with room for that many bytes. Nobody appends meanwhile: take is given the file
// and where it ends, puts what is in it elsewhere, durably, and returns what the
// next record follows.
func (j *Journal) Rotate(ctx context.Context, room int64, take func(id os.FileInfo, end int64, head ledger.Head) (ledger.Head, error)) error {
	// The room is made before anybody has to wait.
	next, err := begin(j.opts.Path, min(max(room, minRoom), maxRoom))
	if err != nil {
		return j.named(err)
	}
	defer next.drop()
	if err := j.take(ctx); err != nil {
		return err
	}
	defer func() { <-j.token }()
	if err := j.lock(); err != nil {
		return j.named(err)
	}
	defer j.forget() // which gives the lock back
	head, err := take(j.id, j.end, j.head)
	if err != nil {
		return err
	}
	if err := next.finish(head, true); err != nil {
		return j.named(err)
	}
	return nil
}

// lock opens the file, or makes it, and waits for its lock; then it looks what
// others wrote meanwhile. A file that was replaced while the lock was waited for
// is not the journal any more.
func (j *Journal) lock() error {
	for {
		if err := j.open(); err != nil {
			return err
		}
		if err := waitLock(j.f); err != nil {
			j.f = nil // who waits for the lock closes it
			j.forget()
			return err
		}
		now, err := os.Stat(j.opts.Path)
		if err == nil && os.SameFile(j.id, now) {
			if j.size = now.Size(); j.size < j.end {
				j.tail = tail{} // somebody cut it: see what is left
			}
			if err := j.catchUp(); err != nil {
				j.forget()
				return err
			}
			return nil
		}
		j.forget()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (j *Journal) unlock() {
	if j.f != nil {
		unlockFile(j.f)
	}
}

// forget closes the file, which gives the lock back; the next one looks anew.
func (j *Journal) forget() {
	if j.f != nil {
		j.f.Close()
	}
	j.f, j.id, j.tail, j.size = nil, nil, tail{}, 0
}

// open opens the file if it is not.
func (j *Journal) open() error {
	if j.f != nil {
		return nil
	}
	f, err := os.OpenFile(j.opts.Path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		var head ledger.Head
		if head, err = j.opts.Head(); err == nil {
			err = create(j.opts.Path, head)
		}
		if err == nil {
			f, err = os.OpenFile(j.opts.Path, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return err
	}
	id, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	j.f, j.id = f, id
	return nil
}

// catchUp moves the tail behind what is in the file, and takes out what a crash
// left behind the last whole line.
func (j *Journal) catchUp() error {
	if j.end > 0 {
		var next [1]byte
		if n, _ := j.f.ReadAt(next[:], j.end); n == 0 || next[0] == 0 {
			return nil
		}
	}
	fresh := j.end == 0
	t, err := scanTail(j.f, j.tail, j.size)
	if err != nil {
		return err
	}
	j.dirty = true
	j.tail = t
	torn, err := leftover(j.f, j.end, j.size, fresh)
	if err != nil || torn == nil {
		return err
	}
	if err := zero(j.f, j.end, j.end+int64(len(torn))); err != nil {
		return err
	}
	return j.note(torn)
}

// note writes down what was taken out.
func (j *Journal) note(torn []byte) error {
	d, err := ledger.Torn(bytes.Trim(torn, "\x00")).Draft()
	if err != nil {
		return err
	}
	line := append(d.Seal(j.head), '\n')
	if err := j.put(line); err != nil {
		return err
	}
	j.end += int64(len(line))
	j.head = ledger.Head{Seq: d.Record().Seq, Hash: d.Record().Hash}
	return nil
}

// Close ends appending, after what is being written, and closes the file. What is
// asked of the journal afterwards opens it again.
func (j *Journal) Close() {
	j.once.Do(func() { close(j.closed) })
	j.token <- struct{}{}
	for batch := j.gather(); len(batch) > 0; batch = j.gather() {
		j.commit(batch)
	}
	j.forget()
	<-j.token
}
