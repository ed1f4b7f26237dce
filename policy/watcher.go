package policy

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Watcher notices when something happens to files and directories, so that readers that
// wait for a change of many need not look at each of them for every call. Where the
// system cannot tell it (see [kernelEvents]), they look. The zero value is ready for use.
type Watcher struct {
	mu     sync.Mutex
	events *kernelEvents // nil until something is watched
	failed bool          // the system cannot tell
	count  uint64        // how often something has happened
	of     map[int32]*point
}

// maxWatched bounds how many directories are watched; above it all begins anew.
const maxWatched = 4096

// recheck is how often everything is looked at although nothing seems to have happened:
// a mount over a directory, or a write through a mapping, is no event.
const recheck = time.Second

// A point is a directory or file that is watched: for names in it, or for anything.
type point struct {
	names map[string]bool
	any   bool
}

// A watched is a number of stamps that hold together.
type watched struct {
	stamps []*stamp
	// count is the Watcher's count of changes when all stamps were last found to hold; until is the time up to
	// which that is taken as true.
	mu    sync.Mutex
	by    *kernelEvents // that watches them; nil: nothing does
	blind bool          // nothing can
	count uint64
	until time.Time
}

// A moment is the state of a Watcher at a time.
type moment struct {
	events *kernelEvents
	count  uint64 // another one whenever something has happened
	now    time.Time
}

// look returns the events until now.
func (w *Watcher) look() moment {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != nil && w.events.read(w.relevant) {
		w.count++
	}
	return moment{w.events, w.count, time.Now()}
}

// hold tells whether all stamps still hold at a moment. It looks at them only if
// something has happened since it looked last.
func (s *watched) hold(w *Watcher, at moment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by != nil && s.by == at.events && s.count == at.count && at.now.Before(s.until) {
		return true
	}
	if (s.by == nil || s.by != at.events) && !s.blind { // first watch, then look: nothing comes between
		s.by, at.count = w.add(s.stamps)
		s.blind = s.by == nil
	}
	for _, st := range s.stamps {
		if !st.holds() {
			return false
		}
	}
	s.count, s.until = at.count, at.now.Add(recheck)
	return true
}

// relevant tells whether an event is about something that is watched for.
func (w *Watcher) relevant(at int32, name string) bool {
	p := w.of[at]
	return p == nil || p.any || name == "" || p.names[name]
}

// add watches everything that the stamps are about; nil says that it cannot.
func (w *Watcher) add(stamps []*stamp) (*kernelEvents, uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed {
		return nil, 0
	}
	if w.events == nil || len(w.of) > maxWatched {
		if w.events, w.of = newKernelEvents(), map[int32]*point{}; w.events == nil {
			w.failed = true
			return nil, 0
		}
	}
	for _, s := range stamps {
		if !w.path(s) {
			return nil, 0
		}
	}
	return w.events, w.count
}

// path watches a file or directory, every directory above it for the name that leads
// there, and the same for each link on the way.
func (w *Watcher) path(s *stamp) bool {
	name, err := filepath.Abs(s.name) // `--policy obstat.yaml` is not /obstat.yaml
	if err != nil {
		return false
	}
	at, rest := string(filepath.Separator), strings.Split(name, string(filepath.Separator))
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		if !w.watch(at, name) {
			return false
		}
		full := filepath.Join(at, name)
		target, err := os.Readlink(full)
		if err != nil {
			if !exists(full) {
				return true // the directory tells when it comes
			}
			at = full
			continue
		}
		if links++; links > 40 {
			return false
		}
		if filepath.IsAbs(target) {
			at = string(filepath.Separator)
		}
		rest = append(strings.Split(target, string(filepath.Separator)), rest...)
	}
	if s.missing == nil {
		return w.watch(at, "")
	}
	for _, name := range s.missing {
		first, _, _ := strings.Cut(name, string(filepath.Separator))
		if !w.watch(at, first) {
			return false
		}
	}
	return true
}

// watch watches a directory for a name, or a file or directory for anything.
func (w *Watcher) watch(at, name string) bool {
	id, ok := w.events.add(at)
	if !ok {
		return false
	}
	p := w.of[id]
	if p == nil {
		p = &point{names: map[string]bool{}}
		w.of[id] = p
	}
	if name == "" {
		p.any = true
	} else {
		p.names[name] = true
	}
	return true
}
