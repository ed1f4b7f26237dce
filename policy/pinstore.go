package policy

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// A Pin holds the files and Programs that a person has accepted for a place. It is
// the detail of a ledger record of kind pin.
type Pin struct {
	V     int    `json:"v"`
	Place string `json:"place"` // the directory, links resolved; [Everywhere]
	// Off: pins do not count, and files are in force as they are.
	Off bool `json:"off,omitempty"`
	// After is the hash of the record with the place's pin before this one, so that
	// an old record that is written again is not taken for a new one.
	After    ledger.Hash `json:"after,omitzero"`
	Files    []PinFile   `json:"files,omitempty"`
	Policies []PinPolicy `json:"policies,omitempty"`
}

// Everywhere is the place of a pin that is about pins themselves.
const Everywhere = "*"

// A PinFile is a file that was accepted. Name is relative to the place for a file
// below it.
type PinFile struct {
	Name   string `json:"name"`
	Layer  string `json:"layer,omitempty"`
	Digest string `json:"digest"`
	Own    bool   `json:"own,omitempty"` // the user's or the machine's own
}

// A PinPolicy is the Program of the files of one dialect.
type PinPolicy struct {
	Dialect string   `json:"dialect"`
	Files   []string `json:"files"`
	// Program is the JSON of the Program, compressed (see pack). It is left out where
	// it is too large for a record; then the files are read, and once they have
	// changed the place is as if never accepted.
	Program []byte `json:"program,omitempty"`
}

// pack returns the JSON of a Program, compressed with DEFLATE: a hook reads the pin
// for every call, and rules are alike. 76 rules take 2 KB instead of 30.
func pack(p *obstat.Program) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// maxUnpacked bounds the JSON of one Program.
const maxUnpacked = 64 << 20

// unpack returns the JSON of a packed Program.
func unpack(packed []byte) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxUnpacked+1))
	if err == nil && len(text) > maxUnpacked {
		err = errors.New("the accepted Program is too large")
	}
	return text, err
}

// pinVersion is the version of the form of pins and of their index.
const pinVersion = 1

// maxPinned bounds the Programs of a pin.
const maxPinned = 2 << 20

// A pinStore reads and writes the pins of a state directory.
type pinStore struct {
	dir   string
	heads []string // where the ledger's head is kept besides
	file  *ledger.File
	key   []byte
	view  *ledger.View
	idx   *pinIndex
	// damaged says that the ledger is not the one that was last known; then all pins are
	// in doubt.
	damaged error
}

// A pinIndex says where in the ledger the newest pin of each place is. It is a hint
// that saves reading the whole ledger: it is believed only with the installation's
// mark, the ledger is read on from where it ends, and each record is checked.
type pinIndex struct {
	V    int         `json:"v"`
	End  int64       `json:"end"`  // the ledger has been read up to this offset
	Last ledger.Head `json:"last"` // the record that ends there
	// Broken is the record by which the ledger was last found broken. Pins before it
	// are in doubt, and the first of a place behind it names it as the one before.
	Broken ledger.Hash         `json:"broken,omitzero"`
	Pins   map[string]pinEntry `json:"pins"`
	Mark   string              `json:"mark,omitempty"`
}

type pinEntry struct {
	Offset int64       `json:"offset"`
	Hash   ledger.Hash `json:"hash"`
	// Doubt: a newer pin may have been lost. The pin still binds, and allows nothing.
	Doubt bool `json:"doubt,omitempty"`
}

func (s *search) newPinStore(dir string) *pinStore {
	out := &pinStore{dir: dir, heads: statedir.Heads(statedir.Store(dir), s.w.Getenv)}
	out.file = ledger.NewFile(statedir.Ledger(dir), out.heads...)
	return out
}

// in tells whether the state directory lies in a place, also by where its links lead,
// such as /proc/self/cwd/state.
func (s *pinStore) in(place string) bool {
	if paths.Inside(place, s.dir) {
		return true
	}
	real, err := resolve(s.dir)
	return err != nil || paths.Inside(place, real)
}

func (s *pinStore) indexPath() string { return statedir.Pins(s.dir) }

// open reads the pins. Without an index the ledger is read from its start.
func (s *pinStore) open() error {
	old, _ := os.ReadFile(s.indexPath())
	return s.load(old, true)
}

