package confined

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/confine"
)

// maxMade bounds the file about files that confined runs have made in a workspace; a longer one begins anew.
const maxMade = 4 << 20

// A made is the list of files that confined runs have made: a rule that asks before anything is deleted is not
// about these, as long as they are as the run left them. `make clean` removes the objects of `make`.
type made struct {
	file string
	have map[string]string // by path, how the run left it
}

func madeIn(state, root string) *made {
	return &made{file: filepath.Join(state, "confined", "made-"+short(root))}
}

// has tells whether a run has made a file, and nothing has changed it since.
func (m *made) has(path string) bool {
	if m.have == nil {
		m.have = map[string]string{}
		text, err := os.ReadFile(m.file)
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(text)) {
			if stamp, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
				m.have[name] = stamp
			}
		}
	}
	stamp, ok := m.have[path]
	return ok && stamp == stampOfFile(path)
}

// stampOfFile returns a text that changes when the file does: its time and size.
func stampOfFile(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "gone"
	}
	if info.IsDir() {
		return "dir"
	}
	return fmt.Sprintf("%d-%d", info.ModTime().UnixNano(), info.Size())
}

// note adds the files that a run has made, and those of earlier runs that it has changed.
func (m *made) note(changes []confine.Change, was map[string]bool) {
	var b strings.Builder
	for i := range changes {
		c := &changes[i]
		isNew := c.Kind == confine.Created && c.Moved == ""
		if c.Outcome != confine.Committed || !isNew && !was[c.Path] || strings.Contains(c.Path, "\n") {
			continue
		}
		if c.Kind != confine.Deleted {
			fmt.Fprintf(&b, "%s %s\n", stampOfFile(c.Path), c.Path)
		}
	}
	if b.Len() == 0 || os.MkdirAll(filepath.Dir(m.file), 0o700) != nil {
		return
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(m.file); err == nil && info.Size() > maxMade {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(m.file, flags, 0o600)
	if err != nil {
		return // such a file is asked about, as before
	}
	f.WriteString(b.String())
	f.Close()
}
