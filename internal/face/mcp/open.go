package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/desk"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	"github.com/obstat/obstat/policy"
	"github.com/obstat/obstat/store"
)

// Options open a Station.
type Options struct {
	Policy policy.Named // files that a person has named, if any
	Dir    string       // the project, where the calls are made
	Home   string       // "" is the user's
	Agent  string
	// Wait says when a call waits for `obstat ask`: "auto" where it is running, "off",
	// or how long.
	Off  bool
	Hold time.Duration // zero is auto
	// NoForms asks no person through the client.
	NoForms bool
	NoPins  bool
	NoMask  bool // leaves secrets in results
	Piped   bool // the client talks over this process's standard input
	Getenv  func(string) string
	Exe     string // where this program is
	Log     io.Writer
	// Asked is told of every request; nil: not called.
	Asked func(*approval.Request)
}

// A Station is a gate with its store and its ledger for a process that guards servers.
type Station struct {
	opts    Options
	db      string
	noDB    error
	journal *journal
	session string
	user    string
	plain   *gate.Gate
	forms   *gate.Gate
	gates   gate.Options // of both

	mu    sync.Mutex
	store store.Store
}

// requestLife is how long a request can be answered: longer than a client waits, since
// the same call takes the answer up.
const requestLife = 10 * time.Minute

// Open opens the gates. The database is opened when a call first asks.
func Open(ctx context.Context, o Options) (*Station, error) {
	st := &Station{opts: o, session: agentSession()}
	if u, err := user.Current(); err == nil {
		st.user = u.Username
	}
	var dir string
	if dir, st.noDB = statedir.Dir(o.Getenv); st.noDB == nil {
		st.db = statedir.Store(dir)
	}
	st.journal = &journal{station: st}
	files := &gate.Files{Names: o.Policy.Files, Dialect: o.Policy.Dialect, Options: o.Policy.Options, Dir: o.Dir,
		Start: o.Dir, Agent: o.Agent, Home: o.Home, Getenv: o.Getenv, NoPins: o.NoPins}
	opts := gate.Options{Policy: files, Getenv: o.Getenv, NoStart: true, Ledger: st.journal, MayGrant: st.mayGrant,
		Places:   []string{o.Dir},
		Open:     func(ctx context.Context) (gate.Store, error) { return st.open(ctx) },
		Approval: approval.Options{Asked: o.Asked, Timeout: requestLife, Attends: o.Piped}}
	if o.Exe != "" {
		opts.Programs = []string{o.Exe}
	}
	if st.db != "" {
		opts.Sessions = gate.SessionDir(statedir.Sessions(dir))
	}
	st.gates = opts
	var err error
	st.plain, st.forms, err = st.pair(ctx, opts)
	return st, err
}

// pair opens a gate, and one for clients that show forms.
func (st *Station) pair(ctx context.Context, opts gate.Options) (plain, forms *gate.Gate, err error) {
	opts.Waits = st.waits
	if plain, err = gate.Open(ctx, opts); err != nil || st.opts.NoForms {
		return plain, nil, err
	}
	opts.Waits = func() (time.Duration, string) { return requestLife, "" }
	forms, err = gate.Open(ctx, opts)
	return plain, forms, err
}

// Keeps has a guard keep the files that allowed calls change, for undo. It is for a server on this machine: another's
// paths are not these files, and there `reversible` must not hold.
func (st *Station) Keeps(ctx context.Context, g *Guard) (err error) {
	opts := st.gates
	opts.Undo = &undo.Keeper{Getenv: st.opts.Getenv, Say: func(text string) {
		if g.Log != nil {
			fmt.Fprintf(g.Log, "obstat: %s\n", text)
		}
	}}
	g.Ended = func(c *obstat.Call) {
		if s, err := undo.Store(st.opts.Getenv); err == nil {
			_, _ = s.End(c.DigestText(), c.Session)
		}
	}
	g.Gate, g.Elicits, err = st.pair(ctx, opts)
	return err
}

// Guard returns a guard for a server.
func (st *Station) Guard(name string) (*Guard, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	key, err := st.journal.Key()
	if err != nil {
		return nil, fmt.Errorf("the installation's key cannot be read: %w", err)
	}
	g := &Guard{Name: name, Gate: st.plain, Elicits: st.forms, Agent: st.opts.Agent, User: st.user, Dir: st.opts.Dir,
		Session: st.session, Hold: st.opts.Hold, Piped: st.opts.Piped, NoMask: st.opts.NoMask,
		Attended: func() bool { return !st.opts.Off && (st.opts.Hold > 0 || desk.Taken(st.db)) },
		Durable:  st.journal.durable, Key: key, Log: st.opts.Log,
		Store: func(ctx context.Context) (approval.Store, error) { return st.open(ctx) }}
	if !st.opts.NoPins {
		g.Pins = &toolPins{place: policy.ToolPlace(name, st.opts.Dir), getenv: st.opts.Getenv}
	}
	return g, nil
}

