package effect

import (
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/shell"
)

// flagWord reads the flag or flags in word i and returns the index of the last word used.
func (c *call) flagWord(sp *spec, i, to int) int {
	w := &c.words[i]
	if sp.number != 0 && w.Known && word.AllDigits(w.Text[1:]) {
		c.met(&sp.flags[sp.number-1], nil, i)
		return i
	}
	if sp.style&styleDash != 0 || len(w.Text) > 2 && (w.Text[1] == '-' || sp.oneDash(w.Text[1:])) {
		return c.longWord(sp, i, to)
	}
	if w.Text == "--" { // in the middle of a dynamic word
		c.openName(sp, i)
		return i
	}
	return c.shortWord(sp, i, to)
}

// unlisted is a flag that the table of the program does not have: its effect, and whether the next
// word is its value, is not known.
func (c *call) unlisted(i int) {
	c.unsure = true
	c.mayRun(i)
	c.mayRunValue(i + 1)
	c.fileURL(&c.words[i], roleText)
	c.unplaced(i)
	c.gap(UnknownFlag, "a flag that is not known", &c.words[i])
}

func (c *call) longWord(sp *spec, i, to int) int {
	w := &c.words[i]
	name := strings.TrimLeft(w.Text, "-")
	eq := strings.IndexByte(name, '=')
	if eq < 0 && !w.Known {
		c.openName(sp, i)
		return i
	}
	if eq >= 0 {
		name = name[:eq]
	}
	f := sp.longFlag(name)
	if len(name) == 1 && strings.HasPrefix(w.Text, "--") && sp.style&styleDash == 0 {
		f = nil // `--C` is not -C
	}
	switch {
	case f == nil && sp.style&styleDash != 0 && c.dashed(sp, i, name):
		return i
	case f == nil && sp.style&stylePairs != 0 && eq < 0 && w.Text[1] != '-':
		return c.zipWord(sp, i, to)
	case f == nil:
		c.unlisted(i)
		if sp.style&styleDash == 0 { // where one dash begins a name, none is shortened: `go test -cover`
			c.asAnyFlag(sp, &shell.Word{Text: "--" + name, Raw: w.Raw, Span: w.Span})
		}
		return i
	case eq >= 0:
		c.splitValue(w)
		v := after(w, strings.IndexByte(w.Text, '=')+1)
		c.met(f, &v, i)
		return i
	case f.arity == required:
		return c.valueWord(f, i, to)
	}
	c.met(f, nil, i)
	return i
}

// asAnyFlag gives a word the effects of each flag that it may be: `git reset --h` is --hard, as git has no other.
func (c *call) asAnyFlag(sp *spec, w *shell.Word) {
	from := len(c.a.an.Effects)
	c.openEffects(sp, w)
	for ; from < len(c.a.an.Effects); from++ {
		c.a.an.Effects[from].Certain = false
	}
}

// dashed tries a word such as -n5 or -O2 whose flag has one letter.
func (c *call) dashed(sp *spec, i int, name string) bool {
	if len(name) < 2 {
		return false
	}
	f := sp.exactFlag(name[:1])
	if f == nil || f.arity == alone || !strings.HasPrefix(c.words[i].Text, "-"+name[:1]) {
		return false
	}
	v := after(&c.words[i], 2)
	c.met(f, &v, i)
	return true
}

// zipWord reads letters that stand together, of which the last may belong to a flag of two: `zip -qrTT`.
func (c *call) zipWord(sp *spec, i, to int) int {
	for rest := c.words[i].Text[1:]; rest != ""; rest = rest[1:] {
		f := sp.exactFlag(rest)
		switch {
		case f != nil && f.arity == required:
			return c.valueWord(f, i, to)
		case f == nil:
			f = sp.exactFlag(rest[:1])
		}
		if f == nil || f.arity == required {
			c.unlisted(i)
			return i
		}
		c.met(f, nil, i)
	}
	return i
}

func (c *call) shortWord(sp *spec, i, to int) int {
	w := &c.words[i]
	var met letters
	for k := 1; k < len(w.Text); k++ {
		f := sp.shortFlag(w.Text[k])
		switch {
		case f == nil:
			c.unlisted(i)
			return i
		case f.arity == alone:
			if !met.again(w.Text[k]) {
				c.met(f, nil, i)
			}
		case k+1 < len(w.Text) || !w.Known:
			c.splitValue(w)
			v := after(w, k+1)
			c.met(f, &v, i)
			return i
		case f.arity == required:
			return c.valueWord(f, i, to)
		default:
			c.met(f, nil, i)
		}
	}
	if !w.Known {
		c.openName(sp, i)
	}
	return i
}

