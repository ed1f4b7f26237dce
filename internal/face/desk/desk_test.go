package desk_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/obstat/obstat/internal/face/desk"
)

func TestDesk(t *testing.T) {
	db := filepath.Join(t.TempDir(), "state", "x.db")
	if desk.Taken(db) {
		t.Error("there is no desk yet")
	}
	leave, err := desk.Sit(db)
	if err != nil {
		t.Fatal(err)
	}
	again, err := desk.Sit(db)
	if err != nil {
		t.Fatal(err)
	}
	if !desk.Taken(db) {
		t.Error("two people sit there")
	}
	leave()
	if !desk.Taken(db) {
		t.Error("one person sits there")
	}
	again()
	if desk.Taken(db) {
		t.Error("everybody has left")
	}
	if st, err := os.Stat(desk.Path(db)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestLookers: those who look do not take one another for people.
func TestLookers(t *testing.T) {
	db := filepath.Join(t.TempDir(), "x.db")
	leave, err := desk.Sit(db)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if desk.Taken(db) {
					t.Error("nobody is there")
				}
			}
		})
	}
	wg.Wait()
}
