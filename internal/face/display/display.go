// Package display makes texts of calls fit to be looked at, on a terminal or a page.
//
// Text that comes from a call or a file is shown, never sent: a control character
// could repaint the screen, a hidden or reordering one could make a command look
// like another. It owns that, and changes of files as lines. How they are laid out
// is the business of the face that shows them.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/obstat/obstat"
)

// Visible returns s with every character that does not show as itself written
// as an escape. Newlines and tabs are escaped as well.
func Visible(s string) string {
	if Plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		b.WriteString(showRune(s[i:i+n], r))
		i += n
	}
	return b.String()
}

// Why returns the reason of an ask without the rule, `ask rule Bash(rm *) (settings.json:7:5): `,
// for faces that show that on a line of its own.
func Why(reason, rule string, pos obstat.Pos) string {
	rest, ok := strings.CutPrefix(reason, "ask rule "+rule)
	if !ok || rule == "" {
		return reason
	}
	return strings.TrimLeft(strings.TrimPrefix(rest, fmt.Sprintf(" (%s)", pos)), ":;, ")
}

// Plain tells whether s is printable ASCII, so that it shows as itself.
func Plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// showRune returns the visible form of one character: `\x1b` for an escape.
func showRune(raw string, r rune) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < ' ' || r == 0x7f:
		return fmt.Sprintf(`\x%02x`, r)
	case r == ' ' || unicode.IsPrint(r) && !unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector):
		return raw
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
