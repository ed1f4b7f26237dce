package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/explain"
)

// requestView lays a request out as explain lays out a decision: people see the
// same thing in both places. The call is looked at anew, on this machine.
func requestView(r *approval.Request, w obstat.World) *explain.View {
	a := explain.Analyze(&r.Call, w)
	v := &explain.View{Text: explain.TextOf(&r.Call), Why: r.Reason, Would: explain.Effects(a, &r.Call, w), Hidden: explain.HiddenOf(a)}
	v.Verdict, v.Safety = obstat.Ask, r.Safety
	v.Text = shortPath(v.Text, r.Call.Dir)
	v.By = explain.By{Kind: "default", Text: "no rule"}
	if r.Rule != "" {
		v.By = explain.By{Kind: "rule", Text: "ask rule " + r.Rule, Pos: r.Pos}
		v.By.Pos.File = shortPath(r.Pos.File, r.Call.Dir)
		v.Why = beyondRule(r)
	}
	v.Mark = markOf(v.Text, r.Part)
	return v
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

// beyondRule returns what a request's reason says besides the rule and its
// place.
func beyondRule(r *approval.Request) string {
	rest, ok := strings.CutPrefix(r.Reason, fmt.Sprintf("ask rule %s", r.Rule))
	if !ok {
		return r.Reason
	}
	rest = strings.TrimPrefix(rest, fmt.Sprintf(" (%s)", r.Pos))
	return strings.TrimLeft(rest, ":;, ")
}

// request writes a request for the person who is to answer it.
func (s *screen) request(r *approval.Request, w obstat.World, now time.Time) string {
	v := requestView(r, w)
	s.head(v)
	s.diff(r)
	s.by(v)
	if v.Why != "" {
		s.text("why", v.Why)
	}
	s.would(v)
	s.hidden(v)
	s.text("who", whoWords(r, now))
	s.offers(r)
	return s.b.String()
}

// whoWords says who wants it, until when, and who may answer.
func whoWords(r *approval.Request, now time.Time) string {
	c := &r.Call
	var parts []string
	add := func(label, text string) {
		if text != "" {
			parts = append(parts, label+text)
		}
	}
	add("agent ", c.Agent)
	add("session ", c.Session)
	add("for ", c.User)
	add("in ", c.Dir)
	text := strings.Join(parts, ", ")
	if text == "" {
		text = "an agent"
	}
	text += " · " + left(r, now)
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

func left(r *approval.Request, now time.Time) string {
	if d := r.Expires.Sub(now).Round(time.Second); d > 0 {
		return d.String() + " left"
	}
	return "its time is over"
}

// offers writes the rules that would settle calls like this one, and what else
// each would have let through.
func (s *screen) offers(r *approval.Request) {
	label := "always"
	for i := range r.Offers {
		o := &r.Offers[i]
		texts := []string{o.Text}
		for _, and := range o.And {
			texts = append(texts, and.Text)
		}
		head := fmt.Sprintf("%d  ", i+1)
		for _, l := range wrap(visible(strings.Join(texts, " and ")), s.width-margin-len(head)) {
			s.line(label, s.io.paint(bold, head)+l)
			label, head = "", strings.Repeat(" ", len(head))
		}
		also := "nothing else that was asked lately"
		if len(o.Also) > 0 {
			also = strings.Join(o.Also, " · ")
		}
		for _, l := range wrap("would also allow: "+visible(also), s.width-margin-len(head)) {
			s.line("", s.io.paint(dim, head+l))
		}
	}
}

// maxDiff bounds how many lines of a change are shown.
const maxDiff = 40

// diff writes what an edit would change, if the call is one.
func (s *screen) diff(r *approval.Request) {
	s.signed(editLines(&r.Call))
}

// signed writes lines that begin with +, - or a blank.
func (s *screen) signed(lines []string) {
	for i, l := range lines {
		if i == maxDiff {
			s.line("", s.io.paint(dim, fmt.Sprintf("… %d lines more", len(lines)-i)))
			return
		}
		look := map[byte]ink{'+': green, '-': red}[l[0]]
		s.line("", s.io.paint(look, clip(visible(l), s.width-margin)))
	}
}

// editLines returns the lines of a file edit with their signs, nil where the
// call is none.
func editLines(c *obstat.Call) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Input, &fields) != nil {
		return nil
	}
	field := func(names ...string) (string, bool) {
		for _, n := range names {
			var s string
			if raw, ok := fields[n]; ok && json.Unmarshal(raw, &s) == nil {
				return s, true
			}
		}
		return "", false
	}
	old, hasOld := field("old_string", "oldString", "old_str", "oldText")
	text, hasNew := field("new_string", "newString", "new_str", "newText")
	if hasOld && hasNew {
		return lineDiff(old, text)
	}
	if body, ok := field("content", "file_text", "contents"); ok {
		name, _ := field("file_path", "filePath", "path", "filename")
		return lineDiff(fileNow(c.Dir, name), body)
	}
	return nil
}
