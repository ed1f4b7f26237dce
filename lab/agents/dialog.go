package agents

import (
	"cmp"
	"context"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/scripted"
)

// A dialog is the question that an agent shows for a call that obstat asks about. The zero dialog is that of
// an agent that cannot ask: its asks come to obstat ask.
type dialog struct {
	shows            string // words of the question; a bar is an or
	yes, session, no string // keys, with blanks between them: ENTER, ESC, DOWN, or characters; no session: it asks again
	flags            []string
	// first are other questions, before any call, and the keys for them.
	first []step
}

// A step is a question that an agent shows, and the keys that answer it.
type step struct{ shows, keys string }

// asksHere tells whether a scenario on a terminal is about the agent's own question.
func (s *scenario) asksHere(a *Agent) bool { return s.tty && a.driver.dialog.shows != "" }

// keys returns the keys for the scenario's answer; "" where there is none.
func (s *scenario) keys(d *dialog) string {
	switch {
	case len(s.answers) == 0:
		return ""
	case !s.answers[0].Allow:
		return d.no
	case s.answers[0].Scope == approval.Session:
		return cmp.Or(d.session, d.yes)
	}
	return d.yes
}

// times is how often the agent has to ask in a scenario: once, but for each call where it has no answer for
// the session.
func (s *scenario) times(d *dialog) int {
	if d.session == "" && len(s.answers) > 0 && s.answers[0].Scope == approval.Session {
		return len(s.main)
	}
	return 1
}

// patience is how long an agent on a terminal is left alone after an answer that ends its turn, and with a
// question without an answer.
const patience = 6 * time.Second

// converse answers an agent's questions, and ends it when the model has heard of all its calls, or when it
// waits for an answer that does not come. It returns how often the agent asked.
func (r *run) converse(ctx context.Context, sc *screen, d *dialog, s *scenario, end func()) (asked int) {
	defer end()
	first, answered := d.first, -1
	var until time.Time // when waiting is over; zero: there is more to come
	for ; ctx.Err() == nil; time.Sleep(150 * time.Millisecond) {
		for i, st := range first {
			if _, shown := sc.shows(st.shows, 0); shown {
				sc.press(st.keys)
				first = append(first[:i:i], first[i+1:]...)
				break
			}
		}
		if len(r.model.Results(scripted.MainMarker)) >= len(s.main) && until.IsZero() {
			until = time.Now().Add(time.Second)
		}
		if !until.IsZero() && time.Now().After(until) {
			return asked
		}
		if d.shows == "" {
			continue
		}
		call, from := sc.turn()
		if _, shown := sc.shows(d.shows, from); !shown || call == answered {
			continue
		}
		asked, answered = asked+1, call
		if s.dies {
			return asked
		}
		keys := s.keys(d)
		if keys != "" {
			sc.press(keys)
		}
		if keys == "" || keys == d.no {
			until = time.Now().Add(patience)
		}
	}
	return asked
}
