package code

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
)

// AddedLines returns the lines that a patch puts into files.
func AddedLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if added, ok := strings.CutPrefix(line, "+"); ok {
			b.WriteString(added + "\n")
		}
	}
	return b.String()
}

// PatchNames returns the files that a unified diff changes, without the directories that -p takes off. Every line
// of it has to be understood: `patch` runs editor's commands, too, and a link would lead the next file elsewhere.
func PatchNames(text string, strip int) (names []string, ok bool) {
	r := patchReader{strip: strip}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if r.before > 0 || r.after > 0 {
			ok = r.hunkLine(line)
		} else {
			ok = r.header(line)
		}
		if !ok {
			return nil, false
		}
	}
	return r.names, r.before == 0 && r.after == 0 && len(r.names) > 0
}

// A patchReader goes through the lines of a patch.
type patchReader struct {
	strip         int
	names         []string
	before, after int // lines that are left of a hunk
}

// hunkLine reads a line of a hunk.
func (r *patchReader) hunkLine(line string) bool {
	switch {
	case line == "" || line[0] == ' ':
		r.before, r.after = r.before-1, r.after-1
	case line[0] == '-':
		r.before--
	case line[0] == '+':
		r.after--
	default:
		return line[0] == '\\' // no newline at the end
	}
	return true
}

// header reads a line between hunks.
func (r *patchReader) header(line string) bool {
	key, rest, _ := strings.Cut(line, " ")
	switch key {
	case "---", "+++":
		name, _, _ := strings.Cut(rest, "\t")
		return r.name(name, r.strip)
	case "rename", "copy": // `rename to x` has no a/ before the name
		_, name, _ := strings.Cut(rest, " ")
		name, _, _ = strings.Cut(name, "\t")
		return r.name(name, 0)
	case "diff": // its names count where nothing else names the file: of one that is empty, or gets another mode
		both, git := strings.CutPrefix(rest, "--git ")
		a, b, two := strings.Cut(both, " ")
		return git && two && r.name(a, r.strip) && r.name(b, r.strip)
	case "@@":
		return r.hunk(rest) && len(r.names) > 0
	case "similarity", "":
		return key != "" || line == ""
	case "index":
		return !strings.Contains(rest, " ") || plainMode(line)
	case "old", "new", "deleted":
		return plainMode(line)
	}
	return strings.HasPrefix(line, `\ No newline`)
}

// plainMode reports whether a line ends in the mode of a file, `new file mode 100644`, not in that of a link.
func plainMode(line string) bool {
	return strings.HasSuffix(line, " 100644") || strings.HasSuffix(line, " 100755")
}

// name adds a name of a patch without some directories.
func (r *patchReader) name(name string, strip int) bool {
	if name == "/dev/null" {
		return true
	}
	if name == "" || name[0] == '/' || strings.ContainsAny(name, "\" \t\r\\") || strings.Contains(name, "//") {
		return false
	}
	for range strip {
		_, name, _ = strings.Cut(name, "/")
	}
	r.names = append(r.names, name)
	return name != ""
}

// hunk reads the numbers of lines in `-1,4 +1,5 @@ func f()`.
func (r *patchReader) hunk(s string) bool {
	var counts [2]int
	for i, sign := range [...]byte{'-', '+'} {
		var part string
		part, s, _ = strings.Cut(s, " ")
		if part == "" || part[0] != sign {
			return false
		}
		counts[i] = 1
		if _, n, given := strings.Cut(part, ","); given {
			if _, err := fmt.Sscanf(n, "%d", &counts[i]); err != nil || !word.AllDigits(n) {
				return false
			}
		}
	}
	r.before, r.after = counts[0], counts[1]
	return strings.HasPrefix(s, "@@")
}
