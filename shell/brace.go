package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// braces expands {a,b} and {1..3} in a word. It returns nothing if there are none, and
// why they are not followed if they are not.
func (w *walker) braces(sw *syntax.Word, start, end int) (lists [][]syntax.WordPart, why string) {
	if !strings.Contains(w.text.orig[start:end], "{") {
		return nil, ""
	}
	if !matchingBraces(sw.Parts) {
		return nil, "braces that shells match differently"
	}
	split := *sw // the tree is walked more than once, and positions of split parts are wrong
	if !syntax.SplitBraces(&split) || !hasBraces(split.Parts) {
		return nil, ""
	}
	if !w.afford(0) {
		return nil, "expands to very many words"
	}
	left := maxFields
	lists, ok := braceLists(split.Parts, &left)
	if !ok {
		return nil, "expands to very many words"
	}
	w.out.Work += len(lists)
	for i, l := range lists {
		if gluesName(l) {
			return nil, "a variable next to braces"
		}
		lists[i] = joinTilde(l)
	}
	return lists, ""
}

// joinTilde puts the literals together that a word begins with if it begins with a tilde: of `{~,x}/.ssh`, which
// the shell reads as `~/.ssh x/.ssh`, the tilde is a literal of its own.
func joinTilde(parts []syntax.WordPart) []syntax.WordPart {
	text, n := "", 0
	for ; n < len(parts); n++ {
		lit, ok := parts[n].(*syntax.Lit)
		if !ok || n == 0 && !strings.HasPrefix(lit.Value, "~") {
			break
		}
		text += lit.Value
	}
	if n < 2 {
		return parts
	}
	joined := *parts[0].(*syntax.Lit)
	joined.Value = text
	return append([]syntax.WordPart{&joined}, parts[n:]...)
}

// matchingBraces reports whether the unquoted braces of a word pair up in a way on which
// the parser and bash agree. Without a comma or dots nothing is expanded anyway.
func matchingBraces(parts []syntax.WordPart) bool {
	depth, ok, special := 0, true, false
	for _, p := range parts {
		lit, isLit := p.(*syntax.Lit)
		if !isLit {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '{':
				depth++
				ok = ok && !strings.HasPrefix(lit.Value[i:], "{}")
			case '}':
				depth--
				ok = ok && depth >= 0
			case ',':
				special = true
			case '.':
				special = special || strings.HasPrefix(lit.Value[i:], "..")
			}
		}
	}
	return ok && depth == 0 || !special
}

// plainBraces expands the common form pre{a,b}post of a word without anything else in it.
func (w *walker) plainBraces(dst []Word, start, end int) ([]Word, bool) {
	raw := w.text.orig[start:end]
	open, shut := strings.IndexByte(raw, '{'), strings.LastIndexByte(raw, '}')
	if open < 0 || shut < open {
		return dst, false
	}
	pre, inner, post := raw[:open], raw[open+1:shut], raw[shut+1:]
	if strings.IndexByte(inner, ',') < 0 || strings.IndexByte(inner, '}') >= 0 ||
		!plainLit(pre) || !plainLit(inner) || !plainLit(post) || strings.Count(inner, ",") >= maxFields-len(dst) {
		return dst, false
	}
	for elem := range strings.SplitSeq(inner, ",") {
		if text := pre + elem + post; text != "" {
			dst = append(dst, Word{Text: text, Known: true, Raw: raw, Span: w.text.span(start, end)})
		}
	}
	return dst, true
}

// hasBraces reports whether a word has a brace expansion.
func (w *walker) hasBraces(sw *syntax.Word) bool {
	if sw == nil || len(sw.Parts) == 0 {
		return false
	}
	start, end := w.text.node(sw)
	lists, why := w.braces(sw, start, end)
	return lists != nil || why != ""
}

