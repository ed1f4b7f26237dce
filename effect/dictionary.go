package effect

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/effect/internal/search"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// A dictionary is a knowledge base with the parts of it compiled that were asked for.
type dictionary struct {
	find    func(name string) iter.Seq[kb.Block]
	known   [512]atomic.Pointer[knownProgram] // programs that were met, by hash
	env     lazy[envTable]
	verbs   lazy[kb.List]
	listers lazy[search.Listers]
}

// builtin is the knowledge base that is part of obstat.
var builtin = &dictionary{find: kb.Find}

// lazy is a value that is made when it is first asked for.
type lazy[T any] struct {
	once  sync.Once
	value *T
}

func (l *lazy[T]) get(make func() *T) *T {
	l.once.Do(func() { l.value = make() })
	return l.value
}

type knownProgram struct {
	name string
	spec *spec
	next *knownProgram
}

// lookup returns the spec of a program, or nil if the knowledge base does not have it.
func (d *dictionary) lookup(program string) *spec {
	if len(program) > maxName {
		return nil
	}
	slot := &d.known[hashName(program)%uint32(len(d.known))]
	for k := slot.Load(); k != nil; k = k.next {
		if k.name == program {
			return k.spec
		}
	}
	return d.learn(program, slot)
}

// learn compiles the block of a program that is met for the first time.
func (d *dictionary) learn(program string, slot *atomic.Pointer[knownProgram]) *spec {
	var s *spec
	if program == "" || kb.Special(program) {
		return nil
	}
	for b := range d.find(program) {
		if first, _, _ := strings.Cut(b.Head, " "); first != program {
			s = d.lookup(first) // a block is compiled once for all its names
		} else {
			s, _ = d.compile(b.Body)
		}
		break
	}
	if s == nil {
		return nil
	}
	k := &knownProgram{name: strings.Clone(program), spec: s}
	for {
		if k.next = slot.Load(); slot.CompareAndSwap(k.next, k) {
			return s
		}
	}
}

// takes reports whether the first operand of a program has a role: of awk it is a program for awk.
func (d *dictionary) takes(program string, r role) bool {
	s := d.lookup(program)
	return s != nil && s.args[0].role == r
}

// runsShell reports whether a program reads a file as commands of the shell: sh, source, at.
func (d *dictionary) runsShell(program string) bool {
	s := d.lookup(program)
	return s != nil && (s.stdin != nil && s.stdin.role == roleShell || d.sources(program))
}

// sources reports whether the shell itself runs the commands of a file: `. f`.
func (d *dictionary) sources(program string) bool {
	s := d.lookup(program)
	return s != nil && s.style&styleBuiltin != 0 && s.args[0].role == roleScript
}

// evaluates reports whether a program runs its words: eval.
func (d *dictionary) evaluates(program string) bool {
	s := d.lookup(program)
	return s != nil && s.style&styleEval != 0
}

// patches reports whether a program changes the files that a patch names.
func (d *dictionary) patches(program string) bool {
	s := d.lookup(program)
	patches := func(v deed) bool { return v.tags.Has(Patch) }
	return s != nil && (s.style&styleGit != 0 || slices.ContainsFunc(s.does, patches))
}

// lister returns how a command prints names of files, nil if its program does not.
func (d *dictionary) lister(words []shell.Word) *search.Lister {
	if len(words) == 0 || !words[0].Known {
		return nil
	}
	name, standard := programName(words[0].Text)
	if !standard {
		return nil
	}
	return d.searches().Of(name)
}

// searches returns the tables of programs that list files.
func (d *dictionary) searches() *search.Listers {
	return d.listers.get(func() *search.Listers { return search.Compile(d.find) })
}

// group returns the flags of a group.
func (d *dictionary) group(name string) (flags string, ok bool) {
	for b := range d.find(name) {
		return b.Head[len(name):] + "\n" + b.Body, true
	}
	return "", false
}

// isVerb reports whether a word is a subcommand that changes something in some program.
func (d *dictionary) isVerb(word string) bool {
	return d.verbs.get(func() *kb.List { return kb.Read(d.find, "!verbs") }).Has(word)
}

// variable returns the rule of a variable.
func (d *dictionary) variable(name string) *envRule {
	return d.env.get(func() *envTable {
		t := &envTable{exact: make(map[string]*envRule, 128)}
		for b := range d.find("!env") {
			t.add(parseEnvRules(b.Head[len("!env"):], b.Body))
		}
		return t
	}).find(name)
}
