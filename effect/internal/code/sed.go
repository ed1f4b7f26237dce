package code

import "strings"

// Sed returns the files and commands that a script for sed uses; ok is false if it is not wholly understood.
func Sed(text string) (uses []SedUse, ok bool) {
	var r sedReader
	ok = r.read(text)
	return r.files, ok
}

// sedReader reads sed scripts: enough of the language to list the files that a script reads
// and writes and the commands it runs. Where implementations of sed differ, or anything is
// unclear, it gives up.
type sedReader struct {
	text  string
	at    int
	depth int // of { }
	files []SedUse
}

// A SedUse is a file that a script reads (r) or writes (w), or a command that it runs (e).
type SedUse struct {
	Op   byte
	Name string
}

func (r *sedReader) read(text string) bool {
	r.text = text
	for {
		r.skip(" \t\n;")
		if r.at >= len(r.text) {
			return r.depth == 0
		}
		if !r.command() {
			return false
		}
	}
}

func (r *sedReader) skip(set string) {
	for r.at < len(r.text) && strings.IndexByte(set, r.text[r.at]) >= 0 {
		r.at++
	}
}

func (r *sedReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// command reads one command with its addresses.
func (r *sedReader) command() bool {
	if !r.address() {
		return false
	}
	r.skip(" \t")
	if r.peek() == ',' {
		r.at++
		r.skip(" \t")
		if r.peek() == '+' || r.peek() == '~' {
			r.at++
		}
		if !r.address() {
			return false
		}
	}
	r.skip(" \t")
	for r.peek() == '!' {
		r.at++
		r.skip(" \t")
	}
	ch := r.peek()
	r.at++
	switch ch {
	case '{':
		r.depth++
		return r.depth < 64
	case '}':
		r.depth--
		return r.depth >= 0 && r.end()
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return r.end()
	case 'q', 'Q', 'l', 'L':
		r.skip(" \t")
		r.skip("0123456789")
		return r.end()
	case '#':
		r.line()
		return true
	case 'a', 'i', 'c':
		return r.textArg()
	case 'b', 't', 'T', ':':
		return r.label()
	case 'r', 'R':
		return r.file('r')
	case 'w', 'W':
		return r.file('w')
	case 'e':
		r.skip(" \t")
		name := r.line()
		r.files = append(r.files, SedUse{'e', name})
		return name != ""
	case 's':
		return r.substitute()
	case 'y':
		d, ok := r.delimiter()
		return ok && r.until(d, false) && r.until(d, false) && r.end()
	}
	return false
}

// end reads the end of a command: a separator, or a closing brace.
func (r *sedReader) end() bool {
	r.skip(" \t")
	switch r.peek() {
	case 0:
		return r.at >= len(r.text)
	case ';', '\n', '}', '#':
		return true
	}
	return false
}

func (r *sedReader) address() bool {
	switch ch := r.peek(); {
	case ch >= '0' && ch <= '9':
		r.skip("0123456789")
		if r.peek() == '~' {
			r.at++
			r.skip("0123456789")
		}
	case ch == '$':
		r.at++
	case ch == '/':
		r.at++
		if !r.until('/', true) {
			return false
		}
		r.skip("IM")
	case ch == '\\':
		r.at++
		d, ok := r.delimiter()
		if !ok || !r.until(d, true) {
			return false
		}
		r.skip("IM")
	}
	return true
}

// delimiter takes the character that ends a regular expression.
func (r *sedReader) delimiter() (byte, bool) {
	d := r.peek()
	r.at++
	return d, d > ' ' && d < 0x7f && d != '\\' && r.at <= len(r.text)
}

// until reads up to the delimiter. A delimiter in a bracket expression is read in different
// ways by different seds: that is unclear.
func (r *sedReader) until(d byte, regexp bool) bool {
	bracket := 0
	for ; r.at < len(r.text); r.at++ {
		ch := r.text[r.at]
		switch {
		case ch == '\\':
			r.at++
		case ch == d && bracket > 0:
			return false
		case ch == d:
			r.at++
			return true
		case ch == '\n':
			return false
		case !regexp:
		case bracket == 0 && ch == '[':
			bracket = r.at
		case bracket > 0 && ch == ']' && !r.opens(bracket):
			bracket = 0
		}
	}
	return false
}

// opens reports whether the ] at the current place is the first character of the bracket
// expression that begins at from, and so stands for itself.
func (r *sedReader) opens(from int) bool {
	return r.at == from+1 || r.at == from+2 && r.text[from+1] == '^'
}

// line takes the rest of the line.
func (r *sedReader) line() string {
	rest := r.text[min(r.at, len(r.text)):]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	r.at += len(rest)
	return rest
}

// textArg is the text of a, i and c: to the end of the line, on while lines end in a
// backslash that no other backslash escapes.
func (r *sedReader) textArg() bool {
	for {
		l := r.line()
		slashes := len(l) - len(strings.TrimRight(l, `\`))
		if slashes%2 == 0 || r.at >= len(r.text) {
			return true
		}
		r.at++
	}
}

// label is a name. Some seds end it at a semicolon or brace, some only at the end of the line:
// the rest is read as commands, so that none is missed.
func (r *sedReader) label() bool {
	r.skip(" \t")
	for r.at < len(r.text) && strings.IndexByte("\n; \t{}", r.text[r.at]) < 0 {
		r.at++
	}
	return true
}

func (r *sedReader) file(op byte) bool {
	r.skip(" \t")
	name := r.line()
	if name == "" {
		return false
	}
	if name != "/dev/stdout" && name != "/dev/stderr" && name != "/dev/stdin" {
		r.files = append(r.files, SedUse{op, name})
	}
	return true
}

func (r *sedReader) substitute() bool {
	d, ok := r.delimiter()
	if !ok || !r.until(d, true) || !r.until(d, false) {
		return false
	}
	for {
		switch ch := r.peek(); {
		case ch != 0 && strings.IndexByte("gpiImM0123456789", ch) >= 0:
			r.at++
		case ch == 'w':
			r.at++
			return r.file('w')
		default:
			return r.end() // e runs the result: not understood
		}
	}
}
