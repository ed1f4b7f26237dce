package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// trap is a handler that runs later, if at all.
type trap struct {
	code string
	at   Span
	nest Nest
}

// bomb is a value that runs a command when arithmetic evaluates it.
type bomb struct {
	text string
	at   Span
}

// evalText walks code that the shell parses anew. exact says that the code may
// stand in the source as it is, so that positions can point into it.
func (w *walker) evalText(code string, n Nest, at Span, exact bool) {
	if strings.Trim(code, " \t\n") == "" || !w.step() {
		return
	}
	if w.calls >= maxCalls || tooDeep(code) {
		w.out.gap(TooDeep, "code within code, nested too deep", at)
		return
	}
	if !w.afford(len(code)/codeCost) || w.out.tooCostly(code) {
		w.out.gap(TooBig, "too much code in a string", at)
		return
	}
	t, ok := newText(code, needsMask(code))
	if !ok || endsInBackslash(code) {
		w.out.gap(Syntax, "unusual characters in the code", at)
		return
	}
	w.brokenDollar(code, at)
	t.whole = at
	if exact {
		t.base, t.exact = w.locate(code, at)
	}
	old, printed := w.text, w.printed
	w.text, w.printed = t, 0
	w.calls++
	w.within(n, func() { w.evalParsed() })
	w.calls--
	w.text, w.printed = old, printed
}

// evalParsed parses and walks w.text.
func (w *walker) evalParsed() {
	f, err := w.parse(&w.text)
	if err != nil {
		w.syntaxGap(err, &w.text)
	}
	w.stmts(f.Stmts)
}

// locate finds code in the source at its word, behind an opening quote or not.
func (w *walker) locate(code string, at Span) (int, bool) {
	for _, start := range []int{at.Start, at.Start + 1} {
		if start+len(code) <= at.End && w.out.Source[start:start+len(code)] == code {
			return start, true
		}
	}
	return 0, false
}

// evalDocument walks the substitutions in text that the shell expands like
// a double-quoted string.
func (w *walker) evalDocument(code string, n Nest, node syntax.Node) {
	if !strings.ContainsAny(code, "$`") {
		return
	}
	start, end := w.text.node(node)
	w.evalDocumentAt(code, n, w.text.span(start, end))
}

func (w *walker) evalDocumentAt(code string, n Nest, at Span) {
	if !w.step() {
		return
	}
	t, ok := newText(code, needsMask(code))
	if !ok || w.calls >= maxCalls || tooDeep(code) || w.out.tooCostly(code) {
		w.out.gap(DynamicCode, "code in a string that is too complex", at)
		return
	}
	w.brokenDollar(code, at)
	t.whole = at
	if n&InArith != 0 {
		w.defused = append(w.defused, code)
	}
	word, err := w.engine.document(t.src)
	if err != nil {
		w.out.gap(DynamicCode, "code in a string that does not parse", at)
	}
	if word == nil {
		return
	}
	old := w.text
	w.text = t
	w.calls++
	w.within(n, func() { w.body(word) })
	w.calls--
	w.text = old
}

// remember keeps a value that would run a command in arithmetic.
func (w *walker) remember(val Word) {
	if isBomb(val.Text) && len(w.bombs) < maxFields {
		w.bombs = append(w.bombs, bomb{val.Text, val.Span})
	}
}

func isBomb(s string) bool {
	return strings.IndexByte(s, '[') >= 0 && (strings.Contains(s, "$(") || strings.IndexByte(s, '`') >= 0)
}

// runTraps walks the handlers set since from, at the end of their shell.
func (w *walker) runTraps(from int) {
	for i := from; i < len(w.traps) && i < from+maxFields; i++ {
		t := w.traps[i]
		w.forget("at the time of the trap")
		if w.env.moved {
			w.env.setDir(&dirState{cur: Word{Why: "cd before the trap"}, unsure: true})
		}
		old := w.nest
		w.nest = t.nest
		w.evalText(t.code, InTrap, t.at, true)
		w.nest = old
	}
	w.traps = w.traps[:min(from, len(w.traps))]
}

// finish walks the code that runs at the end: trap handlers, and values that arithmetic
// on an unknown variable may have met.
func (w *walker) finish() {
	w.runTraps(0)
	if !w.vague {
		return
	}
	for i := 0; i < len(w.bombs); i++ {
		b := w.bombs[i]
		if slices.Contains(w.defused, b.text) {
			continue
		}
		w.out.gap(DynamicCode, "arithmetic may run this text", b.at)
		w.evalDocumentAt(b.text, InArith|Uncertain, b.at)
	}
}

// evalWords follows eval: its words, joined, are code.
func (w *walker) evalWords(words []Word) {
	if len(words) > 0 && words[0].Text == "--" && words[0].Known {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	at := Span{words[0].Span.Start, words[len(words)-1].Span.End}
	code, known := joinWords(words)
	if known {
		w.evalText(code, InEval, at, len(words) == 1)
		return
	}
	if len(words) == 1 && w.out.PrintsSetup(words[0].Raw) { // `eval "$(ssh-agent -s)"`
		w.forget("may be set by eval")
		return
	}
	w.out.gap(DynamicCode, "eval of text known only at run time", at)
	from := len(w.out.Gaps)
	w.evalText(code, InEval, at, len(words) == 1)
	// The known beginning of the text need not parse.
	w.out.Gaps = append(w.out.Gaps[:from], slices.DeleteFunc(w.out.Gaps[from:], func(g Gap) bool { return g.Kind == Syntax })...)
	w.lost("eval")
}

// joinWords joins words up to the first that is not certain.
func joinWords(words []Word) (text string, known bool) {
	if len(words) == 1 {
		return words[0].Text, words[0].Known && !words[0].Glob
	}
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].Text)
		if !words[i].Known || words[i].Glob {
			return b.String(), false
		}
	}
	return b.String(), true
}

// lost forgets the state of the shell: unseen code has run in it.
func (w *walker) lost(by string) {
	w.forget("may be set by " + by)
	w.env.setDir(&dirState{cur: Word{Why: "after " + by}, unsure: true})
}

// alias follows the use of an alias. Whether aliases are expanded depends on options
// and on where lines end, so the command itself stays, too.
func (w *walker) alias(at int, prog Word, args []*syntax.Word) {
	meanings := w.aliases[prog.Text]
	if prog.Raw != prog.Text || len(meanings) == 0 || w.calls >= maxCalls || slices.Contains(w.aliasing, prog.Text) {
		return
	}
	var rest strings.Builder
	for _, a := range args[1:] {
		start, end := w.text.node(a)
		rest.WriteByte(' ')
		rest.WriteString(w.text.orig[start:end])
	}
	span := w.out.Commands[at].Span
	w.aliasing = append(w.aliasing, prog.Text)
	for _, m := range meanings {
		w.branches(Uncertain, func() { w.evalText(m+rest.String(), InAlias, span, false) })
	}
	w.aliasing = w.aliasing[:len(w.aliasing)-1]
}
