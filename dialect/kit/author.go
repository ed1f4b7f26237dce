package kit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/tree"
)

// Params returns the parameters of a Program's view and checks. One that JSON cannot hold gives a
// text that no reader takes, so that the Program does not compile.
func Params(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("!")
	}
	return raw
}

// ViewLibrary returns the library of a dialect that has a view and nothing else.
func ViewLibrary[P any](name string, view func(*P) obstat.View) *obstat.Library {
	return &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){name: Code(view)}}
}

// Key returns an optional key of an object, with the kinds of its value.
func Key(name string, kinds ...tree.Kind) tree.Field { return tree.Field{Name: name, Kinds: kinds} }

// Needed is [Key] for one that has to be there.
func Needed(name string, kinds ...tree.Kind) tree.Field {
	return tree.Field{Name: name, Kinds: kinds, Required: true}
}

// AddOffer adds the offer of a rule for good, unless one of that text is there.
func AddOffer(offers []obstat.Offer, list string, r obstat.Rule, text string) []obstat.Offer {
	if slices.ContainsFunc(offers, func(o obstat.Offer) bool { return o.Text == text }) {
		return offers
	}
	return append(offers, obstat.Offer{Rule: r, List: list, Scope: "always", Text: text})
}

// Outlined returns a question with fields whose texts are not known, for an [Outliner].
func Outlined(tool string, fields ...string) obstat.Question {
	q := obstat.Question{Tool: tool}
	for _, field := range fields {
		q.Subjects = append(q.Subjects, obstat.Subject{Field: field})
	}
	return q
}

// Parsed tells whether the text of a command could be read: it is a shell's, it parses, and it is
// not too much of it.
func Parsed(a *effect.Analysis) bool {
	return !slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool {
		return g.Kind <= effect.ForeignShell || g.Kind == effect.BadInput
	})
}

// Short tells whether a word is short options, `-rf`, with one of the letters among them.
func Short(word, letters string) bool {
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.ContainsAny(word, letters)
}

// Home returns the user's home directory, "" where the world does not know it.
func Home(world obstat.World) string {
	if world == nil {
		return ""
	}
	home, _ := world.Home("")
	return home
}

// Literal returns the part of a Python expression that matches a text.
func Literal(text string) string {
	var b strings.Builder
	WriteLiteral(&b, text)
	return b.String()
}

// WriteLiteral writes a text as the part of a Python expression that matches it.
func WriteLiteral(b *strings.Builder, text string) {
	for _, c := range []byte(text) {
		switch {
		case c < 0x20:
			fmt.Fprintf(b, `\x%02x`, c)
			continue
		case c < 0x80 && !isWord(c):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
}

// isWord tells whether a character is a letter, a digit or an underscore of ASCII.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Tables reads the lists of a dialect, a text file beside it: `wrappers: timeout time nice`. Indented
// lines go on with the list above them; comments, lines that begin with #, say which section of the
// document a list is from.
func Tables(text string) map[string][]string {
	out := map[string][]string{}
	name := ""
	for line := range strings.Lines(text) {
		words := line
		switch head, rest, named := strings.Cut(line, ":"); {
		case line[0] == '#':
			continue
		case named && line[0] != ' ' && line[0] != '\t':
			name, words = head, rest
		}
		out[name] = append(out[name], strings.Fields(words)...)
	}
	return out
}

// OwnTools returns a table of own tools from lines of kinds, names and the field of the input:
// `edit,patch Edit file_path`; "-" stands for no field. Of the field `command` it is a Command.
func OwnTools(lines ...string) map[string]obstat.OwnTool {
	out := map[string]obstat.OwnTool{}
	for _, line := range lines {
		words := strings.Fields(line)
		t := obstat.OwnTool{Tools: strings.Split(words[1], ",")}
		switch words[2] {
		case "-":
		case "command":
			t.Command = words[2]
		default:
			t.Path = words[2]
		}
		for kind := range strings.SplitSeq(words[0], ",") {
			out[kind] = t
		}
	}
	return out
}

// Subcommand tells whether the second word of a command may say what its program does, as `push` of `git
// push` does: it is no flag, path, host or setting.
func Subcommand(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsAny(word, "./ =:'\"\\")
}

// OneTool returns the one name that a tool's pattern stands for, none for a pattern.
func OneTool(t obstat.Text) []string {
	if t.IsZero() || t.Flavour != obstat.Is("").Flavour {
		return nil
	}
	return []string{t.Text}
}

// value is the value of a variable, in quotes or with parts in quotes; of a rule or of a command.
const value = `(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*`

// variables finds those that a command begins with.
var variables = regexp.MustCompile(`^(?s:[A-Za-z_]\w*=` + value + `\s+)+`)

// Variables cuts a rule's command behind the variables that it begins with: "CI=* ", "make" of `CI=* make`. star is
// what a star in the value of one stands for, no more than a value: the rule is not about `CI=1 rm x make`.
func Variables(text string) (set, command, star string) {
	set = variables.FindString(text)
	if star = value; strings.ContainsAny(set, `'"\`) {
		star = `[^\s'"]*` // which may stand in quotes
	}
	return set, text[len(set):], star
}

// OneBlank makes one blank of each run of blanks between the words of a command; in quotes they stay:
//
//	grep  -n  'a  b'  x      is      grep -n 'a  b' x
func OneBlank(text, blanks string) string {
	var b strings.Builder
	b.Grow(len(text))
	quote, blank := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if quote == 0 && strings.IndexByte(blanks, c) >= 0 {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteByte(c)
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
	}
	if quote != 0 { // it is not closed, and so none
		return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(blanks, r) }), " ")
	}
	return b.String()
}
