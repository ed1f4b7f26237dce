package shell

import (
	"path"
	"strings"
	"unicode/utf8"
)

// fast reads plain text without the parser; what it is not certain of it leaves to the parser.
// That both agree is what FuzzFast checks.
func fast(src string, o *Options) *Script {
	if o.Lang != Bash || len(src) > smallText || len(src) > o.MaxBytes {
		return nil
	}
	var buf [32]plainToken
	tokens, p := readPlain(src, buf[:0])
	if tokens == nil || p.commands > o.MaxCommands || p.cd && o.Vars["CDPATH"] != "" {
		return nil
	}
	b := plainBuilder{src: src, cd: p.cd, exact: true, stdin: -1, dir: Word{Known: true}}
	b.room(&p)
	if p.wide {
		b.s.scan()
	}
	b.build(tokens)
	if p.wide {
		b.s.homographs()
	}
	return b.s
}

// plainText says what is in a plain text.
type plainText struct {
	src       string
	commands  int
	words     int
	operators int
	redirects int
	assigns   int
	cd        bool // it begins with `cd dir`
	wide      bool // it is not ASCII
}

// readPlain takes a text apart; it returns no tokens if the text is not plain. They are added
// to a slice of the caller's, which may lie on the stack.
func readPlain(src string, tokens []plainToken) ([]plainToken, plainText) {
	l, p := plainLexer{src: src}, plainText{src: src}
	first := true // the next word is a program
	last := plainSemicolon
	for {
		t := l.next()
		switch t.kind {
		case plainOther:
			return nil, p
		case plainEnd:
			p.wide = l.wide
			if p.commands == 0 || last != plainWord && last != plainSemicolon || p.cd && p.commands == 1 && p.words != 2 || p.wide && !utf8.ValidString(src) {
				return nil, p
			}
			return tokens, p
		case plainWord:
			if first && p.assignment(&t) {
				break
			}
			if first && !p.program(&t) {
				return nil, p
			}
			first = false
			p.words++
		case plainRedirect:
			if first || p.cd && p.commands == 1 || !l.target(&t) {
				return nil, p
			}
			tokens = append(tokens, t)
			p.redirects++
			t = l.next()
		default:
			if first || p.cd && p.commands == 1 && (t.kind != plainAnd && t.kind != plainSemicolon || p.words != 2) {
				return nil, p
			}
			first = true
			p.operators++
		}
		tokens = append(tokens, t)
		last = t.kind
	}
}

// target looks ahead whether a redirection has a plain target.
func (l *plainLexer) target(op *plainToken) bool {
	ahead := *l
	t := ahead.next()
	if rest := l.src[ahead.at:]; t.kind != plainWord || rest != "" && (plainClass[rest[0]] == classRedirect || strings.HasPrefix(rest, "&>")) {
		return false // digits would belong to the next redirection
	}
	word := l.src[t.start:t.end]
	return op.op != opDup || word == "-" || digits(word)
}

// assignment reports whether a word before the program is a plain assignment, and counts that. The
// variables that hold code are left to the parser.
func (p *plainText) assignment(t *plainToken) bool {
	word := p.src[t.start:t.end]
	eq := strings.IndexByte(word, '=')
	if eq <= 0 || t.glob || t.tilde || !validName(word[:eq]) || word[0] == 'P' || word[:eq] == "RPROMPT" {
		return false
	}
	t.kind, t.from = plainAssign, t.start+int32(eq+1)
	p.assigns++
	return true
}

// program reports whether a word can be the program of a plain command, and counts that.
func (p *plainText) program(t *plainToken) bool {
	name := p.src[t.from:t.to]
	switch {
	case t.glob || t.pieces || t.tilde && t.to-t.from <= 1:
		return false
	case name == "cd" && p.commands == 0 && p.assigns == 0 && p.src[t.start:t.end] == name && p.movesTo(int(t.end)):
		p.cd = true
	case name == "printf" && p.prints(int(t.end)):
	case !plainProgram(name):
		return false
	}
	p.commands++
	return true
}