// load takes an index and reads the ledger from where that ends. A state directory
// without a ledger has no pins.
func (s *pinStore) load(index []byte, save bool) (err error) {
	s.close()
	s.idx, s.damaged = &pinIndex{V: pinVersion, Pins: map[string]pinEntry{}}, nil
	v, err := s.file.View()
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.view = v; s.key == nil {
		if s.key, err = ledger.LoadKey(ledger.KeyPath(statedir.Store(s.dir))); err != nil {
			return err
		}
	}
	if s.damaged = s.file.Whole(v); s.damaged == nil {
		return s.catchUp(index, save)
	}
	err = s.catchUp(nil, false)
	s.doubt()
	return err
}

func (s *pinStore) close() {
	if s.view != nil {
		s.view.Close()
		s.view = nil
	}
}

// maxTail is how much of the ledger is read anew before the index is written.
const maxTail = 64 << 10

// catchUp takes the index from old, or starts an empty one, and reads the rest of
// the ledger. An index that is far behind is written anew, if that can be.
func (s *pinStore) catchUp(old []byte, save bool) error {
	s.idx = s.readIndex(old)
	from, lines := s.idx.End, s.view.Lines
	if from > 0 {
		lines = s.view.After
	}
	var h ledger.Record
	for l, err := range lines(from) {
		if err != nil {
			return err
		}
		s.idx.End = l.End()
		s.idx.Last, _ = ledger.HeadOf(l.Text) // where it is no record, the index is made anew
		if bytes.Contains(l.Text, []byte(`"kind":"damage"`)) && ledger.ReadHeader(&h, l.Text) == nil && ledger.IsBroken(&h) {
			s.doubt()
			s.idx.Broken = h.Hash
		}
		if !bytes.Contains(l.Text, []byte(`"kind":"pin"`)) {
			continue
		}
		p, hash, err := s.read(l.Offset)
		if err != nil {
			continue // `log verify` tells of it
		}
		if s.follows(p) {
			s.idx.Pins[p.Place] = pinEntry{Offset: l.Offset, Hash: hash}
		}
	}
	if save && (s.idx.End-from > maxTail || old == nil) {
		s.saveIndex()
	}
	return nil
}

// follows tells whether a pin comes after the newest one of its place that is known.
func (s *pinStore) follows(p *Pin) bool {
	switch now := s.idx.Pins[p.Place]; {
	case now.Doubt || now.Offset == 0 && s.idx.Broken != ledger.Hash{}:
		return p.After == s.idx.Broken
	case now.Offset == 0: // what came before was taken out
		return true
	default:
		return p.After == now.Hash
	}
}

// doubt notes that newer pins than those known may have been lost.
func (s *pinStore) doubt() {
	for place, e := range s.idx.Pins {
		e.Doubt = true
		s.idx.Pins[place] = e
	}
}

// readIndex returns the index that is written in data, an empty one where that has
// not the mark.
func (s *pinStore) readIndex(data []byte) *pinIndex {
	empty := &pinIndex{V: pinVersion, Pins: map[string]pinEntry{}}
	idx := new(pinIndex)
	if json.Unmarshal(data, idx) != nil || idx.V != pinVersion || idx.Pins == nil {
		return empty
	}
	mark := idx.Mark
	if idx.Mark = ""; !hmac.Equal([]byte(mark), []byte(s.markOf(idx))) || !s.view.Ends(idx.Last, idx.End) {
		return empty
	}
	return idx
}

func (s *pinStore) markOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // unreachable: it is numbers and text
	}
	return s.mark(b)
}

// mark returns the installation's mark of a text, which takes its key to make.
func (s *pinStore) mark(text []byte) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte("obstat pin\n"))
	m.Write(text)
	return hex.EncodeToString(m.Sum(nil))
}

// encodeIndex returns the index with its mark.
func (s *pinStore) encodeIndex() ([]byte, error) {
	idx := *s.idx
	idx.Mark = s.markOf(s.idx)
	return json.Marshal(&idx)
}

// saveIndex writes the index as it is. An older one than another process has
// written costs time and nothing else.
func (s *pinStore) saveIndex() {
	data, err := s.encodeIndex()
	if err != nil {
		return
	}
	tmp, err := os.CreateTemp(s.dir, ".pins-*")
	if err != nil {
		return
	}
	_, werr := tmp.Write(data)
	if errors.Join(werr, tmp.Close()) != nil || os.Rename(tmp.Name(), s.indexPath()) != nil {
		os.Remove(tmp.Name())
	}
}

