package effect

import (
	"errors"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/kb"
)

// compile reads the body of a program's block. The spec lacks words that are errors: the program is
// known then, but not all that it does.
func (d *dictionary) compile(body string) (*spec, error) {
	root := &spec{few: -1, subTable: subTable{dict: d}}
	c := compiler{dict: d, lex: kb.Lexer{Text: body}, spec: root}
	c.run()
	root.finish()
	return root, errors.Join(c.errs...)
}

// ready returns the spec of a subcommand.
func (s *spec) ready(u *sub) *spec {
	if done := u.spec.Load(); done != nil {
		return done
	}
	out := &spec{few: -1, words: u.words, style: s.style & styleDash}
	out.parent = s
	c := compiler{dict: s.dict, lex: kb.Lexer{Text: u.body}, spec: out}
	c.run()
	out.finish()
	out.risky = out.risky || s.globalRisk
	out.harmful = out.harmful || s.globalRisk
	out.runs = out.runs || s.globalRuns
	out.err = errors.Join(c.errs...)
	u.spec.Store(out)
	return out
}

// maxSubWords is how many names a subcommand may have: call.at has as many places.
const maxSubWords = 5

type compiler struct {
	dict *dictionary
	lex  kb.Lexer
	spec *spec
	errs []error
}

// fail notes an error, with the line of the text that it stands in.
func (c *compiler) fail(format string, args ...any) {
	c.errs = append(c.errs, c.lex.Fail(format, args...))
}

func (c *compiler) run() {
	tok := c.lex.Next()
	for tok != "" {
		switch tok {
		case "sub":
			tok = c.sub()
		case "does":
			c.spec.does, tok = c.deeds()
		case "bare":
			c.spec.bare, tok = c.deeds()
		case "few":
			c.spec.few = number(c.lex.Next())
			c.spec.fewer, tok = c.deeds()
		case "args":
			c.spec.args, tok = c.operands()
		case "stdin":
			ops, next := c.operands()
			if len(ops) == 1 {
				c.spec.stdin = &ops[0]
			}
			tok = next
		case "flags":
			tok = c.flags(false)
		case "global":
			tok = c.flags(true)
		case "style":
			tok = c.styles()
		default:
			c.fail("%q where a keyword should be", tok)
			tok = c.lex.Next()
		}
	}
}

