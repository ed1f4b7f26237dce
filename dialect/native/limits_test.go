package native

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/dialect"
)

// TestTighten: of two words the stricter part of each counts, whichever comes first.
func TestTighten(t *testing.T) {
	code, always := Confine{Code: true}, Confine{Code: true, Always: true}
	wide := Confine{Code: true, Level: "files", Read: []string{"/a", "/b"}, Write: []string{"/a"}, Ports: []int{22, 80}, During: true, Time: 5 * time.Second, Size: 7}
	other := Confine{Code: true, Level: "files", Read: []string{"/b", "/c"}, Write: []string{"/c"}, Ports: []int{80}, During: true, Time: 3 * time.Second, Size: 9}
	for _, tt := range []struct {
		a, b Confine
		want string
	}{
		{Confine{}, code, "off"},
		{code, code, "code"},
		{code, always, "always"},
		{wide, wide, wide.String()},
		{wide, other, "code, level files, read /b, ports 80, ask during, time 3s, size 7"},
		{wide, code, "code, time 5s, size 7"},
	} {
		for _, got := range []Confine{tt.a.Tighten(tt.b), tt.b.Tighten(tt.a)} {
			if got.String() != tt.want {
				t.Errorf("%s and %s: %s, want %s", tt.a, tt.b, got, tt.want)
			}
		}
	}
}

// TestConfineOfLayers: a project tightens what its user says, and leaves the trees and ports
// that it does not name; two files of one layer tighten each other.
func TestConfineOfLayers(t *testing.T) {
	for _, tt := range []struct{ user, project, local, want string }{
		{"confine: code", "", "", "code"},
		{"", "confine: code", "", "code"},
		{"confine: code", "confine: off", "", "off"},
		{"confine: always", "confine: code", "", "always"},
		{"confine: {run: code, read: [/u], write: [/w], ports: [22]}", "confine: code", "", "code, read /u, write /w, ports 22"},
		{"confine: {run: code, read: [/u], write: [/w], ports: [22]}", "confine: {run: code, read: [/x], write: [/x], ports: [23]}", "", "code"},
		{"confine: {run: code, read: [/u, /x]}", "confine: {run: code, read: [/x]}", "", "code, read /x"},
		{"", "confine: {run: code, ports: [1, 65535]}", "confine: {run: code, ports: [1]}", "code, ports 1"},
	} {
		in := &dialect.Input{}
		for _, file := range [][2]string{{dialect.LayerUser, tt.user}, {dialect.LayerProject, tt.project}, {dialect.LayerLocal, tt.local}} {
			if file[1] != "" {
				in.Files = append(in.Files, dialect.File{Name: file[0] + "/" + File, Layer: file[0], Data: []byte("version: 1\n" + file[1] + "\n")})
			}
		}
		for range 2 { // in either order
			l, err := dialect.Load(Dialect{}, in)
			if err != nil {
				t.Errorf("%+v: %v", tt, err)
				continue
			}
			if c, said := ConfineOf(l.Program); !said || c.String() != tt.want {
				t.Errorf("%+v: %s", tt, c)
			}
			slices.Reverse(in.Files)
		}
	}
}

