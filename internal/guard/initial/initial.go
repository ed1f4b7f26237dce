// Package initial drafts a project's first policy: a preset, with rules for the project's tools and those that
// people have written already.
//
// It owns the search (for languages, scripts, Makefile targets), how the draft is put together, and which
// of two rules in conflict gives way: the preset's. It decides nothing by itself and writes nothing: a person sees
// the draft first.
package initial

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/diff"
)

// A Line is a rule of a draft.
type Line struct {
	List     string // allow, ask or deny
	Sentence string
	Why      string // a comment above it, and above those that follow with the same one
	// Own: a person has written it, at From. In a conflict it stays, and a rule of the preset gives way.
	Own  bool
	From obstat.Pos
}

// A Draft is the text of a policy.
type Draft struct {
	Text string
	// Skipped are people's lines that the policy does not say, and why.
	Skipped []string
	// Looser are calls of rules in force that the policy decides more freely than they.
	Looser []diff.Region
}

// A Check looks for rules in force that a draft would loosen.
type Check struct {
	// Loosened returns them; see [diff.Loosened].
	Loosened func(*dialect.Loaded) ([]diff.Region, error)
	// Home is the home directory that its calls are made under.
	Home string
}

// maxRounds bounds how often the draft is tightened.
const maxRounds = 8

// Write drafts a policy of a preset with lines added to its lists; in careful, further allows are there as a
// comment, in unattended asks become denials. Of two lines that contradict one another the preset's gives way to a
// person's, and the looser to the stricter. A line that loosens rules in force all the same is taken out or said more
// strictly, as far as it can be: the rest is in [Draft.Looser]. A nil check looks at nothing.
func Write(preset string, heading []string, lines []Line, check *Check) (*Draft, error) {
	text := native.Preset(preset)
	if text == "" {
		return nil, fmt.Errorf("there is no preset %q; the presets are %s", preset, strings.Join(native.Presets(), ", "))
	}
	s := read(text)
	if preset == native.Unattended {
		lines = Held(lines)
	}
	for _, l := range lines {
		if preset == native.Unattended && l.List == obstat.Ask.String() {
			l.List = obstat.Deny.String() // nothing is asked
		}
		s.add(l, preset == native.Careful && l.List == obstat.Allow.String() && !l.Own)
	}
	s.giveWay()
	out := &Draft{}
	l, err := s.load()
	if check != nil && err == nil {
		s.home = check.Home
		out.Looser, err = check.Loosened(l)
		for round := 0; err == nil && round < maxRounds && len(out.Looser) > 0 && s.tighten(out.Looser); round++ {
			if l, err = s.load(); err == nil {
				out.Looser, err = check.Loosened(l)
			}
		}
	}
	out.Skipped, out.Text = s.skipped, s.text()
	for i := len(heading) - 1; i >= 0; i-- {
		out.Text = strings.TrimSuffix("# "+heading[i], " ") + "\n" + out.Text
	}
	return out, err
}

func parse(text string) (*dialect.Loaded, error) {
	return dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte(text)}}})
}
