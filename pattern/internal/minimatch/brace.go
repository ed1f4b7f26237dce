package minimatch

import (
	"slices"
	"strconv"
	"strings"
)

// Braces are expanded before anything else, as bash and the brace-expansion
// package do it: {a,b} to alternatives, {1..3}, {a..e..2} to sequences, a
// group with neither is text.

const (
	maxBraces     = 1024    // alternatives a pattern may expand to
	maxBraceText  = 1 << 15 // characters of all of them
	maxBraceDepth = 64
	maxRewrites   = 64
)

// escapedBrace marks a character that had a backslash before it.
const escapedBrace = 1 << 24

// tooManyBraces carries the end of an expansion out of the recursion.
type tooManyBraces struct{}

// expandBraces returns the alternatives of a pattern; false if there are too
// many.
func expandBraces(text string) (out []string, ok bool) {
	if !hasBraces(text) {
		return []string{text}, true
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case tooManyBraces:
			out, ok = nil, false
		default:
			panic(e)
		}
	}()
	if strings.HasPrefix(text, "{}") {
		text = `\{\}` + text[2:]
	}
	for _, alt := range braceExpand(escapeBraces(text), 0, true) {
		for i := range alt {
			alt[i] &^= escapedBrace
		}
		out = append(out, string(alt))
	}
	return out, true
}

// hasBraces: there is a { with its } on the same line and no { between.
func hasBraces(text string) bool {
	open := false
	for _, r := range text {
		switch r {
		case '{':
			open = true
		case '}':
			if open {
				return true
			}
		case '\n', '\r', '\u2028', '\u2029':
			open = false
		}
	}
	return false
}

func escapeBraces(text string) []rune {
	src := []rune(text)
	var out []rune
	for i := 0; i < len(src); i++ {
		if src[i] == '\\' && i+1 < len(src) && strings.ContainsRune(`\{},.`, src[i+1]) {
			i++
			out = append(out, src[i]|escapedBrace)
			continue
		}
		out = append(out, src[i])
	}
	return out
}

// braces is the first pair of braces in a text, with the text before and behind.
type braces struct{ pre, body, post []rune }

// balanced finds the first { with its }, or where a { has none, the leftmost
// pair inside.
func balanced(s []rune) (braces, bool) {
	var opens []int
	left, right := len(s), -1
	for i, r := range s {
		switch {
		case r == '{':
			opens = append(opens, i)
		case r == '}' && len(opens) == 1:
			return braces{s[:opens[0]], s[opens[0]+1 : i], s[i+1:]}, true
		case r == '}' && len(opens) > 1:
			last := opens[len(opens)-1]
			opens = opens[:len(opens)-1]
			if last < left {
				left, right = last, i
			}
		}
	}
	if right < 0 {
		return braces{}, false
	}
	return braces{s[:left], s[left+1 : right], s[right+1:]}, true
}

// braceExpand expands the groups of s from left to right.
func braceExpand(s []rune, depth int, top bool) [][]rune {
	if depth > maxBraceDepth {
		panic(tooManyBraces{})
	}
	acc := [][]rune{nil}
	dropEmpty, first, rewrites := false, true, 0
	for {
		m, ok := balanced(s)
		if !ok {
			return combineBraces(acc, s, [][]rune{nil}, dropEmpty)
		}
		last := len(m.post) == 0
		if n := len(m.pre); n > 0 && m.pre[n-1] == '$' {
			acc = combineBraces(acc, braced(m.pre, m.body), [][]rune{nil}, dropEmpty && last)
			first = false
			if last {
				return acc
			}
			s = m.post
			continue
		}
		seq, isSeq := braceSequence(string(m.body))
		if !isSeq && !slices.Contains(m.body, ',') {
			if rewrites < maxRewrites && commaThenClose(m.post) {
				rewrites++
				s = slices.Concat(m.pre, []rune{'{'}, m.body, []rune{'}' | escapedBrace}, m.post)
				top = true
				continue
			}
			return combineBraces(acc, slices.Concat(braced(m.pre, m.body), m.post), [][]rune{nil}, dropEmpty)
		}
		if first {
			dropEmpty, first = top && !isSeq, false
		}
		values := seq
		if !isSeq {
			values = braceMembers(m.body, depth)
		}
		acc = combineBraces(acc, m.pre, values, dropEmpty && last)
		if last {
			return acc
		}
		s = m.post
	}
}

func braced(pre, body []rune) []rune {
	return slices.Concat(pre, []rune{'{'}, body, []rune{'}'})
}

// commaThenClose: a comma that no comma follows, and a } after it on its line.
func commaThenClose(s []rune) bool {
	for i, r := range s {
		if r != ',' || i+1 < len(s) && s[i+1] == ',' {
			continue
		}
		for _, c := range s[i+1:] {
			if c == '}' {
				return true
			}
			if c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029' {
				break
			}
		}
	}
	return false
}

