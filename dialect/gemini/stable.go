package gemini

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// javaScript writes values as JSON.stringify does, keys in the order of JavaScript: by the
// halves of their characters.
var javaScript = tree.Notation{
	Comma: ",", Colon: ":",
	Order: func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) },
	Scalar: func(n *tree.Node) string {
		switch n.Kind {
		case tree.String:
			return jsonx.Quote(n.Str)
		case tree.Number:
			return number(n.Num)
		case tree.Bool:
			return strconv.FormatBool(n.Bool)
		}
		return "null"
	},
}

// stable writes arguments as Gemini CLI does for its rules: keys in order, no blanks, and a
// zero byte around each top-level pair, which no value can have in it.
func stable(args *tree.Node) string {
	if !args.Is(tree.Object) {
		return javaScript.Write(args)
	}
	var pairs []string
	for _, m := range javaScript.Sorted(args) {
		pairs = append(pairs, "\x00"+javaScript.Key(m.Key)+javaScript.Write(m.Value)+"\x00")
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// number writes a number as JavaScript does.
func number(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch abs := math.Abs(f); {
	case err != nil:
		return "null" // too large for a number
	case f == 0:
		return "0"
	case abs >= 1e21 || abs < 1e-6:
		s := strconv.FormatFloat(f, 'e', -1, 64)
		mantissa, exp, _ := strings.Cut(s, "e")
		return mantissa + "e" + exp[:1] + strings.TrimLeft(exp[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
