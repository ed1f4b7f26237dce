package opencode

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed arity.txt
var arityText string

// An arity is the number of words that name a command, 2 for `git push`.
type arity struct {
	words  int
	never  bool
	script bool     // the second word is a file, and comes first
	values []string // flags that take the next word
}

var arities = sync.OnceValue(func() map[string]arity {
	m := map[string]arity{}
	for line := range strings.SplitSeq(arityText, "\n") {
		if f := strings.Fields(line); len(f) >= 2 && f[0] != "#" {
			key, a := parseArity(f)
			m[key] = a
		}
	}
	return m
})

// parseArity reads one line: names, a number or a word, flags.
func parseArity(f []string) (key string, a arity) {
	for i := 1; i < len(f); i++ {
		n, err := strconv.Atoi(f[i])
		switch {
		case err == nil:
			a.words = n
		case f[i] == "never":
			a.never = true
		case f[i] == "script":
			a.words, a.script = 2, true
		default:
			continue
		}
		a.values = f[i+1:]
		return strings.Join(f[:i], " "), a
	}
	return strings.Join(f, " "), arity{never: true}
}

// prefix returns the places of the words that name a command, flags skipped: of
// `git -C /x push origin` 0 and 3. It returns nil where no words do: an
// interpreter, a shell or a program that runs others is never told by its name.
func prefix(words []string) []int {
	if len(words) == 0 || words[0] == "" {
		return nil
	}
	table := arities()
	best, known := table[words[0]]
	if !known {
		best = arity{words: 1}
	}
	if best.never || best.script && (len(words) < 2 || strings.HasPrefix(words[1], "-")) {
		return nil
	}
	at, key, values := []int{0}, words[0], best.values
	for i := 1; i < len(words) && len(at) < best.words; i++ {
		w := words[i]
		switch {
		case w == "--":
			continue
		case strings.HasPrefix(w, "-") && w != "-":
			if slices.Contains(values, w) {
				i++
			}
			continue
		}
		at = append(at, i)
		key += " " + w
		if a, ok := table[key]; ok {
			best, values = a, append(slices.Clone(values), a.values...)
		}
	}
	return at
}
