package effect

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// Deceit returns a part of a command that no honest one has, and why; "" if there is none.
func (a *Analysis) Deceit() (part, why string) {
	for _, f := range a.Findings {
		if a.hides(f) {
			return a.Source[f.Span.Start:f.Span.End], f.Why
		}
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind != Connect {
			continue
		}
		if why := addressDeceit(e); why != "" {
			return e.Raw, why
		}
	}
	if token := writtenSecret(a.Source); token != "" {
		return token, "a secret is written in the call"
	}
	if len(a.Source) < maxPattern && isForkBomb(a.Source) {
		return a.Source, "it starts itself again and again"
	}
	return "", ""
}

// hides reports whether a finding deceives a reader: a character that reorders the text, one that is not displayed
// between letters of ASCII, which emoji and other scripts do not need, or letters of another alphabet in a program's
// name.
func (a *Analysis) hides(f shell.Finding) bool {
	text := a.Source
	if f.Span.Start < 0 || f.Span.End > len(text) {
		return false
	}
	r, n := utf8.DecodeRuneInString(text[f.Span.Start:])
	switch {
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	case n < f.Span.End-f.Span.Start: // a word of look-alikes
		for i := range a.Commands {
			if c := &a.Commands[i]; len(c.Words) > 0 && c.Words[0].Span == f.Span {
				return true
			}
		}
		return false
	case strings.Contains(f.Why, "reorders"):
		return true
	case !strings.Contains(f.Why, "not displayed"):
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:f.Span.Start])
	after, _ := utf8.DecodeRuneInString(text[f.Span.End:])
	return before < utf8.RuneSelf && after < utf8.RuneSelf
}

// addressDeceit says why an address deceives: `https://github.com@evil.example/`, or a host with letters of two
// alphabets.
func addressDeceit(e *Effect) string {
	if _, rest, ok := strings.Cut(e.Raw, "://"); ok {
		authority, _, _ := strings.Cut(rest, "/")
		user, _, ok := strings.Cut(authority, "@")
		name, port, _ := strings.Cut(user, ":")
		if ok && strings.Contains(name, ".") && len(port) <= 5 && strings.Trim(port, "0123456789") == "" {
			return "the address hides its host behind another"
		}
	}
	ascii, other := false, false
	for _, r := range e.Host {
		ascii = ascii || r|0x20 >= 'a' && r|0x20 <= 'z'
		other = other || r >= 0x370 && r < 0x600                   // Greek, Cyrillic, Armenian
		other = other || r >= 0xff01 && r <= 0xff61 || r == 0x3002 // full-width letters and dots
	}
	if other && (ascii || strings.Contains(e.Host, ".")) && !strings.Contains(e.Host, ".рф") {
		return "the host's name has letters that look like others"
	}
	return ""
}

var secretForms = kb.Table("!secret-forms")

// writtenSecret returns the secret of an issuer's form, or the beginning of a private key, that a text holds.
func writtenSecret(text string) string {
	if i := strings.Index(text, "-----BEGIN "); i >= 0 {
		if line, body, _ := strings.Cut(text[i:], "\n"); strings.Contains(line, "PRIVATE KEY-----") && body != "" {
			return line
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isTokenRune(r) }) {
		if len(word) >= 20 && len(word) < maxPattern && secretForms().Has(word[:4]) && variedToken(word) {
			return word
		}
	}
	return ""
}

func isTokenRune(r rune) bool {
	letter := r|0x20 >= 'a' && r|0x20 <= 'z'
	return letter || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// variedToken reports whether a token looks random, unlike `ghp_xxxxxxxxxxxxxxxxxxxx` of an example.
func variedToken(s string) bool {
	seen := map[rune]bool{}
	digits := false
	for _, r := range s[4:] {
		seen[r] = true
		digits = digits || r >= '0' && r <= '9'
	}
	return len(seen) >= 10 && digits
}

// isForkBomb reports whether a text starts itself again and again: `:(){ :|:& };:`, `f() { f & f & }; f`,
// `while :; do $0 & done`, `perl -e 'fork while 1'`.
func isForkBomb(text string) bool {
	if strings.Contains(text, "fork") && endlessForks().MatchString(text) {
		return true
	}
	if !strings.Contains(text, "&") {
		return false
	}
	for _, at := range endless(text) {
		body, _, _ := strings.Cut(text[at[1]:], "done")
		body = strings.TrimSpace(body)
		if strings.HasSuffix(body, "&") && !strings.HasSuffix(body, "&&") && !strings.HasSuffix(body, ">&") {
			return true // `work & done`
		}
	}
	if !strings.Contains(text, "()") && !strings.Contains(text, "function") {
		return false
	}
	for _, f := range functions().FindAllStringSubmatch(text, -1) {
		name, body := f[1]+f[2], strings.ReplaceAll(f[3], "&&", ";")
		body = redirects().ReplaceAllString(body, " ")
		between := func(r rune) bool { return strings.ContainsRune("\n;|&({", r) }
		calls := func(command string) bool {
			word, _, _ := strings.Cut(strings.TrimSpace(command), " ")
			return word == name
		}
		if strings.Contains(body, "&") && slices.ContainsFunc(strings.FieldsFunc(body, between), calls) {
			return true
		}
	}
	return false
}

// endless returns where the heads of loops without an end stand: `while :; do `.
func endless(text string) [][]int {
	if !strings.Contains(text, "do") {
		return nil
	}
	return endlessLoops().FindAllStringIndex(text, -1)
}

var (
	endlessLoops = sync.OnceValue(func() *regexp.Regexp {
		const always = `(/\S*/)?true|:|\[\[?\s*(1|true)\s*\]\]?|\(\(\s*1\s*\)\)`
		const counts = `for\s*\(\([^;()]*;\s*;[^;()]*\)\)`
		return regexp.MustCompile(`(while\s+(` + always + `)|until\s+(/\S*/)?false|` + counts + `)\s*;?\s*do\s`)
	})
	endlessForks = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bfork(\(\))?\s+while\b|\b(while|for|loop)\b[^\n]{0,40}[\s({]*(os\.)?fork\b`)
	})
	functions = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:([^\s;&|(){}]+)\s*\(\)|function\s+([^\s;&|(){}]+)\s*(?:\(\))?)\s*[{(]([^}]*)[})]`)
	})
	// redirects matches those with an ampersand, which start nothing.
	redirects = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]*[<>]&[0-9-]*|&>`) })
)
