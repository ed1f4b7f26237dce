package protect

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// command looks at a command beyond the paths that its effects name.
func (k *check) command(i int) *Finding {
	c := &k.a.Commands[i]
	for _, look := range [...]func(*effect.Command) *Finding{k.obstat, k.kill, k.agent} {
		if f := look(c); f != nil {
			return f
		}
	}
	if isObstat(c.Path) || c.ReadOnly && !k.evaluates(c) {
		return nil
	}
	if f := k.loose(i); f != nil {
		return f
	}
	return k.script(i)
}

// evaluates tells whether a command runs a text that is known only at run time.
func (k *check) evaluates(c *effect.Command) bool {
	switch c.Program {
	case "eval", "trap", "source", ".":
		return !c.Known
	}
	return false
}

// later are programs that have commands run by somebody else.
var later = []string{"at", "batch", "crontab", "tmux", "screen", "systemd-run"}

// blind says how little is known of what a command does.
type blind struct {
	words bool // it changes something that its effects do not name: its words may
	text  bool // it runs code, or what cannot be seen: any text of it may
}

func (k *check) blind(i int) (b blind) {
	c := &k.a.Commands[i]
	b.text = !c.Catalogued || k.evaluates(c) || slices.Contains(later, c.Program)
	quiet := c.Program == "git" && !flag(c.Args(), "config", "update-index")
	for j := range k.a.Effects {
		e := &k.a.Effects[j]
		if e.Command != i || e.Harmless {
			continue
		}
		switch e.Kind {
		case effect.Code:
			b.words = b.words || !quiet
			b.text = b.text || c.Wrapper || e.Tags.Has(effect.Inline|effect.Stdin|effect.Script)
		case effect.System, effect.Connect:
			b.words = true
		case effect.Write, effect.Delete:
			b.words = b.words || e.Unnamed && !e.Tags.Has(effect.Books|effect.Tree|effect.Clean) && !quiet
		}
		b.text = b.text || e.Where != ""
	}
	for j := range k.a.Gaps {
		if g := &k.a.Gaps[j]; g.Command == i {
			b.text = b.text || g.Hides || g.Kind != effect.DynamicOperand
		}
	}
	b.words = b.words || b.text || isShell(c)
	return b
}

// loose looks at the words, and at the text, of a command that does more than its
// effects say.
func (k *check) loose(i int) *Finding {
	c, b := &k.a.Commands[i], k.blind(i)
	if !b.words {
		return nil
	}
	for j := range c.Args() {
		if f := k.word(&c.Args()[j], c.Dir); f != nil {
			return f
		}
	}
	if !b.text {
		return nil
	}
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Tags.Has(effect.Inline) {
			if f := k.code(e.Raw, c.Dir); f != nil {
				return f
			}
		}
	}
	if strings.Contains(k.a.Source, "<<") || !c.Known || len(c.Env) > 0 || slices.Contains(later, c.Program) {
		return k.mentions(k.a.Source) // what it is fed stands there as well
	}
	return k.mentions(c.Text)
}

// isShell tells whether a command is a shell, which may hand its arguments on.
func isShell(c *effect.Command) bool {
	switch c.Program {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish":
		return true
	}
	return false
}

// maxPath is how long a text may be to be taken for a path.
const maxPath = 4096

// word tells whether a word names an item: as a path from a directory, as the value
// of a flag, as a part of source:target, or as the name that a download gets.
func (k *check) word(w *shell.Word, dir string) *Finding {
	if !w.Known {
		return k.open(w.Shape(), dir, w.Raw)
	}
	t := w.Text
	if len(t) > maxPath || t == "" || strings.ContainsAny(t, "\n\x00") {
		return nil
	}
	if f := k.text(t, dir, w.Raw, w.Glob); f != nil {
		return f
	}
	if _, v, ok := strings.Cut(t, "="); ok {
		if f := k.text(v, dir, w.Raw, w.Glob); f != nil {
			return f
		}
	}
	if len(t) > 2 && t[0] == '-' && t[1] != '-' {
		if f := k.text(t[2:], dir, w.Raw, w.Glob); f != nil {
			return f
		}
	}
	if !strings.ContainsAny(t, ":,@") {
		return nil
	}
	for part := range strings.FieldsFuncSeq(t+":"+path.Base(t), func(r rune) bool { return r == ':' || r == ',' || r == '@' }) {
		if f := k.text(part, dir, w.Raw, w.Glob); f != nil {
			return f
		}
	}
	return nil
}

