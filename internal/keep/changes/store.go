package changes

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// Limits bound the store.
type Limits struct {
	File  int64         // bytes of one file
	Call  int64         // bytes of one call; half of Total where that is less
	Files int           // paths of one call
	Total int64         // bytes in all; the oldest go first
	Age   time.Duration // after which a change is forgotten
}

// Usual are the limits where no policy says others.
var Usual = Limits{File: 64 << 20, Call: 256 << 20, Files: 5_000, Total: 2 << 30, Age: 7 * 24 * time.Hour}

// Secret is how long the contents of secrets are kept.
const Secret = time.Hour

const tempPrefix = ".new-"

// A Store keeps changes in a directory of obstat's state. Several processes may use it at once.
type Store struct {
	dir    string
	limits Limits
	now    func() time.Time
	step   func()   // before each step of a restore, for tests that kill it
	ended  *journal // that a killed process had begun
	added  *atomic.Int64
}

// Open returns the store in a directory. It ends what a killed one had begun. A zero limit is that of [Usual].
func Open(dir string, l Limits) (*Store, error) {
	for at, usual := range map[*int64]int64{&l.File: Usual.File, &l.Call: Usual.Call, &l.Total: Usual.Total} {
		if *at == 0 {
			*at = usual
		}
	}
	l.Files, l.Age = cmp.Or(l.Files, Usual.Files), cmp.Or(l.Age, Usual.Age)
	l.Call = min(l.Call, l.Total/2)
	s := &Store{dir: dir, limits: l, now: time.Now, step: func() {}, added: new(atomic.Int64)}
	return s, s.Recover()
}

// Of says which call made a change, and by whose leave.
type Of struct {
	Call    string `json:"call"` // its digest
	Session string `json:"session,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Text    string `json:"text,omitempty"`   // the command, or the file that is edited
	Dir     string `json:"dir,omitempty"`    // where it was made
	Reason  string `json:"reason,omitempty"` // why it was allowed
	// Asked: the agent asked a person about it by itself, whose answer is not known; it ran if it ended.
	Asked bool `json:"asked,omitempty"`
}

// A Change is the paths that one call could change, before and after.
type Change struct {
	ID string `json:"id"` // later ones sort behind earlier ones
	Of
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"` // zero while the call has not been reported to have ended
	Reach  []Reach   `json:"reach"`
	Before []Entry   `json:"before"`
	After  []Entry   `json:"after,omitempty"`
	// Gaps are paths that cannot be taken back.
	Gaps []Gap `json:"gaps,omitempty"`
	// Undoes are the changes that this one took back; Undone is the change that took this one back.
	Undoes []string `json:"undoes,omitempty"`
	Undone string   `json:"undone,omitempty"`
	// Partly are those of Undoes of which paths were left as they are: they can still be taken back.
	Partly []string `json:"partly,omitempty"`
	// Forgot are paths whose contents after the call are not kept any more.
	Forgot []Name `json:"forgot,omitempty"`
	// Keep is how long it is kept, by the policy of its call.
	Keep time.Duration `json:"keep,omitempty"`
	// Secret: it holds secrets, which are kept for a shorter time.
	Secret bool `json:"secret,omitempty"`
}

