package opencode

import (
	"bytes"
	"path"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// An inclusion is a place where opencode puts another file in.
type inclusion struct {
	from, to string
	pos      obstat.Pos
}

// maxIncludes bounds how many inclusions of a file are looked at.
const maxIncludes = 1000

// includes refuses files that include one another in a circle: opencode would
// never come to an end of reading them.
func (l *loader) includes() {
	edges := map[string][]inclusion{}
	for i := range l.in.Files {
		f := &l.in.Files[i]
		name := fileName(f.Name, "")
		edges[name] = append(edges[name], inclusions(f)...)
	}
	state := map[string]int{} // 1 is on the way, 2 is done
	for i := range l.in.Files {
		l.follow(fileName(l.in.Files[i].Name, ""), edges, state)
	}
}

func fileName(name, dir string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if path.IsAbs(name) || dir == "" {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// inclusions finds the inclusions of a file.
func inclusions(f *dialect.File) (out []inclusion) {
	from := fileName(f.Name, "")
	const open = "{file:"
	for at := 0; len(out) < maxIncludes; {
		i := bytes.Index(f.Data[at:], []byte(open))
		if i < 0 {
			return out
		}
		start := at + i
		end := bytes.IndexAny(f.Data[start:], "}\n")
		if end < 0 {
			return out
		}
		at = start + end
		if f.Data[at] == '}' {
			to := string(bytes.TrimSpace(f.Data[start+len(open) : at]))
			out = append(out, inclusion{from, fileName(to, path.Dir(from)), f.Pos(start)})
		}
	}
	return out
}

// follow walks along the inclusions of a file and reports those that lead back
// to a file that is on the way.
func (l *loader) follow(name string, edges map[string][]inclusion, state map[string]int) {
	if state[name] != 0 {
		return
	}
	state[name] = 1
	for _, e := range edges[name] {
		if state[e.to] == 1 {
			l.errs = append(l.errs, &obstat.Error{Code: obstat.CodeConflict, Pos: e.pos, Msg: e.to + " is included in a circle", Hint: "take one of the inclusions out"})
			continue
		}
		l.follow(e.to, edges, state)
	}
	state[name] = 2
}