// TestSizes: sizes are whole numbers with a unit.
func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "2K": 2 << 10, "500M": 500 << 20, "2G": 2 << 30, "2147483647": 1<<31 - 1,
		"2147483648": 0, "0": 0, "-1K": 0, "K": 0, "": 0, "1.5G": 0, "1T": 0} {
		if got, err := sizeOf(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}

// TestOnlyConfines: a file with the word alone decides no call.
func TestOnlyConfines(t *testing.T) {
	for text, want := range map[string]bool{
		"version: 1\nconfine: code\n": true, "confine: code\n": true, "version: 1\n": false,
		"version: 1\nconfine: code\nallow: [read workspace]\n": false, "confine: [": false,
	} {
		if got := OnlyConfines(&dialect.File{Name: File, Data: []byte(text)}); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// matches tells whether a glob's pattern is about a path.
func matches(t interface{ Fatal(...any) }, g *glob, path string) bool {
	re, err := regexp.Compile("^(?:" + g.pattern().Text + ")$")
	if err != nil {
		t.Fatal(err)
	}
	return re.MatchString(path)
}

// TestGlobs: wildcards mean the same as in .gitignore.
func TestGlobs(t *testing.T) {
	for _, tt := range []struct{ glob, yes, no string }{
		{"src/*.go", "src/a.go src/a.go/x src/.go", "src/a/b.go a.go src/ago"},
		{"src/**", "src/a src/a/b", "srcs/a"},
		{"src/**/x", "src/x src/a/x src/a/b/x src/x/y", "src/ax src/a/bx"},
		{"./a?", "ab ax/y", "a abc a/"},
		{"./a.b", "a.b a.b/c", "axb"},
		{"src", "src src/a", "srca"},
		{"./x**y", "xy xay xa/by", "x"},
		{"src//a/", "src/a src/a/b", "src"},
		{".//src///**", "src src/a", "a"},
		{"./a/*/c", "a/b/c a/b/c/d", "a/c a/b/b/c"},
	} {
		g, why := newGlob(tt.glob)
		if why != "" {
			t.Errorf("%s: %s", tt.glob, why)
			continue
		}
		for _, p := range strings.Fields(tt.yes) {
			if !matches(t, &g, p) {
				t.Errorf("%s is not about %s", tt.glob, p)
			}
		}
		for _, p := range strings.Fields(tt.no) {
			if matches(t, &g, p) {
				t.Errorf("%s is about %s", tt.glob, p)
			}
		}
	}
	g, _ := newGlob("./a*")
	for _, p := range []string{"a\x00", "a\x00b"} {
		if matches(t, &g, p) {
			t.Errorf("a* is certainly about %q", p)
		}
	}
	g, _ = newGlob("./a?")
	for c := range 6 {
		if p := "a" + string(rune(c)); matches(t, &g, p) {
			t.Errorf("a? is certainly about %q", p)
		}
	}
	if g, _ = newGlob("./a**"); !matches(t, &g, "a\nb\x00") {
		t.Error("a** is not about every text")
	}
}

// TestContains: a glob that contains another is about everything that the other is about.
func TestContains(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"src/**", "src/a.go", true}, {"src/a.go", "src/**", false}, {"src", "src/**", true}, {"src/*", "src/a/b", true},
		{"src/*.go", "src/?.go", true}, {"src/?.go", "src/*.go", false}, {"src/**/x", "src/x", true}, {"src/**/x", "src/a/b/x", true},
		{"src/**/x", "src/**/a/x", true}, {"src/**/a/x", "src/**/x", false}, {"./*", "./**", true}, {"./a*", "./a?b", true},
		{"./a?", "./a/", false}, {"./a*b", "./a**b", false}, {"./a**b", "./a*b", true}, {"./a", "./ab", false}, {"./?", "./*", false},
		{"./a*c", "./a/c", false}, {"**/x", "a/x", true}, {"./a/*", "./a", false}, {"./a?c", "./a*c", false},
	} {
		a, why := newGlob(tt.a)
		b, why2 := newGlob(tt.b)
		if why+why2 != "" {
			continue
		}
		if got := a.contains(&b); got != tt.want {
			t.Errorf("%s contains %s: %t", tt.a, tt.b, got)
		}
	}
	paths := rapid.SampledFrom(strings.Fields("a b ab ba aa a/a a/b b/a ab/a a/ab a/a/a a/b/a b/b/b a/b/a/b aa/bb/ab a/a/a/a"))
	text := rapid.StringMatching(`\./([ab]|\*|\*\*|\?|/a|/\*\*/|/){1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		a, why := newGlob(text.Draw(t, "a"))
		b, why2 := newGlob(text.Draw(t, "b"))
		if why+why2 != "" || !a.contains(&b) {
			return
		}
		if p := paths.Draw(t, "path"); matches(t, &b, p) && !matches(t, &a, p) {
			t.Fatal(fmt.Sprintf("%q, which %+v is about and %+v is not", p, b, a))
		}
	})
	rapid.Check(t, func(t *rapid.T) { // and a path that a glob is about is contained by it
		a, why := newGlob(text.Draw(t, "a"))
		p := paths.Draw(t, "path")
		exact, why2 := newGlob("./" + p)
		if why+why2 == "" && a.base == exact.base && matches(t, &a, p) != a.contains(&exact) {
			t.Fatal(fmt.Sprintf("%+v matches %q: %t, contains it: %t", a, p, matches(t, &a, p), a.contains(&exact)))
		}
	})
}
