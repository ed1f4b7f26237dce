package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
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

// fileNow returns what is in a file, "" where that cannot be told.
func fileNow(dir, name string) string {
	if name == "" {
		return ""
	}
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

// lineDiff returns the lines that go with "-", those that come with "+", and a
// few around them with " ".
func lineDiff(old, text string) []string {
	a, b := splitLines(old), splitLines(text)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out []string
	for _, l := range a[max(0, start-diffContext):start] {
		out = append(out, "  "+l)
	}
	out = append(out, middle(a[start:len(a)-end], b[start:len(b)-end])...)
	for _, l := range a[len(a)-end : len(a)-end+min(end, diffContext)] {
		out = append(out, "  "+l)
	}
	return out
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// middle compares what is neither common beginning nor common end.
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