// MarshalJSON writes a reach.
func (r Reach) MarshalJSON() ([]byte, error) {
	out := reachJSON{Text: Name(r.Paths.Text), Below: r.Paths.Below}
	for _, e := range r.Except {
		out.Except = append(out.Except, Name(e))
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a reach.
func (r *Reach) UnmarshalJSON(b []byte) error {
	var in reachJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	r.Paths = paths.Set{Text: string(in.Text), Below: in.Below}
	for _, e := range in.Except {
		r.Except = append(r.Except, string(e))
	}
	return nil
}

// Save keeps everything in reach before a call changes it. Paths that cannot be kept are the change's Gaps; an
// error means that nothing was. The gaps that are given are those that the caller knows of.
func (s *Store) Save(of Of, reach []Reach, secret bool, gaps ...Gap) (*Change, error) {
	release, err := s.lock(false)
	if err != nil {
		return nil, err
	}
	defer release()
	c := &Change{ID: s.newID(), Of: of, Began: s.now(), Keep: s.limits.Age, Secret: secret}
	l := &look{s: s, keep: true, seen: tree{}, gaps: gaps}
	type once struct {
		paths  paths.Set
		except string
	}
	seen := map[once]bool{}
	for _, given := range reach {
		if given.Paths.IsAnything() {
			l.gaps = append(l.gaps, Gap{Why: "which files it changes is not known"})
			continue
		}
		for _, r := range resolved(given) {
			if key := (once{r.Paths, strings.Join(r.Except, "\x00")}); seen[key] {
				continue // `git add -A && git commit` is on one repository
			} else {
				seen[key] = true
			}
			c.Reach = append(c.Reach, r)
			if err := l.reach(&r); errors.Is(err, errMany) && !l.full {
				l.gaps = append(l.gaps, Gap{Path: Name(r.Paths.Known()), Why: err.Error()})
				l.full = len(l.seen) >= s.limits.Files // and so are all that follow
			} else if err != nil && !l.full {
				return nil, err
			}
		}
	}
	c.Before, c.Gaps = l.seen.list(), l.gaps
	if err := s.write(c); err != nil {
		return nil, err
	}
	open := s.openName(of.Call, of.Session) + c.ID
	if os.Link(s.name(c.ID), open) == nil { // which costs less than a file
		return c, nil
	}
	return c, os.WriteFile(open, nil, 0o600)
}

// idTime is the time in an ID, of which later ones sort behind earlier ones.
const idTime = "20060102T150405.000000"

// ShortID is the end of an ID, by which a person names the change.
func ShortID(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

func (s *Store) newID() string {
	var b [3]byte
	rand.Read(b[:])
	return s.now().UTC().Format(idTime) + "-" + hex.EncodeToString(b[:])
}

// openName begins the name of a file that says which change a call that runs has: its ID ends it. The same call
// may run twice at once.
func (s *Store) openName(call, session string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + call))
	return filepath.Join(s.dir, "open", hex.EncodeToString(sum[:16])+"-")
}

// opened returns the change of a call that runs, the latest where there are several: an earlier one may have been
// asked about and declined.
func (s *Store) opened(call, session string) (id string, err error) {
	dir, prefix := filepath.Split(s.openName(call, session))
	list, err := os.ReadDir(dir)
	for _, e := range slices.Backward(list) {
		if id, ok := strings.CutPrefix(e.Name(), prefix); ok {
			return id, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // nothing was ever kept
	}
	return "", err
}

func (s *Store) name(id string) string { return filepath.Join(s.dir, "calls", id+".json") }

func (s *Store) write(c *Change) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	b = sealed(b)
	s.wrote(len(b))
	return statedir.Replace(s.name(c.ID), b)
}

// sealed is a line with its digest before it, so that one that was changed is noticed.
func sealed(b []byte) []byte { return fmt.Appendf(nil, "%s %s\n", DigestOf(b), b) }

// unseal reads a line that was sealed.
func unseal(line []byte, into any) error {
	digest, b, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if string(digest) != DigestOf(b) {
		return errors.New("its digest is another")
	}
	return json.Unmarshal(b, into)
}

// An ending is how a call ended, in a line of its own behind its change: adding it costs a tenth of writing all anew.
type ending struct {
	Ended time.Time `json:"ended"`
	After []Entry   `json:"after,omitempty"` // that differ from those before
	Gone  []Name    `json:"gone,omitempty"`
	Gaps  []Gap     `json:"gaps,omitempty"`
}

// addEnding writes how a call ended. Its line begins with an end of line, since a killed process may have left a part
// of one.
func (s *Store) addEnding(c *Change) error {
	e := ending{Ended: c.Ended, Gaps: c.Gaps}
	for _, d := range c.Differences() {
		if d.After.Kind == None {
			e.Gone = append(e.Gone, d.Path)
		} else {
			e.After = append(e.After, Entry{d.Path, d.After})
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	b = sealed(b)
	s.wrote(len(b))
	f, err := os.OpenFile(s.name(c.ID), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(slices.Concat([]byte("\n"), b))
	return errors.Join(err, f.Close())
}

// ends puts an ending to its change.
func (c *Change) ends(e *ending) {
	after := treeOf(c.Before)
	for _, p := range e.Gone {
		delete(after, string(p))
	}
	for i := range e.After {
		after[string(e.After[i].Path)] = &e.After[i].State
	}
	c.After, c.Ended, c.Gaps = after.list(), e.Ended, e.Gaps
}

// End notes how the paths of a call look that has run, and returns its change; nil where none was kept.
func (s *Store) End(call, session string) (*Change, error) {
	id, err := s.opened(call, session)
	if id == "" || err != nil {
		return nil, err
	}
	release, err := s.lock(false)
	if err != nil {
		return nil, err
	}
	defer release()
	name := s.openName(call, session) + id
	c, err := s.Get(id)
	if errors.Is(err, ErrUnknown) { // swept
		return nil, os.Remove(name)
	} else if err != nil {
		return nil, err
	}
	if err := s.lookAgain(c); err != nil {
		return nil, err
	}
	if len(c.Differences()) == 0 && len(c.Gaps) == 0 { // as after `touch a`
		return c, errors.Join(os.Remove(s.name(c.ID)), os.Remove(name))
	}
	s.keepAfter(c)
	return c, errors.Join(s.addEnding(c), os.Remove(name))
}

// end notes how the paths of a change look now.
func (s *Store) end(c *Change) error {
	if err := s.lookAgain(c); err != nil {
		return err
	}
	s.keepAfter(c)
	return s.write(c)
}

// mostMade is how many paths are looked at after a call: `cp -r` may have made more of them than are kept of one call.
const mostMade = 200_000

// lookAgain looks at the paths of a change as if its call had ended.
func (s *Store) lookAgain(c *Change) error {
	wide := s.unbounded()
	wide.limits.Files = mostMade
	l := &look{s: wide, seen: tree{}, before: treeOf(c.Before)}
	for i := range c.Reach {
		if err := l.reach(&c.Reach[i]); errors.Is(err, errMany) {
			c.Gaps = append(c.Gaps, Gap{Path: Name(c.Reach[i].Paths.Known()), Why: "it made more files than are looked at"})
		} else if err != nil {
			return err
		}
	}
	c.After, c.Ended = l.seen.list(), s.now()
	return nil
}

// unbounded is the store for one who takes back: the limits of one call are those of its policy, and held when it was
// kept.
func (s *Store) unbounded() *Store {
	wide := *s
	wide.limits.File, wide.limits.Call, wide.limits.Files = s.limits.Total, s.limits.Total, math.MaxInt/16
	return &wide
}

var (
	// ErrUnknown is the error of a change that is not kept.
	ErrUnknown = errors.New("no such change is kept")
	// ErrTampered is the error of a change whose file cannot be read. The others are kept all the same.
	ErrTampered = errors.New("was changed in obstat's state and is not trusted")
)

// shortestEnd is how much of an ID's end stands for it. What is shorter may be the name of a file: `obstat undo a`.
const shortestEnd = 4

// Get returns a change by its ID, or by the end of one, of four characters or more, that is the only one with it.
func (s *Store) Get(id string) (*Change, error) {
	if id == "" || strings.ContainsAny(id, "/\\") {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	b, err := os.ReadFile(s.name(id))
	if errors.Is(err, fs.ErrNotExist) {
		return s.byEnd(id)
	} else if err != nil {
		return nil, err
	}
	c := new(Change)
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := unseal(first, c); err != nil {
		return nil, fmt.Errorf("%s %w: %w", s.name(id), ErrTampered, err)
	}
	for line := range bytes.Lines(rest) {
		e := new(ending)
		if unseal(line, e) == nil { // else a process was killed in the middle of it
			c.ends(e)
		}
	}
	return c, nil
}

func (s *Store) byEnd(end string) (*Change, error) {
	if len(end) < shortestEnd {
		return nil, fmt.Errorf("%s: %w", end, ErrUnknown)
	}
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasSuffix(id, end) })
	switch len(ids) {
	case 0:
		return nil, fmt.Errorf("%s: %w", end, ErrUnknown)
	case 1:
		return s.Get(ids[0])
	}
	return nil, fmt.Errorf("%s: %d changes end so; say more of it", end, len(ids))
}

// ids returns the changes that are kept, the latest first.
func (s *Store) ids() (out []string, err error) {
	list, err := os.ReadDir(filepath.Join(s.dir, "calls"))
	for _, e := range list {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			out = append(out, id)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was ever kept
	}
	slices.Reverse(out)
	return out, err
}

// List returns the changes that are kept, the latest first. One that cannot be read is an error beside the others.
func (s *Store) List() (out []*Change, err error) {
	ids, err := s.ids()
	for _, id := range ids {
		c, bad := s.Get(id)
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		out = append(out, c)
	}
	return out, err
}

// A Difference is one path that a call changed.
type Difference struct {
	Path          Name
	Before, After State
}

// Differences returns the paths that the call changed. Of one that was not reported to have ended, none is known.
func (c *Change) Differences() (out []Difference) {
	if c.Ended.IsZero() {
		return nil
	}
	before, after := treeOf(c.Before), treeOf(c.After)
	return differences(before, after)
}

func differences(before, after tree) (out []Difference) {
	for p, b := range before {
		if a := after.at(p); !b.Equal(a) {
			out = append(out, Difference{Name(p), *b, *a})
		}
	}
	for p, a := range after {
		if b := before.at(p); b.Kind == None && a.Kind != None {
			out = append(out, Difference{Name(p), *b, *a})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// lock keeps others from sweeping, or with alone from using the store at all, and ends what a killed process had begun
// before anything else. It makes the store's directories: reading, as after each call that changed nothing, makes none.
func (s *Store) lock(alone bool) (release func(), err error) {
	for _, sub := range []string{"calls", "open", "blobs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	l := flock.New(filepath.Join(s.dir, "lock"))
	for {
		take := l.RLock
		if alone {
			take = l.Lock
		}
		if err := take(); err != nil {
			return nil, fmt.Errorf("the store of changes is not to be locked: %w", err)
		}
		if !Begun(s.dir) {
			return func() { _, _ = s.noteWritten(), l.Unlock() }, nil // a sweep counts again
		}
		if alone { // and no other process is at it
			err = s.recover()
		} else if err = l.Unlock(); err == nil {
			err = s.Recover()
		}
		if err != nil {
			return nil, errors.Join(err, l.Unlock())
		}
	}
}
