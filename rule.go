package obstat

import (
	"bytes"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/pattern"
)

// A Text is a pattern as data: a flavour and its text. The zero
// Text matches everything.
type Text struct {
	Flavour pattern.Flavour
	Text    string
}

// Is returns the Text that matches exactly s.
func Is(s string) Text { return Text{pattern.Exact, s} }

// IsZero reports whether t is the Text that matches everything.
func (t Text) IsZero() bool { return t == Text{} }

// String returns the text, with its flavour where that is not exact.
func (t Text) String() string {
	switch t.Flavour {
	case "":
		return "*"
	case pattern.Exact:
		return t.Text
	}
	return string(t.Flavour) + ":" + t.Text
}

// A Rule gives a verdict to the calls it matches.
type Rule struct {
	// ID is the dialect's own name for the rule, if it has one.
	ID string
	// Tool says which tools (or permissions) the rule is about.
	Tool Text
	// Field names the subject that Pattern looks at: an input field such as
	// "command", or a name that the dialect's view gives its subjects. "" together with
	// a Pattern is the input as a whole.
	Field string
	// Pattern is matched against the subject; the zero Text makes this a rule
	// for the whole tool.
	Pattern Text
	Verdict Verdict
	// If are conditions on the call, all of which have to hold: an agent, a branch, a
	// field of the input.
	If []Cond
	// Except are the subjects that the rule leaves out; Field of each is one of the
	// question's.
	Except []Cond
	// Over are the agent's own judges that the rule outranks; only an allow rule has some.
	Over Over

	Source string // as the user wrote it, for people
	Layer  string // which configuration layer it comes from
	Reason string // words for the model and the human, if the rule has some
	Pos    Pos
}

// Same reports whether the two rules mean the same and look the same, wherever they were
// written.
func (r *Rule) Same(o *Rule) bool {
	if r.Source != o.Source || r.Pattern != o.Pattern || r.Tool != o.Tool {
		return false
	}
	var a, b jsonx.Writer
	r.write(&a, false)
	o.write(&b, false)
	return bytes.Equal(a.Buf, b.Buf)
}

// Whole reports whether the rule is about every call to its tools.
func (r *Rule) Whole() bool { return r.Pattern.IsZero() }

// String returns the rule as its user wrote it, or a plain rendering.
func (r *Rule) String() string {
	if r.Source != "" {
		return r.Source
	}
	if r.Whole() {
		return r.Tool.String()
	}
	return r.Tool.String() + "(" + r.Pattern.Text + ")"
}