// gluesName reports whether brace expansion, which works on the text, has put letters behind
// a $x, and so made another name of it, or behind a $.
func gluesName(parts []syntax.WordPart) bool {
	for i := 0; i+1 < len(parts); i++ {
		next, isLit := parts[i+1].(*syntax.Lit)
		switch p := parts[i].(type) {
		case *syntax.ParamExp:
			if p.Short && isLit && (nameByte(next.Value[0]) || next.Value[0] == '[') {
				return true
			}
		case *syntax.Lit:
			if strings.HasSuffix(p.Value, "$") {
				return true
			}
		}
	}
	return false
}

func hasBraces(parts []syntax.WordPart) bool {
	for _, p := range parts {
		if _, ok := p.(*syntax.BraceExp); ok {
			return true
		}
	}
	return false
}

// braceLists multiplies out the brace expressions of parts; left bounds the result.
func braceLists(parts []syntax.WordPart, left *int) ([][]syntax.WordPart, bool) {
	lists := [][]syntax.WordPart{nil}
	for _, p := range parts {
		br, ok := p.(*syntax.BraceExp)
		if !ok {
			if lit, isLit := p.(*syntax.Lit); isLit && lit.Value == "" {
				continue // splitting leaves empty literals behind
			}
			for i := range lists {
				lists[i] = append(lists[i], p)
			}
			continue
		}
		elems, ok := braceElems(br, left)
		if !ok || len(elems)*len(lists) > maxFields {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(elems)*len(lists))
		for _, l := range lists {
			for _, e := range elems {
				next = append(next, append(l[:len(l):len(l)], e...))
			}
		}
		lists = next
	}
	return lists, true
}

func braceElems(br *syntax.BraceExp, left *int) ([][]syntax.WordPart, bool) {
	if br.Sequence {
		return sequence(br, left)
	}
	var out [][]syntax.WordPart
	for _, e := range br.Elems {
		lists, ok := braceLists(e.Parts, left)
		if *left -= len(lists); !ok || *left < 0 {
			return nil, false
		}
		out = append(out, lists...)
	}
	return out, true
}

// sequence expands {x..y} and {x..y..step}.
func sequence(br *syntax.BraceExp, left *int) ([][]syntax.WordPart, bool) {
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	a, errA := strconv.ParseInt(from, 10, 64)
	z, errZ := strconv.ParseInt(to, 10, 64)
	letters := errA != nil && errZ != nil
	if letters {
		a, z = int64(from[0]), int64(to[0])
	}
	step := int64(1)
	if len(br.Elems) > 2 {
		step, _ = strconv.ParseInt(br.Elems[2].Lit(), 10, 64)
	}
	if step < 0 {
		step = -step
	}
	if step == 0 {
		step = 1
	}
	if a > 1<<40 || a < -1<<40 || z > 1<<40 || z < -1<<40 || step > 1<<40 {
		return nil, false
	}
	n := (max(a, z)-min(a, z))/step + 1
	if n > int64(*left) {
		return nil, false
	}
	*left -= int(n)
	if z < a {
		step = -step
	}
	width := padding(from, to)
	out := make([][]syntax.WordPart, 0, n)
	for v := a; n > 0; n, v = n-1, v+step {
		item := sequenceItem(v, letters, width)
		part := syntax.WordPart(&syntax.Lit{Value: item})
		if len(item) == 1 && !nameByte(item[0]) { // a letter range may pass through \ and [
			part = &syntax.SglQuoted{Value: item}
		}
		out = append(out, []syntax.WordPart{part})
	}
	return out, true
}

// padding returns the width that numbers are padded to with zeros, or 0.
func padding(from, to string) int {
	zero := func(s string) bool {
		s = strings.TrimPrefix(s, "-")
		return len(s) > 1 && s[0] == '0'
	}
	if zero(from) || zero(to) {
		return max(len(from), len(to))
	}
	return 0
}

func sequenceItem(v int64, letter bool, width int) string {
	if letter {
		return string(rune(v))
	}
	s := strconv.FormatInt(v, 10)
	if len(s) >= width {
		return s
	}
	if v < 0 {
		return "-" + strings.Repeat("0", width-len(s)) + s[1:]
	}
	return strings.Repeat("0", width-len(s)) + s
}
