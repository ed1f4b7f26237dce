package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/study/explain"
)

// callView is the part of an explanation that a verdict on a call has by itself: part
// decided, by a rule or another stage. Paths are written from the call's directory.
func callView(c *obstat.Call, v obstat.Verdict, part string, by explain.By) *explain.View {
	view := &explain.View{Text: shortPath(explain.TextOf(c), c.Dir), By: by}
	view.By.Pos.File = shortPath(by.Pos.File, c.Dir)
	view.Verdict, view.Tool = v, c.Tool
	if i := strings.Index(view.Text, part); part != "" && part != view.Text && i >= 0 {
		view.Mark = explain.Span{Start: i, End: i + len(part)}
	}
	return view
}

// shortPath writes a path from the working directory if it lies there.
func shortPath(name, dir string) string {
	if !filepath.IsAbs(name) || strings.ContainsAny(name, "\n") {
		return name
	}
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}

// request writes a request as explain writes a decision. The call is analysed anew, on this
// machine, and shown whole however long it is: a person approves all of it.
func (s *screen) request(r *approval.Request, w obstat.World, now time.Time) string {
	by := explain.By{Kind: "default", Text: "no rule"}
	if r.Rule != "" {
		by = explain.By{Kind: "rule", Text: "ask rule " + r.Rule, Pos: r.Pos}
	}
	why := display.Why(r.Reason, r.Rule, r.Pos)
	if why != r.Reason {
		why = strings.TrimLeft(strings.TrimPrefix(why, "on "+r.Part), ":;, ") // it is marked
	}
	a := explain.Analyze(&r.Call, w)
	v := callView(&r.Call, obstat.Ask, r.Part, by)
	v.Forever = explain.Forever(a)
	if unseen(r, w) != "" {
		v.Try = explain.ToTry(&r.Call, a)
	}
	v.Safety, v.Would, v.Hidden = r.Safety, explain.Effects(a, &r.Call, w), explain.HiddenOf(a)
	s.whole = true
	s.head(v)
	s.diff(display.Edit(&r.Call, display.FileNow))
	s.by(v)
	if why != "" {
		s.text("why", why)
	}
	s.hidden(v)
	s.each(v)
	s.forever(v)
	s.text("who", whoWords(r, now, s.io))
	s.offers(r.Offers, "nothing else that was asked lately")
	if len(r.Offers) == 0 {
		s.text("always", "no rule that could be offered would settle it; s allows it for the session")
	}
	return s.b.String()
}

// unseen returns the command of a request that can be run to see, "" where a rule asks, whatever the call changes.
func unseen(r *approval.Request, w obstat.World) string {
	if r.Rule != "" {
		return ""
	}
	return explain.Unseen(&r.Call, explain.Analyze(&r.Call, w))
}

// each writes the effects of a call on a line each, the most dangerous first and in red.
func (s *screen) each(v *explain.View) {
	label := "would"
	for _, e := range byDanger(v.Would) {
		look := plain
		if e.Danger() <= explain.Harmful {
			look = red
		}
		for i, l := range wrap(visible(e.Words), s.room()-2) {
			s.line(label, s.io.paint(look, []string{"", "  "}[min(i, 1)]+l))
			label = ""
		}
	}
	if len(v.Would) == 0 && len(v.Hidden) == 0 {
		s.line(label, "do nothing that is known of")
	}
}

// byDanger returns effects with the most dangerous first.
func byDanger(effects []explain.Effect) []explain.Effect {
	out := slices.Clone(effects)
	slices.SortStableFunc(out, func(a, b explain.Effect) int { return cmp.Compare(a.Danger(), b.Danger()) })
	return out
}

// whoWords names the agent, the time that is left, and the people who may answer.
func whoWords(r *approval.Request, now time.Time, io *IO) string {
	c := &r.Call
	var parts []string
	session := sessionWords(c.Session, io)
	for _, p := range [][2]string{{"agent ", c.Agent}, {"session ", session}, {"for ", c.User}, {"in ", c.Dir}} {
		if p[1] != "" {
			parts = append(parts, p[0]+p[1])
		}
	}
	text := cmp.Or(strings.Join(parts, ", "), "an agent")
	if d := r.Expires.Sub(now).Round(time.Second); d > 0 {
		text += " · " + d.String() + " left"
	} else {
		text += " · its time is over"
	}
	if r.Who.Needed > 1 {
		text += fmt.Sprintf(" · %d of %d have approved", len(r.Answers), r.Who.Needed)
	}
	if len(r.Who.Roles) > 0 {
		text += " · takes " + strings.Join(r.Who.Roles, " or ")
	}
	if r.Who.NotCaller {
		text += " · not " + c.User
	}
	return text
}

// offers writes the rules that would settle calls like this one, and the other
// calls that each would have let through; none is printed where there are no others.
func (s *screen) offers(offers []approval.Offer, none string) {
	label := "always"
	for i := range offers {
		o := &offers[i]
		texts := []string{o.Text}
		for _, and := range o.And {
			texts = append(texts, and.Text)
		}
		head := fmt.Sprintf("%-3d", i+1)
		for _, l := range wrap(visible(strings.Join(texts, " and ")), s.room()-len(head)) {
			s.line(label, s.io.paint(bold, head)+l)
			label, head = "", strings.Repeat(" ", len(head))
		}
		if also := cmp.Or(strings.Join(o.Also, " · "), none); also != "" {
			s.faint("would also allow: " + also)
		}
		if o.NoFile != "" {
			s.faint("for the session only: " + o.NoFile)
		}
	}
}

// diff writes a [display.Diff].
func (s *screen) diff(lines []string) {
	for _, l := range lines {
		for i, part := range fold(l[2:], Range{}, s.room()-2) {
			s.line("", s.io.paint(signInk(l), []string{l[:2], "  "}[min(i, 1)]+part.text))
		}
	}
}

// signInk is the colour of a line of a [display.Diff].
func signInk(line string) ink {
	return map[byte]ink{'+': green, '-': red}[line[0]]
}