// openName is a flag of which the name is known in part. Its value may be: `grep --${X:-file}=.env`.
func (c *call) openName(sp *spec, i int) {
	w := &c.words[i]
	c.gap(UnknownFlag, "a flag that is known only at run time", w)
	c.unplaced(i)
	c.openFlag(sp, w)
}

// letters is a set of letters. A flag that one word names a million times is met once.
type letters [2]uint64

// again reports whether a letter was in the set, and adds it.
func (l *letters) again(c byte) bool {
	set, bit := &l[c>>6&1], uint64(1)<<(c&63)
	was := *set&bit != 0
	*set |= bit
	return was
}

// after is the part of a word from offset n on.
func after(w *shell.Word, n int) shell.Word {
	v := *w
	v.Text, v.Tilde = w.Text[min(n, len(w.Text)):], false
	if shape := w.Shape(); n <= len(w.Text) && n <= len(shape) && n > 0 {
		v = v.WithShape(shape[n:])
	}
	if v.Text != "" && v.Text[0] == '~' && w.Raw == w.Text {
		v.Tilde = true // some shells expand --flag=~/x, and some programs do
	}
	return v
}

// valueWord takes the next word as the value of f.
func (c *call) valueWord(f *flag, i, to int) int {
	if f.role == roleExec {
		return c.execWords(f, i, to)
	}
	if f.pair {
		i++
	}
	if i+1 >= to {
		c.met(f, nil, min(i, to-1))
		return i
	}
	v := c.words[i+1]
	c.splitValue(&c.words[i+1])
	c.met(f, &v, i)
	return i + 1
}

// splitValue objects to a flag's value that may be several words, of which the rest would be
// operands or flags.
func (c *call) splitValue(w *shell.Word) {
	if w.Known || shell.IsNumber(w) || !c.splitsInto(w) {
		return
	}
	if c.spec.risky {
		c.gap(DynamicOperand, "an argument that is known only at run time could be several", w)
	}
	if !shell.IsPrinted(w) && !c.noFlag(w) && !c.outside(w) { // `sort -k $(cat f) g`
		c.openFlag(c.spec, w)
		c.openOperands(w)
	}
	if !c.spec.risky {
		c.splitOperand(w)
	}
}

// openOperands gives a flag's value that may be split the effects of the operands that may be in it:
// `head -n $(echo 1 .env)`.
func (c *call) openOperands(w *shell.Word) {
	v := shell.Word{Raw: w.Raw, Span: w.Span, Why: w.Why}.WithShape(shell.Unknown)
	for _, o := range c.args {
		if o.role.risky() && !runs(o.role) && c.a.afford(1) {
			c.apply(o.role, o.lang, &v, false)
		}
	}
}

// splitsInto reports whether a word that is known only at run time may be several. `$(pwd)/x` is not where the
// directory has a plain name.
func (c *call) splitsInto(w *shell.Word) bool {
	rest, pwd := strings.CutPrefix(w.Raw, "$(pwd)")
	if !w.Split || !pwd || strings.ContainsAny(rest, "$`*?[{") {
		return w.Split
	}
	return !word.Plain(c.f.dir) || c.f.script == nil || c.f.script.Redefines("pwd")
}

// execWords takes find's command up to its end.
func (c *call) execWords(f *flag, i, to int) int {
	end := i + 1
	for end < to {
		t := c.words[end].Text
		if t == ";" || t == "+" && end > i+1 && strings.Contains(c.words[end-1].Raw, "{}") {
			break
		}
		end++
	}
	c.a.seen = append(c.a.seen, seen{flag: f, at: i + 1, end: min(end, to), has: true})
	return end
}

// met records a flag that does something, with its value if it has one, and drops the others.
func (c *call) met(f *flag, val *shell.Word, at int) {
	if f.role == roleExec { // `fd -xrm`: the words of the command begin inside this one
		c.gap(NotPlain, "a command that is attached to its flag", &c.words[at])
		return
	}
	if val != nil {
		c.fileURL(val, f.role)
		c.valueMention(f, val, at)
		if f.role == roleText && !f.said && !c.isTextFlag(f) && strings.ContainsAny(val.Text, " \t") {
			c.mayRunValue(c.wordOf(val, at)) // `restic -o sftp.command='rm x'`
		}
	}
	if len(f.deeds) == 0 && (val == nil && f.role != roleMark || f.role == roleText) { // `xargs -i` marks {}
		return
	}
	for i := range f.deeds {
		c.mark(&f.deeds[i], at)
	}
	if f.role == roleModule && val != nil && pythons().Has(c.name) && c.a.dict.lookup(val.Text) != nil {
		c.ended = true // all that follows `python3 -m venv` is the module's
	}
	s := seen{flag: f, at: at}
	if val != nil {
		s.val, s.has = *val, true
	}
	c.a.seen = append(c.a.seen, s)
}

