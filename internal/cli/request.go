package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/explain"
)

// callView is the part of an explanation that a verdict on a call has by itself: part
// decided, by a rule or another stage. Paths are written from the call's directory.
func callView(c *obstat.Call, v obstat.Verdict, part string, by explain.By) *explain.View {
	view := &explain.View{Text: shortPath(explain.TextOf(c), c.Dir), By: by}
	view.By.Pos.File = shortPath(by.Pos.File, c.Dir)
	view.Verdict = v
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

// request writes a request for the person who is to answer it, as explain writes a
// decision. The call is analysed anew, on this machine.
func (s *screen) request(r *approval.Request, w obstat.World, now time.Time) string {
	by, why := explain.By{Kind: "default", Text: "no rule"}, r.Reason
	if r.Rule != "" {
		by = explain.By{Kind: "rule", Text: "ask rule " + r.Rule, Pos: r.Pos}
		if rest, ok := strings.CutPrefix(why, by.Text); ok {
			why = strings.TrimLeft(strings.TrimPrefix(rest, fmt.Sprintf(" (%s)", r.Pos)), ":;, ")
		}
	}
	a := explain.Analyze(&r.Call, w)
	v := callView(&r.Call, obstat.Ask, r.Part, by)
	v.Safety, v.Would, v.Hidden = r.Safety, explain.Effects(a, &r.Call, w), explain.HiddenOf(a)
	s.head(v)
	s.diff(editLines(&r.Call))
	s.by(v)
	if why != "" {
		s.text("why", why)
	}
	s.would(v)
	s.hidden(v)
	s.text("who", whoWords(r, now))
	s.offers(r.Offers, "nothing else that was asked lately")
	return s.b.String()
}

// whoWords says who wants it, until when, and who may answer.
func whoWords(r *approval.Request, now time.Time) string {
	c := &r.Call
	var parts []string
	for _, p := range [][2]string{{"agent ", c.Agent}, {"session ", c.Session}, {"for ", c.User}, {"in ", c.Dir}} {
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

// offers writes the rules that would settle calls like this one, and what else
// each would have let through; none says that there is nothing.
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

const (
	// maxDiff bounds how many lines of a change are shown.
	maxDiff = 40
	// maxDiffLines is the longest text that is compared line by line; of longer
	// ones only the common beginning and end are found.
	maxDiffLines = 1000
	// diffContext is how many unchanged lines are shown around a change.
	diffContext = 2
	// maxCompared bounds the file that an edit is compared with.
	maxCompared = 1 << 20
)

// diff writes the first lines of a lineDiff.
func (s *screen) diff(lines []string) {
	for i, l := range lines {
		if i == maxDiff {
			s.line("", s.io.paint(dim, fmt.Sprintf("… %d lines more", len(lines)-i)))
			return
		}
		s.line("", s.io.paint(signInk(l), clip(visible(l), s.room())))
	}
}

// signInk is the colour of a line of a lineDiff.
func signInk(line string) ink {
	return map[byte]ink{'+': green, '-': red}[line[0]]
}

// editLines returns the lineDiff of a call that edits a file, nil for other calls.
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

// fileNow returns the text of a regular file, "" if it cannot be read.
func fileNow(dir, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCompared))
	if err != nil {
		return ""
	}
	return string(data)
}

// lineDiff returns the lines that go with "- ", those that come with "+ ", and a
// few around them with blanks.
func lineDiff(old, text string) (out []string) {
	a, b := splitLines(old), splitLines(text)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	out = signed(nil, "  ", a[max(0, start-diffContext):start])
	out = append(out, middle(a[start:len(a)-end], b[start:len(b)-end])...)
	return signed(out, "  ", a[len(a)-end:len(a)-end+min(end, diffContext)])
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// middle compares the lines between common beginning and common end.
func middle(a, b []string) (out []string) {
	if len(a) > maxDiffLines || len(b) > maxDiffLines {
		return signed(signed(nil, "- ", a), "+ ", b)
	}
	// same[i][j] is how many lines a[i:] and b[j:] have in common.
	same := make([][]int, len(a)+1)
	for i := range same {
		same[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same[i][j] = max(same[i+1][j], same[i][j+1]); a[i] == b[j] {
				same[i][j] = same[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case same[i+1][j] >= same[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return signed(signed(out, "- ", a[i:]), "+ ", b[j:])
}

func signed(out []string, sign string, lines []string) []string {
	for _, l := range lines {
		out = append(out, sign+l)
	}
	return out
}
