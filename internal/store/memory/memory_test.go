package memory_test

import (
	"testing"

	"github.com/obstat/obstat/internal/store/memory"
	"github.com/obstat/obstat/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Store { return new(memory.Store) }, nil)
}