// lonely reports whether word at is the last, and all before it are names.
func (c *call) lonely(at int) bool {
	if at != len(c.words)-1 {
		return false
	}
	for i := 1; i < at; i++ {
		if !c.sub || !c.isName(i) {
			return false
		}
	}
	return true
}

// mark notes verbs that change how the operands are read.
func (c *call) mark(d *deed, at int) {
	short := len(c.words[at].Text) > 1 && c.words[at].Text[1] != '-'
	switch d.verb {
	case doesHelp:
		// After a word whose meaning is not known this may be anything, even a value; and a
		// letter means help in one program and something else in another.
		plain := harmlessDeeds(c.spec.does) && !c.root.hasSubs()
		c.help = c.help || !c.unsure && (!short || plain || c.lonely(at))
	case doesIdle:
		c.idle = true
	case doesDry:
		c.dry = true
	case doesInPlace:
		c.inPlace = true
	case doesCreate:
		c.create = true
	case doesRecursive:
		c.recursive = true
	case doesLinked:
		c.linked = Linked
	case doesRenames:
		c.replaces = true
	case doesFromInput:
		c.fromInput = true
	case doesInstead:
		c.instead = true
	case doesForce:
		c.force = true
	case doesDelete:
		c.taken = c.taken || d.tags.Has(Taken)
	case doesArgs:
		if c.overArgs {
			c.args = bothArgs(c.args, d.args)
		} else {
			c.args = d.args
		}
		c.overArgs = true
	case doesRead, doesQuery, doesRepo:
		if c.read == nil {
			c.read = d
		}
	}
}

// bothArgs joins the operands that two flags give a command: without the pattern that one of them takes the
// place of, and files that are read rather than tracked ones. `git grep -e x --no-index f` reads f.
func bothArgs(a, b []operand) []operand {
	pattern := func(o []operand) bool { return len(o) > 1 && o[0].role == roleText && !o[0].many }
	if pattern(a) != pattern(b) {
		if pattern(a) {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	if len(a) > 0 && a[len(a)-1].role == roleRead {
		return a
	}
	return b
}

// FlagNames returns every name of the flags on a command line, as far as the knowledge base has them: of
// `git push -uf` it is -u, --set-upstream, -f and --force. A word that is no known flag stands for itself.
func (c *Command) FlagNames() (out []string) {
	root := builtin.lookup(c.Program)
	sp := root
	if root != nil && root.hasSubs() {
		k := call{a: &analyzer{dict: builtin}, words: c.Words, match: match{root: root, spec: root, rest: -1}}
		var at places
		if n := k.leading(&at); n > 0 {
			if best, _ := k.pick(at[:n]); best != nil {
				sp = root.ready(best)
			}
		}
	}
	for i := range c.Args() {
		w := &c.Args()[i]
		switch name, _, _ := strings.Cut(w.Text, "="); {
		case w.Known && w.Text == "--":
			return out
		case !word.IsFlag(w.Text):
			if c.Program == "git" && strings.HasPrefix(w.Text, "+") { // `git push origin +main`
				out = append(out, "-f", "--force")
			}
		default:
			out = append(out, name)
			for letter := range strings.SplitSeq(word.Letters(name), "") {
				out = sp.names("-"+letter, append(out, "-"+letter))
			}
			out = sp.names(name, out)
		}
	}
	return out
}

// names adds all names of the flag that a word is.
func (s *spec) names(text string, out []string) []string {
	if s == nil || len(text) < 2 {
		return out
	}
	f, _ := s.find(text)
	if f == nil && s.style&styleDash == 0 && strings.HasPrefix(text, "--") && len(text) > 2 { // `git reset --h`
		for _, f := range s.openFlags(&shell.Word{Text: text}) {
			out = s.namesOf(f, out)
		}
		return out
	}
	return s.namesOf(f, out)
}

// namesOf adds all names of a flag.
func (s *spec) namesOf(f *flag, out []string) []string {
	for sp := s; sp != nil && f != nil; sp = sp.parent {
		for i := range sp.long.list {
			if e := &sp.long.list[i]; &sp.flags[e.at] == f && e.name != "" {
				out = append(out, "--"+e.name)
			}
		}
		for ch := 0; sp.short != nil && ch < len(sp.short); ch++ {
			if at := sp.short[ch]; at != 0 && &sp.flags[at-1] == f {
				out = append(out, "-"+string(rune(ch)))
			}
		}
	}
	return out
}
