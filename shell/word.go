package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builder expands one word of the source into the words that the shell would see.
type builder struct {
	w      *walker
	dst    []Word
	f      Word // the word being built
	buf    []byte
	rest   []byte // the known text after something dynamic
	start  int    // offsets of the source word in the text
	end    int
	has    bool // there is a word, if only an empty one
	frozen bool // something dynamic was met: the known part has ended
	loose  bool // the shape does not stand for all that the word may be
	chosen bool // a dynamic part is one that the script has a say in
	wordRules
}

// wordRules says how the place of a word changes its expansion.
type wordRules struct {
	whole    bool // one word whatever happens: an assignment, a test, ...
	assign   bool // tildes count after a colon, too
	document bool // inside a here-document
	braced   bool // inside a quoted ${x:-...}, where \} is a brace
}

// fields appends the words that sw expands to.
func (w *walker) fields(dst []Word, sw *syntax.Word) []Word {
	if len(sw.Parts) == 1 {
		if lit, ok := sw.Parts[0].(*syntax.Lit); ok && plainLit(lit.Value) { // most words
			if start, end := w.text.clamp(int(lit.ValuePos.Offset()), int(lit.ValueEnd.Offset())); len(lit.Value) == end-start {
				return append(dst, w.literal(start, end))
			}
		}
	}
	start, end := w.text.node(sw)
	if len(sw.Parts) == 1 {
		if lit, ok := sw.Parts[0].(*syntax.Lit); ok && len(lit.Value) == end-start {
			if out, ok := w.plainBraces(dst, start, end); ok {
				return out
			}
		}
		if q, ok := sw.Parts[0].(*syntax.SglQuoted); ok && !q.Dollar && len(q.Value) == end-start-2 {
			out := w.literal(start, end)
			out.Text = out.Raw[1 : len(out.Raw)-1]
			w.remember(out)
			return append(dst, out)
		}
		if q, ok := sw.Parts[0].(*syntax.DblQuoted); ok && !q.Dollar && len(q.Parts) == 1 {
			if lit, ok := q.Parts[0].(*syntax.Lit); ok && len(lit.Value) == end-start-2 && strings.IndexByte(lit.Value, '\\') < 0 {
				out := w.literal(start, end)
				out.Text = out.Raw[1 : len(out.Raw)-1]
				w.remember(out)
				return append(dst, out)
			}
		}
	}
	lists, why := w.braces(sw, start, end)
	for _, parts := range lists {
		b := w.builder(dst, start, end)
		b.parts(parts)
		dst = b.finish()
	}
	if lists != nil {
		return dst
	}
	b := w.builder(dst, start, end)
	if why != "" {
		aside := w.builder(nil, start, end) // for the commands in its parts
		aside.whole = true
		aside.parts(sw.Parts)
		aside.one()
		b.unknown(why, false)
		return b.finish()
	}
	b.parts(sw.Parts)
	return b.finish()
}

// single expands a word that is not split: in a test, a case, a here-string.
func (w *walker) single(sw *syntax.Word) Word {
	if sw == nil || len(sw.Parts) == 0 {
		return Word{Known: true}
	}
	start, end := w.text.node(sw)
	b := w.builder(nil, start, end)
	b.whole = true
	b.parts(sw.Parts)
	return b.one()
}

// value expands the right side of an assignment.
func (w *walker) value(sw *syntax.Word) Word {
	if sw == nil || len(sw.Parts) == 0 {
		return Word{Known: true}
	}
	start, end := w.text.node(sw)
	b := w.builder(nil, start, end)
	b.whole, b.assign = true, true
	b.parts(sw.Parts)
	return b.one()
}

// body expands a here-document.
func (w *walker) body(sw *syntax.Word) Word {
	start, end := w.text.node(sw)
	b := w.builder(nil, start, end)
	b.whole, b.document = true, true
	for _, p := range sw.Parts {
		b.quotedPart(p)
	}
	return b.one()
}

func (w *walker) literal(start, end int) Word {
	raw := w.text.orig[start:end]
	return Word{Text: raw, Known: true, Raw: raw, Span: w.text.span(start, end)}
}

// plainLit reports whether an unquoted literal stands for itself.
func plainLit(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '~', '{', '$':
			return false
		}
	}
	return true
}

func (w *walker) builder(dst []Word, start, end int) builder {
	f := Word{Known: true, Raw: w.text.orig[start:end], Span: w.text.span(start, end)}
	return builder{w: w, dst: dst, f: f, start: start, end: end}
}

func (b *builder) finish() []Word {
	if b.has {
		b.end1()
	}
	return b.dst
}

