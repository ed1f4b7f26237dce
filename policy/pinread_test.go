package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

// A pinBench is a state directory whose ledger has one accepted project, `/p`.
type pinBench struct {
	*testing.T
	dir string
}

func newPinBench(t *testing.T) *pinBench {
	t.Helper()
	b := &pinBench{t, t.TempDir()}
	ok(t, b.put(&Pin{Place: "/p", Files: []PinFile{{Name: "./a", Digest: "1"}}}, pinEntry{}))
	return b
}

func (b *pinBench) put(p *Pin, expected pinEntry) error {
	return newPinStore(b.dir, os.Getenv).put(b.Context(), p, "ann", "accepted", expected, func() error { return nil })
}

// open returns the pins as another process finds them.
func (b *pinBench) open() *pinStore {
	b.Helper()
	s := newPinStore(b.dir, os.Getenv)
	_, err := s.open()
	ok(b.T, err)
	b.Cleanup(s.close)
	return s
}

// log appends a record.
func (b *pinBench) log(r *ledger.Record) {
	b.Helper()
	r.Time = time.Now()
	file := logfile.New(statedir.Ledger(b.dir), statedir.Heads(statedir.Store(b.dir), os.Getenv)...)
	ok(b.T, errors.Join(file.Append(b.Context(), r), file.Close()))
}

// TestIndexAgain: the index that a process writes is what the next one reads, and one that is gone is written again.
func TestIndexAgain(t *testing.T) {
	b := newPinBench(t)
	ok(t, b.put(&Pin{Place: `/a "b`}, pinEntry{}))
	s := b.open()
	if got := s.readIndex(s.encodeIndex()); len(got.Pins) != 2 || got.End == 0 || !reflect.DeepEqual(got, s.idx) {
		t.Errorf("%+v, want %+v", got, s.idx)
	}
	ok(t, os.Remove(s.indexPath()))
	b.open()
	if data, err := os.ReadFile(s.indexPath()); err != nil || !reflect.DeepEqual(s.readIndex(data), s.idx) {
		t.Errorf("the index was not written again: %v", err)
	}
	e := s.idx.Pins["/p"]
	s.idx.Pins["/p"] = pinEntry{Offset: e.Offset + 1, Hash: e.Hash}
	if p, at := s.at("/p"); p == nil || p.Files[0].Digest != "1" || at != e {
		t.Errorf("an index that leads astray: %+v at %+v", p, at)
	}
	s.damaged = errors.New("cut short")
	s.idx.Pins["/p"] = pinEntry{Offset: e.Offset + 1, Hash: e.Hash, Doubt: true}
	if p, at := s.at("/p"); p == nil || !at.Doubt {
		t.Errorf("of a ledger that was cut short: %+v at %+v", p, at)
	}
}

// TestTextsOfRecords: records that only speak of pins or damage are neither.
func TestTextsOfRecords(t *testing.T) {
	b := newPinBench(t)
	for _, kind := range []string{"damage", "pin"} {
		b.log(&ledger.Record{Kind: ledger.Decision, Tool: "Bash", Reason: "x", Detail: json.RawMessage(`{"said":{"kind":"` + kind + `"}}`)})
	}
	ok(t, os.Remove(statedir.Pins(b.dir)))
	s := b.open()
	if p, at := s.at("/p"); p == nil || at.Doubt || len(s.idx.Pins) != 1 || s.idx.Broken != (ledger.Hash{}) {
		t.Errorf("%+v at %+v, of %d", p, at, len(s.idx.Pins))
	}
}

