package policy

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
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
	After ledger.Hash `json:"after,omitzero"`
	// Who is the acceptor: user, terminal, process and parents.
	Who *person.Who `json:"who,omitempty"`
	// Inode is the directory's device and inode, by which it is known when it is renamed.
	Inode    string      `json:"inode,omitempty"`
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
	return deflate(text)
}

func deflate(text []byte) ([]byte, error) {
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
	return readAtMost(flate.NewReader(bytes.NewReader(packed)), maxUnpacked)
}

// readAtMost reads all of r; that it has more than n bytes is an error.
func readAtMost(r io.Reader, n int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, n+1))
	if err == nil && int64(len(data)) > n {
		err = fmt.Errorf("more than %d bytes", n)
	}
	return data, err
}

// pinVersion is the version of the form of pins and of their index.
const pinVersion = 1

// maxPinned bounds the Programs of a pin.
const maxPinned = 2 << 20

// A pinStore reads and writes the pins of a state directory.
type pinStore struct {
	dir   string
	real  string   // where the links of dir lead; "" is not known
	heads []string // where the ledger's head is kept besides
	file  *logfile.File
	key   []byte
	view  *logfile.View
	idx   *pinIndex
	// damaged says that the ledger is not the one that was last known; then all pins are
	// in doubt.
	damaged error
}

// A pinIndex says where in the ledger the newest pin of each place is. It is a hint
// that saves reading the whole ledger: it is believed only with the installation's
// mark, the ledger is read on from where it ends, and each record is checked.
type pinIndex struct {
	End  int64       // the ledger has been read up to this offset
	Last ledger.Head // the record that ends there
	// Broken is the record by which the ledger was last found broken. Pins before it
	// are in doubt, and the first of a place behind it names it as the one before.
	Broken ledger.Hash
	Pins   map[string]pinEntry // by place
}

type pinEntry struct {
	Offset int64
	Hash   ledger.Hash
	// Doubt: a newer pin may have been lost. The pin still binds, and allows nothing.
	Doubt bool
}

func newPinStore(dir string, getenv func(string) string) *pinStore {
	out := &pinStore{dir: dir, heads: statedir.Heads(statedir.Store(dir), getenv)}
	out.file = logfile.New(statedir.Ledger(dir), out.heads...)
	return out
}

// in tells whether the state directory lies in a place, also by where its links lead,
// such as /proc/self/cwd/state.
func (s *pinStore) in(place string) bool {
	if paths.Inside(place, s.dir) {
		return true
	}
	if s.real == "" {
		s.real, _ = resolve(s.dir)
	}
	return s.real == "" || paths.Inside(place, s.real)
}

func (s *pinStore) indexPath() string { return statedir.Pins(s.dir) }

// open reads the pins, and returns the index that it found. Without one the ledger is
// read from its start.
func (s *pinStore) open() (index []byte, err error) {
	index, _ = os.ReadFile(s.indexPath())
	return index, s.load(index, true)
}

// load takes an index and reads the ledger from where that ends. A state directory
// without a ledger has no pins.
func (s *pinStore) load(index []byte, save bool) (err error) {
	s.close()
	s.idx, s.damaged = &pinIndex{Pins: map[string]pinEntry{}}, nil
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
const maxTail = 16 << 10

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
		sealed, _ := ledger.Unseal(l.Text) // where it is no record, the index is made anew
		s.idx.Last = sealed.Head
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
	case now.Offset == 0: // older records were taken out
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

// indexPrefix begins an index: its name and the version of its form.
const indexPrefix = "obstat-pins 2 "

// encodeIndex returns the index with its mark:
//
//	obstat-pins 2 <end> <seq of last> <hash of last> <hash of broken>
//	<offset> <hash> <doubt> <place, quoted>
//	<mark>
func (s *pinStore) encodeIndex() []byte {
	idx := s.idx
	b := fmt.Appendf(nil, "%s%d %d %s %s\n", indexPrefix, idx.End, idx.Last.Seq, idx.Last.Hash, idx.Broken)
	for place, e := range idx.Pins {
		b = fmt.Appendf(b, "%d %s %t %q\n", e.Offset, e.Hash, e.Doubt, place)
	}
	return append(b, s.mark(b)...)
}

// readIndex returns the index that is written in data, an empty one where that has
// not the mark. With it, it is as encodeIndex has written it.
func (s *pinStore) readIndex(data []byte) *pinIndex {
	empty := &pinIndex{Pins: map[string]pinEntry{}}
	end := bytes.LastIndexByte(data, '\n') + 1
	if !bytes.HasPrefix(data, []byte(indexPrefix)) || !hmac.Equal(data[end:], []byte(s.mark(data[:end]))) {
		return empty
	}
	idx := &pinIndex{Pins: map[string]pinEntry{}}
	text := string(data[len(indexPrefix) : end-1])
	bad := false
	word := func(until string) (w string) {
		w, text, _ = strings.Cut(text, until)
		return w
	}
	number := func() int64 {
		n, err := strconv.ParseInt(word(" "), 10, 64)
		bad = bad || err != nil
		return n
	}
	hash := func(until string) (h ledger.Hash) {
		bad = h.UnmarshalText([]byte(word(until))) != nil || bad
		return h
	}
	idx.End, idx.Last.Seq, idx.Last.Hash, idx.Broken = number(), uint64(number()), hash(" "), hash("\n")
	for text != "" {
		e := pinEntry{Offset: number(), Hash: hash(" "), Doubt: word(" ") == "true"}
		place, err := strconv.Unquote(word("\n"))
		bad = bad || err != nil
		idx.Pins[place] = e
	}
	if bad || !s.view.Ends(idx.Last, idx.End) {
		return empty
	}
	return idx
}

// mark returns the installation's mark of a text, which takes its key to make.
func (s *pinStore) mark(text []byte) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte("obstat pin\n"))
	m.Write(text)
	return hex.EncodeToString(m.Sum(nil))
}

