package protect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// unknown stands in a shape for any text, also with slashes in it.
const unknown = 0

// maxShape is how much of a shape is compared, from its end.
const maxShape = 160

// partly looks at a path of which parts are known only at run time. It counts
// where what is known of it says the greater part of a name that guards: of
// "$f.json" nobody can say anything, obs${x}tat.json is one on purpose.
func (k *check) partly(shape, dir, part string) *Finding {
	if shape == "" || shape == shell.Unknown {
		return nil
	}
	if strings.HasPrefix(shape, shell.Unknown+"/") && dir != "" && strings.Contains(k.a.Source, "--show-toplevel") {
		shape = k.worktree(dir) + shape[1:]
	}
	if !strings.Contains(shape, shell.Unknown) {
		at := k.resolve(dir, shape)
		if at.Abs == "" {
			return k.somewhere(fold(shape), part)
		}
		return k.changes(&effect.Effect{Kind: effect.Delete, Path: at.Abs, Real: at.Real, Raw: shape, Glob: strings.ContainsAny(shape, "*?[")})
	}
	p := k.shaped(shape, dir)
	if p == "" || k.shapesSeen[p] {
		return nil
	}
	if k.shapesSeen == nil {
		k.shapesSeen = map[string]bool{}
	}
	if k.shapesSeen[p] = true; len(k.shapesSeen) > maxShapes {
		return &Finding{Part: part, Why: "it has very many names that are known only at run time; one could be what guards this agent, and only a person allows that"}
	}
	for i := range table() {
		if e := &table()[i]; e.token != "" && e.looksLike(p) {
			return guessed(e.path, e.what, part)
		}
	}
	for _, it := range k.own() {
		if !it.inUse {
			continue
		}
		at := strings.LastIndexByte(it.path, '/') + 1
		if mostly(p, it.path, at, len(it.path)) || it.below && mostly(p, it.path+"/"+shell.Unknown, at, len(it.path)) {
			return guessed(it.name, it.what, part)
		}
	}
	return nil
}

// shapes looks at the words of a shape, as paths and as values of flags.
func (k *check) shapes(shape, dir, part string) *Finding {
	if len(shape) > maxPath {
		shape = shape[len(shape)-maxPath:]
	}
	for _, s := range strings.FieldsFunc(shape, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>\"'()", r) }) {
		if len(s) > 2 && s[0] == '-' && s[1] != '-' {
			s = s[2:]
		}
		if _, v, ok := strings.Cut(s, "="); ok {
			s = v
		}
		if f := k.partly(s, dir, part); f != nil {
			return f
		}
	}
	return nil
}

func guessed(name, what, part string) *Finding {
	return &Finding{Part: part, Why: "part of a file's name is known only at run time, and it looks like " + name + ", " + what + "; what guards this agent is changed only with a person's answer"}
}

// shaped returns a shape as an absolute path, folded; "" if nothing of it is
// known.
func (k *check) shaped(shape, dir string) string {
	if strings.Trim(shape, shell.Unknown+"/.") == "" {
		return ""
	}
	if len(shape) > maxShape {
		shape = shell.Unknown + shape[len(shape)-maxShape:]
	}
	if at := strings.LastIndex(shape, "../"); at > strings.IndexByte(shape, unknown) {
		shape = shell.Unknown + shape[at+2:]
	}
	switch {
	case shape[0] == unknown || shape[0] == '/':
	case strings.HasPrefix(shape, "~/"):
		home, _ := k.home()
		shape = home + shape[1:]
	case dir == "":
		shape = shell.Unknown + "/" + shape
	default:
		shape = dir + "/" + shape
	}
	return fold(wild(shape))
}

// wild makes unknown what a pattern leaves open.
func wild(shape string) string {
	if !strings.ContainsAny(shape, "*?[") {
		return shape
	}
	out := make([]byte, 0, len(shape))
	for i := 0; i < len(shape); i++ {
		ch := shape[i]
		if ch == '[' {
			if end := strings.IndexByte(shape[i:], ']'); end > 0 {
				i += end
			}
		}
		if ch == '*' || ch == '?' || ch == '[' {
			ch = unknown
		}
		out = append(out, ch)
	}
	return string(out)
}

// looksLike tells whether a shape says the greater part of what is special in
// an entry's path: of .claude/settings.json, that it is .claude.
func (e *entry) looksLike(p string) bool {
	name, from := e.folded, strings.Index(e.folded, e.token)
	if name[0] != '/' {
		name, from = shell.Unknown+"/"+name, from+2
	}
	to := from + len(e.token)
	if mostly(p, name, from, to) {
		return true
	}
	if e.below && mostly(p, name+"/"+shell.Unknown, from, to) {
		return true
	}
	return to < len(name) && mostly(p, name[:to], from, to) // the directory that it is in
}

// mostly tells whether a shape may be a path, and says more than half of the
// letters between from and to, without those of a suffix.
func mostly(p, name string, from, to int) bool {
	if a, b := p[len(p)-1], name[len(name)-1]; a != b && a != unknown && b != unknown {
		return false
	}
	if ext := path.Ext(name[from:to]); len(ext) < to-from && !strings.Contains(ext, "/") {
		to -= len(ext)
	}
	letters := 0
	for i := from; i < to; i++ {
		if letter(name[i]) {
			letters++
		}
	}
	return 2*common(p, name, from, to) > letters
}

func letter(ch byte) bool { return ch >= 'a' && ch <= 'z' }

// common returns the most letters between from and to that a shape says of a
// path that it may be; -1 if it cannot be that path. Either may have unknown
// parts.
func common(p, name string, from, to int) int {
	const never = -1 << 20
	// next[j] is for what is left of p, and name from j on.
	next, cur := make([]int, len(name)+1), make([]int, len(name)+1)
	for i := len(p); i >= 0; i-- {
		for j := len(name); j >= 0; j-- {
			best := never
			switch {
			case i == len(p) && j == len(name):
				best = 0
			case j < len(name) && name[j] == unknown:
				if best = cur[j+1]; i < len(p) {
					best = max(best, next[j])
				}
			}
			if i < len(p) && p[i] == unknown {
				if best = max(best, next[j]); j < len(name) {
					best = max(best, cur[j+1])
				}
			}
			if i < len(p) && j < len(name) && p[i] == name[j] && p[i] != unknown {
				said := next[j+1]
				if j >= from && j < to && letter(name[j]) {
					said++
				}
				best = max(best, said)
			}
			cur[j] = best
		}
		next, cur = cur, next
	}
	return max(next[0], -1)
}

// dirOf returns the directory that a command works in.
func (k *check) dirOf(command int) string {
	if command < 0 || command >= len(k.a.Commands) {
		return k.call.Dir
	}
	return k.a.Commands[command].Dir
}

// firstWord returns what a text has before the command ends.
func firstWord(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ';', '\n':
			if depth == 0 {
				depth--
			}
		}
		if depth < 0 {
			return text[:i]
		}
	}
	return text
}

// rawShape returns the shape of a piece of shell text that is not read otherwise.
func rawShape(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\'' || ch == '"' || ch == '\\' || ch == '<':
		case ch == '$' && i+1 < len(text) && (text[i+1] == '{' || text[i+1] == '('):
			out = append(out, unknown)
			shut := byte('}')
			if text[i+1] == '(' {
				shut = ')'
			}
			if end := strings.IndexByte(text[i:], shut); end > 0 {
				i += end
			}
		case ch == '$':
			out = append(out, unknown)
			for i+1 < len(text) && inWord(text[i+1]) && text[i+1] != '-' {
				i++
			}
		default:
			out = append(out, ch)
		}
	}
	return string(out)
}
