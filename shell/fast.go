package shell

import "strings"

// Most command lines are plain: words, whole words in quotes, and && || ; | between commands.
// fast reads these without the parser; whatever it is not certain of it leaves to the
// parser. That both agree is what FuzzFast checks.
func fast(src string, o *Options) *Script {
	if o.Lang != Bash || len(src) > smallText || len(src) > o.MaxBytes {
		return nil
	}
	commands, words, marks, ok := countPlain(src)
	if !ok || commands > o.MaxCommands {
		return nil
	}
	s := &Script{Source: src}
	s.buildPlain(commands, words, marks)
	return s
}

type plainKind uint8

const (
	plainEnd plainKind = iota
	plainWord
	plainAnd
	plainOr
	plainPipe
	plainSemicolon
	plainOther // not plain
)

// plainToken is a word or an operator; text are the bounds of a word without its quotes.
type plainToken struct {
	kind        plainKind
	start, end  int
	from, to    int
	glob, tilde bool
}

type plainLexer struct {
	src string
	at  int
}

// plain character classes of unquoted text
const (
	classOther uint8 = iota // needs the parser
	classWord
	classGlob
	classBlank
	classQuote
	classOp
)

// plainClass is indexed by byte.
var plainClass = [256]uint8{
	' ': classBlank, '\t': classBlank,
	'\'': classQuote, '"': classQuote,
	'&': classOp, '|': classOp, ';': classOp,
	'*': classGlob, '?': classGlob,
	'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': 1, 'h': 1, 'i': 1, 'j': 1, 'k': 1, 'l': 1, 'm': 1,
	'n': 1, 'o': 1, 'p': 1, 'q': 1, 'r': 1, 's': 1, 't': 1, 'u': 1, 'v': 1, 'w': 1, 'x': 1, 'y': 1, 'z': 1,
	'A': 1, 'B': 1, 'C': 1, 'D': 1, 'E': 1, 'F': 1, 'G': 1, 'H': 1, 'I': 1, 'J': 1, 'K': 1, 'L': 1, 'M': 1,
	'N': 1, 'O': 1, 'P': 1, 'Q': 1, 'R': 1, 'S': 1, 'T': 1, 'U': 1, 'V': 1, 'W': 1, 'X': 1, 'Y': 1, 'Z': 1,
	'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1,
	'_': 1, '-': 1, '.': 1, '/': 1, ':': 1, ',': 1, '+': 1, '%': 1, '@': 1, '=': 1, '^': 1,
}

func (l *plainLexer) next() plainToken {
	src, i := l.src, l.at
	for i < len(src) && plainClass[src[i]] == classBlank {
		i++
	}
	t := plainToken{start: i, from: i}
	if i == len(src) {
		return t
	}
	switch plainClass[src[i]] {
	case classOp:
		return l.operator(t)
	case classQuote:
		return l.quoted(t)
	}
	t.kind = plainWord
	if src[i] == '~' {
		t.tilde = true
		i++
	}
	for ; i < len(src); i++ {
		switch plainClass[src[i]] {
		case classWord:
			continue
		case classGlob:
			t.glob = true
			continue
		case classBlank, classOp:
		default:
			t.kind = plainOther
		}
		break
	}
	t.end, t.to, l.at = i, i, i
	return t
}

// quoted reads a word that is one quoted string.
func (l *plainLexer) quoted(t plainToken) plainToken {
	quote := l.src[t.start]
	i := t.start + 1
	for ; ; i++ {
		if i >= len(l.src) {
			t.kind = plainOther
			return t
		}
		c := l.src[i]
		if c == quote {
			break
		}
		if c < ' ' || c >= 0x7f || quote == '"' && (c == '$' || c == '`' || c == '\\') {
			t.kind = plainOther
			return t
		}
	}
	t.kind, t.from, t.to, t.end = plainWord, t.start+1, i, i+1
	l.at = i + 1
	if l.at < len(l.src) && plainClass[l.src[l.at]] != classBlank && plainClass[l.src[l.at]] != classOp {
		t.kind = plainOther
	}
	return t
}

func (l *plainLexer) operator(t plainToken) plainToken {
	rest := l.src[t.start:]
	n := 1
	switch {
	case strings.HasPrefix(rest, "&&"):
		t.kind, n = plainAnd, 2
	case strings.HasPrefix(rest, "||"):
		t.kind, n = plainOr, 2
	case rest[0] == '|':
		t.kind = plainPipe
	case rest[0] == ';':
		t.kind = plainSemicolon
	default:
		t.kind = plainOther
	}
	t.end = t.start + n
	l.at = t.end
	return t
}

// countPlain reports how many commands, words and constructs a plain text has.
func countPlain(src string) (commands, words, marks int, ok bool) {
	l := plainLexer{src: src}
	first := true // the next word is a program
	last := plainSemicolon
	for {
		t := l.next()
		switch t.kind {
		case plainOther:
			return 0, 0, 0, false
		case plainEnd:
			return commands, words, marks + commands, commands > 0 && (last == plainWord || last == plainSemicolon)
		case plainWord:
			if first {
				if !plainProgram(src[t.from:t.to]) || t.glob || t.tilde && t.to == t.from {
					return 0, 0, 0, false
				}
				commands++
				first = false
			}
			words++
		default:
			if first {
				return 0, 0, 0, false
			}
			first = true
			marks++
		}
		last = t.kind
	}
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
	return strings.IndexByte(name, '=') < 0 && strings.IndexAny(name, "[]{}!") < 0
}

// buildPlain writes the commands of a text that countPlain accepted.
func (s *Script) buildPlain(commands, words, marks int) {
	s.Commands = make([]Command, 0, commands)
	s.Constructs = make([]Construct, 0, marks)
	b := plainBuilder{s: s, src: s.Source, slab: make([]Word, 0, words), stdin: -1, dir: Word{Known: true}}
	b.build(func(start, end int) Span { return Span{start, end} })
}

// plainBuilder turns plain text into commands.
type plainBuilder struct {
	s     *Script
	src   string
	slab  []Word
	nest  Nest // around the text
	stdin int  // of the text
	dir   Word
}

func (b *plainBuilder) build(span func(start, end int) Span) {
	l := plainLexer{src: b.src}
	op := plainSemicolon // before the command
	var nest Nest
	for {
		from := len(b.slab)
		t := l.next()
		if t.kind == plainEnd {
			return
		}
		start, end := t.start, t.end
		for ; t.kind == plainWord; t = l.next() {
			end = t.end
			b.slab = append(b.slab, Word{
				Text: b.src[t.from:t.to], Known: true, Raw: b.src[t.start:t.end],
				Span: span(t.start, t.end), Glob: t.glob, Tilde: t.tilde,
			})
		}
		switch op {
		case plainSemicolon:
			nest = b.nest
		case plainAnd, plainOr:
			nest = b.nest | InCondition
		}
		at := span(start, end)
		c := Command{Words: b.slab[from:len(b.slab):len(b.slab)], Span: at, Dir: b.dir, Nest: nest, Stdin: b.stdin}
		if op == plainPipe {
			c.Stdin = len(b.s.Commands) - 1
			c.Nest &^= MixedStdin
		}
		if op == plainPipe || t.kind == plainPipe {
			c.Nest |= InPipe | InSubshell
		}
		b.s.Commands = append(b.s.Commands, c)
		b.s.Constructs = append(b.s.Constructs, Construct{SimpleCommand, at})
		if t.kind == plainEnd {
			return
		}
		b.s.Constructs = append(b.s.Constructs, Construct{operatorKind(t.kind), span(t.start, t.end)})
		op = t.kind
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
