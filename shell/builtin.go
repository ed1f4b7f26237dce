package shell

import (
	"path"
	"slices"
	"strings"
)

// builtin follows the effect of a builtin on the shell itself: `cd x`, `eval y`, `read z`.
func (w *walker) builtin(at int, name string) {
	words := w.out.Commands[at].Words
	for name == "command" || name == "builtin" {
		words = words[1:]
		for len(words) > 0 && (words[0].Text == "--" || words[0].Text == "-p") {
			words = words[1:]
		}
		if len(words) == 0 || !words[0].Known {
			return
		}
		name = words[0].Text
	}
	args := words[1:]
	switch name {
	case "cd", "chdir", "pushd", "popd", "dirs":
		w.changeDir(name, args)
	case "eval":
		w.evalWords(args)
	case "trap":
		w.setTrap(args)
	case "alias":
		w.setAlias(args)
	case ".", "source":
		if len(args) > 0 && (args[0].Known && StaysHere(args[0].Text) || w.out.PrintsSetup(args[0].Raw)) {
			w.forget("may be set by " + name)
		} else {
			w.lost(name)
		}
	case "return", "break", "continue":
		w.returned = true
	case "export", "declare", "typeset", "local", "readonly", "nameref", "integer", "float":
		w.declareWords(name, args)
		w.exportsFunctions(name, args)
	case "exec":
		if len(args) == 0 {
			w.execRedirects(at)
		}
	default:
		w.variableBuiltin(name, args)
	}
}

// execRedirects makes the input that `exec < f` opens the input of the commands behind it.
func (w *walker) execRedirects(at int) {
	for _, r := range w.out.Commands[at].Redirects {
		if r.Op[0] == '<' && (r.Fd == "" || r.Fd == "0") {
			w.stdin = at
		}
	}
}

// variableBuiltin follows the builtins that set variables or evaluate their names.
func (w *walker) variableBuiltin(name string, args []Word) {
	switch name {
	case "set":
		w.setOptions(args)
	case "shift":
		w.shift(args)
	case "unset":
		w.unset(args)
	case "read":
		w.names(args, "adinNptu", w.lineOf(args))
		w.env.set("REPLY", variable{why: "read"})
	case "mapfile", "readarray":
		w.callback(args, "-C")
		w.names(args, "dnOsuCc", name)
		w.env.set("MAPFILE", variable{why: name})
	case "getopts":
		w.names(args[min(1, len(args)):], "", name)
		w.env.set("OPTARG", variable{why: name})
	case "printf":
		w.option(args, "-v", "-p")
		w.counts(args)
	case "wait":
		w.option(args, "-v", "-p")
	case "test", "[", "[[":
		w.option(args, "-v", "-R")
	case "let":
		for _, a := range args {
			w.evalArithWord(a)
		}
	case "hash":
		w.hash(args)
	case "compgen", "complete":
		w.callback(args, "-C", "-F")
		w.wordList(args)
	}
}

