package effect

import (
	"embed"
	"strings"
	"sync"
	"sync/atomic"
)

// kbFiles is the knowledge base: kb/README.md has the format.
//
//go:embed kb/*.kb
var kbFiles embed.FS

// entry is a block of the knowledge base: one or more programs that share what is known of
// them. Its text is compiled when one of them is first met, so that a process pays only for
// the programs it meets.
type entry struct {
	head string // names
	text string // from the header line to the next header
	file string
	line int
	spec atomic.Pointer[spec]
}

// base is the index of the knowledge base: made by one scan for header lines.
type base struct {
	entries   []entry
	groups    map[string]string // @name → flags
	envText   []string          // bodies of !env blocks, each with its reason before it
	verbsText string            // body of !verbs

	env   func() *envTable
	verbs func() *verbTable

	// A process that asks for a few programs looks through the headers; one that asks for
	// many makes a map of them first.
	asked  atomic.Int32
	byName atomic.Pointer[map[string]*entry]
}

const askedForMap = 32

var kb = sync.OnceValue(loadBase)

func loadBase() *base {
	b := &base{entries: make([]entry, 0, 1024), groups: map[string]string{}}
	b.env, b.verbs = sync.OnceValue(b.makeEnv), sync.OnceValue(b.makeVerbs)
	files, err := kbFiles.ReadDir("kb")
	if err != nil {
		return b // an empty knowledge base knows no program: nothing is read-only
	}
	for _, f := range files {
		data, err := kbFiles.ReadFile("kb/" + f.Name())
		if err == nil {
			b.index(f.Name(), string(data))
		}
	}
	return b
}

// index finds the blocks of one file: they begin with a line that begins in the first column.
func (b *base) index(file, text string) {
	start, startLine, line := -1, 0, 1
	for at := 0; at < len(text); line++ {
		if ch := text[at]; ch != '\t' && ch != ' ' && ch != '\n' {
			if start >= 0 {
				b.add(file, startLine, text[start:at])
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
		b.add(file, startLine, text[start:])
	}
}

func (b *base) add(file string, line int, block string) {
	head, body, _ := strings.Cut(block, "\n")
	if i := strings.Index(head, " #"); i >= 0 {
		head = head[:i]
	}
	switch {
	case head[0] == '@':
		name, first, _ := strings.Cut(head, " ")
		b.groups[name] = first + "\n" + body
	case strings.HasPrefix(head, "!env "):
		b.envText = append(b.envText, head[5:], body)
	case strings.HasPrefix(head, "!verbs"):
		b.verbsText = body
	default:
		b.entries = append(b.entries, entry{head: head, text: body, file: file, line: line})
	}
}

// verbTable knows the names of subcommands that change something.
type verbTable struct {
	whole map[string]bool
	stems []string // their beginnings
}

func (b *base) makeVerbs() *verbTable {
	t := &verbTable{whole: make(map[string]bool, 256)}
	for v := range strings.FieldsSeq(b.verbsText) {
		if stem, ok := strings.CutSuffix(v, "*"); ok {
			t.stems = append(t.stems, stem)
			continue
		}
		t.whole[v] = true
	}
	return t
}

func (b *base) makeEnv() *envTable {
	t := &envTable{exact: make(map[string]*envRule, 128)}
	for i := 0; i+1 < len(b.envText); i += 2 {
		t.add(parseEnvRules(b.envText[i], b.envText[i+1]))
	}
	return t
}

// find returns the block of a program.
func (b *base) find(program string) *entry {
	if m := b.byName.Load(); m != nil {
		return (*m)[program]
	}
	if b.asked.Add(1) > askedForMap {
		m := b.all()
		b.byName.Store(&m)
		return m[program]
	}
	for i := range b.entries {
		if hasWord(b.entries[i].head, program) {
			return &b.entries[i]
		}
	}
	return nil
}

func (b *base) all() map[string]*entry {
	m := make(map[string]*entry, 4*len(b.entries))
	for i := range b.entries {
		for name := range strings.FieldsSeq(b.entries[i].head) {
			m[name] = &b.entries[i]
		}
	}
	return m
}

// hasWord reports whether word is one of the blank-separated words of s.
func hasWord(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 || word == "" {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || s[i-1] == ' ') && (end == len(s) || s[end] == ' ') {
			return true
		}
		from = i + 1
	}
}

// lookup returns the spec of a program, or nil if the knowledge base does not have it.
func lookup(program string) *spec {
	e := kb().find(program)
	if e == nil {
		return nil
	}
	if s := e.spec.Load(); s != nil {
		return s
	}
	s, _ := compile(e.text)
	e.spec.Store(s)
	return s
}

// Programs returns the names that the knowledge base has, in no order.
func Programs() []string {
	m := kb().all()
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	return names
}
