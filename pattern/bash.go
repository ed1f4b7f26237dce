package pattern

import (
	"strings"
)

// Bash is how AgentScope matches the content of a Bash rule against the raw
// text of a command:
//
//   - "git:*" is the command git, or one that starts with "git ";
//   - without a * that has no backslash before it, the content is text that
//     the command contains;
//   - else it becomes a Python expression for the whole command, in which * is
//     .* (no newline) and a lone backslash stays Python's escape: \d is a digit.
//     If that ends in .*, the command may also end before it and the white
//     space in front: "git *" matches "git".
//
// Where the original fails at every match with re.error, Compile does.

func compileBash(text string) (matcher, trees, error) {
	if head, ok := strings.CutSuffix(text, ":*"); ok {
		m := prefixRule(strings.TrimFunc(head, pySpaceRune))
		return m, trees{grow: m.trees}, nil
	}
	if !loneStar(text) {
		return compileContains(strings.NewReplacer(`\\`, `\`, `\*`, `*`).Replace(text))
	}
	re, offsets := bashExpression(text)
	head, open := strings.CutSuffix(re, ".*")
	if !open {
		m, t, err := compileRE(re, true)
		if err != nil {
			return compileContains(strings.ReplaceAll(text, "*", ""))
		}
		return m, t, nil
	}
	head = strings.TrimRightFunc(head, pySpaceRune)
	short, groups, err := parseRE(head)
	if err != nil {
		e := err.(*SyntaxError)
		return nil, trees{}, &SyntaxError{offsets[min(e.Offset, len(offsets)-1)], e.Msg}
	}
	long, _, err := parseRE(re)
	if err != nil {
		return nil, trees{}, err
	}
	return compileEither(simplify(short), simplify(long), groups)
}

func pySpaceRune(r rune) bool { return inSpans(pySpace, r) }

// prefixRule is the command itself, or with anything after a space.
type prefixRule string

func (p prefixRule) match(s string) (bool, error) {
	rest, ok := strings.CutPrefix(s, string(p))
	return ok && (rest == "" || rest[0] == ' '), nil
}

func (p prefixRule) trees() trees {
	tail := repeatNode(cat(charNode(' '), anything()), 0, 1)
	return exactly(flatCat(append(textNodes(string(p)), tail)))
}

func compileContains(text string) (matcher, trees, error) {
	parts := []part{{}, {items: []item{{lit: text}}}, {}}
	if text == "" {
		parts = []part{{}, {}}
	}
	g := newGlob(parts, false, false)
	return g, g.later(), nil
}

// loneStar reports whether text has a * without a backslash before it.
func loneStar(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*':
			return true
		}
	}
	return false
}

// bashExpression writes the content as an expression, and for each byte of it
// which byte of text it comes from.
func bashExpression(text string) (string, []int) {
	var b strings.Builder
	var offsets []int
	write := func(s string, from int) {
		b.WriteString(s)
		for range len(s) {
			offsets = append(offsets, from)
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '\\' || text[i+1] == '*'):
			write(text[i:i+2], i)
			i++
		case c == '*':
			write(".*", i)
		case strings.IndexByte(`.^$+?{}[]|()`, c) >= 0:
			write(`\`+string(c), i)
		default:
			write(text[i:i+1], i)
		}
	}
	return b.String(), append(offsets, len(text))
}

// compileEither compiles the union of two full expressions.
func compileEither(a, b *node, groups int) (matcher, trees, error) {
	first, _, err := compileTree(a, groups, true)
	if err != nil {
		return nil, trees{}, err
	}
	second, _, err := compileTree(b, groups, true)
	if err != nil {
		return nil, trees{}, err
	}
	return &oneOf{first, second}, exactly(&node{op: nAlt, subs: []*node{a, b}}), nil
}

// oneOf matches a text that either matcher matches.
type oneOf struct{ first, second matcher }

func (o *oneOf) match(s string) (bool, error) {
	if ok, err := o.first.match(s); ok || err != nil {
		return ok, err
	}
	return o.second.match(s)
}