// TestFollows: a pin counts after the one that it names as the one before, and the first after a damage after that.
func TestFollows(t *testing.T) {
	old, broken, other := ledger.Hash{1}, ledger.Hash{2}, ledger.Hash{3}
	for name, tt := range map[string]struct {
		now    pinEntry
		broken ledger.Hash
		after  ledger.Hash
		want   bool
	}{
		"the first":                             {want: true},
		"the first that is left":                {after: other, want: true},
		"the next":                              {now: pinEntry{Offset: 9, Hash: old}, after: old, want: true},
		"an old one again":                      {now: pinEntry{Offset: 9, Hash: old}, after: other},
		"an old one again, in the first place":  {now: pinEntry{Offset: 1, Hash: old}},
		"the next, after a damage that is told": {now: pinEntry{Offset: 9, Hash: old}, broken: broken, after: old, want: true},
		"the first after a damage":              {broken: broken, after: broken, want: true},
		"an old one after a damage":             {broken: broken},
		"one in doubt":                          {now: pinEntry{Offset: 9, Hash: old, Doubt: true}, broken: broken, after: broken, want: true},
		"one in doubt, by an old one":           {now: pinEntry{Offset: 9, Hash: old, Doubt: true}, broken: broken, after: old},
	} {
		s := &pinStore{idx: &pinIndex{Broken: tt.broken, Pins: map[string]pinEntry{"/p": tt.now}}}
		if got := s.follows(&Pin{Place: "/p", After: tt.after}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPinsThatAreNone: a record counts as a pin with the kind, this installation's mark, the version and the place of
// one, and a text that can be read.
func TestPinsThatAreNone(t *testing.T) {
	key := newPinBench(t)
	mark := func(text string) string { return key.open().mark([]byte(text)) }
	for name, tt := range map[string]struct {
		text, mark string
		kind       ledger.Kind
		dir        string
		want       bool
	}{
		"a pin":              {text: `{"v":1,"place":"/q"}`, want: true},
		"of another kind":    {text: `{"v":1,"place":"/q"}`, kind: ledger.Decision},
		"without its mark":   {text: `{"v":1,"place":"/q"}`, mark: "no"},
		"another's mark":     {text: `{"v":1,"place":"/q"}`, mark: mark(`{"v":1,"place":"/p"}`)},
		"of another version": {text: `{"v":2,"place":"/q"}`},
		"of another place":   {text: `{"v":1,"place":"/q"}`, dir: "/p"},
		"no hash":            {text: `{"v":1,"place":"/q","after":"x"}`},
		"no Program":         {text: `{"v":1,"place":"/q","policies":[{"dialect":"native","program":"*"}]}`},
	} {
		if tt.mark == "" {
			tt.mark = mark(tt.text)
		}
		if tt.kind == "" {
			tt.kind = ledger.Pin
		}
		if tt.dir == "" {
			tt.dir = "/q"
		}
		end := key.open().idx.End
		key.log(&ledger.Record{Kind: tt.kind, Dir: tt.dir, Detail: fmt.Appendf(nil, `{"pin":%s,"mark":%q}`, tt.text, tt.mark)})
		p, _, err := key.open().read(end)
		if (err == nil) != tt.want || (p != nil) != tt.want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if p, _, err := key.open().read(1); p != nil || err == nil {
		t.Errorf("in the middle of a record: %+v, %v", p, err)
	}
}

// TestStateSpoilt: an accepted place counts as not accepted where the key or the ledger cannot be read any more, and
// that is told.
func TestStateSpoilt(t *testing.T) {
	for name, file := range map[string]func(dir string) string{
		"key":    func(dir string) string { return ledger.KeyPath(statedir.Store(dir)) },
		"ledger": statedir.Ledger,
	} {
		b := newPinBench(t)
		ok(t, os.RemoveAll(file(b.dir)))
		ok(t, os.MkdirAll(file(b.dir), 0o700))
		s := newPinStore(b.dir, os.Getenv)
		if _, err := s.open(); err == nil {
			t.Errorf("a %s that is a directory is read", name)
		}
		in, err := (&Finder{State: b.dir, Machine: b.dir}).Find(&Where{Dir: t.TempDir(), Home: t.TempDir(), Getenv: os.Getenv})
		ok(t, err)
		if !strings.HasPrefix(in.Pins, "they cannot be read: ") || !in.Pinned {
			t.Errorf("a %s that is a directory: pins are %q", name, in.Pins)
		}
	}
}

// TestUnreadablePrograms: what a pin holds in place of a Program is no policy, and says why.
func TestUnreadablePrograms(t *testing.T) {
	s, err := (&Finder{State: t.TempDir()}).search(&Where{Dir: t.TempDir()})
	ok(t, err)
	squeeze := func(text string) []byte {
		out, err := deflate([]byte(text))
		ok(t, err)
		return out
	}
	for name, tt := range map[string]struct {
		program []byte
		why     string
	}{
		"none":        {nil, "too large to be kept"},
		"not packed":  {[]byte("{}"), ""},
		"no Program":  {squeeze("[]"), ""},
		"no stages":   {squeeze(`{"obstat":1,"mode":"m","pipelines":{}}`), ""},
		"other calls": {squeeze(`{"obstat":1,"mode":"m","view":"none","pipelines":{"m":{"stages":[],"default":"ask"}}}`), "none"},
	} {
		d, err := named(s.list, "program")
		ok(t, err)
		l, err := s.fromPin(&PinPolicy{Program: tt.program}, d)
		if l != nil || err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
}

// TestRuleWithin: rules are added to the Programs that take them; the pin itself stays as it was, and where none takes
// them there is no pin.
func TestRuleWithin(t *testing.T) {
	s, err := (&Finder{State: t.TempDir()}).search(&Where{Dir: t.TempDir()})
	ok(t, err)
	d, err := named(s.list, "claudecode")
	ok(t, err)
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "settings.json", Layer: dialect.LayerProject,
		Data: []byte(`{"permissions":{"allow":["Bash(ls *)"]}}`)}}})
	ok(t, err)
	text, err := pack(l.Program)
	ok(t, err)
	call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"npm test x"}`), Dir: "/p"}
	made := l.Policy.Decide(call, nil)
	offers := l.Offers(call, nil, &made)[:1]
	pin := &Pin{Place: "/p", Policies: []PinPolicy{{Dialect: "nonesuch", Program: text}, {Dialect: "opencode", Program: []byte("x")}, {Dialect: "claudecode", Program: text}}}
	out := pin.with(s, offers)
	if out == nil || string(pin.Policies[2].Program) != string(text) || string(out.Policies[2].Program) == string(text) {
		t.Fatalf("%+v, of %+v", out, pin)
	}
	for i := range 2 {
		if string(out.Policies[i].Program) != string(pin.Policies[i].Program) {
			t.Errorf("%s was changed", out.Policies[i].Dialect)
		}
	}
	more, err := s.fromPin(&out.Policies[2], d)
	ok(t, err)
	if d := more.Policy.Decide(call, nil); d.Verdict != obstat.Allow {
		t.Errorf("the rule does not count: %s", d.Reason())
	}
	pin.Policies = pin.Policies[:2]
	if out := pin.with(s, offers); out != nil {
		t.Errorf("no Program takes the rule, and there is %+v", out)
	}
	if out := (*Pin)(nil).with(s, offers); out != nil {
		t.Errorf("of no pin: %+v", out)
	}
}

// TestNamesInPins: a pin names files by where they are in its place, others by their whole names, and one that could not
// be read by why.
func TestNamesInPins(t *testing.T) {
	at := filepath.FromSlash
	st := &site{dir: at("/p"), configs: []*config{{files: []file{
		{File: dialect.File{Name: at("/p/.claude/x.json"), Data: []byte("{}")}},
		{File: dialect.File{Name: at("/home/x.json")}, users: true},
		{File: dialect.File{Name: at("/p/..x")}, err: errors.New("it is a directory")},
	}}}}
	st.configs = append(st.configs, st.configs[0]) // of another dialect
	var got []string
	for _, f := range st.pinFiles() {
		got = append(got, fmt.Sprintf("%s %.8s %t", f.Name, f.Digest, f.Own))
	}
	if want := "./..x unreadab false, ./.claude/x.json 44136fa3 false, /home/x.json e3b0c442 true"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
