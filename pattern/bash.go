package pattern

import (
	"strings"

	"github.com/obstat/obstat/pattern/internal/re"
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

func readBash(text string) (*reading, error) {
	if head, ok := strings.CutSuffix(text, ":*"); ok {
		return &reading{tree: re.WordOrMore(re.Text(strings.TrimFunc(head, re.IsSpace)))}, nil
	}
	if !loneStar(text) {
		return readContains(strings.NewReplacer(`\\`, `\`, `\*`, `*`).Replace(text)), nil
	}
	expr, offsets := bashExpression(text)
	head, open := strings.CutSuffix(expr, ".*")
	if !open {
		tree, groups, err := re.Read(expr, true)
		if err != nil {
			return readContains(strings.ReplaceAll(text, "*", "")), nil
		}
		return &reading{tree: tree, groups: groups}, nil
	}
	head = strings.TrimRightFunc(head, re.IsSpace)
	short, groups, err := re.Parse(head)
	if err != nil {
		e := err.(*re.Error)
		return nil, &SyntaxError{offsets[min(e.Offset, len(offsets)-1)], e.Msg}
	}
	long, _, err := re.Parse(expr)
	if err != nil {
		return nil, positioned(err)
	}
	either := &re.Node{Op: re.OpAlt, Subs: []*re.Node{re.Simplify(short), re.Simplify(long)}}
	return &reading{tree: either, groups: groups}, nil
}

// readContains is for the texts that a literal stands in.
func readContains(lit string) *reading {
	return &reading{tree: re.Cat(append(append([]*re.Node{re.Anything()}, re.Text(lit)...), re.Anything())...)}
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
