package protect

import (
	_ "embed"
	"path"
	"strings"
	"unicode"

	"github.com/obstat/obstat/internal/once"
)

//go:embed guarded.txt
var guardedText string

// An entry is a line of the table.
type entry struct {
	what    string
	path    string // slashes; the end of a path, or a place
	folded  string
	env     string // variable that names the directory that path is in
	below   bool
	generic bool
	// token is what speaks of it in a text that nobody looks into; "" if nothing
	// does: everybody has files of that name.
	token string
}

// table returns the lines of guarded.txt.
func table() []entry { return tableOnce.Get(makeTable) }

var tableOnce once.Value[[]entry]

func makeTable() []entry {
	out := make([]entry, 0, strings.Count(guardedText, "\n"))
	for line := range strings.SplitSeq(guardedText, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		env, name, two := strings.Cut(strings.TrimSpace(rest), " ")
		if !two {
			name = env
		}
		e := entry{path: strings.TrimSpace(name)}
		if e.path == "" {
			continue
		}
		switch kind {
		case "generic":
			e.what, e.generic = mayPolicy, true
		case "policy":
			e.what = mayPolicy
		case "state":
			e.what = isState
		case "program":
			e.what = isProgram
		case "moved":
			e.what, e.env = isHook, env
		default:
			e.what = isHook
		}
		e.path, e.below = strings.CutSuffix(e.path, "/")
		e.folded = fold(e.path)
		if !e.generic && e.env == "" {
			e.token = tokenOf(e.folded)
		}
		out = append(out, e)
	}
	return out
}

// named tells whether a path, folded, ends like an entry or lies in one, and
// which.
func named(p string) *entry {
	for i := range table() {
		if e := &table()[i]; !e.generic && e.env == "" && e.covers(p) {
			return e
		}
	}
	return nil
}

func (e *entry) covers(p string) bool {
	if e.folded[0] == '/' {
		return p == e.folded || e.below && strings.HasPrefix(p, e.folded+"/")
	}
	if p == e.folded || strings.HasSuffix(p, "/"+e.folded) {
		return true
	}
	return e.below && (strings.HasPrefix(p, e.folded+"/") || strings.Contains(p, "/"+e.folded+"/"))
}

// ignorable are characters that some file systems do not see in a name.
var ignorable = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x200c, Hi: 0x200f, Stride: 1}, {Lo: 0x202a, Hi: 0x202e, Stride: 1}, {Lo: 0x206a, Hi: 0x206f, Stride: 1}, {Lo: 0xfeff, Hi: 0xfeff, Stride: 1}}}

// fold returns a path so that two that may be the same file on any system are
// the same: without regard to case, to characters that are not seen, to how
// separators are written, and to what Windows cuts off the end of a name.
func fold(p string) string {
	if plain(p) {
		return p
	}
	p = strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case unicode.Is(ignorable, r):
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, p)
	segs := strings.Split(p, "/")
	for i, s := range segs {
		if s == "." || s == ".." {
			continue
		}
		if at := strings.IndexByte(s, ':'); at > 1 {
			s = s[:at] // a stream of the file
		}
		segs[i] = strings.TrimRight(s, ". ")
	}
	if strings.HasPrefix(p, "/") {
		return path.Clean("/" + strings.Join(segs, "/"))
	}
	return path.Clean(strings.Join(segs, "/"))
}

// plain tells whether fold would change nothing.
func plain(p string) bool {
	for i := range len(p) {
		switch ch := p[i]; {
		case ch >= 'A' && ch <= 'Z', ch >= 0x80, ch == '\\', ch == ':', ch == ' ':
			return false
		case ch == '.' && (i+1 == len(p) || p[i+1] == '/' || p[i+1] == '.'):
			return false
		case ch == '/' && i > 0 && p[i-1] == '/', ch == '/' && i > 0 && i+1 == len(p):
			return false
		}
	}
	return true
}

// inside tells whether p is root or lies below it; both are folded.
func inside(root, p string) bool {
	return p == root || root == "/" || strings.HasPrefix(p, root) && p[len(root)] == '/'
}

// matchGlob tells whether a path that the shell makes of a pattern may be p, or a
// directory that p is in, segment by segment. ** stands for any number of them.
func matchGlob(pattern, p string, above bool) bool {
	return matchSegs(strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(p, "/"), "/"), above, 0)
}

const maxGlob = 64 // segments of a pattern; of a longer one nobody can say what it means

func matchSegs(pat, segs []string, above bool, depth int) bool {
	if depth > maxGlob {
		return true
	}
	switch {
	case len(pat) == 0:
		return len(segs) == 0 || above
	case pat[0] == "**":
		for i := 0; i <= len(segs); i++ {
			if matchSegs(pat[1:], segs[i:], above, depth+1) {
				return true
			}
		}
		return false
	case len(segs) == 0:
		return false
	case !segMatch(pat[0], segs[0]):
		return false
	}
	return matchSegs(pat[1:], segs[1:], above, depth+1)
}

// segMatch matches one name. A pattern that path.Match does not know may mean
// anything, as may one with braces; a star may be told to take names with a dot.
func segMatch(pattern, name string) bool {
	if strings.ContainsAny(pattern, "{}()") {
		return true
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return ok || err != nil
}
