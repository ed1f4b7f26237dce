package pattern

import (
	_ "embed"
	"strings"
	"sync"
)

// charnames.txt holds the characters that \N{...} can name: Latin, Greek,
// Cyrillic, punctuation, currencies, arrows. All of Unicode's names would be
// larger than the rest of the program. A name that is not here is refused as
// Python refuses a name that does not exist; \uXXXX says the same character.
//
//go:embed charnames.txt
var charnamesText string

var charnames = sync.OnceValue(func() map[string]rune {
	names := map[string]rune{}
	for line := range strings.Lines(charnamesText) {
		if hex, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			names[name] = parseRune(hex, 16)
		}
	}
	return names
})

// charName reads {NAME} after \N. Python takes a name in any case.
func (p *reParser) charName() rune {
	if !p.match('{') {
		p.fail(0, "missing {")
	}
	name := p.until('}', "character name")
	r, ok := charnames()[strings.ToUpper(string(name))]
	if !ok {
		p.fail(len(name)+4, "undefined character name %s", pyRepr(string(name)))
	}
	return r
}
