package gate

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/dialect/native"
)

// searched is a world that finds secrets and links, and counts how often it looks.
type searched struct {
	obstat.Snapshot
	looks int
}

func (s *searched) Secrets(dir string) ([]string, bool) {
	s.looks++
	return []string{dir + "/.env"}, true
}

func (s *searched) List(dir string) (links, dirs []string, all bool) {
	return []string{dir + "/l"}, []string{dir + "/d"}, false
}

// TestMemoSearches: secrets are searched once, and a world that cannot search has not seen all of them.
func TestMemoSearches(t *testing.T) {
	w := new(searched)
	m := &memo{of: w}
	for range 2 {
		if files, all := m.Secrets("/p"); !slices.Equal(files, []string{"/p/.env"}) || !all {
			t.Errorf("%q, all of them: %t", files, all)
		}
	}
	if w.looks != 1 {
		t.Errorf("searched %d times", w.looks)
	}
	if links, dirs, all := m.List("/p"); !slices.Equal(links, []string{"/p/l"}) || !slices.Equal(dirs, []string{"/p/d"}) || all {
		t.Errorf("%q %q, all of them: %t", links, dirs, all)
	}
	m = &memo{of: new(obstat.Snapshot)}
	if files, all := m.Secrets("/p"); files != nil || all {
		t.Errorf("without a search: %q, all of them: %t", files, all)
	}
}

// TestSessionsInMemory: sessions past the bound are an error and not forgotten ones, those that are known
// go on, and one without calls takes no place.
func TestSessionsInMemory(t *testing.T) {
	m := new(sessionMap)
	to := func(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }
	for i := range maxSessions {
		key := strconv.Itoa(i)
		if err := m.Mark(key, []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if err := m.Tally("none"+key, to("")); err != nil {
			t.Fatal(err)
		}
		if err := m.Tally(key, to("x")); err != nil {
			t.Fatal(err)
		}
	}
	if m.Mark("more", []string{"a"}) == nil || m.Tally("more", to("x")) == nil {
		t.Error("more sessions than are remembered")
	}
	if err := m.Mark("7", []string{"b"}); err != nil {
		t.Error(err)
	}
	if err := m.Tally("7", to("y")); err != nil {
		t.Error(err)
	}
	if got, _ := m.Marks("7"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if m.Tally("7", func([]byte) []byte { return make([]byte, maxTally+1) }) == nil || m.Tally("7", func([]byte) []byte { return make([]byte, maxTally) }) != nil {
		t.Error("the bound of one session's calls")
	}
}

// TestCannot: no command runs confined where the face or the machine cannot, and a face is asked with the
// judges that an allowed call outranks by its own rule, and by the word `confine:` else.
func TestCannot(t *testing.T) {
	at := func(level confine.Level) func(context.Context) confine.Report {
		return func(context.Context) confine.Report { return confine.Report{Level: level} }
	}
	says := func(why string) func(*obstat.Call, obstat.Over) string {
		return func(*obstat.Call, obstat.Over) string { return why }
	}
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"make"}`)}
	for name, tt := range map[string]struct {
		o    *Confining
		want bool
	}{
		"no face":            {nil, true},
		"no machine":         {&Confining{Not: says("")}, true},
		"a machine":          {&Confining{Machine: at(confine.LevelFull)}, false},
		"files alone":        {&Confining{Machine: at(confine.LevelFiles)}, false},
		"none":               {&Confining{Machine: at(confine.LevelNone)}, true},
		"a face that can":    {&Confining{Machine: at(confine.LevelFull), Not: says("")}, false},
		"a face that cannot": {&Confining{Machine: at(confine.LevelFull), Not: says("it is remote")}, true},
	} {
		g := &Gate{opts: Options{Confine: tt.o}}
		if got := g.cannot(t.Context(), c, new(obstat.Decision)); got != tt.want {
			t.Errorf("%s: cannot is %t", name, got)
		}
	}
	for v, want := range map[obstat.Verdict]obstat.Over{obstat.Allow: obstat.OverAutoMode, obstat.Ask: obstat.OverReviewer} {
		var got obstat.Over
		g := &Gate{opts: Options{World: obstat.OS{}, Getenv: os.Getenv, Confine: &Confining{Machine: at(confine.LevelFull),
			Not: func(_ *obstat.Call, over obstat.Over) string { got = over; return "it is remote" }}}}
		j := &judged{by: g, world: g.world()}
		j.Decision = obstat.Decision{Verdict: v, Over: obstat.OverAutoMode}
		if _, err := g.confined(t.Context(), c, j, native.Confine{Code: true, Over: obstat.OverReviewer}, ""); err == nil || got != want {
			t.Errorf("%s: asked with %q: %v", v, got, err)
		}
		if _, err := g.confined(t.Context(), &obstat.Call{Tool: "Read"}, j, native.Confine{Code: true}, ""); err == nil {
			t.Error("a file is read confined")
		}
	}
}
