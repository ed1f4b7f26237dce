package confine

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Walk finds names below a directory, such as those to hide, and remembers each directory's
// entries: looking again reads only directories whose time has changed. It is plain data that
// round-trips as JSON; its zero value remembers nothing.
type Walk struct {
	Dirs map[string]WalkedDir `json:"dirs,omitempty"`
}

// A WalkedDir is a directory as it was read: its time, and the entries that count.
type WalkedDir struct {
	Time  int64    `json:"t"`
	Dirs  []string `json:"d,omitempty"` // directories, which are looked into
	Found []string `json:"f,omitempty"` // names that matched
}

// Find returns the paths below root whose name match accepts, sorted. It follows no links and
// does not look into a directory that matched. The same match has to be given each time.
func (w *Walk) Find(root string, match func(name string, dir bool) bool) ([]string, error) {
	f := &finder{root: root, old: w.Dirs, match: match, dirs: map[string]WalkedDir{}}
	f.places = make(chan struct{}, runtime.GOMAXPROCS(0))
	f.visit("")
	f.wait.Wait()
	if f.err != nil {
		return nil, f.err
	}
	w.Dirs = f.dirs
	slices.Sort(f.found)
	return f.found, nil
}

type finder struct {
	root   string
	match  func(string, bool) bool
	old    map[string]WalkedDir
	places chan struct{} // bounds the goroutines
	wait   sync.WaitGroup

	mu    sync.Mutex
	dirs  map[string]WalkedDir
	found []string
	err   error
}

func (f *finder) visit(rel string) {
	dir, err := f.look(rel)
	f.mu.Lock()
	if err != nil && rel == "" {
		f.err = err
	}
	f.dirs[rel] = dir
	for _, name := range dir.Found {
		f.found = append(f.found, filepath.Join(f.root, rel, name))
	}
	f.mu.Unlock()
	for _, name := range dir.Dirs {
		next := name
		if rel != "" {
			next = rel + "/" + name
		}
		select {
		case f.places <- struct{}{}:
			f.wait.Go(func() { f.visit(next); <-f.places })
		default:
			f.visit(next)
		}
	}
}

// look reads a directory, or takes it as remembered. A directory that cannot be read holds
// nothing that the same user could read either.
func (f *finder) look(rel string) (WalkedDir, error) {
	path := f.root
	if rel != "" {
		path += "/" + rel
	}
	info, err := os.Lstat(path)
	if err != nil {
		return WalkedDir{}, err
	}
	now := entriesTime(info)
	if had, ok := f.old[rel]; ok && had.Time == now {
		return had, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return WalkedDir{}, err
	}
	out := WalkedDir{Time: now}
	if time.Since(time.Unix(0, now)) < time.Second {
		out.Time = 0 // it may change again without a new time; read it next time too
	}
	for _, e := range entries {
		isDir := e.Type() == fs.ModeDir
		if f.match(e.Name(), isDir) {
			out.Found = append(out.Found, e.Name())
		} else if isDir {
			out.Dirs = append(out.Dirs, e.Name())
		}
	}
	return out, nil
}

// Load reads a remembered Walk; a file that is missing or broken means to look again.
func (w *Walk) Load(file string) {
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, w) != nil {
		*w = Walk{}
	}
}

// Save keeps a Walk for the next time.
func (w *Walk) Save(file string) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), strings.TrimPrefix(filepath.Base(file), ".")+".*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