// one returns the only word; nothing at all is an empty word.
func (b *builder) one() Word {
	b.has = true
	b.end1()
	return b.dst[len(b.dst)-1]
}

// end1 ends the word being built and prepares the next one.
func (b *builder) end1() {
	f := b.f
	f.Text = b.w.text.restore(string(b.buf), b.start, b.end)
	f.Outside = !f.Known && !b.chosen
	b.w.remember(f)
	if len(b.rest) > 0 {
		f.Bound = !b.loose
		f = f.WithShape(b.shape(f.Text))
		b.rest = b.rest[:0]
	}
	if len(b.dst) < maxFields || b.whole {
		b.dst = append(b.dst, f)
	} else {
		b.dst[len(b.dst)-1].Known = false
		b.dst[len(b.dst)-1].Why = "expands to very many words"
		b.dst[len(b.dst)-1].Split = true
	}
	b.buf = b.buf[:0]
	b.has, b.frozen, b.chosen = false, false, false
	b.f.Known, b.f.Why, b.f.Glob, b.f.Tilde, b.f.Split = true, "", false, false, false
}

// shape returns the shape of the word, which begins with text.
func (b *builder) shape(text string) string {
	if text == "" && string(b.rest) == Unknown || len(b.rest) >= maxShape {
		return Unknown
	}
	if !b.w.afford((len(text) + len(b.rest)) / textCost) {
		return Unknown
	}
	whole := text + string(b.rest)
	b.w.remember(Word{Text: strings.ReplaceAll(whole, Unknown, ""), Span: b.f.Span})
	return whole
}

func (b *builder) add(s string) {
	b.has = true
	if b.frozen {
		if len(b.rest) < maxShape {
			b.rest = append(b.rest, s...)
		}
		return
	}
	if !b.w.afford(len(s) / textCost) {
		b.unknown("a very long expansion", true)
		return
	}
	b.buf = append(b.buf, s...)
}

// unknown notes a part whose value is known only at run time.
func (b *builder) unknown(why string, quoted bool) { b.shaped(why, Unknown, quoted) }

// shaped is unknown for a part whose shape is known.
func (b *builder) shaped(why, shape string, quoted bool) {
	b.chosen = true
	b.dynamic(why, shape, quoted)
}

// ofVariable is shaped for a part that is made of a variable's value.
func (b *builder) ofVariable(v *variable, why, shape string, quoted bool) {
	b.chosen = b.chosen || !v.outside
	b.dynamic(why, shape, quoted)
}

func (b *builder) dynamic(why, shape string, quoted bool) {
	b.has = true
	if shape == "" {
		shape = Unknown
	}
	b.loose = b.loose || !(quoted && shape == Unknown) && !strings.HasPrefix(why, whyName) && !strings.HasPrefix(why, whyPrinted)
	if len(b.rest) < maxShape {
		b.rest = append(b.rest, shape...)
	}
	if !b.frozen {
		b.frozen = true
		b.f.Known, b.f.Why = false, why
	}
	if !quoted && !b.whole {
		b.f.Split = true
	}
}

func (b *builder) parts(list []syntax.WordPart) {
	for i, p := range list {
		switch p := p.(type) {
		case *syntax.Lit:
			b.lit(p.Value, i == 0, i == len(list)-1)
		case *syntax.SglQuoted:
			b.single(p)
		case *syntax.DblQuoted:
			b.double(p)
		case *syntax.ExtGlob:
			b.extGlob(p)
		default:
			b.expansion(p, false)
		}
	}
}

// lit adds an unquoted literal.
func (b *builder) lit(s string, first, last bool) {
	if first && strings.HasPrefix(s, "~") && tildePrefix(s, last, b.assign) {
		b.f.Tilde = true
	}
	if !b.f.Tilde && strings.Contains(s, "~") && b.innerTilde(s, first) {
		b.f.Tilde = true
	}
	if hasGlob(s, !last) {
		b.f.Glob = !b.whole
	}
	b.add(unescape(s))
}

// tildePrefix reports whether the tilde that s starts with is expanded: the
// text up to the slash must be unquoted.
func tildePrefix(s string, last, assign bool) bool {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '/':
			return true
		case ':':
			if assign {
				return true
			}
		case '\\':
			return false
		}
	}
	return last
}

// innerTilde reports whether s has a tilde after = or : where the shell expands it.
func (b *builder) innerTilde(s string, first bool) bool {
	if b.assign {
		return strings.Contains(s, ":~")
	}
	if b.whole || !first {
		return false
	}
	name, rest, ok := strings.Cut(s, "=")
	return ok && syntax.ValidName(strings.TrimSuffix(name, "+")) &&
		(strings.HasPrefix(rest, "~") || strings.Contains(rest, ":~"))
}

