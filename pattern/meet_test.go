package pattern

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMayMeet(t *testing.T) {
	for _, tc := range []struct {
		flavour Flavour
		pattern string
		set     string
		below   bool
		want    bool
	}{
		{Fnmatch, "*/.env", "/p/.en\x02", false, true},
		{Fnmatch, "*/.env", "/p/.\x04ef\x05nv", false, true},
		{Fnmatch, "*/.env", "/p/.\x04fg\x05nv", false, false},
		{Fnmatch, "*/.env", "/p/.\x04!fg\x05nv", false, true},
		{Fnmatch, "*/.env", "/p/.\x04!e\x05nv", false, false},
		{Fnmatch, "*/.env", "/p/.e\x01", false, true},
		{Fnmatch, "*/.env", "/p/\x03\x01", false, false},
		{Fnmatch, "*/.env", "/p/\x01", false, true},
		{Fnmatch, "*/.env", "/p/.en\x02x", false, false},
		{Fnmatch, "*/.env", "/p", true, true},
		{Fnmatch, "/q/*", "/p", true, false},
		{Exact, "/p/.env", "/p", true, true},
		{Exact, "/p/.env", "/q", true, false},
		{Exact, "/p/.env", "\x00", false, true},
		{Minimatch, ".git/**", ".gi\x02/hooks", false, true},
		{Minimatch, "src/**", ".gi\x02/hooks", false, false},
		{Full, `config/prod\.yaml`, "config/p\x01.yaml", false, true},
		{Full, `config/prod\.yaml`, "config/d\x01.yaml", false, false},
		{Search, `\.env$`, "/p/.e\x00", false, true},
		{Wildcard, "**/.env", "dist/\x03\x01", false, false}, // which takes a backslash for a slash, but names have none
		{Wildcard, "**/.env", "dist/.e\x01", false, true},
		{Wildcard, "**/.env", "\x00/.env", false, true},
		{Wildcard, `a\\b*`, "a\x01", false, true},
	} {
		p, err := Compile(tc.flavour, tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MayMeet(tc.set, tc.below); got != tc.want {
			t.Errorf("%s %q meets %q (below %v): %v", tc.flavour, tc.pattern, tc.set, tc.below, got)
		}
	}
	if (*Pattern)(nil).MayMeet("\x00", true) {
		t.Error("no pattern meets something")
	}
}

// A text that a pattern matches, with some characters replaced by marks that stand for them,
// is a set that the pattern may meet.
func TestMayMeetHoldsMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func(letters string, n int) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	matched := 0
	for range 20000 {
		p, err := Compile([]Flavour{Fnmatch, Minimatch, Wildcard}[r.IntN(3)], random("ab.*?/", 7))
		if err != nil {
			continue
		}
		text := random("ab./", 6)
		if ok, err := p.Match(text); !ok || err != nil {
			continue
		}
		matched++
		from := r.IntN(len(text) + 1)
		to := from + r.IntN(len(text)-from+1)
		set := text[:from] + "\x00" + text[to:]
		if to == from+1 && text[from] != '/' {
			set = text[:from] + "\x02" + text[to:]
		}
		if !p.MayMeet(set, false) {
			t.Fatalf("%s %q matches %q, but does not meet %q", p.Flavour(), p, text, set)
		}
	}
	if matched < 500 {
		t.Errorf("only %d matched", matched)
	}
}

// Any number of levels is as many as anybody tries one by one.
func TestMayMeetAcross(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(letters string, n int) string {
		var b strings.Builder
		for range r.IntN(n + 1) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	var met, missed int
	for range 20000 {
		p, err := Compile([]Flavour{Fnmatch, Minimatch, Wildcard, Full, Search}[r.IntN(5)], random("ab.*?/", 8))
		if err != nil {
			continue
		}
		before, after, below := random("ab./\x00\x01\x02", 3)+"\x03\x01", random("ab./\x00\x01\x02", 3), r.IntN(2) == 0
		want := false
		for at, n := before, 0; n < 12 && !want; n++ {
			want = p.MayMeet(at+after, below)
			at += "/\x03\x01"
		}
		if got := p.MayMeetAcross(before, after, below); got != want {
			t.Fatalf("%s %q from %q to %q (below %v): %v, one by one %v", p.Flavour(), p, before, after, below, got, want)
		}
		if want {
			met++
		} else {
			missed++
		}
	}
	if met < 1000 || missed < 1000 {
		t.Errorf("%d met, %d did not", met, missed)
	}
	if (*Pattern)(nil).MayMeetAcross("\x00", "\x00", true) {
		t.Error("no pattern meets something")
	}
}

// TestItself: a pattern of paths without what lies below them.
func TestItself(t *testing.T) {
	p := MustCompile(Full, `config/prod\.yaml(?:/.*)?`)
	own := p.Itself()
	for text, want := range map[string][2]bool{"config/prod.yaml": {true, true}, "config/prod.yaml/x": {true, false}, "config": {false, false}} {
		if a, _ := p.Match(text); a != want[0] {
			t.Errorf("%s: %v", text, a)
		}
		if a, _ := own.Match(text); a != want[1] {
			t.Errorf("itself, %s: %v", text, a)
		}
	}
	if p.Itself() != own || own.Itself() != own {
		t.Error("it is made anew")
	}
	if g := MustCompile(Minimatch, "a/**"); g.Itself() != g {
		t.Error("a pattern of another form is not its own")
	}
}
