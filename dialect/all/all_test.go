package all

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// fake is a dialect that is as sure of every file as it is told to be.
type fake struct {
	name string
	sure dialect.Confidence
}

func (f fake) Name() string                                       { return f.name }
func (fake) Info() dialect.Info                                   { return dialect.Info{} }
func (f fake) Detect(*dialect.File) dialect.Confidence            { return f.sure }
func (fake) Load(*dialect.Input) (*obstat.Program, obstat.Errors) { return nil, nil }
func (fake) Library() *obstat.Library                             { return nil }
func detectNames(list ...dialect.Dialect) (dialect.Dialect, error) {
	return detect(list, &dialect.File{Name: "x.json"})
}

func TestDetect(t *testing.T) {
	no, maybe, sure := fake{"no", dialect.No}, fake{"maybe", dialect.Maybe}, fake{"sure", dialect.Sure}
	also, certain := fake{"also", dialect.Maybe}, fake{"certain", dialect.Sure}
	for _, tt := range []struct {
		list []dialect.Dialect
		want string
		code obstat.Code
	}{
		{[]dialect.Dialect{no, maybe}, "maybe", ""},
		{[]dialect.Dialect{maybe, sure, also}, "sure", ""},
		{[]dialect.Dialect{sure, maybe}, "sure", ""},
		{[]dialect.Dialect{maybe, no, also}, "maybe or also", obstat.CodeAmbiguous},
		{[]dialect.Dialect{maybe, sure, certain}, "sure or certain", obstat.CodeAmbiguous},
		{[]dialect.Dialect{no}, "no", obstat.CodeUnknownName},
		{nil, "", obstat.CodeUnknownName},
	} {
		d, err := detectNames(tt.list...)
		if tt.code == "" {
			if err != nil || d.Name() != tt.want {
				t.Errorf("%v: %v, %v", tt.list, d, err)
			}
			continue
		}
		var es obstat.Errors
		if !errors.As(err, &es) || es[0].Code != tt.code || es[0].Pos.File != "x.json" || !strings.Contains(es[0].Error(), tt.want) {
			t.Errorf("%v: %v", tt.list, err)
		}
	}
}

// TestAll: every name is there once, in order, and leads to its dialect.
func TestAll(t *testing.T) {
	if !slices.IsSorted(Names()) || len(slices.Compact(Names())) != len(All()) {
		t.Errorf("names not sorted, or one twice: %q", Names())
	}
	for _, name := range Names() {
		if d, err := Find(name); err != nil || d.Name() != name {
			t.Errorf("Find(%q) = %v, %v", name, d, err)
		}
	}
	if _, err := Find("Program"); err == nil || !strings.Contains(err.Error(), "program") {
		t.Errorf("Find of a name in other capitals: %v", err)
	}
}

// TestNobodyClaims: files of no dialect are nobody's.
func TestNobodyClaims(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", "null", "x", "{", "\x00", `{"name":"x","version":"1.0.0","scripts":{"test":"go test"}}`} {
		for _, d := range All() {
			if c := d.Detect(&dialect.File{Name: "some.txt", Data: []byte(text)}); c == dialect.Sure {
				t.Errorf("%s is sure of %q", d.Name(), text)
			}
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("obstat.json", `{"obstat":1}`)
	f.Add("config.yaml", "permissions:\n  enabled: true\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		if d, err := Detect(&dialect.File{Name: name, Data: []byte(text)}); (d == nil) == (err == nil) {
			t.Errorf("%v, %v", d, err)
		}
	})
}

// TestPrinted: what `policy show` prints of a dialect's files is a Program that
// loads and has the same digest.
func TestPrinted(t *testing.T) {
	for name, text := range map[string]string{
		"config.yaml":             "permissions:\n  enabled: true\n  schema: tiered_policy\n  tools:\n    bash: ask\n",
		"opencode.json":           `{"permission": {"bash": {"git *": "allow"}}}`,
		"permission_context.json": `{"mode": "default", "allow_rules": {}, "deny_rules": {}, "ask_rules": {}}`,
	} {
		files := []dialect.File{{Name: name, Data: []byte(text)}}
		d, err := Detect(&files[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l, err := dialect.Load(d, &dialect.Input{Files: files})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		printed, err := l.Program.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		p := dialect.File{Name: "p.json", Data: printed}
		if d, err = Detect(&p); err != nil || d.Name() != "program" {
			t.Errorf("%s, printed: %v, %v", name, d, err)
			continue
		}
		again, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{p}})
		if err != nil {
			t.Errorf("%s, printed: %v", name, err)
			continue
		}
		if again.Policy.Digest() != l.Policy.Digest() {
			t.Errorf("%s: another digest once printed", name)
		}
	}
}
