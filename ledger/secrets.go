package ledger

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed secrets.txt
var secretsText string

// A phrase is words of a name, in lower case, and the same written together.
type phrase struct {
	words  []string
	joined string
}

func newPhrase(words []string) phrase { return phrase{words, strings.Join(words, "")} }

// A prefixed is a kind of token that is known by its prefix.
type prefixed struct {
	prefix string
	in     func(c byte) bool
	least  int
	why    string
}

// secretRules is secrets.txt, read.
type secretRules struct {
	any, end, weak, not []phrase
	tokens              []prefixed
	first               [256][]uint8 // the tokens by the first byte of their prefix
}

// maxTokens bounds how many kinds of tokens there are.
const maxTokens = 128

// builtin returns the rules that come with the package.
var builtin = sync.OnceValue(func() *secretRules {
	r, err := readSecrets(secretsText)
	if err != nil {
		// A rule that cannot be read must not mean less masking; a test reads
		// the file, so this is not reached.
		return nil
	}
	return r
})

func readSecrets(text string) (*secretRules, error) {
	const many = 64
	r := &secretRules{any: make([]phrase, 0, many), weak: make([]phrase, 0, many), tokens: make([]prefixed, 0, maxTokens)}
	all := make([]string, 0, 8*many) // the words of all lines, in one piece
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		begin := len(all)
		for w := range strings.FieldsSeq(line) {
			all = append(all, w)
		}
		f := all[begin:len(all):len(all)]
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			all = all[:begin]
			continue
		}
		if !r.add(f) {
			return nil, fmt.Errorf("line %d: %q is no rule", n, line)
		}
	}
	return r, nil
}

func (r *secretRules) add(f []string) bool {
	if len(f) < 2 {
		return false
	}
	switch f[0] {
	case "any":
		r.any = append(r.any, newPhrase(f[1:]))
	case "end":
		r.end = append(r.end, newPhrase(f[1:]))
	case "weak":
		r.weak = append(r.weak, newPhrase(f[1:]))
	case "not":
		r.not = append(r.not, newPhrase(f[1:]))
	case "token":
		return r.addToken(f[1:])
	default:
		return false
	}
	return true
}

func (r *secretRules) addToken(f []string) bool {
	if len(f) < 4 {
		return false
	}
	in := charset(f[1])
	least, err := strconv.Atoi(f[2])
	if in == nil || err != nil || least < 8 || len(r.tokens) == maxTokens {
		return false
	}
	r.first[f[0][0]] = append(r.first[f[0][0]], uint8(len(r.tokens)))
	r.tokens = append(r.tokens, prefixed{f[0], in, least, strings.Join(f[3:], " ")})
	return true
}

func charset(name string) func(byte) bool {
	switch name {
	case "upper":
		return alnum
	case "word":
		return func(c byte) bool { return alnum(c) || c == '_' }
	case "web":
		return func(c byte) bool { return alnum(c) || c == '_' || c == '-' }
	case "jwt":
		return func(c byte) bool { return alnum(c) || strings.IndexByte("_-.=", c) >= 0 }
	case "path":
		return func(c byte) bool { return alnum(c) || strings.IndexByte("_-/", c) >= 0 }
	}
	return nil
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// A strength says how much a name says about its value.
type strength int

const (
	innocent strength = iota
	weak              // a value that looks random is a secret
	strong            // any value is
)

// maxName bounds the names that are looked at: a longer one counts as its end.
const maxName = 128

// name judges the name of an argument, a variable, a header or a flag.
func (r *secretRules) name(s string) strength {
	if len(s) > maxName {
		s = s[len(s)-maxName:]
	}
	if lettersOf(s) < shortestPhrase {
		return innocent // most flags: -a
	}
	w := newPhrase(words(s))
	ends := w.endsWith
	switch {
	case w.joined == "" || slices.ContainsFunc(r.not, ends):
		return innocent
	case slices.ContainsFunc(r.any, w.has), slices.ContainsFunc(r.end, ends):
		return strong
	case slices.ContainsFunc(r.weak, ends):
		return weak
	}
	return innocent
}

// IsSecret tells whether a value of a name is a secret: by the name, by the value's own shape, as of `ghp_…`, of a
// private key and of an address with a password, or because it looks generated and the name is one of secrets often.
func IsSecret(name, value string) bool {
	r := builtin()
	if r == nil {
		return true
	}
	switch r.name(name) {
	case strong:
		return len(value) > shortestPhrase
	case weak:
		return random(value)
	}
	return len(r.scan(value)) > 0 || generated(value)
}

// generated tells a value that no person wrote and no tool prints as an address, a path or a digest: letters of both
// cases and digits, without marks in between. Digests are hexadecimal, and no secrets.
func generated(s string) bool {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+="
	if len(s) < 24 || strings.Trim(s, alphabet) != "" || strings.Trim(s, "0123456789abcdefABCDEF-") == "" {
		return false
	}
	return strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s && random(s)
}

// shortestPhrase is how many letters the shortest name of a secret has: pw.
const shortestPhrase = 2

// lettersOf returns how many bytes of a name are letters, or may be.
func lettersOf(s string) (n int) {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' {
			n++
		}
	}
	return n
}

// fused is how long words must be, written together, to be found in a name that
// writes its words together as well: "pin" is not in "spin", "apikey" is in
// "myapikey".
const fused = 5

func (w phrase) endsWith(p phrase) bool {
	if len(p.joined) >= fused {
		return strings.HasSuffix(w.joined, p.joined)
	}
	return len(w.words) >= len(p.words) && slices.Equal(w.words[len(w.words)-len(p.words):], p.words)
}

func (w phrase) has(p phrase) bool { return strings.Contains(w.joined, p.joined) }

// words splits a name into words of letters: at everything else, and where a
// capital follows a small letter or begins a word after capitals. Numbers are
// left out: password2 is a password.
func words(s string) []string {
	var out []string
	begin, prev := -1, rune(0)
	flush := func(end int) {
		if begin >= 0 {
			out = append(out, strings.ToLower(s[begin:end]))
			begin = -1
		}
	}
	for i, c := range s {
		switch {
		case !unicode.IsLetter(c):
			flush(i)
		case begin < 0:
			begin = i
		case unicode.IsUpper(c) && (unicode.IsLower(prev) || unicode.IsUpper(prev) && lowerFollows(s[i:])):
			flush(i)
			begin = i
		}
		prev = c
	}
	flush(len(s))
	return out
}

// lowerFollows tells whether the second letter of s is a small one.
func lowerFollows(s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	c, _ := utf8.DecodeRuneInString(s[n:])
	return unicode.IsLower(c)
}

// random tells a value that looks generated: long, of several
// kinds of characters, none of them often.
func random(s string) bool {
	if len(s) < 16 || strings.ContainsAny(s, " \t\n") {
		return false
	}
	var count [256]int
	digits := 0
	for i := 0; i < len(s); i++ {
		count[s[i]]++
		if '0' <= s[i] && s[i] <= '9' {
			digits++
		}
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return digits > 0 && bits >= 3
}
