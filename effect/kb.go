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

// entry is a program's place in the knowledge base. Its text is compiled when the program
// is first met, so that a process pays only for the programs it meets.
type entry struct {
	text string // from the header line to the next header
	file string
	line int
	spec atomic.Pointer[spec]
}

// base is the index of the knowledge base: made by one scan for header lines.
type base struct {
	programs map[string]*entry
	groups   map[string]string // @name → flags
	env      []envRule
	verbs    []string // verbs of subcommands that change something; may hold a *
	twice    []string // programs that are listed twice: a test wants none
}

var kb = sync.OnceValue(func() *base {
	b := &base{programs: make(map[string]*entry, 1024), groups: map[string]string{}}
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
})

// index finds the headers of one file: lines that begin in the first column.
func (b *base) index(file, text string) {
	start, line := -1, 0
	startLine := 0
	for at := 0; at <= len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += at
		}
		line++
		header := end > at && text[at] != ' ' && text[at] != '\t'
		if header || end >= len(text) {
			if start >= 0 {
				stop := at
				if !header {
					stop = end
				}
				b.add(file, startLine, text[start:stop])
			}
			start, startLine = -1, line
			if header && text[at] != '#' {
				start = at
				if end >= len(text) {
					b.add(file, line, text[start:])
				}
			}
		}
		at = end + 1
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
		b.env = append(b.env, parseEnvRules(head[5:], body)...)
	case strings.HasPrefix(head, "!verbs"):
		b.verbs = strings.Fields(body)
	default:
		e := &entry{text: body, file: file, line: line}
		for name := range strings.FieldsSeq(head) {
			if b.programs[name] != nil {
				b.twice = append(b.twice, name)
			}
			b.programs[name] = e
		}
	}
}

// lookup returns the spec of a program, or nil if the knowledge base does not have it.
func lookup(program string) *spec {
	e := kb().programs[program]
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
	names := make([]string, 0, len(kb().programs))
	for n := range kb().programs {
		names = append(names, n)
	}
	return names
}
