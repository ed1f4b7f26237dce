package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// TestGrantMark: a file beside the database says whether anything is granted.
func TestGrantMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s, ctx := open(t, path), context.Background()
	marked := func(want bool, when string) {
		t.Helper()
		st, err := os.Lstat(statedir.Grants(path))
		if (err == nil) != want || err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", when, st, err)
		}
	}
	settle := func(id string, g *approval.Grant) {
		t.Helper()
		if err := s.PutRequest(ctx, &approval.Request{ID: id}); err != nil {
			t.Fatal(err)
		}
		if err := s.Update(ctx, &approval.Request{ID: id, State: approval.Approved}, g); err != nil {
			t.Fatal(err)
		}
	}
	marked(false, "new")
	settle("r1", nil)
	marked(false, "answered for once")
	settle("r2", &approval.Grant{ID: "g1", Expires: time.Now().Add(time.Hour)})
	settle("r3", &approval.Grant{ID: "g2"})
	marked(true, "granted")
	if _, err := s.Grants(ctx, time.Now().Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(ctx, "g2", time.Now()); err != nil {
		t.Fatal(err)
	}
	marked(true, "one left")
	if out, err := s.Grants(ctx, time.Now().Add(2*time.Hour)); err != nil || len(out) != 0 {
		t.Fatal(out, err)
	}
	marked(true, "none left in two hours")
	if err := s.Revoke(ctx, "g1", time.Now()); err != nil {
		t.Fatal(err)
	}
	marked(false, "all taken back")
	settle("r4", &approval.Grant{ID: "g3", Expires: time.Now().Add(-time.Second)})
	marked(true, "granted again")
	if _, err := s.Grants(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	marked(false, "over")
}
