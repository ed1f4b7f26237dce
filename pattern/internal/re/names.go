package re

import (
	_ "embed"
	"strings"
	"sync"
)

// names.txt holds the characters that \N{...} can name: Latin, Greek,
// Cyrillic, punctuation, currencies, arrows. All of Unicode's names would be
// larger than the rest of the program. A name that is not here is refused as
// Python refuses a name that does not exist; \uXXXX says the same character.
//
//go:embed names.txt
var namesText string

var charNames = sync.OnceValue(func() map[string]rune {
	names := map[string]rune{}
	for line := range strings.Lines(namesText) {
		if hex, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			names[name] = parseRune(hex, 16)
		}
	}
	return names
})

// charName reads {NAME} after \N. Python takes a name in any case.
func (p *parser) charName() rune {
	if !p.match('{') {
		p.fail(0, "missing {")
	}
	name := p.until('}', "character name")
	r, ok := charNames()[strings.ToUpper(string(name))]
	if !ok {
		p.fail(len(name)+4, "undefined character name %s", pyRepr(string(name)))
	}
	return r
}
