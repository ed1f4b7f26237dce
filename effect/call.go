package effect

import (
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// call is one invocation of a known program: its words matched against the knowledge base.
type call struct {
	a     *analyzer
	f     frame
	words []shell.Word
	cmd   int
	name  string
	match
	outcome
	handling
	whereabouts
	container
	found found
	part
}

// part is where a call's part of the scratch begins.
type part struct{ seenAt, opsAt int }

// match is the entry of the knowledge base that a call fits.
type match struct {
	root  *spec // of the program
	spec  *spec // of the subcommand, or root
	args  []operand
	at    places // of the subcommand's names
	sub   bool   // a subcommand was found
	rest  int    // index of the first word of an inner command, or -1
	ended bool   // no flag follows

	overArgs bool // a flag says that the operands are others
	skipped  int  // last word that bundle used
}

// outcome holds flags that change a call as a whole.
type outcome struct {
	help   bool
	dry    bool
	force  bool
	idle   bool  // standard input is not read
	unsure bool  // a flag is not known
	read   *deed // of a flag that makes it a plain read
	says   bool  // a word says that a command follows, where looked
	looked bool
}

// handling is how the files of a call are treated.
type handling struct {
	create    bool // the archive is written
	inPlace   bool
	open      bool // a flag may say so
	recursive bool
	taken     bool // files that are read are removed: `zip -m`
	instead   bool // another file is read than the one that the program reads else
	replaces  bool // a directory takes the place of another: `cp -T`
	fromInput bool // standard input has the names of files: `zip -@`
	linked    Tags // Linked, if the files that are read get a second name
}

// whereabouts are directories that flags name.
type whereabouts struct {
	start string // where it runs before its flags say another
	moved string // the other one, as written
	into  string // that files of any name are put in
}

// container is where `docker run` and `ssh` run their command.
type container struct {
	workdir string
	host    string
	entry   shell.Word // the program
}

// places are where the first operands stand.
type places [maxSubWords]int

// seen is a flag that was met and does something.
type seen struct {
	flag *flag
	val  shell.Word
	has  bool
	end  int // of roleExec: index after its last word
	at   int
}

func (c *call) seen() []seen { return c.a.seen[c.seenAt:] }
func (c *call) ops() []int   { return c.a.ops[c.opsAt:] }

func (c *call) gap(k GapKind, why string, w *shell.Word) {
	n := len(c.a.an.Gaps)
	c.a.gap(k, why, c.f.span(w.Span), c.cmd)
	if len(c.a.an.Gaps) > n && (k == UnknownFlag || k == DynamicOperand) && c.wraps() {
		// A wrapper's word that is not understood may be a value, or swallow one: then another
		// word than the one that seems so is the program.
		c.a.an.Gaps[n].Hides = true
	}
}

// wraps reports whether the program runs its operands.
func (c *call) wraps() bool {
	for i := range c.args {
		if runs(c.args[i].role) {
			return true
		}
	}
	return false
}

func (c *call) run() {
	switch style := c.root.style; {
	case style&(styleChain|styleChains) != 0:
		c.semicolons()
	case style&styleEcho != 0:
		c.prints()
	case style&styleEval != 0 && len(c.words) == 2 && !c.words[1].Known && c.a.an.Commands[c.cmd].Known:
		e := c.own(Code, "code that a program prints", 0) // `eval "$(ssh-agent -s)"`
		e.Certain = true
		c.a.effect(e)
	}
	if c.root.hasSubs() && !c.subcommand() {
		return
	}
	c.args = c.spec.args
	if c.sub {
		c.walk(1, c.at[0], true)
		c.walk(c.at[0]+1, len(c.words), false)
	} else {
		c.walk(1, len(c.words), false)
	}
	c.settle()
}

// semicolons refuses words behind which another command of the program begins: `tmux ls ';' run x`.
func (c *call) semicolons() {
	for i := range c.words {
		t := c.words[i].Text
		if strings.HasSuffix(t, ";") || c.root.style&styleChains != 0 && strings.Contains(t, ";") {
			c.gap(NotPlain, "another command behind a semicolon", &c.words[i])
		}
	}
}

// subcommand finds the spec of the subcommand and reports whether the analysis goes on.
func (c *call) subcommand() bool {
	var at places
	n := c.leading(&at)
	if n == 0 {
		if c.root.style&styleLast == 0 {
			c.bare()
			return false
		}
		return true
	}
	best, dynamic := c.pick(at[:n])
	switch {
	case best != nil:
		c.spec, c.sub = c.root.ready(best), true
		c.at = at
		c.dropGlobals(at[0])
		c.further(at[:n])
		return true
	case c.root.style&styleLast != 0:
		return true
	case dynamic:
		c.gap(NotPlain, "the subcommand is known only at run time", &c.words[at[0]])
	default:
		c.gap(UnknownSub, "what the subcommand does is not known", &c.words[at[0]])
	}
	c.args = c.root.args
	c.walk(1, at[0], true)
	c.settleFlags()
	for i := at[0]; i < len(c.words); i++ {
		c.fileURL(&c.words[i], roleText) // whatever takes it, `file://f` names a file
		c.unplaced(i)
	}
	return false
}

// bare is the program without a subcommand: most print their help.
func (c *call) bare() {
	c.args = c.root.args
	c.walk(1, len(c.words), false)
	if c.settleFlags() {
		return
	}
	for i := range c.root.bare {
		if c.read == nil {
			c.deed(&c.root.bare[i])
		}
	}
}

// leading returns the places of the first operands, with flags skipped: the program's own, and
// after the first operand those of the subcommand that has this one name.
func (c *call) leading(at *places) int {
	n, sp, most := 0, c.root, min(len(at), c.root.deep+1) // one more is looked at, see further
	for i := 1; i < len(c.words) && n < most; i++ {
		w := &c.words[i]
		if !word.IsFlag(w.Text) || c.root.style&styleNone != 0 {
			at[n] = i
			if n++; n == 1 {
				sp = c.root.group(w.Text)
			}
			continue
		}
		if w.Text == "--" {
			continue
		}
		if f, attached := sp.find(w.Text); f != nil && f.arity == required && !attached {
			i++
		}
	}
	return n
}

// group returns the spec of a subcommand that has one name and others below it, or s.
func (s *spec) group(name string) *spec {
	i := s.first.find(name)
	if i < 0 || s.first.list[i].next == 0 {
		return s
	}
	for next := uint16(i + 1); next != 0; next = s.first.list[next-1].next {
		if u := &s.subs[s.first.list[next-1].at]; u.words == 1 {
			return s.ready(u)
		}
	}
	return s
}

// pick chooses the subcommand whose names say most of the words, the first words first; of those
// that say the same, the one with fewer alternatives.
func (c *call) pick(at []int) (best *sub, dynamic bool) {
	first := &c.words[at[0]]
	if !first.Known {
		return nil, true
	}
	score := -1
	r := c.root
	try := func(u *sub) {
		if n := c.score(u, at); n > score || n == score && n >= 0 && u.alts < best.alts {
			best, score = u, n
		}
	}
	for next := uint16(r.first.find(first.Text) + 1); next != 0; next = r.first.list[next-1].next {
		try(&r.subs[r.first.list[next-1].at])
	}
	for _, i := range r.wild {
		try(&r.subs[i])
	}
	return best, false
}

func (c *call) score(u *sub, at []int) int {
	if u.words > len(at) {
		return -1
	}
	for i := range u.words {
		if w := &c.words[at[i]]; !w.Known || w.Text == "" || u.begin[i]&letter(w.Text[0]) == 0 {
			return -1
		}
	}
	score, rest := 0, u.names
	for i := range u.words {
		for rest[0] == ' ' || rest[0] == '\t' {
			rest = rest[1:]
		}
		name := rest
		if end := strings.IndexByte(rest, ' '); end >= 0 {
			name, rest = rest[:end], rest[end:]
		}
		m := c.a.dict.match(name, c.words[at[i]].Text)
		if m < 0 {
			return -1
		}
		score += (m + 1) << (2 * (len(at) - 1 - i))
	}
	return score
}

// match compares a word with the alternatives of a name: 2 for a literal match, 1 for a
// pattern, 0 for `*` or `~`, -1 for none.
func (d *dictionary) match(names, word string) int {
	best := -1
	for names != "" {
		name := names
		if i := strings.IndexByte(names, '|'); i >= 0 {
			name, names = names[:i], names[i+1:]
		} else {
			names = ""
		}
		if word == "" || name == "" || name[0] != word[0] && name[0] != '*' && name[0] != '~' {
			continue
		}
		switch {
		case name == word:
			return 2
		case name == "*", name == "~" && !d.isVerb(word):
			best = max(best, 0)
		case strings.IndexByte(name, '*') >= 0 && kb.Match(name, word):
			best = max(best, 1)
		}
	}
	return best
}

// further objects if the word after the subcommand looks like another subcommand, one that
// changes something: `projects delete` is not `projects`.
func (c *call) further(at []int) {
	n := c.spec.words
	if n >= len(at) || !c.spec.anyArgs || at[n] != at[n-1]+1 || !harmlessDeeds(c.spec.does) {
		return
	}
	if w := &c.words[at[n]]; c.a.dict.isVerb(w.Text) {
		c.gap(UnknownSub, "what the subcommand does is not known", w)
	}
}

// dropGlobals adds the spelling without the flags before the subcommand: a rule against
// `git push` is meant for `git -C x push`, too.
func (c *call) dropGlobals(first int) {
	if first <= 1 {
		return
	}
	cmd := &c.a.an.Commands[c.cmd]
	text, _, _ := canonical(c.words[first:], "")
	cmd.Alts = append(cmd.Alts, plainName(c.name)+" "+text)
}

// find returns the flag that a word names, and whether the word holds its value.
func (s *spec) find(word string) (f *flag, attached bool) {
	if len(word) > 2 && (word[1] == '-' || s.oneDash(word[1:])) || s.style&styleDash != 0 {
		name := strings.TrimLeft(word, "-")
		if i := strings.IndexByte(name, '='); i >= 0 {
			name, attached = name[:i], true
		}
		return s.longFlag(name), attached
	}
	for i := 1; i < len(word); i++ {
		if f = s.shortFlag(word[i]); f == nil {
			return nil, false
		}
		if f.arity != alone {
			return f, i+1 < len(word)
		}
	}
	return f, false
}

func (s *spec) shortFlag(ch byte) *flag {
	if ch >= 128 {
		return nil
	}
	if s.short != nil && s.short[ch] != 0 {
		return &s.flags[s.short[ch]-1]
	}
	if p := s.parent; p != nil && p.short != nil && p.short[ch] != 0 {
		if f := &p.flags[p.short[ch]-1]; f.global {
			return f
		}
	}
	return nil
}

// longFlag finds a flag by name or by a beginning that only one flag has.
func (s *spec) longFlag(name string) *flag {
	if f := s.exactFlag(name); f != nil {
		return f
	}
	if len(name) < 2 || s.style&styleDash != 0 || len(name) >= s.long.long {
		return nil
	}
	hit := -1
	for i := range s.long.list {
		e := &s.long.list[i]
		if len(e.name) > len(name) && e.name[0] == name[0] && strings.HasPrefix(e.name, name) {
			if hit >= 0 && hit != int(e.at) {
				return nil
			}
			hit = int(e.at)
		}
	}
	if hit < 0 {
		return nil
	}
	return &s.flags[hit]
}

// oneDash reports whether a name, up to its =, is that of a long flag that has one dash.
func (s *spec) oneDash(name string) bool {
	if i := strings.IndexByte(name, '='); i >= 0 {
		name = name[:i]
	}
	if len(name) < 2 {
		return false
	}
	f := s.exactFlag(name)
	return f != nil && f.dash
}

func (s *spec) exactFlag(name string) *flag {
	if len(name) == 1 {
		if f := s.shortFlag(name[0]); f != nil {
			return f
		}
	}
	if i := s.long.find(name); i >= 0 {
		return &s.flags[s.long.list[i].at]
	}
	if p := s.parent; p != nil {
		if i := p.long.find(name); i >= 0 && p.flags[p.long.list[i].at].global {
			return &p.flags[p.long.list[i].at]
		}
	}
	return nil
}
