package pattern

import "github.com/obstat/obstat/pattern/internal/re"

// Fnmatch is fnmatch.fnmatchcase of CPython 3.11: * is anything, newlines and
// slashes too, ? one character, [seq] and [!seq] a set. A [ that is not closed
// is a [, and so is every other character itself.

func readFnmatch(text string) *reading {
	var out []*re.Node
	pat := []rune(text)
	for i := 0; i < len(pat); {
		c := pat[i]
		i++
		switch c {
		case '*':
			out = append(out, re.Anything())
		case '?':
			out = append(out, re.OneOf(re.Every))
		case '[':
			end := fnmatchClose(pat, i)
			if end < 0 {
				out = append(out, re.Char('['))
				continue
			}
			out = append(out, re.OneOf(fnmatchSet(pat[i:end])))
			i = end + 1
		default:
			out = append(out, re.Char(c))
		}
	}
	return &reading{tree: re.Cat(out...)}
}

// fnmatchClose finds the ] of a set whose inside starts at i, or -1.
func fnmatchClose(pat []rune, i int) int {
	if i < len(pat) && pat[i] == '!' {
		i++
	}
	if i < len(pat) && pat[i] == ']' {
		i++
	}
	for ; i < len(pat); i++ {
		if pat[i] == ']' {
			return i
		}
	}
	return -1
}

// fnmatchSet reads the inside of a set. CPython cuts it at the hyphens that
// make ranges, takes out ranges that run backwards, and only then looks
// whether a ! leads: so [b-a!x] is [!x], and [b-a!] is any character.
func fnmatchSet(in []rune) *re.Set {
	chunks := fnmatchChunks(in)
	for k := len(chunks) - 1; k > 0; k-- {
		a, b := chunks[k-1], chunks[k]
		if a[len(a)-1] > b[0] {
			joined := append(append([]rune{}, a[:len(a)-1]...), b[1:]...)
			chunks = append(append(chunks[:k-1:k-1], joined), chunks[k+1:]...)
		}
	}
	negate := len(chunks[0]) > 0 && chunks[0][0] == '!'
	if negate {
		chunks[0] = chunks[0][1:]
	}
	var spans []re.Span
	for k, chunk := range chunks {
		for i, r := range chunk {
			sp := re.Range(r, r)
			if k > 0 && i == 0 {
				if prev := chunks[k-1]; len(prev) > 0 {
					sp.Lo = prev[len(prev)-1]
				}
			}
			spans = append(spans, sp)
		}
	}
	s := re.NewSet(spans)
	if negate {
		return s.Negate()
	}
	return s
}

// fnmatchChunks cuts at each hyphen that has a character on both sides and
// whose left side does not end a range already.
func fnmatchChunks(in []rune) [][]rune {
	var chunks [][]rune
	i, k := 0, 1
	if len(in) > 0 && in[0] == '!' {
		k = 2
	}
	for k < len(in) {
		if in[k] != '-' {
			k++
			continue
		}
		chunks = append(chunks, in[i:k])
		i = k + 1
		k += 3
	}
	if i < len(in) || len(chunks) == 0 {
		return append(chunks, in[i:])
	}
	last := len(chunks) - 1
	chunks[last] = append(append([]rune{}, chunks[last]...), '-')
	return chunks
}
