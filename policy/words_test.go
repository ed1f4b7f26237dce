package policy

import (
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestWordOfPlaces: an accepted word counts for its own place as long as a file there still says one.
func TestWordOfPlaces(t *testing.T) {
	say := func(place, word string, onDisk, accepted bool) *Policy {
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\n" + word + "\n")}}})
		if err != nil {
			t.Fatal(err)
		}
		return &Policy{Loaded: l, Place: place, Role: Own, Accepted: accepted, OnDisk: onDisk}
	}
	for name, tt := range map[string]struct {
		policies []*Policy
		want     bool
	}{
		"on disk and accepted":                    {[]*Policy{say("/a", "confine: code", true, true)}, true},
		"accepted, and gone":                      {[]*Policy{say("/a", "confine: code", false, true)}, false},
		"accepted, and another on disk":           {[]*Policy{say("/a", "confine: code", false, true), say("/a", "confine: always", true, false)}, true},
		"accepted, and one of another on disk":    {[]*Policy{say("/a", "confine: code", false, true), say("/b", "confine: code", true, false)}, false},
		"not accepted":                            {[]*Policy{say("/a", "confine: code", true, false)}, false},
		"accepted, and a file that has none":      {[]*Policy{say("/a", "confine: code", false, true), say("/a", "allow: [run ls]", true, true)}, false},
		"on disk and accepted, another says none": {[]*Policy{say("/a", "confine: code", true, true), say("/b", "allow: [run ls]", true, true)}, true},
	} {
		if got := (&InForce{Policies: tt.policies, Pins: "on"}).Confine().Code; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestBudgetOfPlaces: the budget is one for all projects, so that none says it, however its policy was loaded.
func TestBudgetOfPlaces(t *testing.T) {
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\nundo: {keep: 2d, budget: 1M}\n")}}})
	ok(t, err)
	for place, want := range map[string]int64{"": 1 << 20, "/a": 0} {
		u := (&InForce{Policies: []*Policy{{Loaded: l, Place: place, Role: Own, Accepted: true, OnDisk: true}}}).Undo()
		if u.Budget != want || u.Keep != 48*time.Hour {
			t.Errorf("of %q: %+v", place, u)
		}
	}
}

// TestFaceOf: the tool by which a policy speaks of a file or host, with a field that the tool has.
func TestFaceOf(t *testing.T) {
	faces := map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "file_path"}, obstat.FaceWrite: {Tool: "Write", Field: "place"},
		obstat.FaceConnect: {Tool: "own_tool", Field: "host"}}
	p := &Policy{Loaded: &dialect.Loaded{Program: &obstat.Program{Faces: faces}}}
	none := &Policy{Loaded: &dialect.Loaded{Program: &obstat.Program{}}}
	for face, want := range map[string]string{obstat.FaceRead: "Read file_path", obstat.FaceWrite: "Write file_path", obstat.FaceDelete: "Write file_path",
		obstat.FaceConnect: "own_tool command"} { // a field that tools may have, since none of its own is known
		if f := p.faceOf(face); f.Tool+" "+f.Field != want {
			t.Errorf("%s: %+v, want %s", face, f, want)
		}
	}
	for face, want := range map[string]string{obstat.FaceRead: "Read file_path", obstat.FaceWrite: "Write file_path", obstat.FaceDelete: "Delete file_path",
		obstat.FaceConnect: "WebFetch url"} {
		if f := none.faceOf(face); f.Tool+" "+f.Field != want {
			t.Errorf("of no face, %s: %+v, want %s", face, f, want)
		}
	}
}