func number(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func keyword(tok string) bool {
	switch tok {
	case "", "sub", "does", "bare", "few", "args", "stdin", "flags", "global", "style":
		return true
	}
	return false
}

// sub reads the names of a subcommand up to its `does` and leaves the rest, up to the next
// line that begins with sub, for later. A | in a name gives alternatives.
func (c *compiler) sub() string {
	if c.spec.parent != nil {
		c.fail("sub inside sub")
		return ""
	}
	if c.spec.subs == nil {
		rest := c.lex.Text[c.lex.At:]
		n := strings.Count(rest, "\tsub ") + 1
		c.spec.subs, c.spec.first.list = make([]sub, 0, n), make([]named, 0, n+strings.Count(rest, "|"))
	}
	c.spec.subs = append(c.spec.subs, sub{})
	u := &c.spec.subs[len(c.spec.subs)-1]
	start, end := -1, 0
	tok := c.lex.Next()
	for ; tok != "does" && tok != ""; tok = c.lex.Next() {
		if end = c.lex.At; start < 0 {
			start = end - len(tok)
		}
		c.name(u, tok)
		u.words++
	}
	if tok == "" || u.words == 0 || u.words > maxSubWords {
		c.fail("sub without names or does")
		u.words = maxSubWords + 1 // more than any command has
		return tok
	}
	c.spec.deep = max(c.spec.deep, u.words)
	u.names, u.body = c.lex.Text[start:end], c.lex.Skip(end, "sub ")
	return c.lex.Next()
}

// name notes the letters that a name of a subcommand, the last that is there, begins with. The
// subcommand is found by the alternatives of its first name.
func (c *compiler) name(u *sub, names string) {
	word, place := min(u.words, maxSubWords-1), len(c.spec.subs)-1
	for start, star, i := 0, false, 0; ; i++ {
		switch {
		case i < len(names) && names[i] != '|':
			star = star || names[i] == '*'
			if i == start {
				u.begin[word] |= letter(names[i])
			}
			continue
		case u.words > 0:
		case star || names[start:i] == "~":
			c.spec.wild = append(c.spec.wild, uint16(place))
		default:
			c.spec.first.add(names[start:i], place)
		}
		if i == len(names) {
			return
		}
		u.alts++
		start, star = i+1, false
	}
}

func (c *compiler) deeds() ([]deed, string) {
	var out []deed
	tok := c.lex.Next()
	for !keyword(tok) {
		out = append(out, c.deed(tok)...)
		tok = c.lex.Next()
	}
	return out, tok
}

// deed reads verb, verb(detail) or verb.tag(detail), joined by +.
func (c *compiler) deed(tok string) []deed {
	var out []deed
	for tok != "" {
		name, detail, rest := kb.CutCall(tok)
		if strings.Count(tok, "(") != strings.Count(tok, ")") {
			c.fail("a parenthesis of %q is not closed", tok)
		}
		rest = strings.TrimPrefix(rest, "+")
		name, tags, _ := strings.Cut(name, ".")
		v := verb(slices.Index(verbNames[:], name))
		if int(v) >= len(verbNames) {
			c.fail("unknown verb %q", name)
			v = doesOpaque
		}
		d := deed{verb: v, tags: c.tags(tags), detail: detail}
		if v == doesArgs {
			d.detail = ""
			for w := range strings.FieldsSeq(detail) {
				d.args = append(d.args, c.operand(w))
			}
		}
		out, tok = append(out, d), rest
	}
	return out
}

// tags reads the names of tags, joined by dots.
func (c *compiler) tags(names string) (out Tags) {
	for names != "" {
		name, rest, _ := strings.Cut(names, ".")
		tag := tagNamed(name)
		if tag == 0 {
			c.fail("unknown tag %q", name)
		}
		out, names = out|tag, rest
	}
	return out
}

func (c *compiler) operands() ([]operand, string) {
	var out []operand
	tok := c.lex.Next()
	for !keyword(tok) {
		out = append(out, c.operand(tok))
		tok = c.lex.Next()
	}
	return out, tok
}

func (c *compiler) operand(tok string) operand {
	var o operand
	tok, o.many = strings.CutSuffix(tok, "*")
	name, lang := tok, ""
	if strings.HasSuffix(tok, ")") {
		name, lang, _ = kb.CutCall(tok)
	}
	r := role(slices.Index(roleNames[:], name))
	if int(r) >= len(roleNames) {
		c.fail("unknown role %q", name)
		r = roleCode
	}
	o.role, o.lang = r, lang
	return o
}

func (c *compiler) styles() string {
	tok := c.lex.Next()
	for !keyword(tok) {
		bit := slices.Index(styleNames[:], tok)
		if bit < 0 {
			c.fail("unknown style %q", tok)
		} else {
			c.spec.style |= 1 << bit
		}
		tok = c.lex.Next()
	}
	return tok
}

// flags reads flag tokens: names joined by commas, then =role or [=role], then :verbs.
func (c *compiler) flags(global bool) string {
	n := strings.Count(c.lex.Line(), " -") // about as many
	c.spec.flags, c.spec.long.list = slices.Grow(c.spec.flags, n), slices.Grow(c.spec.long.list, n)
	tok := c.lex.Next()
	for !keyword(tok) {
		c.addFlag(tok, global, 0)
		tok = c.lex.Next()
	}
	return tok
}

func (c *compiler) addFlag(tok string, global bool, depth int) {
	if tok[0] != '@' {
		f, names := c.flag(tok)
		f.global = global
		for n := range strings.SplitSeq(names, ",") {
			if bare := strings.TrimLeft(n, "-"); bare == "" || bare == n && c.spec.style&(styleKV|styleBSD) == 0 {
				c.fail("%q is not a flag", n)
			}
		}
		c.spec.addFlag(f, names)
		return
	}
	text, ok := c.dict.group(tok)
	if !ok || depth > 4 {
		c.fail("unknown group %q", tok)
		return
	}
	lex := kb.Lexer{Text: text}
	for tok := lex.Next(); tok != ""; tok = lex.Next() {
		c.addFlag(tok, global, depth+1)
	}
}

// flag reads a flag and returns it with its names.
func (c *compiler) flag(tok string) (f flag, names string) {
	end := 0 // of the names
	for end < len(tok) && tok[end] != '=' && tok[end] != '[' && tok[end] != ':' {
		end++
	}
	names, value := tok[:end], tok[end:]
	if i := strings.IndexByte(value, ':'); i >= 0 {
		f.deeds = c.deed(value[i+1:])
		value = value[:i]
	}
	switch {
	case value == "":
	case value[0] == '[':
		f.arity = optional
		c.value(&f, strings.TrimSuffix(strings.TrimPrefix(value, "[="), "]"))
	default:
		f.arity = required
		value, f.pair = strings.CutPrefix(value[1:], "=")
		c.value(&f, value)
	}
	return f, names
}

func (c *compiler) value(f *flag, text string) {
	if text == "" {
		return
	}
	o := c.operand(text)
	f.role, f.lang, f.said = o.role, o.lang, true
}

func (s *spec) addFlag(f flag, names string) {
	at := len(s.flags)
	for more := true; more; {
		var n string
		n, names, more = strings.Cut(names, ",")
		switch {
		case n == "-NUM":
			s.number = uint16(at + 1)
		case len(n) == 2 && n[0] == '-' && n[1] < 128 && s.style&styleDash == 0:
			if s.short == nil {
				s.short = new([128]uint16)
			}
			s.short[n[1]] = uint16(at + 1)
		default:
			f.dash = f.dash || !strings.HasPrefix(n, "--")
			s.long.add(strings.TrimLeft(n, "-"), at)
		}
	}
	s.flags = append(s.flags, f)
}

func (s *spec) finish() {
	if s.args == nil {
		s.anyArgs = true
		s.args = []operand{{role: roleText, many: true}}
	}
	s.first.index()
	s.long.index()
	for i := range s.long.list {
		e := &s.long.list[i]
		for next := e.next; next != 0; next = s.long.list[next-1].next { // of one name the last flag counts
			at := s.long.list[next-1].at
			s.flags[at].dash = s.flags[at].dash || s.flags[e.at].dash
			e.at = at
			s.long.list[next-1].name = ""
		}
		e.next = 0
		if e.name != "" {
			s.addRisk(&s.flags[e.at])
		}
	}
	if s.short == nil {
		return
	}
	for _, at := range s.short {
		if at != 0 {
			s.addRisk(&s.flags[at-1])
		}
	}
}

func (s *spec) addRisk(f *flag) {
	if f.risky() {
		s.risky = true
		s.harmful = s.harmful || f.harmful()
		s.runs = s.runs || f.runs()
		s.globalRuns = s.globalRuns || f.global && f.runs()
		s.globalRisk = s.globalRisk || f.global
	}
}
