package effect

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
)

// kbIndex says which file of the knowledge base has the block of a name, one `name file` a line,
// sorted by name: a process that decides one call reads no more than that file. kb/README.md
// has the format of the files.
//
//go:generate go test -run ^TestIndexIsCurrent$ -update
//go:embed kb/index.txt
var kbIndex string

// block is a part of the knowledge base: one or more programs that share what is known of
// them, or something that its first character says.
type block struct {
	head string // names
	body string
	line int
}

// known are the programs that a process has met, by hash. Only those that the knowledge base has
// are kept.
type known [512]atomic.Pointer[knownProgram]

type knownProgram struct {
	name string
	spec *spec
	next *knownProgram
}

var (
	kb      = known{}
	kbEnv   = sync.OnceValue(makeEnv)
	kbVerbs = sync.OnceValue(makeVerbs)
)

// lookup returns the spec of a program, or nil if the knowledge base does not have it.
func lookup(program string) *spec {
	if len(program) > maxName {
		return nil
	}
	slot := &kb[hashName(program)%uint32(len(known{}))]
	for k := slot.Load(); k != nil; k = k.next {
		if k.name == program {
			return k.spec
		}
	}
	return learn(program, slot)
}

// learn compiles the block of a program that is met for the first time.
func learn(program string, slot *atomic.Pointer[knownProgram]) *spec {
	var s *spec
	if program == "" || special(program) {
		return nil
	}
	for bl := range blocks(program) {
		if first, _, _ := strings.Cut(bl.head, " "); first != program {
			s = lookup(first) // a block is compiled once for all its names
		} else {
			s, _ = compile(bl.body)
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

// blocks yields the blocks of a name.
func blocks(name string) iter.Seq[block] {
	return func(yield func(block) bool) {
		for at := firstLine(kbIndex, name); ; {
			line, rest, _ := strings.Cut(kbIndex[at:], "\n")
			key, file, _ := strings.Cut(line, " ")
			if key != name || name == "" {
				return
			}
			for bl := range blocksOf(kbText(file)) {
				if bl.has(name) && !yield(bl) {
					return
				}
			}
			at = len(kbIndex) - len(rest)
		}
	}
}

// firstLine returns where the first line of a sorted list begins whose name is not before name.
func firstLine(list, name string) int {
	lo, hi := 0, len(list)
	for lo < hi {
		mid := lo + strings.LastIndexByte(list[lo:lo+(hi-lo)/2], '\n') + 1
		line, _, _ := strings.Cut(list[mid:hi], "\n")
		if key, _, _ := strings.Cut(line, " "); key < name {
			lo = mid + len(line) + 1
		} else {
			hi = mid
		}
	}
	return min(lo, len(list))
}

// blocksOf yields the blocks of a file. A block begins with a line that begins in the first
// column, and a comment there ends it.
func blocksOf(text string) iter.Seq[block] {
	return func(yield func(block) bool) {
		start, startLine, line := -1, 0, 1
		for at := 0; at < len(text); line++ {
			if ch := text[at]; ch != '\t' && ch != ' ' && ch != '\n' {
				if start >= 0 && !yield(newBlock(text[start:at], startLine)) {
					return
				}
				start, startLine = at, line
				if ch == '#' {
					start = -1
				}
			}
			next := strings.IndexByte(text[at:], '\n')
			if next < 0 {
				break
			}
			at += next + 1
		}
		if start >= 0 {
			yield(newBlock(text[start:], startLine))
		}
	}
}

func newBlock(text string, line int) block {
	head, body, _ := strings.Cut(text, "\n")
	if i := strings.Index(head, " #"); i >= 0 {
		head = head[:i]
	}
	return block{head: head, body: body, line: line}
}

// special reports whether a name is not that of a program: a group of flags, or a table.
func special(name string) bool { return name[0] == '@' || name[0] == '!' }

// has reports whether the block is found by a name. After the name of a special one
// comes what belongs to it.
func (b *block) has(name string) bool {
	if special(b.head) {
		first, _, _ := strings.Cut(b.head, " ")
		return first == name
	}
	return hasWord(b.head, name, ' ')
}

// hasWord reports whether word is one of the words of s, which sep separates.
func hasWord(s, word string, sep byte) bool {
	if strings.IndexByte(word, sep) >= 0 {
		return false
	}
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 || word == "" {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || s[i-1] == sep) && (end == len(s) || s[end] == sep) {
			return true
		}
		from = i + 1
	}
}

// group returns the flags of a group.
func group(name string) (flags string, ok bool) {
	for bl := range blocks(name) {
		return bl.head[len(name):] + "\n" + bl.body, true
	}
	return "", false
}

// verbTable knows the names of subcommands that change something.
type verbTable struct {
	whole nameTable
	stems []string // their beginnings
}

func makeVerbs() *verbTable {
	t := &verbTable{}
	for bl := range blocks("!verbs") {
		for v := range strings.FieldsSeq(bl.body) {
			if stem, ok := strings.CutSuffix(v, "*"); ok {
				t.stems = append(t.stems, stem)
				continue
			}
			t.whole.add(v, 0)
		}
	}
	t.whole.index()
	return t
}

func makeEnv() *envTable {
	t := &envTable{exact: make(map[string]*envRule, 128)}
	for bl := range blocks("!env") {
		t.add(parseEnvRules(bl.head[len("!env"):], bl.body))
	}
	return t
}
