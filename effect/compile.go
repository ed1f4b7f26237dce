package effect

import (
	"fmt"
	"strings"
)

// compile reads the body of a program's block. What it does not understand is an error,
// and the spec then lacks it: the program is known, what it does is not.
func compile(body string) (*spec, error) {
	root := &spec{few: -1}
	c := compiler{lex: lexer{text: body}, spec: root}
	c.run()
	root.finish()
	return root, c.err
}

// ready compiles a subcommand when it is first met.
func (s *spec) ready() *spec {
	if s.parent == nil {
		return s
	}
	s.once.Do(func() { s.err = s.build() })
	return s
}

func (s *spec) build() error {
	s.style = s.parent.style & (styleDash | styleAny)
	c := compiler{lex: lexer{text: s.body}, spec: s}
	c.run()
	s.finish()
	s.risky = s.risky || s.parent.globalRisk
	s.harmful = s.harmful || s.parent.globalRisk
	return c.err
}

type compiler struct {
	lex  lexer
	spec *spec
	err  error
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *compiler) run() {
	tok := c.lex.next()
	for tok != "" {
		switch tok {
		case "sub":
			tok = c.sub()
		case "does":
			c.spec.does, tok = c.deeds()
		case "bare":
			c.spec.bare, tok = c.deeds()
		case "few":
			c.spec.few = number(c.lex.next())
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
			tok = c.lex.next()
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
	var names []string
	at := c.lex.at
	tok := c.lex.next()
	for tok != "does" && tok != "" {
		names = append(names, tok)
		at = c.lex.at
		tok = c.lex.next()
	}
	if tok == "" || len(names) == 0 {
		c.fail("sub %v without does", names)
		return tok
	}
	s := &spec{few: -1, parent: c.spec, body: c.lex.skip(at)}
	for _, name := range names {
		s.names = append(s.names, strings.Split(name, "|"))
	}
	for _, first := range s.names[0] {
		if strings.Contains(first, "*") || first == "~" {
			c.spec.wild = append(c.spec.wild, s)
			continue
		}
		if c.spec.subs == nil {
			c.spec.subs = map[string][]*spec{}
		}
		c.spec.subs[first] = append(c.spec.subs[first], s)
	}
	return c.lex.next()
}

func (c *compiler) deeds() ([]deed, string) {
	var out []deed
	tok := c.lex.next()
	for !keyword(tok) {
		out = append(out, c.deed(tok)...)
		tok = c.lex.next()
	}
	return out, tok
}

// deed reads verb or verb(detail), joined by +.
func (c *compiler) deed(tok string) []deed {
	var out []deed
	for tok != "" {
		name, detail, rest := cutCall(tok)
		rest = strings.TrimPrefix(rest, "+")
		v, ok := verbNames()[name]
		if !ok {
			c.fail("unknown verb %q", name)
			v = doesOpaque
		}
		d := deed{verb: v, detail: detail}
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

// cutCall splits name(detail)rest; name ends at +, ( or the end.
func cutCall(tok string) (name, detail, rest string) {
	i := strings.IndexAny(tok, "(+")
	switch {
	case i < 0:
		return tok, "", ""
	case tok[i] == '+':
		return tok[:i], "", tok[i:]
	}
	j := strings.IndexByte(tok, ')')
	if j < 0 {
		return tok[:i], tok[i+1:], ""
	}
	return tok[:i], tok[i+1 : j], tok[j+1:]
}

func (c *compiler) operands() ([]operand, string) {
	var out []operand
	tok := c.lex.next()
	for !keyword(tok) {
		out = append(out, c.operand(tok))
		tok = c.lex.next()
	}
	return out, tok
}

func (c *compiler) operand(tok string) operand {
	var o operand
	tok, o.many = strings.CutSuffix(tok, "*")
	name, lang := tok, ""
	if strings.HasSuffix(tok, ")") {
		name, lang, _ = cutCall(tok)
	}
	r, ok := roleNames()[name]
	if !ok {
		c.fail("unknown role %q", name)
		r = roleCode
	}
	o.role, o.lang = r, lang
	return o
}

func (c *compiler) styles() string {
	tok := c.lex.next()
	for !keyword(tok) {
		s, ok := styleNames()[tok]
		if !ok {
			c.fail("unknown style %q", tok)
		}
		c.spec.style |= s
		tok = c.lex.next()
	}
	return tok
}

// flags reads flag tokens: names joined by commas, then =role or [=role], then :verbs.
func (c *compiler) flags(global bool) string {
	tok := c.lex.next()
	for !keyword(tok) {
		c.addFlag(tok, global, 0)
		tok = c.lex.next()
	}
	return tok
}

func (c *compiler) addFlag(tok string, global bool, depth int) {
	if tok[0] != '@' {
		f, names := c.flag(tok)
		f.global = global
		c.spec.addFlag(f, names)
		return
	}
	text, ok := kb().groups[tok]
	if !ok || depth > 4 {
		c.fail("unknown group %q", tok)
		return
	}
	lex := lexer{text: text}
	for tok := lex.next(); tok != ""; tok = lex.next() {
		c.addFlag(tok, global, depth+1)
	}
}

func (c *compiler) flag(tok string) (*flag, []string) {
	f := &flag{}
	if i := strings.IndexByte(tok, ':'); i > 0 {
		f.deeds = c.deed(tok[i+1:])
		tok = tok[:i]
	}
	if head, value, ok := strings.Cut(tok, "[="); ok {
		f.arity, tok = optional, head
		c.value(f, strings.TrimSuffix(value, "]"))
	} else if head, value, ok := strings.Cut(tok, "="); ok {
		f.arity, tok = required, head
		value, f.pair = strings.CutPrefix(value, "=")
		c.value(f, value)
	}
	names := strings.Split(tok, ",")
	f.name = names[len(names)-1]
	return f, names
}

func (c *compiler) value(f *flag, text string) {
	if text == "" {
		return
	}
	o := c.operand(text)
	f.role, f.lang = o.role, o.lang
}

func (s *spec) addFlag(f *flag, names []string) {
	for _, n := range names {
		switch {
		case n == "-NUM":
			s.number = f
		case len(n) == 2 && n[0] == '-' && n[1] < 128 && s.style&styleDash == 0:
			if s.short == nil {
				s.short = make([]*flag, 128)
			}
			s.short[n[1]] = f
		default:
			if s.long == nil {
				s.long = map[string]*flag{}
			}
			name := strings.TrimLeft(n, "-")
			old := s.long[name]
			f.dash = f.dash || !strings.HasPrefix(n, "--") || old != nil && old.dash
			s.long[name] = f
		}
	}
}

func (s *spec) finish() {
	if s.args == nil {
		s.args = []operand{{role: roleText, many: true}}
	}
	for _, f := range s.long {
		s.addRisk(f)
	}
	for _, f := range s.short {
		if f != nil {
			s.addRisk(f)
		}
	}
}

func (s *spec) addRisk(f *flag) {
	if f.risky() {
		s.risky = true
		s.harmful = s.harmful || f.harmful()
		s.globalRisk = s.globalRisk || f.global
	}
}

// lexer splits a block at white space; text in parentheses stays together, # begins a comment.
type lexer struct {
	text string
	at   int
}

func (l *lexer) next() string {
	for l.at < len(l.text) {
		switch ch := l.text[l.at]; {
		case ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r':
			l.at++
		case ch == '#':
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		default:
			return l.word()
		}
	}
	return ""
}

func (l *lexer) word() string {
	start, depth := l.at, 0
	for ; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ', '\t', '\r':
			if depth <= 0 {
				return l.text[start:l.at]
			}
		case '\n':
			return l.text[start:l.at]
		}
	}
	return l.text[start:l.at]
}

// skip returns the text from offset from to the next line that begins with the keyword sub.
func (l *lexer) skip(from int) string {
	for at := from; ; {
		i := strings.IndexByte(l.text[at:], '\n')
		if i < 0 {
			l.at = len(l.text)
			return l.text[from:]
		}
		at += i + 1
		if strings.HasPrefix(strings.TrimLeft(l.text[at:], " \t"), "sub ") {
			l.at = at
			return l.text[from:at]
		}
	}
}
