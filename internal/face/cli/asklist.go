package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/study/explain"
)

// errChoose is a line that names another request of the list.
var errChoose = errors.New("choose")

// maxListed is how many requests the list above the pane shows at once.
const maxListed = 5

// choose reads the number of a request, or `+` and `-` for the next and the one before.
func choose(line string, pending []*approval.Request, at int) (int, error) {
	line = strings.TrimSpace(line)
	n, err := strconv.Atoi(line)
	switch {
	case line == "+" || line == "-":
		step := map[string]int{"+": 1, "-": len(pending) - 1}[line]
		return (at + step) % len(pending), errChoose
	case err != nil:
		return 0, nil
	case n < 1 || n > len(pending):
		return 0, fmt.Errorf("there is no request %d; the list has %d", n, len(pending))
	}
	return n - 1, errChoose
}

// asked writes the requests that wait, the shown one marked: number, agent, call, and the time that is left.
func (s *screen) asked(pending []*approval.Request, at int, now time.Time) {
	s.printf("%s\n", s.io.paint(bold, fmt.Sprintf("%d of %d asked", at+1, len(pending))))
	if len(pending) < 2 {
		return
	}
	first := min(max(0, at-maxListed/2), max(0, len(pending)-maxListed))
	shown := pending[first:min(first+maxListed, len(pending))]
	agents := 0
	for _, r := range shown {
		agents = max(agents, columns(visible(cmp.Or(r.Call.Agent, "agent"))))
	}
	agents = min(agents, 12)
	for i, r := range shown {
		mark, look := " ", plain
		if first+i == at {
			mark, look = "▸", bold
		}
		left := leftWords(r.Expires.Sub(now))
		agent := pad(clip(visible(cmp.Or(r.Call.Agent, "agent")), agents), agents)
		head := fmt.Sprintf("%s%3d  %s  ", mark, first+i+1, agent)
		room := s.width - columns(head) - 2 - columns(left)
		text := visible(strings.Join(strings.Fields(explain.TextOf(&r.Call)), " "))
		s.printf("%s\n", s.io.paint(look, head+pad(clip(text, room), room)+"  "+left))
	}
	if rest := len(pending) - len(shown); rest > 0 {
		s.printf("%s\n", s.io.paint(dim, fmt.Sprintf("     %d more", rest)))
	}
	s.printf("%s\n", s.io.paint(dim, strings.Repeat("─", s.width)))
}

// leftWords writes how long a request still waits: `45s`, `12m`.
func leftWords(d time.Duration) string {
	switch d = max(d, 0).Round(time.Second); {
	case d < 2*time.Minute:
		return d.String()
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	}
	return strconv.Itoa(int(d.Hours())) + "h"
}

// keys writes the answers that can be given, as many as fit on a line; `[a] always` only where a rule is on offer.
func (s *screen) keys(r *approval.Request, several bool, w obstat.World) {
	keys := []string{"[y] once", "[s] session"}
	if unseen(r, w) != "" {
		keys = append(keys, "[t] run it to see")
	}
	if slices.ContainsFunc(r.Offers, func(o approval.Offer) bool { return o.NoFile == "" }) {
		keys = append(keys, "[a] always")
	}
	keys = append(keys, "[e] edit", "[n] no", "[l] later")
	if several {
		keys = append(keys, "[1…] show another")
	}
	line := ""
	for _, k := range append(keys, "[?] more") {
		if line != "" && columns(line)+2+columns(k) > s.width {
			s.printf("%s\n", s.io.paint(bold, line))
			line = ""
		}
		if line != "" {
			line += "  "
		}
		line += k
	}
	s.printf("%s\n", s.io.paint(bold, line))
}

// shown is the request in the pane, and the list that it is part of.
type shown struct {
	pending []*approval.Request
	at      int
}

func (v *shown) request() *approval.Request { return v.pending[v.at] }

// next returns the requests that were not left to others, and which of them is shown: the chosen one, else the oldest.
func (d *seat) next(ctx context.Context) (*shown, error) {
	pending, err := d.broker.Pending(ctx)
	pending = slices.DeleteFunc(slices.Clone(pending), func(r *approval.Request) bool { return d.left[r.ID] })
	if len(pending) == 0 {
		return nil, err
	}
	at := slices.IndexFunc(pending, func(r *approval.Request) bool { return r.ID == d.chosen })
	return &shown{pending, max(at, 0)}, err
}

// news adds requests that came while one is shown to the end of its list, so that the numbers stay, and tells of them.
func (d *seat) news(ctx context.Context, v *shown) {
	now, err := d.next(ctx)
	if err != nil || now == nil {
		return
	}
	was := len(v.pending)
	for _, r := range now.pending {
		if !slices.ContainsFunc(v.pending, func(have *approval.Request) bool { return have.ID == r.ID }) {
			v.pending = append(v.pending, r)
		}
	}
	if n := len(v.pending); n > was {
		fmt.Fprintf(d.o.IO.Out, "\n%d are asked now; + shows the next\n> ", n)
	}
}

// draw writes the list, and below it the pane with one request and the keys. On a terminal each starts on a clean
// screen, with the last answer's words above it.
func (d *seat) draw(v *shown) {
	f := d.o.Factory
	s := newScreen(f.IO)
	now := time.Now()
	if f.IO.OutTTY && f.IO.Color && !d.below {
		s.printf("\x1b[H\x1b[2J")
		if d.said != "" {
			s.printf("%s\n", s.io.paint(dim, d.said))
		}
	} else {
		s.printf("\n")
	}
	d.said = ""
	s.asked(v.pending, v.at, now)
	pane := newScreen(f.IO)
	s.printf("%s\n", pane.request(v.request(), f.World, now))
	s.keys(v.request(), len(v.pending) > 1, f.World)
	s.printf("> ")
	_ = s.flush(f.IO.Out) // a terminal that is gone ends the command by its input
}
