package cli

import (
	"os"
	"strings"

	"github.com/obstat/obstat"
)

// origins tells where the lines of files were before rules were taken out of them: a person who reads that line 12 does
// nothing looks at the file as it was.
type origins map[string][]int

// note reads how long the file of a place is, the first time that it is named.
func (o origins) note(at obstat.Pos) string {
	data, err := os.ReadFile(at.File)
	if err != nil {
		return ""
	}
	text := string(data)
	if o[at.File] == nil {
		for n := range strings.Count(text, "\n") + 1 {
			o[at.File] = append(o[at.File], n+1)
		}
	}
	return text
}

// changed takes the lines out that a file had and has no longer: from that of the rule on, within what its common
// beginning and end leave. The line before the last of a list loses a comma.
func (o origins) changed(at obstat.Pos, before string) {
	data, err := os.ReadFile(at.File)
	if err != nil || before == "" {
		return
	}
	was, now := strings.Split(before, "\n"), strings.Split(string(data), "\n")
	gone, begin, end := len(was)-len(now), 0, 0
	if gone <= 0 {
		return
	}
	for begin < len(now) && was[begin] == now[begin] {
		begin++
	}
	for end < len(now)-begin && was[len(was)-1-end] == now[len(now)-1-end] {
		end++
	}
	from := max(begin, min(at.Line-1, len(was)-end-gone))
	if lines := o[at.File]; from+gone <= len(lines) {
		o[at.File] = append(lines[:from:from], lines[from+gone:]...)
	}
}

// of returns where a place was.
func (o origins) of(at obstat.Pos) obstat.Pos {
	if lines := o[at.File]; at.Line > 0 && at.Line <= len(lines) {
		at.Line = lines[at.Line-1]
	}
	return at
}

// told returns a finding with the places that it had at first.
func (o origins) told(e *obstat.Error) *obstat.Error {
	out := *e
	out.Pos, out.Also = o.of(e.Pos), nil
	for _, at := range e.Also {
		out.Also = append(out.Also, o.of(at))
	}
	return &out
}
