package protect

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/obstat/obstat/agent"
)

//go:embed guarded.txt
var guardedText string

// An entry is a path of the table.
type entry struct {
	what   string
	path   string // slashes; the end of a path, or a place
	folded string
	env    string // variable that names the directory that path is in
	below  bool
	token  string // names it in a text that is not understood; "" if nothing does
}

// table has the paths of guarded.txt and of the agents, ownLists the words of guarded.txt by kind,
// lists those of the agents as well. Each is read when it is first needed: of an ordinary call,
// only the second.
var (
	table    = sync.OnceValue(readTable)
	ownLists = sync.OnceValue(func() map[string][]string { return readLists(ownRows) })
	lists    = sync.OnceValue(func() map[string][]string { return readLists(rows) })
)

// rows calls visit with the kind and the rest of every line of guarded.txt, and of every
// trait of an agent.
func rows(visit func(kind, rest string)) {
	ownRows(visit)
	for _, t := range agent.All().Traits() {
		visit(t.Kind, t.Text)
	}
}

func ownRows(visit func(kind, rest string)) {
	for line := range strings.SplitSeq(guardedText, "\n") {
		if kind, rest, has := strings.Cut(line, " "); has && kind != "#" {
			visit(kind, strings.TrimSpace(rest))
		}
	}
}

func readTable() (out []entry) {
	kinds := map[string]string{"policy": mayPolicy, "hook": isHook, "moved": isHook, "state": isState,
		"program": isProgram}
	rows(func(kind, rest string) {
		e := entry{path: rest, what: kinds[kind]}
		if e.what == "" {
			return
		}
		if kind == "moved" {
			e.env, e.path, _ = strings.Cut(rest, " ")
		}
		e.path, e.below = strings.CutSuffix(e.path, "/")
		e.folded = fold(e.path)
		if e.env == "" {
			e.token = tokenOf(e.folded)
		}
		out = append(out, e)
	})
	return out
}

func readLists(rows func(visit func(kind, rest string))) map[string][]string {
	out := map[string][]string{}
	rows(func(kind, rest string) { out[kind] = append(out[kind], strings.Fields(rest)...) })
	return out
}

// listed returns the words of a kind.
func listed(kind string) []string {
	switch kind {
	case agent.ProgramTrait, agent.BareTrait, agent.MovesTrait, agent.OffTrait:
		return lists()[kind]
	}
	return ownLists()[kind]
}

// is tells whether a word is in a list.
func is(list, word string) bool { return slices.Contains(listed(list), word) }

// says tells whether a text has a word of a list in it.
func says(list, text string) bool {
	return slices.ContainsFunc(listed(list), func(w string) bool { return strings.Contains(text, w) })
}

// named returns the first entry that a path, folded, ends like or lies in; nil if there
// is none.
func named(p string) *entry {
	items, by, first := table(), byName(), -1
	for at := 0; at < len(p); {
		end := strings.IndexByte(p[at:], '/')
		if end < 0 {
			end = len(p) - at
		}
		for _, i := range by[p[at:at+end]] {
			if e := &items[i]; (first < 0 || i < first) && e.covers(p, at) {
				first = i
			}
		}
		at += end + 1
	}
	if first < 0 {
		return nil
	}
	return &items[first]
}

// byName has the entries by the first name of their paths.
var byName = sync.OnceValue(func() map[string][]int {
	out := map[string][]int{}
	for i, e := range table() {
		if name, _, _ := strings.Cut(strings.TrimPrefix(e.folded, "/"), "/"); e.env == "" {
			out[name] = append(out[name], i)
		}
	}
	return out
})

// covers reports whether p from the name at an offset on is the entry, or lies in it.
func (e *entry) covers(p string, at int) bool {
	if e.folded[0] == '/' {
		if at != 1 {
			return false
		}
		at = 0
	}
	rest, ok := strings.CutPrefix(p[at:], e.folded)
	return ok && (rest == "" || e.below && rest[0] == '/')
}

// tokenOf returns the part of a path that names it in a text: `.claude` of
// .claude/settings.json, `opencode/config.json` of the one in .config.
func tokenOf(folded string) string {
	p := strings.Trim(folded, "/")
	first, rest, more := strings.Cut(p, "/")
	if is("common-dirs", first) {
		if at := strings.LastIndexByte(rest, '/'); at >= 0 {
			return rest[strings.LastIndexByte(rest[:at], '/')+1:]
		}
		return p
	}
	if more && first[0] == '.' {
		return first
	}
	return p
}

// ignorable are characters that some file systems do not see in a name.
var ignorable = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x200c, Hi: 0x200f, Stride: 1}, {Lo: 0x202a, Hi: 0x202e, Stride: 1}, {Lo: 0x206a, Hi: 0x206f, Stride: 1},
	{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}}}

// fold returns a path so that two that may be the same file on any system are
// the same: without regard to case, to characters that are not seen, to how
// separators are written, and to ends of a name that Windows cuts off.
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
		case ch == '/' && i > 0 && (p[i-1] == '/' || i+1 == len(p)):
			return false
		}
	}
	return p != ""
}

// inside tells whether p is root or lies below it; both are folded.
func inside(root, p string) bool {
	return p == root || root == "/" || strings.HasPrefix(p, root) && p[len(root)] == '/'
}
