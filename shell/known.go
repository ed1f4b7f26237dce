package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed known.txt
var knownText string

// known is known.txt, read when a script first needs it.
var known = sync.OnceValue(func() *knowledge {
	k, err := readKnown(knownText)
	if err != nil {
		panic("shell: known.txt:" + err.Error()) // a test reads it
	}
	return k
})

// knowledge is the facts of known.txt.
type knowledge struct {
	forms  map[string][]form   // by program
	unless map[string][]string // by program
	stays  []string
	usual  []string
	cmdlet []string
	hook   []string
	cmd    []string
}

// form is one shape of a command, and how a command of that shape counts.
type form struct {
	kind formKind
	args []formPart
}

type formKind uint8

const (
	noForm formKind = iota
	printsWord
	printsNumber
	printsTemporary
	printsParent
	printsHere
	printsSetup
)

var formKinds = map[string]formKind{
	"word": printsWord, "number": printsNumber, "temporary": printsTemporary,
	"parent": printsParent, "here": printsHere, "setup": printsSetup,
}

// formPart is a part of a form: one of some words, options, or `...`.
type formPart struct {
	words    []string
	optional bool
	options  []option
	rest     bool
}

// option is an option between braces.
type option struct {
	name  string
	takes bool   // a value
	value string // the only one that it takes; "": any
	must  bool
}

// readKnown reads the text of known.txt. An error begins with line and column.
func readKnown(text string) (*knowledge, error) {
	k := &knowledge{forms: map[string][]form{}, unless: map[string][]string{}}
	line := 0
	for row := range strings.Lines(text) {
		line++
		words := strings.Fields(row)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if at, why := k.add(words); why != "" {
			column := 1
			if at < len(words) {
				column += strings.Index(row, words[at])
			}
			return nil, fmt.Errorf("%d:%d: %s", line, column, why)
		}
	}
	return k, nil
}

// add takes a line. It returns the word that is wrong, and why.
func (k *knowledge) add(words []string) (at int, why string) {
	if len(words) < 2 {
		return 0, "want a kind and more"
	}
	switch words[0] {
	case "unless":
		k.unless[words[1]] = append(k.unless[words[1]], words[2:]...)
		return 0, ""
	case "stays":
		k.stays = append(k.stays, words[1:]...)
		return 0, ""
	case "usual":
		k.usual = append(k.usual, words[1:]...)
		return 0, ""
	case "hook":
		k.hook = append(k.hook, words[1:]...)
		return 0, ""
	case "cmdlet":
		k.cmdlet = append(k.cmdlet, words[1:]...)
		return 0, ""
	case "cmd":
		k.cmd = append(k.cmd, words[1:]...)
		return 0, ""
	}
	f := form{kind: formKinds[words[0]]}
	if f.kind == noForm {
		return 0, fmt.Sprintf("unknown kind %q", words[0])
	}
	for i, word := range words[2:] {
		part, why := readPart(word)
		if why == "" && i+3 < len(words) && (part.rest || part.options != nil) {
			why = "nothing may follow this part"
		}
		if why != "" {
			return i + 2, why
		}
		f.args = append(f.args, part)
	}
	for name := range strings.SplitSeq(words[1], ",") {
		if name == "" {
			return 1, "a program without a name"
		}
		k.forms[name] = append(k.forms[name], f)
	}
	return 0, ""
}

func readPart(word string) (p formPart, why string) {
	switch open, last := word[0], word[len(word)-1]; {
	case word == "...":
		p.rest = true
	case open == '[' && last == ']':
		p.optional, p.words = true, strings.Split(word[1:len(word)-1], "|")
	case open == '{' && last == '}':
		for name := range strings.SplitSeq(word[1:len(word)-1], "|") {
			var o option
			name, o.must = strings.CutSuffix(name, "!")
			if o.name, o.value, o.takes = strings.Cut(name, "="); o.name == "" {
				return p, "an option without a name"
			}
			p.options = append(p.options, o)
		}
	case strings.ContainsRune("[]{}", rune(open)):
		return p, "brackets that do not close"
	default:
		p.words = strings.Split(word, "|")
	}
	if slices.Contains(p.words, "") {
		return p, "an empty word"
	}
	return p, ""
}

// kind returns how a command counts: of the first form that fits.
func (k *knowledge) kind(args []string) formKind {
	for _, f := range k.forms[args[0]] {
		if fits(f.args, args[1:]) {
			return f.kind
		}
	}
	return noForm
}

// fits reports whether args have the form of parts.
func fits(parts []formPart, args []string) bool {
	if len(parts) == 0 {
		return len(args) == 0
	}
	p := &parts[0]
	switch {
	case p.rest:
		return true
	case p.options != nil:
		return fitOptions(p.options, args)
	case len(args) > 0 && slices.ContainsFunc(p.words, func(w string) bool { return fitsWord(w, args[0]) }) &&
		fits(parts[1:], args[1:]):
		return true
	}
	return p.optional && fits(parts[1:], args)
}

func fitsWord(want, arg string) bool {
	switch want {
	case "ARG":
		return !strings.HasPrefix(arg, "-")
	case "DATE":
		return plainDate(arg)
	}
	head, number := strings.CutSuffix(want, "#")
	if !number {
		return want == arg
	}
	arg, ok := strings.CutPrefix(arg, head)
	return ok && digits(arg)
}

// fitOptions reports whether args are some of the options, with one of those that have to be there.
func fitOptions(options []option, args []string) bool {
	complete := !slices.ContainsFunc(options, func(o option) bool { return o.must })
	for len(args) > 0 {
		n, must := fitOption(options, args)
		if n == 0 {
			return false
		}
		complete = complete || must
		args = args[min(n, len(args)):]
	}
	return complete
}

// fitOption returns how many of args one option is with its value, 0 if it is none of them, and
// whether that is one that has to be there.
func fitOption(options []option, args []string) (n int, must bool) {
	name, value, attached := strings.Cut(args[0], "=")
	n = 1
	if !attached {
		n, value = 2, ""
		if len(args) > 1 {
			value = args[1]
		}
	}
	for _, o := range options {
		switch {
		case !o.takes && fitsWord(o.name, args[0]):
			return 1, o.must
		case o.takes && o.name == name && o.fitsValue(value):
			return n, o.must
		}
	}
	if len(name) < 3 || name[0] != '-' || name[1] == '-' {
		return 0, false
	}
	for _, o := range options { // `-aq` is `-a -q`
		if !o.takes && o.name == name[:2] {
			n, must = fitOption(options, append([]string{"-" + args[0][2:]}, args[1:]...))
			return n, must || o.must
		}
	}
	return 0, false
}

func (o *option) fitsValue(value string) bool {
	head, tail, open := strings.Cut(o.value, "*")
	if !open {
		return o.value == "" || o.value == value
	}
	value, begins := strings.CutPrefix(value, head)
	value, ends := strings.CutSuffix(value, tail)
	return begins && ends && !strings.ContainsAny(value, "{}")
}

// isUsual reports whether a variable has a value in most environments, see known.txt.
func isUsual(name string) bool {
	return slices.ContainsFunc(known().usual, func(u string) bool {
		begin, open := strings.CutSuffix(u, "*")
		return u == name || open && strings.HasPrefix(name, begin)
	})
}
