package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/store/storetest"
)

// TestProcessesAnswer: of eight processes that answer at once, one wins.
func TestProcessesAnswer(t *testing.T) {
	storetest.Processes(t, filepath.Join(t.TempDir(), "obstat.db"), func(t *testing.T, path string) storetest.Store { return open(t, path) })
}
