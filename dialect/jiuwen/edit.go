package jiuwen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

const format = textedit.YAML

const permissions = "permissions"

// Section returns the permissions of a config.yaml, nil if it has none.
func Section(src []byte) (*tree.Node, error) {
	root, problems := format.Parse(src)
	if tree.Fatal(problems) {
		return nil, &textedit.BrokenError{Src: src, Problems: problems}
	}
	return root.Get(permissions), nil
}

// EntryIndex returns the place of the first object of a list with that id, or -1.
func EntryIndex(list *tree.Node, id string) int {
	return slices.IndexFunc(list.Items(), func(e *tree.Node) bool {
		n := e.Get("id")
		return n != nil && pytext.Str(n) == id
	})
}

// appendOverride adds an approval override. A list that is none in the file, which
// counts for nothing, is refused: replacing it is not our call.
func appendOverride(src []byte, id string, tools []string, match, pattern, source string) ([]byte, error) {
	entry := jsonx.Object{{Key: "id", Value: id}, {Key: "tools", Value: tools}, {Key: "match_type", Value: match},
		{Key: "pattern", Value: pattern}, {Key: "action", Value: "allow"}, {Key: "source", Value: source}}
	return format.Append(src, entry, permissions, listOverrides)
}

// freeID returns id, or id with the first number that makes it new.
func freeID(list *tree.Node, id string) string {
	out := id
	for n := 2; EntryIndex(list, out) >= 0; n++ {
		out = fmt.Sprintf("%s_%d", id, n)
	}
	return out
}

// overrideID is the original's id for an approved command or path.
func overrideID(tool, matchType, pattern string) string {
	words := strings.FieldsFunc("user_allow_"+tool+"_"+matchType+"_"+pattern, func(r rune) bool {
		return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slug := strings.ToLower(strings.Join(words, "_"))
	return slug[:min(len(slug), 120)]
}

// exactPattern writes a text so that it matches itself and nothing else, also
// where it holds a wildcard: approving `rm *.txt` is not
// approving `rm -rf /home a.txt`.
func exactPattern(text string) string {
	_, isExpr := expression(text)
	if !isExpr && !strings.ContainsAny(text, "*?[") && text == pytext.Strip(text) {
		return text
	}
	return `re:\A` + pytext.Escape(text) + `\Z`
}
