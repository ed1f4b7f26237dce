package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// openPins finds out whether pins count, and opens them. Pins that cannot be read
// are no pins: nothing of a project is accepted then.
func (s *search) openPins() {
	dir, _ := stateDir(s.State, s.w.Getenv)
	switch {
	case s.NoPins:
		s.off, s.out.Pinned, s.out.Pins = true, false, "left out"
		return
	case dir == "":
		s.out.Pins = "there is no state directory to keep them in"
		return
	case s.foreign != "":
		s.out.Pins = "the project's settings set " + s.foreign + ", and what they lead to cannot vouch for it"
		return
	}
	s.pins = newPinStore(dir, s.w.Getenv)
	index := s.watch(s.pins.indexPath()) // every new pin is in it
	old, err := s.pins.open()
	if index != nil {
		index.data = old // just after it was written, only its bytes tell whether it is the same
	}
	if err != nil {
		s.closePins()
		s.pins, s.out.Pins = nil, "they cannot be read: "+firstLine(err)
		return
	}
	if s.pins.damaged != nil {
		s.out.Pins = "the ledger that holds it is not the one that was last known: " + s.pins.damaged.Error()
	}
	if p, at := s.pins.at(Everywhere); p != nil && p.Off && !at.Doubt {
		s.off, s.out.Pinned, s.out.Pins = true, false, "switched off (obstat trust --on switches them on)"
	}
}

func (s *search) closePins() {
	if s.pins != nil {
		s.pins.close()
	}
}

// accepted looks up the pin of a site. A state directory inside the project could have come
// with a clone, so neither its pins count nor a setting there that turns pins off.
func (s *search) accepted(st *site) {
	inside := s.pins != nil && s.pins.in(st.key)
	if st.trusted = s.off && !inside || s.trusts(st.key); st.trusted || s.pins == nil || inside {
		return
	}
	st.pin, st.pinAt = s.pins.at(st.key)
	if name := s.w.Named.Dialect; name != "" {
		st.pin = st.pin.only(name)
	}
	if st.pin != nil && len(st.pin.Files) == 0 {
		st.pin = nil // a person has accepted that nothing is there
	}
	if st.pinAt == (pinEntry{}) && s.w.Named.Dialect == "" {
		st.pin = s.carried(st)
	}
}

// only returns the part of a pin that is about one dialect's files.
func (p *Pin) only(name string) *Pin {
	if p == nil {
		return nil
	}
	out := *p
	out.Policies = slices.DeleteFunc(slices.Clone(p.Policies), func(pp PinPolicy) bool { return pp.Dialect != name })
	out.Files = slices.DeleteFunc(slices.Clone(p.Files), func(f PinFile) bool {
		return !slices.ContainsFunc(out.Policies, func(pp PinPolicy) bool { return slices.Contains(pp.Files, f.Name) })
	})
	return &out
}

// pinName returns how a pin names a file of the site.
func (st *site) pinName(name string) string {
	if rel, err := filepath.Rel(st.dir, name); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel)
	}
	return name
}

