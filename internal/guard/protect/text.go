package protect

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// maxPath is how long a text may be to be taken for a path.
const maxPath = 4096

// quotes and blanks end a path in a text that is not understood.
const quotes, blanks = "\"'`<>", " \t\n;|&()"

// words looks at words that a command does something with that is not known.
func (k *check) words(list []shell.Word, dir string) *Finding {
	for i := range list {
		if f := k.names(&list[i], dir); f != nil {
			return f
		}
	}
	return nil
}

// names tells whether a word names an item: as a path from a directory, as the value of
// a flag, as a part of source:target, or as the name that a download gets. Of a word that
// is known only at run time, its shape counts.
func (k *check) names(w *shell.Word, dir string) *Finding {
	t, cut := w.Text, "=:,@"
	if w.Known && !mayBePath(t) {
		return nil
	}
	pieces := []string{t}
	switch {
	case !w.Known:
		t, cut, pieces = w.Shape(), cut+quotes+blanks, nil
	case len(t) > maxPath || strings.Contains(t, "\n"):
		return nil
	case strings.ContainsAny(t, ":,@"):
		pieces = append(pieces, path.Base(t))
	}
	for _, p := range append(pieces, strings.FieldsFunc(t, func(r rune) bool { return strings.ContainsRune(cut, r) })...) {
		if len(p) > 2 && p[0] == '-' && p[1] != '-' {
			p = p[2:]
		}
		if f := k.text(p, dir, w.Raw, w.Glob); f != nil {
			return f
		}
	}
	return nil
}

// text tells whether a text is the path of an item. Parts of it may be known only at run time.
func (k *check) text(t, dir, part string, glob bool) *Finding {
	t = strings.TrimPrefix(t, "file://")
	open := strings.Contains(t, shell.Unknown)
	if len(t) > maxPath || !open && (!mayBePath(t) || strings.HasSuffix(t, "...")) {
		return nil // most words are no paths, and nothing that guards has such a name
	}
	if open {
		switch {
		case strings.HasPrefix(t, "~/"):
			t = k.home() + t[1:]
		case t[0] == '/' || t[0] == paths.AnyText:
		case dir != "":
			t = path.Clean(dir + "/" + t)
		default:
			t = shell.Unknown + "/" + t
		}
		return k.touches(paths.Shaped(t), part, partly)
	}
	p := k.resolve(dir, t)
	if p.Abs == "" {
		return k.touches(paths.Shaped(shell.Unknown+"/"+path.Clean(strings.TrimLeft(t, "./"))), part, partly)
	}
	for i, at := range [...]string{p.Abs, p.Real} {
		if i > 0 && at == p.Abs {
			break // no link leads elsewhere
		}
		s := paths.Exactly(at)
		if glob {
			s = paths.Matching(at)
		}
		if f := k.touches(s, part, there); f != nil {
			return f
		}
	}
	return nil
}

// mayBePath tells whether a text has a character that the paths of items have.
func mayBePath(t string) bool { return strings.ContainsAny(t, "./~*?[{\\") }

// mentions tells whether a text that is not understood speaks of an item, by its name or
// by a pattern, as in `ssh box 'rm obst*'`, or of a command of obstat's that changes
// something.
func (k *check) mentions(text string) *Finding {
	t := lower(text)
	if of := switchIn(text); of != "" && !k.agents {
		return &Finding{Part: clip(text),
			Why: "it may start an agent without what guards it (" + of + "); only a person allows that"}
	}
	if says("injects", t) {
		return &Finding{Part: clip(text), Why: "it may type into a person's terminal; only a person allows that"}
	}
	if changesObstat(t) {
		return &Finding{Part: clip(text), Why: "it would change what obstat allows; only a person allows that"}
	}
	if name := k.spoken(t); name != "" {
		return &Finding{Part: clip(text), Why: "it cannot be seen what this does with " + name + onlyPersons, Unseen: true}
	}
	if !strings.ContainsAny(text, "*?[") || len(text) > 1<<16 {
		return nil
	}
	for s := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("=,"+quotes+blanks, r) }) {
		at := strings.IndexAny(s, "*?[")
		if at < 0 || at-strings.LastIndexByte(s[:at], '/')-1 < 2 {
			continue
		}
		name := paths.Matching(fold("/" + s[strings.LastIndexByte(s[:at], '/')+1:]))
		for _, e := range table() {
			if e.token != "" && name.Has("/"+e.token) {
				return guessed(e.path, e.what, text)
			}
		}
	}
	return nil
}

// spoken returns the item that a text in lower case speaks of, for a person; "" if
// it speaks of none.
func (k *check) spoken(t string) string {
	for _, e := range table() {
		if e.token != "" && speaks(t, e.token) {
			return e.path + ", " + e.what
		}
	}
	for _, it := range k.own() {
		if name := path.Base(it.set.Text); len(name) > 2 && !is("common-files", name) && speaks(t, name) {
			return it.name + ", which guards this agent"
		}
	}
	return ""
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
		begins := at == 0 || !inWord(text[at-1])
		filled := at > 0 && text[at-1] == '-' && strings.Contains(text[max(0, at-40):at], "${") // ${x:-word}
		if (begins || filled) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		from = at + 1
	}
}

func inWord(b byte) bool {
	letter := b|0x20 >= 'a' && b|0x20 <= 'z'
	return letter || b == '_' || b == '-' || b >= '0' && b <= '9'
}

// code looks into code of another language that stands in the call. It is not
// understood; the paths in quotes of code that changes files are looked at.
func (k *check) code(text, dir string) *Finding {
	whole := text // with the texts put together that stand beside each other: 'a' + 'b' is ab
	for _, cut := range []string{"'+'", `"+"`, "' + '", `" + "`, "'.'", `"."`, `" "`, "' '", "' . '", `" . "`} {
		whole = strings.ReplaceAll(whole, cut, "")
	}
	if f := k.mentions(whole); f != nil {
		return f
	}
	low := strings.ToLower(text)
	removes := says("removing", low)
	walks := says("walking", low) && (removes || says("changing", low))
	for i, lit := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(quotes, r) }) {
		many := walks && (lit == "." || strings.ContainsAny(lit, "*?"))
		if !many && !(removes && strings.Contains(lit, "/")) {
			continue
		}
		if i == 0 || len(lit) > maxPath || strings.ContainsAny(lit, "\n\x00 ;(") {
			continue
		}
		s := paths.Matching(k.resolve(dir, lit).Real)
		s.Below = true
		if f := k.touches(s, lit, there); f != nil {
			return f
		}
	}
	return nil
}

// lower folds a text that is no path.
func lower(s string) string { return strings.ToLower(strings.ReplaceAll(s, `\`, "/")) }

func clip(s string) string {
	n := min(len(s), 200)
	if n == len(s) {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
