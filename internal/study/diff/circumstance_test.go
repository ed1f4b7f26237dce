package diff_test

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/diff"
)

// TestEachCircumstance: a native policy takes every circumstance below `when`, decides by it,
// names the rule in the explanation, and `policy diff` finds the calls that the condition is about.
func TestEachCircumstance(t *testing.T) {
	compile := func(rule string) *obstat.Policy {
		t.Helper()
		text := "version: 1\nallow:\n  - " + rule + "\n"
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
		if err != nil {
			t.Fatal(err)
		}
		return l.Policy
	}
	plain := compile("run make ship")
	for at := range obstat.Circumstances() {
		if at.When == "" {
			continue
		}
		value, other, condition := "some-value", "another", ""
		switch {
		case at.Words != nil:
			value, other = at.Words[0], at.Words[1]
		case at.Compare == obstat.CompareClock:
			value, other, condition = "2026-01-30T10:00:00Z", "2026-01-30T19:00:00Z", "09:00-17:00"
		case at.Compare == obstat.CompareDay:
			value, other, condition = "2026-01-30T10:00:00Z", "2026-01-31T10:00:00Z", "mon-fri"
		}
		if condition == "" {
			condition = value
		}
		t.Run(at.Name, func(t *testing.T) {
			guarded := compile(fmt.Sprintf("{rule: run make ship, when: {%s: %s}}", at.When, condition))
			call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"make ship"}`), Dir: diff.Dir, Roots: []string{diff.Dir}}
			for _, tt := range []struct {
				values []string
				allow  bool
			}{{nil, false}, {[]string{other}, false}, {[]string{value}, true}} {
				c := *call
				at.Set(&c, tt.values...)
				d, trace := guarded.Explain(&c, nil)
				if allow := d.Verdict == obstat.Allow; allow != tt.allow || (d.Rule != nil) != allow || trace == nil {
					t.Errorf("%q: %s, %s", tt.values, d.Verdict, d.Reason())
				}
			}
			looser := diff.Compare(guarded, plain, &diff.Options{Limit: 500})
			if looser.Looser == 0 {
				t.Errorf("taking the condition out loosens nothing of %d calls", looser.Tried)
			}
			if got := diff.Compare(plain, guarded, &diff.Options{Limit: 500}); got.Looser != 0 || got.Tighter == 0 {
				t.Errorf("the condition alone: %d looser, %d stricter", got.Looser, got.Tighter)
			}
		})
	}
}
