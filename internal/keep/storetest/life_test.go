package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
)

// testChanges: whoever asks for changes after a cursor gets every request that has
// changed since, in order, and none of the others unless it changed just before.
func testChanges(t *testing.T, s Store) {
	for _, id := range []string{"a", "b", "c"} {
		r := request(id)
		r.Group = "g" + id
		must(t, s.PutRequest(ctx(), r))
	}
	all, err := s.Requests(ctx(), approval.Query{After: 1})
	must(t, err)
	if len(all) != 3 || all[0].ID != "a" || all[2].ID != "c" || all[0].Changed >= all[1].Changed || all[1].Changed >= all[2].Changed {
		t.Fatalf("%+v", all)
	}
	cursor := all[2].Changed
	must(t, settle(s, "a", approval.Refused, nil, nil))
	last, err := s.Requests(ctx(), approval.Query{After: 1, Limit: 1})
	must(t, err)
	if len(last) != 1 || last[0].ID != "a" || last[0].Version != 1 || last[0].Changed <= cursor {
		t.Errorf("the last change: %+v", last)
	}
	after, err := s.Requests(ctx(), approval.Query{After: cursor})
	must(t, err)
	if len(after) == 0 || after[len(after)-1].ID != "a" || after[len(after)-1].State != approval.Refused {
		t.Errorf("changes since: %+v", after)
	}
	for want, q := range map[string]approval.Query{
		"[b]": {Group: "gb"}, "[b c]": {State: approval.Pending}, "[b  c]": {Limit: 2}, "[c]": {State: approval.Pending, Limit: 1}, "[]": {Group: "none"},
	} {
		rs, err := s.Requests(ctx(), q)
		must(t, err)
		ids := []string{}
		for _, r := range rs {
			ids = append(ids, r.ID)
		}
		if fmt.Sprint(ids) != strings.ReplaceAll(want, "  ", " ") {
			t.Errorf("%+v: %v, want %s", q, ids, want)
		}
	}
}

// testVersions: who changes what he has not seen changes nothing.
func testVersions(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	if err := s.PutRequest(ctx(), request("r")); !errors.Is(err, approval.ErrExists) {
		t.Errorf("put twice: %v", err)
	}
	old, err := s.Request(ctx(), "r")
	must(t, err)
	must(t, settle(s, "r", approval.Approved, []approval.Answer{{By: "me", Allow: true}}, nil))
	old.State = approval.Refused
	if err := s.Update(ctx(), old, &approval.Grant{ID: "g"}); !errors.Is(err, approval.ErrChanged) {
		t.Errorf("changed what he has not seen: %v", err)
	}
	r, err := s.Request(ctx(), "r")
	must(t, err)
	if gs, err := s.Grants(ctx(), time.Now()); err != nil || len(gs) != 0 || r.State != approval.Approved || r.Version != 1 {
		t.Errorf("%+v %v %v", r, gs, err)
	}
	if err := s.Update(ctx(), request("nobody's"), nil); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// testClaims: of many callers that claim, report and sweep at once, one claims.
func testClaims(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	must(t, settle(s, "r", approval.Approved, []approval.Answer{{By: "me", Allow: true}}, nil))
	b := approval.New(s, nil)
	won := race64(t, func(i int) error {
		_, err := b.Claim(ctx(), "r", approval.Claiming{By: fmt.Sprint(i), Lease: time.Hour})
		return err
	})
	r, err := s.Request(ctx(), "r")
	must(t, err)
	if won != 1 || r.State != approval.Claimed || r.Claim == nil || !says(t, r) {
		t.Fatalf("%d claimed it: %+v", won, r)
	}
	by := r.Claim.By
	won = race64(t, func(int) error {
		_, err := b.Finish(ctx(), "r", by, approval.Outcome{OK: true, Words: "fine"})
		return err
	})
	if r, err = s.Request(ctx(), "r"); won != 1 || err != nil || r.State != approval.Done || r.Outcome == nil || !r.Outcome.OK || r.Claim.By != by || says(t, r) {
		t.Errorf("%d reported: %+v %v", won, r, err)
	}
}

// testDocs: documents are added, replaced and deleted by whoever has seen them
// last.
func testDocs(t *testing.T, s Store) {
	type value struct{ N int }
	if _, _, err := docs.Get[value](ctx(), s, "k", "a"); !errors.Is(err, docs.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	must(t, docs.Put(ctx(), s, "k", "b", 0, value{2}))
	must(t, docs.Put(ctx(), s, "k", "a", 0, value{1}))
	must(t, docs.Put(ctx(), s, "other", "a", 0, value{9}))
	if err := docs.Put(ctx(), s, "k", "a", 0, value{7}); !errors.Is(err, docs.ErrChanged) {
		t.Errorf("added twice: %v", err)
	}
	won := race64(t, func(int) error {
		_, err := docs.Change(ctx(), s, "k", "a", func(v *value) error { v.N++; return nil })
		return err
	})
	all, err := docs.All[value](ctx(), s, "k")
	must(t, err)
	if won != 64 || fmt.Sprint(all) != "[{65} {2}]" {
		t.Errorf("%d, %v", won, all)
	}
	must(t, docs.Delete(ctx(), s, "k", "a"))
	if _, err := s.Doc(ctx(), "k", "a"); !errors.Is(err, docs.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	must(t, docs.Put(ctx(), s, "k", "a", 0, value{1}))
}
