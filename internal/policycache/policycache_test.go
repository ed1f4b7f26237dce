package policycache

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

func sample() *obstat.Program {
	deny := obstat.Deny
	return &obstat.Program{
		Dialect: "x", Mode: "default", View: "x.view", Params: json.RawMessage(`{"a":1}`),
		Faces: map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "path"}},
		Rules: map[string][]obstat.Rule{"all": {
			{ID: "1", Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Fnmatch, Text: "git *"}, Verdict: obstat.Allow,
				Source: "Bash(git *)", Layer: "user", Reason: "why", Pos: obstat.Pos{File: "f", Line: 3, Col: 4}},
			{Tool: obstat.Is("Write"), Verdict: obstat.Ask},
		}, "none": {}},
		Pipelines: map[obstat.Mode]obstat.Pipeline{
			"default": {Default: obstat.Ask, Amend: []obstat.Stage{obstat.Floor{Name: "floor"}}, Stages: []obstat.Stage{
				obstat.Match{Name: "m", Rules: "all", Pick: obstat.Strictest, Settle: obstat.SetOf(obstat.Deny), AskDenies: true},
				obstat.Check{Name: "c", Check: "k", Pass: obstat.PlainAsk, AskDenies: true, Unless: []string{"m"}},
				obstat.When{Name: "w", Is: "p", Tools: []string{"Bash"}, Then: obstat.Allow, Else: &deny},
				obstat.When{Name: "v", Tools: []string{"A", "B"}, Then: obstat.Ask},
			}},
			"plan": {Default: obstat.Deny},
		},
	}
}

func marshal(t *testing.T, p *obstat.Program) []byte {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	p := sample()
	e := &Entry{Policies: []Policy{{Dialect: "x", Digest: "d", Files: []string{"/a", "/b"}, Program: p}}}
	got, err := decode(encode(e))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := marshal(t, p), marshal(t, got.Policies[0].Program); !bytes.Equal(a, b) {
		t.Errorf("a program came back as another one:\n%s\n%s", a, b)
	}
	if q := got.Policies[0]; q.Dialect != "x" || q.Digest != "d" || len(q.Files) != 2 {
		t.Errorf("%+v", q)
	}
}

// TestDamage: whatever is changed in a file, it is not used.
func TestDamage(t *testing.T) {
	whole := encode(&Entry{Policies: []Policy{{Dialect: "x", Program: sample()}}, Seen: []Seen{{Name: "/a", Is: File}}})
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1
		if _, err := decode(b); err == nil {
			t.Fatalf("byte %d is changed, and nobody sees it", i)
		}
		if _, err := decode(whole[:i]); err == nil {
			t.Fatalf("cut at %d, and nobody sees it", i)
		}
	}
}

// FuzzDecoder: no bytes make the decoder panic or ask for much more memory than
// they have.
func FuzzDecoder(f *testing.F) {
	e := &encoder{}
	e.program(sample())
	f.Add(e.b)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &decoder{src: string(b)}
		d.program()
	})
}

func TestChanges(t *testing.T) {
	type step struct {
		name   string
		change func(dir string) error
	}
	for _, s := range []step{
		{"a file is written", func(d string) error { return os.WriteFile(filepath.Join(d, "there"), []byte("new"), 0o600) }},
		{"a file is gone", func(d string) error { return os.Remove(filepath.Join(d, "there")) }},
		{"a file has come", func(d string) error { return os.WriteFile(filepath.Join(d, "not"), nil, 0o600) }},
		{"a directory has come, and a file in it", func(d string) error { return os.MkdirAll(filepath.Join(d, "no", "such", "file"), 0o700) }},
		{"a directory has one more", func(d string) error { return os.WriteFile(filepath.Join(d, "many", "b"), nil, 0o600) }},
	} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, "there"), []byte("old"), 0o600)
		os.MkdirAll(filepath.Join(dir, "many"), 0o700)
		os.WriteFile(filepath.Join(dir, "many", "a"), nil, 0o600)
		var l Looker
		l.ReadFile(filepath.Join(dir, "there"))
		l.ReadFile(filepath.Join(dir, "not"))
		l.ReadFile(filepath.Join(dir, "no", "such", "file"))
		l.ReadDir(filepath.Join(dir, "many"))
		if l.Err != nil {
			t.Fatal(l.Err)
		}
		c := &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Self: "me"}
		if err := c.Put(&Entry{Seen: l.Seen(), Policies: []Policy{{Program: sample()}}}, "q"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get("q"); err != nil {
			t.Fatalf("nothing has changed: %v", err)
		}
		if _, err := c.Get("q", ""); !errors.Is(err, ErrMiss) {
			t.Errorf("another question: %v", err)
		}
		if _, err := (&Cache{Dir: c.Dir, Self: "other"}).Get("q"); !errors.Is(err, ErrMiss) {
			t.Errorf("another program: %v", err)
		}
		if err := s.change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get("q"); !errors.Is(err, ErrMiss) {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// TestRemembers: what cannot be looked at again is not cached.
func TestRemembers(t *testing.T) {
	dir := t.TempDir()
	for name, look := range map[string]func(*Looker){
		"a relative name": func(l *Looker) { l.ReadFile("policycache.go") },
		"a directory":     func(l *Looker) { l.ReadFile(dir) },
		"no directory":    func(l *Looker) { l.ReadDir(os.Args[0]) },
	} {
		var l Looker
		if look(&l); l.Err == nil {
			t.Errorf("%s: it would be cached", name)
		}
	}
}

// TestOthers: a file that others may write, or that is none, is not used.
func TestOthers(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	if err := c.Put(&Entry{}, "q"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(c.path([]string{"q"}), 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get("q"); err == nil {
		t.Error("a file that everybody may write is used")
	}
	os.Remove(c.path([]string{"q"}))
	os.Mkdir(c.path([]string{"q"}), 0o700)
	if _, err := c.Get("q"); err == nil {
		t.Error("a directory is used")
	}
}

func TestMakesRoom(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	for i := range maxEntries + 1 {
		if err := c.Put(&Entry{}, string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
	}
	if list, _ := os.ReadDir(c.Dir); len(list) > maxEntries {
		t.Errorf("%d files", len(list))
	}
}

// TestTexts: any texts come back as they were.
func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		n := rapid.IntRange(0, math.MaxInt).Draw(t, "number")
		e := &encoder{}
		e.list(want)
		e.num(n)
		d := &decoder{src: string(e.b), items: make([]string, e.items)}
		got := d.list()
		if len(got) != len(want) || d.num() != n || d.bad {
			t.Fatalf("%q came back as %q", want, got)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%q came back as %q", want, got)
			}
		}
	})
}
