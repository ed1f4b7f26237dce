// Package logfile keeps a ledger in a file: one sealed record a line, which any
// number of processes append to and read, and the head files that show when the file
// was shortened or replaced.
//
// It owns the file's format, its locks and its durability. The form of a record and
// the chain are package ledger's.
package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"github.com/obstat/obstat/ledger"
)

// A File is the ledger on disk: one file with one sealed record a line, which
// any number of processes append to and read. It is safe for concurrent use.
//
// Behind the last record the file holds zeros, written ahead of time, so that
// making a record durable is one write and one fdatasync that changes no
// metadata. The file's lock is held for the write alone; processes that wait for
// the disk at the same time share one flush.
//
// The end of the chain is also kept apart from the file, in the head files: a
// file that was shortened, deleted or written anew does not lead to the record
// that is named there. Appending to such a file adds a [ledger.Damage] record first.
type File struct {
	path  string
	heads []*headFile // the first is beside the ledger

	queue  chan *pending
	token  chan struct{} // full while a goroutine uses the fields below
	closed chan struct{}
	once   sync.Once
	sync   sync.Mutex // held by a Sync, whose fdatasync runs without the token

	view  *View // the open file; nil: to be opened
	size  int64
	last  kept  // the last record
	fresh bool  // the file was opened and not yet compared with the kept head
	wrote int64 // bytes that this process has appended
	dirty bool  // bytes may not be durable: of another process, which may have died, or of Write
	force bool  // the head files name a record that is not there: overwrite them
	buf   []byte
}

var _ ledger.Store = (*File)(nil)