// saveIndex writes the index as it is. An older one than another process has
// written costs time and nothing else.
func (s *pinStore) saveIndex() {
	_ = statedir.Replace(s.indexPath(), s.encodeIndex())
}

// A pinDetail is the detail of a pin's record: the pin with the installation's mark.
type pinDetail struct {
	Pin  json.RawMessage `json:"pin"`
	Mark string          `json:"mark"`
}

// read returns the pin at an offset of the ledger, if the record has its hash and
// the pin the installation's mark.
func (s *pinStore) read(offset int64) (*Pin, ledger.Hash, error) {
	var r ledger.Record
	line, err := s.view.LineAt(offset)
	if err == nil {
		err = ledger.ReadHeader(&r, line)
	}
	if err != nil {
		return nil, r.Hash, err
	}
	root, problems := jsonx.Parse(line, jsonx.Options{})
	detail := root.Get("detail")
	pin, mark := detail.Get("pin"), detail.Get("mark")
	if r.Kind != ledger.Pin || tree.Fatal(problems) || !mark.Is(tree.String) || !hmac.Equal([]byte(mark.Str), []byte(s.mark(pin.Source(line)))) {
		return nil, r.Hash, errors.New("this record is no pin of this installation")
	}
	p, err := pinOf(pin)
	if err != nil {
		return nil, r.Hash, err
	}
	if dir := root.Get("dir"); p.V != pinVersion || !dir.Is(tree.String) || p.Place != dir.Str {
		return nil, r.Hash, fmt.Errorf("a pin of version %d for %s", p.V, p.Place)
	}
	return p, r.Hash, nil
}

// pinOf reads a pin that has the mark: it is as append has written it.
func pinOf(n *tree.Node) (p *Pin, err error) {
	yes := func(n *tree.Node, key string) bool { n = n.Get(key); return n.Is(tree.Bool) && n.Bool }
	p = &Pin{Place: n.Get("place").Text(), Off: yes(n, "off"), Inode: n.Get("inode").Text()}
	if v := n.Get("v"); v.Is(tree.Number) {
		p.V, err = strconv.Atoi(v.Num)
	}
	if after := n.Get("after").Text(); after != "" {
		err = errors.Join(err, p.After.UnmarshalText([]byte(after)))
	}
	for _, f := range n.Get("files").Items() {
		p.Files = append(p.Files, PinFile{f.Get("name").Text(), f.Get("layer").Text(), f.Get("digest").Text(), yes(f, "own")})
	}
	for _, e := range n.Get("policies").Items() {
		one := PinPolicy{Dialect: e.Get("dialect").Text()}
		for _, f := range e.Get("files").Items() {
			one.Files = append(one.Files, f.Str)
		}
		var perr error
		one.Program, perr = base64.StdEncoding.DecodeString(e.Get("program").Text())
		err, p.Policies = errors.Join(err, perr), append(p.Policies, one)
	}
	return p, err
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
			log := logfile.New(s.file.Path(), s.heads...)
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
		return s.encodeIndex(), nil
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
	if p.Who != nil && p.Who.Process.PID != 0 {
		reason += ": " + p.Who.String()
	}
	file := logfile.New(s.file.Path(), s.heads...)
	defer file.Close()
	return file.Append(ctx, &ledger.Record{Time: time.Now(), Kind: ledger.Pin, User: by, Dir: p.Place, Reason: reason, Detail: detail})
}

// stateDir returns the directory that pins are kept in: the one that is named, or the user's.
func stateDir(named string, getenv func(string) string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir, err := statedir.Dir(getenv)
	if err != nil {
		return "", err
	}
	return filepath.Clean(dir), nil
}
