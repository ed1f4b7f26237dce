package protect

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/shell"
)

// word tells whether a word names an item, as a path from a directory, as the
// value of a flag, as a part of source:target, or as the name that a download
// gets.
func (k *check) word(w *shell.Word, dir string) *Finding {
	if !w.Known {
		if f := k.somewhere(fold(unquote(w.Raw)), w.Raw); f != nil {
			return f
		}
		return k.shapes(w.Shape(), dir, w.Raw)
	}
	texts := []string{w.Text}
	if _, v, ok := strings.Cut(w.Text, "="); ok {
		texts = append(texts, v)
	}
	if strings.Contains(w.Text, ":") {
		texts = append(texts, strings.Split(w.Text, ":")...)
		texts = append(texts, path.Base(w.Text))
	}
	if strings.Contains(w.Text, ",") {
		texts = append(texts, strings.Split(w.Text, ",")...)
	}
	if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' {
		texts = append(texts, w.Text[2:])
	}
	for _, t := range texts {
		if f := k.path(t, dir, w.Raw, w.Glob); f != nil {
			return f
		}
	}
	return nil
}

// maxPath is how long a text may be to be taken for a path.
const maxPath = 4096

// path tells whether a text is the path of an item.
func (k *check) path(t, dir, part string, glob bool) *Finding {
	if t == "" || len(t) > maxPath || strings.ContainsAny(t, "\n\x00") {
		return nil
	}
	t = strings.TrimPrefix(t, "file://")
	if !strings.ContainsAny(t, "./~*?[{\\") && !strings.Contains(t, "!(") && !k.exists(filepath.Join(dir, t)) {
		return nil // most words are no paths, and nothing that guards has such a name
	}
	p := k.resolve(dir, t)
	if p.Abs == "" {
		return k.somewhere(fold(t), part)
	}
	for _, at := range slices.Compact([]string{fold(p.Abs), fold(p.Real)}) {
		if at == "" || at == "." {
			continue
		}
		items := k.own() // the others have names, or a pattern that they are held to
		if glob {
			items = k.items()
		}
		if f := k.among(items, at, part, glob, false); f != nil {
			return f
		}
	}
	return nil
}

func unquote(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\'' {
			return -1
		}
		return r
	}, s)
}

// mentions tells whether a text that nobody looks into speaks of an item, or of
// a command of obstat's that changes something.
func (k *check) mentions(text string) *Finding {
	if text == "" {
		return nil
	}
	t := fold2(text)
	if name := k.spoken(t); name != "" {
		return &Finding{Part: clip(text), Why: "it cannot be seen what this does with " + name + "; what guards this agent is changed only with a person's answer"}
	}
	if f := k.patterns(text); f != nil {
		return f
	}
	if changesObstat(t) {
		return &Finding{Part: clip(text), Why: "it would change what obstat allows; only a person allows that"}
	}
	return nil
}

// source is mentions for the whole of the shell's text.
func (k *check) source() *Finding {
	if k.sourceSeen {
		return nil
	}
	k.sourceSeen = true
	return k.mentions(k.a.Source)
}

// patterns looks at the patterns in a text that nobody looks into: obst* speaks
// of a file as well as its name does.
func (k *check) patterns(text string) *Finding {
	if !strings.ContainsAny(text, "*?[") || len(text) > 1<<16 {
		return nil
	}
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>\"'`()=,", r) }) {
		if !strings.ContainsAny(s, "*?[") {
			continue
		}
		if len(k.shapesSeen) > maxShapes/2 {
			return nil // most of them are products
		}
		if f := k.partly(shell.Unknown+wild(s), k.call.Dir, clip(text)); f != nil {
			return f
		}
	}
	return nil
}

// spoken returns the item that a text, folded, speaks of, for a person; "" if it
// speaks of none.
func (k *check) spoken(t string) string {
	if e := spokenOf(t); e != nil {
		return e.path + ", " + e.what
	}
	for _, p := range slices.Concat(k.g.Policies, k.g.State, k.g.Programs) {
		if name := path.Base(fold(p)); len(name) > 2 && speaks(t, name) {
			return p + ", which guards this agent"
		}
	}
	return ""
}

// spokenOf returns the entry that a text speaks of, if it does.
func spokenOf(text string) *entry {
	if !strings.ContainsAny(text, "./") { // every token has one
		return nil
	}
	for i := range table() {
		if e := &table()[i]; e.token != "" && speaks(text, e.token) {
			return e
		}
	}
	return nil
}

// tokenOf returns what a text has in it that speaks of a path.
func tokenOf(folded string) string {
	p := strings.Trim(folded, "/")
	first, rest, more := strings.Cut(p, "/")
	switch first {
	case ".config", ".local", ".cache", ".github", "etc", "var", "bin":
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

// speaks tells whether a text has a word in it that is not part of a longer one.
func speaks(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !inWord(text[at-1]) || text[at-1] == '-' && isDefault(text[:at-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		from = at + 1
	}
}

// isDefault tells whether a text ends in ${x: or ${x, so that a dash and a default
// may follow.
func isDefault(text string) bool {
	text = strings.TrimSuffix(text, ":")
	for len(text) > 0 && inWord(text[len(text)-1]) && text[len(text)-1] != '-' {
		text = text[:len(text)-1]
	}
	return strings.HasSuffix(text, "${")
}

func inWord(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// fold2 folds a text that is no path: its words, not its separators.
func fold2(s string) string {
	lines := strings.Map(func(r rune) rune {
		if r == '\\' {
			return '/'
		}
		return r
	}, s)
	return strings.ToLower(lines)
}

func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