// New returns the ledger at a path. It opens nothing: the first use does, and
// the first Append makes the file. The last known head is kept in path+".head",
// and in the files named by heads as far as those can be written.
func New(path string, heads ...string) *File {
	return &File{path: path, heads: headFiles(append([]string{path + ".head"}, heads...)),
		queue: make(chan *pending, maxBatch), token: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Files returns the file and the files that its head is kept in.
func (f *File) Files() []string { return append([]string{f.path}, f.headPaths()...) }

// A pending is an append that waits for its commit.
type pending struct {
	drafts []*ledger.Draft
	err    chan error
}

// maxBatch is how many appends are committed together at most.
const maxBatch = 256

// Append seals records behind the last one and returns once they will survive a
// crash; then each knows its Seq, Prev, Hash and Offset. Appends of several
// goroutines are committed together. On an error none of them is in the file.
func (f *File) Append(ctx context.Context, records ...*ledger.Record) error {
	// Encoding is every caller's own work; one of them commits.
	drafts, err := ledger.Drafts(records)
	if err != nil {
		return err
	}
	p := &pending{drafts, make(chan error, 1)}
	select {
	case <-f.closed:
		return ledger.ErrClosed
	default:
	}
	select {
	case f.queue <- p:
	default: // it is full; waiting for several things costs more than one
		select {
		case f.queue <- p:
		case <-f.closed:
			return ledger.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// The goroutine that gets the token commits all that waits, its own and the
	// others': a caller that is alone waits for no other goroutine.
	select {
	case f.token <- struct{}{}:
	default:
		select {
		case err := <-p.err:
			return err
		case f.token <- struct{}{}:
		}
	}
	defer func() { <-f.token }()
	for {
		select {
		case err := <-p.err:
			return err
		default:
			f.commit(f.gather())
		}
	}
}

// Write is the first half of an Append: the records are in the file when it returns, so
// that the end of this process cannot lose them; [File.Sync] has them survive the
// machine's. It is for a caller that has other work to do meanwhile.
func (f *File) Write(ctx context.Context, records ...*ledger.Record) error {
	drafts, err := ledger.Drafts(records)
	if err != nil {
		return err
	}
	if err := f.take(ctx); err != nil {
		return err
	}
	defer func() { <-f.token }()
	select {
	case <-f.closed:
		return ledger.ErrClosed
	default:
	}
	_, err = f.writeOut([]*pending{{drafts: drafts}})
	f.dirty = true
	return f.named(err)
}

// Sync returns once everything that was in the file when it was called will survive a
// crash. Others may write meanwhile. After an error it can be called again: the records
// stay, since the calls that they allow may be under way.
func (f *File) Sync(ctx context.Context) error {
	f.sync.Lock()
	defer f.sync.Unlock()
	for {
		if err := f.take(ctx); err != nil {
			return err
		}
		if !f.dirty {
			<-f.token
			return nil
		}
		if err := f.open(); err != nil {
			<-f.token
			return f.named(err)
		}
		view, last := f.view, f.last
		<-f.token
		err := syncData(view.f)
		f.token <- struct{}{}
		if err != nil && f.view != view { // it was opened anew meanwhile
			<-f.token
			continue
		}
		if err == nil {
			f.dirty = f.last != last
			err = f.keep(last, f.force)
			f.force = err != nil && f.force
		}
		<-f.token
		return f.named(err)
	}
}

// gather takes the appends that wait; only the holder of the token may. While they become more, it lets goroutines
// run first that may be about to append: on a busy server more of them share a flush, and without other
// work that takes no time.
func (f *File) gather() (batch []*pending) {
	for n := 0; n < len(f.queue) && n < maxBatch; runtime.Gosched() {
		n = len(f.queue)
	}
	for len(batch) < maxBatch {
		select {
		case p := <-f.queue:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch and tells every caller in it. If that fails each append
// is tried by itself, so that one that does not fit does not take the others
// along.
func (f *File) commit(batch []*pending) {
	err := f.write(batch)
	for _, p := range batch {
		if err != nil && len(batch) > 1 {
			p.err <- f.write([]*pending{p})
			continue
		}
		p.err <- err
	}
}

func (f *File) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

// write seals a batch, writes it under the lock, makes it durable without the
// lock, and keeps the new head.
func (f *File) write(batch []*pending) error {
	before, err := f.writeOut(batch)
	if err != nil {
		return f.named(err)
	}
	if err := f.durable(); err != nil {
		return f.named(errors.Join(err, f.takeBack(before)))
	}
	return nil
}

// writeOut seals a batch and writes it under the lock; it is not durable yet. It
// returns the record before.
func (f *File) writeOut(batch []*pending) (before kept, err error) {
	if err := f.lock(); err != nil {
		return before, err
	}
	before = f.last
	buf, last := f.buf[:0], before
	for _, p := range batch {
		for _, d := range p.drafts {
			last.at = before.end + int64(len(buf))
			buf = append(d.AppendSeal(buf, last.Head), '\n')
			r := d.Record()
			last.Head, last.end = r.Head(), before.end+int64(len(buf))
			r.Offset = last.at
		}
	}
	if f.buf = buf; cap(buf) > 1<<20 {
		f.buf = nil
	}
	err = f.put(buf)
	f.unlock()
	if err == nil {
		f.last = last
	}
	return before, err
}

// put writes buf behind the last record.
func (f *File) put(buf []byte) error {
	at := f.last.end - f.view.base
	if err := f.makeRoom(at + int64(len(buf))); err != nil {
		return err
	}
	if _, err := f.view.f.WriteAt(buf, at); err != nil {
		_, zerr := f.view.f.WriteAt(make([]byte, len(buf)), at)
		f.forget()
		return errors.Join(err, zerr)
	}
	f.wrote += int64(len(buf))
	return nil
}

// durable waits for the disk and then keeps the head: after a power failure the
// kept head may be an earlier one, and is never one that the file has not.
func (f *File) durable() error {
	if err := syncData(f.view.f); err != nil {
		return err
	}
	f.dirty = false
	err := f.keep(f.last, f.force)
	f.force = err != nil && f.force
	return err
}

// takeBack overwrites records that could not be made durable with zeros, unless
// another process has appended behind them.
func (f *File) takeBack(before kept) error {
	mine := f.last
	f.last = before
	if err := f.lock(); err != nil {
		return err
	}
	defer f.forget() // which gives the lock back; the next append looks anew
	if f.last != mine {
		return nil
	}
	f.last = before
	return zero(f.view.f, before.end-f.view.base, mine.end-f.view.base)
}

const (
	minRoom = 64 << 10
	// Zeros written ahead are flushed with the next record: 4 MiB took 4 to 6 ms, 512 KiB
	// less than one.
	maxRoom = 512 << 10
)

// makeRoom writes zeros up to an offset and some more: as much as this process
// has written so far, within bounds, or as little as the disk still takes. A hook
// that writes one record never pays for more than 64 KiB.
func (f *File) makeRoom(need int64) error {
	if need <= f.size {
		return nil
	}
	wanted := need + min(max(f.wrote, minRoom), maxRoom)
	err := zero(f.view.f, f.size, wanted)
	if err != nil {
		wanted = need
		err = zero(f.view.f, f.size, wanted)
	}
	if err != nil {
		return errors.Join(err, f.view.f.Truncate(f.size))
	}
	f.size = wanted
	return nil
}

// zero writes zeros from one offset of a file to another.
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

// take waits for the token.
func (f *File) take(ctx context.Context) error {
	select {
	case f.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End returns the end of the chain and the offset behind its last record. All
// records before it are durable. A file that is not there is an
// [fs.ErrNotExist].
func (f *File) End(ctx context.Context) (ledger.Head, int64, error) {
	if err := f.take(ctx); err != nil {
		return ledger.Head{}, 0, err
	}
	defer func() { <-f.token }()
	if _, err := os.Stat(f.path); err != nil {
		return ledger.Head{}, 0, err
	}
	if err := f.lock(); err != nil {
		return ledger.Head{}, 0, f.named(err)
	}
	f.unlock()
	if f.dirty {
		if err := f.durable(); err != nil {
			return ledger.Head{}, 0, f.named(err)
		}
	}
	return f.last.Head, f.last.end, nil
}

// Close ends appending, after appends under way, and closes the file. Reading
// opens it again.
func (f *File) Close() error {
	f.once.Do(func() { close(f.closed) })
	f.sync.Lock()
	defer f.sync.Unlock()
	f.token <- struct{}{}
	for batch := f.gather(); len(batch) > 0; batch = f.gather() {
		f.commit(batch)
	}
	f.forget()
	closeHeads(f.heads)
	<-f.token
	return nil
}

// lock opens the file, or makes it, waits for its lock and reads the records that
// others appended meanwhile. A file that was replaced while the lock was waited for is not
// the ledger any more.
func (f *File) lock() error {
	for {
		if err := f.open(); err != nil {
			return err
		}
		if err := waitLock(f.view.f); err != nil {
			f.view = nil // waitLock closes the file
			f.forget()
			return err
		}
		now, err := os.Stat(f.path)
		if err == nil && os.SameFile(f.view.id, now) {
			f.size = now.Size()
			if err := f.catchUp(); err != nil {
				f.forget()
				return err
			}
			return nil
		}
		f.forget()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (f *File) unlock() {
	if f.view != nil {
		unlockFile(f.view.f)
	}
}

// forget closes the file, which gives the lock back; the next use opens it anew.
func (f *File) forget() {
	if f.view != nil {
		f.view.Close()
	}
	f.view, f.size = nil, 0
}

// open opens the file if it is not open, and makes it where there is none.
func (f *File) open() error {
	if f.view != nil {
		return nil
	}
	v, err := openView(f.path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.create(); err == nil {
			v, err = openView(f.path, os.O_RDWR)
		}
	}
	if err != nil {
		return err
	}
	f.view, f.fresh = v, true
	return nil
}