// open looks at a word that is known only at run time, as far as it is known.
func (k *check) open(shape, dir, part string) *Finding {
	for s := range strings.FieldsFuncSeq(shape, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>\"'()", r) }) {
		if len(s) > 2 && s[0] == '-' && s[1] != '-' {
			s = s[2:]
		}
		if _, v, ok := strings.Cut(s, "="); ok {
			s = v
		}
		switch {
		case s == "" || len(s) > maxPath:
			continue
		case strings.HasPrefix(s, "~/"):
			s = k.home() + s[1:]
		case s[0] != '/' && s[0] != paths.AnyText && dir != "":
			s = path.Clean(dir + "/" + s)
		case s[0] != '/' && s[0] != paths.AnyText:
			s = shell.Unknown + "/" + s
		}
		if f := k.touches(paths.Shaped(s), part, partly); f != nil {
			return f
		}
	}
	return nil
}

// text tells whether a text is the path of an item.
func (k *check) text(t, dir, part string, glob bool) *Finding {
	t = strings.TrimPrefix(t, "file://")
	if !strings.ContainsAny(t, "./~*?[{\\") || strings.HasSuffix(t, "...") {
		return nil // most words are no paths, and nothing that guards has such a name
	}
	p := k.resolve(dir, t)
	if p.Abs == "" {
		return k.touches(paths.Shaped(shell.Unknown+"/"+path.Clean(strings.TrimLeft(t, "./"))), part, partly)
	}
	for _, at := range [...]string{p.Abs, p.Real} {
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

// mentions tells whether a text that is not understood speaks of an item, or of a
// command of obstat's that changes something.
func (k *check) mentions(text string) *Finding {
	t := lower(text)
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

// patterns looks at the patterns of the shell in a text that is not understood:
// `ssh localhost 'rm obst*'`.
func (k *check) patterns(text string) *Finding {
	if !strings.ContainsAny(text, "*?[") || len(text) > 1<<16 {
		return nil
	}
	for s := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>\"'`()=,", r) }) {
		at := strings.IndexAny(s, "*?[")
		if at < 0 || at-strings.LastIndexByte(s[:at], '/')-1 < 2 {
			continue
		}
		name := paths.Matching(fold("/" + s[strings.LastIndexByte(s[:at], '/')+1:]))
		for i := range table {
			if e := &table[i]; e.token != "" && name.Has("/"+e.token) {
				return guessed(e.path, e.what, text)
			}
		}
	}
	return nil
}

// spoken returns the item that a text in lower case speaks of, for a person; "" if
// it speaks of none.
func (k *check) spoken(t string) string {
	for i := range table {
		if e := &table[i]; e.token != "" && speaks(t, e.token) {
			return e.path + ", " + e.what
		}
	}
	for _, it := range k.own() {
		if name := path.Base(it.set.Text); len(name) > 2 && speaks(t, name) && name != "config.json" && name != "config.yaml" {
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
		if (at == 0 || !inWord(text[at-1]) || text[at-1] == '-' && strings.Contains(text[max(0, at-40):at], "${")) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		from = at + 1
	}
}

func inWord(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// lower folds a text that is no path.
func lower(s string) string { return strings.ToLower(strings.ReplaceAll(s, `\`, "/")) }

// likely returns a word as far as it is known, or what it looks like.
func likely(w *shell.Word) string {
	if w.Known || strings.Contains(w.Shape(), shell.Unknown) {
		return w.Text
	}
	return w.Shape()
}

// flag tells whether one of the flags is there, also among letters that stand
// together.
func flag(args []shell.Word, names ...string) bool {
	for i := range args {
		t := args[i].Text
		for _, n := range names {
			long := strings.HasPrefix(n, "--")
			if t == n || long && strings.HasPrefix(t, n+"=") || !long && len(t) > 2 && t[0] == '-' && t[1] != '-' && strings.Contains(t, n[1:]) {
				return true
			}
		}
	}
	return false
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