// pinFiles returns the files of the site as a pin has them, each once.
func (st *site) pinFiles() (out []PinFile) {
	for _, c := range st.configs {
		for i := range c.files {
			f := &c.files[i]
			p := PinFile{st.pinName(f.Name), f.Layer, digest(f), f.users}
			if !slices.ContainsFunc(out, func(o PinFile) bool { return o.Name == p.Name }) {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b PinFile) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func digest(f *file) string {
	if f.err != nil {
		return "unreadable: " + f.err.Error()
	}
	sum := sha256.Sum256(f.Data)
	return hex.EncodeToString(sum[:])
}

// holds tells whether the files of the site that need acceptance are those that
// were accepted.
func (p *Pin) holds(st *site) bool {
	own := func(f PinFile) bool { return f.Own }
	return slices.Equal(slices.DeleteFunc(st.pinFiles(), own), slices.DeleteFunc(slices.Clone(p.Files), own))
}

// pinnedFile is the name that a rule without a place of its own gets when its
// Program is read.
const pinnedFile = "(accepted)"

// fromPin compiles an accepted Program.
func (s *search) fromPin(p *PinPolicy, d dialect.Dialect) (*dialect.Loaded, error) {
	if len(p.Program) == 0 {
		return nil, errors.New("the Program was too large to be kept")
	}
	text, err := unpack(p.Program)
	if err != nil {
		return nil, err
	}
	prog, err := obstat.ParseProgram(pinnedFile, text)
	if err != nil {
		return nil, err
	}
	for _, rules := range prog.Rules {
		for i := range rules {
			if rules[i].Pos.File == pinnedFile {
				rules[i].Pos = obstat.Pos{} // the dialect's own rules are in no file
			}
		}
	}
	pol, err := obstat.Compile(prog, &obstat.Options{Library: dialect.LibraryFor(d, prog)})
	if err != nil {
		return nil, err
	}
	return &dialect.Loaded{Dialect: d, Program: prog, Policy: pol, Input: &dialect.Input{Home: s.w.Home}}, nil
}

// pinned returns the accepted policies of a site that count for the agent; nil for
// one that cannot be read any more.
func (s *search) pinned(st *site) (out []*dialect.Loaded) {
	var all []*config
	from := map[*config]*PinPolicy{}
	for i := range st.pin.Policies {
		p := &st.pin.Policies[i]
		d, err := named(s.list, p.Dialect)
		if err != nil {
			return []*dialect.Loaded{nil}
		}
		one := &config{d: d}
		all, from[one] = append(all, one), p
	}
	for _, one := range s.decisive(all) {
		l, err := s.fromPin(from[one], one.d)
		if err != nil {
			out = append(out, nil)
			continue
		}
		for _, name := range from[one].Files {
			if rel, ok := strings.CutPrefix(name, "./"); ok {
				name = filepath.Join(st.dir, filepath.FromSlash(rel))
			}
			l.Input.Files = append(l.Input.Files, dialect.File{Name: name})
		}
		out = append(out, l)
	}
	return out
}

// Pin accepts the files of the agent's own project, as in was found; by is the person
// who accepts them. Where the files or the pins are others by now it
// changes nothing and returns [ErrChanged].
func (f *Finder) Pin(ctx context.Context, in *InForce, w *Where, by string) error {
	s, err := f.writer(w)
	if err != nil {
		return err
	}
	for _, st := range in.sites {
		pin, err := s.makePin(st)
		if err != nil {
			return err
		}
		nothing := st.pin == nil && st.pinAt == (pinEntry{}) && len(pin.Files) == 0
		if nothing || st.pin != nil && !st.pinAt.Doubt && slices.Equal(st.pin.Files, pin.Files) {
			continue // there is nothing new
		}
		if err := s.pins.put(ctx, pin, by, fmt.Sprintf("accepted the policy of %s", st.key), st.pinAt, func() error { return s.unchanged(st) }); err != nil {
			return err
		}
	}
	return nil
}

// writer returns a search that can write pins.
func (f *Finder) writer(w *Where) (*search, error) {
	s, err := f.search(w)
	if err != nil {
		return nil, err
	}
	dir, err := stateDir(s.State, s.w.Getenv)
	if err != nil {
		return nil, errors.New("there is no state directory to keep pins in")
	}
	s.pins = newPinStore(dir, s.w.Getenv)
	return s, nil
}

// makePin returns the pin of a site's files, of every dialect: agents differ in
// which of them decide.
func (s *search) makePin(st *site) (*Pin, error) {
	if s.pins.in(st.key) {
		return nil, fmt.Errorf("the state directory %s lies in the project; nothing that is kept there can vouch for it", s.pins.dir)
	}
	pin := &Pin{Place: st.key, Inode: identity(st.key), Files: st.pinFiles(), Who: s.Who}
	size := 0
	for _, c := range st.configs {
		l, err := s.compile(c.d, c.files, nil)
		if err != nil {
			return nil, err
		}
		p := PinPolicy{Dialect: c.d.Name()}
		for i := range c.files {
			p.Files = append(p.Files, st.pinName(c.files[i].Name))
		}
		if p.Program, err = pack(l.Program); err != nil {
			return nil, err
		}
		if size += len(p.Program); size > maxPinned {
			p.Program = nil
		}
		pin.Policies = append(pin.Policies, p)
	}
	return pin, nil
}

// unchanged returns [ErrChanged] where the files of a site are not as they were
// found.
func (s *search) unchanged(st *site) error {
	if st.replaced {
		return nil // nothing of it is there
	}
	s.memo, s.have, s.glob = map[string]*content{}, map[string]bool{}, map[string][]string{}
	configs, err := s.projectConfigs(st.dir)
	if err != nil {
		return err
	}
	now := &site{dir: st.dir, key: st.key, configs: configs}
	if !slices.Equal(now.pinFiles(), st.pinFiles()) {
		return ErrChanged
	}
	return nil
}

// Off switches pins off everywhere, or on again, and records it.
func (f *Finder) Off(ctx context.Context, w *Where, off bool, by string) error {
	s, err := f.writer(w)
	if err != nil {
		return err
	}
	reader := newPinStore(s.pins.dir, s.w.Getenv)
	if _, err := reader.open(); err != nil {
		return err
	}
	_, at := reader.at(Everywhere)
	reader.close()
	words := map[bool]string{true: "switched pins off: what is on disk is in force as it is", false: "switched pins on"}
	return s.pins.put(ctx, &Pin{Place: Everywhere, Off: off, Who: s.Who}, by, words[off], at, func() error { return nil })
}
