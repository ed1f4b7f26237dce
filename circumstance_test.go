package obstat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/pattern"
)

// sampleOf is a value that a circumstance can have.
func sampleOf(at *Circumstance) string {
	switch {
	case at.Compare == CompareTime || at.Of != "":
		return "2026-01-30T22:30:00.5+01:00" // a Friday
	case at.Words != nil:
		return at.Words[0]
	}
	return "some-" + at.Name
}

// TestCircumstances: each row can be set, read, compared and cleared, and leaves the call that it
// was copied from alone.
func TestCircumstances(t *testing.T) {
	for at := range Circumstances() {
		t.Run(at.Name, func(t *testing.T) {
			var before Call
			at.Set(&before, sampleOf(&at))
			c := before
			if got := at.Values(&c); !slices.Equal(got, []string{sampleOf(&at)}) {
				t.Errorf("set and read: %q", got)
			}
			if got, known := at.Compared(&c); len(got) != 1 || !known {
				t.Errorf("compared: %q, known %v", got, known)
			}
			at.Set(&c)
			if got := at.Values(&c); got != nil || len(c.Circumstances) != 0 {
				t.Errorf("cleared: %q, %q", got, c.Circumstances)
			}
			if got := at.Values(&before); !slices.Equal(got, []string{sampleOf(&at)}) {
				t.Errorf("the call it was copied from: %q", got)
			}
			if got, ok := CircumstanceOf(at.Field()); !ok || got.Name != at.Name {
				t.Errorf("by its field %s: %v", at.Field(), got.Name)
			}
		})
	}
	for _, field := range []string{"call.", "call.weather", "branch", "input.branch", ""} {
		if at, ok := CircumstanceOf(field); ok {
			t.Errorf("%q is %s", field, at.Name)
		}
	}
}

// TestUnknownCircumstance: one that is not known counts for a deny or ask rule and against an allow
// rule; a role is known once the user is, and marks always are.
func TestUnknownCircumstance(t *testing.T) {
	for at := range Circumstances() {
		for _, v := range []Verdict{Deny, Ask, Allow} {
			want := v != Allow
			if at.Compare == CompareMarks {
				want = false
			}
			c := Cond{Field: at.Field(), Any: []Text{Is("x")}}
			if got := c.holds(&Facts{Call: &Call{}}, &Question{}, v, nil); got != want {
				t.Errorf("%s, %s rule: %v", at.Name, v, got)
			}
			if got := c.holds(nil, &Question{}, v, nil); got != (v != Allow) {
				t.Errorf("%s, %s rule, no call: %v", at.Name, v, got)
			}
		}
	}
	role := circumstanceNamed("role")
	if values, known := role.Compared(&Call{User: "ann"}); values != nil || !known {
		t.Errorf("ann has no roles, and %q, known %v", values, known)
	}
	if _, known := (&Facts{Call: &Call{}}).circumstance("weather"); known {
		t.Error("a name that is none of the table's is known")
	}
}

// TestFind: what is found, and that what the call says stays.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/side\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here := Machine{World: OS{}, Marks: func() []string { return []string{"read secrets"} }}
	c, elsewhere := Call{Dir: dir}, Call{Dir: dir}
	for at := range Circumstances() {
		at.Find(&c, here)
		at.Find(&elsewhere, Machine{World: &Snapshot{}, Marks: here.Marks})
		var said Call
		at.Set(&said, sampleOf(&at))
		if at.Find(&said, here); !slices.Equal(at.Values(&said), []string{sampleOf(&at)}) {
			t.Errorf("%s of the call is %q now", at.Name, at.Values(&said))
		}
	}
	if c.Branch != "side" || c.Circumstances["os"] == "" || time.Since(c.Time) > time.Hour || len(c.After) != 1 {
		t.Errorf("found: %+v", c)
	}
	if c.Agent != "" || c.User != "" || c.Roles != nil || c.Hint != "" || c.Mode != "" {
		t.Errorf("found though nothing says it: %+v", c)
	}
	at := elsewhere.Circumstances
	if at["os"] != "" || at["reversible"] == "true" || elsewhere.Branch != "" {
		t.Errorf("the system and the branch of a call that is made elsewhere: %+v", elsewhere)
	}
}

// TestDoubtfulCondition: a pattern that cannot be matched in time counts as the stricter of its two
// answers: for a deny or ask rule the condition holds, for an allow rule it does not, whether it is
// negated or not.
func TestDoubtfulCondition(t *testing.T) {
	slow := Text{pattern.Full, `(a+)+\1[bc]`}
	p, err := pattern.Compile(slow.Flavour, slow.Text)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 1<<14) + "d"
	if _, err := p.Match(text); err == nil {
		t.Fatal("the pattern can be matched")
	}
	compiled := func(Text) *pattern.Pattern { return p }
	f := &Facts{Call: &Call{Branch: text}}
	for _, v := range []Verdict{Deny, Ask, Allow} {
		for _, not := range []bool{false, true} {
			c := &Cond{Field: "call.branch", Any: []Text{slow}, Not: not}
			if got, want := c.holds(f, &Question{}, v, compiled), v != Allow; got != want {
				t.Errorf("%s rule, not %v: holds is %v", v, not, got)
			}
			if got, want := c.leavesOut(&Question{Subjects: []Subject{{c.Field, text}}}, v == Allow, compiled), v == Allow; got != want {
				t.Errorf("%s rule: leaves out is %v", v, got)
			}
		}
	}
}

// TestConditionHolds: an allow rule wants all values to fit, and one at least; any other wants one.
func TestConditionHolds(t *testing.T) {
	compiled := func(t Text) *pattern.Pattern {
		p, err := pattern.Compile(t.Flavour, t.Text)
		if err != nil {
			panic(err)
		}
		return p
	}
	for _, tt := range []struct {
		roles         []string
		not           bool
		strict, allow bool
	}{
		{nil, false, false, false},
		{nil, true, true, false},
		{[]string{"lead"}, false, true, true},
		{[]string{"lead"}, true, false, false},
		{[]string{"dev"}, false, false, false},
		{[]string{"dev"}, true, true, true},
		{[]string{"dev", "lead"}, false, true, false},
		{[]string{"dev", "lead"}, true, false, false},
	} {
		c := &Cond{Field: "call.role", Any: []Text{Is("lead")}, Not: tt.not}
		f := &Facts{Call: &Call{User: "ann", Roles: tt.roles}}
		for v, want := range map[Verdict]bool{Deny: tt.strict, Ask: tt.strict, Allow: tt.allow} {
			if got := c.holds(f, &Question{}, v, compiled); got != want {
				t.Errorf("%s rule, not %v, roles %q: %v", v, tt.not, tt.roles, got)
			}
		}
	}
}
