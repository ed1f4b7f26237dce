package effect

import (
	"strings"

	"github.com/obstat/obstat/shell"
)

// call is one invocation of a known program, matched against its spec.
type call struct {
	a     *analyzer
	f     frame
	words []shell.Word
	cmd   int
	name  string
	root  *spec  // of the program
	spec  *spec  // of the subcommand, or root
	at    places // where the subcommand's names stand
	args  []operand
	rest  int  // index of the first word of an inner command, or -1
	sub   bool // a subcommand was found

	seenAt, opsAt int // where this call's part of the scratch begins

	help, dry, create, idle, unsure, inPlace, recursive, force bool
	ended                                                      bool   // no flag follows
	taken                                                      bool   // the files that are read are removed: `zip -m`
	read                                                       *deed  // a flag that makes it a plain read
	linked                                                     Tags   // Linked, if the files that are read get a second name
	readMethod                                                 bool   // an HTTP method that only reads was given
	names                                                      bool   // what is meant may be secrets, by the patterns of their names or by where they lie
	host                                                       string // that a command runs on
	found                                                      string // where files are found, if hasFound
	hasFound                                                   bool
	starts                                                     []string   // the places that found is above, if they are all known
	foundName                                                  string     // pattern of the names that are found
	noLinks, noHidden                                          bool       // none of them is a link, or hidden
	foundAll                                                   bool       // they are all that there are
	foundShape                                                 string     // what found looks like, if it is not known
	into                                                       string     // directory that files of any name are put in
	start                                                      string     // directory before its flags say another
	moved                                                      string     // as written, the directory that they say
	workdir                                                    string     // of a container
	entry                                                      shell.Word // program that a container runs
	overArgs                                                   bool
	skipped                                                    int // last word that bundle used
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

// wraps reports whether the program runs what its operands name.
func (c *call) wraps() bool {
	for i := range c.args {
		if runs(c.args[i].role) {
			return true
		}
	}
	return false
}

func (c *call) run() {
	switch c.name {
	case "tmux", "nft":
		c.semicolons()
	case "echo", "printf":
		c.prints()
	case "eval":
		if c.a.an.Commands[c.cmd].Known && len(c.words) == 2 && !c.words[1].Known { // `eval "$(ssh-agent -s)"`
			c.a.effect(Effect{Kind: Code, Program: c.name, Detail: "code that a program prints", Command: c.cmd, Span: c.span(), Certain: true})
		}
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
		if strings.HasSuffix(c.words[i].Text, ";") || c.name == "nft" && strings.Contains(c.words[i].Text, ";") {
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
		if !isFlag(w.Text) || c.root.style&styleNone != 0 {
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
		m := matchName(name, c.words[at[i]].Text)
		if m < 0 {
			return -1
		}
		score += (m + 1) << (2 * (len(at) - 1 - i))
	}
	return score
}

// matchName compares a word with the alternatives of a name: 2 for a literal match, 1 for a
// pattern, 0 for `*` or `~`, -1 for none.
func matchName(names, word string) int {
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
		case name == "*", name == "~" && !isVerb(word):
			best = max(best, 0)
		case strings.IndexByte(name, '*') >= 0 && starMatch(name, word):
			best = max(best, 1)
		}
	}
	return best
}

// isVerb reports whether a word is a subcommand that changes something in some program.
func isVerb(word string) bool {
	t := kbVerbs()
	if t.whole.find(word) >= 0 {
		return true
	}
	for _, stem := range t.stems {
		if strings.HasPrefix(word, stem) {
			return true
		}
	}
	return false
}

func starMatch(pat, s string) bool {
	i := strings.IndexByte(pat, '*')
	if i < 0 {
		return pat == s
	}
	head, tail := pat[:i], pat[i+1:]
	if strings.IndexByte(tail, '*') >= 0 {
		tail = tail[:strings.IndexByte(tail, '*')]
		return strings.HasPrefix(s, head) && strings.Contains(s[len(head):], tail)
	}
	return len(s) >= len(head)+len(tail) && strings.HasPrefix(s, head) && strings.HasSuffix(s, tail)
}

// further objects if the word after the subcommand looks like another subcommand, one that
// changes something: `projects delete` is not `projects`.
func (c *call) further(at []int) {
	n := c.spec.words
	if n >= len(at) || !c.spec.anyArgs || at[n] != at[n-1]+1 || !harmlessDeeds(c.spec.does) {
		return
	}
	if w := &c.words[at[n]]; isVerb(w.Text) {
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

func isFlag(s string) bool { return len(s) > 1 && s[0] == '-' }

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