// hasGlob reports whether an unquoted literal holds a pattern character; more says that
// another part of the word follows, in which a bracket may be closed.
func hasGlob(s string, more bool) bool {
	bracket := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			bracket = true
		case ']':
			if bracket {
				return true
			}
		}
	}
	return bracket && more
}

func (b *builder) single(p *syntax.SglQuoted) {
	b.has = true
	if !p.Dollar {
		b.add(p.Value)
		return
	}
	v, sure := ansiC(p.Value)
	if !sure {
		b.unknown("a character that depends on the locale", true)
		return
	}
	b.add(v)
}

func (b *builder) double(p *syntax.DblQuoted) {
	if p.Dollar { // translated by the locale's message catalogue, which a script can set
		b.unknown("a translated string", true)
	}
	// "$@" is the one quoted string that can be no word at all.
	b.has = b.has || len(p.Parts) != 1 || !isList(p.Parts[0])
	for _, q := range p.Parts {
		b.quotedPart(q)
	}
}

func isList(p syntax.WordPart) bool {
	pe, ok := p.(*syntax.ParamExp)
	if !ok || pe.Param == nil {
		return false
	}
	if pe.Param.Value == "@" {
		return true
	}
	word, ok := pe.Index.(*syntax.Word)
	return ok && word.Lit() == "@"
}

func (b *builder) quotedPart(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		extra := "\""
		if b.document {
			extra = ""
		}
		if b.braced {
			extra += "}"
		}
		b.add(unescapeDouble(p.Value, extra))
	case *syntax.SglQuoted:
		// Only inside ${x:-'...'} in double quotes, see quotedDefault.
		b.unknown("quotes inside an expansion", true)
	case *syntax.DblQuoted:
		b.double(p)
	default:
		b.expansion(p, true)
	}
}

// expansion adds a substitution or parameter.
func (b *builder) expansion(p syntax.WordPart, quoted bool) {
	w := b.w
	switch p := p.(type) {
	case *syntax.ParamExp:
		b.param(p, quoted)
	case *syntax.CmdSubst:
		w.constructOf(CommandSubst, p)
		w.substitution(p, b.document)
		why, shape := w.printedShape(p)
		if shape != Unknown && strings.HasPrefix(why, whyPrinted) {
			b.splice(shape, quoted)
			return
		}
		b.shaped(why, shape, quoted)
	case *syntax.ProcSubst:
		w.constructOf(ProcessSubst, p)
		if start, _ := w.text.node(p); strings.HasPrefix(w.text.src[min(start+1, len(w.text.src)):], "((") {
			w.gap(Syntax, "<(( , which bash tries as arithmetic first", p)
		}
		stdin := w.stdin
		w.printed++
		w.subshell(InSubst|InProcess, func() { w.stmts(p.Stmts) })
		w.printed--
		w.stdin = stdin
		b.unknown("process substitution", len(p.Stmts) > 0) // <() may be no word at all
	case *syntax.ArithmExp:
		w.constructOf(ArithExpansion, p)
		w.arithText(p, p.X)
		b.unknown("arithmetic", quoted)
	default:
		w.gap(Syntax, "an expansion of another shell", p)
		b.unknown("an expansion of another shell", quoted)
	}
}

func (w *walker) substitution(p *syntax.CmdSubst, document bool) {
	n := InSubst
	if document {
		n |= InHeredoc
	}
	testing, printed := w.testing, w.printed
	w.testing = false
	if !p.Backquotes {
		w.printed++
	}
	w.subshell(n, func() { w.stmts(p.Stmts) })
	w.testing, w.printed = testing, printed
}

// extGlob adds an extended pattern, `.+(env)`. The parser takes its inside for plain text.
func (b *builder) extGlob(p *syntax.ExtGlob) {
	if strings.ContainsAny(p.Pattern.Value, "$`'\"\\<>;&#\n") {
		b.w.gap(Syntax, "code inside an extended pattern", p)
	}
	if !b.w.testing && !b.w.seen.extended {
		b.w.seen.extended = true // looked up, or said, once
		if !strings.Contains(b.w.out.Source, "extglob") {
			b.w.gap(Syntax, "an extended pattern, but extglob is not set", p)
		}
	}
	if !b.w.testing && strings.Contains(p.Pattern.Value, ".") {
		b.w.gap(Syntax, "a dot inside an extended pattern, which may begin a hidden name", p)
	}
	b.add("*") // as a path it is at most that
	b.f.Glob = true
}