// counts follows printf's %n, which sets a variable: any may be, PATH as well.
func (w *walker) counts(args []Word) {
	for i := range args {
		if setsCount(args[i].Text) {
			w.out.gap(DynamicCode, "a printf that sets variables", args[i].Span)
			w.forget("may be set by printf")
		}
	}
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

// changeDir follows cd and the directory stack.
func (w *walker) changeDir(name string, args []Word) {
	d := w.env.dir
	flags, rest := splitFlags(args)
	unknown := func(why string) {
		w.env.setDir(&dirState{cur: Word{Why: why}, prev: d, stack: d.stack, unsure: true})
	}
	switch {
	case name == "dirs":
		return
	case name == "popd" && len(args) == 0 && d.stack != nil:
		next := *d.stack
		next.prev, next.unsure = d, next.unsure || d.unsure
		w.env.setDir(&next)
		return
	case name == "popd" || strings.Contains(flags, "P") || strings.Contains(flags, "n"):
		unknown(name)
		return
	case len(rest) == 0 && name == "pushd":
		unknown(name)
		return
	case len(rest) == 0:
		w.moveTo(name, Word{Text: "~", Known: true, Tilde: true})
	case len(rest) > 1:
		unknown(name + " with several words")
	case rest[0].Known && rest[0].Text == "-" && d.prev != nil && name != "pushd":
		next := *d.prev
		next.prev, next.unsure = d, next.unsure || d.unsure
		w.env.setDir(&next)
	case !rest[0].Known || rest[0].Glob || rest[0].Text == "-" || (name == "pushd" && strings.HasPrefix(rest[0].Text, "+")):
		why := rest[0].Why
		if why == "" {
			why = name + " " + rest[0].Text
		}
		unknown(why)
	default:
		w.moveTo(name, rest[0])
	}
}

// moveTo makes to the working directory.
func (w *walker) moveTo(name string, to Word) {
	d := w.env.dir
	next := &dirState{prev: d, stack: d.stack, unsure: !w.errexit || d.unsure}
	if name == "pushd" {
		next.stack = d
	}
	home := w.env.get("HOME")
	search := w.env.get("CDPATH")
	relative := !to.Tilde && !strings.HasPrefix(to.Text, "/")
	switch {
	case to.Text == "~" && to.Tilde && home.state == varKnown && to.Raw == "":
		next.cur = Word{Text: home.text, Known: true, Tilde: home.tilde}
	case relative && !d.cur.Known:
		next.cur = Word{Why: d.cur.Why}
	case relative && !strings.HasPrefix(to.Text, ".") && search.state == varKnown && search.text != "":
		next.cur = Word{Why: "CDPATH"}
	case to.Text == "":
		next.cur = d.cur
	case relative:
		next.cur = Word{Text: join(d.cur.Text, to.Text), Known: true, Tilde: d.cur.Tilde}
	default:
		next.cur = Word{Text: path.Clean(to.Text), Known: true, Tilde: to.Tilde}
	}
	if len(next.cur.Text) > maxDir {
		next.cur = Word{Why: "a very long path"}
	}
	next.cur.Raw, next.cur.Span = to.Raw, to.Span
	w.env.setDir(next)
}

// join appends a relative path to a directory; the start directory is "".
func join(dir, rel string) string {
	p := path.Join(dir, rel)
	if p == "." {
		return ""
	}
	return p
}

// splitFlags separates leading options from the rest.
func splitFlags(args []Word) (flags string, rest []Word) {
	for i := range args {
		t := args[i].Text
		if !args[i].Known || len(t) < 2 || t[0] != '-' {
			return flags, args[i:]
		}
		if t == "--" {
			return flags, args[i+1:]
		}
		flags += t[1:]
	}
	return flags, nil
}

func (w *walker) setTrap(args []Word) {
	flags, rest := splitFlags(args)
	if strings.ContainsAny(flags, "lpP") || len(rest) == 0 {
		return
	}
	code := rest[0]
	if !code.Known {
		w.out.gap(DynamicCode, "a trap handler known only at run time", code.Span)
	}
	if code.Text == "-" || len(rest) == 1 {
		return
	}
	w.traps = append(w.traps, trap{code.Text, code.Span, w.nest})
}

func (w *walker) setAlias(args []Word) {
	flags, rest := splitFlags(args)
	if strings.ContainsAny(flags, "gs") && len(rest) > 0 {
		w.out.gap(DynamicCode, "an alias that applies to any word", rest[0].Span)
	}
	for _, a := range rest {
		name, value, ok := strings.Cut(a.Text, "=")
		if !ok {
			continue
		}
		if !a.Known {
			w.out.gap(DynamicCode, "an alias known only at run time", a.Span)
		}
		w.define(name, value)
	}
}

// define adds a meaning to a name. Aliases come into force line by line, so an older
// meaning may still be the one that counts.
func (w *walker) define(name, value string) {
	if w.aliases == nil {
		w.aliases = make(map[string][]string)
	}
	w.env.epoch++
	list := w.aliases[name]
	switch {
	case slices.Contains(list, value):
	case len(list) >= maxCandidates:
		w.halt(Timeout, "an alias with very many meanings")
	default:
		w.aliases[name] = append(list, value)
	}
}

// hash -p makes a name run another program.
func (w *walker) hash(args []Word) {
	for i := range args {
		if args[i].Text == "-p" && i+2 < len(args) {
			w.define(args[i+2].Text, args[i+1].Text)
		}
	}
}

// callback follows options whose argument is code.
func (w *walker) callback(args []Word, options ...string) {
	for i := 0; i+1 < len(args); i++ {
		for _, o := range options {
			if args[i].Text != o {
				continue
			}
			if !args[i+1].Known {
				w.out.gap(DynamicCode, "code known only at run time", args[i+1].Span)
			}
			w.evalText(args[i+1].Text, InEval|Uncertain, args[i+1].Span, true)
		}
	}
}

// exportsFunctions follows `export -f f` and `declare -fx f`: a shell that is started later may call f.
func (w *walker) exportsFunctions(variant string, args []Word) {
	flags := ""
	for i := range args {
		if f := declFlags(args[i]); f != "" {
			flags += f
			continue
		}
		if strings.Contains(flags, "f") && (variant == "export" || strings.Contains(flags, "x")) && args[i].Known && validName(args[i].Text) {
			w.evalText(args[i].Text, InEval|Uncertain, args[i].Span, true)
		}
	}
}

// wordList follows compgen -W, whose argument is expanded.
func (w *walker) wordList(args []Word) {
	for i := 0; i+1 < len(args); i++ {
		if args[i].Text == "-W" && strings.ContainsAny(args[i+1].Text, "$`") {
			w.evalDocumentAt(args[i+1].Text, InEval|Uncertain, args[i+1].Span)
		}
	}
}
