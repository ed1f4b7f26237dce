package logfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

// TestWrite: a record is in the file when Write returns, and its head is kept when Sync
// does; appends go on behind it.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ledger")
	f := logfile.New(path)
	for i := range 5 {
		if err := f.Write(t.Context(), record(i)); err != nil {
			t.Fatal(err)
		}
		n := len(all(t, logfile.New(path), ledger.Query{}))
		if n != 2*i+1 {
			t.Errorf("%d records after write %d", n, i)
		}
		if i%2 == 0 {
			if err := errors.Join(f.Sync(t.Context()), f.Sync(t.Context())); err != nil {
				t.Error(err)
			}
			if head, err := os.ReadFile(path + ".head"); err != nil || !strings.Contains(string(head), fmt.Sprintf(" %d ", 2*i+1)) {
				t.Errorf("after record %d the kept head is %s %v", 2*i+1, head, err)
			}
		}
		if err := f.Append(t.Context(), record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := f.Verify(t.Context(), ledger.Hash{}); err != nil || v.Records != 10 {
		t.Errorf("%+v, %v", v, err)
	}
	f.Close()
	if err := f.Write(t.Context(), record(1)); !errors.Is(err, ledger.ErrClosed) {
		t.Error(err)
	}
}

// TestSyncBesides: records are written while others are made durable, nothing is touched
// once the file is closed, and what was replaced meanwhile is opened anew.
func TestSyncBesides(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		f := logfile.New(filepath.Join(dir, "x.ledger"))
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for k := range 10 {
					if err := f.Write(t.Context(), record(10*i+k)); err != nil {
						t.Error(err)
					}
					if err := f.Sync(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := f.Write(t.Context(), record(99)); err != nil {
			t.Fatal(err)
		}
		late := make(chan error)
		go func() { late <- f.Sync(t.Context()) }()
		if v, err := f.Verify(t.Context(), ledger.Hash{}); err != nil || v.Records != 41 {
			t.Errorf("%+v, %v", v, err)
		}
		if err := errors.Join(f.Close(), <-late); err != nil {
			t.Error(err)
		}
	}
}
