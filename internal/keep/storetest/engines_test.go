package storetest

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/sqlite"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) Store { return new(memory.Store) }, nil)
}

func openSQLite(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	var paths sync.Map
	Run(t, func(t *testing.T) Store {
		path := filepath.Join(t.TempDir(), "dir with ?#%", "obstat.db")
		s := openSQLite(t, path)
		paths.Store(s, path)
		return s
	}, func(t *testing.T, s Store) Store {
		must(t, s.(*sqlite.Store).Close())
		path, _ := paths.Load(s)
		again := openSQLite(t, path.(string))
		paths.Store(again, path)
		return again
	})
}

// TestSQLiteProcesses: of eight processes that answer at once, one wins.
func TestSQLiteProcesses(t *testing.T) {
	Processes(t, filepath.Join(t.TempDir(), "obstat.db"), func(t *testing.T, path string) Store { return openSQLite(t, path) })
}
