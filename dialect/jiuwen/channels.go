package jiuwen

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// splitChannels reads the option: names between commas, blanks or the marks of
// a JSON list.
func splitChannels(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", \t\n[]\"'", r) })
}

// withChannels puts before everything else that calls of a channel which is not
// checked are allowed; the amendments leave those alone.
func withChannels(p obstat.Pipeline, channels []string) obstat.Pipeline {
	if len(channels) == 0 {
		return p
	}
	p.Stages = append([]obstat.Stage{obstat.When{Name: stageChannel, Is: unchecked, Then: obstat.Allow}}, p.Stages...)
	amend := make([]obstat.Stage, 0, len(p.Amend))
	for _, s := range p.Amend {
		if c, ok := s.(obstat.Check); ok {
			c.Unless = append(slices.Clone(c.Unless), stageChannel)
			s = c
		}
		amend = append(amend, s)
	}
	p.Amend = amend
	return p
}

// A channelPredicate tells whether a call's channel is not checked.
type channelPredicate struct{ *params }

// Holds reports whether the channel is not among those that are checked. A call
// without a channel counts as one of web.
func (c channelPredicate) Holds(f *obstat.Facts) (bool, error) {
	channel := f.Call.Channel
	if channel == "" {
		channel = "web"
	}
	return !slices.Contains(c.Channels, channel), nil
}
