package gate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/ledger"
)

// A Source is where a gate's policy comes from.
type Source interface {
	// Stamp changes whenever the policy may have.
	Stamp() (string, error)
	// Load reads and compiles the policy.
	Load() (*dialect.Loaded, error)
	// Accept writes accepted rules back to where l came from.
	Accept(l *dialect.Loaded, offers ...obstat.Offer) error
}

// Files is a policy in files: those named, or those that are found in a
// directory.
type Files struct {
	Names   []string // lowest precedence first
	Dir     string   // where files are looked for if none is named
	Dialect string   // "" is told by name and shape
	Options map[string]string
	Home    string // for ~ in the files; "" is the user's
	// Layers reads what the agent that the dialect belongs to would read for Dir:
	// the user's and the machine's files as well as the project's.
	Layers bool
	// Into is the file that gets accepted rules; "" is the last of the project's,
	// or the last if there is none.
	Into string
}

var _ Source = (*Files)(nil)

// Fixed is a policy that does not change while the gate runs: one that was
// loaded elsewhere or written in Go. Accepted rules cannot be written to it.
type Fixed struct{ *dialect.Loaded }

var _ Source = Fixed{}

// Stamp is always the same.
func (Fixed) Stamp() (string, error) { return "", nil }

// Load returns the policy.
func (f Fixed) Load() (*dialect.Loaded, error) {
	if f.Loaded == nil {
		return nil, errors.New("there is no policy")
	}
	return f.Loaded, nil
}

// Accept refuses.
func (Fixed) Accept(*dialect.Loaded, ...obstat.Offer) error {
	return errors.New("this policy has no file that rules could be written to")
}

// fresh is how long after a change a file's time may still hide another one.
const fresh = 2 * time.Second

// Stamp tells the files apart by size and time, and by what is in them while
// they are so new that a second change could have the same time.
func (f *Files) Stamp() (string, error) {
	var b strings.Builder
	names, err := f.candidates()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		st, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(&b, "%s: gone\n", name)
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s: %d %d", name, st.Size(), st.ModTime().UnixNano())
		if age := time.Since(st.ModTime()); age < fresh {
			data, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// candidates returns every file that may be part of the policy.
func (f *Files) candidates() ([]string, error) {
	if len(f.Names) > 0 {
		return f.Names, nil
	}
	var out []string
	for _, d := range all.All() {
		if f.Dialect == "" || d.Name() == f.Dialect {
			for _, rel := range dialect.WellKnown(d) {
				out = append(out, filepath.Join(f.Dir, filepath.FromSlash(rel)))
			}
			if f.Layers {
				more, err := all.Looked(d.Name(), f.where())
				if err != nil {
					return nil, err
				}
				out = append(out, more...)
			}
		}
	}
	return out, nil
}

func (f *Files) where() *all.Where {
	return &all.Where{Dir: f.Dir, Home: f.home(), Getenv: os.Getenv, Read: os.ReadFile, List: list, Glob: filepath.Glob}
}

// list returns the names in a directory.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

func (f *Files) home() string {
	if f.Home != "" {
		return f.Home
	}
	home, _ := obstat.OS{}.Home("")
	return home
}

// Load reads and compiles the files.
func (f *Files) Load() (*dialect.Loaded, error) {
	files, err := f.read()
	if err != nil {
		return nil, err
	}
	d, err := all.Of(f.Dialect, files)
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, &dialect.Input{Files: files, Options: f.Options, Home: f.home()})
}

func (f *Files) read() ([]dialect.File, error) {
	if len(f.Names) == 0 {
		if f.Dir == "" {
			return nil, errors.New("neither policy files nor a directory to look for them in")
		}
		return f.discover()
	}
	var out []dialect.File
	var errs obstat.Errors
	for _, name := range f.Names {
		data, err := os.ReadFile(name)
		if err != nil {
			errs = append(errs, dialect.IOError(name, err))
		}
		out = append(out, dialect.File{Name: name, Data: data})
	}
	return out, errs.Fatal()
}

// discover finds the project's files, and those of the other layers. A user's
// own files are enough where the dialect is named.
func (f *Files) discover() ([]dialect.File, error) {
	files, err := all.Discover(f.Dir, f.Dir, f.Dialect, os.ReadFile)
	if !f.Layers || err != nil && f.Dialect == "" {
		return files, err
	}
	name := f.Dialect
	if name == "" {
		d, err := all.Of("", files)
		if err != nil {
			return nil, err
		}
		name = d.Name()
	}
	layers, lerr := all.Layers(name, f.where())
	if lerr != nil {
		return nil, lerr
	}
	if len(layers) == 0 {
		return files, err
	}
	return layers, nil
}

// Accept writes rules to the file that gets them, every other byte unchanged.
func (f *Files) Accept(l *dialect.Loaded, offers ...obstat.Offer) error {
	name := f.Into
	for _, file := range slices.Backward(l.Input.Files) {
		if name == "" && (file.Layer == "" || file.Layer == "project" || file.Layer == "local") {
			name = file.Name
		}
	}
	if name == "" {
		name = l.Input.Files[len(l.Input.Files)-1].Name
	}
	return l.Accept(name, offers...)
}

// reload builds the policy anew when its source has changed, swaps it in and
// returns what is in force. A source that cannot be loaded leaves the last good
// policy in force, and says so from then on.
func (g *Gate) reload(ctx context.Context) (*dialect.Loaded, error) {
	stamp, err := g.opts.Policy.Stamp()
	g.mu.Lock()
	l, broken, same := g.policy, g.broken, err == nil && stamp == g.stamp
	g.mu.Unlock()
	if same {
		return l, broken
	}
	// One at a time, so that no older policy takes a newer one's place.
	g.loading.Lock()
	defer g.loading.Unlock()
	if stamp, err = g.opts.Policy.Stamp(); err == nil {
		if l, broken := g.current(); stamp == g.stampNow() {
			return l, broken
		}
		l, err = g.opts.Policy.Load()
	}
	return g.swap(ctx, stamp, l, err)
}

func (g *Gate) stampNow() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stamp
}

// swap puts a newly built policy in force, or keeps the old one and why.
func (g *Gate) swap(ctx context.Context, stamp string, l *dialect.Loaded, err error) (*dialect.Loaded, error) {
	g.mu.Lock()
	before, said := g.policy.Policy.Digest(), g.broken
	g.stamp, g.broken = stamp, err
	if err == nil {
		g.policy = l
	}
	now := g.policy
	g.mu.Unlock()
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Policy, Policy: now.Policy.Digest(), Reason: "in force: " + sources(now)}
	switch {
	case err != nil && said != nil && said.Error() == err.Error():
		return now, err
	case err != nil:
		rec.Reason = "a newer policy could not be loaded; the last good one stays: " + firstLine(err.Error())
	case before == rec.Policy && said == nil:
		return now, nil
	}
	// Every decision names its policy; this record only tells when it came.
	_ = g.opts.Store.Append(context.WithoutCancel(ctx), rec)
	return now, err
}
