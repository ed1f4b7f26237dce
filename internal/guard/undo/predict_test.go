package undo

import (
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
)

// TestSurprises: paths that changed and were not predicted are told by the program that changed them.
func TestSurprises(t *testing.T) {
	dir := project(t, template(t))
	for _, tt := range []struct {
		text    string
		changed []string
		want    []Surprise
	}{
		{"rm a", []string{"a"}, nil},
		{"mkdir -p x/y", []string{"x", "x/y"}, nil},
		{"cp a b", []string{"b", "b.log"}, []Surprise{{Program: "cp", Known: true}}},
		{"newtool a", []string{"a", "out.txt"}, []Surprise{{Program: "newtool", Operand: true}, {Program: "newtool"}}},
		{"ls && newtool src", []string{"src/m.go"}, []Surprise{{Program: "newtool", Operand: true}}},
		{"make", []string{"a", "b"}, nil},
		{"python3 x.py", []string{"a"}, nil},
		{"newtool", []string{"node_modules/x/y.js"}, nil},
	} {
		var list []confine.Change
		for _, name := range tt.changed {
			list = append(list, confine.Change{Path: filepath.Join(dir, name), Kind: confine.Changed, Outcome: confine.Committed, Type: "file"})
		}
		got := Surprises(effect.AnalyzeCommand(tt.text, &effect.Options{Dir: dir, FS: obstat.OS{}}), list, dir)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.text, got, tt.want)
			continue
		}
		for i, w := range tt.want {
			if g := got[i]; g.Program != w.Program || g.Operand != w.Operand || g.Known != w.Known {
				t.Errorf("%s: %+v, want %+v", tt.text, g, w)
			}
		}
	}
}
