package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/pattern/internal/minimatch"
	"github.com/obstat/obstat/pattern/internal/re"
)

// maxText bounds the text of a pattern, far above rules written by hand.
const maxText = 1 << 16

// A SyntaxError says where a pattern's text stops being a pattern.
type SyntaxError struct {
	Offset int    // in bytes, into the text given to Compile
	Msg    string // without the position
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at offset %d", e.Msg, e.Offset)
}

// Compile reads text as a pattern of flavour f. Its error is always a
// *SyntaxError.
func Compile(f Flavour, text string) (*Pattern, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{maxText, "the pattern is too long"}
	}
	if i := badUTF8(text); i >= 0 && f != Exact {
		return nil, &SyntaxError{i, "the pattern is not UTF-8 text"}
	}
	p := &Pattern{flavour: f, text: text}
	if cannotFail(f, text) {
		return p, nil
	}
	r, err := read(f, text)
	if err != nil {
		return nil, err
	}
	b := r.body()
	if f != Minimatch && strings.Contains(text, "{") { // a repetition may be too much
		if b.m = r.matcher(); b.m == nil {
			return nil, &SyntaxError{0, "the repetitions make the expression too large"}
		}
	}
	p.made.Store(b)
	return p, nil
}

// cannotFail tells of most texts, by a look, that they are patterns.
func cannotFail(f Flavour, text string) bool {
	switch f {
	case Exact, Fnmatch, Wildcard:
		return true
	case Minimatch:
		return minimatch.IsPattern(text)
	}
	return false
}

// A reading is a pattern's text, read.
type reading struct {
	tree   *re.Node // of the matches; nil: m matches
	groups int      // of the tree
	search bool     // the tree stands anywhere in a match
	shape  Shape    // where there is no tree
	plain  *re.Node // a simpler one that says the same of tidy paths; nil: there is none
	m      matcher
}

// unless matches the texts that another does not.
type unless struct{ matcher }

// Match implements matcher.
func (u unless) Match(s string) (bool, error) {
	ok, err := u.matcher.Match(s)
	return !ok && err == nil, err
}

// whole returns the tree of whole texts, nil if there is none.
func (r *reading) whole() *re.Node {
	if r.tree == nil || !r.search {
		return r.tree
	}
	return re.Whole(r.tree)
}

func (r *reading) body() *body {
	if r.tree == nil {
		return &body{shape: r.shape, m: r.m}
	}
	b := &body{shape: treeShape(r.whole())}
	if r.plain != nil {
		plain := treeShape(r.plain)
		b.plain = &plain
	}
	return b
}

// matcher returns nil where the tree is too large.
func (r *reading) matcher() matcher {
	if r.tree == nil {
		return r.m
	}
	if p := re.Compile(r.tree, r.groups, !r.search); p != nil {
		return p
	}
	return nil
}

// read reads text as a pattern of flavour f.
func read(f Flavour, text string) (*reading, error) {
	switch f {
	case Exact:
		return &reading{shape: Shape{Prefix: text, Exact: true}}, nil
	case Fnmatch:
		return readFnmatch(text), nil
	case Wildcard:
		return readWildcard(text), nil
	case Minimatch:
		tree, plain, not, err := minimatch.Read(text)
		if err != nil {
			return nil, positioned(err)
		}
		r := &reading{tree: tree, plain: plain}
		if not {
			return &reading{m: unless{r.matcher()}}, nil
		}
		return r, nil
	case Bash:
		return readBash(text)
	case JSON:
		return readJSONPattern(text)
	case Order:
		return readOrder(text)
	case Full, Search:
		tree, groups, err := re.Read(text, f == Full)
		if err != nil {
			return nil, positioned(err)
		}
		return &reading{tree: tree, groups: groups, search: f == Search}, nil
	}
	return nil, &SyntaxError{0, fmt.Sprintf("there is no pattern flavour %q", string(f))}
}

// positioned returns a reader's error as a SyntaxError.
func positioned(err error) error {
	e := err.(*re.Error)
	return &SyntaxError{e.Offset, e.Msg}
}

// reached returns the language of p, nil where anything may match.
func (p *Pattern) reached() *language {
	l := p.reach.Load()
	if l == nil {
		l = &language{tree: p.read().whole(), backslash: p.flavour == Wildcard && !strings.Contains(p.text, `\`)}
		if !p.reach.CompareAndSwap(nil, l) {
			l = p.reach.Load()
		}
	}
	return l
}

// below is the end of a pattern of paths that takes everything below them as well.
const below = "(?:/.*)?"

// Itself returns the pattern without the paths below: of `a/b(?:/.*)?` it is `a/b`. A
// pattern of another form is its own.
func (p *Pattern) Itself() *Pattern {
	text, cut := strings.CutSuffix(p.text, below)
	if !cut || p.flavour != Full {
		return p
	}
	own := p.itself.Load()
	if own == nil {
		own, _ = Compile(Full, text)
		if own == nil {
			own = p
		}
		p.itself.CompareAndSwap(nil, own)
	}
	return own
}

// MustCompile is Compile for tables and tests: it panics where Compile fails.
func MustCompile(f Flavour, text string) *Pattern {
	p, err := Compile(f, text)
	if err != nil {
		panic(fmt.Sprintf("pattern.MustCompile(%s, %q): %v", f, text, err))
	}
	return p
}

// badUTF8 returns the offset of the first byte of s that is not UTF-8, or -1.
func badUTF8(s string) int {
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 {
			return i
		}
		i += w
	}
	return -1
}