// prints reports whether a printf before offset at only prints.
func (p *plainText) prints(at int) bool {
	l := plainLexer{src: p.src, at: at}
	t := l.next()
	return t.kind == plainWord && t.to > t.from && p.src[t.from] != '-' && !t.pieces && strings.IndexByte(p.src[at:], '[') < 0 && !setsCount(p.src[at:])
}

// setsCount reports whether a format of printf may have a %n.
func setsCount(format string) bool {
	for i := range len(format) {
		if format[i] != '%' {
			continue
		}
		if rest := strings.TrimLeft(format[i+1:], "0123456789.*+-# 'hljztLq"); rest != "" && rest[0] == 'n' {
			return true
		}
	}
	return false
}

// movesTo reports whether the word behind a cd at the beginning says for certain where to.
func (p *plainText) movesTo(at int) bool {
	l := plainLexer{src: p.src, at: at}
	t := l.next()
	return t.kind == plainWord && !t.glob && !t.pieces && t.to > t.from && t.to-t.from <= maxDir && p.src[t.from] != '-'
}

// plainProgram reports whether running name leaves the shell as it is and is not a keyword.
func plainProgram(name string) bool {
	switch name {
	case "", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
		"select", "function", "time", "coproc", "let", "declare", "typeset", "local", "export", "readonly",
		"nameref", "integer", "float", "cd", "chdir", "pushd", "popd", "dirs", "eval", "trap", "alias", "unalias",
		".", "source", "return", "break", "continue", "exec", "command", "builtin", "set", "shift", "unset",
		"read", "mapfile", "readarray", "getopts", "printf", "wait", "test", "hash", "compgen", "complete":
		return false
	}
	if name[0] == '@' || name[0] >= 'A' && name[0] <= 'Z' && isCmdlet(name) || cmdBuiltin(name) {
		return false
	}
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '=', '[', ']', '{', '}', '!':
			return false
		}
	}
	return true
}

// plainBuilder turns plain text into commands. The tokens are not part of it, so that they can
// lie on the stack.
type plainBuilder struct {
	s      *Script
	src    string
	slab   []Word
	redirs []Redirect
	sets   []Assign
	next   int  // token
	cd     bool // the text begins with `cd dir`
	nest   Nest // around the text
	stdin  int  // of the text
	dir    Word
	exact  bool // and base, whole: see text
	base   int
	whole  Span
}

// room makes room for exactly what there is.
func (b *plainBuilder) room(p *plainText) {
	marks := p.commands + p.operators + p.redirects
	if marks == 1 { // most texts: one command
		one := new(struct {
			script    Script
			command   [1]Command
			construct [1]Construct
		})
		b.s = &one.script
		b.s.Commands, b.s.Constructs = one.command[:0], one.construct[:0]
	} else {
		b.s = &Script{Commands: make([]Command, 0, p.commands), Constructs: make([]Construct, 0, marks)}
	}
	b.s.Source = b.src
	b.slab = make([]Word, 0, p.words)
	if p.redirects > 0 {
		b.redirs = make([]Redirect, 0, p.redirects)
	}
	if p.assigns > 0 {
		b.sets = make([]Assign, 0, p.assigns)
	}
}

func (b *plainBuilder) span(start, end int32) Span {
	if !b.exact {
		return b.whole
	}
	return Span{b.base + int(start), b.base + int(end)}
}

