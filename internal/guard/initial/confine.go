package initial

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// Confine returns a draft with the word `confine:` as a person wants it: `code`, `always` or `off`; over are the judges
// of agents that a confined allow outranks. With it come packages from registries, which only confined commands fetch.
func Confine(text, word string, over []string) (string, error) {
	line := "confine: " + word
	if len(over) > 0 {
		line = "confine: {run: " + word + ", over: [" + strings.Join(over, ", ") + "]}"
	}
	lines := strings.Split(text, "\n")
	is := func(prefix string) int {
		return slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
	}
	switch at, muted := is("confine:"), is("# confine:"); {
	case at >= 0:
		lines[at] = line
	case muted >= 0:
		lines[muted] = line
	default:
		const why = "# Code that cannot be looked into, such as tests and builds: docs/presets.md."
		lines = slices.Insert(lines, is("version:")+1, "", why, line)
	}
	const registries = "  - connect registries"
	switch on, muted := is(registries), is("  # - connect registries"); {
	case word == "off" && on >= 0:
		lines[on] = "  # - connect registries"
	case word != "off" && muted >= 0:
		lines[muted] = registries
	}
	text = strings.Join(lines, "\n")
	_, err := parse(text)
	return text, err
}

// Held leaves out rules that only let tests and builds run, for a policy under which these run confined.
func Held(lines []Line) []Line {
	return slices.DeleteFunc(slices.Clone(lines), func(l Line) bool {
		return l.List == obstat.Allow.String() && !l.Own && strings.HasPrefix(l.Sentence, "run ")
	})
}
