package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/ledger"
)

// A Source is where a guard's policy comes from.
type Source interface {
	// Stamp changes whenever the policy may have.
	Stamp() (string, error)
	// Load reads and compiles the policy.
	Load() (*dialect.Loaded, error)
	// Add writes an accepted rule back.
	Add(o *obstat.Offer) error
}

// Files is a policy in files.
type Files struct {
	Names   []string // lowest precedence first; the last gets accepted rules
	Dialect string   // "" is told by name and shape
	Options map[string]string
	Home    string
}

var _ Source = (*Files)(nil)

// Stamp tells the files apart by size and time.
func (f *Files) Stamp() (string, error) {
	var b strings.Builder
	for _, name := range f.Names {
		st, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(&b, "%s: gone\n", name)
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s: %d %d\n", name, st.Size(), st.ModTime().UnixNano())
	}
	return b.String(), nil
}

// Load reads and compiles the files.
func (f *Files) Load() (*dialect.Loaded, error) {
	in := &dialect.Input{Options: f.Options, Home: f.Home}
	for _, name := range f.Names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: name}, Msg: err.Error()}}
		}
		in.Files = append(in.Files, dialect.File{Name: name, Data: data})
	}
	if len(in.Files) == 0 {
		return nil, errors.New("no policy file")
	}
	d, err := all.Detect(&in.Files[0])
	if f.Dialect != "" {
		d, err = all.Find(f.Dialect)
	}
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, in)
}

// Add writes a rule to the last file, every other byte unchanged.
func (f *Files) Add(o *obstat.Offer) error {
	l, err := f.Load()
	if err != nil {
		return err
	}
	ed, ok := l.Dialect.(dialect.Editor)
	if !ok {
		return fmt.Errorf("rules cannot be written to files of %s", l.Dialect.Name())
	}
	name := f.Names[len(f.Names)-1]
	return textedit.UpdateFile(name, func(old []byte) ([]byte, error) {
		return ed.AddRule(&dialect.File{Name: name, Data: old}, o)
	})
}

// reload builds the policy anew when its source has changed, and swaps it in. A
// source that cannot be loaded leaves the last good policy in force, and says
// so from then on.
func (g *Guard) reload(ctx context.Context) {
	stamp, err := g.opts.Policy.Stamp()
	g.mu.Lock()
	same := err == nil && stamp == g.stamp
	g.mu.Unlock()
	if same {
		return
	}
	var l *dialect.Loaded
	if err == nil {
		l, err = g.opts.Policy.Load()
	}
	g.mu.Lock()
	before := g.policy.Policy.Digest()
	g.stamp, g.broken = stamp, err
	if err == nil {
		g.policy = l
	}
	after := g.policy.Policy.Digest()
	g.mu.Unlock()
	if err != nil || before != after {
		g.notePolicy(ctx, after, err)
	}
}

func (g *Guard) notePolicy(ctx context.Context, digest string, broken error) {
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Policy, Policy: digest, Reason: "another policy is in force"}
	if broken != nil {
		rec.Reason = "a newer policy could not be loaded; the last good one stays: " + broken.Error()
	}
	_ = g.opts.Store.Append(context.WithoutCancel(ctx), rec)
}