// braceMembers expands each member of a comma group; {{a,b}} is {a} and {b}.
func braceMembers(body []rune, depth int) [][]rune {
	parts := commaParts(body)
	if len(parts) == 1 {
		inner := braceExpand(parts[0], depth+1, false)
		for i := range inner {
			inner[i] = braced(nil, inner[i])
		}
		parts = inner
	}
	var out [][]rune
	for _, p := range parts {
		out = append(out, braceExpand(p, depth+1, false)...)
		checkBraces(len(out), 0)
	}
	return out
}

// commaParts splits at the commas that are in no inner group.
func commaParts(s []rune) [][]rune {
	var parts [][]rune
	var carry []rune
	for {
		m, ok := balanced(s)
		if !ok {
			tail := splitRunes(s, ',')
			tail[0] = slices.Concat(carry, tail[0])
			return append(parts, tail...)
		}
		p := splitRunes(m.pre, ',')
		p[0] = slices.Concat(carry, p[0])
		end := len(p) - 1
		p[end] = slices.Concat(p[end], braced(nil, m.body))
		if len(m.post) == 0 {
			return append(parts, p...)
		}
		carry = p[end]
		parts = append(parts, p[:end]...)
		s = m.post
	}
}

func splitRunes(s []rune, sep rune) [][]rune {
	out := [][]rune{nil}
	for _, r := range s {
		if r == sep {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// combineBraces puts each of values behind each of acc.
func combineBraces(acc [][]rune, pre []rune, values [][]rune, dropEmpty bool) [][]rune {
	checkBraces(len(acc)*len(values), 0)
	var out [][]rune
	size := 0
	for _, a := range acc {
		for _, v := range values {
			e := slices.Concat(a, pre, v)
			if dropEmpty && len(e) == 0 {
				continue
			}
			size += len(e)
			checkBraces(len(out), size)
			out = append(out, e)
		}
	}
	return out
}

func checkBraces(count, size int) {
	if count > maxBraces || size > maxBraceText {
		panic(tooManyBraces{})
	}
}

// braceSequence reads 1..3, 01..10..2 or a..e.
func braceSequence(body string) ([][]rune, bool) {
	parts := strings.Split(body, "..")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, false
	}
	step := int64(1)
	if len(parts) == 3 {
		n, ok := braceNumber(parts[2])
		if !ok {
			return nil, false
		}
		step = max(n, -n, 1)
	}
	if x, ok := braceNumber(parts[0]); ok {
		y, ok := braceNumber(parts[1])
		if !ok {
			return nil, false
		}
		return numberSequence(parts, x, y, step), true
	}
	if !isLetter(parts[0]) || !isLetter(parts[1]) {
		return nil, false
	}
	var out [][]rune
	eachStep(int64(parts[0][0]), int64(parts[1][0]), step, func(i int64) {
		if i == '\\' {
			out = append(out, nil)
			return
		}
		out = append(out, []rune{rune(i)})
	})
	return out, true
}

func isLetter(s string) bool { return len(s) == 1 && 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z' }

// braceNumber reads -?[0-9]+, cut off where no expansion could get by.
func braceNumber(s string) (int64, bool) {
	d := strings.TrimPrefix(s, "-")
	if d == "" || strings.Trim(d, "0123456789") != "" {
		return 0, false
	}
	const limit = 1 << 53
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > limit || n < -limit {
		panic(tooManyBraces{})
	}
	return n, true
}

func eachStep(x, y, step int64, f func(int64)) {
	if count := (max(x, y) - min(x, y)) / step; count >= maxBraces {
		panic(tooManyBraces{})
	}
	if y < x {
		for i := x; i >= y; i -= step {
			f(i)
		}
		return
	}
	for i := x; i <= y; i += step {
		f(i)
	}
}

// numberSequence counts; a leading zero pads all to the longer end's length.
func numberSequence(parts []string, x, y, step int64) [][]rune {
	pad := slices.ContainsFunc(parts, func(p string) bool {
		d := strings.TrimPrefix(p, "-")
		return len(d) > 1 && d[0] == '0'
	})
	width := max(len(parts[0]), len(parts[1]))
	checkBraces(0, width)
	var out [][]rune
	eachStep(x, y, step, func(i int64) {
		n := strconv.FormatInt(i, 10)
		if need := width - len(n); pad && need > 0 {
			sign := ""
			if i < 0 {
				sign, n = "-", n[1:]
			}
			n = sign + strings.Repeat("0", need) + n
		}
		out = append(out, []rune(n))
	})
	return out
}
