package display

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat"
)

const (
	// maxDiffLines is the longest text that is compared line by line; of longer
	// ones only the common beginning and end are found.
	maxDiffLines = 1000
	// diffContext is how many unchanged lines are shown around a change.
	diffContext = 2
	// maxCompared bounds the file that an edit is compared with.
	maxCompared = 1 << 20
)

// Edit returns the [Diff] of a call that edits a file, nil for other calls. now returns the text that
// a file has, which a call that writes all of it is compared with.
func Edit(c *obstat.Call, now func(dir, name string) string) []string {
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
		return Diff(old, text)
	}
	if body, ok := field("content", "file_text", "contents"); ok {
		name, _ := field("file_path", "filePath", "path", "filename")
		return Diff(now(c.Dir, name), body)
	}
	return nil
}

// FileNow returns the text of a regular file, "" if it cannot be read.
func FileNow(dir, name string) string {
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

// Diff returns the lines that go with "- ", those that come with "+ ", and a
// few around them with blanks.
func Diff(old, text string) (out []string) {
	a, b := Lines(old), Lines(text)
	start, end := shared(a, b)
	out = signed(nil, "  ", a[max(0, start-diffContext):start])
	out = append(out, middle(a[start:len(a)-end], b[start:len(b)-end])...)
	return signed(out, "  ", a[len(a)-end:len(a)-end+min(end, diffContext)])
}

// A difference of foldFrom lines or more is folded: lines indented by foldDeep blanks or more are joined.
const (
	foldFrom = 20
	foldDeep = 5
)

// Folded joins the lines of a long difference of JSON that stand deeper than an agent's events, so that
// `"PreToolUse": [ { "matcher": "*", ...` is one line; nothing is left out.
func Folded(lines []string) (out []string) {
	if len(lines) < foldFrom {
		return lines
	}
	for _, l := range lines {
		sign, text := l[:min(2, len(l))], l[min(2, len(l)):]
		deep := len(text) - len(strings.TrimLeft(text, " \t"))
		text = strings.TrimSpace(text)
		if tabs := strings.Count(l, "\t"); tabs > 0 {
			deep = 2 * tabs
		}
		n := len(out) - 1
		joins := deep >= foldDeep || deep >= foldDeep-1 && strings.HasPrefix(text, "]")
		if n >= 0 && joins && sign != "  " && sign == out[n][:2] {
			out[n] += " " + text
			continue
		}
		out = append(out, l)
	}
	return out
}

// shared counts the lines that two texts begin and end with.
func shared(a, b []string) (start, end int) {
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return start, end
}

// Moved returns the number in text of a line of old: with one line added above, line 7 is line 8. For a line
// inside the changed part, and for line zero, it returns the first changed line.
func Moved(old, text string, line int) int {
	a, b := Lines(old), Lines(text)
	start, end := shared(a, b)
	switch {
	case line > 0 && line <= start:
		return line
	case line > len(a)-end:
		return line + len(b) - len(a)
	}
	return max(1, min(start+1, len(b)))
}

// Lines returns the lines of a text, without their ends.
func Lines(s string) []string {
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
