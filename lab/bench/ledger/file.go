package main

import (
	"os"
	"syscall"

	"github.com/obstat/obstat/ledger"
)

// A file takes sealed records with group commit, and nothing more: no index, no
// query, one process.
type file struct {
	f     *os.File
	at    int64
	head  ledger.Head
	queue chan *waiting
	done  chan struct{}
}

type waiting struct {
	d   *ledger.Draft
	err chan error
}

const prealloc = 1 << 30

func newFile(path string, preallocated bool) (*file, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if preallocated {
		// Written once, so that no block has to be found when it counts.
		if err := syscall.Fallocate(int(f.Fd()), 0, 0, prealloc); err != nil {
			return nil, err
		}
		zeros := make([]byte, 1<<20)
		for at := int64(0); at < prealloc/4; at += int64(len(zeros)) {
			if _, err := f.WriteAt(zeros, at); err != nil {
				return nil, err
			}
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
	}
	b := &file{f: f, queue: make(chan *waiting, 256), done: make(chan struct{})}
	go b.writer()
	return b, nil
}

func (b *file) close() {
	close(b.queue)
	<-b.done
	b.f.Close()
}

// put appends a record together with whatever else is waiting.
func (b *file) put(r *ledger.Record) error {
	d, err := r.Draft()
	if err != nil {
		return err
	}
	w := &waiting{d, make(chan error, 1)}
	b.queue <- w
	return <-w.err
}

// direct appends a record in the caller's own thread.
func (b *file) direct(r *ledger.Record) error {
	d, err := r.Draft()
	if err != nil {
		return err
	}
	return b.write(append(b.seal(nil, d), '\n'))
}

func (b *file) seal(buf []byte, d *ledger.Draft) []byte {
	buf = append(buf, d.Seal(b.head)...)
	b.head = ledger.Head{Seq: d.Record().Seq, Hash: d.Record().Hash}
	return buf
}

func (b *file) write(buf []byte) error {
	if _, err := b.f.WriteAt(buf, b.at); err != nil {
		return err
	}
	b.at = (b.at + int64(len(buf))) % (prealloc / 8)
	return syscall.Fdatasync(int(b.f.Fd()))
}

func (b *file) writer() {
	defer close(b.done)
	var buf []byte
	for first := range b.queue {
		batch := []*waiting{first}
		for more := true; more && len(batch) < 256; {
			select {
			case w, ok := <-b.queue:
				if more = ok; ok {
					batch = append(batch, w)
				}
			default:
				more = false
			}
		}
		buf = buf[:0]
		for _, w := range batch {
			buf = append(b.seal(buf, w.d), '\n')
		}
		err := b.write(buf)
		for _, w := range batch {
			w.err <- err
		}
	}
}