func (b *plainBuilder) build(tokens []plainToken) {
	op := plainSemicolon // before the command
	var nest Nest
	for b.next < len(tokens) {
		switch op {
		case plainSemicolon:
			nest = b.nest
		case plainAnd, plainOr:
			nest = b.nest | InCondition
		}
		c := b.command(tokens)
		c.Dir, c.Nest, c.Stdin = b.dir, nest, b.stdin
		end := plainEnd
		if b.next < len(tokens) {
			end = tokens[b.next].kind
		}
		if op == plainPipe {
			c.Stdin = len(b.s.Commands) - 2
			c.Nest &^= MixedStdin
		}
		if op == plainPipe || end == plainPipe {
			c.Nest |= InPipe | InSubshell
		}
		if b.cd && len(b.s.Commands) == 1 {
			b.moveTo(&c.Words[1])
		}
		if end == plainEnd {
			return
		}
		t := &tokens[b.next]
		b.next++
		b.s.Constructs = append(b.s.Constructs, Construct{operatorKind(t.kind), b.span(t.start, t.end)})
		if op = t.kind; b.cd && (op == plainOr || op == plainSemicolon) {
			b.nest |= UnsureDir // nothing says that the cd succeeded
		}
	}
}

// command adds the next command.
func (b *plainBuilder) command(tokens []plainToken) *Command {
	from, redirs, sets := len(b.slab), len(b.redirs), len(b.sets)
	start, end, words := tokens[b.next].start, int32(0), int32(0)
	b.s.Constructs = append(b.s.Constructs, Construct{Kind: SimpleCommand})
	mark := len(b.s.Constructs) - 1
	for ; b.next < len(tokens); b.next++ {
		t := &tokens[b.next]
		if t.kind == plainWord {
			b.slab = append(b.slab, b.word(t))
			words = t.end
		} else if t.kind == plainRedirect {
			b.redirect(tokens)
		} else if t.kind == plainAssign {
			b.sets = append(b.sets, b.assign(t))
		} else {
			break
		}
		end = tokens[b.next].end
	}
	b.s.Constructs[mark].Span = b.span(start, words)
	b.s.Commands = append(b.s.Commands, Command{Words: b.slab[from:len(b.slab):len(b.slab)], Span: b.span(start, end)})
	c := &b.s.Commands[len(b.s.Commands)-1]
	if len(b.redirs) > redirs {
		c.Redirects = b.redirs[redirs:len(b.redirs):len(b.redirs)]
	}
	if len(b.sets) > sets {
		c.Assigns = b.sets[sets:len(b.sets):len(b.sets)]
	}
	return c
}

func (b *plainBuilder) assign(t *plainToken) Assign {
	as := Assign{Name: b.src[t.start : t.from-1], Value: Word{Known: true}, Span: b.span(t.start, t.end)}
	if t.from < t.end {
		v := *t
		v.start, v.to = t.from, t.end
		as.Value = b.word(&v)
	}
	return as
}

func (b *plainBuilder) word(t *plainToken) Word {
	w := Word{Text: b.src[t.from:t.to], Known: true, Raw: b.src[t.start:t.end], Span: b.span(t.start, t.end), Glob: t.glob, Tilde: t.tilde}
	if t.pieces {
		w.Text = unquoted(w.Raw)
	}
	return w
}

// redirect adds a redirection; the token after its operator is the target.
func (b *plainBuilder) redirect(tokens []plainToken) {
	t, to := &tokens[b.next], &tokens[b.next+1]
	b.next++
	at := b.span(t.start, to.end)
	b.redirs = append(b.redirs, Redirect{Op: plainOps[t.op], Fd: b.src[t.from:t.to], Target: b.word(to), Span: at})
	kind := RedirectOut
	if t.op == opIn {
		kind = RedirectIn
	}
	b.s.Constructs = append(b.s.Constructs, Construct{kind, at})
}

// moveTo makes the directory of a cd that of what follows.
func (b *plainBuilder) moveTo(to *Word) {
	b.dir = Word{Known: true, Tilde: to.Tilde, Raw: to.Raw, Span: to.Span}
	if b.dir.Text = path.Clean(to.Text); b.dir.Text == "." {
		b.dir.Text = ""
	}
}

func operatorKind(k plainKind) ConstructKind {
	switch k {
	case plainAnd:
		return AndOp
	case plainOr:
		return OrOp
	case plainPipe:
		return PipeOp
	}
	return Semicolon
}

// digits reports whether s is a number.
func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
