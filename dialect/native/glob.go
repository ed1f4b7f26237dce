package native

import (
	"bytes"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// A glob is a path or a pattern of paths, as .gitignore has them: `*` stops at slashes, `**`
// crosses them, a name without a slash is that name at any depth, and a directory is all that is in
// it. A path is in the project unless it begins with `/` or `~/`.
type glob struct {
	base   string // fieldPath, fieldAbs or fieldHome
	tokens []byte // of the pattern, see tokenize
	text   string // as written
}

// Tokens of a glob that are no characters. They are control characters that no path has.
const (
	tokDirs = '\x0e' // `**/`: any directories, or none
	tokAny  = '\x0f' // `**`
	tokName = '\x10' // `*`
	tokChar = '\x11' // `?`
)

// newGlob reads a glob; why is the error, "" if there is none.
func newGlob(text string) (g glob, why string) {
	g = glob{base: fieldPath, text: text}
	p := strings.ReplaceAll(text, `\`, "/")
	for strings.Contains(p, "//") { // `secret//x` is `secret/x`, for no path of a call has two slashes
		p = strings.ReplaceAll(p, "//", "/")
	}
	switch {
	case p == "" || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' }):
		return g, "a path is a text without control characters"
	case variable(p):
		return g, "a path's variables are not looked up: write ~/ for the home directory"
	case strings.HasPrefix(p, "~/"):
		g.base, p = fieldHome, p[2:]
	case p[0] == '~':
		return g, "only ~/ is a home directory"
	case p[0] == '/':
		g.base = fieldAbs
	case strings.HasPrefix(p, "./"):
		p = strings.TrimLeft(p[2:], "/")
	case !strings.Contains(strings.TrimSuffix(p, "/"), "/"):
		p = "**/" + p
	}
	if p = strings.TrimSuffix(p, "/"); p == "" && g.base != fieldAbs {
		p = "**"
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == ".." || seg == "." {
			return g, "a rule's path has no . or .. in it"
		}
	}
	if strings.ContainsAny(p, "[]{}") {
		return g, "a path has * ** and ? as wildcards, and no brackets"
	}
	g.tokens = tokenize(strings.TrimSuffix(p, "/**"))
	return g, ""
}

// variable tells whether a path begins with a variable of the environment, `$HOME/x` or `${TMPDIR}/x`.
func variable(p string) bool {
	name, _, _ := strings.Cut(p, "/")
	rest, ok := strings.CutPrefix(name, "$")
	rest = strings.Trim(rest, "{}")
	return ok && rest != "" && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// tokenize cuts a pattern into characters and wildcards.
func tokenize(p string) (out []byte) {
	for i := 0; i < len(p); i++ {
		switch {
		case strings.HasPrefix(p[i:], "**/") && (i == 0 || p[i-1] == '/'):
			out = append(out, tokDirs)
			i += 2
		case strings.HasPrefix(p[i:], "**"):
			out = append(out, tokAny)
			i++
		case p[i] == '*':
			out = append(out, tokName)
		case p[i] == '?':
			out = append(out, tokChar)
		default:
			out = append(out, p[i])
		}
	}
	return out
}

// pattern returns the pattern for subjects of the glob's base. `*` and `?` do not match the marks of
// a set: of a path that is only known in part, nothing but `**` is certain.
func (g *glob) pattern() obstat.Text {
	var b strings.Builder
	b.WriteString("(?s)")
	if len(g.tokens) == 0 { // all of it
		return obstat.Text{Flavour: pattern.Full, Text: "(?s).*"}
	}
	for _, c := range g.tokens {
		switch c {
		case tokDirs:
			b.WriteString("(?:.*/)?")
		case tokAny:
			b.WriteString(".*")
		case tokName:
			b.WriteString(`[^/\x00]*`)
		case tokChar:
			b.WriteString(`[^/\x00-\x05]`)
		default:
			quote(&b, c)
		}
	}
	b.WriteString("(?:/.*)?")
	return obstat.Text{Flavour: pattern.Full, Text: b.String()}
}

func quote(b *strings.Builder, c byte) {
	if strings.IndexByte(`.*+?()[]{}|^$\`, c) >= 0 {
		b.WriteByte('\\')
	}
	b.WriteByte(c)
}

// contains tells whether every path of o is certainly one of g.
func (g *glob) contains(o *glob) bool {
	if g.base != o.base {
		return false
	}
	return covers(g.tokens, o.tokens, true)
}

// covers tells whether everything that b stands for is certainly something that a stands for. With
// below, paths below a count as well.
func covers(a, b []byte, below bool) bool {
	return (&covering{a: a, b: b, below: below, memo: map[[2]int]bool{}}).from(0, 0)
}

// A covering compares two globs; memo keeps its answers by places in both.
type covering struct {
	a, b  []byte
	below bool
	memo  map[[2]int]bool
}

// from is [covers] for the rest of a from i on and that of b from j on.
func (c *covering) from(i, j int) bool {
	key := [2]int{i, j}
	ok, done := c.memo[key]
	if !done {
		c.memo[key] = false
		ok = c.compare(i, j)
		c.memo[key] = ok
	}
	return ok
}

func (c *covering) compare(i, j int) bool {
	if i == len(c.a) {
		return j == len(c.b) || c.below && (j == 0 || c.b[j] == '/' || c.b[j-1] == '/')
	}
	switch c.a[i] {
	case tokDirs:
		ok := c.from(i+1, j)
		for k := j; k < len(c.b) && !ok; k++ {
			ok = (c.b[k] == '/' || c.b[k] == tokDirs) && c.from(i+1, k+1)
		}
		return ok
	case tokAny:
		return c.from(i+1, j) || j < len(c.b) && c.from(i, j+1)
	case tokName:
		return c.from(i+1, j) || j < len(c.b) && bytes.IndexByte([]byte{'/', tokAny, tokDirs}, c.b[j]) < 0 && c.from(i, j+1)
	case tokChar:
		return j < len(c.b) && c.b[j] != '/' && c.b[j] >= tokChar && c.from(i+1, j+1)
	}
	return j < len(c.b) && c.a[i] == c.b[j] && c.from(i+1, j+1)
}