// Confines tells whether the policy has lines for a server, inside which it is to run.
func (st *Station) Confines(ctx context.Context, name string) bool {
	call := &obstat.Call{Tool: "Bash", Agent: st.opts.Agent, Dir: st.opts.Dir, Roots: []string{st.opts.Dir},
		Input: []byte(`{"command":"true"}`)}
	_, ok := st.plain.Server(ctx, call, name)
	return ok
}

// Gate returns the gate for calls that are not asked about through a client.
func (st *Station) Gate() *gate.Gate { return st.plain }

// Close closes the store and the ledger.
func (st *Station) Close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.store != nil {
		_ = st.store.Close()
	}
	st.journal.close()
}

func (st *Station) open(ctx context.Context) (store.Store, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.noDB != nil {
		return nil, st.noDB
	}
	if st.store == nil {
		s, err := store.Open(context.WithoutCancel(ctx), st.db)
		if err != nil {
			return nil, err
		}
		st.store = s
	}
	return st.store, nil
}

func (st *Station) mayGrant() bool {
	if st.db == "" {
		return false
	}
	_, err := os.Lstat(statedir.Grants(st.db))
	return err == nil
}

// waits tells how long a request of a client that shows no forms may be answered, or
// why there is no person to ask.
func (st *Station) waits() (time.Duration, string) {
	switch {
	case st.noDB != nil:
		return 0, "nobody can be asked: " + st.noDB.Error()
	case st.opts.Off || st.opts.Hold == 0 && !desk.Taken(st.db):
		return 0, "nobody is there to ask: do something else, or tell the user to run `obstat ask` in another terminal and try again"
	}
	return max(requestLife, st.opts.Hold), ""
}

// agentSession names the session of the agent that has started this process: the same
// as long as that runs, however often it starts the gateway.
func agentSession() string {
	ppid := os.Getppid()
	started := ""
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", ppid)); err == nil {
		if i := strings.LastIndexByte(string(stat), ')'); i > 0 {
			if fields := strings.Fields(string(stat[i+1:])); len(fields) > 19 {
				started = "-" + fields[19]
			}
		}
	}
	return fmt.Sprintf("mcp-%d%s", ppid, started)
}

// A journal is the ledger of a process that writes a record to the file before the call is
// made, and has the disk take it while the call is under way or a moment later.
type journal struct {
	station *Station
	mu      sync.Mutex
	file    *logfile.File
	armed   bool  // late is going to be called
	failed  error // the disk has not taken the last records
}

// diskAfter is how long a record may wait for the disk: it takes all of them at once.
const diskAfter = 5 * time.Millisecond

// Append writes records to the file. Nothing is added to records that the disk does not take.
func (j *journal) Append(ctx context.Context, records ...*ledger.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		if j.station.noDB != nil {
			return j.station.noDB
		}
		f, err := store.Log(j.station.db, j.station.opts.Getenv)
		if err != nil {
			return err
		}
		j.file = f
	}
	if j.failed != nil {
		if j.failed = j.file.Sync(ctx); j.failed != nil {
			return j.failed
		}
	}
	err := j.file.Write(ctx, records...)
	if err == nil && !j.armed {
		j.armed = true
		time.AfterFunc(diskAfter, func() { _ = j.durable() }) // the next Append tells
	}
	return err
}

// durable waits until all records are on the disk.
func (j *journal) durable() error {
	j.mu.Lock()
	f := j.file
	j.armed = false
	j.mu.Unlock()
	if f == nil {
		return nil
	}
	err := f.Sync(context.Background())
	if err != nil {
		j.mu.Lock()
		j.failed = err
		j.mu.Unlock()
	}
	return err
}

// Key returns the key of the ledger's digests, and makes one where there is none.
func (j *journal) Key() ([]byte, error) {
	st := j.station
	if st.noDB != nil {
		return nil, st.noDB
	}
	if err := os.MkdirAll(filepath.Dir(st.db), 0o700); err != nil {
		return nil, err
	}
	return ledger.LoadKey(ledger.KeyPath(st.db))
}

func (j *journal) close() {
	_ = j.durable()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file = nil
}