// A pinRecord is the part of a ledger record that a pin is read from.
type pinRecord struct {
	Kind   ledger.Kind `json:"kind"`
	Dir    string      `json:"dir"`
	Detail pinDetail   `json:"detail"`
	Hash   ledger.Hash `json:"hash"`
}

// A pinDetail is a pin with the installation's mark.
type pinDetail struct {
	Pin  json.RawMessage `json:"pin"`
	Mark string          `json:"mark"`
}

// read returns the pin at an offset of the ledger, if the record has its hash and
// the pin the installation's mark.
func (s *pinStore) read(offset int64) (*Pin, ledger.Hash, error) {
	var r pinRecord
	line, err := s.view.LineAt(offset)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		return nil, r.Hash, err
	}
	if r.Kind != ledger.Pin || !hmac.Equal([]byte(r.Detail.Mark), []byte(s.mark(r.Detail.Pin))) {
		return nil, r.Hash, errors.New("this record is no pin of this installation")
	}
	p := new(Pin)
	if err := json.Unmarshal(r.Detail.Pin, p); err != nil {
		return nil, r.Hash, err
	}
	if p.V != pinVersion || p.Place != r.Dir {
		return nil, r.Hash, fmt.Errorf("a pin of version %d for %s", p.V, p.Place)
	}
	return p, r.Hash, nil
}

// at returns the newest pin of a place and where it is, nil where there is none. An
// index that does not lead to a pin is made anew from the ledger.
func (s *pinStore) at(place string) (*Pin, pinEntry) {
	for range 2 {
		e, ok := s.idx.Pins[place]
		if !ok {
			return nil, e
		}
		if p, hash, err := s.read(e.Offset); err == nil && hash == e.Hash && p.Place == place {
			return p, e
		}
		if s.catchUp(nil, s.damaged == nil) != nil {
			break
		}
		if s.damaged != nil {
			s.doubt()
		}
	}
	return nil, pinEntry{}
}

// ErrChanged is the error of accepting files that have changed since they were
// shown, or a place that another person has accepted meanwhile. Find it anew, and
// show it.
var ErrChanged = errors.New("the policy, or what was accepted of it, has changed meanwhile")

// put writes a pin unless the place has another one than expected by now, or still
// finds that the files have changed. One process at a time does this: the index is
// locked.
func (s *pinStore) put(ctx context.Context, p *Pin, by, reason string, expected pinEntry, still func() error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	defer s.close()
	written := false
	return textedit.ReplaceFile(s.indexPath(), 0o600, func(old []byte) ([]byte, error) {
		if err := s.load(old, false); err != nil {
			return nil, err
		}
		if s.damaged != nil && !written { // write that down first
			log := ledger.NewFile(s.file.Path(), s.heads...)
			_, _, err := log.End(ctx)
			if err = errors.Join(err, log.Close(), s.load(old, false)); err == nil {
				err = s.damaged
			}
			if err != nil {
				return nil, err
			}
		}
		if !written {
			if _, now := s.at(p.Place); now != expected {
				return nil, ErrChanged
			}
			if err := still(); err != nil {
				return nil, err
			}
			p.V, p.After, written = pinVersion, expected.Hash, true
			if expected == (pinEntry{}) || expected.Doubt {
				p.After = s.idx.Broken
			}
			if err := errors.Join(s.append(ctx, p, by, reason), s.load(old, false)); err != nil {
				return nil, err
			}
		}
		return s.encodeIndex()
	})
}

// append writes the record of a pin.
func (s *pinStore) append(ctx context.Context, p *Pin, by, reason string) (err error) {
	if s.key == nil { // the first record of all
		if s.key, err = ledger.LoadKey(ledger.KeyPath(statedir.Store(s.dir))); err != nil {
			return err
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	detail, err := json.Marshal(pinDetail{text, s.mark(text)})
	if err != nil {
		return err
	}
	file := ledger.NewFile(s.file.Path(), s.heads...)
	defer file.Close()
	return file.Append(ctx, &ledger.Record{Time: time.Now(), Kind: ledger.Pin, User: by, Dir: p.Place, Reason: reason, Detail: detail})
}

// stateDir returns the directory that pins are kept in, "" where none is known.
func (s *search) stateDir() string {
	if s.State != "" {
		return s.State
	}
	dir, err := statedir.Dir(s.w.Getenv)
	if err != nil {
		return ""
	}
	return filepath.Clean(dir)
}
